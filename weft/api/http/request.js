// Request. https://fetch.spec.whatwg.org/#request-class
//
// The Request for a server's request reads method, URL, header fields and body from the native
// request on demand.
//
// For other scripts, realm.http:
//     Request, isRequest(value)
//     makeServerRequest(id)        the Request of the native request `id`
//     abortServerRequest(request, reason)    aborts its signal, even if that was not made yet
//     serverIdOf(request)          the number of the native request; -1 if there is none
//     materialize(request)         reads everything from the native request before that is over
//     wasAbortedWith(request, error)         whether the error is the reason of its signal
//     innerOf(request)             { method, url, headerList, body, settings, signal, ... }

const { requestMethod } = native;
const { blob: blobs, events, mime, streamAccess, url: urls, webidl } = realm;
const {
  append: appendHeader, get: getHeader, has: hasHeader, listFromInit, listOf, newHeaders,
  newLazyHeaders, toHeadersInit,
} = realm.headers;
const {
  InnerBody, REQUEST, STREAM, cloned, extract, innerOf: innerBodyOf, isUnusable, mixin,
  toBodyInit,
} = realm.body;
const { brandCheck, internal, isObject, requiredArguments } = webidl;
const {
  ArrayPrototypeSlice, ObjectSetPrototypeOf, RegExpPrototypeExec, StringPrototypeIndexOf,
  StringPrototypeStartsWith, StringPrototypeToUpperCase, TypeError,
} = realm.primordials;
const { converters } = webidl;

const toRequestInit = webidl.dictionaryConverter("RequestInit", [
  { key: "body", converter: webidl.nullableConverter(toBodyInit) },
  { key: "cache", converter: webidl.enumConverter("RequestCache",
    ["default", "no-store", "reload", "no-cache", "force-cache", "only-if-cached"]) },
  { key: "credentials", converter: webidl.enumConverter("RequestCredentials",
    ["omit", "same-origin", "include"]) },
  { key: "duplex", converter: webidl.enumConverter("RequestDuplex", ["half"]) },
  { key: "headers", converter: toHeadersInit },
  { key: "integrity", converter: converters.DOMString },
  { key: "keepalive", converter: converters.boolean },
  { key: "method", converter: converters.ByteString },
  { key: "mode", converter: webidl.enumConverter("RequestMode",
    ["navigate", "same-origin", "no-cors", "cors"]) },
  { key: "priority", converter: webidl.enumConverter("RequestPriority", ["high", "low", "auto"]) },
  { key: "redirect", converter: webidl.enumConverter("RequestRedirect",
    ["follow", "error", "manual"]) },
  { key: "referrer", converter: converters.USVString },
  { key: "referrerPolicy", converter: webidl.enumConverter("ReferrerPolicy",
    ["", "no-referrer", "no-referrer-when-downgrade", "same-origin", "origin", "strict-origin",
      "origin-when-cross-origin", "strict-origin-when-cross-origin", "unsafe-url"]) },
  { key: "signal", converter: webidl.nullableConverter(
    webidl.interfaceConverter("AbortSignal", (value) => events.isAbortSignal(value))) },
  { key: "window", converter: converters.any },
]);

// Settings for which nearly all requests have these default values.
class Settings {
  constructor() {
    this.cache = "default";
    this.credentials = "same-origin";
    this.destination = "";
    this.integrity = "";
    this.keepalive = false;
    this.mode = "cors";
    this.redirect = "follow";
    this.referrer = "about:client";
    this.referrerPolicy = "";
  }

  copy() {
    const copy = new Settings();
    copy.cache = this.cache;
    copy.credentials = this.credentials;
    copy.integrity = this.integrity;
    copy.keepalive = this.keepalive;
    copy.mode = this.mode;
    copy.redirect = this.redirect;
    copy.referrer = this.referrer;
    copy.referrerPolicy = this.referrerPolicy;
    return copy;
  }
}

const standard = new Settings();

// https://fetch.spec.whatwg.org/#concept-method-normalize
function normalizedMethod(method, prefix) {
  if (method === "GET" || method === "POST") return method;
  if (RegExpPrototypeExec(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/, method) === null) {
    throw new TypeError(`${prefix}: '${method}' is not a valid HTTP method`);
  }
  const upper = StringPrototypeToUpperCase(method);
  if (upper === "CONNECT" || upper === "TRACE" || upper === "TRACK") {
    throw new TypeError(`${prefix}: '${method}' is a method that is not allowed`);
  }
  return upper === "DELETE" || upper === "GET" || upper === "HEAD" || upper === "OPTIONS" ||
    upper === "POST" || upper === "PUT" ? upper : method;
}

// A cache of URLs that were given as text, because most applications request few of them.
class SeenURLs {
  #texts = ["", "", "", ""];
  #hrefs = ["", "", "", ""];
  #next = 0;

  // Returns null if the URL is not cached, or depends on a base.
  find(text, base) {
    if (base !== undefined) return null;
    for (let i = 0; i < 4; i++) {
      if (this.#texts[i] === text && text !== "") return this.#hrefs[i];
    }
    return null;
  }

  add(text, href) {
    if (text.length > 1024) return;
    this.#texts[this.#next] = text;
    this.#hrefs[this.#next] = href;
    this.#next = (this.#next + 1) & 3;
  }
}
const seen = new SeenURLs();

function hasCredentials(href) {
  return StringPrototypeIndexOf(href, "@") !== -1 && RegExpPrototypeExec(/^[^/]*:\/\/[^/?#]*@/, href) !== null;
}

// Step 21.3 of the constructor; returns the value to store, "no-referrer" or "about:client".
function checkedReferrer(referrer, prefix) {
  if (referrer === "") return "no-referrer";
  const href = urls.parseHref(referrer, realm.http.baseURL);
  if (href === undefined) throw new TypeError(`${prefix}: '${referrer}' is not a valid URL`);
  const base = realm.http.baseURL;
  if (href === "about:client" || base === undefined ||
      new urls.URL(href).origin !== new urls.URL(base).origin) return "about:client";
  return href;
}

let isRequest;
let makeServerRequest;
let abortServerRequest;
let materialize;
let serverIdOf;
let wasAbortedWith;
let innerOf;
let setBody;

// The result of innerOf(). NB: It does not inherit from Object.prototype, which may have accessors
// with these names.
class InnerRequest {
  constructor(request) {
    this.method = "GET";
    this.url = "";
    this.blob = null;
    this.headerList = null;
    this.body = null;
    this.settings = null;
    this.signal = null;
    this.request = request;
  }

  setBody(body) {
    setBody(this.request, body);
  }
}
ObjectSetPrototypeOf(InnerRequest.prototype, null);

function isOver() {
  throw new TypeError("The request is over: read what you need of it before that");
}

class Request {
  #method = null;       // null until it is read from the native request
  #url = null;
  #list = null;         // header fields; null while #headers holds them or nobody has read them
  #headers = null;
  #body = undefined;    // undefined while the native request holds it
  #signal = null;
  #follows = null;      // the signal that #signal will follow
  #reason = null;       // { reason } if the request was aborted before #signal was made
  #settings = standard;
  #id = -1;             // number of the native request
  #guard = "request";
  #blob = null;         // the blob that a blob URL referred to when the request was made

  // https://fetch.spec.whatwg.org/#dom-request
  constructor(input, init = undefined) {
    if (input === internal) return;
    const prefix = "Failed to construct 'Request'";
    requiredArguments(arguments.length, 1, prefix);
    if (typeof input === "string" && init === undefined) {
      this.#fromURL(input, prefix);
      this.#list = [];
      this.#body = null;
      return;
    }
    const from = isObject(input) && #method in input ? input : null;
    if (from === null) input = converters.USVString(input, prefix, "Argument 1");
    init = toRequestInit(init, prefix, "Argument 2");
    if (from === null) this.#fromURL(input, prefix);
    else this.#fromRequest(from);
    this.#applySettings(init, from !== null, prefix);
    if (init.method !== undefined) this.#method = normalizedMethod(init.method, prefix);
    if (init.signal !== undefined) this.#follows = init.signal;
    this.#applyHeaders(init, from, prefix);
    this.#applyBody(init, from, prefix);
  }

  // 5. If input is a string, then: ...
  #fromURL(input, prefix) {
    const base = realm.http.baseURL;
    this.#method = "GET";
    this.#url = seen.find(input, base);
    if (this.#url !== null) return;
    const href = urls.parseHref(input, base);
    if (href === undefined) throw new TypeError(`${prefix}: '${input}' is not a valid URL`);
    if (hasCredentials(href)) {
      throw new TypeError(`${prefix}: '${input}' is a URL that includes credentials`);
    }
    this.#url = href;
    if (StringPrototypeStartsWith(href, "blob:")) this.#blob = blobs.resolve(href) ?? null;
    else if (base === undefined) seen.add(input, href);
  }

  // 6. Otherwise: set request to input's request, and signal to input's signal.
  #fromRequest(from) {
    this.#url = from.#readURL();
    this.#blob = from.#blob;
    this.#method = from.#readMethod();
    this.#settings = from.#settings;
    this.#follows = from.#signalOrNull();
  }

  // Steps 14 to 24.
  #applySettings(init, hasRequest, prefix) {
    if (init.window !== undefined && init.window !== null) {
      throw new TypeError(`${prefix}: 'window' can only be null`);
    }
    const given = init.cache !== undefined || init.credentials !== undefined ||
      init.integrity !== undefined || init.keepalive !== undefined || init.mode !== undefined ||
      init.redirect !== undefined || init.referrer !== undefined ||
      init.referrerPolicy !== undefined;
    if (given) {
      const settings = this.#settings = this.#settings.copy();
      if (init.referrer !== undefined) settings.referrer = checkedReferrer(init.referrer, prefix);
      if (init.referrerPolicy !== undefined) settings.referrerPolicy = init.referrerPolicy;
      if (init.mode === "navigate") {
        throw new TypeError(`${prefix}: the mode 'navigate' is not allowed`);
      }
      if (init.mode !== undefined) settings.mode = init.mode;
      if (init.credentials !== undefined) settings.credentials = init.credentials;
      if (init.cache !== undefined) settings.cache = init.cache;
      if (init.redirect !== undefined) settings.redirect = init.redirect;
      if (init.integrity !== undefined) settings.integrity = init.integrity;
      if (init.keepalive !== undefined) settings.keepalive = init.keepalive;
    }
    const { cache, mode } = this.#settings;
    if (cache === "only-if-cached" && mode !== "same-origin") {
      throw new TypeError(
        `${prefix}: the cache mode 'only-if-cached' needs the mode 'same-origin'`);
    }
  }

  // Steps 31 to 33.
  #applyHeaders(init, from, prefix) {
    if (this.#settings.mode === "no-cors") {
      const method = this.#method;
      if (method !== "GET" && method !== "HEAD" && method !== "POST") {
        throw new TypeError(`${prefix}: '${method}' is not allowed with the mode 'no-cors'`);
      }
      this.#guard = "request-no-cors";
    }
    if (init.headers !== undefined) {
      this.#list = listFromInit(init.headers, this.#guard, prefix);
    } else if (from === null) {
      this.#list = [];
    } else if (this.#guard === "request") {
      this.#list = ArrayPrototypeSlice(from.#readList());
    } else {
      this.#list = listFromInit(newHeaders(from.#readList(), "none"),
        this.#guard, prefix);
    }
  }

  // Steps 34 to 43.
  #applyBody(init, from, prefix) {
    const inputBody = from === null ? null : from.#readBody();
    const given = init.body !== undefined && init.body !== null;
    if ((given || (init.body === undefined && inputBody !== null)) &&
        (this.#method === "GET" || this.#method === "HEAD")) {
      throw new TypeError(`${prefix}: a ${this.#method} request cannot have a body`);
    }
    this.#body = null;
    if (given) {
      const { body, type } = extract(init.body, this.#settings.keepalive);
      this.#body = body;
      if (type !== null && !hasHeader(this.#list, "content-type")) {
        appendHeader(this.#list, "Content-Type", type);
      }
      if (streamAccess.isStream(init.body) && init.duplex === undefined) {
        throw new TypeError(`${prefix}: a stream as the body needs the option duplex: "half"`);
      }
      if (body !== null && typeof body !== "string" && body.kind === STREAM &&
          this.#settings.mode !== "same-origin" && this.#settings.mode !== "cors") {
        throw new TypeError(`${prefix}: a stream as the body needs another mode`);
      }
    }
    if (init.body !== undefined || inputBody === null) return;
    // 42. If inputBody is unusable, then throw a TypeError. 43. Let finalBody be the result of
    //     creating a proxy for inputBody.
    if (isUnusable(inputBody)) {
      throw new TypeError(`${prefix}: the body of the given request was used already`);
    }
    this.#body = from.#giveBody();
  }

  // The body for another request; this request's body counts as used after that.
  #giveBody() {
    let body = this.#readBody();
    if (typeof body === "string") body = innerBodyOf(body);
    const given = new InnerBody(body.kind, body.source, null);
    given.shared = body.shared;
    if (body.stream !== null) {
      const pipe = new TransformStream();
      given.kind = STREAM;
      given.source = null;
      given.stream = streamAccess.pipeThrough(body.stream, pipe);
    }
    const used = new InnerBody(body.kind, null, body.stream);
    used.consumed = true;
    this.#body = used;
    return given;
  }

  static {
    isRequest = (value) => #method in value;

    makeServerRequest = (id) => {
      const request = new Request(internal);
      request.#id = id;
      return request;
    };

    serverIdOf = (request) => request.#id;

    abortServerRequest = (request, reason) => {
      materialize(request);
      if (request.#signal !== null) events.signalAbort(request.#signal, reason);
      else request.#reason ??= { reason };
    };

    materialize = (request) => {
      if (requestMethod(request.#id) === undefined) return;
      request.#readMethod();
      request.#readURL();
      request.#readList();
      request.#readBody();
    };

    wasAbortedWith = (request, error) =>
      request.#signal !== null && request.#signal.aborted && request.#signal.reason === error;

    innerOf = (request) => {
      const inner = new InnerRequest(request);
      inner.method = request.#readMethod();
      inner.url = request.#readURL();
      inner.blob = request.#blob;
      inner.headerList = request.#readList();
      inner.body = request.#readBody();
      inner.settings = request.#settings;
      inner.signal = request.#signalOrNull();
      return inner;
    };

    setBody = (request, body) => { request.#body = body; };
  }

  #readMethod() {
    return this.#method ??= requestMethod(this.#id) ?? isOver();
  }

  #readURL() {
    if (this.#url !== null) return this.#url;
    return this.#url = urls.requestHref(this.#id) ?? isOver();
  }

  #readList() {
    if (this.#list !== null) return this.#list;
    return this.#list = listOf(this.#readHeaders());
  }

  #readHeaders() {
    return this.#headers ??= this.#list === null ? newLazyHeaders(this.#id, this.#guard)
      : newHeaders(this.#list, this.#guard);
  }

  #readBody() {
    if (this.#body !== undefined) return this.#body;
    const method = this.#readMethod();
    if (method === "GET" || method === "HEAD") return this.#body = null;
    const hasBody = native.requestHasBody(this.#id) ?? isOver();
    return this.#body = hasBody ? new InnerBody(REQUEST, this.#id, null) : null;
  }

  // The signal, or null if nobody could abort it.
  #signalOrNull() {
    if (this.#signal !== null) return this.#signal;
    return this.#follows === null && this.#id === -1 ? null : this.#readSignal();
  }

  #readSignal() {
    if (this.#signal !== null) return this.#signal;
    if (this.#follows !== null) {
      return this.#signal = events.createDependentSignal([this.#follows]);
    }
    this.#signal = events.createAbortSignal();
    if (this.#reason !== null) events.signalAbort(this.#signal, this.#reason.reason);
    return this.#signal;
  }

  get method() {
    return this.#readMethod();
  }

  get url() {
    return this.#readURL();
  }

  get headers() {
    return this.#readHeaders();
  }

  get destination() {
    return this.#settings.destination;
  }

  get referrer() {
    const { referrer } = this.#settings;
    return referrer === "no-referrer" ? "" : referrer;
  }

  get referrerPolicy() {
    return this.#settings.referrerPolicy;
  }

  get mode() {
    return this.#settings.mode;
  }

  get credentials() {
    return this.#settings.credentials;
  }

  get cache() {
    return this.#settings.cache;
  }

  get redirect() {
    return this.#settings.redirect;
  }

  get integrity() {
    return this.#settings.integrity;
  }

  get keepalive() {
    return this.#settings.keepalive;
  }

  get isReloadNavigation() {
    brandCheck(isObject(this) && #method in this, "Request");
    return false;
  }

  get isHistoryNavigation() {
    brandCheck(isObject(this) && #method in this, "Request");
    return false;
  }

  get signal() {
    return this.#readSignal();
  }

  get duplex() {
    brandCheck(isObject(this) && #method in this, "Request");
    return "half";
  }

  // https://fetch.spec.whatwg.org/#dom-request-clone
  clone() {
    brandCheck(isObject(this) && #method in this, "Request");
    const body = this.#readBody();
    if (isUnusable(body)) {
      throw new TypeError("Failed to execute 'clone' on 'Request': the body was used already");
    }
    const { first, second } = cloned(body);
    this.#body = first;
    const clone = new Request(internal);
    clone.#method = this.#readMethod();
    clone.#url = this.#readURL();
    clone.#blob = this.#blob;
    clone.#list = ArrayPrototypeSlice(this.#readList());
    clone.#guard = this.#guard;
    clone.#settings = this.#settings;
    clone.#body = second;
    clone.#follows = this.#readSignal();
    return clone;
  }

  static {
    mixin(Request, "Request", {
      check: isRequest,
      get: (request) => request.#readBody(),
      set: (request, body) => { request.#body = body; },
      mimeType: (request) => mime.fromHeader(
        getHeader(request.#readList(), "content-type")),
    });
  }
}
webidl.configureInterface(Request);
webidl.converters.Request = webidl.interfaceConverter("Request", isRequest);

const { TransformStream } = realm.streams;

realm.http.Request = Request;
realm.http.isRequest = (value) => isObject(value) && isRequest(value);
realm.http.makeServerRequest = (id) => makeServerRequest(id);
realm.http.abortServerRequest = (request, reason) => abortServerRequest(request, reason);
realm.http.serverIdOf = (request) => serverIdOf(request);
realm.http.materialize = (request) => materialize(request);
realm.http.wasAbortedWith = (request, error) => wasAbortedWith(request, error);
realm.http.innerOf = (request) => innerOf(request);
realm.expose({ Request });
