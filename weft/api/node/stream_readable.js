// Stream and Readable of node:stream, and how streams end: destroy().
"use strict";

const EventEmitter = load("events")["node:events"];
const { invalid } = load("events");
const { nextTick } = load("process")["node:process"];
const { Buffer } = load("buffer")["node:buffer"];

function Stream(options) {
  EventEmitter.call(this, options);
}
Object.setPrototypeOf(Stream.prototype, EventEmitter.prototype);
Object.setPrototypeOf(Stream, EventEmitter);

let highWaterMark = 64 * 1024;
const marks = {
  get: (objectMode) => objectMode ? 16 : highWaterMark,
  set(objectMode, value) {
    if (!objectMode) highWaterMark = value;
  },
};

function markOf(options, objectMode, own) {
  const mark = options?.[own] ?? options?.highWaterMark;
  return mark === undefined || mark === null ? marks.get(objectMode) : Math.floor(mark);
}

function coded(message, code) {
  const error = new Error(message);
  error.code = code;
  return error;
}

// ---- the end of either side of a stream

function statesOf(stream) {
  return [stream._readableState, stream._writableState].filter((state) => state !== undefined);
}

function destroy(error = undefined, callback = undefined) {
  const states = statesOf(this);
  if (states.some((state) => state.destroyed)) {
    callback?.();
    return this;
  }
  for (const state of states) {
    state.destroyed = true;
    if (error) state.errored ??= error;
  }
  const finish = () => this._destroy(error ?? null, (failure) => {
    const reason = failure ?? error;
    for (const state of states) {
      state.closed = true;
      if (reason) state.errored ??= reason;
    }
    callback?.(reason);
    nextTick(() => {
      if (reason && !states.some((state) => state.errorEmitted)) {
        for (const state of states) state.errorEmitted = true;
        this.emit("error", reason);
      }
      for (const state of states) state.closeEmitted = true;
      if (states.every((state) => state.emitClose)) this.emit("close");
    });
  });
  if (states.every((state) => state.constructed)) finish();
  else this.once("weft:constructed", finish);
  return this;
}

// Calls options.construct() before anything is read or written.
function construct(stream) {
  if (typeof stream._construct !== "function") return;
  for (const state of statesOf(stream)) state.constructed = false;
  nextTick(() => stream._construct((error) => {
    for (const state of statesOf(stream)) state.constructed = true;
    if (error) stream.destroy(error);
    stream.emit("weft:constructed");
    if (stream._readableState !== undefined) stream.read?.(0);
    stream._writableState?.proceed?.();
  }));
}

function follow(signal, stream) {
  const onAbort = () => stream.destroy(load("events").abortError(signal));
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
}

// ---- Readable

class ReadableState {
  constructor(options, isDuplex) {
    this.objectMode = !!(options?.objectMode || (isDuplex && options?.readableObjectMode));
    this.highWaterMark = markOf(options, this.objectMode, isDuplex ? "readableHighWaterMark" : "");
    this.buffer = [];
    this.length = 0;
    this.pipes = [];
    this.flowing = null;
    this.ended = this.endEmitted = this.reading = this.destroyed = this.closed = false;
    this.closeEmitted = this.errorEmitted = this.needReadable = this.emittedReadable = false;
    this.readableListening = this.resumeScheduled = this.readingMore = this.dataEmitted = false;
    this.sync = true;
    this.constructed = true;
    this.errored = null;
    this.autoDestroy = options?.autoDestroy !== false;
    this.emitClose = options?.emitClose !== false;
    this.defaultEncoding = options?.defaultEncoding ?? "utf8";
    this.decoder = null;
    this.encoding = null;
  }
}

function Readable(options) {
  if (!(this instanceof Readable)) return new Readable(options);
  this._readableState = new ReadableState(options, this._isDuplex === true);
  if (typeof options?.read === "function") this._read = options.read;
  if (typeof options?.destroy === "function") this._destroy = options.destroy;
  if (typeof options?.construct === "function") this._construct = options.construct;
  Stream.call(this, options);
  if (options?.encoding) this.setEncoding(options.encoding);
  if (options?.signal) follow(options.signal, this);
  if (this._isDuplex !== true) construct(this);
}
Object.setPrototypeOf(Readable.prototype, Stream.prototype);
Object.setPrototypeOf(Readable, Stream);

function sizeOf(state, chunk) {
  return state.objectMode ? 1 : chunk.length;
}

function toChunk(stream, state, chunk, encoding) {
  if (state.objectMode) return chunk;
  if (typeof chunk === "string") {
    const name = encoding ?? state.defaultEncoding;
    if (state.decoder !== null && name === state.encoding) return chunk;
    return Buffer.from(chunk, name);
  }
  if (ArrayBuffer.isView(chunk)) {
    return Buffer.isBuffer(chunk) ? chunk
      : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  }
  throw invalid('The "chunk" argument must be of type string or an instance of Buffer, ' +
    "TypedArray, or DataView.");
}

function add(stream, chunk, encoding, first) {
  const state = stream._readableState;
  if (chunk === null) {
    state.reading = false;
    endOfChunks(stream, state);
    return false;
  }
  let ready;
  try {
    ready = toChunk(stream, state, chunk, encoding);
  } catch (error) {
    stream.destroy(error);
    return false;
  }
  if (!first) state.reading = false;
  if (!state.objectMode && ready.length === 0) {
    if (!first) maybeReadMore(stream, state);
  } else if (state.ended && !first) {
    stream.destroy(coded("stream.push() after EOF", "ERR_STREAM_PUSH_AFTER_EOF"));
  } else if (first && state.endEmitted) {
    stream.destroy(coded("stream.unshift() after end event",
      "ERR_STREAM_UNSHIFT_AFTER_END_EVENT"));
  } else if (!state.destroyed && state.errored === null) {
    if (state.decoder !== null && !first && typeof ready !== "string") {
      ready = state.decoder.write(ready);
    }
    if (state.objectMode || ready.length > 0) store(stream, state, ready, first);
    else maybeReadMore(stream, state);
  }
  return !state.ended && (state.length < state.highWaterMark || state.length === 0);
}

function store(stream, state, chunk, first) {
  if (state.flowing && state.length === 0 && !state.sync && !first &&
      stream.listenerCount("data") > 0) {
    state.dataEmitted = true;
    stream.emit("data", chunk);
  } else {
    state.length += sizeOf(state, chunk);
    if (first) state.buffer.unshift(chunk);
    else state.buffer.push(chunk);
    if (state.needReadable) emitReadable(stream);
  }
  maybeReadMore(stream, state);
}

function endOfChunks(stream, state) {
  if (state.ended) return;
  const rest = state.decoder?.end();
  if (rest) {
    state.buffer.push(rest);
    state.length += sizeOf(state, rest);
  }
  state.ended = true;
  if (state.sync) {
    emitReadable(stream);
  } else {
    state.needReadable = false;
    state.emittedReadable = true;
    emitReadableNow(stream);
  }
}

function emitReadable(stream) {
  const state = stream._readableState;
  state.needReadable = false;
  if (state.emittedReadable) return;
  state.emittedReadable = true;
  nextTick(emitReadableNow, stream);
}

function emitReadableNow(stream) {
  const state = stream._readableState;
  if (!state.destroyed && state.errored === null && (state.length > 0 || state.ended)) {
    stream.emit("readable");
    state.emittedReadable = false;
  }
  state.needReadable = !state.flowing && !state.ended && state.length <= state.highWaterMark;
  flow(stream);
}

function maybeReadMore(stream, state) {
  if (state.readingMore || !state.constructed) return;
  state.readingMore = true;
  nextTick(() => {
    while (!state.reading && !state.ended && !state.destroyed &&
      (state.length < state.highWaterMark || (state.flowing && state.length === 0))) {
      const before = state.length;
      stream.read(0);
      if (before === state.length) break;
    }
    state.readingMore = false;
  });
}

function flow(stream) {
  const state = stream._readableState;
  while (state.flowing && stream.read() !== null);
}

function howMuch(n, state) {
  if (n <= 0 || (state.length === 0 && state.ended)) return 0;
  if (state.objectMode) return 1;
  if (Number.isNaN(n)) {
    return state.flowing && state.length > 0 ? state.buffer[0].length : state.length;
  }
  if (n <= state.length) return n;
  return state.ended ? state.length : 0;
}

function take(n, state) {
  if (state.length === 0) return null;
  if (state.objectMode) return state.buffer.shift();
  if (n >= state.length) {
    const all = state.buffer.splice(0);
    if (all.length === 1) return all[0];
    return typeof all[0] === "string" ? all.join("") : Buffer.concat(all);
  }
  const parts = [];
  for (let rest = n; rest > 0;) {
    const chunk = state.buffer[0];
    if (chunk.length <= rest) {
      parts.push(state.buffer.shift());
      rest -= chunk.length;
    } else {
      parts.push(chunk.slice(0, rest));
      state.buffer[0] = chunk.slice(rest);
      rest = 0;
    }
  }
  if (parts.length === 1) return parts[0];
  return typeof parts[0] === "string" ? parts.join("") : Buffer.concat(parts);
}

function endReadable(stream) {
  const state = stream._readableState;
  if (state.endEmitted) return;
  state.ended = true;
  nextTick(() => {
    if (state.errored !== null || state.closeEmitted) return;
    if (state.endEmitted || state.length > 0) return;
    state.endEmitted = true;
    stream.emit("end");
    const writable = stream._writableState;
    if (stream.writable && stream.allowHalfOpen === false) nextTick(() => stream.end());
    else if (state.autoDestroy && (writable === undefined || (writable.autoDestroy &&
      (writable.finished || writable.writable === false)))) stream.destroy();
  });
}

const methods = {
  destroy,
  _destroy(error, callback) {
    callback(error);
  },
  _read() {
    throw coded("The _read() method is not implemented", "ERR_METHOD_NOT_IMPLEMENTED");
  },
  push(chunk, encoding) {
    return add(this, chunk, encoding, false);
  },
  unshift(chunk, encoding) {
    return add(this, chunk, encoding, true);
  },

  read(size = undefined) {
    const state = this._readableState;
    const wanted = size === undefined ? NaN : Math.trunc(size);
    let n = wanted;
    if (n > state.highWaterMark) state.highWaterMark = n;
    if (n !== 0) state.emittedReadable = false;
    const full = state.highWaterMark === 0 ? state.length > 0 : state.length >= state.highWaterMark;
    if (n === 0 && state.needReadable && (full || state.ended)) {
      if (state.length === 0 && state.ended) endReadable(this);
      else emitReadable(this);
      return null;
    }
    n = howMuch(n, state);
    if (n === 0 && state.ended) {
      if (state.length === 0) endReadable(this);
      return null;
    }
    const wants = state.needReadable || state.length === 0 ||
      state.length - n < state.highWaterMark;
    if (wants && !state.ended && !state.reading && !state.destroyed && state.errored === null &&
        state.constructed) {
      state.reading = state.sync = true;
      if (state.length === 0) state.needReadable = true;
      try {
        this._read(state.highWaterMark);
      } catch (error) {
        this.destroy(error);
      }
      state.sync = false;
      if (!state.reading) n = howMuch(wanted, state);
    }
    const chunk = n > 0 ? take(n, state) : null;
    if (chunk === null) {
      state.needReadable = state.length <= state.highWaterMark;
      n = 0;
    } else {
      state.length -= state.objectMode ? 1 : chunk.length;
    }
    if (state.length === 0) {
      if (!state.ended) state.needReadable = true;
      if (wanted !== n && state.ended) endReadable(this);
    }
    if (chunk !== null && state.errored === null && !state.closeEmitted) {
      state.dataEmitted = true;
      this.emit("data", chunk);
    }
    return chunk;
  },

  on(type, listener) {
    const result = Stream.prototype.on.call(this, type, listener);
    const state = this._readableState;
    if (type === "data") {
      state.readableListening = this.listenerCount("readable") > 0;
      if (state.flowing !== false) this.resume();
    } else if (type === "readable" && !state.endEmitted && !state.readableListening) {
      state.readableListening = state.needReadable = true;
      state.flowing = false;
      state.emittedReadable = false;
      if (state.length > 0) emitReadable(this);
      else if (!state.reading) nextTick(() => this.read(0));
    }
    return result;
  },
  removeListener(type, listener) {
    const result = Stream.prototype.removeListener.call(this, type, listener);
    if (type === "readable") nextTick(() => updateListening(this));
    return result;
  },
  removeAllListeners(...args) {
    const result = Stream.prototype.removeAllListeners.apply(this, args);
    if (args[0] === "readable" || args.length === 0) nextTick(() => updateListening(this));
    return result;
  },

  resume() {
    const state = this._readableState;
    if (!state.flowing) {
      state.flowing = !state.readableListening;
      if (!state.resumeScheduled) {
        state.resumeScheduled = true;
        nextTick(() => {
          if (!state.reading) this.read(0);
          state.resumeScheduled = false;
          this.emit("resume");
          flow(this);
          if (state.flowing && !state.reading) this.read(0);
        });
      }
    }
    state.paused = false;
    return this;
  },
  pause() {
    const state = this._readableState;
    if (state.flowing !== false) {
      state.flowing = false;
      this.emit("pause");
    }
    state.paused = true;
    return this;
  },
  isPaused() {
    return this._readableState.paused === true || this._readableState.flowing === false;
  },

  setEncoding(encoding) {
    const { StringDecoder } = load("misc")["node:string_decoder"];
    const state = this._readableState;
    state.decoder = new StringDecoder(encoding);
    state.encoding = state.decoder.encoding;
    const text = state.buffer.map((chunk) => state.decoder.write(chunk)).join("");
    state.buffer = text === "" ? [] : [text];
    state.length = text.length;
    return this;
  },
};
methods.addListener = methods.on;
methods.off = methods.removeListener;
Object.assign(Readable.prototype, methods);

function updateListening(stream) {
  const state = stream._readableState;
  state.readableListening = stream.listenerCount("readable") > 0;
  if (state.resumeScheduled && state.paused !== true) state.flowing = true;
  else if (stream.listenerCount("data") > 0) stream.resume();
  else if (!state.readableListening) state.flowing = null;
}

const getters = {
  readable: (stream, state) => state.readable !== false && !state.destroyed &&
    !state.errorEmitted && !state.endEmitted,
  readableAborted: (stream, state) =>
    (state.destroyed || state.errored !== null) && !state.endEmitted,
  readableDidRead: (stream, state) => state.dataEmitted,
  readableEncoding: (stream, state) => state.encoding,
  readableEnded: (stream, state) => state.endEmitted,
  readableFlowing: (stream, state) => state.flowing,
  readableHighWaterMark: (stream, state) => state.highWaterMark,
  readableLength: (stream, state) => state.length,
  readableObjectMode: (stream, state) => state.objectMode,
  readableBuffer: (stream, state) => state.buffer,
  destroyed: (stream) => statesOf(stream).every((state) => state.destroyed),
  closed: (stream) => statesOf(stream).every((state) => state.closed),
  errored: (stream) => statesOf(stream).find((state) => state.errored !== null)?.errored ?? null,
};
for (const name of Object.keys(getters)) {
  Object.defineProperty(Readable.prototype, name, {
    configurable: true,
    get() {
      return this._readableState === undefined ? undefined
        : getters[name](this, this._readableState);
    },
    set(value) {
      if (name === "readable" && this._readableState) this._readableState.readable = !!value;
    },
  });
}

return { Readable, Stream, coded, construct, destroy, follow, getters, markOf, marks, statesOf };
