// node:url: the web platform's classes, conversions between URLs and paths, and the legacy parser.
// https://nodejs.org/api/url.html
"use strict";

const { invalid } = load("events");
const { URL, URLSearchParams } = realm.url;

function fileURLToPath(url) {
  const parsed = typeof url === "string" ? new URL(url) : url;
  if (!(parsed?.href !== undefined && parsed.protocol !== undefined)) {
    throw invalid('The "path" argument must be of type string or an instance of URL.');
  }
  if (parsed.protocol !== "file:") {
    throw invalid("The URL must be of scheme file", "ERR_INVALID_URL_SCHEME");
  }
  if (parsed.hostname !== "") {
    throw invalid('File URL host must be "localhost" or empty on linux',
      "ERR_INVALID_FILE_URL_HOST");
  }
  if (/%2f/i.test(parsed.pathname)) {
    throw invalid("File URL path must not include encoded / characters",
      "ERR_INVALID_FILE_URL_PATH");
  }
  return decodeURIComponent(parsed.pathname);
}

function pathToFileURL(path) {
  let resolved = load("path")["node:path"].resolve(path);
  if (path.endsWith("/") && !resolved.endsWith("/")) resolved += "/";
  const escaped = resolved.replace(/%/g, "%25").replace(/\\/g, "%5C").replace(/\n/g, "%0A")
    .replace(/\r/g, "%0D").replace(/\t/g, "%09").replace(/\?/g, "%3F").replace(/#/g, "%23");
  return new URL(`file://${escaped}`);
}

function urlToHttpOptions(url) {
  const { hostname, pathname, search } = url;
  const options = {
    __proto__: null,
    ...url,
    protocol: url.protocol,
    hostname: hostname.startsWith("[") ? hostname.slice(1, -1) : hostname,
    hash: url.hash,
    search,
    pathname,
    path: `${pathname}${search}`,
    href: url.href,
  };
  if (url.port !== "") options.port = Number(url.port);
  if (url.username || url.password) {
    options.auth = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  }
  return options;
}

// ---- the legacy parser, which leaves relative references unresolved

const slashed = ["http:", "https:", "ftp:", "file:", "ws:", "wss:"];

class Url {
  constructor() {
    for (const key of ["protocol", "slashes", "auth", "host", "port", "hostname", "hash",
      "search", "query", "pathname", "path", "href"]) this[key] = null;
  }
}

// [scheme:][//[auth@]host[:port]]path[?query][#hash]
function parse(text, parseQuery = false, slashesDenoteHost = false) {
  if (text instanceof Url) return text;
  if (typeof text !== "string") {
    throw invalid(`The "url" argument must be of type string. Received ${typeof text}`);
  }
  const url = new Url();
  let rest = text.trim();
  const scheme = /^[a-z][a-z0-9.+-]*:/i.exec(rest);
  if (scheme !== null) {
    url.protocol = scheme[0].toLowerCase();
    rest = rest.slice(scheme[0].length);
  }
  if (rest.startsWith("//") && (scheme !== null || slashesDenoteHost)) {
    url.slashes = true;
    const end = rest.slice(2).search(/[/?#\\]/);
    const authority = end < 0 ? rest.slice(2) : rest.slice(2, 2 + end);
    rest = end < 0 ? "" : rest.slice(2 + end);
    const at = authority.lastIndexOf("@");
    if (at >= 0) url.auth = decodeURIComponent(authority.slice(0, at));
    const [, hostname, port] = /^(.*?)(?::(\d*))?$/.exec(authority.slice(at + 1).toLowerCase());
    url.port = port ? port : null;
    url.hostname = hostname.replace(/^\[(.*)\]$/, "$1");
    url.host = url.port === null ? hostname : `${hostname}:${port}`;
  }
  const hash = rest.indexOf("#");
  if (hash >= 0) [url.hash, rest] = [rest.slice(hash), rest.slice(0, hash)];
  const query = rest.indexOf("?");
  if (query >= 0) {
    [url.search, rest] = [rest.slice(query), rest.slice(0, query)];
    url.query = url.search.slice(1);
  } else if (parseQuery) {
    [url.search, url.query] = [null, ""];
  }
  if (parseQuery) url.query = load("querystring")["node:querystring"].parse(url.query);
  url.pathname = rest === "" ? (url.hostname && slashed.includes(url.protocol) ? "/" : null)
    : rest.replace(/ /g, "%20");
  if (url.pathname !== null || url.search !== null) {
    url.path = `${url.pathname ?? ""}${url.search ?? ""}`;
  }
  url.href = format(url);
  return url;
}

function formatWhatwg(url, options) {
  const copy = new URL(url.href);
  if (options?.fragment === false) copy.hash = "";
  if (options?.search === false) copy.search = "";
  if (options?.auth === false) copy.username = copy.password = "";
  return copy.href;
}

function format(url, options = undefined) {
  if (typeof url === "string") return parse(url).href;
  if (url instanceof URL) return formatWhatwg(url, options);
  const protocol = url.protocol ? `${url.protocol}${url.protocol.endsWith(":") ? "" : ":"}` : "";
  const auth = url.auth ? `${encodeURIComponent(url.auth).replace(/%3A/i, ":")}@` : "";
  let host = "";
  if (url.host) host = `${auth}${url.host}`;
  else if (url.hostname) {
    const name = url.hostname.includes(":") ? `[${url.hostname}]` : url.hostname;
    host = `${auth}${name}${url.port ? `:${url.port}` : ""}`;
  }
  let search = url.search ?? "";
  if (search === "" && url.query !== null && typeof url.query === "object") {
    search = load("querystring")["node:querystring"].stringify(url.query);
  }
  if (search !== "" && !search.startsWith("?")) search = `?${search}`;
  let hash = url.hash ?? "";
  if (hash !== "" && !hash.startsWith("#")) hash = `#${hash}`;
  let pathname = (url.pathname ?? "").replace(/[?#]/g, encodeURIComponent);
  const slashes = url.slashes || ((protocol === "" || slashed.includes(protocol)) && host !== "");
  if (slashes && pathname !== "" && !pathname.startsWith("/")) pathname = `/${pathname}`;
  return `${protocol}${slashes ? "//" : ""}${host}${pathname}${search.replace(/#/g, "%23")}${hash}`;
}

function resolve(from, to) {
  const base = new URL(from, "resolve://");
  const resolved = new URL(to, base);
  if (resolved.protocol === "resolve:") {
    return `${resolved.pathname}${resolved.search}${resolved.hash}`;
  }
  return resolved.href;
}

Object.assign(Url.prototype, {
  parse(text, ...rest) {
    return Object.assign(this, parse(text, ...rest));
  },
  format() {
    return format(this);
  },
  resolve(to) {
    return resolve(this.href, to);
  },
});

const url = {
  URL,
  URLSearchParams,
  URLPattern: globalThis.URLPattern,
  Url,
  domainToASCII: (domain) => native.urlDomainToAscii(domain) ?? "",
  domainToUnicode: (domain) => native.urlDomainToUnicode(domain) ?? "",
  fileURLToPath,
  fileURLToPathBuffer: (from) => load("buffer")["node:buffer"].Buffer.from(fileURLToPath(from)),
  format,
  parse,
  pathToFileURL,
  resolve,
  resolveObject: (from, to) => parse(resolve(from, to)),
  urlToHttpOptions,
};

return { "node:url": url };
