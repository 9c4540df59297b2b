// The public classes of byte streams: controller, BYOB request and BYOB reader.
// https://streams.spec.whatwg.org/#byob-reader-class

const {
  ArrayBufferPrototypeGetByteLength, PromiseReject, RangeError, TypeError,
} = realm.primordials;
const { webidl } = realm;
const { ops } = realm.streams;
const {
  converters, internal, isDetached, isObject, requiredArguments, viewBuffer, viewByteLength,
} = webidl;
const {
  ERRORED, READABLE, ByteControllerState, Fifo, ReadableStreamCancel,
  ReadableStreamReaderGenericInitialize, ReadableStreamReaderGenericRelease, Settling,
  readableState,
} = ops;

const enforceRange = { __proto__: null, enforceRange: true };

// ---- controller

class ReadableByteStreamController {
  #state;

  constructor() {
    if (arguments[0] !== internal) throw webidl.illegalConstructor();
    this.#state = arguments[1];
  }

  get byobRequest() { return ops.ReadableByteStreamControllerGetBYOBRequest(this.#state); }
  get desiredSize() { return ops.ReadableByteStreamControllerGetDesiredSize(this.#state); }

  close() {
    const controller = this.#state;
    if (controller.closeRequested || controller.stream.state !== READABLE) {
      throw new TypeError("The stream cannot be closed: it is closed, errored or closing");
    }
    ops.ReadableByteStreamControllerClose(controller);
  }

  enqueue(chunk) {
    const controller = this.#state;
    const prefix = "Failed to execute 'enqueue' on 'ReadableByteStreamController'";
    requiredArguments(arguments.length, 1, prefix);
    converters.ArrayBufferView(chunk, prefix, "Argument 1");
    if (viewByteLength(chunk) === 0) throw new TypeError(`${prefix}: the chunk is empty`);
    if (ArrayBufferPrototypeGetByteLength(viewBuffer(chunk)) === 0) {
      throw new TypeError(`${prefix}: the chunk's buffer is empty`);
    }
    if (controller.closeRequested || controller.stream.state !== READABLE) {
      throw new TypeError("The stream takes no more chunks: it is closed, errored or closing");
    }
    ops.ReadableByteStreamControllerEnqueue(controller, chunk);
  }

  error(e = undefined) { ops.ReadableByteStreamControllerError(this.#state, e); }

  static {
    ops.byteControllerState = (controller) => controller.#state;
  }
}
webidl.configureInterface(ReadableByteStreamController);

ops.createByteController = (state) => new ReadableByteStreamController(internal, state);

// ---- request

class ReadableStreamBYOBRequest {
  #controller;
  #view;

  constructor() {
    if (arguments[0] !== internal) throw webidl.illegalConstructor();
    this.#controller = arguments[1];
    this.#view = arguments[2];
  }

  get view() { return this.#view; }

  respond(bytesWritten) {
    this.#view;
    const prefix = "Failed to execute 'respond' on 'ReadableStreamBYOBRequest'";
    requiredArguments(arguments.length, 1, prefix);
    bytesWritten = converters["unsigned long long"](
      bytesWritten, prefix, "Argument 1", enforceRange);
    if (this.#controller === undefined) throw invalidated(prefix);
    if (isDetached(viewBuffer(this.#view))) {
      throw new TypeError(`${prefix}: the view's buffer is detached`);
    }
    ops.ReadableByteStreamControllerRespond(this.#controller, bytesWritten);
  }

  respondWithNewView(view) {
    this.#view;
    const prefix = "Failed to execute 'respondWithNewView' on 'ReadableStreamBYOBRequest'";
    requiredArguments(arguments.length, 1, prefix);
    converters.ArrayBufferView(view, prefix, "Argument 1");
    if (this.#controller === undefined) throw invalidated(prefix);
    if (isDetached(viewBuffer(view))) {
      throw new TypeError(`${prefix}: the view's buffer is detached`);
    }
    ops.ReadableByteStreamControllerRespondWithNewView(this.#controller, view);
  }

  static {
    ops.invalidateBYOBRequest = (request) => {
      request.#controller = undefined;
      request.#view = null;
    };
  }
}
webidl.configureInterface(ReadableStreamBYOBRequest);

ops.createBYOBRequest = (controller, view) =>
  new ReadableStreamBYOBRequest(internal, controller, view);

function invalidated(prefix) {
  return new TypeError(`${prefix}: the request has been answered`);
}

// ---- reader

class ByobReaderState {
  constructor() {
    this.stream = null;
    this.closed = null;
    this.isByob = true;
    this.readIntoRequests = new Fifo();
    this.wrapper = null;
  }
}

class PromiseReadIntoRequest {
  constructor() { this.settling = new Settling(); }
  chunkSteps(chunk) { this.settling.resolve({ value: chunk, done: false }); }
  closeSteps(chunk) { this.settling.resolve({ value: chunk, done: true }); }
  errorSteps(error) { this.settling.reject(error); }
}

function SetUpReadableStreamBYOBReader(reader, stream) {
  if (stream.reader !== null) throw new TypeError("The stream is locked to a reader already");
  if (!(stream.controller instanceof ByteControllerState)) {
    throw new TypeError("Only a byte stream can be read with a BYOB reader");
  }
  ReadableStreamReaderGenericInitialize(reader, stream);
}

function AcquireReadableStreamBYOBReaderState(stream) {
  const reader = new ByobReaderState();
  SetUpReadableStreamBYOBReader(reader, stream);
  return reader;
}

function AcquireReadableStreamBYOBReader(stream) {
  return new ReadableStreamBYOBReader(ops.wrapReadable(stream));
}

function ReadableStreamBYOBReaderRead(reader, view, min, readIntoRequest) {
  const { stream } = reader;
  stream.disturbed = true;
  if (stream.state === ERRORED) readIntoRequest.errorSteps(stream.storedError);
  else ops.ReadableByteStreamControllerPullInto(stream.controller, view, min, readIntoRequest);
}

function ReadableStreamBYOBReaderRelease(reader) {
  ReadableStreamReaderGenericRelease(reader);
  if (reader.readIntoRequests.length > 0) {
    ReadableStreamBYOBReaderErrorReadIntoRequests(reader, new TypeError("The reader was released"));
  }
}

function ReadableStreamBYOBReaderErrorReadIntoRequests(reader, error) {
  const requests = reader.readIntoRequests;
  reader.readIntoRequests = new Fifo();
  while (requests.length > 0) requests.shift().errorSteps(error);
}

const toReadOptions = webidl.dictionaryConverter("ReadableStreamBYOBReaderReadOptions", [
  {
    key: "min",
    converter: converters["unsigned long long"],
    options: enforceRange,
    defaultValue: 1,
  },
]);

class ReadableStreamBYOBReader {
  #state;

  constructor(stream) {
    const prefix = "Failed to construct 'ReadableStreamBYOBReader'";
    requiredArguments(arguments.length, 1, prefix);
    stream = converters.ReadableStream(stream, prefix, "Argument 1");
    const reader = new ByobReaderState();
    SetUpReadableStreamBYOBReader(reader, readableState(stream));
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

  read(view, options = {}) {
    if (!isObject(this) || !(#state in this)) return PromiseReject(notAReader());
    const reader = this.#state;
    let min;
    try {
      const prefix = "Failed to execute 'read' on 'ReadableStreamBYOBReader'";
      requiredArguments(arguments.length, 1, prefix);
      converters.ArrayBufferView(view, prefix, "Argument 1");
      ({ min } = toReadOptions(options, prefix, "Argument 2"));
      checkReadArguments(prefix, view, min);
    } catch (error) {
      return PromiseReject(error);
    }
    if (reader.stream === null) return ops.rejectedTypeError("The reader was released");
    const request = new PromiseReadIntoRequest();
    ReadableStreamBYOBReaderRead(reader, view, min, request);
    return request.settling.promise;
  }

  releaseLock() {
    const reader = this.#state;
    if (reader.stream === null) return;
    ReadableStreamBYOBReaderRelease(reader);
  }
}
webidl.configureInterface(ReadableStreamBYOBReader);

function checkReadArguments(prefix, view, min) {
  const byteLength = viewByteLength(view);
  if (byteLength === 0) throw new TypeError(`${prefix}: the view is empty or detached`);
  const buffer = viewBuffer(view);
  if (ArrayBufferPrototypeGetByteLength(buffer) === 0) {
    throw new TypeError(`${prefix}: the view's buffer is empty`);
  }
  if (isDetached(buffer)) throw new TypeError(`${prefix}: the view's buffer is detached`);
  if (min === 0) throw new TypeError(`${prefix}: 'min' must be greater than zero`);
  if (min > byteLength / ops.viewKindOf(view)[1]) {
    throw new RangeError(`${prefix}: 'min' is greater than the view's length`);
  }
}

function notAReader() {
  return webidl.illegalInvocation("ReadableStreamBYOBReader");
}

ops.AcquireReadableStreamBYOBReader = AcquireReadableStreamBYOBReader;
ops.AcquireReadableStreamBYOBReaderState = AcquireReadableStreamBYOBReaderState;
ops.ReadableStreamBYOBReaderRead = ReadableStreamBYOBReaderRead;
ops.ReadableStreamBYOBReaderRelease = ReadableStreamBYOBReaderRelease;
ops.ReadableStreamBYOBReaderErrorReadIntoRequests = ReadableStreamBYOBReaderErrorReadIntoRequests;

const classes = {
  ReadableByteStreamController, ReadableStreamBYOBRequest, ReadableStreamBYOBReader,
};
realm.streams.ReadableByteStreamController = ReadableByteStreamController;
realm.streams.ReadableStreamBYOBRequest = ReadableStreamBYOBRequest;
realm.streams.ReadableStreamBYOBReader = ReadableStreamBYOBReader;
realm.expose(classes);
