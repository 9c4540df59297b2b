// The default controller and the default reader of readable streams.
// https://streams.spec.whatwg.org/#rs-default-controller-class
// https://streams.spec.whatwg.org/#default-reader-class

const {
  FunctionPrototypeCall, Promise, PromisePrototypeThen, PromiseReject, PromiseResolve, TypeError,
} = realm.primordials;
const { webidl } = realm;
const { ops } = realm.streams;
const { converters, internal, isObject, requiredArguments } = webidl;
const {
  CLOSED, ERRORED, Fifo, QueueWithSizes, READABLE, ReadableStreamCancel, ReadableStreamClose,
  ReadableStreamError, ReadableStreamFulfillReadRequest, ReadableStreamReaderGenericInitialize,
  ReadableStreamReaderGenericRelease, ReadableStreamState, readableState,
} = ops;

// ---- controller

// The slots of a ReadableStreamDefaultController. The algorithms of a script are methods of the
// underlying source, called on `source`. Those of the host have no source and receive the state of
// the controller. A pull algorithm of the host that returns undefined has finished by then.
class DefaultControllerState {
  constructor(stream, source, pullAlgorithm, cancelAlgorithm, highWaterMark, sizeAlgorithm) {
    this.stream = stream;
    this.queue = new QueueWithSizes();
    this.source = source;
    this.pullAlgorithm = pullAlgorithm;
    this.cancelAlgorithm = cancelAlgorithm;
    this.strategyHWM = highWaterMark;
    this.strategySizeAlgorithm = sizeAlgorithm;
    this.started = false;
    this.closeRequested = false;
    this.pulling = false;
    this.pullAgain = false;
    this.pullPromise = null;  // of a source whose pull() has not settled
    this.onPulled = null;
    this.onPullFailed = null;
    this.wrapper = null;
  }

  // [[CancelSteps]]
  cancelSteps(reason) {
    this.queue.clear();
    const { cancelAlgorithm, source } = this;
    ReadableStreamDefaultControllerClearAlgorithms(this);
    if (cancelAlgorithm === undefined) return PromiseResolve(undefined);
    return ops.invokePromiseMethod(cancelAlgorithm, source, reason);
  }

  // [[PullSteps]]
  pullSteps(readRequest) {
    const { queue, stream } = this;
    if (queue.length > 0) {
      const chunk = queue.shift();
      if (this.closeRequested && queue.length === 0) {
        ReadableStreamDefaultControllerClearAlgorithms(this);
        ReadableStreamClose(stream);
      } else {
        ReadableStreamDefaultControllerCallPullIfNeeded(this);
      }
      readRequest.chunkSteps(chunk);
    } else {
      stream.reader.readRequests.push(readRequest);
      ReadableStreamDefaultControllerCallPullIfNeeded(this);
    }
  }

  // [[ReleaseSteps]]
  releaseSteps() {}
}

function ReadableStreamDefaultControllerCallPullIfNeeded(controller) {
  if (!ReadableStreamDefaultControllerShouldCallPull(controller)) return;
  if (controller.pulling) {
    controller.pullAgain = true;
    return;
  }
  const { pullAlgorithm } = controller;
  controller.pulling = true;
  if (controller.source === internal) {
    callInternalPull(controller, pullAlgorithm);
    return;
  }
  const pullPromise = pullAlgorithm === undefined
    ? PromiseResolve(undefined)
    : ops.invokePullMethod(pullAlgorithm, controller.source, wrapController(controller));
  reactToPull(controller, pullPromise);
}

function reactToPull(controller, pullPromise) {
  // The two reactions are made once per controller, not once per pull.
  controller.onPulled ??= () => {
    controller.pulling = false;
    controller.pullPromise = null;
    if (controller.pullAgain) {
      controller.pullAgain = false;
      ReadableStreamDefaultControllerCallPullIfNeeded(controller);
    }
  };
  controller.onPullFailed ??= (error) => {
    ReadableStreamDefaultControllerError(controller, error);
  };
  controller.pullPromise = pullPromise;
  PromisePrototypeThen(pullPromise, controller.onPulled, controller.onPullFailed);
}

function callInternalPull(controller, pullAlgorithm) {
  if (pullAlgorithm === undefined) {
    controller.pulling = false;
    return;
  }
  do {
    controller.pullAgain = false;
    let result;
    try {
      result = pullAlgorithm(controller);
    } catch (error) {
      ReadableStreamDefaultControllerError(controller, error);
      return;
    }
    if (result !== undefined) {
      reactToPull(controller, result);
      return;
    }
  } while (controller.pullAgain && ReadableStreamDefaultControllerShouldCallPull(controller));
  controller.pulling = false;
}

function ReadableStreamDefaultControllerShouldCallPull(controller) {
  const { stream } = controller;
  if (!ReadableStreamDefaultControllerCanCloseOrEnqueue(controller)) return false;
  if (!controller.started) return false;
  const { reader } = stream;
  if (reader !== null && reader.readRequests.length > 0) return true;
  return controller.strategyHWM - controller.queue.totalSize > 0;
}

function ReadableStreamDefaultControllerClearAlgorithms(controller) {
  controller.pullAlgorithm = undefined;
  controller.cancelAlgorithm = undefined;
  controller.strategySizeAlgorithm = undefined;
  if (controller.source !== internal) controller.source = undefined;
}

function ReadableStreamDefaultControllerClose(controller) {
  if (!ReadableStreamDefaultControllerCanCloseOrEnqueue(controller)) return;
  controller.closeRequested = true;
  if (controller.queue.length === 0) {
    ReadableStreamDefaultControllerClearAlgorithms(controller);
    ReadableStreamClose(controller.stream);
  }
}

function ReadableStreamDefaultControllerEnqueue(controller, chunk) {
  if (!ReadableStreamDefaultControllerCanCloseOrEnqueue(controller)) return;
  const { stream } = controller;
  const { reader } = stream;
  if (reader !== null && reader.readRequests.length > 0) {
    ReadableStreamFulfillReadRequest(stream, chunk, false);
  } else {
    try {
      const { strategySizeAlgorithm } = controller;
      controller.queue.push(chunk, strategySizeAlgorithm === undefined
        ? 1 : ops.chunkSizeOf(strategySizeAlgorithm, chunk));
    } catch (error) {
      ReadableStreamDefaultControllerError(controller, error);
      throw error;
    }
  }
  ReadableStreamDefaultControllerCallPullIfNeeded(controller);
}

function ReadableStreamDefaultControllerError(controller, error) {
  const { stream } = controller;
  if (stream.state !== READABLE) return;
  controller.queue.clear();
  ReadableStreamDefaultControllerClearAlgorithms(controller);
  ReadableStreamError(stream, error);
}

function ReadableStreamDefaultControllerGetDesiredSize(controller) {
  const { state } = controller.stream;
  if (state === ERRORED) return null;
  if (state === CLOSED) return 0;
  return controller.strategyHWM - controller.queue.totalSize;
}

function ReadableStreamDefaultControllerHasBackpressure(controller) {
  return !ReadableStreamDefaultControllerShouldCallPull(controller);
}

function ReadableStreamDefaultControllerCanCloseOrEnqueue(controller) {
  return !controller.closeRequested && controller.stream.state === READABLE;
}

function SetUpReadableStreamDefaultController(stream, controller, startResult) {
  const startPromise = ops.promiseResolvedWith(startResult);
  PromisePrototypeThen(startPromise, () => {
    controller.started = true;
    ReadableStreamDefaultControllerCallPullIfNeeded(controller);
  }, (error) => ReadableStreamDefaultControllerError(controller, error));
}

function SetUpReadableStreamDefaultControllerFromUnderlyingSource(
  stream, source, sourceDict, highWaterMark, sizeAlgorithm) {
  const controller = new DefaultControllerState(
    stream, source, sourceDict.pull, sourceDict.cancel, highWaterMark, sizeAlgorithm);
  stream.controller = controller;
  const startResult = sourceDict.start === undefined
    ? undefined : FunctionPrototypeCall(sourceDict.start, source, wrapController(controller));
  SetUpReadableStreamDefaultController(stream, controller, startResult);
}

// https://streams.spec.whatwg.org/#create-readable-stream, for algorithms of the standard: pull and
// cancel must return a promise.
function CreateReadableStream(start, pull, cancel, highWaterMark = 1, sizeAlgorithm = undefined) {
  const stream = new ReadableStreamState();
  const controller = new DefaultControllerState(
    stream, undefined, pull, cancel, highWaterMark, sizeAlgorithm);
  stream.controller = controller;
  SetUpReadableStreamDefaultController(stream, controller, start(controller));
  return stream;
}

// A stream of the host. It has started as soon as it is made, unless start() returns a promise.
// pull receives the state of the controller and may return undefined.
function createInternalStream(start, pull, cancel, highWaterMark, sizeAlgorithm) {
  const stream = new ReadableStreamState();
  const controller = new DefaultControllerState(
    stream, internal, pull, cancel, highWaterMark, sizeAlgorithm);
  stream.controller = controller;
  const started = start === undefined ? undefined : start(controller);
  if (started === undefined) {
    // NB: Does not pull yet: the first use of the stream, or the first read, does.
    controller.started = true;
  } else {
    SetUpReadableStreamDefaultController(stream, controller, started);
  }
  return stream;
}

let controllerState;

class ReadableStreamDefaultController {
  #state;

  constructor() {
    if (arguments[0] !== internal) throw webidl.illegalConstructor();
    this.#state = arguments[1];
  }

  get desiredSize() { return ReadableStreamDefaultControllerGetDesiredSize(this.#state); }

  close() {
    if (!ReadableStreamDefaultControllerCanCloseOrEnqueue(this.#state)) {
      throw new TypeError("The stream cannot be closed: it is closed, errored or closing");
    }
    ReadableStreamDefaultControllerClose(this.#state);
  }

  enqueue(chunk = undefined) {
    if (!ReadableStreamDefaultControllerCanCloseOrEnqueue(this.#state)) {
      throw new TypeError("The stream takes no more chunks: it is closed, errored or closing");
    }
    ReadableStreamDefaultControllerEnqueue(this.#state, chunk);
  }

  error(e = undefined) { ReadableStreamDefaultControllerError(this.#state, e); }

  static {
    controllerState = (controller) => controller.#state;
  }
}
webidl.configureInterface(ReadableStreamDefaultController);

function wrapController(controller) {
  return controller.wrapper ??= new ReadableStreamDefaultController(internal, controller);
}

// ---- reader

class DefaultReaderState {
  constructor() {
    this.stream = null;
    this.closed = null;
    this.isByob = false;
    this.readRequests = new Fifo();
    this.wrapper = null;
  }
}

let capturedResolve;
let capturedReject;
function capture(resolve, reject) {
  capturedResolve = resolve;
  capturedReject = reject;
}

// The request behind reader.read(). A chunk that is already queued needs no resolving functions.
class PromiseReadRequest {
  constructor() {
    this.promise = null;
    this.resolve = null;
    this.reject = null;
  }

  wait() {
    this.promise = new Promise(capture);
    this.resolve = capturedResolve;
    this.reject = capturedReject;
  }

  chunkSteps(chunk) { this.fulfill({ value: chunk, done: false }); }
  closeSteps() { this.fulfill({ value: undefined, done: true }); }

  fulfill(result) {
    if (this.promise === null) this.promise = PromiseResolve(result);
    else this.resolve(result);
  }

  errorSteps(error) {
    if (this.promise === null) this.promise = PromiseReject(error);
    else this.reject(error);
  }
}

function SetUpReadableStreamDefaultReader(reader, stream) {
  if (stream.reader !== null) throw new TypeError("The stream is locked to a reader already");
  ReadableStreamReaderGenericInitialize(reader, stream);
}

function AcquireReadableStreamDefaultReaderState(stream) {
  const reader = new DefaultReaderState();
  SetUpReadableStreamDefaultReader(reader, stream);
  return reader;
}

function AcquireReadableStreamDefaultReader(stream) {
  return new ReadableStreamDefaultReader(ops.wrapReadable(stream));
}

function ReadableStreamDefaultReaderRead(reader, readRequest) {
  const { stream } = reader;
  stream.disturbed = true;
  if (stream.state === READABLE) stream.controller.pullSteps(readRequest);
  else if (stream.state === CLOSED) readRequest.closeSteps();
  else readRequest.errorSteps(stream.storedError);
}

function ReadableStreamDefaultReaderRelease(reader) {
  ReadableStreamReaderGenericRelease(reader);
  if (reader.readRequests.length > 0) {
    ReadableStreamDefaultReaderErrorReadRequests(reader, new TypeError("The reader was released"));
  }
}

function ReadableStreamDefaultReaderErrorReadRequests(reader, error) {
  if (reader.readRequests.length === 0) return;
  const requests = reader.readRequests;
  reader.readRequests = new Fifo();
  while (requests.length > 0) requests.shift().errorSteps(error);
}

class ReadableStreamDefaultReader {
  #state;

  constructor(stream) {
    const prefix = "Failed to construct 'ReadableStreamDefaultReader'";
    requiredArguments(arguments.length, 1, prefix);
    stream = converters.ReadableStream(stream, prefix, "Argument 1");
    const reader = new DefaultReaderState();
    SetUpReadableStreamDefaultReader(reader, readableState(stream));
    reader.wrapper = this;
    this.#state = reader;
  }

  get closed() {
    if (!isObject(this) || !(#state in this)) return PromiseReject(notAReader());
    return this.#state.closed.promise;
  }

  cancel(reason = undefined) {
    if (!isObject(this) || !(#state in this)) return PromiseReject(notAReader());
    if (this.#state.stream === null) return ops.rejectedTypeError("The reader was released");
    return ReadableStreamCancel(this.#state.stream, reason);
  }

  read() {
    if (!isObject(this) || !(#state in this)) return PromiseReject(notAReader());
    const reader = this.#state;
    if (reader.stream === null) return ops.rejectedTypeError("The reader was released");
    const request = new PromiseReadRequest();
    const { queue } = reader.stream.controller;
    // NB: If the request must wait, its promise must exist before the source is called.
    if (reader.stream.state === READABLE && queue.length === 0) request.wait();
    ReadableStreamDefaultReaderRead(reader, request);
    return request.promise;
  }

  releaseLock() {
    const reader = this.#state;
    if (reader.stream === null) return;
    ReadableStreamDefaultReaderRelease(reader);
  }

  static {
    ops.defaultReaderState = (reader) => reader.#state;
  }
}
webidl.configureInterface(ReadableStreamDefaultReader);

function notAReader() {
  return webidl.illegalInvocation("ReadableStreamDefaultReader");
}

ops.createInternalStream = createInternalStream;
ops.CreateReadableStream = CreateReadableStream;
ops.SetUpReadableStreamDefaultControllerFromUnderlyingSource =
  SetUpReadableStreamDefaultControllerFromUnderlyingSource;
ops.ReadableStreamDefaultControllerCallPullIfNeeded =
  ReadableStreamDefaultControllerCallPullIfNeeded;
ops.ReadableStreamDefaultControllerCanCloseOrEnqueue =
  ReadableStreamDefaultControllerCanCloseOrEnqueue;
ops.ReadableStreamDefaultControllerClose = ReadableStreamDefaultControllerClose;
ops.ReadableStreamDefaultControllerEnqueue = ReadableStreamDefaultControllerEnqueue;
ops.ReadableStreamDefaultControllerError = ReadableStreamDefaultControllerError;
ops.ReadableStreamDefaultControllerGetDesiredSize = ReadableStreamDefaultControllerGetDesiredSize;
ops.ReadableStreamDefaultControllerHasBackpressure =
  ReadableStreamDefaultControllerHasBackpressure;
ops.AcquireReadableStreamDefaultReader = AcquireReadableStreamDefaultReader;
ops.AcquireReadableStreamDefaultReaderState = AcquireReadableStreamDefaultReaderState;
ops.ReadableStreamDefaultReaderRead = ReadableStreamDefaultReaderRead;
ops.ReadableStreamDefaultReaderRelease = ReadableStreamDefaultReaderRelease;
ops.ReadableStreamDefaultReaderErrorReadRequests = ReadableStreamDefaultReaderErrorReadRequests;
ops.defaultControllerState = controllerState;

realm.streams.ReadableStreamDefaultReader = ReadableStreamDefaultReader;
realm.streams.ReadableStreamDefaultController = ReadableStreamDefaultController;
realm.expose({ ReadableStreamDefaultReader, ReadableStreamDefaultController });
