// The schemes of fetch() without a network: https://fetch.spec.whatwg.org/#scheme-fetch
//
// For other scripts, realm.fetching:
//     networkError(message, cause)
//     fetchData(request), fetchBlob(request)    give the argument of newFetchResponse(), or throw
//                                               networkError()

const { base64DecodeBytes, percentDecode } = native;
const { blob, body: bodies, headers: headerLists, mime } = realm;
const {
  RegExpPrototypeExec, RegExpPrototypeSymbolReplace, StringPrototypeIndexOf, StringPrototypeSlice,
  StringPrototypeStartsWith, TypeError, Uint8Array,
} = realm.primordials;

function networkError(message, cause) {
  return cause === undefined ? new TypeError(message) : new TypeError(message, { cause });
}

function localResponse(request, bytes, list) {
  const inner = new bodies.InnerBody(bodies.BYTES, bytes, null);
  return {
    status: 200,
    statusText: "OK",
    headers: list,
    url: request.url,
    redirected: false,
    type: "basic",
    body: request.method === "HEAD" ? null : inner,
  };
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
  return localResponse(request, new Uint8Array(bytes),
    ["Content-Type", mime.serialize(mimeType)]);
}

// The range of a "Range: bytes=..." request as [first, end], where end is exclusive, or undefined.
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
  if (wanted === null) return localResponse(request, blob.bytesOf(found), list);
  const range = rangeOf(wanted, size);
  if (range === undefined) throw networkError("The range of the blob: URL is not there");
  const bytes = new Uint8Array(blob.bytesOf(found).buffer, range[0], range[1] - range[0]);
  return {
    status: 206,
    statusText: "Partial Content",
    headers: ["Content-Length", `${bytes.length}`, "Content-Type", type, "Content-Range",
      `bytes ${range[0]}-${range[1] - 1}/${size}`],
    url: request.url,
    redirected: false,
    type: "basic",
    body: new bodies.InnerBody(bodies.BYTES, new Uint8Array(bytes), null),
  };
}

realm.fetching = { __proto__: null, fetchBlob, fetchData, networkError };
