// node:stream and its companions. https://nodejs.org/api/stream.html
"use strict";

const { invalid, abortError } = load("events");
const { Buffer } = load("buffer")["node:buffer"];
const { Readable, Stream, destroy, marks } = load("stream_readable");
const { Duplex, PassThrough, Transform, Writable } = load("stream_writable");
const {
  duplexFromWeb, finished, from, isReadable, isStream, isWritable, iterate, joined, readableFromWeb, toWeb,
  writableFromWeb, writableToWeb,
} = load("stream_tools");

// ---- pipeline

function asStream(part, isFirst, previous) {
  if (part instanceof ReadableStream) return readableFromWeb(part, { objectMode: true });
  if (part instanceof WritableStream) return writableFromWeb(part, { objectMode: true });
  if (part?.readable instanceof ReadableStream && part.writable instanceof WritableStream) {
    return duplexFromWeb(part);
  }
  if (isStream(part)) return part;
  if (typeof part === "function") {
    const made = isFirst ? part() : part(iterate(previous));
    if (typeof made?.then === "function") return { promise: made };
    return from(made);
  }
  if (isFirst) return from(part);
  throw invalid("a part of a pipeline must be a stream, an iterable or a function");
}

function pipeline(...parts) {
  const options = {};
  const callback = typeof parts[parts.length - 1] === "function" ? parts.pop() : undefined;
  if (callback === undefined) throw invalid('The "callback" argument must be of type function');
  if (Array.isArray(parts[0]) && parts.length === 1) parts = parts[0];
  return connect(parts, options, callback);
}

function connect(parts, options, callback) {
  if (parts.length < 2) {
    throw invalid('The "streams" argument must be specified', "ERR_MISSING_ARGS");
  }
  const streams = [];
  let promised;
  parts.forEach((part, i) => {
    const made = asStream(part, i === 0, streams[i - 1]);
    if (made.promise !== undefined && i === parts.length - 1) promised = made.promise;
    else streams.push(made.promise !== undefined ? from(made.promise) : made);
  });
  let left = streams.length + (promised === undefined ? 0 : 1);
  let failure;
  let value;
  // Whether a function reads the stream before it by iteration.
  const isTaken = (i) => typeof parts[i + 1] === "function" && !isStream(parts[i + 1]);
  // The last stream whose reader has stopped early; all streams before it end with it.
  let stoppedAt = -1;
  const stopAt = (last) => {
    stoppedAt = Math.max(stoppedAt, last);
    for (let i = last; i >= 0; i--) streams[i].destroy?.();
  };
  const done = (error) => {
    if (error && failure === undefined) {
      failure = error;
      for (const stream of streams) {
        stream.on("error", () => {});
        stream.destroy?.(error);
      }
    }
    if (--left === 0) callback(failure, value);
  };
  streams.forEach((stream, i) => {
    const isLast = i === parts.length - 1;
    const isFirst = i === 0;
    const ends = options.end !== false || !isLast;
    const sides = {
      readable: !isLast && isReadable(stream), writable: !isFirst && ends && isWritable(stream),
    };
    finished(stream, sides, (error) => {
      const isEarly = error?.code === "ERR_STREAM_PREMATURE_CLOSE";
      // If the function that stopped early has failed, its own result reports that.
      if (isEarly && isTaken(i)) stopAt(i);
      done(isEarly && i <= stoppedAt ? undefined : error);
    });
    if (isFirst || isTaken(i - 1)) return;
    streams[i - 1].pipe(stream, { end: ends });
  });
  promised?.then((result) => {
    value = result;
    stopAt(streams.length - 1);
    done();
  }, done);
  options.signal?.addEventListener("abort", () => {
    for (const stream of streams) stream.destroy(abortError(options.signal));
  }, { once: true });
  return streams[streams.length - 1];
}

const promises = {
  finished: (stream, options = undefined) => new Promise((resolve, reject) => {
    finished(stream, options ?? {}, (error) => error ? reject(error) : resolve());
  }),
  pipeline: (...parts) => new Promise((resolve, reject) => {
    const last = parts[parts.length - 1];
    const isOptions = last !== null && typeof last === "object" && !isStream(last) &&
      last[Symbol.asyncIterator] === undefined && !(last instanceof WritableStream) &&
      !(last?.writable instanceof WritableStream);
    const options = isOptions ? parts.pop() : {};
    if (options.signal?.aborted) return reject(abortError(options.signal));
    return connect(Array.isArray(parts[0]) && parts.length === 1 ? parts[0] : parts, options,
      (error, value) => error ? reject(error) : resolve(value));
  }),
};

// ---- more methods of Readable

Object.assign(Readable, {
  from,
  fromWeb: readableFromWeb,
  toWeb,
  wrap: (source, options) => new Readable(options).wrap(source),
});
Object.assign(Writable, { fromWeb: writableFromWeb, toWeb: writableToWeb });
Duplex.fromWeb = duplexFromWeb;
Duplex.toWeb = (duplex) => ({ readable: toWeb(duplex), writable: writableToWeb(duplex) });
Duplex.from = (source) => {
  if (source instanceof Duplex) return source;
  if (source?.readable instanceof ReadableStream) return duplexFromWeb(source);
  if (source?.readable !== undefined || source?.writable !== undefined) {
    return joined(source.readable ?? from([]), source.writable ?? new PassThrough());
  }
  if (typeof source === "function") {
    const writing = new PassThrough({ objectMode: true });
    const made = source(iterate(writing));
    return joined(from(typeof made?.then === "function" ? nothingOf(made) : made), writing);
  }
  return joined(from(source), new PassThrough());
};

// The output of a function that only consumes: nothing, or its failure.
async function* nothingOf(promise) {
  await promise;
}

async function collect(stream, act) {
  const items = [];
  let index = 0;
  for await (const chunk of iterate(stream)) {
    const kept = await act(chunk, index++);
    if (kept !== undefined) items.push(kept);
  }
  return items;
}

const helpers = {
  iterator(options) {
    return iterate(this, options);
  },
  [Symbol.asyncIterator]() {
    return iterate(this);
  },
  map(act) {
    const source = this;
    return from((async function* () {
      for await (const chunk of iterate(source)) yield act(chunk, {});
    })());
  },
  filter(judge) {
    const source = this;
    return from((async function* () {
      for await (const chunk of iterate(source)) if (await judge(chunk, {})) yield chunk;
    })());
  },
  flatMap(act) {
    const source = this;
    return from((async function* () {
      for await (const chunk of iterate(source)) yield* await act(chunk, {});
    })());
  },
  take(count) {
    const source = this;
    return from((async function* () {
      let left = count;
      if (left <= 0) return;
      for await (const chunk of iterate(source)) {
        yield chunk;
        if (--left <= 0) return;
      }
    })());
  },
  drop(count) {
    let left = count;
    return this.filter(() => left-- <= 0);
  },
  toArray() {
    return collect(this, (chunk) => chunk);
  },
  async forEach(act) {
    await collect(this, async (chunk) => {
      await act(chunk, {});
    });
  },
  async reduce(act, ...initial) {
    const items = await this.toArray();
    let result = initial.length > 0 ? initial[0] : items.shift();
    for (const item of items) result = await act(result, item, {});
    return result;
  },
  async some(judge) {
    for await (const chunk of iterate(this)) if (await judge(chunk, {})) return true;
    return false;
  },
  async every(judge) {
    for await (const chunk of iterate(this)) if (!await judge(chunk, {})) return false;
    return true;
  },
  async find(judge) {
    for await (const chunk of iterate(this)) if (await judge(chunk, {})) return chunk;
    return undefined;
  },
  compose(next) {
    return joined(this.pipe(next), next);
  },
  // Wraps a stream of the old kind, which only emits events.
  wrap(source) {
    source.on("data", (chunk) => {
      if (!this.push(chunk)) source.pause?.();
    });
    source.on("end", () => this.push(null));
    source.on("error", (error) => this.destroy(error));
    this._read = () => source.resume?.();
    return this;
  },
};
for (const name of Reflect.ownKeys(helpers)) {
  Object.defineProperty(Readable.prototype, name, {
    value: helpers[name], writable: true, configurable: true, enumerable: false,
  });
}

// ---- node:stream/consumers

async function bytesOf(stream) {
  const parts = [];
  for await (const chunk of stream) {
    parts.push(typeof chunk === "string" ? Buffer.from(chunk)
      : ArrayBuffer.isView(chunk) ? chunk : new Uint8Array(chunk));
  }
  return Buffer.concat(parts);
}

const consumers = {
  arrayBuffer: async (stream) => {
    const bytes = await bytesOf(stream);
    return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  },
  blob: async (stream) => new Blob([await bytesOf(stream)]),
  buffer: bytesOf,
  json: async (stream) => JSON.parse((await bytesOf(stream)).toString()),
  text: async (stream) => new TextDecoder().decode(await bytesOf(stream)),
};

const web = {};
for (const name of ["ReadableStream", "ReadableStreamDefaultReader", "ReadableStreamBYOBReader",
  "ReadableStreamBYOBRequest", "ReadableByteStreamController", "ReadableStreamDefaultController",
  "TransformStream", "TransformStreamDefaultController", "WritableStream",
  "WritableStreamDefaultWriter", "WritableStreamDefaultController", "ByteLengthQueuingStrategy",
  "CountQueuingStrategy", "TextEncoderStream", "TextDecoderStream", "CompressionStream",
  "DecompressionStream"]) web[name] = globalThis[name];

Object.assign(Stream, {
  Stream, Readable, Writable, Duplex, Transform, PassThrough, pipeline, finished, promises,
  addAbortSignal(signal, stream) {
    if (signal.aborted) stream.destroy(abortError(signal));
    else signal.addEventListener("abort", () => stream.destroy(abortError(signal)), { once: true });
    return stream;
  },
  compose: (...parts) => joined(parts.reduce((a, b) => a.pipe(b)), parts[0]),
  destroy: (stream, error) => Reflect.apply(destroy, stream, [error]),
  getDefaultHighWaterMark: marks.get,
  setDefaultHighWaterMark: marks.set,
  isDisturbed: (stream) => !!(stream._readableState?.dataEmitted || stream.destroyed),
  isErrored: (stream) => !!stream.errored,
  isReadable: (stream) => !!stream.readable,
  isWritable: (stream) => !!stream.writable,
  _isUint8Array: (value) => value instanceof Uint8Array,
  _uint8ArrayToBuffer: (value) => Buffer.from(value.buffer, value.byteOffset, value.byteLength),
});

return {
  "node:stream": Stream,
  "node:stream/promises": promises,
  "node:stream/web": web,
  "node:stream/consumers": consumers,
};
