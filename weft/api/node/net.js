// Modules that packages import for functions that they may never call: sockets, servers and
// processes. They can be imported, but a function that needs the machine throws an error that says
// so. zlib works.
"use strict";

const EventEmitter = load("events")["node:events"];
const { Buffer, constants: { MAX_LENGTH: kMaxLength } } = load("buffer")["node:buffer"];
const { invalid } = load("events");
const { Duplex, Readable, Transform, Writable } = load("stream")["node:stream"];
const { nextTick } = load("process")["node:process"];

function notSupported(what, instead = "") {
  return Object.assign(new Error(`${what} is not there on Weft${instead}`),
    { code: "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM" });
}

function absent(module, names, instead = "") {
  const made = {};
  for (const name of names) {
    made[name] = {
      [name]() {
        throw notSupported(`${module}.${name}()`, instead);
      },
    }[name];
  }
  return made;
}

function absentClass(module, name, Base) {
  return { [name]: class extends Base {
    constructor(...args) {
      super(...args);
      throw notSupported(`${module}.${name}`);
    }
  } }[name];
}

// ---- http

const STATUS_CODES = {
  100: "Continue", 101: "Switching Protocols", 102: "Processing", 103: "Early Hints", 200: "OK",
  201: "Created", 202: "Accepted", 203: "Non-Authoritative Information", 204: "No Content",
  205: "Reset Content", 206: "Partial Content", 207: "Multi-Status", 208: "Already Reported",
  226: "IM Used", 300: "Multiple Choices", 301: "Moved Permanently", 302: "Found",
  303: "See Other", 304: "Not Modified", 305: "Use Proxy", 307: "Temporary Redirect",
  308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized", 402: "Payment Required",
  403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 406: "Not Acceptable",
  407: "Proxy Authentication Required", 408: "Request Timeout", 409: "Conflict", 410: "Gone",
  411: "Length Required", 412: "Precondition Failed", 413: "Payload Too Large",
  414: "URI Too Long", 415: "Unsupported Media Type", 416: "Range Not Satisfiable",
  417: "Expectation Failed", 418: "I'm a Teapot", 421: "Misdirected Request",
  422: "Unprocessable Entity", 423: "Locked", 424: "Failed Dependency", 425: "Too Early",
  426: "Upgrade Required", 428: "Precondition Required", 429: "Too Many Requests",
  431: "Request Header Fields Too Large", 451: "Unavailable For Legal Reasons",
  500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway",
  503: "Service Unavailable", 504: "Gateway Timeout", 505: "HTTP Version Not Supported",
  506: "Variant Also Negotiates", 507: "Insufficient Storage", 508: "Loop Detected",
  509: "Bandwidth Limit Exceeded", 510: "Not Extended", 511: "Network Authentication Required",
};
const METHODS = ["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"];
const kServe = ": an application exports fetch(), which `weft serve` calls";
const kFetch = ": fetch() asks other servers";

class IncomingMessage extends Readable {
  constructor(socket = undefined) {
    super();
    this.socket = socket;
    this.headers = {};
    this.rawHeaders = [];
    this.httpVersion = "1.1";
  }
  _read() {}
}

class OutgoingMessage extends Writable {
  #headers = new Map();
  headersSent = false;
  setHeader(name, value) {
    this.#headers.set(String(name).toLowerCase(), value);
    return this;
  }
  getHeader(name) {
    return this.#headers.get(String(name).toLowerCase());
  }
  hasHeader(name) {
    return this.#headers.has(String(name).toLowerCase());
  }
  removeHeader(name) {
    this.#headers.delete(String(name).toLowerCase());
  }
  getHeaders() {
    return Object.fromEntries(this.#headers);
  }
  getHeaderNames() {
    return [...this.#headers.keys()];
  }
  flushHeaders() {}
}

class ServerResponse extends OutgoingMessage {
  statusCode = 200;
  statusMessage = "";
  writeHead(status, ...rest) {
    this.statusCode = status;
    const headers = rest.find((one) => typeof one === "object");
    for (const name of Object.keys(headers ?? {})) this.setHeader(name, headers[name]);
    return this;
  }
  _write(chunk, encoding, callback) {
    callback();
  }
}

class Agent extends EventEmitter {
  constructor(options = {}) {
    super();
    this.options = options;
  }
  destroy() {}
}

function httpLike(module, extra) {
  return {
    METHODS,
    STATUS_CODES,
    Agent,
    ClientRequest: absentClass(module, "ClientRequest", OutgoingMessage),
    IncomingMessage,
    OutgoingMessage,
    Server: absentClass(module, "Server", EventEmitter),
    ServerResponse,
    globalAgent: new Agent(),
    maxHeaderSize: 16384,
    validateHeaderName() {},
    validateHeaderValue() {},
    ...absent(module, ["createServer"], kServe),
    ...absent(module, ["get", "request"], kFetch),
    ...extra,
  };
}

const http2 = {
  ...absent("http2", ["createServer", "createSecureServer"], kServe),
  ...absent("http2", ["connect"], kFetch),
  Http2ServerRequest: class Http2ServerRequest extends Readable {},
  Http2ServerResponse: class Http2ServerResponse extends Writable {},
  constants: { NGHTTP2_CANCEL: 8, NGHTTP2_NO_ERROR: 0 },
};

// ---- net, tls, dns and similar

function isIPv4(text) {
  return /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/.test(text);
}
function isIPv6(text) {
  return String(text).includes(":") && URL.canParse?.(`http://[${text}]/`) === true;
}
const net = {
  ...absent("net", ["connect", "createConnection", "createServer"]),
  BlockList: class BlockList {},
  Server: absentClass("net", "Server", EventEmitter),
  Socket: absentClass("net", "Socket", Duplex),
  Stream: absentClass("net", "Stream", Duplex),
  isIP: (text) => isIPv4(text) ? 4 : isIPv6(text) ? 6 : 0,
  isIPv4,
  isIPv6,
};
const tls = {
  ...absent("tls", ["connect", "createServer", "createSecureContext"]),
  TLSSocket: absentClass("tls", "TLSSocket", Duplex),
  rootCertificates: [],
};
const kLookups = ["lookup", "resolve", "resolve4", "resolve6", "resolveMx", "resolveTxt",
  "resolveSrv", "resolveCname", "resolveNs", "reverse"];
const dnsPromises = absent("dns.promises", kLookups);
const dns = { ...absent("dns", kLookups), promises: dnsPromises };
const readline = {
  ...absent("readline", ["createInterface"]),
  clearLine() {},
  cursorTo() {},
  promises: absent("readline.promises", ["createInterface"]),
};

// ---- zlib

const kinds = {
  gzip: ["gzip", "compress"], gunzip: ["gzip", "decompress"], deflate: ["deflate", "compress"],
  inflate: ["deflate", "decompress"], deflateRaw: ["deflate-raw", "compress"],
  inflateRaw: ["deflate-raw", "decompress"], unzip: ["unzip", "decompress"], brotliCompress: ["brotli", "compress"],
  brotliDecompress: ["brotli", "decompress"],
};

function coder([format, mode]) {
  const handle = native.compressionCreate(format, mode);
  return {
    push: (bytes, most) => Buffer.from(native.compressionPush(handle, bytes, most)),
    finish: () => Buffer.from(native.compressionFinish(handle)),
  };
}

const toBytes = (data) => typeof data === "string" ? Buffer.from(data)
  : ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);

function zlibError(cause) {
  return Object.assign(new Error("incorrect header check", { cause }),
    { code: "Z_DATA_ERROR", errno: -3 });
}

// The limit of the codecs on one output.
const kOutputMax = 256 * 1024 * 1024;
const tooLarge = (most) => invalid(
  `Cannot create a Buffer larger than ${most} bytes`, "ERR_BUFFER_TOO_LARGE", RangeError);

function mostOf(options) {
  const most = options?.maxOutputLength ?? kOutputMax;
  if (typeof most !== "number") {
    throw invalid('The "options.maxOutputLength" property must be of type number');
  }
  if (!(most >= 1 && most <= kMaxLength)) {
    throw invalid('The value of "options.maxOutputLength" is out of range. It must be >= 1 and ' +
      `<= ${kMaxLength}. Received ${most}`, "ERR_OUT_OF_RANGE", RangeError);
  }
  return Math.min(most, kOutputMax);
}

function atOnce(kind, data, most) {
  try {
    const one = coder(kind);
    const made = Buffer.concat([one.push(toBytes(data), most), one.finish()]);
    if (made.length <= most) return made;
  } catch (error) {
    if (error.message !== "The chunk becomes too large") throw zlibError(error);
  }
  throw tooLarge(most);
}

const zlib = { constants: { Z_NO_FLUSH: 0, Z_SYNC_FLUSH: 2, Z_FULL_FLUSH: 3, Z_FINISH: 4,
  Z_BEST_SPEED: 1, Z_BEST_COMPRESSION: 9, Z_DEFAULT_COMPRESSION: -1, BROTLI_PARAM_QUALITY: 1,
  BROTLI_OPERATION_PROCESS: 0, BROTLI_OPERATION_FLUSH: 1 } };
for (const name of Object.keys(kinds)) {
  zlib[`${name}Sync`] = (data, options = undefined) =>
    atOnce(kinds[name], data, mostOf(options));
  zlib[name] = (data, options, callback = options) => {
    const most = mostOf(typeof options === "function" ? undefined : options);
    nextTick(() => {
      let result;
      try {
        result = atOnce(kinds[name], data, most);
      } catch (error) {
        return callback(error);
      }
      return callback(null, result);
    });
  };
  const title = name[0].toUpperCase() + name.slice(1);
  zlib[title] = { [title]: class extends Transform {
    #coder = coder(kinds[name]);
    _transform(chunk, encoding, callback) {
      try {
        callback(null, this.#coder.push(toBytes(chunk)));
      } catch (error) {
        callback(zlibError(error));
      }
    }
    _flush(callback) {
      try {
        callback(null, this.#coder.finish());
      } catch (error) {
        callback(zlibError(error));
      }
    }
    flush(...args) {
      args.find((one) => typeof one === "function")?.();
    }
    close(callback) {
      callback?.();
      this.destroy();
    }
  } }[title];
  zlib[`create${title}`] = (options) => new zlib[title](options);
}

return {
  "node:child_process": absent("child_process",
    ["exec", "execFile", "execFileSync", "execSync", "fork", "spawn", "spawnSync"]),
  "node:cluster": { isMaster: true, isPrimary: true, isWorker: false, workers: {},
    ...absent("cluster", ["fork", "setupPrimary"]) },
  "node:dgram": absent("dgram", ["createSocket"]),
  "node:dns": dns,
  "node:dns/promises": dnsPromises,
  "node:http": httpLike("http", {}),
  "node:http2": http2,
  "node:https": httpLike("https", {}),
  "node:inspector": { ...absent("inspector", ["open"]), close() {}, url: () => undefined,
    Session: absentClass("inspector", "Session", EventEmitter) },
  "node:net": net,
  "node:readline": readline,
  "node:readline/promises": readline.promises,
  "node:repl": absent("repl", ["start"]),
  "node:tls": tls,
  "node:zlib": zlib,
};
