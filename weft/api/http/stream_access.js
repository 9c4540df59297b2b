// Operations on streams for bodies and blobs that do not depend on what applications have changed
// on the prototypes of the classes.
//
// For other scripts, realm.streamAccess:
//     isStream(value), isLocked(stream), isDisturbed(stream)
//     fromChunks(chunks)           a byte stream of these Uint8Arrays; each is copied when it is
//                                  read
//     fromPull(pull, cancel, readAhead)    a byte stream of what pull() gives, which is
//                                  Promise<ArrayBuffer | undefined>; reading ahead it learns of
//                                  an error before somebody reads
//     fail(stream, error)          errors a stream that this file made
//     closedAndLocked()            the stream of a body that was consumed without a stream
//     readAll(stream, onEnd, onFailure)    onEnd(Uint8Array[]), onFailure(error); locks the stream
//     readEach(stream, take, onEnd, onFailure)    take(Uint8Array) gives a promise,
//                                  or undefined when it can take more at once; what it throws ends
//                                  the reading
//     cancel(stream, reason), tee(stream), pipeThrough(stream, transform)
//     joined(chunks)               one Uint8Array of many

const { streams, webidl } = realm;
const { isObject } = webidl;
const {
  ArrayPrototypePush, PromisePrototypeThen, PromiseResolve, TypeError,
  TypedArrayPrototypeGetBuffer, TypedArrayPrototypeGetByteLength,
  TypedArrayPrototypeGetSymbolToStringTag, TypedArrayPrototypeSet, Uint8Array, markHandled, noop,
  uncurryThis,
} = realm.primordials;
const { ops } = streams;
const {
  AcquireReadableStreamDefaultReaderState, IsReadableStreamLocked,
  ReadableByteStreamControllerCallPullIfNeeded, ReadableByteStreamControllerClose,
  ReadableByteStreamControllerError, ReadableByteStreamControllerRespond, ReadableStreamCancel,
  ReadableStreamDefaultReaderRead, ReadableStreamReaderGenericCancel, createInternalByteStream,
  enqueueOwned, isReadableStream, readableState, wrapReadable,
} = ops;
const pipeThrough = uncurryThis(streams.ReadableStream.prototype.pipeThrough);

function closeSource(controller) {
  ReadableByteStreamControllerClose(controller);
  // A reader with a buffer of its own waits until the buffer is returned.
  if (controller.pendingPullIntos.length > 0) ReadableByteStreamControllerRespond(controller, 0);
}

function fromChunks(chunks) {
  let next = 0;
  return wrapReadable(createInternalByteStream(undefined, (controller) => {
    while (next < chunks.length) {
      const chunk = chunks[next++];
      if (chunk.length === 0) continue;
      // The stream takes over the memory that it is given, but the chunk belongs to somebody else.
      const copy = new Uint8Array(chunk);
      enqueueOwned(controller, TypedArrayPrototypeGetBuffer(copy), 0, copy.length);
      return;
    }
    closeSource(controller);
  }, () => {
    next = chunks.length;
  }, 0));
}

function fromPull(pull, cancel, readAhead) {
  function take(controller) {
    return PromisePrototypeThen(pull(), (bytes) => {
      if (bytes === undefined) closeSource(controller);
      else if (bytes.byteLength > 0) {
        enqueueOwned(controller, bytes, 0, bytes.byteLength);
      } else {
        return take(controller);
      }
    });
  }
  const state = createInternalByteStream(undefined, take, cancel, readAhead ? 1 : 0);
  if (readAhead) ReadableByteStreamControllerCallPullIfNeeded(state.controller);
  return wrapReadable(state);
}

// Errors a stream that this file made.
function fail(stream, error) {
  const state = readableState(stream);
  if (state.state === ops.READABLE) ReadableByteStreamControllerError(state.controller, error);
}

// Reads a stream to its end. If `take` is null, the chunks are collected. NB: The end is reported
// by callbacks, not by a promise: a promise resolved with an array would look up `then`, which
// applications may have put on Object.prototype.
class Collector {
  constructor(stream, take, onEnd, onFailure) {
    this.reader = AcquireReadableStreamDefaultReaderState(readableState(stream));
    this.take = take;
    this.onEnd = onEnd;
    this.onFailure = onFailure;
    this.chunks = [];
    this.next = () => ReadableStreamDefaultReaderRead(this.reader, this);
    this.onError = (error) => {
      markHandled(ReadableStreamReaderGenericCancel(this.reader, error));
      this.onFailure(error);
    };
  }

  chunkSteps(chunk) {
    if (!isObject(chunk) ||
        TypedArrayPrototypeGetSymbolToStringTag(chunk) !== "Uint8Array") {
      this.onError(new TypeError("A body stream gave a chunk that is not a Uint8Array"));
      return;
    }
    if (this.take !== null) {
      // No promise: the consumer can take more at once.
      let taken;
      try {
        taken = this.take(chunk) ?? PromiseResolve(undefined);
      } catch (error) {
        this.onError(error);
        return;
      }
      PromisePrototypeThen(taken, this.next, this.onError);
      return;
    }
    ArrayPrototypePush(this.chunks, chunk);
    // NB: In a microtask, because otherwise a stream that always has a chunk would recurse once per
    // chunk.
    PromisePrototypeThen(PromiseResolve(undefined), this.next);
  }

  closeSteps() {
    this.onEnd(this.chunks);
  }

  errorSteps(error) {
    this.onFailure(error);
  }
}

function readAll(stream, onEnd, onFailure) {
  new Collector(stream, null, onEnd, onFailure).next();
}

function readEach(stream, take, onEnd, onFailure) {
  new Collector(stream, take, onEnd, onFailure).next();
}

function closedAndLocked() {
  const stream = fromChunks([]);
  readAll(stream, noop, noop);
  return stream;
}

function joined(chunks) {
  if (chunks.length === 1) return chunks[0];
  let size = 0;
  for (let i = 0; i < chunks.length; i++) size += TypedArrayPrototypeGetByteLength(chunks[i]);
  const whole = new Uint8Array(size);
  for (let i = 0, at = 0; i < chunks.length; i++) {
    TypedArrayPrototypeSet(whole, chunks[i], at);
    at += TypedArrayPrototypeGetByteLength(chunks[i]);
  }
  return whole;
}

realm.streamAccess = {
  __proto__: null,
  cancel: (stream, reason) => ReadableStreamCancel(readableState(stream), reason),
  closedAndLocked,
  fail,
  fromChunks,
  fromPull,
  isDisturbed: (stream) => readableState(stream).disturbed,
  isLocked: (stream) => IsReadableStreamLocked(readableState(stream)),
  isStream: isReadableStream,
  joined,
  pipeThrough: (stream, transform) => pipeThrough(stream, transform),
  readAll,
  readEach,
  tee: (stream) => streams.teeForClone(stream),
};
