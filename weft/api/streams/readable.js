// ReadableStream: the common part of both kinds of readable streams.
// https://streams.spec.whatwg.org/#rs

const {
  AsyncIteratorPrototype, FunctionPrototypeCall, ObjectDefineProperty,
  ObjectSetPrototypeOf, PromisePrototypeThen, PromiseReject, PromiseResolve, RangeError,
  SymbolAsyncIterator, SymbolIterator, TypeError, noop,
} = realm.primordials;
const { webidl } = realm;
const { ops } = realm.streams;
const { converters, internal, isObject, requiredArguments } = webidl;
const { Deferred } = ops;

const READABLE = 0;
const CLOSED = 1;
const ERRORED = 2;

// The slots of a ReadableStream. InitializeReadableStream is its constructor.
class ReadableStreamState {
  constructor() {
    this.state = READABLE;
    this.disturbed = false;
    this.storedError = undefined;
    this.reader = null;       // the state of a reader
    this.controller = null;   // the state of a controller
    this.nativeSource = undefined;  // see host.js
    this.wrapper = null;      // the public object
  }
}

ops.READABLE = READABLE;
ops.CLOSED = CLOSED;
ops.ERRORED = ERRORED;
ops.ReadableStreamState = ReadableStreamState;

// ---- readers
// https://streams.spec.whatwg.org/#abstract-opdef-readablestreamreadergenericinitialize

function ReadableStreamReaderGenericInitialize(reader, stream) {
  reader.stream = stream;
  stream.reader = reader;
  reader.closed = stream.state === READABLE ? new Deferred()
    : stream.state === CLOSED ? Deferred.resolved() : Deferred.rejected(stream.storedError);
}

function ReadableStreamReaderGenericCancel(reader, reason) {
  return ReadableStreamCancel(reader.stream, reason);
}

function ReadableStreamReaderGenericRelease(reader) {
  const { stream } = reader;
  const error = new TypeError("The reader was released");
  if (stream.state === READABLE) reader.closed.reject(error);
  else reader.closed = Deferred.rejected(error);
  stream.controller.releaseSteps();
  stream.reader = null;
  reader.stream = null;
}

// ---- operations of a controller on its stream

function ReadableStreamCancel(stream, reason) {
  stream.disturbed = true;
  if (stream.state === CLOSED) return PromiseResolve(undefined);
  if (stream.state === ERRORED) return PromiseReject(stream.storedError);
  ReadableStreamClose(stream);
  const { reader } = stream;
  if (reader !== null && reader.isByob) {
    const requests = reader.readIntoRequests;
    reader.readIntoRequests = new ops.Fifo();
    while (requests.length > 0) requests.shift().closeSteps(undefined);
  }
  const sourceCancelPromise = stream.controller.cancelSteps(reason);
  return PromisePrototypeThen(sourceCancelPromise, noop);
}

function ReadableStreamClose(stream) {
  stream.state = CLOSED;
  const { reader } = stream;
  if (reader === null) return;
  reader.closed.resolve();
  if (!reader.isByob && reader.readRequests.length > 0) {
    const requests = reader.readRequests;
    reader.readRequests = new ops.Fifo();
    while (requests.length > 0) requests.shift().closeSteps();
  }
}

function ReadableStreamError(stream, error) {
  stream.state = ERRORED;
  stream.storedError = error;
  const { reader } = stream;
  if (reader === null) return;
  reader.closed.reject(error);
  if (reader.isByob) ops.ReadableStreamBYOBReaderErrorReadIntoRequests(reader, error);
  else ops.ReadableStreamDefaultReaderErrorReadRequests(reader, error);
}

function ReadableStreamFulfillReadRequest(stream, chunk, done) {
  const request = stream.reader.readRequests.shift();
  if (done) request.closeSteps();
  else request.chunkSteps(chunk);
}

function ReadableStreamFulfillReadIntoRequest(stream, chunk, done) {
  const request = stream.reader.readIntoRequests.shift();
  if (done) request.closeSteps(chunk);
  else request.chunkSteps(chunk);
}

function ReadableStreamGetNumReadRequests(stream) {
  return stream.reader.readRequests.length;
}

function ReadableStreamGetNumReadIntoRequests(stream) {
  return stream.reader.readIntoRequests.length;
}

function ReadableStreamHasDefaultReader(stream) {
  return stream.reader !== null && !stream.reader.isByob;
}

function ReadableStreamHasBYOBReader(stream) {
  return stream.reader !== null && stream.reader.isByob;
}

function IsReadableStreamLocked(stream) {
  return stream.reader !== null;
}

// ---- ReadableStream.from
// https://streams.spec.whatwg.org/#abstract-opdef-readablestreamfromiterable

// ES: GetIterator(value, async), with the wrapper for synchronous iterators done here.
function getAsyncIterator(value) {
  let method = value[SymbolAsyncIterator];
  const isAsync = method !== undefined && method !== null;
  if (!isAsync) {
    method = value[SymbolIterator];
    if (method === undefined || method === null) throw new TypeError("The value is not iterable");
  }
  if (typeof method !== "function") throw new TypeError("The value's iterator is not a function");
  const iterator = FunctionPrototypeCall(method, value);
  if (!isObject(iterator)) throw new TypeError("The value's iterator is not an object");
  return { iterator, next: iterator.next, isAsync };
}

// A result of a synchronous iterator whose value may be a promise, as %AsyncFromSyncIterator% does.
function awaitSyncValue(iterator, result) {
  if (!isObject(result)) throw new TypeError("The iterator's result is not an object");
  const { done, value } = result;
  let promise;
  try {
    promise = PromiseResolve(value);
  } catch (error) {
    if (!done) closeSyncIterator(iterator);
    throw error;
  }
  return PromisePrototypeThen(promise, (settled) => ({ done: !!done, value: settled }),
    done ? undefined : (error) => {
      closeSyncIterator(iterator);
      throw error;
    });
}

function closeSyncIterator(iterator) {
  try {
    const method = iterator.return;
    if (method !== undefined && method !== null) FunctionPrototypeCall(method, iterator);
  } catch {
    // The error that ended the iteration is reported.
  }
}

function ReadableStreamFromIterable(asyncIterable) {
  if (!isObject(asyncIterable)) throw new TypeError("The value is not iterable");
  const { iterator, next, isAsync } = getAsyncIterator(asyncIterable);
  let controller;

  function pull() {
    let nextPromise;
    try {
      const result = FunctionPrototypeCall(next, iterator);
      nextPromise = PromiseResolve(isAsync ? result : awaitSyncValue(iterator, result));
    } catch (error) {
      return PromiseReject(error);
    }
    return PromisePrototypeThen(nextPromise, (result) => {
      if (!isObject(result)) throw new TypeError("The iterator's result is not an object");
      if (result.done) ops.ReadableStreamDefaultControllerClose(controller);
      else ops.ReadableStreamDefaultControllerEnqueue(controller, result.value);
    });
  }

  function cancel(reason) {
    let returned;
    try {
      const method = iterator.return;
      if (method === undefined || method === null) return PromiseResolve(undefined);
      const result = FunctionPrototypeCall(method, iterator, reason);
      returned = PromiseResolve(isAsync ? result : awaitSyncValue(iterator, result));
    } catch (error) {
      return PromiseReject(error);
    }
    return PromisePrototypeThen(returned, (result) => {
      if (!isObject(result)) throw new TypeError("The iterator's result is not an object");
    });
  }

  const stream = ops.CreateReadableStream(noop, pull, cancel, 0, undefined);
  ({ controller } = stream);
  return stream;
}

// ---- the class

converters.UnderlyingSource = webidl.dictionaryConverter("UnderlyingSource", [
  {
    key: "autoAllocateChunkSize",
    converter: converters["unsigned long long"],
    options: { enforceRange: true },
  },
  { key: "cancel", converter: converters.Function },
  { key: "pull", converter: converters.Function },
  { key: "start", converter: converters.Function },
  { key: "type", converter: webidl.enumConverter("ReadableStreamType", ["bytes"]) },
]);
const toGetReaderOptions = webidl.dictionaryConverter("ReadableStreamGetReaderOptions", [
  { key: "mode", converter: webidl.enumConverter("ReadableStreamReaderMode", ["byob"]) },
]);
const toIteratorOptions = webidl.dictionaryConverter("ReadableStreamIteratorOptions", [
  { key: "preventCancel", converter: converters.boolean, defaultValue: false },
]);
converters.StreamPipeOptions = webidl.dictionaryConverter("StreamPipeOptions", [
  { key: "preventAbort", converter: converters.boolean, defaultValue: false },
  { key: "preventCancel", converter: converters.boolean, defaultValue: false },
  { key: "preventClose", converter: converters.boolean, defaultValue: false },
  { key: "signal", converter: converters.AbortSignal },
]);

let isReadableStream;
let readableState;

class ReadableStream {
  #state;

  constructor(underlyingSource = undefined, strategy = {}) {
    if (underlyingSource === internal) {
      this.#state = strategy;
      strategy.wrapper = this;
      return;
    }
    const prefix = "Failed to construct 'ReadableStream'";
    const source = underlyingSource === undefined
      ? null : converters.object(underlyingSource, prefix, "Argument 1");
    const strategyDict = converters.QueuingStrategy(strategy, prefix, "Argument 2");
    const sourceDict = converters.UnderlyingSource(source, prefix, "Argument 1");
    const stream = new ReadableStreamState();
    stream.wrapper = this;
    this.#state = stream;
    if (sourceDict.type === "bytes") {
      if (strategyDict.size !== undefined) {
        throw new RangeError(`${prefix}: a byte stream's strategy cannot have a size function`);
      }
      const highWaterMark = ops.ExtractHighWaterMark(strategyDict, 0);
      ops.SetUpReadableByteStreamControllerFromUnderlyingSource(
        stream, source, sourceDict, highWaterMark);
    } else {
      const sizeAlgorithm = ops.ExtractSizeAlgorithm(strategyDict);
      const highWaterMark = ops.ExtractHighWaterMark(strategyDict, 1);
      ops.SetUpReadableStreamDefaultControllerFromUnderlyingSource(
        stream, source, sourceDict, highWaterMark, sizeAlgorithm);
    }
  }

  static from(asyncIterable) {
    requiredArguments(arguments.length, 1, "Failed to execute 'from' on 'ReadableStream'");
    return wrapReadable(ReadableStreamFromIterable(asyncIterable));
  }

  get locked() { return IsReadableStreamLocked(this.#state); }

  cancel(reason = undefined) {
    if (!isObject(this) || !(#state in this)) return PromiseReject(notAStream());
    if (IsReadableStreamLocked(this.#state)) {
      return ops.rejectedTypeError("A locked stream can only be cancelled by its reader");
    }
    return ReadableStreamCancel(this.#state, reason);
  }

  getReader(options = undefined) {
    const stream = this.#state;
    const prefix = "Failed to execute 'getReader' on 'ReadableStream'";
    if (options === undefined) return new realm.streams.ReadableStreamDefaultReader(this);
    const { mode } = toGetReaderOptions(options, prefix, "Argument 1");
    if (mode === undefined) return ops.AcquireReadableStreamDefaultReader(stream);
    return ops.AcquireReadableStreamBYOBReader(stream);
  }

  pipeThrough(transform, options = {}) {
    const stream = this.#state;
    const prefix = "Failed to execute 'pipeThrough' on 'ReadableStream'";
    requiredArguments(arguments.length, 1, prefix);
    const pair = toReadableWritablePair(transform, prefix, "Argument 1");
    const given = converters.StreamPipeOptions(options, prefix, "Argument 2");
    if (IsReadableStreamLocked(stream)) throw new TypeError(`${prefix}: the stream is locked`);
    const destination = ops.writableState(pair.writable);
    if (ops.IsWritableStreamLocked(destination)) {
      throw new TypeError(`${prefix}: the writable side of the transform is locked`);
    }
    const promise = ops.ReadableStreamPipeTo(stream, destination, given.preventClose,
      given.preventAbort, given.preventCancel, given.signal);
    PromisePrototypeThen(promise, undefined, noop);
    return pair.readable;
  }

  pipeTo(destination, options = {}) {
    if (!isObject(this) || !(#state in this)) return PromiseReject(notAStream());
    const prefix = "Failed to execute 'pipeTo' on 'ReadableStream'";
    let given;
    try {
      requiredArguments(arguments.length, 1, prefix);
      destination = ops.writableState(
        converters.WritableStream(destination, prefix, "Argument 1"));
      given = converters.StreamPipeOptions(options, prefix, "Argument 2");
    } catch (error) {
      return PromiseReject(error);
    }
    if (IsReadableStreamLocked(this.#state)) {
      return ops.rejectedTypeError(`${prefix}: the stream is locked`);
    }
    if (ops.IsWritableStreamLocked(destination)) {
      return ops.rejectedTypeError(`${prefix}: the destination is locked`);
    }
    return ops.ReadableStreamPipeTo(this.#state, destination, given.preventClose,
      given.preventAbort, given.preventCancel, given.signal);
  }

  tee() {
    const branches = ops.ReadableStreamTee(this.#state, false);
    return [wrapReadable(branches[0]), wrapReadable(branches[1])];
  }

  values(options = {}) {
    const stream = this.#state;
    const prefix = "Failed to execute 'values' on 'ReadableStream'";
    const { preventCancel } = toIteratorOptions(options, prefix, "Argument 1");
    return new ReadableStreamAsyncIterator(stream, preventCancel);
  }

  static {
    isReadableStream = (value) => #state in value;
    readableState = (stream) => stream.#state;
  }
}
webidl.configureInterface(ReadableStream);
ObjectDefineProperty(ReadableStream.prototype, SymbolAsyncIterator, {
  __proto__: null,
  value: ReadableStream.prototype.values,
  writable: true,
  enumerable: false,
  configurable: true,
});

function notAStream() {
  return webidl.illegalInvocation("ReadableStream");
}

// The public object of a stream that the host has made.
function wrapReadable(stream) {
  return stream.wrapper ?? new ReadableStream(internal, stream);
}

converters.ReadableStream =
  webidl.interfaceConverter("ReadableStream", (value) => isReadableStream(value));

const toReadableWritablePair = webidl.dictionaryConverter("ReadableWritablePair", [
  { key: "readable", converter: converters.ReadableStream, required: true },
  {
    key: "writable",
    converter: (value, prefix, context) => converters.WritableStream(value, prefix, context),
    required: true,
  },
]);

// ---- async iteration
// https://streams.spec.whatwg.org/#rs-asynciterator
// https://webidl.spec.whatwg.org/#js-asynchronous-iterator-prototype-object

class IteratorReadRequest {
  constructor(reader, settling) {
    this.reader = reader;
    this.settling = settling;
  }

  chunkSteps(chunk) { this.settling.resolve({ value: chunk, done: false }); }

  closeSteps() {
    ops.ReadableStreamDefaultReaderRelease(this.reader);
    this.settling.resolve(undefined);  // NB: means the end; see finishNext.
  }

  errorSteps(error) {
    ops.ReadableStreamDefaultReaderRelease(this.reader);
    this.settling.reject(error);
  }
}

class ReadableStreamAsyncIterator {
  #reader;
  #preventCancel;
  #ongoing = null;
  #finished = false;

  constructor(stream, preventCancel) {
    this.#reader = ops.AcquireReadableStreamDefaultReaderState(stream);
    this.#preventCancel = preventCancel;
  }

  next() {
    if (!isObject(this) || !(#reader in this)) return PromiseReject(notAnIterator());
    const ongoing = this.#ongoing;
    if (ongoing === null) return (this.#ongoing = this.#next());
    const run = () => this.#next();
    return (this.#ongoing = PromisePrototypeThen(ongoing, run, run));
  }

  return(value) {
    if (!isObject(this) || !(#reader in this)) return PromiseReject(notAnIterator());
    const ongoing = this.#ongoing;
    const finish = () => ({ value, done: true });
    if (ongoing === null) {
      this.#ongoing = this.#return(value);
    } else {
      const run = () => this.#return(value);
      this.#ongoing = PromisePrototypeThen(ongoing, run, run);
    }
    return PromisePrototypeThen(this.#ongoing, finish);
  }

  #next() {
    if (this.#finished) return PromiseResolve({ value: undefined, done: true });
    const settling = new ops.Settling();
    ops.ReadableStreamDefaultReaderRead(
      this.#reader, new IteratorReadRequest(this.#reader, settling));
    return PromisePrototypeThen(settling.promise, (result) => {
      this.#ongoing = null;
      if (result !== undefined) return result;
      this.#finished = true;
      return { value: undefined, done: true };
    }, (error) => {
      this.#ongoing = null;
      this.#finished = true;
      throw error;
    });
  }

  #return(value) {
    if (this.#finished) return PromiseResolve(undefined);
    this.#finished = true;
    const reader = this.#reader;
    if (!this.#preventCancel) {
      const result = ReadableStreamReaderGenericCancel(reader, value);
      ops.ReadableStreamDefaultReaderRelease(reader);
      return result;
    }
    ops.ReadableStreamDefaultReaderRelease(reader);
    return PromiseResolve(undefined);
  }
}

function notAnIterator() {
  return webidl.illegalInvocation("ReadableStream AsyncIterator");
}

delete ReadableStreamAsyncIterator.prototype.constructor;
ObjectSetPrototypeOf(ReadableStreamAsyncIterator.prototype, AsyncIteratorPrototype);
webidl.configureInterface(ReadableStreamAsyncIterator, "ReadableStream AsyncIterator");

ops.isReadableStream = (value) => isObject(value) && isReadableStream(value);
ops.readableState = readableState;
ops.wrapReadable = wrapReadable;
ops.ReadableStreamReaderGenericInitialize = ReadableStreamReaderGenericInitialize;
ops.ReadableStreamReaderGenericCancel = ReadableStreamReaderGenericCancel;
ops.ReadableStreamReaderGenericRelease = ReadableStreamReaderGenericRelease;
ops.ReadableStreamCancel = ReadableStreamCancel;
ops.ReadableStreamClose = ReadableStreamClose;
ops.ReadableStreamError = ReadableStreamError;
ops.ReadableStreamFulfillReadRequest = ReadableStreamFulfillReadRequest;
ops.ReadableStreamFulfillReadIntoRequest = ReadableStreamFulfillReadIntoRequest;
ops.ReadableStreamGetNumReadRequests = ReadableStreamGetNumReadRequests;
ops.ReadableStreamGetNumReadIntoRequests = ReadableStreamGetNumReadIntoRequests;
ops.ReadableStreamHasDefaultReader = ReadableStreamHasDefaultReader;
ops.ReadableStreamHasBYOBReader = ReadableStreamHasBYOBReader;
ops.IsReadableStreamLocked = IsReadableStreamLocked;

realm.streams.ReadableStream = ReadableStream;
realm.expose({ ReadableStream });
