// The controller of writable streams. https://streams.spec.whatwg.org/#ws-default-controller-class

const { FunctionPrototypeCall, PromisePrototypeThen, PromiseResolve } = realm.primordials;
const { webidl, events } = realm;
const { ops } = realm.streams;
const { internal } = webidl;
const {
  ERRORING, QueueWithSizes, WRITABLE, WritableStreamCloseQueuedOrInFlight,
  WritableStreamDealWithRejection, WritableStreamFinishErroring, WritableStreamFinishInFlightClose,
  WritableStreamFinishInFlightCloseWithError, WritableStreamFinishInFlightWrite,
  WritableStreamFinishInFlightWriteWithError, WritableStreamMarkCloseRequestInFlight,
  WritableStreamMarkFirstWriteRequestInFlight, WritableStreamStartErroring, WritableStreamState,
  WritableStreamUpdateBackpressure, chunkSizeOf, invokeChunkMethod, invokeCloseMethod,
  invokePromiseMethod,
} = ops;

const closeSentinel = { __proto__: null };

// The slots of a WritableStreamDefaultController. Its algorithms are the methods of the underlying
// sink, called on `sink`.
class WritableControllerState {
  constructor(stream, sink, write, close, abort, highWaterMark, sizeAlgorithm) {
    this.stream = stream;
    this.queue = new QueueWithSizes();
    this.sink = sink;
    this.writeAlgorithm = write;
    this.closeAlgorithm = close;
    this.abortAlgorithm = abort;
    this.strategyHWM = highWaterMark;
    this.strategySizeAlgorithm = sizeAlgorithm;
    this.started = false;
    this.signal = null;           // made on demand
    this.signalAborted = false;
    this.signalReason = undefined;
    this.onWritten = null;
    this.onWriteFailed = null;
    this.wrapper = null;
  }

  // [[AbortSteps]]
  abortSteps(reason) {
    const { abortAlgorithm, sink } = this;
    WritableStreamDefaultControllerClearAlgorithms(this);
    return abortAlgorithm === undefined
      ? PromiseResolve(undefined) : invokePromiseMethod(abortAlgorithm, sink, reason);
  }

  // [[ErrorSteps]]
  errorSteps() { this.queue.clear(); }

  signalAbort(reason) {
    if (this.signalAborted) return;
    this.signalAborted = true;
    this.signalReason = reason;
    if (this.signal !== null) events.signalAbort(this.signal, reason);
  }

  abortSignal() {
    if (this.signal === null) {
      this.signal = events.createAbortSignal();
      if (this.signalAborted) events.signalAbort(this.signal, this.signalReason);
    }
    return this.signal;
  }
}

function WritableStreamDefaultControllerAdvanceQueueIfNeeded(controller) {
  const { stream } = controller;
  if (!controller.started || stream.inFlightWriteRequest !== null) return;
  if (stream.state === ERRORING) {
    WritableStreamFinishErroring(stream);
    return;
  }
  if (controller.queue.length === 0) return;
  const value = controller.queue.peek();
  if (value === closeSentinel) WritableStreamDefaultControllerProcessClose(controller);
  else WritableStreamDefaultControllerProcessWrite(controller, value);
}

function WritableStreamDefaultControllerClearAlgorithms(controller) {
  controller.writeAlgorithm = undefined;
  controller.closeAlgorithm = undefined;
  controller.abortAlgorithm = undefined;
  controller.strategySizeAlgorithm = undefined;
  controller.sink = undefined;
}

function WritableStreamDefaultControllerClose(controller) {
  controller.queue.push(closeSentinel, 0);
  WritableStreamDefaultControllerAdvanceQueueIfNeeded(controller);
}

function WritableStreamDefaultControllerError(controller, error) {
  WritableStreamDefaultControllerClearAlgorithms(controller);
  WritableStreamStartErroring(controller.stream, error);
}

function WritableStreamDefaultControllerErrorIfNeeded(controller, error) {
  if (controller.stream.state === WRITABLE) WritableStreamDefaultControllerError(controller, error);
}

function WritableStreamDefaultControllerGetBackpressure(controller) {
  return WritableStreamDefaultControllerGetDesiredSize(controller) <= 0;
}

function WritableStreamDefaultControllerGetChunkSize(controller, chunk) {
  const { strategySizeAlgorithm } = controller;
  if (strategySizeAlgorithm === undefined) return 1;
  try {
    return chunkSizeOf(strategySizeAlgorithm, chunk);
  } catch (error) {
    WritableStreamDefaultControllerErrorIfNeeded(controller, error);
    return 1;
  }
}

function WritableStreamDefaultControllerGetDesiredSize(controller) {
  return controller.strategyHWM - controller.queue.totalSize;
}

function WritableStreamDefaultControllerProcessClose(controller) {
  const { stream } = controller;
  WritableStreamMarkCloseRequestInFlight(stream);
  controller.queue.shift();
  const { closeAlgorithm, sink } = controller;
  const sinkClosePromise = closeAlgorithm === undefined
    ? PromiseResolve(undefined) : invokeCloseMethod(closeAlgorithm, sink);
  WritableStreamDefaultControllerClearAlgorithms(controller);
  PromisePrototypeThen(sinkClosePromise, () => WritableStreamFinishInFlightClose(stream),
    (reason) => WritableStreamFinishInFlightCloseWithError(stream, reason));
}

function WritableStreamDefaultControllerProcessWrite(controller, chunk) {
  const { stream, writeAlgorithm } = controller;
  WritableStreamMarkFirstWriteRequestInFlight(stream);
  const sinkWritePromise = writeAlgorithm === undefined ? PromiseResolve(undefined)
    : invokeChunkMethod(writeAlgorithm, controller.sink, chunk, wrapController(controller));
  // The two reactions are made once per controller, not once per chunk.
  controller.onWritten ??= () => {
    WritableStreamFinishInFlightWrite(stream);
    const { state } = stream;
    controller.queue.shift();
    if (!WritableStreamCloseQueuedOrInFlight(stream) && state === WRITABLE) {
      WritableStreamUpdateBackpressure(
        stream, WritableStreamDefaultControllerGetBackpressure(controller));
    }
    WritableStreamDefaultControllerAdvanceQueueIfNeeded(controller);
  };
  controller.onWriteFailed ??= (reason) => {
    if (stream.state === WRITABLE) WritableStreamDefaultControllerClearAlgorithms(controller);
    WritableStreamFinishInFlightWriteWithError(stream, reason);
  };
  PromisePrototypeThen(sinkWritePromise, controller.onWritten, controller.onWriteFailed);
}

function WritableStreamDefaultControllerWrite(controller, chunk, chunkSize) {
  try {
    controller.queue.push(chunk, chunkSize);
  } catch (error) {
    WritableStreamDefaultControllerErrorIfNeeded(controller, error);
    return;
  }
  const { stream } = controller;
  if (!WritableStreamCloseQueuedOrInFlight(stream) && stream.state === WRITABLE) {
    WritableStreamUpdateBackpressure(
      stream, WritableStreamDefaultControllerGetBackpressure(controller));
  }
  WritableStreamDefaultControllerAdvanceQueueIfNeeded(controller);
}

function SetUpWritableStreamDefaultController(stream, controller, start) {
  stream.controller = controller;
  WritableStreamUpdateBackpressure(
    stream, WritableStreamDefaultControllerGetBackpressure(controller));
  const startPromise = ops.promiseResolvedWith(start());
  PromisePrototypeThen(startPromise, () => {
    controller.started = true;
    WritableStreamDefaultControllerAdvanceQueueIfNeeded(controller);
  }, (reason) => {
    controller.started = true;
    WritableStreamDealWithRejection(stream, reason);
  });
}

function SetUpWritableStreamDefaultControllerFromUnderlyingSink(
  stream, sink, sinkDict, highWaterMark, sizeAlgorithm) {
  const controller = new WritableControllerState(
    stream, sink, sinkDict.write, sinkDict.close, sinkDict.abort, highWaterMark, sizeAlgorithm);
  const { start } = sinkDict;
  SetUpWritableStreamDefaultController(stream, controller, () => (start === undefined
    ? undefined : FunctionPrototypeCall(start, sink, wrapController(controller))));
}

// https://streams.spec.whatwg.org/#create-writable-stream
function CreateWritableStream(start, write, close, abort, highWaterMark = 1, sizeAlgorithm) {
  const stream = new WritableStreamState();
  const controller = new WritableControllerState(
    stream, undefined, write, close, abort, highWaterMark, sizeAlgorithm);
  SetUpWritableStreamDefaultController(stream, controller, start);
  return stream;
}

class WritableStreamDefaultController {
  #state;

  constructor() {
    if (arguments[0] !== internal) throw webidl.illegalConstructor();
    this.#state = arguments[1];
  }

  get signal() { return this.#state.abortSignal(); }

  error(e = undefined) {
    const controller = this.#state;
    if (controller.stream.state !== WRITABLE) return;
    WritableStreamDefaultControllerError(controller, e);
  }
}
webidl.configureInterface(WritableStreamDefaultController);

function wrapController(controller) {
  return controller.wrapper ??= new WritableStreamDefaultController(internal, controller);
}

ops.CreateWritableStream = CreateWritableStream;
ops.SetUpWritableStreamDefaultControllerFromUnderlyingSink =
  SetUpWritableStreamDefaultControllerFromUnderlyingSink;
ops.WritableStreamDefaultControllerClose = WritableStreamDefaultControllerClose;
ops.WritableStreamDefaultControllerErrorIfNeeded = WritableStreamDefaultControllerErrorIfNeeded;
ops.WritableStreamDefaultControllerGetChunkSize = WritableStreamDefaultControllerGetChunkSize;
ops.WritableStreamDefaultControllerGetDesiredSize = WritableStreamDefaultControllerGetDesiredSize;
ops.WritableStreamDefaultControllerWrite = WritableStreamDefaultControllerWrite;

realm.streams.WritableStreamDefaultController = WritableStreamDefaultController;
realm.expose({ WritableStreamDefaultController });
