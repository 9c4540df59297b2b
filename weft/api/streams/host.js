// Streams for other scripts, in realm.streams. Nothing here makes a promise per chunk.
//
// ---- Making streams
//     createReadableStream(start, pull, cancel, highWaterMark, size) -> ReadableStream
//     createReadableByteStream(start, pull, cancel, highWaterMark) -> ReadableStream
//         start(controller), pull(controller), cancel(reason): each may be undefined, and may
//         return undefined or a promise. `controller` is an argument of these four:
//     enqueue(controller, chunk)    a byte stream takes over the memory of the Uint8Array
//     close(controller), error(controller, reason), desiredSize(controller)
//     createWritableStream(start, write, close, abort, highWaterMark, size) -> WritableStream
//     createTransformStream(transform, flush)     see transform.js
//
// ---- State
//     isReadableStream(value), isDisturbed(stream), isLocked(stream), isReadable(stream),
//     isClosed(stream), isErrored(stream), storedError(stream)
//
// ---- Reading
//     const reader = acquireReader(stream);       // locks; throws a TypeError if it is locked
//     readableStreamDefaultReaderRead(reader, { chunkSteps(chunk), closeSteps(), errorSteps(e) });
//     releaseReader(reader), cancelReader(reader, reason) -> promise
//     cancel(stream, reason) -> promise           // locked or not
//     readAllBytes(reader, ok(Uint8Array), fail(error), limit)
//     pumpToSink(stream, write, close, abort, signal) -> Pump
//     repairPump(pump)                            continues if a reaction of the pump was lost
//
// ---- From socket to socket
//     setNativeSource(stream, source)     sets the native source of the stream's bytes
//     takeNativeSource(stream)            returns that source and makes the stream locked and
//                                         disturbed; undefined if a script has used the stream

const {
  ArrayPrototypePush, PromisePrototypeThen, PromiseResolve, RangeError, TypeError,
  TypedArrayPrototypeGetBuffer, TypedArrayPrototypeGetByteLength, TypedArrayPrototypeGetByteOffset,
  TypedArrayPrototypeGetSymbolToStringTag, TypedArrayPrototypeSet, Uint8Array, noop,
} = realm.primordials;
const { promiseState } = native;
const { events, streams } = realm;
const { internal } = realm.webidl;
const { ops } = streams;
const {
  ByteControllerState, CLOSED, ERRORED, READABLE, ReadableStreamCancel,
  ReadableStreamDefaultReaderRead, ReadableStreamDefaultReaderRelease, readableState,
} = ops;

// ---- making streams

streams.createReadableStream = (start, pull, cancel, highWaterMark = 0, size = undefined) =>
  ops.wrapReadable(ops.createInternalStream(start, pull, cancel, highWaterMark, size));

streams.createReadableByteStream = (start, pull, cancel, highWaterMark = 0) =>
  ops.wrapReadable(ops.createInternalByteStream(start, pull, cancel, highWaterMark));

streams.createWritableStream = function createWritableStream(
  start, write, close, abort, highWaterMark = 1, size = undefined) {
  return ops.wrapWritable(
    ops.CreateWritableStream(start ?? noop, write, close, abort, highWaterMark, size));
};

streams.enqueue = function enqueue(controller, chunk) {
  if (!(controller instanceof ByteControllerState)) {
    ops.ReadableStreamDefaultControllerEnqueue(controller, chunk);
    return;
  }
  if (controller.closeRequested || controller.stream.state !== READABLE) return;
  const byteLength = TypedArrayPrototypeGetByteLength(chunk);
  if (byteLength === 0) return;
  ops.enqueueOwned(controller, TypedArrayPrototypeGetBuffer(chunk),
    TypedArrayPrototypeGetByteOffset(chunk), byteLength);
};

streams.close = function close(controller) {
  if (!(controller instanceof ByteControllerState)) {
    ops.ReadableStreamDefaultControllerClose(controller);
    return;
  }
  ops.ReadableByteStreamControllerClose(controller);
  // A pending BYOB read is answered with its own view, empty.
  if (controller.stream.state === CLOSED && controller.pendingPullIntos.length > 0) {
    ops.ReadableByteStreamControllerRespond(controller, 0);
  }
};

streams.error = function error(controller, reason) {
  if (controller instanceof ByteControllerState) {
    ops.ReadableByteStreamControllerError(controller, reason);
  } else {
    ops.ReadableStreamDefaultControllerError(controller, reason);
  }
};

streams.desiredSize = (controller) => (controller instanceof ByteControllerState
  ? ops.ReadableByteStreamControllerGetDesiredSize(controller)
  : ops.ReadableStreamDefaultControllerGetDesiredSize(controller));

// ---- state

streams.isReadableStream = ops.isReadableStream;
streams.isWritableStream = ops.isWritableStream;
streams.isDisturbed = (stream) => readableState(stream).disturbed;
streams.isLocked = (stream) => readableState(stream).reader !== null;
streams.isReadable = (stream) => readableState(stream).state === READABLE;
streams.isClosed = (stream) => readableState(stream).state === CLOSED;
streams.isErrored = (stream) => readableState(stream).state === ERRORED;
streams.storedError = (stream) => readableState(stream).storedError;

// ---- reading

streams.acquireReader = (stream) =>
  ops.AcquireReadableStreamDefaultReaderState(readableState(stream));
streams.readableStreamDefaultReaderRead = ReadableStreamDefaultReaderRead;
streams.releaseReader = ReadableStreamDefaultReaderRelease;
streams.cancelReader = (reader, reason) => ReadableStreamCancel(reader.stream, reason);
streams.cancel = (stream, reason) => ReadableStreamCancel(readableState(stream), reason);

function isBytes(chunk) {
  return TypedArrayPrototypeGetSymbolToStringTag(chunk) === "Uint8Array";
}

function notBytes() {
  return new TypeError("A body's chunks must be of class Uint8Array");
}

function concatenate(chunks, byteLength) {
  const all = new Uint8Array(byteLength);
  let at = 0;
  for (let i = 0; i < chunks.length; i++) {
    TypedArrayPrototypeSet(all, chunks[i], at);
    at += TypedArrayPrototypeGetByteLength(chunks[i]);
  }
  return all;
}

// https://streams.spec.whatwg.org/#readablestreamdefaultreader-read-all-bytes
class ReadAllBytes {
  constructor(reader, ok, fail, limit) {
    this.reader = reader;
    // Chunks of a script may be modified after they were read; chunks of the host are not.
    this.owned = reader.stream.controller.source === internal;
    this.ok = ok;
    this.fail = fail;
    this.limit = limit;
    this.chunks = [];
    this.byteLength = 0;
    this.ended = false;
    this.inRead = false;
    this.again = false;
  }

  // Reads on. Chunks in the queue are taken in this loop, without recursion.
  read() {
    if (this.inRead) {
      this.again = true;
      return;
    }
    this.inRead = true;
    do {
      this.again = false;
      ReadableStreamDefaultReaderRead(this.reader, this);
    } while (this.again);
    this.inRead = false;
  }

  chunkSteps(chunk) {
    if (!isBytes(chunk)) {
      this.fail(notBytes());
      return;
    }
    this.byteLength += TypedArrayPrototypeGetByteLength(chunk);
    if (this.byteLength > this.limit) {
      this.fail(new RangeError(`The body has more than ${this.limit} bytes`));
      return;
    }
    ArrayPrototypePush(this.chunks, this.owned ? chunk : new Uint8Array(chunk));
    this.read();
  }

  closeSteps() {
    const { chunks } = this;
    const whole = chunks.length === 1 &&
      TypedArrayPrototypeGetBuffer(chunks[0]).byteLength === this.byteLength;
    this.ok(whole ? chunks[0] : concatenate(chunks, this.byteLength));
  }

  errorSteps(error) { this.fail(error); }
}

streams.readAllBytes = function readAllBytes(reader, ok, fail, limit = Infinity) {
  new ReadAllBytes(reader, ok, fail, limit).read();
};

// ---- pumping

const kPumpChunksMax = 128;
const kPumpBytesMax = 1 << 20;

// Moves the bytes of a stream to a sink of the host, with back-pressure.
//     write(chunks, last) -> undefined | promise   a non-empty array of Uint8Array: all chunks that
//         are queued at the time. `last` says that the stream ends with them. A promise delays the
//         next call; its rejection ends the pump.
//     close()              the stream ended and all writes have settled
//     abort(reason)        the stream errored, gave something other than bytes, or `signal` aborted
// When its peer is gone, the sink ends the pump with `pump.cancel(reason)`; it is not called again.
class Pump {
  constructor(stream, write, close, abort, signal) {
    this.stream = stream;
    this.reader = ops.AcquireReadableStreamDefaultReaderState(stream);
    this.write = write;
    this.close = close;
    this.abort = abort;
    this.signal = signal;
    this.batch = [];
    this.batchBytes = 0;
    this.ended = false;
    this.reading = false;   // a read waits for its chunk
    this.inRead = false;
    this.writing = null;    // a promise that a write has returned, which delays the next write
    this.run = () => this.pump();
    this.written = () => {
      this.writing = null;
      this.pump();
    };
    this.fail = (reason) => this.cancel(reason);
    this.onAbort = null;
    if (signal !== undefined) {
      this.onAbort = () => this.finishWithError(events.abortReason(signal));
      if (events.isAborted(signal)) this.onAbort();
      else events.addAbortAlgorithm(signal, this.onAbort);
    }
  }

  // Takes the queued chunks and writes them.
  pump() {
    if (this.ended || this.writing !== null) return;
    this.take();
    if (this.ended) return;
    const { state } = this.stream;
    if (state === ERRORED) {
      this.finishWithError(this.stream.storedError);
      return;
    }
    if (this.batch.length === 0) {
      if (state === CLOSED) this.finish();
      return;
    }
    const chunks = this.batch;
    this.batch = [];
    this.batchBytes = 0;
    let written;
    try {
      written = this.write(chunks, state === CLOSED);
    } catch (error) {
      this.cancel(error);
      return;
    }
    if (this.ended) return;
    if (written !== undefined) {
      this.writing = written;
      PromisePrototypeThen(written, this.written, this.fail);
    } else if (this.stream.state === CLOSED) this.finish();
    else if (this.stream.state === ERRORED) this.finishWithError(this.stream.storedError);
    else if (!this.reading) PromisePrototypeThen(PromiseResolve(undefined), this.run);
  }

  take() {
    while (!this.ended && !this.reading && this.stream.state === READABLE &&
        this.batch.length < kPumpChunksMax && this.batchBytes < kPumpBytesMax) {
      this.reading = true;
      this.inRead = true;
      ReadableStreamDefaultReaderRead(this.reader, this);
      this.inRead = false;
    }
  }

  // Part of the read request.
  chunkSteps(chunk) {
    this.reading = false;
    if (this.ended) return;
    if (!isBytes(chunk)) {
      this.finishWithError(notBytes());
      return;
    }
    const byteLength = TypedArrayPrototypeGetByteLength(chunk);
    if (byteLength > 0) {
      ArrayPrototypePush(this.batch, chunk);
      this.batchBytes += byteLength;
    }
    // A chunk that arrives later waits for others that the script enqueues in the same turn.
    if (!this.inRead && this.writing === null) {
      PromisePrototypeThen(PromiseResolve(undefined), this.run);
    }
  }

  closeSteps() {
    this.reading = false;
    if (!this.inRead) this.pump();
  }

  errorSteps(error) {
    this.reading = false;
    this.finishWithError(error);
  }

  finish() {
    if (!this.end()) return;
    this.close();
  }

  finishWithError(reason) {
    if (!this.end()) return;
    this.cancelSource(reason);
    this.abort(reason);
  }

  cancel(reason) {
    if (this.end()) this.cancelSource(reason);
  }

  end() {
    if (this.ended) return false;
    this.ended = true;
    this.batch = [];
    if (this.onAbort !== null) events.removeAbortAlgorithm(this.signal, this.onAbort);
    return true;
  }

  // A turn that was ended by force loses the reactions that it did not run, possibly those of this
  // pump. If none was lost, the reactions made here find nothing to do.
  repair() {
    if (this.ended) return;
    repairPull(this.stream.controller);
    const { writing } = this;
    if (writing === null) PromisePrototypeThen(PromiseResolve(undefined), this.run);
    else if (isSettled(writing)) {
      PromisePrototypeThen(writing, () => {
        if (this.writing === writing) this.written();
      }, this.fail);
    }
  }

  cancelSource(reason) {
    PromisePrototypeThen(ReadableStreamCancel(this.stream, reason), undefined, noop);
  }
}

function isSettled(promise) {
  return promiseState(promise)[0] !== 0;
}

function repairPull(controller) {
  const { pullPromise, onPulled, onPullFailed } = controller;
  if (pullPromise === null || !isSettled(pullPromise)) return;
  PromisePrototypeThen(pullPromise, () => {
    if (controller.pullPromise === pullPromise) onPulled();
  }, onPullFailed);
}

streams.repairPump = (pump) => pump.repair();

streams.pumpToSink = function pumpToSink(stream, write, close, abort, signal = undefined) {
  const pump = new Pump(readableState(stream), write, close, abort, signal);
  pump.pump();
  return pump;
};

// ---- from socket to socket

streams.setNativeSource = (stream, source) => {
  readableState(stream).nativeSource = source;
};

streams.takeNativeSource = function takeNativeSource(stream) {
  const state = readableState(stream);
  const source = state.nativeSource;
  if (source === undefined || state.disturbed || state.reader !== null) return undefined;
  ops.AcquireReadableStreamDefaultReaderState(state);
  state.disturbed = true;
  return source;
};
