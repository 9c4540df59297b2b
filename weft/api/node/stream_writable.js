// Writable, Duplex, Transform and PassThrough of node:stream.
"use strict";

const { nextTick } = load("process")["node:process"];
const { Buffer } = load("buffer")["node:buffer"];
const { invalid } = load("events");
const {
  Readable, Stream, coded, construct, destroy, follow, getters: readableGetters, markOf, statesOf,
} = load("stream_readable");

class WritableState {
  constructor(stream, options, isDuplex) {
    this.stream = stream;
    this.objectMode = !!(options?.objectMode || (isDuplex && options?.writableObjectMode));
    this.highWaterMark = markOf(options, this.objectMode, isDuplex ? "writableHighWaterMark" : "");
    this.decodeStrings = options?.decodeStrings !== false;
    this.defaultEncoding = options?.defaultEncoding ?? "utf8";
    this.buffered = [];
    this.length = 0;
    this.corked = 0;
    this.pending = 0;
    this.writing = this.ending = this.ended = this.finished = this.destroyed = false;
    this.closed = this.closeEmitted = this.errorEmitted = this.needDrain = this.finalCalled = false;
    this.constructed = true;
    this.errored = null;
    this.autoDestroy = options?.autoDestroy !== false;
    this.emitClose = options?.emitClose !== false;
  }
  getBuffer() {
    return this.buffered;
  }
  proceed() {
    clearBuffer(this.stream, this);
    finishMaybe(this.stream, this);
  }
}

function Writable(options) {
  const isDuplex = this instanceof Duplex;
  if (!isDuplex && !Writable[Symbol.hasInstance](this)) return new Writable(options);
  this._writableState = new WritableState(this, options, isDuplex);
  if (typeof options?.write === "function") this._write = options.write;
  if (typeof options?.writev === "function") this._writev = options.writev;
  if (typeof options?.destroy === "function") this._destroy = options.destroy;
  if (typeof options?.final === "function") this._final = options.final;
  if (typeof options?.construct === "function") this._construct = options.construct;
  if (!isDuplex) {
    Stream.call(this, options);
    if (options?.signal) follow(options.signal, this);
    construct(this);
  }
}
Object.setPrototypeOf(Writable.prototype, Stream.prototype);
Object.setPrototypeOf(Writable, Stream);
// A Duplex is a Writable although it inherits from Readable.
Object.defineProperty(Writable, Symbol.hasInstance, {
  value(object) {
    if (Function.prototype[Symbol.hasInstance].call(this, object)) return true;
    return this === Writable && object?._writableState instanceof WritableState;
  },
});

function toBytes(state, chunk, encoding) {
  if (state.objectMode) return chunk;
  if (typeof chunk === "string") return state.decodeStrings ? Buffer.from(chunk, encoding) : chunk;
  if (ArrayBuffer.isView(chunk)) {
    return Buffer.isBuffer(chunk) ? chunk
      : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  }
  throw invalid('The "chunk" argument must be of type string or an instance of Buffer, ' +
    "TypedArray, or DataView.");
}

function failedWrite(stream, state, error, callback) {
  nextTick(callback, error);
  if (!state.destroyed) stream.destroy(error);
  return false;
}

function write(stream, chunk, encoding, callback) {
  const state = stream._writableState;
  if (chunk === null) {
    const error = invalid("May not write null values to stream", "ERR_STREAM_NULL_VALUES");
    throw error;
  }
  if (state.ending) {
    return failedWrite(stream, state, coded("write after end", "ERR_STREAM_WRITE_AFTER_END"),
      callback);
  }
  if (state.destroyed) {
    nextTick(callback,
      coded("Cannot call write after a stream was destroyed", "ERR_STREAM_DESTROYED"));
    return false;
  }
  const bytes = toBytes(state, chunk, encoding);
  const isBytes = !state.objectMode && typeof bytes !== "string";
  state.length += state.objectMode ? 1 : bytes.length;
  const below = state.length < state.highWaterMark;
  if (!below) state.needDrain = true;
  state.pending++;
  const one = { chunk: bytes, encoding: isBytes ? "buffer" : encoding, callback };
  if (state.writing || state.corked > 0 || !state.constructed || state.errored !== null) {
    state.buffered.push(one);
  } else {
    writeOne(stream, state, one);
  }
  return below && state.errored === null && !state.destroyed;
}

function writeOne(stream, state, one) {
  state.writing = true;
  let sync = true;
  const size = state.objectMode ? 1 : one.chunk.length;
  const done = once((error) => {
    if (sync) nextTick(afterWrite, stream, state, size, [one], error);
    else afterWrite(stream, state, size, [one], error);
  });
  call(stream, () => stream._write(one.chunk, one.encoding, done), done);
  sync = false;
}

function call(stream, act, done) {
  try {
    act();
  } catch (error) {
    done(error);
  }
}

function once(act) {
  let called = false;
  return (...args) => {
    if (called) throw coded("Callback called multiple times", "ERR_MULTIPLE_CALLBACK");
    called = true;
    act(...args);
  };
}

function afterWrite(stream, state, size, ones, error) {
  state.writing = false;
  state.length -= size;
  state.pending -= ones.length;
  if (error) {
    state.errored ??= error;
    for (const one of ones) one.callback(error);
    for (const one of state.buffered.splice(0)) one.callback(error);
    stream.destroy(error);
    return;
  }
  if (state.buffered.length > 0) clearBuffer(stream, state);
  const drains = !state.ending && !state.destroyed && state.length === 0 && state.needDrain;
  if (drains) {
    state.needDrain = false;
    stream.emit("drain");
  }
  for (const one of ones) one.callback(null);
  finishMaybe(stream, state);
}

function clearBuffer(stream, state) {
  if (state.corked > 0 || state.writing || state.destroyed || !state.constructed) return;
  if (state.buffered.length > 1 && typeof stream._writev === "function") {
    const all = state.buffered.splice(0);
    const size = state.length;
    state.writing = true;
    const done = once((error) => afterWrite(stream, state, size, all, error));
    call(stream, () => stream._writev(all, done), done);
    return;
  }
  if (state.buffered.length > 0) writeOne(stream, state, state.buffered.shift());
}

function finishMaybe(stream, state) {
  if (!state.ending || state.destroyed || !state.constructed || state.length > 0 ||
      state.writing || state.buffered.length > 0 || state.errored !== null || state.finalCalled) {
    return;
  }
  state.finalCalled = true;
  const finish = (error) => {
    if (error) return stream.destroy(error);
    if (state.finished || state.destroyed) return undefined;
    state.finished = true;
    for (const callback of state.onFinish ?? []) nextTick(callback, null);
    state.onFinish = [];
    stream.emit("finish");
    const readable = stream._readableState;
    if (state.autoDestroy && (readable === undefined ||
        (readable.autoDestroy && (readable.endEmitted || readable.readable === false)))) {
      stream.destroy();
    }
    return undefined;
  };
  nextTick(() => {
    if (state.destroyed) return;
    if (typeof stream._final !== "function") finish();
    else call(stream, () => stream._final(once(finish)), finish);
  });
}

const methods = {
  _write(chunk, encoding, callback) {
    if (typeof this._writev === "function") {
      this._writev([{ chunk, encoding }], callback);
      return;
    }
    throw coded("The _write() method is not implemented", "ERR_METHOD_NOT_IMPLEMENTED");
  },
  write(chunk, encoding = undefined, callback = undefined) {
    if (typeof encoding === "function") [encoding, callback] = [undefined, encoding];
    return write(this, chunk, encoding ?? this._writableState.defaultEncoding,
      callback ?? (() => {}));
  },
  cork() {
    this._writableState.corked++;
  },
  uncork() {
    const state = this._writableState;
    if (state.corked > 0) state.corked--;
    if (state.corked === 0) clearBuffer(this, state);
  },
  setDefaultEncoding(encoding) {
    this._writableState.defaultEncoding = encoding;
    return this;
  },
  end(chunk = undefined, encoding = undefined, callback = undefined) {
    if (typeof chunk === "function") [chunk, callback] = [undefined, chunk];
    if (typeof encoding === "function") [encoding, callback] = [undefined, encoding];
    const state = this._writableState;
    if (chunk !== undefined && chunk !== null) this.write(chunk, encoding);
    if (state.corked > 0) {
      state.corked = 1;
      this.uncork();
    }
    const wasEnding = state.ending;
    state.ending = state.ended = true;
    if (callback !== undefined) {
      if (state.finished) nextTick(callback, null);
      else if (state.destroyed) {
        nextTick(callback, coded("Cannot call end after a stream was destroyed",
          "ERR_STREAM_DESTROYED"));
      } else (state.onFinish ??= []).push(callback);
    }
    if (!wasEnding) finishMaybe(this, state);
    return this;
  },
  destroy(error, callback) {
    const state = this._writableState;
    if (!state.destroyed && (state.buffered.length > 0 || state.onFinish?.length > 0)) {
      const reason = error ?? coded("Cannot call write after a stream was destroyed",
        "ERR_STREAM_DESTROYED");
      const callbacks = [...state.buffered.splice(0).map((one) => one.callback),
        ...(state.onFinish ?? [])];
      for (const one of callbacks) nextTick(one, reason);
      state.onFinish = [];
    }
    return destroy.call(this, error, callback);
  },
  _destroy(error, callback) {
    callback(error);
  },
};
Object.assign(Writable.prototype, methods);
Writable.prototype.pipe = function pipe() {
  this.destroy(coded("Cannot pipe, not readable", "ERR_STREAM_CANNOT_PIPE"));
};

const getters = {
  writable: (stream, state) => state.writable !== false && !state.destroyed &&
    state.errored === null && !state.ending && !state.ended,
  writableAborted: (stream, state) =>
    (state.destroyed || state.errored !== null) && !state.finished,
  writableBuffer: (stream, state) => state.buffered,
  writableCorked: (stream, state) => state.corked,
  writableEnded: (stream, state) => state.ending,
  writableFinished: (stream, state) => state.finished,
  writableHighWaterMark: (stream, state) => state.highWaterMark,
  writableLength: (stream, state) => state.length,
  writableNeedDrain: (stream, state) => !state.destroyed && !state.ending && state.needDrain,
  writableObjectMode: (stream, state) => state.objectMode,
  destroyed: readableGetters.destroyed,
  closed: readableGetters.closed,
  errored: readableGetters.errored,
};

function defineGetters(prototype, names) {
  for (const name of names) {
    Object.defineProperty(prototype, name, {
      configurable: true,
      get() {
        return this._writableState === undefined ? undefined
          : getters[name](this, this._writableState);
      },
      set(value) {
        if (name === "writable" && this._writableState) this._writableState.writable = !!value;
      },
    });
  }
}
defineGetters(Writable.prototype, Object.keys(getters));

// ---- readable and writable

function Duplex(options) {
  if (!(this instanceof Duplex)) return new Duplex(options);
  this._isDuplex = true;
  Readable.call(this, options);
  Writable.call(this, options);
  this.allowHalfOpen = options?.allowHalfOpen !== false;
  if (options?.readable === false) {
    this._readableState.readable = false;
    this._readableState.ended = this._readableState.endEmitted = true;
  }
  if (options?.writable === false) {
    this._writableState.writable = false;
    this._writableState.ending = this._writableState.ended = this._writableState.finished = true;
  }
  construct(this);
}
Object.setPrototypeOf(Duplex.prototype, Readable.prototype);
Object.setPrototypeOf(Duplex, Readable);
for (const name of Object.keys(methods)) {
  if (!name.startsWith("_destroy")) Duplex.prototype[name] = methods[name];
}
defineGetters(Duplex.prototype, Object.keys(getters).filter((name) => name.startsWith("writable")));

function Transform(options) {
  if (!(this instanceof Transform)) return new Transform(options);
  Duplex.call(this, options);
  this._readableState.sync = false;
  this._waiting = null;
  if (typeof options?.transform === "function") this._transform = options.transform;
  if (typeof options?.flush === "function") this._flush = options.flush;
}
Object.setPrototypeOf(Transform.prototype, Duplex.prototype);
Object.setPrototypeOf(Transform, Duplex);
Object.assign(Transform.prototype, {
  _transform() {
    throw coded("The _transform() method is not implemented", "ERR_METHOD_NOT_IMPLEMENTED");
  },
  _final(callback) {
    const end = (error, data) => {
      if (error) return callback(error);
      if (data !== null && data !== undefined) this.push(data);
      this.push(null);
      return callback();
    };
    if (typeof this._flush === "function" && !this.destroyed) this._flush(end);
    else end();
  },
  _write(chunk, encoding, callback) {
    const state = this._readableState;
    const before = state.length;
    this._transform(chunk, encoding, (error, data) => {
      if (error) return callback(error);
      if (data !== null && data !== undefined) this.push(data);
      // The next chunk is transformed when this one's output was read.
      if (state.ended || before === state.length || state.length < state.highWaterMark) callback();
      else this._waiting = callback;
      return undefined;
    });
  },
  _read() {
    const callback = this._waiting;
    this._waiting = null;
    callback?.();
  },
});

function PassThrough(options) {
  if (!(this instanceof PassThrough)) return new PassThrough(options);
  Transform.call(this, options);
}
Object.setPrototypeOf(PassThrough.prototype, Transform.prototype);
Object.setPrototypeOf(PassThrough, Transform);
PassThrough.prototype._transform = (chunk, encoding, callback) => callback(null, chunk);

return { Duplex, PassThrough, Transform, Writable, statesOf };
