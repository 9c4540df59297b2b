// WritableStream and its writer. https://streams.spec.whatwg.org/#ws

const {
  PromisePrototypeThen, PromiseReject, PromiseResolve, RangeError, TypeError,
} = realm.primordials;
const { webidl } = realm;
const { ops } = realm.streams;
const { converters, internal, isObject, requiredArguments } = webidl;
const { Deferred, Fifo, Settling } = ops;

const WRITABLE = 0;
const CLOSED = 1;
const ERRORED = 2;
const ERRORING = 3;

// The slots of a WritableStream. A write request is an object with resolve() and reject(reason).
class WritableStreamState {
  constructor() {
    this.state = WRITABLE;
    this.storedError = undefined;
    this.writer = null;
    this.controller = null;
    this.writeRequests = new Fifo();
    this.inFlightWriteRequest = null;
    this.closeRequest = null;
    this.inFlightCloseRequest = null;
    this.pendingAbortRequest = null;  // { settling, reason, wasAlreadyErroring }
    this.backpressure = false;
    this.wrapper = null;
  }
}

// The slots of a WritableStreamDefaultWriter.
class WriterState {
  constructor() {
    this.stream = null;
    this.ready = null;
    this.closed = null;
  }
}

ops.WRITABLE = WRITABLE;
ops.WRITABLE_CLOSED = CLOSED;
ops.WRITABLE_ERRORED = ERRORED;
ops.ERRORING = ERRORING;
ops.WritableStreamState = WritableStreamState;

// ---- https://streams.spec.whatwg.org/#ws-abstract-ops

function IsWritableStreamLocked(stream) {
  return stream.writer !== null;
}

function SetUpWritableStreamDefaultWriter(writer, stream) {
  if (stream.writer !== null) throw new TypeError("The stream is locked to a writer already");
  writer.stream = stream;
  stream.writer = writer;
  const { state } = stream;
  if (state === WRITABLE) {
    writer.ready = !WritableStreamCloseQueuedOrInFlight(stream) && stream.backpressure
      ? new Deferred() : Deferred.resolved();
    writer.closed = new Deferred();
  } else if (state === ERRORING) {
    writer.ready = Deferred.rejected(stream.storedError);
    writer.closed = new Deferred();
  } else if (state === CLOSED) {
    writer.ready = Deferred.resolved();
    writer.closed = Deferred.resolved();
  } else {
    writer.ready = Deferred.rejected(stream.storedError);
    writer.closed = Deferred.rejected(stream.storedError);
  }
}

function AcquireWritableStreamDefaultWriterState(stream) {
  const writer = new WriterState();
  SetUpWritableStreamDefaultWriter(writer, stream);
  return writer;
}

function WritableStreamAbort(stream, reason) {
  if (stream.state === CLOSED || stream.state === ERRORED) return PromiseResolve(undefined);
  stream.controller.signalAbort(reason);
  // Listeners of the abort signal are scripts, so the state may have changed.
  const { state } = stream;
  if (state === CLOSED || state === ERRORED) return PromiseResolve(undefined);
  if (stream.pendingAbortRequest !== null) return stream.pendingAbortRequest.settling.promise;
  const wasAlreadyErroring = state === ERRORING;
  if (wasAlreadyErroring) reason = undefined;
  const settling = new Settling();
  stream.pendingAbortRequest = { settling, reason, wasAlreadyErroring };
  if (!wasAlreadyErroring) WritableStreamStartErroring(stream, reason);
  return settling.promise;
}

function WritableStreamClose(stream) {
  const { state } = stream;
  if (state === CLOSED || state === ERRORED) {
    return ops.rejectedTypeError("The stream cannot be closed: it is closed or errored");
  }
  const settling = new Settling();
  stream.closeRequest = settling;
  const { writer } = stream;
  if (writer !== null && stream.backpressure && state === WRITABLE) writer.ready.resolve();
  ops.WritableStreamDefaultControllerClose(stream.controller);
  return settling.promise;
}

function WritableStreamCloseQueuedOrInFlight(stream) {
  return stream.closeRequest !== null || stream.inFlightCloseRequest !== null;
}

function WritableStreamDealWithRejection(stream, error) {
  if (stream.state === WRITABLE) WritableStreamStartErroring(stream, error);
  else WritableStreamFinishErroring(stream);
}

function WritableStreamFinishErroring(stream) {
  stream.state = ERRORED;
  stream.controller.errorSteps();
  const { storedError, writeRequests } = stream;
  while (writeRequests.length > 0) writeRequests.shift().reject(storedError);
  if (stream.pendingAbortRequest === null) {
    WritableStreamRejectCloseAndClosedPromiseIfNeeded(stream);
    return;
  }
  const abortRequest = stream.pendingAbortRequest;
  stream.pendingAbortRequest = null;
  if (abortRequest.wasAlreadyErroring) {
    abortRequest.settling.reject(storedError);
    WritableStreamRejectCloseAndClosedPromiseIfNeeded(stream);
    return;
  }
  PromisePrototypeThen(stream.controller.abortSteps(abortRequest.reason), () => {
    abortRequest.settling.resolve(undefined);
    WritableStreamRejectCloseAndClosedPromiseIfNeeded(stream);
  }, (reason) => {
    abortRequest.settling.reject(reason);
    WritableStreamRejectCloseAndClosedPromiseIfNeeded(stream);
  });
}

function WritableStreamFinishInFlightClose(stream) {
  stream.inFlightCloseRequest.resolve(undefined);
  stream.inFlightCloseRequest = null;
  if (stream.state === ERRORING) {
    stream.storedError = undefined;
    if (stream.pendingAbortRequest !== null) {
      stream.pendingAbortRequest.settling.resolve(undefined);
      stream.pendingAbortRequest = null;
    }
  }
  stream.state = CLOSED;
  if (stream.writer !== null) stream.writer.closed.resolve();
}

function WritableStreamFinishInFlightCloseWithError(stream, error) {
  stream.inFlightCloseRequest.reject(error);
  stream.inFlightCloseRequest = null;
  if (stream.pendingAbortRequest !== null) {
    stream.pendingAbortRequest.settling.reject(error);
    stream.pendingAbortRequest = null;
  }
  WritableStreamDealWithRejection(stream, error);
}

function WritableStreamFinishInFlightWrite(stream) {
  stream.inFlightWriteRequest.resolve(undefined);
  stream.inFlightWriteRequest = null;
}

function WritableStreamFinishInFlightWriteWithError(stream, error) {
  stream.inFlightWriteRequest.reject(error);
  stream.inFlightWriteRequest = null;
  WritableStreamDealWithRejection(stream, error);
}

function WritableStreamHasOperationMarkedInFlight(stream) {
  return stream.inFlightWriteRequest !== null || stream.inFlightCloseRequest !== null;
}

function WritableStreamMarkCloseRequestInFlight(stream) {
  stream.inFlightCloseRequest = stream.closeRequest;
  stream.closeRequest = null;
}

function WritableStreamMarkFirstWriteRequestInFlight(stream) {
  stream.inFlightWriteRequest = stream.writeRequests.shift();
}

function WritableStreamRejectCloseAndClosedPromiseIfNeeded(stream) {
  if (stream.closeRequest !== null) {
    stream.closeRequest.reject(stream.storedError);
    stream.closeRequest = null;
  }
  if (stream.writer !== null) stream.writer.closed.reject(stream.storedError);
}

function WritableStreamStartErroring(stream, reason) {
  stream.state = ERRORING;
  stream.storedError = reason;
  const { controller, writer } = stream;
  if (writer !== null) WritableStreamDefaultWriterEnsureReadyPromiseRejected(writer, reason);
  if (!WritableStreamHasOperationMarkedInFlight(stream) && controller.started) {
    WritableStreamFinishErroring(stream);
  }
}

function WritableStreamUpdateBackpressure(stream, backpressure) {
  const { writer } = stream;
  if (writer !== null && backpressure !== stream.backpressure) {
    if (backpressure) writer.ready = new Deferred();
    else writer.ready.resolve();
  }
  stream.backpressure = backpressure;
}

// ---- https://streams.spec.whatwg.org/#ws-writer-abstract-ops

function WritableStreamDefaultWriterCloseWithErrorPropagation(writer) {
  const { stream } = writer;
  const { state } = stream;
  if (WritableStreamCloseQueuedOrInFlight(stream) || state === CLOSED) {
    return PromiseResolve(undefined);
  }
  if (state === ERRORED) return PromiseReject(stream.storedError);
  return WritableStreamClose(stream);
}

function WritableStreamDefaultWriterEnsureClosedPromiseRejected(writer, error) {
  if (writer.closed.pending) writer.closed.reject(error);
  else writer.closed = Deferred.rejected(error);
}

function WritableStreamDefaultWriterEnsureReadyPromiseRejected(writer, error) {
  if (writer.ready.pending) writer.ready.reject(error);
  else writer.ready = Deferred.rejected(error);
}

function WritableStreamDefaultWriterGetDesiredSize(writer) {
  const { stream } = writer;
  const { state } = stream;
  if (state === ERRORED || state === ERRORING) return null;
  if (state === CLOSED) return 0;
  return ops.WritableStreamDefaultControllerGetDesiredSize(stream.controller);
}

function WritableStreamDefaultWriterRelease(writer) {
  const { stream } = writer;
  const error = new TypeError("The writer was released");
  WritableStreamDefaultWriterEnsureReadyPromiseRejected(writer, error);
  WritableStreamDefaultWriterEnsureClosedPromiseRejected(writer, error);
  stream.writer = null;
  writer.stream = null;
}

// Returns undefined if the chunk was queued with `request`, or a rejected promise; the caller
// returns one of the two to the script.
function WritableStreamDefaultWriterWrite(writer, chunk, request) {
  const { stream } = writer;
  const { controller } = stream;
  const chunkSize = ops.WritableStreamDefaultControllerGetChunkSize(controller, chunk);
  if (stream !== writer.stream) return ops.rejectedTypeError("The writer was released");
  const { state } = stream;
  if (state === ERRORED) return PromiseReject(stream.storedError);
  if (WritableStreamCloseQueuedOrInFlight(stream) || state === CLOSED) {
    return ops.rejectedTypeError("The stream takes no more chunks: it is closing or closed");
  }
  if (state === ERRORING) return PromiseReject(stream.storedError);
  stream.writeRequests.push(request);
  ops.WritableStreamDefaultControllerWrite(controller, chunk, chunkSize);
  return undefined;
}

// ---- the classes

converters.UnderlyingSink = webidl.dictionaryConverter("UnderlyingSink", [
  { key: "abort", converter: converters.Function },
  { key: "close", converter: converters.Function },
  { key: "start", converter: converters.Function },
  { key: "type", converter: converters.any },
  { key: "write", converter: converters.Function },
]);

let isWritableStream;
let writableState;

class WritableStream {
  #state;

  constructor(underlyingSink = undefined, strategy = {}) {
    if (underlyingSink === internal) {
      this.#state = strategy;
      strategy.wrapper = this;
      return;
    }
    const prefix = "Failed to construct 'WritableStream'";
    const sink = underlyingSink === undefined
      ? null : converters.object(underlyingSink, prefix, "Argument 1");
    const strategyDict = converters.QueuingStrategy(strategy, prefix, "Argument 2");
    const sinkDict = converters.UnderlyingSink(sink, prefix, "Argument 1");
    if ("type" in sinkDict) throw new RangeError(`${prefix}: 'type' is reserved`);
    const stream = new WritableStreamState();
    stream.wrapper = this;
    this.#state = stream;
    const sizeAlgorithm = ops.ExtractSizeAlgorithm(strategyDict);
    const highWaterMark = ops.ExtractHighWaterMark(strategyDict, 1);
    ops.SetUpWritableStreamDefaultControllerFromUnderlyingSink(
      stream, sink, sinkDict, highWaterMark, sizeAlgorithm);
  }

  get locked() { return IsWritableStreamLocked(this.#state); }

  abort(reason = undefined) {
    if (!isObject(this) || !(#state in this)) return PromiseReject(notAStream());
    if (IsWritableStreamLocked(this.#state)) {
      return ops.rejectedTypeError("A locked stream can only be aborted by its writer");
    }
    return WritableStreamAbort(this.#state, reason);
  }

  close() {
    if (!isObject(this) || !(#state in this)) return PromiseReject(notAStream());
    if (IsWritableStreamLocked(this.#state)) {
      return ops.rejectedTypeError("A locked stream can only be closed by its writer");
    }
    if (WritableStreamCloseQueuedOrInFlight(this.#state)) {
      return ops.rejectedTypeError("The stream is closing already");
    }
    return WritableStreamClose(this.#state);
  }

  getWriter() {
    this.#state;
    return new WritableStreamDefaultWriter(this);
  }

  static {
    isWritableStream = (value) => #state in value;
    writableState = (stream) => stream.#state;
  }
}
webidl.configureInterface(WritableStream);

function notAStream() {
  return webidl.illegalInvocation("WritableStream");
}

function wrapWritable(stream) {
  return stream.wrapper ?? new WritableStream(internal, stream);
}

converters.WritableStream =
  webidl.interfaceConverter("WritableStream", (value) => isWritableStream(value));

class WritableStreamDefaultWriter {
  #state;

  constructor(stream) {
    const prefix = "Failed to construct 'WritableStreamDefaultWriter'";
    requiredArguments(arguments.length, 1, prefix);
    stream = converters.WritableStream(stream, prefix, "Argument 1");
    this.#state = AcquireWritableStreamDefaultWriterState(writableState(stream));
  }

  get closed() {
    if (!isObject(this) || !(#state in this)) return PromiseReject(notAWriter());
    return this.#state.closed.promise;
  }

  get desiredSize() {
    if (this.#state.stream === null) throw new TypeError("The writer was released");
    return WritableStreamDefaultWriterGetDesiredSize(this.#state);
  }

  get ready() {
    if (!isObject(this) || !(#state in this)) return PromiseReject(notAWriter());
    return this.#state.ready.promise;
  }

  abort(reason = undefined) {
    if (!isObject(this) || !(#state in this)) return PromiseReject(notAWriter());
    const { stream } = this.#state;
    if (stream === null) return ops.rejectedTypeError("The writer was released");
    return WritableStreamAbort(stream, reason);
  }

  close() {
    if (!isObject(this) || !(#state in this)) return PromiseReject(notAWriter());
    const { stream } = this.#state;
    if (stream === null) return ops.rejectedTypeError("The writer was released");
    if (WritableStreamCloseQueuedOrInFlight(stream)) {
      return ops.rejectedTypeError("The stream is closing already");
    }
    return WritableStreamClose(stream);
  }

  releaseLock() {
    if (this.#state.stream === null) return;
    WritableStreamDefaultWriterRelease(this.#state);
  }

  write(chunk = undefined) {
    if (!isObject(this) || !(#state in this)) return PromiseReject(notAWriter());
    if (this.#state.stream === null) return ops.rejectedTypeError("The writer was released");
    const request = new Settling();
    return WritableStreamDefaultWriterWrite(this.#state, chunk, request) ?? request.promise;
  }
}
webidl.configureInterface(WritableStreamDefaultWriter);

function notAWriter() {
  return webidl.illegalInvocation("WritableStreamDefaultWriter");
}

ops.isWritableStream = (value) => isObject(value) && isWritableStream(value);
ops.writableState = writableState;
ops.wrapWritable = wrapWritable;
ops.IsWritableStreamLocked = IsWritableStreamLocked;
ops.AcquireWritableStreamDefaultWriterState = AcquireWritableStreamDefaultWriterState;
ops.WritableStreamAbort = WritableStreamAbort;
ops.WritableStreamClose = WritableStreamClose;
ops.WritableStreamCloseQueuedOrInFlight = WritableStreamCloseQueuedOrInFlight;
ops.WritableStreamDealWithRejection = WritableStreamDealWithRejection;
ops.WritableStreamFinishErroring = WritableStreamFinishErroring;
ops.WritableStreamFinishInFlightClose = WritableStreamFinishInFlightClose;
ops.WritableStreamFinishInFlightCloseWithError = WritableStreamFinishInFlightCloseWithError;
ops.WritableStreamFinishInFlightWrite = WritableStreamFinishInFlightWrite;
ops.WritableStreamFinishInFlightWriteWithError = WritableStreamFinishInFlightWriteWithError;
ops.WritableStreamMarkCloseRequestInFlight = WritableStreamMarkCloseRequestInFlight;
ops.WritableStreamMarkFirstWriteRequestInFlight = WritableStreamMarkFirstWriteRequestInFlight;
ops.WritableStreamStartErroring = WritableStreamStartErroring;
ops.WritableStreamUpdateBackpressure = WritableStreamUpdateBackpressure;
ops.WritableStreamDefaultWriterCloseWithErrorPropagation =
  WritableStreamDefaultWriterCloseWithErrorPropagation;
ops.WritableStreamDefaultWriterGetDesiredSize = WritableStreamDefaultWriterGetDesiredSize;
ops.WritableStreamDefaultWriterRelease = WritableStreamDefaultWriterRelease;
ops.WritableStreamDefaultWriterWrite = WritableStreamDefaultWriterWrite;

realm.streams.WritableStream = WritableStream;
realm.streams.WritableStreamDefaultWriter = WritableStreamDefaultWriter;
realm.expose({ WritableStream, WritableStreamDefaultWriter });
