// TransformStream. https://streams.spec.whatwg.org/#ts

const {
  FunctionPrototypeCall, PromisePrototypeThen, PromiseReject, PromiseResolve, RangeError, TypeError,
} = realm.primordials;
const { webidl } = realm;
const { ops } = realm.streams;
const { converters, internal } = webidl;
const {
  Deferred, ERRORED, ERRORING, ReadableStreamDefaultControllerCanCloseOrEnqueue,
  ReadableStreamDefaultControllerClose, ReadableStreamDefaultControllerEnqueue,
  ReadableStreamDefaultControllerError, ReadableStreamDefaultControllerGetDesiredSize,
  ReadableStreamDefaultControllerHasBackpressure, Settling, WRITABLE_ERRORED,
  WritableStreamDefaultControllerErrorIfNeeded, invokeChunkMethod, invokePromiseMethod,
} = ops;

// The slots of a TransformStream.
class TransformStreamState {
  constructor() {
    this.readable = null;
    this.writable = null;
    this.backpressure = undefined;
    this.backpressureChange = null;  // a Deferred
    this.controller = null;
  }
}

// The slots of a TransformStreamDefaultController. Its algorithms are the methods of the
// transformer, called on `transformer`.
class TransformControllerState {
  constructor(stream, transformer, transform, flush, cancel) {
    this.stream = stream;
    this.transformer = transformer;
    this.transformAlgorithm = transform;
    this.flushAlgorithm = flush;
    this.cancelAlgorithm = cancel;
    this.finish = null;              // a Settling
    this.onTransformFailed = null;
    this.wrapper = null;
  }
}

// https://streams.spec.whatwg.org/#initialize-transform-stream
function InitializeTransformStream(stream, startPromise, writableHWM, writableSize, readableHWM,
  readableSize) {
  const start = () => startPromise;
  stream.writable = ops.CreateWritableStream(start,
    (chunk) => TransformStreamDefaultSinkWriteAlgorithm(stream, chunk),
    () => TransformStreamDefaultSinkCloseAlgorithm(stream),
    (reason) => TransformStreamDefaultSinkAbortAlgorithm(stream, reason),
    writableHWM, writableSize);
  stream.readable = ops.CreateReadableStream(start,
    () => TransformStreamDefaultSourcePullAlgorithm(stream),
    (reason) => TransformStreamDefaultSourceCancelAlgorithm(stream, reason),
    readableHWM, readableSize);
  TransformStreamSetBackpressure(stream, true);
}

function TransformStreamError(stream, error) {
  ReadableStreamDefaultControllerError(stream.readable.controller, error);
  TransformStreamErrorWritableAndUnblockWrite(stream, error);
}

function TransformStreamErrorWritableAndUnblockWrite(stream, error) {
  TransformStreamDefaultControllerClearAlgorithms(stream.controller);
  WritableStreamDefaultControllerErrorIfNeeded(stream.writable.controller, error);
  TransformStreamUnblockWrite(stream);
}

function TransformStreamSetBackpressure(stream, backpressure) {
  if (stream.backpressureChange !== null) stream.backpressureChange.resolve();
  stream.backpressureChange = new Deferred();
  stream.backpressure = backpressure;
}

function TransformStreamUnblockWrite(stream) {
  if (stream.backpressure) TransformStreamSetBackpressure(stream, false);
}

// ---- controller

function SetUpTransformStreamDefaultControllerFromTransformer(stream, transformer, dict) {
  const controller = new TransformControllerState(
    stream, transformer, dict.transform, dict.flush, dict.cancel);
  stream.controller = controller;
  return controller;
}

function TransformStreamDefaultControllerClearAlgorithms(controller) {
  controller.transformAlgorithm = undefined;
  controller.flushAlgorithm = undefined;
  controller.cancelAlgorithm = undefined;
  controller.transformer = null;
}

function TransformStreamDefaultControllerEnqueue(controller, chunk) {
  const { stream } = controller;
  const readableController = stream.readable.controller;
  if (!ReadableStreamDefaultControllerCanCloseOrEnqueue(readableController)) {
    throw new TypeError("The readable side takes no more chunks: it is closed, errored or closing");
  }
  try {
    ReadableStreamDefaultControllerEnqueue(readableController, chunk);
  } catch (error) {
    TransformStreamErrorWritableAndUnblockWrite(stream, error);
    throw stream.readable.storedError;
  }
  const backpressure = ReadableStreamDefaultControllerHasBackpressure(readableController);
  if (backpressure !== stream.backpressure) TransformStreamSetBackpressure(stream, true);
}

function TransformStreamDefaultControllerError(controller, error) {
  TransformStreamError(controller.stream, error);
}

function TransformStreamDefaultControllerPerformTransform(controller, chunk) {
  const { transformAlgorithm, transformer } = controller;
  // A transformer without transform() forwards its chunks unchanged.
  if (transformAlgorithm === undefined) {
    try {
      TransformStreamDefaultControllerEnqueue(controller, chunk);
      return PromiseResolve(undefined);
    } catch (error) {
      TransformStreamError(controller.stream, error);
      return PromiseReject(error);
    }
  }
  const transformPromise = invokeChunkMethod(
    transformAlgorithm, transformer, chunk, wrapController(controller));
  controller.onTransformFailed ??= (reason) => {
    TransformStreamError(controller.stream, reason);
    throw reason;
  };
  return PromisePrototypeThen(transformPromise, undefined, controller.onTransformFailed);
}

function TransformStreamDefaultControllerTerminate(controller) {
  const { stream } = controller;
  ReadableStreamDefaultControllerClose(stream.readable.controller);
  TransformStreamErrorWritableAndUnblockWrite(
    stream, new TypeError("The transform stream was terminated"));
}

// ---- sink and source

function TransformStreamDefaultSinkWriteAlgorithm(stream, chunk) {
  const { controller } = stream;
  if (!stream.backpressure) {
    return TransformStreamDefaultControllerPerformTransform(controller, chunk);
  }
  return PromisePrototypeThen(stream.backpressureChange.promise, () => {
    const { writable } = stream;
    if (writable.state === ERRORING) throw writable.storedError;
    return TransformStreamDefaultControllerPerformTransform(controller, chunk);
  });
}

function TransformStreamDefaultSinkAbortAlgorithm(stream, reason) {
  const { controller, readable } = stream;
  if (controller.finish !== null) return controller.finish.promise;
  controller.finish = new Settling();
  const cancelPromise = runCancel(controller, reason);
  TransformStreamDefaultControllerClearAlgorithms(controller);
  PromisePrototypeThen(cancelPromise, () => {
    if (readable.state === ERRORED) {
      controller.finish.reject(readable.storedError);
    } else {
      ReadableStreamDefaultControllerError(readable.controller, reason);
      controller.finish.resolve(undefined);
    }
  }, (error) => {
    ReadableStreamDefaultControllerError(readable.controller, error);
    controller.finish.reject(error);
  });
  return controller.finish.promise;
}

function runCancel(controller, reason) {
  const { cancelAlgorithm } = controller;
  return cancelAlgorithm === undefined ? PromiseResolve(undefined)
    : invokePromiseMethod(cancelAlgorithm, controller.transformer, reason);
}

function TransformStreamDefaultSinkCloseAlgorithm(stream) {
  const { controller, readable } = stream;
  if (controller.finish !== null) return controller.finish.promise;
  controller.finish = new Settling();
  const { flushAlgorithm } = controller;
  const flushPromise = flushAlgorithm === undefined ? PromiseResolve(undefined)
    : invokePromiseMethod(flushAlgorithm, controller.transformer, wrapController(controller));
  TransformStreamDefaultControllerClearAlgorithms(controller);
  PromisePrototypeThen(flushPromise, () => {
    if (readable.state === ERRORED) {
      controller.finish.reject(readable.storedError);
    } else {
      ReadableStreamDefaultControllerClose(readable.controller);
      controller.finish.resolve(undefined);
    }
  }, (error) => {
    ReadableStreamDefaultControllerError(readable.controller, error);
    controller.finish.reject(error);
  });
  return controller.finish.promise;
}

function TransformStreamDefaultSourceCancelAlgorithm(stream, reason) {
  const { controller, writable } = stream;
  if (controller.finish !== null) return controller.finish.promise;
  controller.finish = new Settling();
  const cancelPromise = runCancel(controller, reason);
  TransformStreamDefaultControllerClearAlgorithms(controller);
  PromisePrototypeThen(cancelPromise, () => {
    if (writable.state === WRITABLE_ERRORED) {
      controller.finish.reject(writable.storedError);
    } else {
      WritableStreamDefaultControllerErrorIfNeeded(writable.controller, reason);
      TransformStreamUnblockWrite(stream);
      controller.finish.resolve(undefined);
    }
  }, (error) => {
    WritableStreamDefaultControllerErrorIfNeeded(writable.controller, error);
    TransformStreamUnblockWrite(stream);
    controller.finish.reject(error);
  });
  return controller.finish.promise;
}

function TransformStreamDefaultSourcePullAlgorithm(stream) {
  TransformStreamSetBackpressure(stream, false);
  return stream.backpressureChange.promise;
}

// ---- the classes

converters.Transformer = webidl.dictionaryConverter("Transformer", [
  { key: "cancel", converter: converters.Function },
  { key: "flush", converter: converters.Function },
  { key: "readableType", converter: converters.any },
  { key: "start", converter: converters.Function },
  { key: "transform", converter: converters.Function },
  { key: "writableType", converter: converters.any },
]);

class TransformStream {
  #state;

  constructor(transformer = undefined, writableStrategy = {}, readableStrategy = {}) {
    const prefix = "Failed to construct 'TransformStream'";
    const object = transformer === undefined
      ? null : converters.object(transformer, prefix, "Argument 1");
    const writableDict = converters.QueuingStrategy(writableStrategy, prefix, "Argument 2");
    const readableDict = converters.QueuingStrategy(readableStrategy, prefix, "Argument 3");
    const dict = converters.Transformer(object, prefix, "Argument 1");
    if ("readableType" in dict) throw new RangeError(`${prefix}: 'readableType' is reserved`);
    if ("writableType" in dict) throw new RangeError(`${prefix}: 'writableType' is reserved`);
    const readableHWM = ops.ExtractHighWaterMark(readableDict, 0);
    const readableSize = ops.ExtractSizeAlgorithm(readableDict);
    const writableHWM = ops.ExtractHighWaterMark(writableDict, 1);
    const writableSize = ops.ExtractSizeAlgorithm(writableDict);
    const stream = new TransformStreamState();
    this.#state = stream;
    const start = new Settling();
    InitializeTransformStream(
      stream, start.promise, writableHWM, writableSize, readableHWM, readableSize);
    const controller = SetUpTransformStreamDefaultControllerFromTransformer(stream, object, dict);
    start.resolve(dict.start === undefined
      ? undefined : FunctionPrototypeCall(dict.start, object, wrapController(controller)));
  }

  get readable() { return ops.wrapReadable(this.#state.readable); }
  get writable() { return ops.wrapWritable(this.#state.writable); }
}
webidl.configureInterface(TransformStream);

class TransformStreamDefaultController {
  #state;

  constructor() {
    if (arguments[0] !== internal) throw webidl.illegalConstructor();
    this.#state = arguments[1];
  }

  get desiredSize() {
    return ReadableStreamDefaultControllerGetDesiredSize(this.#state.stream.readable.controller);
  }

  enqueue(chunk = undefined) { TransformStreamDefaultControllerEnqueue(this.#state, chunk); }
  error(reason = undefined) { TransformStreamDefaultControllerError(this.#state, reason); }
  terminate() { TransformStreamDefaultControllerTerminate(this.#state); }
}
webidl.configureInterface(TransformStreamDefaultController);

function wrapController(controller) {
  return controller.wrapper ??= new TransformStreamDefaultController(internal, controller);
}

// https://streams.spec.whatwg.org/#transformstream-set-up, the transform stream of another
// standard: transform(chunk, enqueue) and flush(enqueue) return no promise; an error that they
// throw errors both sides. Returns { readable, writable }, the public objects.
function createTransformStream(transform, flush) {
  const stream = new TransformStreamState();
  InitializeTransformStream(stream, PromiseResolve(undefined), 1, undefined, 0, undefined);
  const enqueue = (chunk) => TransformStreamDefaultControllerEnqueue(stream.controller, chunk);
  SetUpTransformStreamDefaultControllerFromTransformer(stream, undefined, {
    transform: (chunk) => transform(chunk, enqueue),
    flush: flush === undefined ? undefined : () => flush(enqueue),
    cancel: undefined,
  });
  return {
    readable: ops.wrapReadable(stream.readable),
    writable: ops.wrapWritable(stream.writable),
  };
}

realm.streams.createTransformStream = createTransformStream;
realm.streams.TransformStream = TransformStream;
realm.streams.TransformStreamDefaultController = TransformStreamDefaultController;
realm.expose({ TransformStream, TransformStreamDefaultController });
