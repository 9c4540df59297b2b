// finished(), pipe(), pipeline(), iteration and the conversions of node:stream.
"use strict";

const { nextTick } = load("process")["node:process"];
const { invalid, abortError } = load("events");
const { Buffer } = load("buffer")["node:buffer"];
const { Readable, Stream, coded } = load("stream_readable");
const { Duplex, PassThrough, Writable } = load("stream_writable");

const isStream = (value) => typeof value?.pipe === "function" || typeof value?.write === "function";
const isReadable = (stream) => stream?._readableState !== undefined;
const isWritable = (stream) => stream?._writableState !== undefined;

function premature() {
  return coded("Premature close", "ERR_STREAM_PREMATURE_CLOSE");
}

// ---- finished

function finished(stream, options = {}, callback = undefined) {
  if (typeof options === "function") [options, callback] = [{}, options];
  if (typeof callback !== "function") throw invalid('The "callback" argument must be a function');
  if (stream instanceof ReadableStream || stream instanceof WritableStream) {
    throw invalid("finished() takes a stream of node:stream");
  }
  const reads = options.readable ?? isReadable(stream);
  const writes = options.writable ?? isWritable(stream);
  let readDone = !reads || stream._readableState?.endEmitted === true ||
    stream._readableState?.readable === false;
  let writeDone = !writes || stream._writableState?.finished === true ||
    stream._writableState?.writable === false;
  let called = false;
  const done = (error) => {
    if (called) return;
    called = true;
    if (options.cleanup !== false) remove();
    Reflect.apply(callback, stream, error ? [error] : []);
  };
  const maybe = () => {
    const closes = stream._readableState?.autoDestroy ?? stream._writableState?.autoDestroy;
    if (readDone && writeDone && (!closes || stream.closed)) done();
    else if (readDone && writeDone && !stream.destroyed) nextTick(() => done());
  };
  const listeners = {
    end: () => {
      readDone = true;
      maybe();
    },
    finish: () => {
      writeDone = true;
      maybe();
    },
    error: (error) => done(error),
    close: () => {
      if (stream.errored) done(stream.errored);
      else if (readDone && writeDone) done();
      else done(premature());
    },
  };
  const remove = () => {
    for (const name of Object.keys(listeners)) stream.removeListener(name, listeners[name]);
  };
  for (const name of Object.keys(listeners)) stream.on(name, listeners[name]);
  if (stream.closed || stream.destroyed || (readDone && writeDone)) {
    nextTick(() => {
      if (stream.errored) done(stream.errored);
      else if (readDone && writeDone) done();
      else if (stream.closed) done(premature());
    });
  }
  options.signal?.addEventListener("abort", () => done(abortError(options.signal)),
    { once: true });
  return remove;
}

// ---- pipe

function pipe(destination, options = undefined) {
  const state = this._readableState;
  state.pipes.push(destination);
  const onData = (chunk) => {
    if (destination.write(chunk) === false) {
      this.pause();
      destination.once("drain", onDrain);
    }
  };
  const onDrain = () => {
    if (state.pipes.includes(destination)) this.resume();
  };
  const onEnd = () => destination.end();
  const unpipe = (source) => {
    if (source === undefined || source === this) clean();
  };
  const onError = (error) => {
    clean();
    if (destination.listenerCount("error") === 0) destination.destroy?.(error);
  };
  const onClose = () => clean();
  const clean = () => {
    const place = state.pipes.indexOf(destination);
    if (place < 0) return;
    state.pipes.splice(place, 1);
    this.removeListener("data", onData);
    this.removeListener("end", onEnd);
    destination.removeListener("drain", onDrain);
    destination.removeListener("unpipe", unpipe);
    destination.removeListener("error", onError);
    destination.removeListener("close", onClose);
    if (state.pipes.length === 0 && this.listenerCount("data") === 0) this.pause();
  };
  destination._unpipes ??= new Map();
  destination._unpipes.set(this, clean);
  this.on("data", onData);
  if (options?.end !== false) {
    if (state.endEmitted) nextTick(onEnd);
    else this.once("end", onEnd);
  }
  destination.on("unpipe", unpipe);
  destination.prependListener("error", onError);
  destination.once("close", onClose);
  destination.emit("pipe", this);
  if (!state.flowing) this.resume();
  return destination;
}

function unpipe(destination = undefined) {
  const targets = destination === undefined ? [...this._readableState.pipes] : [destination];
  for (const target of targets) {
    target._unpipes?.get(this)?.();
    target.emit("unpipe", this, { hasUnpiped: false });
  }
  return this;
}
Object.assign(Readable.prototype, { pipe, unpipe });
Stream.prototype.pipe = function legacyPipe(destination, options) {
  this.on("data", (chunk) => {
    if (destination.write(chunk) === false) this.pause?.();
  });
  destination.on("drain", () => this.resume?.());
  if (options?.end !== false) this.on("end", () => destination.end());
  destination.emit("pipe", this);
  return destination;
};

// ---- iteration

async function* iterate(stream, options = undefined) {
  let wake = () => {};
  let failed;
  let ended = false;
  const onReadable = () => wake();
  stream.on("readable", onReadable);
  const remove = finished(stream, { writable: false }, (error) => {
    failed = error;
    ended = true;
    wake();
  });
  try {
    for (;;) {
      const chunk = stream.destroyed ? null : stream.read();
      if (chunk !== null) {
        yield chunk;
      } else if (failed) {
        throw failed;
      } else if (ended) {
        return;
      } else {
        await new Promise((resolve) => {
          wake = resolve;
        });
        wake = () => {};
      }
    }
  } finally {
    stream.removeListener("readable", onReadable);
    remove();
    if (options?.destroyOnReturn !== false && !ended) stream.destroy();
    else if (stream._readableState?.autoDestroy && !stream.destroyed) stream.destroy();
  }
}

function from(source, options = undefined) {
  if (typeof source === "string" || Buffer.isBuffer(source)) {
    return new Readable({
      objectMode: true, ...options,
      read() {
        this.push(source);
        this.push(null);
      },
    });
  }
  const iterator = source?.[Symbol.asyncIterator]?.() ?? source?.[Symbol.iterator]?.();
  if (iterator === undefined) {
    throw invalid('The "iterable" argument must be an instance of Iterable.');
  }
  let reading = false;
  const readable = new Readable({
    objectMode: true, highWaterMark: 1, ...options,
    read() {
      if (reading) return;
      reading = true;
      next();
    },
    destroy(error, callback) {
      Promise.resolve(error ? iterator.throw?.(error) : iterator.return?.())
        .then(() => callback(error), () => callback(error));
    },
  });
  async function next() {
    try {
      for (;;) {
        const { value, done } = await iterator.next();
        if (done) {
          readable.push(null);
          return;
        }
        const chunk = await value;
        if (chunk === null) throw invalid("May not write null values to stream",
          "ERR_STREAM_NULL_VALUES");
        if (!readable.push(chunk)) {
          reading = false;
          return;
        }
      }
    } catch (error) {
      readable.destroy(error);
    }
  }
  return readable;
}

// ---- conversion between Node.js streams and web streams

function toWeb(readable, options = undefined) {
  const wrap = (chunk) => typeof chunk === "string" ? chunk
    : ArrayBuffer.isView(chunk) ? new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength)
      : chunk;
  return new ReadableStream({
    start(controller) {
      readable.pause();
      readable.on("data", (chunk) => {
        controller.enqueue(wrap(chunk));
        if (controller.desiredSize <= 0) readable.pause();
      });
      finished(readable, { writable: false }, (error) => {
        try {
          if (error) controller.error(error);
          else controller.close();
        } catch {
          // It was cancelled before.
        }
      });
    },
    pull() {
      readable.resume();
    },
    cancel(reason) {
      readable.destroy(reason instanceof Error ? reason : undefined);
    },
  }, options?.strategy ?? { highWaterMark: readable.readableObjectMode ? 16 : 1 });
}

function readableFromWeb(stream, options = undefined) {
  const reader = stream.getReader();
  return new Readable({
    ...options,
    read() {
      reader.read().then(({ value, done }) => this.push(done ? null : value),
        (error) => this.destroy(error));
    },
    destroy(error, callback) {
      reader.cancel(error).then(() => callback(error), () => callback(error));
    },
  });
}

function writableFromWeb(stream, options = undefined) {
  const writer = stream.getWriter();
  return new Writable({
    ...options,
    write(chunk, encoding, callback) {
      writer.ready.then(() => writer.write(chunk)).then(() => callback(), callback);
    },
    final(callback) {
      writer.close().then(() => callback(), callback);
    },
    destroy(error, callback) {
      const end = error ? writer.abort(error) : Promise.resolve();
      end.then(() => callback(error), () => callback(error));
    },
  });
}

function writableToWeb(writable) {
  return new WritableStream({
    start(controller) {
      writable.on("error", (error) => controller.error(error));
    },
    write(chunk) {
      return new Promise((resolve, reject) => {
        writable.write(chunk, (error) => error ? reject(error) : resolve());
      });
    },
    close() {
      return new Promise((resolve, reject) => {
        writable.end((error) => error ? reject(error) : resolve());
      });
    },
    abort(reason) {
      writable.destroy(reason instanceof Error ? reason : undefined);
    },
  });
}

function duplexFromWeb({ readable, writable }, options = undefined) {
  const reading = readableFromWeb(readable);
  const writing = writableFromWeb(writable);
  return joined(reading, writing, options);
}

// Makes one duplex stream of a readable and a writable one.
function joined(reading, writing, options = undefined) {
  const duplex = new Duplex({
    ...options,
    readableObjectMode: reading?.readableObjectMode,
    writableObjectMode: writing?.writableObjectMode,
    read() {
      reading.resume();
    },
    write(chunk, encoding, callback) {
      if (writing.write(chunk, encoding)) callback();
      else writing.once("drain", () => callback());
    },
    final(callback) {
      writing.end(() => callback());
    },
    destroy(error, callback) {
      reading.destroy(error ?? undefined);
      writing.destroy(error ?? undefined);
      callback(error);
    },
  });
  reading.pause();
  reading.on("data", (chunk) => {
    if (!duplex.push(chunk)) reading.pause();
  });
  reading.on("end", () => duplex.push(null));
  reading.on("error", (error) => duplex.destroy(error));
  writing.on("error", (error) => duplex.destroy(error));
  return duplex;
}

return {
  PassThrough, duplexFromWeb, finished, from, isReadable, isStream, isWritable, iterate, joined,
  readableFromWeb, toWeb, writableFromWeb, writableToWeb,
};
