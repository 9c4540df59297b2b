// Bodies of requests and responses. https://fetch.spec.whatwg.org/#bodies
//
// A Request or Response stores its body as one of
//     null        no body
//     string      a text from which nothing was made yet
//     InnerBody   everything else
// A stream is made on demand; text(), json() and the others read the source directly if there is no
// stream.
//
// For other scripts, realm.body:
//     InnerBody
//     extract(init, keepalive)     sets extracted.body and extracted.type from a BodyInit
//     toBodyInit                   the converter of Web IDL
//     isUnusable(body)             disturbed or locked
//     allBytes(inner, onEnd, onFailure)   onEnd(Uint8Array), possibly called at once; uses the body
//     cloned(body)                 { first, second }: two bodies with the same bytes
//     streamOf(inner)
//     forSending(body)             string | Uint8Array | ReadableStream | { nativeFetch, exchange }
//                                  | { nativeFile }, or null; it counts as used afterwards
//     fileBody(content, size)      the body of a response that comes from a file
//     mixin(constructor, name, access)    adds body, bodyUsed, text() and the others
//     isFailureOf(id, error)       whether this error is why the body of that request of the
//                                  server could not be read
//     isMalformed(error)           whether the error was thrown by json() of a Request

const {
  fetchBodyCancel, fetchBodyRead, fetchBodyTake, fetchBodyTakeAll, fetchBodyTakeText,
  httpFileRead, requestBodyCancel, requestBodyRead, requestTakeBody, requestTakeText,
  utf8Decode, utf8Encode,
} = native;
const { blob, formData, mime, url, webidl } = realm;
const {
  closedAndLocked, fromChunks, fromPull, isDisturbed, isLocked, isStream, joined, readAll, tee,
} = realm.streamAccess;
const {
  brandCheck, copyBytes, illegalInvocation, isArrayBuffer, isObject, isSharedArrayBuffer,
  toWellFormed,
} = webidl;
const {
  ArrayBufferIsView, Error, JSONParse, ObjectDefineProperties, ObjectGetOwnPropertyDescriptor,
  ObjectKeys, PromisePrototypeThen, PromiseReject, PromiseResolve, StringPrototypeCharCodeAt,
  StringPrototypeSlice, TypeError, TypedArrayPrototypeGetBuffer,
  TypedArrayPrototypeGetByteLength, Uint8Array, WeakMap, WeakMapPrototypeGet, WeakMapPrototypeSet,
  WeakSet, WeakSetPrototypeAdd, WeakSetPrototypeHas,
  newPromise,
} = realm.primordials;
const { converters } = webidl;

// Where the bytes of a body come from.
const STREAM = 0;      // a stream that the application made
const BYTES = 1;       // source: a Uint8Array, or a string
const BLOB = 2;        // source: a Blob
const CHUNKS = 3;      // source: Uint8Arrays
const REQUEST = 4;     // source: the id of a server's request
const FETCH = 5;       // source: the handle of a fetch
const FILE = 6;        // source: a FileContent
const kFileSliceBytes = 256 * 1024;

class InnerBody {
  constructor(kind, source, stream) {
    this.kind = kind;
    this.source = source;
    this.stream = stream;
    this.consumed = false;  // read without a stream
    this.shared = false;    // whether a clone has the same source
    this.failure = null;    // why the bytes of a fetch cannot be read any more
    this.exchange = null;   // of a fetch that must know when its body has ended
  }
}

// The body was read completely, or nothing more will be read.
function endExchange(inner) {
  const { exchange } = inner;
  if (exchange === null) return;
  inner.exchange = null;
  exchange.end();
}

// The body of all messages whose text was sent; it is never modified.
const usedText = new InnerBody(BYTES, "", null);
usedText.consumed = true;

function innerOf(body) {
  return typeof body === "string" ? new InnerBody(BYTES, body, null) : body;
}

function isUsed(body) {
  if (body === null || typeof body === "string") return false;
  return body.consumed || (body.stream !== null && isDisturbed(body.stream));
}

function isUnusable(body) {
  if (body === null || typeof body === "string") return false;
  if (body.consumed) return true;
  const { stream } = body;
  return stream !== null && (isDisturbed(stream) || isLocked(stream));
}

function bytesOfText(text) {
  return new Uint8Array(utf8Encode(text));
}

// The Uint8Arrays of a body in memory.
function chunksOf(inner) {
  const { kind, source } = inner;
  if (kind === BYTES) return [typeof source === "string" ? bytesOfText(source) : source];
  return kind === BLOB ? blob.chunksOf(source) : source;
}

// Errors of reading a request's body: error -> id. Made on first use.
let failures = null;

function isFailureOf(id, error) {
  return failures !== null && WeakMapPrototypeGet(failures, error) === id;
}

// Errors thrown by json() of a Request. Made on first use.
let malformed = null;

function isMalformed(error) {
  return malformed !== null && isObject(error) && WeakSetPrototypeHas(malformed, error);
}

function noteMalformed(error) {
  malformed ??= new WeakSet();
  WeakSetPrototypeAdd(malformed, error);
}

// The content of a file with which the native side answers a request.
class FileContent {
  constructor(content, size) {
    this.content = content;
    this.size = size;
    this.at = 0;  // number of bytes that were read
  }

  read() {
    const left = this.size - this.at;
    if (left <= 0) return PromiseResolve(undefined);
    const bytes = httpFileRead(
      this.content, this.at, left < kFileSliceBytes ? left : kFileSliceBytes);
    return PromisePrototypeThen(bytes, (buffer) => {
      if (buffer.byteLength === 0) throw new Error("The file has become shorter");
      this.at += buffer.byteLength;
      return buffer;
    });
  }
}

function fileBody(content, size) {
  return new InnerBody(FILE, new FileContent(content, size), null);
}

class NativeSource {
  constructor(inner) {
    this.inner = inner;
    // A copy, because a clone changes inner.kind while the bytes still come from here.
    this.kind = inner.kind;
    this.pull = () => this.read();
    this.cancel = () => this.give();
  }

  read() {
    const { inner, kind } = this;
    if (inner.failure !== null) return PromiseReject(inner.failure.reason);
    if (kind === FILE) return inner.source.read();
    const bytes = kind === REQUEST ? requestBodyRead(inner.source) : fetchBodyRead(inner.source);
    const atEnd = inner.exchange === null ? undefined : (buffer) => {
      if (buffer === undefined) endExchange(inner);
      return buffer;
    };
    return PromisePrototypeThen(bytes, atEnd, (error) => {
      if (kind === REQUEST) {
        failures ??= new WeakMap();
        WeakMapPrototypeSet(failures, error, inner.source);
      }
      endExchange(inner);
      throw realErrorOf(inner, kind, error);
    });
  }

  give() {
    const { inner } = this;
    if (this.kind === FILE) return;
    if (this.kind === REQUEST) {
      requestBodyCancel(inner.source);
    } else {
      fetchBodyCancel(inner.source);
      endExchange(inner);
    }
  }
}

// An aborted fetch fails with the reason of its signal, any other with a TypeError.
function realErrorOf(inner, kind, error) {
  if (inner.failure !== null) return inner.failure.reason;
  if (kind !== FETCH) return error;
  return new TypeError(`The body could not be read: ${error.message}`, { cause: error });
}

function streamOf(inner) {
  if (inner.stream !== null) return inner.stream;
  if (inner.consumed) return inner.stream = closedAndLocked();
  if (inner.kind >= REQUEST) {
    const source = new NativeSource(inner);
    return inner.stream = fromPull(
      source.pull, source.cancel, inner.kind === FETCH);
  }
  return inner.stream = fromChunks(chunksOf(inner));
}

// ---- extracting: https://fetch.spec.whatwg.org/#concept-bodyinit-extract

const extracted = { body: null, type: null };

function extract(object, keepalive) {
  extracted.type = null;
  if (typeof object === "string") {
    extracted.type = "text/plain;charset=UTF-8";
    extracted.body = object;
  } else if (isStream(object)) {
    if (keepalive) throw new TypeError("A request with keepalive cannot have a stream as its body");
    if (isDisturbed(object) || isLocked(object)) {
      throw new TypeError("The body is a stream that is disturbed or locked");
    }
    extracted.body = new InnerBody(STREAM, null, object);
  } else if (blob.isBlob(object)) {
    const type = blob.typeOf(object);
    if (type !== "") extracted.type = type;
    extracted.body = new InnerBody(BLOB, object, null);
  } else if (formData.isFormData(object)) {
    const { chunks, boundary } = formData.serialize(object);
    extracted.type = `multipart/form-data; boundary=${boundary}`;
    extracted.body = new InnerBody(CHUNKS, chunks, null);
  } else if (url.isParams(object)) {
    extracted.type = "application/x-www-form-urlencoded;charset=UTF-8";
    extracted.body = url.serializeParams(object);
  } else {
    extracted.body = new InnerBody(BYTES, copyBytes(object), null);
  }
  return extracted;
}

function isKept(value) {
  return isStream(value) || blob.isBlob(value) || formData.isFormData(value) ||
    url.isParams(value);
}

function toBodyInit(value, prefix, context) {
  if (typeof value === "string") return value;
  if (isObject(value)) {
    if (isKept(value)) return value;
    if (ArrayBufferIsView(value) || isArrayBuffer(value) ||
        isSharedArrayBuffer(value)) {
      return converters.BufferSource(value, prefix, context);
    }
  }
  return converters.USVString(value, prefix, context);
}

// ---- cloning: https://fetch.spec.whatwg.org/#concept-body-clone

const clones = { first: null, second: null };

function cloned(body) {
  if (body === null || typeof body === "string") {
    clones.first = clones.second = body;
    return clones;
  }
  if (body.stream === null && body.kind < REQUEST) {
    body.shared = true;
    clones.first = body;
    clones.second = new InnerBody(body.kind, body.source, null);
    clones.second.shared = true;
    return clones;
  }
  const branches = tee(streamOf(body));
  clones.first = body.kind < REQUEST ? new InnerBody(STREAM, null, branches[0]) : body;
  // NB: The body itself stays the object that an abort of its fetch refers to.
  body.stream = branches[0];
  body.kind = STREAM;
  clones.second = new InnerBody(STREAM, null, branches[1]);
  return clones;
}

// ---- consuming: https://fetch.spec.whatwg.org/#concept-body-consume-body

// A Uint8Array whose memory nothing else uses.
function takeBytes(inner) {
  const { kind, source, shared } = inner;
  if (kind === BYTES) {
    if (typeof source === "string") return bytesOfText(source);
    return shared ? new Uint8Array(source) : source;
  }
  if (kind === BLOB) return blob.bytesOf(source);
  const whole = joined(source);
  return source.length === 1 ? new Uint8Array(whole) : whole;
}

// Calls `onEnd` with all bytes as one Uint8Array, or `onFailure`.
function allBytes(inner, onEnd, onFailure) {
  if (inner.failure !== null) return onFailure(inner.failure.reason);
  if (inner.stream === null && inner.kind !== STREAM) {
    inner.consumed = true;
    if (inner.kind < REQUEST) return onEnd(takeBytes(inner));
    if (inner.kind === FETCH) {
      const here = fetchBodyTake(inner.source);
      if (here !== undefined) {
        endExchange(inner);
        return onEnd(new Uint8Array(here));
      }
      PromisePrototypeThen(fetchBodyTakeAll(inner.source), (buffer) => {
        endExchange(inner);
        if (inner.failure !== null) onFailure(inner.failure.reason);
        else onEnd(new Uint8Array(buffer));
      }, (error) => {
        endExchange(inner);
        onFailure(realErrorOf(inner, FETCH, error));
      });
      return;
    }
    const whole = inner.kind === REQUEST ? requestTakeBody(inner.source) : undefined;
    if (whole !== undefined) return onEnd(new Uint8Array(whole));
    inner.consumed = false;
  }
  readAll(streamOf(inner), (chunks) => {
    onEnd(chunks.length === 1 ? new Uint8Array(chunks[0]) : joined(chunks));
  }, onFailure);
}

function withoutMark(text) {
  return StringPrototypeCharCodeAt(text, 0) === 0xfeff ? StringPrototypeSlice(text, 1) : text;
}

// How each method converts the bytes. `mimeType` is a function, called only when needed.
function packText(bytes) {
  return utf8Decode(bytes, false, false);
}

function packJson(bytes) {
  return JSONParse(utf8Decode(bytes, false, false));
}

function packArrayBuffer(bytes) {
  const buffer = TypedArrayPrototypeGetBuffer(bytes);
  return TypedArrayPrototypeGetByteLength(bytes) === buffer.byteLength ? buffer
    : TypedArrayPrototypeGetBuffer(new Uint8Array(bytes));
}

function packBytes(bytes) {
  return bytes;
}

function packBlob(bytes, mimeType) {
  const type = mimeType();
  return blob.newBlob(bytes.length === 0 ? [] : [bytes],
    type === null ? "" : mime.serialize(type));
}

// https://fetch.spec.whatwg.org/#dom-body-formdata
function packFormData(bytes, mimeType) {
  const type = mimeType();
  if (type !== null && type.essence === "multipart/form-data") {
    const boundary = mime.parameter(type, "boundary");
    const list = boundary === undefined ? undefined : formData.parseMultipart(bytes, boundary);
    if (list === undefined) throw new TypeError("The body is no valid multipart/form-data");
    return formData.newFormData(list);
  }
  if (type !== null && type.essence === "application/x-www-form-urlencoded") {
    return formData.newFormData(url.parseForm(utf8Decode(bytes, false, true)));
  }
  throw new TypeError("The body has no Content-Type of a form");
}

// The text of a body that has arrived as a whole, taken without converting it to bytes first.
// Undefined: it has to be read.
function textAtOnce(body) {
  const { kind, source } = body;
  let text;
  if (kind === FETCH) text = fetchBodyTakeText(source);
  else if (kind === REQUEST) text = requestTakeText(source);
  if (text === undefined) return undefined;
  body.consumed = true;
  endExchange(body);
  return text;
}

function consume(body, pack, mimeType, isRequest) {
  if (isUnusable(body)) return PromiseReject(new TypeError("The body was used already"));
  if ((pack === packText || pack === packJson) && body !== null && body.stream === null &&
      body.failure === null) {
    const text = textAtOnce(body);
    if (text !== undefined) return consumeText(text, pack, isRequest);
  }
  const { promise, resolve, reject } = newPromise();
  const onEnd = (bytes) => {
    try {
      resolve(pack(bytes, mimeType));
    } catch (error) {
      if (isRequest && pack === packJson) noteMalformed(error);
      reject(error);
    }
  };
  if (body === null) onEnd(new Uint8Array(0));
  else allBytes(body, onEnd, reject);
  return promise;
}

function consumeText(text, pack, isRequest) {
  if (pack === packText) return PromiseResolve(text);
  try {
    return PromiseResolve(JSONParse(text));
  } catch (error) {
    if (isRequest) noteMalformed(error);
    return PromiseReject(error);
  }
}

// ---- what a server or a client sends

const nativeFetch = { nativeFetch: 0, nativeFile: undefined, exchange: null };
const nativeFile = { nativeFetch: undefined, nativeFile: null, exchange: null };

function forSending(body) {
  if (body === null || typeof body === "string") return body;
  if (isUnusable(body)) throw new TypeError("The body was used already");
  if (body.stream !== null) return body.stream;
  if (body.kind === FETCH && body.failure === null) {
    body.consumed = true;
    nativeFetch.nativeFetch = body.source;
    nativeFetch.exchange = body.exchange;
    return nativeFetch;
  }
  if (body.kind === FILE) {
    body.consumed = true;
    nativeFile.nativeFile = body.source.content;
    return nativeFile;
  }
  if (body.kind >= REQUEST) return streamOf(body);
  body.consumed = true;
  if (body.kind === BYTES) return body.source;
  return body.kind === BLOB ? blob.bytesOf(body.source) : joined(body.source);
}

// ---- the mixin

// `access`: { check(value), get(object), set(object, body), mimeType(object) }
function mixin(constructor, name, { check, get, set, mimeType }) {
  function method(key, pack) {
    return {
      [key]() {
        if (!isObject(this) || !check(this)) {
          return PromiseReject(illegalInvocation(name));
        }
        let body;
        try {
          body = get(this);
        } catch (error) {  // of a request that is over
          return PromiseReject(error);
        }
        if (typeof body === "string") {
          const text = body;
          body = new InnerBody(BYTES, text, null);
          set(this, body);
          if (pack === packText || pack === packJson) {
            body.consumed = true;
            // A text from which nothing was made yet is not converted to bytes.
            return consumeText(withoutMark(toWellFormed(text)), pack, false);
          }
        }
        return consume(body, pack, pack === packBlob || pack === packFormData
          ? () => mimeType(this) : undefined, name === "Request");
      },
    }[key];
  }
  function innerFor(object) {
    const body = get(object);
    if (typeof body !== "string" && body !== usedText) return body;
    const inner = innerOf(body === usedText ? "" : body);
    inner.consumed = body === usedText;
    set(object, inner);
    return inner;
  }

  const members = {
    arrayBuffer: method("arrayBuffer", packArrayBuffer),
    blob: method("blob", packBlob),
    bytes: method("bytes", packBytes),
    formData: method("formData", packFormData),
    json: method("json", packJson),
    text: method("text", packText),
    textStream: {
      textStream() {
        brandCheck(isObject(this) && check(this), name);
        const inner = innerFor(this);
        if (isUnusable(inner)) throw new TypeError("The body was used already");
        return realm.encoding.textStream(
          inner === null ? fromChunks([]) : streamOf(inner));
      },
    }.textStream,
  };
  const descriptors = {
    __proto__: null,
    body: {
      __proto__: null,
      get: { get body() {
        brandCheck(isObject(this) && check(this), name);
        const inner = innerFor(this);
        return inner === null ? null : streamOf(inner);
      } },
      enumerable: true,
      configurable: true,
    },
    bodyUsed: {
      __proto__: null,
      get: { get bodyUsed() {
        brandCheck(isObject(this) && check(this), name);
        return isUsed(get(this));
      } },
      enumerable: true,
      configurable: true,
    },
  };
  descriptors.body.get = ObjectGetOwnPropertyDescriptor(descriptors.body.get, "body").get;
  descriptors.bodyUsed.get =
    ObjectGetOwnPropertyDescriptor(descriptors.bodyUsed.get, "bodyUsed").get;
  const keys = ObjectKeys(members);
  for (let i = 0; i < keys.length; i++) {
    descriptors[keys[i]] = {
      __proto__: null, value: members[keys[i]], writable: true, enumerable: true,
      configurable: true,
    };
  }
  ObjectDefineProperties(constructor.prototype, descriptors);
}

realm.body = {
  __proto__: null,
  BYTES,
  FETCH,
  InnerBody,
  REQUEST,
  STREAM,
  allBytes,
  bytesOfText,
  cloned,
  extract,
  fileBody,
  forSending,
  innerOf,
  isFailureOf,
  isMalformed,
  isUnusable,
  isUsed,
  mixin,
  streamOf,
  toBodyInit,
  usedText,
};
