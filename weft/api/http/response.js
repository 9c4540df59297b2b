// Response. https://fetch.spec.whatwg.org/#response-class
//
// `new Response("text", { status, headers })` stores the text and a flat list of checked header
// fields; the objects for them are made on demand.
//
// For other scripts, realm.http:
//     Response, isResponse(value)
//     unpackResponse(value)        the record { status, statusText, headerList, body } of a
//                                  Response, the same object for all calls; null for any other
//                                  value. The body counts as used afterwards; throws a TypeError
//                                  if it was used before.
//     newUpgradeResponse(socket)   a Response with status 101; socketOf(response) is the socket of
//                                  one, null of all others
//     wasmOf(response)             a promise of its body as an ArrayBuffer; rejected unless the
//                                  response is ok and says that it is WebAssembly
//     setResponseBody(response, body)    an InnerBody, in the place of what it has
//     newFetchResponse(inner)      the Response of a fetch: { status, statusText, headers, url,
//                                  redirected, type, body }

const { mime, url: urls, webidl } = realm;
const {
  append: appendHeader, get: getHeader, has: hasHeader, listFromInit, newHeaders, toHeadersInit,
} = realm.headers;
const {
  cloned, extract, forSending, isUnusable, mixin, toBodyInit, usedText,
} = realm.body;
const { brandCheck, failure, internal, isObject, requiredArguments, toWellFormed } = webidl;
const {
  ArrayPrototypeSlice, JSONStringify, ObjectSetPrototypeOf, RangeError, ReflectApply, RegExpPrototypeExec,
  StringPrototypeToLowerCase, TypeError,
} = realm.primordials;
const { converters } = webidl;

// The members of a ResponseInit, in one object for all calls. Making a new object with
// dictionaryConverter() would cost more than the rest of the constructor.
const given = { headers: undefined, status: 200, statusText: "", webSocket: undefined };

function toResponseInit(init, prefix, context) {
  if (init === undefined || init === null) {
    given.headers = undefined;
    given.status = 200;
    given.statusText = "";
    given.webSocket = undefined;
    return given;
  }
  if (!isObject(init)) {
    throw failure("is not an object, so it cannot be a ResponseInit", prefix, context);
  }
  // NB: Getters may construct other responses, so `given` is written after everything was read.
  let { headers } = init;
  if (headers !== undefined) {
    headers = toHeadersInit(headers, prefix, "'headers' of 'ResponseInit'");
  }
  let { status } = init;
  status = status === undefined ? 200
    : converters["unsigned short"](status, prefix, "'status' of 'ResponseInit'");
  let { statusText } = init;
  statusText = statusText === undefined ? ""
    : converters.ByteString(statusText, prefix, "'statusText' of 'ResponseInit'");
  // NB: Not part of the standard: the client's end of a WebSocketPair.
  given.webSocket = status === 101 ? init.webSocket : undefined;
  given.headers = headers;
  given.status = status;
  given.statusText = statusText;
  return given;
}

function isNullBodyStatus(status) {
  return status === 204 || status === 205 || status === 304 || status === 101 || status === 103;
}

// Attributes that few responses have: those of fetch and of error(), and those that become a
// WebSocket. NB: It does not inherit from Object.prototype, which may have accessors with these
// names.
class Origin {
  constructor(type, url, redirected, socket = null) {
    this.type = type;
    this.url = url;
    this.redirected = redirected;
    this.socket = socket;
  }
}

ObjectSetPrototypeOf(Origin.prototype, null);

let isResponse;
let socketOf;
let unpack;
let make;
let failResponse;
let setBody;
let checkWasm;

// The result of unpackResponse(); one object for all calls, whose properties always have the same
// types.
const unpacked = { status: 200, statusText: "", headerList: null, body: null };
const none = [];

class Response {
  #status = 200;
  #statusText = "";
  #list = null;     // header fields, null for none
  #headers = null;  // the object over #list
  #body = null;
  #origin = null;

  // https://fetch.spec.whatwg.org/#dom-response
  constructor(body = null, init = undefined) {
    if (body === internal) return;
    const prefix = "Failed to construct 'Response'";
    if (typeof body !== "string" && body !== null && body !== undefined) {
      body = toBodyInit(body, prefix, "Argument 1");
    }
    if (init !== undefined) this.#initialize(toResponseInit(init, prefix, "Argument 2"), prefix);
    if (body === null || body === undefined) return;
    this.#setBody(body, prefix);
  }

  static {
    isResponse = (value) => #status in value;

    socketOf = (response) => (response.#origin === null ? null : response.#origin.socket);

    unpack = (response) => {
      unpacked.body = forSending(response.#body);
      if (typeof response.#body === "string") response.#body = usedText;
      unpacked.status = response.#status;
      unpacked.statusText = response.#statusText;
      unpacked.headerList = response.#list ?? none;
      return unpacked;
    };

    make = (status, statusText, list, guard, body, origin) => {
      const response = new Response(internal);
      response.#status = status;
      response.#statusText = statusText;
      response.#list = list;
      response.#body = body;
      response.#origin = origin;
      if (guard === "immutable" && origin === null) response.#headers = newHeaders(list, guard);
      return response;
    };

    setBody = (response, body) => { response.#body = body; };

    // https://www.w3.org/TR/wasm-web-api/#compile-a-potential-webassembly-response, 2.2-2.6
    // NB: An opaque response has no status that would be ok.
    checkWasm = (response) => {
      const type = response.#list === null ? null : getHeader(response.#list, "content-type");
      if (type === null || StringPrototypeToLowerCase(type) !== "application/wasm") {
        throw new TypeError(`The Content-Type must be application/wasm, not ${type ?? "missing"}`);
      }
      if (!response.ok) throw new TypeError(`The status ${response.#status} is not ok`);
    };

    failResponse = (response, reason) => {
      const body = response.#body;
      if (body !== null && typeof body !== "string") body.failure = { reason };
    };
  }

  // https://fetch.spec.whatwg.org/#initialize-a-response
  #initialize({ headers, status, statusText, webSocket }, prefix) {
    if (webSocket !== undefined && webSocket !== null) {
      this.#origin = new Origin("default", "", false, realm.websocket.serverOf(webSocket));
    } else if (status < 200 || status > 599) {
      throw new RangeError(`${prefix}: the status ${status} is outside the range 200 to 599`);
    }
    if (statusText !== "" &&
        RegExpPrototypeExec(/^[\t\x20-\x7e\x80-\xff]*$/, statusText) === null) {
      throw new TypeError(`${prefix}: the status text is not a reason-phrase`);
    }
    this.#status = status;
    this.#statusText = statusText;
    if (headers !== undefined) {
      this.#list = listFromInit(headers, "response", prefix);
    }
  }

  #setBody(init, prefix) {
    const { body, type } = extract(init, false);
    if (isNullBodyStatus(this.#status)) {
      throw new TypeError(`${prefix}: a response with status ${this.#status} cannot have a body`);
    }
    this.#body = body;
    if (type === null) return;
    if (this.#list === null) this.#list = ["content-type", type];
    else if (!hasHeader(this.#list, "content-type")) {
      appendHeader(this.#list, "content-type", type);
    }
  }

  // https://fetch.spec.whatwg.org/#dom-response-error
  static error() {
    return make(0, "", [], "immutable", null, new Origin("error", "", false));
  }

  // https://fetch.spec.whatwg.org/#dom-response-redirect
  static redirect(url, status = 302) {
    const prefix = "Failed to execute 'redirect' on 'Response'";
    requiredArguments(arguments.length, 1, prefix);
    url = converters.USVString(url, prefix, "Argument 1");
    status = converters["unsigned short"](status, prefix, "Argument 2");
    const href = urls.parseHref(url, realm.http.baseURL);
    if (href === undefined) throw new TypeError(`${prefix}: '${url}' is not a valid URL`);
    if (status !== 301 && status !== 302 && status !== 303 && status !== 307 && status !== 308) {
      throw new RangeError(`${prefix}: ${status} is not a redirect status`);
    }
    return make(status, "", ["location", href], "immutable", null, null);
  }

  // https://fetch.spec.whatwg.org/#dom-response-json
  static json(data, init = undefined) {
    const prefix = "Failed to execute 'json' on 'Response'";
    requiredArguments(arguments.length, 1, prefix);
    const text = JSONStringify(data);
    if (text === undefined) {
      throw new TypeError(`${prefix}: the value cannot be serialized as JSON`);
    }
    const response = new Response(internal);
    if (init === undefined) {
      response.#list = ["content-type", "application/json"];
    } else {
      response.#initialize(toResponseInit(init, prefix, "Argument 2"), prefix);
      if (isNullBodyStatus(response.#status)) {
        throw new TypeError(
          `${prefix}: a response with status ${response.#status} cannot have a body`);
      }
      response.#list ??= [];
      if (!hasHeader(response.#list, "content-type")) {
        appendHeader(response.#list, "content-type", "application/json");
      }
    }
    response.#body = toWellFormed(text);
    return response;
  }

  get type() {
    const origin = this.#origin;
    return origin === null ? "default" : origin.type;
  }

  get url() {
    const origin = this.#origin;
    return origin === null ? "" : origin.url;
  }

  get redirected() {
    const origin = this.#origin;
    return origin === null ? false : origin.redirected;
  }

  get status() {
    return this.#status;
  }

  get ok() {
    return this.#status >= 200 && this.#status <= 299;
  }

  get statusText() {
    return this.#statusText;
  }

  get headers() {
    return this.#headers ??= newHeaders(this.#list ??= [],
      this.#origin === null || this.#origin.type === "default" ? "response" : "immutable");
  }

  // https://fetch.spec.whatwg.org/#dom-response-clone
  clone() {
    brandCheck(isObject(this) && #status in this, "Response");
    if (isUnusable(this.#body)) {
      throw new TypeError("Failed to execute 'clone' on 'Response': the body was used already");
    }
    const { first, second } = cloned(this.#body);
    this.#body = first;
    const list = this.#list === null ? null : ArrayPrototypeSlice(this.#list);
    const guard = this.#origin === null ? "response" : "immutable";
    return make(this.#status, this.#statusText, list, guard, second, this.#origin);
  }

  static {
    mixin(Response, "Response", {
      check: isResponse,
      get: (response) => response.#body,
      set: (response, body) => { response.#body = body; },
      mimeType: (response) => mime.fromHeader(
        response.#list === null ? null : getHeader(response.#list, "content-type")),
    });
  }
}
webidl.configureInterface(Response);
const { arrayBuffer } = Response.prototype;
webidl.converters.Response = webidl.interfaceConverter("Response", isResponse);

function newFetchResponse(inner) {
  return make(inner.status, inner.statusText, inner.headers, "immutable", inner.body,
    new Origin(inner.type, inner.url, inner.redirected));
}

realm.http = {
  __proto__: null,
  // The base of relative URLs; undefined unless the host gives the application a location.
  baseURL: undefined,
  Response,
  failResponse: (response, reason) => failResponse(response, reason),
  isNullBodyStatus,
  isResponse: (value) => isObject(value) && isResponse(value),
  newFetchResponse,
  setResponseBody: (response, body) => setBody(response, body),
  newUpgradeResponse: (socket) => make(
    101, "", [], "response", null, new Origin("default", "", false, socket)),
  socketOf: (response) => socketOf(response),
  wasmOf(response) {
    checkWasm(response);
    return ReflectApply(arrayBuffer, response, []);
  },
  unpackResponse: (value) => (isObject(value) && isResponse(value) ? unpack(value) : null),
};
realm.expose({ Response });
