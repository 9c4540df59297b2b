// fetch(). https://fetch.spec.whatwg.org/#fetch-method
//
// The host provides the network: native.fetchStart performs one request and gives its response,
// including connections, content codings and the policy of which hosts may be reached. This script
// does everything else: aborting, redirects, the schemes without a network, the response.
//
// NB: There is no cache of responses and no cookie jar: `credentials` is stored without an effect,
// and for `cache` only the header fields are sent that prevent other caches from answering.

const {
  bodyFail, continuationGet, fetchAbort, fetchBodyCancel, fetchBodyEnd, fetchBodyWrite, fetchStart,
} = native;
const { body: bodies, events, fetching, headers: headerLists, http, streamAccess, webidl } = realm;
const { networkError, originOf } = fetching;
const { requiredArguments } = webidl;
const {
  ArrayPrototypePush, ArrayPrototypeSlice, Error, FinalizationRegistry,
  FinalizationRegistryPrototypeRegister, FinalizationRegistryPrototypeUnregister, MathCeil, MathMin,
  NumberPrototypeToString, ObjectSetPrototypeOf, PromisePrototypeThen, ReflectApply, RegExpPrototypeSymbolReplace,
  RegExpPrototypeTest, StringPrototypeCharCodeAt, StringPrototypeIndexOf, StringPrototypeSlice,
  StringPrototypeStartsWith, StringPrototypeToUpperCase, WeakRef, WeakRefPrototypeDeref,
  markHandled, newPromise,
} = realm.primordials;

const { AbortSignal, DOMException } = globalThis;

const kRedirectsMax = 20;
const kTimeoutMaxMs = 0xffffffff;

// https://fetch.spec.whatwg.org/#bad-port
const badPorts = { __proto__: null };
{
  const ports = [
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
    102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
    465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
    993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667,
    6668, 6669, 6679, 6697, 10080,
  ];
  for (let i = 0; i < ports.length; i++) badPorts[ports[i]] = true;
}

// ---- responses

function withoutFragment(url) {
  const hash = StringPrototypeIndexOf(url, "#");
  return hash === -1 ? url : StringPrototypeSlice(url, 0, hash);
}

// Settles the fetch with its response; `inner` is the argument of newFetchResponse().
function deliver(request, settling, inner) {
  inner.url = withoutFragment(inner.url);
  const { integrity } = request.settings;
  if (integrity !== "") {
    verify(integrity, settling, inner);
    return null;
  }
  const response = http.newFetchResponse(inner);
  settling.resolve(response);
  return response;
}

// https://fetch.spec.whatwg.org/#concept-main-fetch, step 22
function verify(integrity, settling, inner) {
  if (inner.body === null || inner.type === "opaque") {
    settling.reject(networkError("There is no body whose integrity could be seen"));
    return;
  }
  bodies.allBytes(inner.body, (bytes) => {
    if (!fetching.matchesIntegrity(bytes, integrity)) {
      settling.reject(networkError("The body is not what the integrity of the request says"));
      return;
    }
    inner.body = new bodies.InnerBody(bodies.BYTES, bytes, null);
    settling.resolve(http.newFetchResponse(inner));
  }, (error) => settling.reject(error));
}

// ---- http and https

// Appends the header fields of a request, including those that are added by default.
function completeHeaders(all, { url, method, headerList, body, page, request }) {
  const { cache } = request.settings;
  if (headerList.length === 0 && (method === "GET" || method === "HEAD") && page === null &&
      cache === "default") {
    ArrayPrototypePush(all, "accept", "*/*", "accept-language", "*", "user-agent",
      realm.userAgent ?? "Weft");
    return;
  }
  const list = ArrayPrototypeSlice(headerList);
  if (!headerLists.has(list, "accept")) ArrayPrototypePush(list, "accept", "*/*");
  if (!headerLists.has(list, "accept-language")) ArrayPrototypePush(list, "accept-language", "*");
  if (!headerLists.has(list, "user-agent")) {
    ArrayPrototypePush(list, "user-agent", realm.userAgent ?? "Weft");
  }
  // The host requests the codings that it can decode, unless the request has its own
  // Accept-Encoding. A range of an encoded body could not be decoded.
  if (headerLists.has(list, "range") && !headerLists.has(list, "accept-encoding")) {
    ArrayPrototypePush(list, "accept-encoding", "identity");
  }
  if (body === null && (method === "POST" || method === "PUT")) {
    headerLists.set(list, "content-length", "0");
  }
  if (page !== null) page.setHeaders(list, method, url);
  addCacheHeaders(list, cache);
  pushCombined(all, list);
}

// https://fetch.spec.whatwg.org/#concept-http-network-or-cache-fetch, steps 8.17 and 8.18
function addCacheHeaders(list, cache) {
  if (cache === "no-cache" && !headerLists.has(list, "cache-control")) {
    ArrayPrototypePush(list, "cache-control", "max-age=0");
  } else if (cache === "no-store" || cache === "reload") {
    if (!headerLists.has(list, "pragma")) ArrayPrototypePush(list, "pragma", "no-cache");
    if (!headerLists.has(list, "cache-control")) {
      ArrayPrototypePush(list, "cache-control", "no-cache");
    }
  }
}

// Combines several fields of the same name into one.
function pushCombined(all, list) {
  for (let i = 0; i < list.length; i += 2) {
    const lowered = headerLists.lower(list[i]);
    let first = 0;
    while (headerLists.lower(list[first]) !== lowered) first += 2;
    if (first < i) continue;
    // RFC 9113, section 8.2.3: the pieces of a Cookie are joined by "; ".
    ArrayPrototypePush(all, list[i],
      headerLists.get(list, lowered, lowered === "cookie" ? "; " : ", "));
  }
}

// [handle, status, statusText, name, value, ...] as the host gives it.
const kFirstField = 3;

// https://fetch.spec.whatwg.org/#concept-response-location-url; undefined if there is none
function locationOf(head, current) {
  const list = ArrayPrototypeSlice(head, kFirstField);
  let location;
  for (let i = 0; i < list.length; i += 2) {
    if (headerLists.lower(list[i]) !== "location") continue;
    if (location !== undefined && location !== list[i + 1]) {
      throw networkError("The redirect leads to several places");
    }
    location = list[i + 1];
  }
  if (location === undefined) return undefined;
  // Bytes outside ASCII are sent back unchanged, whatever their encoding.
  location = RegExpPrototypeSymbolReplace(/[\x80-\xff]/g, location, (byte) =>
    `%${StringPrototypeToUpperCase(
      NumberPrototypeToString(StringPrototypeCharCodeAt(byte, 0), 16))}`);
  const href = realm.url.parseHref(location, current);
  if (href === undefined) throw networkError("The redirect leads to something that is no URL");
  const hash = StringPrototypeIndexOf(current, "#");
  return hash === -1 || StringPrototypeIndexOf(href, "#") !== -1 ? href
    : href + StringPrototypeSlice(current, hash);
}

// Bodies that were not read to their end. When one is collected, its connection ends and the signal
// of its fetch no longer refers to it.
let unread;

function watchUnread(inner, exchange) {
  unread ??= new FinalizationRegistry(({ handle, signal, onAbort }) => {
    fetchBodyCancel(handle);
    if (onAbort !== null) events.removeAbortAlgorithm(signal, onAbort);
  });
  const { onAbort, request: { signal } } = exchange;
  FinalizationRegistryPrototypeRegister(
    unread, inner, { __proto__: null, handle: inner.source, signal, onAbort }, exchange);
}

let lastStream = 0;

// One call of fetch() that uses the network: a request, and another one for each redirect.
class Exchange {
  constructor(request, settling) {
    this.request = request;
    this.settling = settling;
    // Names the exchange to the native functions, and the stream of its body.
    this.id = ++lastStream;
    this.url = request.url;   // these three change with redirects
    this.method = request.method;
    this.headerList = request.headerList;
    this.redirects = 0;
    this.page = fetching.pageOf(request);
    this.body = null;         // the body to be sent
    this.inner = null;        // the body of the response
    this.response = null;
    this.forwardedTo = 0;     // the server's request whose response is this body; 0: none
    this.aborted = false;
    this.onAbort = null;
  }

  start() {
    const { signal } = this.request;
    this.checkURL();
    this.body = this.takeBody();
    if (signal !== null) {
      // The signal may live long: it must not keep alive a response that nothing else refers to.
      const weak = new WeakRef(this);
      this.onAbort = () => WeakRefPrototypeDeref(weak)?.abort(events.abortReason(signal));
      events.addAbortAlgorithm(signal, this.onAbort);
    }
    this.ask();
    if (streamAccess.isStream(this.body)) this.send();
  }

  // https://fetch.spec.whatwg.org/#concept-main-fetch, the checks of the URL
  checkURL() {
    const port = portOf(this.url);
    if (badPorts[port]) throw networkError(`The port ${port} is not allowed`);
    if (this.page !== null) this.page.enter(this.url);
  }

  ask() {
    const streamed = streamAccess.isStream(this.body);
    const all = [
      this.method, this.url, streamed ? null : this.body, streamed ? this.id : 0, this.id,
    ];
    completeHeaders(all, this);
    PromisePrototypeThen(ReflectApply(fetchStart, undefined, all),
      (head) => this.receive(head), (error) => this.fail(error));
  }

  // The body in the form in which it is sent; the request's body counts as used after this.
  takeBody() {
    const { request } = this;
    if (request.body === null) return null;
    const inner = bodies.innerOf(request.body);
    request.setBody(inner);
    const body = bodies.forSending(inner);
    if (typeof body === "string" || streamAccess.isStream(body)) return body;
    // NB: The body of another fetch is read through its stream.
    if (body.nativeFetch !== undefined) {
      inner.consumed = false;
      return bodies.streamOf(inner);
    }
    return body;
  }

  send() {
    const { id } = this;
    streamAccess.readEach(this.body, (chunk) => fetchBodyWrite(id, chunk), () => fetchBodyEnd(id),
      (error) => {
        // A redirect that came early no longer needs the body.
        if (this.aborted || this.id !== id) return;
        fetchAbort(id);
        this.settling.reject(networkError("The body of the request failed", error));
      });
  }

  // https://fetch.spec.whatwg.org/#concept-http-fetch, the handling of a response
  receive(head) {
    if (this.aborted) {
      fetchBodyCancel(head[0]);
      return;
    }
    const { redirect } = this.request.settings;
    // NB: A redirect in manual mode is given unfiltered, not as an opaque response, because a
    // server must be able to read it.
    if (!isRedirect(head[1]) || redirect === "manual") {
      this.succeed(head);
      return;
    }
    try {
      if (redirect === "error") {
        throw new Error("there was a redirect, which the request does not allow");
      }
      const url = locationOf(head, this.url);
      if (url === undefined) {
        this.succeed(head);
        return;
      }
      fetchBodyCancel(head[0]);
      this.follow(head, url);
    } catch (error) {
      fetchBodyCancel(head[0]);
      this.fail(error);
    }
  }

  // https://fetch.spec.whatwg.org/#concept-http-redirect-fetch
  follow(head, url) {
    if (!RegExpPrototypeTest(/^https?:/, url)) {
      throw networkError("The redirect leads to a scheme without a network");
    }
    if (++this.redirects > kRedirectsMax) {
      throw networkError(`There are more redirects than ${kRedirectsMax}`);
    }
    // 8. If request's mode is "cors", locationURL includes credentials, and request's origin is not
    //    same origin with locationURL's origin, then return a network error.
    // NB: A request without an origin would send credentials that the application has not given.
    if (RegExpPrototypeTest(/^https?:\/\/[^/]*@/, url)) {
      throw networkError("The redirect leads to a URL with credentials");
    }
    const status = head[1];
    if (status !== 303 && streamAccess.isStream(this.body)) {
      throw networkError("The body of the request was a stream, which cannot be sent again");
    }
    const drops = status === 303 ? this.method !== "GET" && this.method !== "HEAD"
      : (status === 301 || status === 302) && this.method === "POST";
    const leaves = originOf(this.url) !== originOf(url);
    if (drops || leaves) this.headerList = ArrayPrototypeSlice(this.headerList);
    if (drops) {
      this.method = "GET";
      if (streamAccess.isStream(this.body)) this.id = ++lastStream;
      this.body = null;
      removeAll(this.headerList, bodyFields);
    }
    // Secrets may be sent only to the origin for which they were given.
    if (leaves) removeAll(this.headerList, secretFields);
    if (this.page !== null) {
      this.page.redirected(this.url, url, ArrayPrototypeSlice(head, kFirstField));
    }
    this.url = url;
    this.checkURL();
    this.ask();
  }

  succeed(head) {
    const handle = head[0];
    const type = this.page === null ? "basic" : this.page.type;
    if (this.method === "HEAD" || http.isNullBodyStatus(head[1])) {
      fetchBodyCancel(handle);
      this.forgetSignal();
    } else {
      this.inner = new bodies.InnerBody(bodies.FETCH, handle, null);
      this.watchBody();
    }
    // NB: An opaque response has a body too, although nobody can read it, so that an abort can end
    // it.
    // https://fetch.spec.whatwg.org/#concept-filtered-response-opaque
    this.response = deliver(this.request, this.settling, type === "opaque" ? {
      status: 0, statusText: "", headers: [], url: "", redirected: false, type, body: null,
    } : {
      status: head[1],
      statusText: head[2],
      headers: ArrayPrototypeSlice(head, kFirstField),
      url: this.url,
      redirected: this.redirects > 0,
      type,
      body: this.inner,
    });
  }

  // An unread body ends with the server's request for which it was fetched. Without such a request,
  // or if a signal can abort it, it ends when it is collected.
  watchBody() {
    const continuation = continuationGet();
    const hasOwner = continuation !== undefined && continuation.request !== 0;
    if (hasOwner && this.onAbort === null) return;
    this.inner.exchange = this;
    watchUnread(this.inner, this);
  }

  // Sends the body of the response from socket to socket; end() is called when it was sent. Returns
  // true if a signal can abort it until then.
  forwardTo(request) {
    if (this.onAbort === null) return false;
    this.forwardedTo = request;
    return true;
  }

  // The body of the response has ended.
  end() {
    FinalizationRegistryPrototypeUnregister(unread, this);
    this.forgetSignal();
  }

  forgetSignal() {
    if (this.onAbort !== null) events.removeAbortAlgorithm(this.request.signal, this.onAbort);
  }

  fail(error) {
    this.forgetSignal();
    if (streamAccess.isStream(this.body)) {
      const { body } = this;
      if (!streamAccess.isLocked(body)) markHandled(streamAccess.cancel(body, error));
    }
    this.settling.reject(networkError(`fetch failed: ${error.message}`, error));
  }

  // https://fetch.spec.whatwg.org/#abort-fetch
  abort(reason) {
    if (this.aborted) return;
    this.aborted = true;
    this.settling.reject(reason);
    fetchAbort(this.id);
    // 2. If request's body is non-null and is readable, then cancel request's body with error.
    if (streamAccess.isStream(this.body)) markHandled(streamAccess.cancel(this.body, reason));
    // 4.-5. ... error response's body with error.
    const { inner } = this;
    if (inner === null) return;
    inner.failure ??= { reason };
    // Ends the connection now instead of at the next read.
    fetchBodyCancel(inner.source);
    if (this.forwardedTo !== 0) bodyFail(this.forwardedTo);
    if (inner.stream !== null) streamAccess.fail(inner.stream, reason);
  }
}

// NB: Applications may have put accessors with these names on Object.prototype.
ObjectSetPrototypeOf(Exchange.prototype, null);

const bodyFields =
  ["content-encoding", "content-language", "content-length", "content-location", "content-type"];
const secretFields = ["authorization", "cookie", "proxy-authorization"];

function removeAll(list, names) {
  for (let i = 0; i < names.length; i++) headerLists.remove(list, names[i]);
}

// The port in a serialized URL with a network scheme; -1 if it has none.
function portOf(url) {
  const begin = StringPrototypeIndexOf(url, "//") + 2;
  let at = StringPrototypeIndexOf(url, "/", begin) - 1;
  let port = 0;
  for (let scale = 1; at >= begin; at--, scale *= 10) {
    const code = StringPrototypeCharCodeAt(url, at);
    if (code === 0x3a) return scale === 1 ? -1 : port;
    if (code < 0x30 || code > 0x39) return -1;
    port += (code - 0x30) * scale;
  }
  return -1;
}

function isRedirect(status) {
  return status === 301 || status === 302 || status === 303 || status === 307 || status === 308;
}

// https://fetch.spec.whatwg.org/#concept-main-fetch, the parts that are not the host's
function dispatch(request, settling) {
  const { url } = request;
  if (StringPrototypeStartsWith(url, "https:") || StringPrototypeStartsWith(url, "http:")) {
    new Exchange(request, settling).start();
  } else if (StringPrototypeStartsWith(url, "data:")) {
    deliver(request, settling, fetching.fetchData(request));
  } else if (StringPrototypeStartsWith(url, "blob:")) {
    deliver(request, settling, fetching.fetchBlob(request));
  } else {
    throw networkError(`'${url}' has a scheme that fetch does not know`);
  }
}

// Weft's own options `deadline` and `timeoutMs`: makes a signal that fires then, or before when the
// caller's signal does. It also applies to the body.
function limited(input, init) {
  if (init === undefined || init === null ||
      (init.deadline === undefined && init.timeoutMs === undefined)) return init;
  const budget = realm.time.budgetMs(init, "fetch");
  if (budget === Infinity) return init;
  const late = budget <= 0
    ? AbortSignal.abort(new DOMException("The operation timed out", "TimeoutError"))
    : AbortSignal.timeout(MathMin(MathCeil(budget), kTimeoutMaxMs));
  const own = init.signal !== undefined || !(input instanceof http.Request)
    ? init.signal : input.signal;
  const signal = own === undefined || own === null ? late : AbortSignal.any([own, late]);
  return { __proto__: init, signal };
}

const functions = {
  fetch(input, init = undefined) {
    const settling = newPromise();
    try {
      requiredArguments(arguments.length, 1, "Failed to execute 'fetch'");
      const request = http.innerOf(new http.Request(input, limited(input, init)));
      const { signal } = request;
      if (signal !== null && events.isAborted(signal)) {
        const reason = events.abortReason(signal);
        const { body } = request;
        if (body !== null && typeof body !== "string" && body.stream !== null) {
          markHandled(streamAccess.cancel(body.stream, reason));
        }
        settling.reject(reason);
      } else {
        dispatch(request, settling);
      }
    } catch (error) {
      settling.reject(error);
    }
    return settling.promise;
  },
};

realm.badPorts = badPorts;
realm.fetch = functions.fetch;
realm.expose(functions);
