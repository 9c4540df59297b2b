// fetch(). https://fetch.spec.whatwg.org/#fetch-method
//
// The network is the host's: connections, redirects, content codings and the policy of which hosts
// may be reached are behind native.fetchStart. Here is the rest: the request, aborting, the schemes
// without a network, the response.
//
// NB: there is no page whose origin could be protected, so there is no CORS protocol, no referrer
// and no cache of responses: `mode`, `credentials`, `referrer` and `cache` are only kept.

const {
  base64DecodeBytes, fetchAbort, fetchBodyCancel, fetchBodyEnd, fetchBodyWrite, fetchStart,
  percentDecode,
} = native;
const {
  blob, body: bodies, events, headers: headerLists, http, mime, streamAccess, webidl,
} = realm;
const { requiredArguments } = webidl;
const {
  ArrayPrototypePush, ArrayPrototypeSlice, Error, PromisePrototypeThen, ReflectApply,
  RegExpPrototypeExec, RegExpPrototypeSymbolReplace, StringPrototypeCharCodeAt,
  StringPrototypeIndexOf, StringPrototypeSlice,
  StringPrototypeStartsWith, TypeError, Uint8Array, markHandled, newPromise,
} = realm.primordials;

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

function networkError(message, cause) {
  return cause === undefined ? new TypeError(message) : new TypeError(message, { cause });
}

// ---- schemes without a network: https://fetch.spec.whatwg.org/#scheme-fetch

function localResponse(request, url, bytes, list) {
  const inner = new bodies.InnerBody(bodies.BYTES, bytes, null);
  return http.newFetchResponse({
    status: 200,
    statusText: "OK",
    headers: list,
    url,
    redirected: false,
    type: "basic",
    body: request.method === "HEAD" ? null : inner,
  });
}

// https://fetch.spec.whatwg.org/#data-url-processor
function fetchData(request) {
  const hash = StringPrototypeIndexOf(request.url, "#");
  const input = StringPrototypeSlice(request.url, 5, hash === -1 ? undefined : hash);
  const comma = StringPrototypeIndexOf(input, ",");
  if (comma === -1) throw networkError("The data: URL has no comma");
  let type = RegExpPrototypeSymbolReplace(/^[\t\n\f\r ]+|[\t\n\f\r ]+$/g,
    StringPrototypeSlice(input, 0, comma), "");
  let bytes = percentDecode(StringPrototypeSlice(input, comma + 1));
  const base64 = RegExpPrototypeExec(/; *base64$/i, type);
  if (base64 !== null) {
    bytes = base64DecodeBytes(native.latin1Decode(bytes));
    if (bytes === undefined) throw networkError("The data: URL is no valid base64");
    type = StringPrototypeSlice(type, 0, type.length - base64[0].length);
  }
  if (StringPrototypeStartsWith(type, ";")) type = `text/plain${type}`;
  const mimeType = mime.parse(type) ?? mime.parse("text/plain;charset=US-ASCII");
  return localResponse(request, request.url, new Uint8Array(bytes),
    ["Content-Type", mime.serialize(mimeType)]);
}

// The range of a "Range: bytes=…" request, [first, behind the last], or undefined.
// https://fetch.spec.whatwg.org/#simple-range-header-value
function rangeOf(value, size) {
  const match = RegExpPrototypeExec(/^bytes[\t ]*=[\t ]*(\d*)[\t ]*-[\t ]*(\d*)$/, value);
  if (match === null || (match[1] === "" && match[2] === "")) return undefined;
  if (match[1] === "") return [size > +match[2] ? size - +match[2] : 0, size];
  const first = +match[1];
  const last = match[2] === "" ? size - 1 : +match[2];
  if (last < first && match[2] !== "") return undefined;
  return first >= size ? undefined : [first, last >= size ? size : last + 1];
}

function fetchBlob(request) {
  const found = request.blob ?? blob.resolve(request.url);
  if (request.method !== "GET" || found === undefined) {
    throw networkError("There is no such blob: URL, or the method is not GET");
  }
  const size = blob.sizeOf(found);
  const type = mime.parse(blob.typeOf(found)) === null ? "" : blob.typeOf(found);
  const list = ["Content-Length", `${size}`, "Content-Type", type];
  const wanted = headerLists.get(request.headerList, "range");
  if (wanted === null) return localResponse(request, request.url, blob.bytesOf(found), list);
  const range = rangeOf(wanted, size);
  if (range === undefined) throw networkError("The range of the blob: URL is not there");
  const bytes = new Uint8Array(blob.bytesOf(found).buffer, range[0], range[1] - range[0]);
  return http.newFetchResponse({
    status: 206,
    statusText: "Partial Content",
    headers: ["Content-Length", `${bytes.length}`, "Content-Type", type, "Content-Range",
      `bytes ${range[0]}-${range[1] - 1}/${size}`],
    url: request.url,
    redirected: false,
    type: "basic",
    body: new bodies.InnerBody(bodies.BYTES, new Uint8Array(bytes), null),
  });
}

// ---- http and https

// Appends the header fields of a request, and those that it has though nobody gave them.
function completeHeaders(all, request, body) {
  const { headerList } = request;
  if (headerList.length === 0 && (request.method === "GET" || request.method === "HEAD")) {
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
  // The host asks for the codings that it decodes, unless the request says what it accepts; a range
  // of a coded body could not be decoded.
  if (headerLists.has(list, "range") && !headerLists.has(list, "accept-encoding")) {
    ArrayPrototypePush(list, "accept-encoding", "identity");
  }
  if (body === null && (request.method === "POST" || request.method === "PUT")) {
    headerLists.set(list, "content-length", "0");
  }
  for (let i = 0; i < list.length; i++) ArrayPrototypePush(all, list[i]);
}

let lastStream = 0;

// One call of fetch() that went to the network.
class Exchange {
  constructor(request, settling) {
    this.request = request;
    this.settling = settling;
    this.id = ++lastStream;   // names the exchange to the natives, and the stream of its body
    this.body = null;         // what is sent
    this.inner = null;        // the body of the response
    this.response = null;
    this.aborted = false;
    this.onAbort = null;
  }

  start() {
    const { request } = this;
    const { signal } = request;
    this.body = this.takeBody();
    const streamed = streamAccess.isStream(this.body);
    if (signal !== null) {
      this.onAbort = () => this.abort(events.abortReason(signal));
      events.addAbortAlgorithm(signal, this.onAbort);
    }
    const all = [
      request.method, request.url, streamed ? null : this.body,
      request.settings.redirect === "follow", streamed ? this.id : 0, this.id,
    ];
    completeHeaders(all, request, this.body);
    PromisePrototypeThen(ReflectApply(fetchStart, undefined, all),
      (head) => this.succeed(head), (error) => this.fail(error));
    if (streamed) this.send();
  }

  // The body as it is sent, and used from now on.
  takeBody() {
    const { request } = this;
    if (request.body === null) return null;
    const inner = bodies.innerOf(request.body);
    request.setBody(inner);
    const body = bodies.forSending(inner);
    if (typeof body === "string" || streamAccess.isStream(body)) return body;
    // NB: another fetch's body is read through its stream.
    if (body.nativeFetch !== undefined) {
      inner.consumed = false;
      return bodies.streamOf(inner);
    }
    return body;
  }

  send() {
    streamAccess.readEach(this.body, (chunk) => fetchBodyWrite(this.id, chunk),
      () => fetchBodyEnd(this.id),
      (error) => {
        if (this.aborted) return;
        fetchAbort(this.id);
        this.settling.reject(networkError("The body of the request failed", error));
      });
  }

  // head: [handle, status, statusText, url or undefined, name, value, ...]
  succeed(head) {
    const handle = head[0];
    const status = head[1];
    if (this.aborted) {
      fetchBodyCancel(handle);
      return;
    }
    const { request } = this;
    const noBody = request.method === "HEAD" || http.isNullBodyStatus(status);
    if (request.settings.redirect === "error" && isRedirect(status)) {
      fetchBodyCancel(handle);
      this.fail(new Error("there was a redirect, which the request does not allow"));
      return;
    }
    // NB: a redirect in manual mode is given as it is, not as an opaque response: a server must be
    // able to look at it.
    if (noBody) fetchBodyCancel(handle);
    else this.inner = new bodies.InnerBody(bodies.FETCH, handle, null);
    this.response = http.newFetchResponse({
      status,
      statusText: head[2],
      headers: ArrayPrototypeSlice(head, 4),
      url: head[3] ?? request.url,
      redirected: head[3] !== undefined,
      type: "basic",
      body: this.inner,
    });
    this.settling.resolve(this.response);
  }

  fail(error) {
    const { signal } = this.request;
    if (signal !== null) events.removeAbortAlgorithm(signal, this.onAbort);
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
    // 4.–5. ... error response's body with error.
    const { inner } = this;
    if (inner === null) return;
    inner.failure ??= { reason };
    // The connection ends now, not when somebody reads on.
    fetchBodyCancel(inner.source);
    if (inner.stream !== null) streamAccess.fail(inner.stream, reason);
  }
}

// The port that a serialized URL of the network names; -1: none.
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

// https://fetch.spec.whatwg.org/#concept-main-fetch, as far as it is not the host's
function dispatch(request, settling) {
  const { url } = request;
  if (StringPrototypeStartsWith(url, "https:") || StringPrototypeStartsWith(url, "http:")) {
    const port = portOf(url);
    if (badPorts[port]) throw networkError(`The port ${port} is not allowed`);
    new Exchange(request, settling).start();
  } else if (StringPrototypeStartsWith(url, "data:")) {
    settling.resolve(fetchData(request));
  } else if (StringPrototypeStartsWith(url, "blob:")) {
    settling.resolve(fetchBlob(request));
  } else {
    throw networkError(`'${url}' has a scheme that fetch does not know`);
  }
}

const functions = {
  fetch(input, init = undefined) {
    const settling = newPromise();
    try {
      requiredArguments(arguments.length, 1, "Failed to execute 'fetch'");
      const request = http.innerOf(new http.Request(input, init));
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
