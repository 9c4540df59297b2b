// node:util. https://nodejs.org/api/util.html
"use strict";

const { setImmediate, setTimeout } = globalThis;
const { invalid } = load("events");
const types = load("util_types")["node:util/types"];
const { isDeepStrictEqual } = load("assert");
const kPromisify = Symbol.for("nodejs.util.promisify.custom");
const kPromisifyNames = Symbol("customPromisifyArgs");

function inspect(value, options = undefined, depth = undefined, colors = undefined) {
  // The older signature: (value, showHidden, depth, colors).
  const given = typeof options === "boolean" ? { showHidden: options, depth, colors } : options;
  return realm.inspect(value, given);
}
inspect.custom = Symbol.for("nodejs.util.inspect.custom");
inspect.defaultOptions = realm.inspecting.defaults;
inspect.colors = {
  __proto__: null, reset: [0, 0], bold: [1, 22], dim: [2, 22], italic: [3, 23],
  underline: [4, 24], inverse: [7, 27], black: [30, 39], red: [31, 39], green: [32, 39],
  yellow: [33, 39], blue: [34, 39], magenta: [35, 39], cyan: [36, 39], white: [37, 39],
  gray: [90, 39], grey: [90, 39],
};
inspect.styles = { __proto__: null };

const format = (...args) => realm.format(args);
const formatWithOptions = (options, ...args) => realm.format(args, options);

// The timers of the web platform have no symbol of Node.js, so they are recognized by identity.
function promisedTimer(original) {
  if (original !== setTimeout && original !== setImmediate) return undefined;
  const promises = load("timers")["node:timers/promises"];
  return original === setTimeout ? promises.setTimeout : promises.setImmediate;
}

function promisify(original) {
  if (typeof original !== "function") {
    throw invalid('The "original" argument must be of type function');
  }
  const custom = original[kPromisify] ?? promisedTimer(original);
  if (custom !== undefined) {
    return Object.defineProperty(custom, kPromisify, { value: custom, configurable: true });
  }
  const names = original[kPromisifyNames];
  function promised(...args) {
    return new Promise((resolve, reject) => {
      Reflect.apply(original, this, [...args, (error, ...values) => {
        if (error) return reject(error);
        if (names === undefined || values.length <= 1) return resolve(values[0]);
        const result = {};
        names.forEach((name, i) => {
          result[name] = values[i];
        });
        return resolve(result);
      }]);
    });
  }
  Object.setPrototypeOf(promised, Object.getPrototypeOf(original));
  Object.defineProperty(promised, kPromisify, { value: promised, configurable: true });
  return Object.defineProperties(promised, Object.getOwnPropertyDescriptors(original));
}
promisify.custom = kPromisify;

function callbackify(original) {
  function called(...args) {
    const callback = args.pop();
    if (typeof callback !== "function") {
      throw invalid('The last argument must be of type function');
    }
    const { nextTick } = load("process")["node:process"];
    Reflect.apply(original, this, args).then(
      (value) => nextTick(callback, null, value),
      (reason) => {
        const error = reason || Object.assign(
          new Error("Promise was rejected with a falsy value"),
          { code: "ERR_FALSY_VALUE_REJECTION", reason });
        nextTick(callback, error);
      });
  }
  return called;
}

function inherits(constructor, parent) {
  if (typeof constructor !== "function") {
    throw invalid('The "ctor" argument must be of type function');
  }
  if (typeof parent !== "function") {
    throw invalid('The "superCtor" argument must be of type function');
  }
  if (parent.prototype === undefined) {
    throw invalid('The "superCtor.prototype" property must be of type object');
  }
  Object.defineProperty(constructor, "super_", {
    value: parent, writable: true, configurable: true,
  });
  Object.setPrototypeOf(constructor.prototype, parent.prototype);
}

const warned = new Set();
function deprecate(fn, message, code = undefined) {
  function deprecated(...args) {
    if (!warned.has(code ?? deprecated)) {
      warned.add(code ?? deprecated);
      load("process")["node:process"].emitWarning(
        code === undefined ? message : `[${code}] ${message}`, "DeprecationWarning");
    }
    return new.target ? Reflect.construct(fn, args, new.target) : Reflect.apply(fn, this, args);
  }
  Object.setPrototypeOf(deprecated, fn);
  if (fn.prototype) deprecated.prototype = fn.prototype;
  return deprecated;
}

function debuglog(section) {
  const env = load("process")["node:process"].env.NODE_DEBUG ?? "";
  const enabled = env.split(",").some((name) => name.toLowerCase() === section.toLowerCase());
  const log = (...args) => {
    if (enabled) realm.console.error(`${section.toUpperCase()}: ${format(...args)}`);
  };
  log.enabled = enabled;
  return log;
}

function stripVTControlCharacters(text) {
  return text.replace(/\u001B\[[0-?]*[ -/]*[@-~]|\u001B\][^\u0007]*\u0007/g, "");
}

function styleText(style, text) {
  let styled = text;
  for (const name of [style].flat().reverse()) {
    const codes = inspect.colors[name];
    if (codes === undefined) throw invalid(`The argument 'format' is invalid: ${name}`);
    styled = `\u001B[${codes[0]}m${styled}\u001B[${codes[1]}m`;
  }
  return styled;
}

function aborted(signal) {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

// Each `name=value` begins a line. A quoted value may span lines, and in double quotes "\n" becomes
// a line feed; any other value ends at a "#".
function parseEnv(text) {
  const env = {};
  const pattern =
    /^[ \t]*(?:export[ \t]+)?([\w.-]+)[ \t]*=[ \t]*(?:"([^"]*)"|'([^']*)'|`([^`]*)`|([^\n]*))/gm;
  const lines = text.replace(/\r\n?/g, "\n");
  for (const [, name, double, single, back, plain] of lines.matchAll(pattern)) {
    env[name] = double?.replace(/\\n/g, "\n") ?? single ?? back ?? plain.split("#", 1)[0].trim();
  }
  return env;
}

// The names of the error numbers that file operations return.
const errors = new Map([
  [1, "EPERM"], [2, "ENOENT"], [5, "EIO"], [9, "EBADF"], [12, "ENOMEM"], [13, "EACCES"],
  [17, "EEXIST"], [20, "ENOTDIR"], [21, "EISDIR"], [22, "EINVAL"], [24, "EMFILE"],
  [28, "ENOSPC"], [30, "EROFS"], [36, "ENAMETOOLONG"], [39, "ENOTEMPTY"], [40, "ELOOP"],
  [98, "EADDRINUSE"], [104, "ECONNRESET"], [110, "ETIMEDOUT"], [111, "ECONNREFUSED"],
]);
const getSystemErrorName = (number) => errors.get(Math.abs(number)) ?? `E${Math.abs(number)}`;

function invalidMime(what, value) {
  return invalid(`The MIME syntax for a ${what} in "${value}" is invalid`,
    "ERR_INVALID_MIME_SYNTAX");
}

function toToken(what, value) {
  const text = `${value}`;
  if (!realm.mime.isToken(text)) throw invalidMime(what, text);
  return text;
}

class MIMEParams {
  #values = new Map();

  delete(name) {
    this.#values.delete(`${name}`);
  }
  get(name) {
    return this.#values.get(`${name}`) ?? null;
  }
  has(name) {
    return this.#values.has(`${name}`);
  }
  set(name, value) {
    const text = `${value}`;
    if (/[^\t\x20-\x7e\x80-\xff]/.test(text)) throw invalidMime("parameter value", text);
    this.#values.set(toToken("parameter name", name), text);
  }
  entries() {
    return this.#values.entries();
  }
  keys() {
    return this.#values.keys();
  }
  values() {
    return this.#values.values();
  }
  [Symbol.iterator]() {
    return this.#values.entries();
  }
  toString() {
    const parameters = [...this.#values].flat();
    return realm.mime.serialize({ type: "", subtype: "", essence: "", parameters }).slice(1);
  }
}

class MIMEType {
  #type;
  #subtype;
  #params = new MIMEParams();

  constructor(text) {
    const parsed = realm.mime.parse(`${text}`);
    if (parsed === undefined || parsed === null) throw invalidMime("type", text);
    this.#type = parsed.type;
    this.#subtype = parsed.subtype;
    for (let i = 0; i < parsed.parameters.length; i += 2) {
      this.#params.set(parsed.parameters[i], parsed.parameters[i + 1]);
    }
  }
  get type() {
    return this.#type;
  }
  set type(value) {
    this.#type = toToken("type", value).toLowerCase();
  }
  get subtype() {
    return this.#subtype;
  }
  set subtype(value) {
    this.#subtype = toToken("subtype", value).toLowerCase();
  }
  get essence() {
    return `${this.#type}/${this.#subtype}`;
  }
  get params() {
    return this.#params;
  }
  toString() {
    const params = `${this.#params}`;
    return params === "" ? this.essence : `${this.essence};${params}`;
  }
  toJSON() {
    return this.toString();
  }
}

const util = {
  MIMEParams,
  MIMEType,
  TextDecoder: globalThis.TextDecoder,
  TextEncoder: globalThis.TextEncoder,
  _extend: (target, source) => Object.assign(target, source),
  aborted,
  callbackify,
  debug: debuglog,
  debuglog,
  deprecate,
  format,
  formatWithOptions,
  getSystemErrorName,
  getSystemErrorMap: () => new Map([...errors].map(([number, name]) => [-number, [name, name]])),
  inherits,
  inspect,
  isArray: Array.isArray,
  isBoolean: (value) => typeof value === "boolean",
  isBuffer: (value) => load("buffer")["node:buffer"].Buffer.isBuffer(value),
  isDate: types.isDate,
  isDeepStrictEqual,
  isError: (value) => types.isNativeError(value) || value instanceof Error,
  isFunction: (value) => typeof value === "function",
  isNull: (value) => value === null,
  isNullOrUndefined: (value) => value === null || value === undefined,
  isNumber: (value) => typeof value === "number",
  isObject: (value) => value !== null && typeof value === "object",
  isPrimitive: (value) => value === null || !["object", "function"].includes(typeof value),
  isRegExp: types.isRegExp,
  isString: (value) => typeof value === "string",
  isSymbol: (value) => typeof value === "symbol",
  isUndefined: (value) => value === undefined,
  parseArgs: load("parse_args").parseArgs,
  parseEnv,
  promisify,
  stripVTControlCharacters,
  styleText,
  toUSVString: (text) => `${text}`.replace(
    /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g, "\uFFFD"),
  transferableAbortController: () => new AbortController(),
  transferableAbortSignal: (signal) => signal,
  types,
};

return { "node:util": util, "node:util/types": types };
