// The controller of readable byte streams. https://streams.spec.whatwg.org/#rbs-controller-class

const {
  ArrayBuffer, ArrayBufferPrototypeGetByteLength, ArrayPrototypePush, BigInt64Array,
  BigUint64Array, DataView, Float32Array, Float64Array, FunctionPrototypeCall, Int16Array,
  Int32Array, Int8Array, MathMin, PromisePrototypeThen, PromiseResolve, RangeError, TypeError,
  TypedArrayPrototypeGetSymbolToStringTag, Uint16Array, Uint32Array, Uint8Array,
  Uint8ClampedArray,
} = realm.primordials;
const { webidl } = realm;
const { ops } = realm.streams;
const { internal, isDetached, viewBuffer, viewByteLength, viewByteOffset } = webidl;
const {
  CLOSED, ERRORED, Fifo, READABLE, CloneArrayBuffer, CopyDataBlockBytes, ReadableStreamClose,
  ReadableStreamError, ReadableStreamFulfillReadIntoRequest, ReadableStreamFulfillReadRequest,
  ReadableStreamGetNumReadIntoRequests, ReadableStreamGetNumReadRequests,
  ReadableStreamHasBYOBReader, ReadableStreamHasDefaultReader, ReadableStreamState,
  TransferArrayBuffer,
} = ops;

// By the name of the class: its constructor and the size of an element.
const viewKinds = {
  __proto__: null,
  Int8Array: [Int8Array, 1],
  Uint8Array: [Uint8Array, 1],
  Uint8ClampedArray: [Uint8ClampedArray, 1],
  Int16Array: [Int16Array, 2],
  Uint16Array: [Uint16Array, 2],
  Int32Array: [Int32Array, 4],
  Uint32Array: [Uint32Array, 4],
  Float32Array: [Float32Array, 4],
  Float64Array: [Float64Array, 8],
  BigInt64Array: [BigInt64Array, 8],
  BigUint64Array: [BigUint64Array, 8],
};
const dataViewKind = [DataView, 1];

ops.viewKindOf = function viewKindOf(view) {
  const tag = TypedArrayPrototypeGetSymbolToStringTag(view);
  return tag === undefined ? dataViewKind : viewKinds[tag];
};

// https://streams.spec.whatwg.org/#readable-byte-stream-queue-entry
class QueueEntry {
  constructor(buffer, byteOffset, byteLength) {
    this.buffer = buffer;
    this.byteOffset = byteOffset;
    this.byteLength = byteLength;
  }
}

// https://streams.spec.whatwg.org/#pull-into-descriptor
class PullIntoDescriptor {
  constructor(buffer, byteOffset, byteLength, minimumFill, elementSize, viewConstructor,
    readerType) {
    this.buffer = buffer;
    this.bufferByteLength = ArrayBufferPrototypeGetByteLength(buffer);
    this.byteOffset = byteOffset;
    this.byteLength = byteLength;
    this.bytesFilled = 0;
    this.minimumFill = minimumFill;
    this.elementSize = elementSize;
    this.viewConstructor = viewConstructor;
    this.readerType = readerType;  // "default", "byob" or "none"
  }
}

// The slots of a ReadableByteStreamController; see DefaultControllerState for the algorithms.
class ByteControllerState {
  constructor(stream, source, pullAlgorithm, cancelAlgorithm, highWaterMark,
    autoAllocateChunkSize) {
    this.stream = stream;
    this.queue = new Fifo();
    this.queueTotalSize = 0;
    this.source = source;
    this.pullAlgorithm = pullAlgorithm;
    this.cancelAlgorithm = cancelAlgorithm;
    this.strategyHWM = highWaterMark;
    this.autoAllocateChunkSize = autoAllocateChunkSize;
    this.pendingPullIntos = new Fifo();
    this.byobRequest = null;
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
    ReadableByteStreamControllerClearPendingPullIntos(this);
    resetQueue(this);
    const { cancelAlgorithm, source } = this;
    ReadableByteStreamControllerClearAlgorithms(this);
    if (cancelAlgorithm === undefined) return PromiseResolve(undefined);
    return ops.invokePromiseMethod(cancelAlgorithm, source, reason);
  }

  // [[PullSteps]]
  pullSteps(readRequest) {
    if (this.queueTotalSize > 0) {
      ReadableByteStreamControllerFillReadRequestFromQueue(this, readRequest);
      return;
    }
    const { autoAllocateChunkSize } = this;
    if (autoAllocateChunkSize !== undefined) {
      let buffer;
      try {
        buffer = new ArrayBuffer(autoAllocateChunkSize);
      } catch (error) {
        readRequest.errorSteps(error);
        return;
      }
      this.pendingPullIntos.push(new PullIntoDescriptor(
        buffer, 0, autoAllocateChunkSize, 1, 1, Uint8Array, "default"));
    }
    this.stream.reader.readRequests.push(readRequest);
    ReadableByteStreamControllerCallPullIfNeeded(this);
  }

  // [[ReleaseSteps]]
  releaseSteps() {
    if (this.pendingPullIntos.length === 0) return;
    const first = this.pendingPullIntos.peek();
    first.readerType = "none";
    this.pendingPullIntos.clear();
    this.pendingPullIntos.push(first);
  }
}

function resetQueue(controller) {
  controller.queue.clear();
  controller.queueTotalSize = 0;
}

function ReadableByteStreamControllerCallPullIfNeeded(controller) {
  if (!ReadableByteStreamControllerShouldCallPull(controller)) return;
  if (controller.pulling) {
    controller.pullAgain = true;
    return;
  }
  controller.pulling = true;
  const { pullAlgorithm } = controller;
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
  controller.onPulled ??= () => {
    controller.pulling = false;
    controller.pullPromise = null;
    if (controller.pullAgain) {
      controller.pullAgain = false;
      ReadableByteStreamControllerCallPullIfNeeded(controller);
    }
  };
  controller.onPullFailed ??= (error) => ReadableByteStreamControllerError(controller, error);
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
      ReadableByteStreamControllerError(controller, error);
      return;
    }
    if (result !== undefined) {
      reactToPull(controller, result);
      return;
    }
  } while (controller.pullAgain && ReadableByteStreamControllerShouldCallPull(controller));
  controller.pulling = false;
}

function ReadableByteStreamControllerShouldCallPull(controller) {
  const { stream } = controller;
  if (stream.state !== READABLE || controller.closeRequested || !controller.started) return false;
  const { reader } = stream;
  if (reader !== null) {
    const waiting = reader.isByob ? reader.readIntoRequests : reader.readRequests;
    if (waiting.length > 0) return true;
  }
  return controller.strategyHWM - controller.queueTotalSize > 0;
}

function ReadableByteStreamControllerClearAlgorithms(controller) {
  controller.pullAlgorithm = undefined;
  controller.cancelAlgorithm = undefined;
  if (controller.source !== internal) controller.source = undefined;
}

function ReadableByteStreamControllerClearPendingPullIntos(controller) {
  ReadableByteStreamControllerInvalidateBYOBRequest(controller);
  controller.pendingPullIntos.clear();
}

function ReadableByteStreamControllerClose(controller) {
  const { stream } = controller;
  if (controller.closeRequested || stream.state !== READABLE) return;
  if (controller.queueTotalSize > 0) {
    controller.closeRequested = true;
    return;
  }
  if (controller.pendingPullIntos.length > 0) {
    const first = controller.pendingPullIntos.peek();
    if (first.bytesFilled % first.elementSize !== 0) {
      const error = new TypeError("Too few bytes to fill the elements of the given view");
      ReadableByteStreamControllerError(controller, error);
      throw error;
    }
  }
  ReadableByteStreamControllerClearAlgorithms(controller);
  ReadableStreamClose(stream);
}

function ReadableByteStreamControllerCommitPullIntoDescriptor(stream, descriptor) {
  const done = stream.state === CLOSED;
  const filledView = ReadableByteStreamControllerConvertPullIntoDescriptor(descriptor);
  if (descriptor.readerType === "default") {
    ReadableStreamFulfillReadRequest(stream, filledView, done);
  } else {
    ReadableStreamFulfillReadIntoRequest(stream, filledView, done);
  }
}

function ReadableByteStreamControllerConvertPullIntoDescriptor(descriptor) {
  const buffer = TransferArrayBuffer(descriptor.buffer);
  return new descriptor.viewConstructor(
    buffer, descriptor.byteOffset, descriptor.bytesFilled / descriptor.elementSize);
}

function ReadableByteStreamControllerEnqueue(controller, chunk) {
  const { stream } = controller;
  if (controller.closeRequested || stream.state !== READABLE) return;
  const buffer = viewBuffer(chunk);
  const byteOffset = viewByteOffset(chunk);
  const byteLength = viewByteLength(chunk);
  if (isDetached(buffer)) throw new TypeError("The chunk's buffer is detached");
  enqueueOwned(controller, TransferArrayBuffer(buffer), byteOffset, byteLength);
}

// The remainder of ReadableByteStreamControllerEnqueue, for a buffer that nothing else uses.
function enqueueOwned(controller, buffer, byteOffset, byteLength) {
  const { stream } = controller;
  if (controller.pendingPullIntos.length > 0) {
    const first = controller.pendingPullIntos.peek();
    if (isDetached(first.buffer)) {
      throw new TypeError("The buffer of the current BYOB request is detached");
    }
    ReadableByteStreamControllerInvalidateBYOBRequest(controller);
    first.buffer = TransferArrayBuffer(first.buffer);
    if (first.readerType === "none") {
      ReadableByteStreamControllerEnqueueDetachedPullIntoToQueue(controller, first);
    }
  }
  if (ReadableStreamHasDefaultReader(stream)) {
    ReadableByteStreamControllerProcessReadRequestsUsingQueue(controller);
    if (ReadableStreamGetNumReadRequests(stream) === 0) {
      ReadableByteStreamControllerEnqueueChunkToQueue(controller, buffer, byteOffset, byteLength);
    } else {
      if (controller.pendingPullIntos.length > 0) {
        ReadableByteStreamControllerShiftPendingPullInto(controller);
      }
      const view = new Uint8Array(buffer, byteOffset, byteLength);
      ReadableStreamFulfillReadRequest(stream, view, false);
    }
  } else if (ReadableStreamHasBYOBReader(stream)) {
    ReadableByteStreamControllerEnqueueChunkToQueue(controller, buffer, byteOffset, byteLength);
    commitAll(stream, ReadableByteStreamControllerProcessPullIntoDescriptorsUsingQueue(controller));
  } else {
    ReadableByteStreamControllerEnqueueChunkToQueue(controller, buffer, byteOffset, byteLength);
  }
  ReadableByteStreamControllerCallPullIfNeeded(controller);
}

function commitAll(stream, descriptors) {
  for (let i = 0; i < descriptors.length; i++) {
    ReadableByteStreamControllerCommitPullIntoDescriptor(stream, descriptors[i]);
  }
}

function ReadableByteStreamControllerEnqueueChunkToQueue(
  controller, buffer, byteOffset, byteLength) {
  controller.queue.push(new QueueEntry(buffer, byteOffset, byteLength));
  controller.queueTotalSize += byteLength;
}

function ReadableByteStreamControllerEnqueueClonedChunkToQueue(
  controller, buffer, byteOffset, byteLength) {
  let clone;
  try {
    clone = CloneArrayBuffer(buffer, byteOffset, byteLength);
  } catch (error) {
    ReadableByteStreamControllerError(controller, error);
    throw error;
  }
  ReadableByteStreamControllerEnqueueChunkToQueue(controller, clone, 0, byteLength);
}

function ReadableByteStreamControllerEnqueueDetachedPullIntoToQueue(controller, descriptor) {
  if (descriptor.bytesFilled > 0) {
    ReadableByteStreamControllerEnqueueClonedChunkToQueue(
      controller, descriptor.buffer, descriptor.byteOffset, descriptor.bytesFilled);
  }
  ReadableByteStreamControllerShiftPendingPullInto(controller);
}

function ReadableByteStreamControllerError(controller, error) {
  const { stream } = controller;
  if (stream.state !== READABLE) return;
  ReadableByteStreamControllerClearPendingPullIntos(controller);
  resetQueue(controller);
  ReadableByteStreamControllerClearAlgorithms(controller);
  ReadableStreamError(stream, error);
}

function ReadableByteStreamControllerFillPullIntoDescriptorFromQueue(controller, descriptor) {
  const maxBytesToCopy =
    MathMin(controller.queueTotalSize, descriptor.byteLength - descriptor.bytesFilled);
  const maxBytesFilled = descriptor.bytesFilled + maxBytesToCopy;
  let totalBytesToCopyRemaining = maxBytesToCopy;
  let ready = false;
  const maxAlignedBytes = maxBytesFilled - (maxBytesFilled % descriptor.elementSize);
  if (maxAlignedBytes >= descriptor.minimumFill) {
    totalBytesToCopyRemaining = maxAlignedBytes - descriptor.bytesFilled;
    ready = true;
  }
  const { queue } = controller;
  while (totalBytesToCopyRemaining > 0) {
    const head = queue.peek();
    const bytesToCopy = MathMin(totalBytesToCopyRemaining, head.byteLength);
    const destStart = descriptor.byteOffset + descriptor.bytesFilled;
    if (!ops.CanCopyDataBlockBytes(
      descriptor.buffer, destStart, head.buffer, head.byteOffset, bytesToCopy)) {
      throw new TypeError("The bytes of the stream's queue cannot be copied to the given view");
    }
    CopyDataBlockBytes(descriptor.buffer, destStart, head.buffer, head.byteOffset, bytesToCopy);
    if (head.byteLength === bytesToCopy) {
      queue.shift();
    } else {
      head.byteOffset += bytesToCopy;
      head.byteLength -= bytesToCopy;
    }
    controller.queueTotalSize -= bytesToCopy;
    ReadableByteStreamControllerFillHeadPullIntoDescriptor(bytesToCopy, descriptor);
    totalBytesToCopyRemaining -= bytesToCopy;
  }
  return ready;
}

function ReadableByteStreamControllerFillHeadPullIntoDescriptor(size, descriptor) {
  descriptor.bytesFilled += size;
}

function ReadableByteStreamControllerFillReadRequestFromQueue(controller, readRequest) {
  const entry = controller.queue.shift();
  controller.queueTotalSize -= entry.byteLength;
  ReadableByteStreamControllerHandleQueueDrain(controller);
  readRequest.chunkSteps(new Uint8Array(entry.buffer, entry.byteOffset, entry.byteLength));
}

function ReadableByteStreamControllerGetBYOBRequest(controller) {
  if (controller.byobRequest === null && controller.pendingPullIntos.length > 0) {
    const first = controller.pendingPullIntos.peek();
    const view = new Uint8Array(first.buffer, first.byteOffset + first.bytesFilled,
      first.byteLength - first.bytesFilled);
    controller.byobRequest = ops.createBYOBRequest(controller, view);
  }
  return controller.byobRequest;
}

function ReadableByteStreamControllerGetDesiredSize(controller) {
  const { state } = controller.stream;
  if (state === ERRORED) return null;
  if (state === CLOSED) return 0;
  return controller.strategyHWM - controller.queueTotalSize;
}

function ReadableByteStreamControllerHandleQueueDrain(controller) {
  if (controller.queueTotalSize === 0 && controller.closeRequested) {
    ReadableByteStreamControllerClearAlgorithms(controller);
    ReadableStreamClose(controller.stream);
  } else {
    ReadableByteStreamControllerCallPullIfNeeded(controller);
  }
}

function ReadableByteStreamControllerInvalidateBYOBRequest(controller) {
  if (controller.byobRequest === null) return;
  ops.invalidateBYOBRequest(controller.byobRequest);
  controller.byobRequest = null;
}

function ReadableByteStreamControllerProcessPullIntoDescriptorsUsingQueue(controller) {
  const filled = [];
  while (controller.pendingPullIntos.length > 0) {
    if (controller.queueTotalSize === 0) break;
    const descriptor = controller.pendingPullIntos.peek();
    if (ReadableByteStreamControllerFillPullIntoDescriptorFromQueue(controller, descriptor)) {
      ReadableByteStreamControllerShiftPendingPullInto(controller);
      ArrayPrototypePush(filled, descriptor);
    }
  }
  return filled;
}

function ReadableByteStreamControllerProcessReadRequestsUsingQueue(controller) {
  const { reader } = controller.stream;
  while (reader.readRequests.length > 0) {
    if (controller.queueTotalSize === 0) return;
    const readRequest = reader.readRequests.shift();
    ReadableByteStreamControllerFillReadRequestFromQueue(controller, readRequest);
  }
}

function ReadableByteStreamControllerPullInto(controller, view, min, readIntoRequest) {
  const { stream } = controller;
  const kind = ops.viewKindOf(view);
  const viewConstructor = kind[0];
  const elementSize = kind[1];
  const byteOffset = viewByteOffset(view);
  const byteLength = viewByteLength(view);
  let buffer;
  try {
    buffer = TransferArrayBuffer(viewBuffer(view));
  } catch (error) {
    readIntoRequest.errorSteps(error);
    return;
  }
  const descriptor = new PullIntoDescriptor(
    buffer, byteOffset, byteLength, min * elementSize, elementSize, viewConstructor, "byob");
  if (controller.pendingPullIntos.length > 0) {
    controller.pendingPullIntos.push(descriptor);
    stream.reader.readIntoRequests.push(readIntoRequest);
    return;
  }
  if (stream.state === CLOSED) {
    readIntoRequest.closeSteps(new viewConstructor(buffer, byteOffset, 0));
    return;
  }
  if (controller.queueTotalSize > 0) {
    if (ReadableByteStreamControllerFillPullIntoDescriptorFromQueue(controller, descriptor)) {
      const filledView = ReadableByteStreamControllerConvertPullIntoDescriptor(descriptor);
      ReadableByteStreamControllerHandleQueueDrain(controller);
      readIntoRequest.chunkSteps(filledView);
      return;
    }
    if (controller.closeRequested) {
      const error = new TypeError("Too few bytes to fill the elements of the given view");
      ReadableByteStreamControllerError(controller, error);
      readIntoRequest.errorSteps(error);
      return;
    }
  }
  controller.pendingPullIntos.push(descriptor);
  stream.reader.readIntoRequests.push(readIntoRequest);
  ReadableByteStreamControllerCallPullIfNeeded(controller);
}

function ReadableByteStreamControllerRespond(controller, bytesWritten) {
  const first = controller.pendingPullIntos.peek();
  if (controller.stream.state === CLOSED) {
    if (bytesWritten !== 0) {
      throw new TypeError("A closed stream can only be answered with zero bytes");
    }
  } else {
    if (bytesWritten === 0) {
      throw new TypeError("A readable stream cannot be answered with zero bytes");
    }
    if (first.bytesFilled + bytesWritten > first.byteLength) {
      throw new RangeError("More bytes were written than the view has");
    }
  }
  first.buffer = TransferArrayBuffer(first.buffer);
  ReadableByteStreamControllerRespondInternal(controller, bytesWritten);
}

function ReadableByteStreamControllerRespondInClosedState(controller, first) {
  if (first.readerType === "none") ReadableByteStreamControllerShiftPendingPullInto(controller);
  const { stream } = controller;
  if (!ReadableStreamHasBYOBReader(stream)) return;
  const filled = [];
  while (filled.length < ReadableStreamGetNumReadIntoRequests(stream)) {
    ArrayPrototypePush(filled, ReadableByteStreamControllerShiftPendingPullInto(controller));
  }
  commitAll(stream, filled);
}

function ReadableByteStreamControllerRespondInReadableState(controller, bytesWritten, descriptor) {
  const { stream } = controller;
  ReadableByteStreamControllerFillHeadPullIntoDescriptor(bytesWritten, descriptor);
  if (descriptor.readerType === "none") {
    ReadableByteStreamControllerEnqueueDetachedPullIntoToQueue(controller, descriptor);
    commitAll(stream, ReadableByteStreamControllerProcessPullIntoDescriptorsUsingQueue(controller));
    return;
  }
  if (descriptor.bytesFilled < descriptor.minimumFill) return;
  ReadableByteStreamControllerShiftPendingPullInto(controller);
  const remainderSize = descriptor.bytesFilled % descriptor.elementSize;
  if (remainderSize > 0) {
    const end = descriptor.byteOffset + descriptor.bytesFilled;
    ReadableByteStreamControllerEnqueueClonedChunkToQueue(
      controller, descriptor.buffer, end - remainderSize, remainderSize);
  }
  descriptor.bytesFilled -= remainderSize;
  const filled = ReadableByteStreamControllerProcessPullIntoDescriptorsUsingQueue(controller);
  ReadableByteStreamControllerCommitPullIntoDescriptor(stream, descriptor);
  commitAll(stream, filled);
}

function ReadableByteStreamControllerRespondInternal(controller, bytesWritten) {
  const first = controller.pendingPullIntos.peek();
  ReadableByteStreamControllerInvalidateBYOBRequest(controller);
  if (controller.stream.state === CLOSED) {
    ReadableByteStreamControllerRespondInClosedState(controller, first);
  } else {
    ReadableByteStreamControllerRespondInReadableState(controller, bytesWritten, first);
  }
  ReadableByteStreamControllerCallPullIfNeeded(controller);
}

function ReadableByteStreamControllerRespondWithNewView(controller, view) {
  const first = controller.pendingPullIntos.peek();
  const byteLength = viewByteLength(view);
  if (controller.stream.state === CLOSED) {
    if (byteLength !== 0) {
      throw new TypeError("A closed stream can only be answered with an empty view");
    }
  } else if (byteLength === 0) {
    throw new TypeError("A readable stream cannot be answered with an empty view");
  }
  if (first.byteOffset + first.bytesFilled !== viewByteOffset(view)) {
    throw new RangeError("The view begins at another offset than the one of the request");
  }
  if (first.bufferByteLength !== ArrayBufferPrototypeGetByteLength(viewBuffer(view))) {
    throw new RangeError("The view's buffer has another length than the one of the request");
  }
  if (first.bytesFilled + byteLength > first.byteLength) {
    throw new RangeError("The view is longer than the one of the request");
  }
  first.buffer = TransferArrayBuffer(viewBuffer(view));
  ReadableByteStreamControllerRespondInternal(controller, byteLength);
}

function ReadableByteStreamControllerShiftPendingPullInto(controller) {
  return controller.pendingPullIntos.shift();
}

// ---- making

function SetUpReadableByteStreamController(stream, controller, startResult) {
  PromisePrototypeThen(ops.promiseResolvedWith(startResult), () => {
    controller.started = true;
    ReadableByteStreamControllerCallPullIfNeeded(controller);
  }, (error) => ReadableByteStreamControllerError(controller, error));
}

function SetUpReadableByteStreamControllerFromUnderlyingSource(
  stream, source, sourceDict, highWaterMark) {
  const { autoAllocateChunkSize, start } = sourceDict;
  if (autoAllocateChunkSize === 0) {
    throw new TypeError("'autoAllocateChunkSize' must be greater than zero");
  }
  const controller = new ByteControllerState(stream, source, sourceDict.pull, sourceDict.cancel,
    highWaterMark, autoAllocateChunkSize);
  stream.controller = controller;
  const startResult = start === undefined
    ? undefined : FunctionPrototypeCall(start, source, wrapController(controller));
  SetUpReadableByteStreamController(stream, controller, startResult);
}

// https://streams.spec.whatwg.org/#abstract-opdef-createreadablebytestream
function CreateReadableByteStream(start, pull, cancel) {
  const stream = new ReadableStreamState();
  const controller = new ByteControllerState(stream, undefined, pull, cancel, 0, undefined);
  stream.controller = controller;
  SetUpReadableByteStreamController(stream, controller, start(controller));
  return stream;
}

// A byte stream of the host; see createInternalStream.
function createInternalByteStream(start, pull, cancel, highWaterMark) {
  const stream = new ReadableStreamState();
  const controller = new ByteControllerState(
    stream, internal, pull, cancel, highWaterMark, undefined);
  stream.controller = controller;
  const started = start === undefined ? undefined : start(controller);
  if (started === undefined) controller.started = true;
  else SetUpReadableByteStreamController(stream, controller, started);
  return stream;
}

function wrapController(controller) {
  return controller.wrapper ??= ops.createByteController(controller);
}

ops.ByteControllerState = ByteControllerState;
ops.CreateReadableByteStream = CreateReadableByteStream;
ops.createInternalByteStream = createInternalByteStream;
ops.enqueueOwned = enqueueOwned;
ops.SetUpReadableByteStreamControllerFromUnderlyingSource =
  SetUpReadableByteStreamControllerFromUnderlyingSource;
ops.ReadableByteStreamControllerCallPullIfNeeded = ReadableByteStreamControllerCallPullIfNeeded;
ops.ReadableByteStreamControllerClose = ReadableByteStreamControllerClose;
ops.ReadableByteStreamControllerEnqueue = ReadableByteStreamControllerEnqueue;
ops.ReadableByteStreamControllerError = ReadableByteStreamControllerError;
ops.ReadableByteStreamControllerGetBYOBRequest = ReadableByteStreamControllerGetBYOBRequest;
ops.ReadableByteStreamControllerGetDesiredSize = ReadableByteStreamControllerGetDesiredSize;
ops.ReadableByteStreamControllerPullInto = ReadableByteStreamControllerPullInto;
ops.ReadableByteStreamControllerRespond = ReadableByteStreamControllerRespond;
ops.ReadableByteStreamControllerRespondWithNewView =
  ReadableByteStreamControllerRespondWithNewView;
