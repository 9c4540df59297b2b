// URL and URLSearchParams.
// https://url.spec.whatwg.org/#api
//
// A URL stores its serialization and the offsets of its parts; see UrlOffsets in url.h. The parser
// and the setters are native.
//
// For other scripts, realm.url:
//     parseHref(input, base?)      the serialized URL, or undefined
//     requestHref(id)              the same of a server's request
//     isURL(value), hrefOf(url)    independent of changes to the prototype by the application
//     newURL(href)                 a URL object for a serialized URL
//     parseForm(text)              application/x-www-form-urlencoded to [name, value, ...]
//     serializeForm(list)          the reverse
//     blobStore                    { create(blob), revoke(href) }, set by blob.js

const { formDecode, formEncode, requestUrl, urlOrigin, urlParse, urlSet } = native;
const { webidl } = realm;
const { brandCheck, internal, isObject, requiredArguments } = webidl;
const {
  ArrayPrototypePush, ArrayPrototypeSort, ArrayPrototypeSplice, ReflectOwnKeys,
  RegExpPrototypeExec, StringPrototypeCharCodeAt, StringPrototypeIndexOf, StringPrototypeSlice,
  SymbolIterator, TypeError, Uint32Array,
} = realm.primordials;
const { DOMString, USVString } = webidl.converters;

// ---- application/x-www-form-urlencoded

function isEncoded(text) {
  return StringPrototypeIndexOf(text, "%") !== -1 || StringPrototypeIndexOf(text, "+") !== -1;
}

function decodePart(text) {
  return isEncoded(text) ? formDecode(text) : text;
}

// https://url.spec.whatwg.org/#concept-urlencoded-parser
function parseForm(text) {
  const list = [];
  const decode = isEncoded(text) ? decodePart : (part) => part;
  const { length } = text;
  for (let start = 0; start < length;) {
    let end = StringPrototypeIndexOf(text, "&", start);
    if (end === -1) end = length;
    if (end > start) {
      const equals = StringPrototypeIndexOf(text, "=", start);
      const split = equals === -1 || equals > end ? end : equals;
      ArrayPrototypePush(list, decode(StringPrototypeSlice(text, start, split)),
        decode(StringPrototypeSlice(text, split + 1, end)));
    }
    start = end + 1;
  }
  return list;
}

// https://url.spec.whatwg.org/#concept-urlencoded-serializer
function encodePart(text) {
  return RegExpPrototypeExec(/[^0-9A-Za-z*\-._]/, text) === null ? text : formEncode(text);
}

function serializeForm(list) {
  let text = "";
  for (let i = 0; i < list.length; i += 2) {
    if (i > 0) text += "&";
    text += `${encodePart(list[i])}=${encodePart(list[i + 1])}`;
  }
  return text;
}

// ---- URLSearchParams

const toPairs = webidl.sequenceConverter(webidl.sequenceConverter(USVString));
const toRecord = webidl.recordConverter(USVString, USVString);

function listFromInit(init, prefix) {
  if (!isObject(init)) {
    const text = USVString(init, prefix, "Argument 1");
    return parseForm(StringPrototypeCharCodeAt(text, 0) === 0x3f
      ? StringPrototypeSlice(text, 1) : text);
  }
  const list = [];
  const method = init[SymbolIterator];
  if (method !== undefined && method !== null) {
    const pairs = toPairs(init, prefix, "Argument 1");
    for (let i = 0; i < pairs.length; i++) {
      const pair = pairs[i];
      if (pair.length !== 2) {
        throw new TypeError(`${prefix}: Item ${i} does not have two elements, a name and a value`);
      }
      ArrayPrototypePush(list, pair[0], pair[1]);
    }
    return list;
  }
  const record = toRecord(init, prefix, "Argument 1");
  const keys = ReflectOwnKeys(record);
  for (let i = 0; i < keys.length; i++) ArrayPrototypePush(list, keys[i], record[keys[i]]);
  return list;
}

let isParams;
let listOf;       // returns the list of a URLSearchParams object, [name, value, ...]
let setList;
let newParamsOf;  // makes the object of a URL
let updateSearch; // (url, query): called when the object of a URL has changed

class URLSearchParams {
  #list;
  #url = null;

  constructor(init = "") {
    if (init === internal) return;
    this.#list = init === "" ? []
      : listFromInit(init, "Failed to construct 'URLSearchParams'");
  }

  static {
    isParams = (value) => #list in value;
    listOf = (params) => params.#list;
    setList = (params, list) => { params.#list = list; };
    newParamsOf = (url, list) => {
      const params = new URLSearchParams(internal);
      params.#list = list;
      params.#url = url;
      return params;
    };
  }

  // https://url.spec.whatwg.org/#concept-urlsearchparams-update
  #update() {
    if (this.#url !== null) updateSearch(this.#url, serializeForm(this.#list));
  }

  get size() {
    return this.#list.length / 2;
  }

  append(name, value) {
    const prefix = "Failed to execute 'append' on 'URLSearchParams'";
    brandCheck(isObject(this) && #list in this, "URLSearchParams");
    requiredArguments(arguments.length, 2, prefix);
    name = USVString(name, prefix, "Argument 1");
    value = USVString(value, prefix, "Argument 2");
    ArrayPrototypePush(this.#list, name, value);
    this.#update();
  }

  delete(name, value = undefined) {
    const prefix = "Failed to execute 'delete' on 'URLSearchParams'";
    brandCheck(isObject(this) && #list in this, "URLSearchParams");
    requiredArguments(arguments.length, 1, prefix);
    name = USVString(name, prefix, "Argument 1");
    if (value !== undefined) value = USVString(value, prefix, "Argument 2");
    const list = this.#list;
    const kept = [];
    for (let i = 0; i < list.length; i += 2) {
      if (list[i] === name && (value === undefined || list[i + 1] === value)) continue;
      ArrayPrototypePush(kept, list[i], list[i + 1]);
    }
    this.#list = kept;
    this.#update();
  }

  get(name) {
    const prefix = "Failed to execute 'get' on 'URLSearchParams'";
    brandCheck(isObject(this) && #list in this, "URLSearchParams");
    requiredArguments(arguments.length, 1, prefix);
    name = USVString(name, prefix, "Argument 1");
    const list = this.#list;
    for (let i = 0; i < list.length; i += 2) {
      if (list[i] === name) return list[i + 1];
    }
    return null;
  }

  getAll(name) {
    const prefix = "Failed to execute 'getAll' on 'URLSearchParams'";
    brandCheck(isObject(this) && #list in this, "URLSearchParams");
    requiredArguments(arguments.length, 1, prefix);
    name = USVString(name, prefix, "Argument 1");
    const list = this.#list;
    const values = [];
    for (let i = 0; i < list.length; i += 2) {
      if (list[i] === name) ArrayPrototypePush(values, list[i + 1]);
    }
    return values;
  }

  has(name, value = undefined) {
    const prefix = "Failed to execute 'has' on 'URLSearchParams'";
    brandCheck(isObject(this) && #list in this, "URLSearchParams");
    requiredArguments(arguments.length, 1, prefix);
    name = USVString(name, prefix, "Argument 1");
    if (value !== undefined) value = USVString(value, prefix, "Argument 2");
    const list = this.#list;
    for (let i = 0; i < list.length; i += 2) {
      if (list[i] === name && (value === undefined || list[i + 1] === value)) return true;
    }
    return false;
  }

  set(name, value) {
    const prefix = "Failed to execute 'set' on 'URLSearchParams'";
    brandCheck(isObject(this) && #list in this, "URLSearchParams");
    requiredArguments(arguments.length, 2, prefix);
    name = USVString(name, prefix, "Argument 1");
    value = USVString(value, prefix, "Argument 2");
    const list = this.#list;
    let found = false;
    for (let i = 0; i < list.length;) {
      if (list[i] !== name) {
        i += 2;
      } else if (!found) {
        found = true;
        list[i + 1] = value;
        i += 2;
      } else {
        ArrayPrototypeSplice(list, i, 2);
      }
    }
    if (!found) ArrayPrototypePush(list, name, value);
    this.#update();
  }

  // "Sort all name-value pairs, if any, by their names. Sorting must be done by comparison of code
  // units. The relative order between name-value pairs with equal names must be preserved."
  sort() {
    brandCheck(isObject(this) && #list in this, "URLSearchParams");
    const list = this.#list;
    const pairs = [];
    for (let i = 0; i < list.length; i += 2) {
      ArrayPrototypePush(pairs, { __proto__: null, name: list[i], value: list[i + 1] });
    }
    ArrayPrototypeSort(pairs, (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
    const sorted = [];
    for (let i = 0; i < pairs.length; i++) {
      ArrayPrototypePush(sorted, pairs[i].name, pairs[i].value);
    }
    this.#list = sorted;
    this.#update();
  }

  toString() {
    brandCheck(isObject(this) && #list in this, "URLSearchParams");
    return serializeForm(this.#list);
  }
}

webidl.definePairIterable(URLSearchParams, "URLSearchParams", {
  check: isParams,
  size: (params) => listOf(params).length / 2,
  keyAt: (params, index) => listOf(params)[index * 2],
  valueAt: (params, index) => listOf(params)[index * 2 + 1],
});
webidl.configureInterface(URLSearchParams);

// ---- URL

const NONE = 0xffffffff;
const PROTOCOL = 0;
const USERNAME = 1;
const PASSWORD = 2;
const HOST = 3;
const HOSTNAME = 4;
const PORT = 5;
const PATHNAME = 6;
const SEARCH = 7;
const HASH = 8;

// The native functions write the offsets of a URL into this array; made on first use.
let offsets;

// The last input that was parsed and its result, as long as `offsets` still belong to them:
// handlers make a URL from the URL of their request. NB: The input is forgotten before a native
// function writes the offsets, because a turn may be terminated right after that.
let lastInput;
let lastHref;
const kKeptLength = 4096;

function keepLast(input, href) {
  if (input.length > kKeptLength) return;
  lastHref = href;
  lastInput = input;
}

function parseHref(input, base) {
  if (base === undefined && input === lastInput) return lastHref;
  lastInput = undefined;
  const href = urlParse(input, base, offsets ??= new Uint32Array(8));
  if (base === undefined && href !== undefined) keepLast(input, href);
  return href;
}

// The serialized URL of a server's request; undefined when it is over.
function requestHref(id) {
  lastInput = undefined;
  const text = requestUrl(id, offsets ??= new Uint32Array(8));
  if (text === undefined) return undefined;
  // 0: the text is not in serialized form, and the native function has not parsed it.
  if (offsets[0] === 0) return parseHref(text, undefined) ?? text;
  keepLast(text, text);
  return text;
}

function blobStore() {
  const store = realm.url.blobStore;
  if (store === null) throw new TypeError("There is no store of blob URLs");
  return store;
}

let isURL;
let hrefOf;

class URL {
  #href;
  #protocolEnd = 0;
  #usernameEnd = 0;
  #hostStart = 0;
  #hostEnd = 0;
  #port = 0;
  #pathname = 0;
  #search = 0;
  #hash = 0;
  #params = null;

  // https://url.spec.whatwg.org/#dom-url-url
  constructor(url, base = undefined) {
    if (url === internal) {
      this.#take(base);
      return;
    }
    const prefix = "Failed to construct 'URL'";
    requiredArguments(arguments.length, 1, prefix);
    // NB: The native functions replace lone surrogates, which makes these USVStrings.
    url = DOMString(url, prefix, "Argument 1");
    if (base !== undefined) base = DOMString(base, prefix, "Argument 2");
    const href = parseHref(url, base);
    if (href === undefined) throw invalidURL(url, base);
    this.#take(href);
  }

  static {
    isURL = (value) => #href in value;
    hrefOf = (url) => url.#href;
    updateSearch = (url, query) => {
      url.#set(SEARCH, query);
    };
  }

  // Stores the result of the last native call.
  #take(href) {
    this.#href = href;
    const from = offsets;
    this.#protocolEnd = from[0];
    this.#usernameEnd = from[1];
    this.#hostStart = from[2];
    this.#hostEnd = from[3];
    this.#port = from[4];
    this.#pathname = from[5];
    this.#search = from[6];
    this.#hash = from[7];
  }

  #set(part, value) {
    lastInput = undefined;
    this.#take(urlSet(part, this.#href, value, offsets ??= new Uint32Array(8)));
  }

  #query() {
    if (this.#search === NONE) return "";
    const end = this.#hash === NONE ? this.#href.length : this.#hash;
    return StringPrototypeSlice(this.#href, this.#search + 1, end);
  }

  static parse(url, base = undefined) {
    const prefix = "Failed to execute 'parse' on 'URL'";
    requiredArguments(arguments.length, 1, prefix);
    url = DOMString(url, prefix, "Argument 1");
    if (base !== undefined) base = DOMString(base, prefix, "Argument 2");
    const href = parseHref(url, base);
    return href === undefined ? null : new URL(internal, href);
  }

  static canParse(url, base = undefined) {
    const prefix = "Failed to execute 'canParse' on 'URL'";
    requiredArguments(arguments.length, 1, prefix);
    url = DOMString(url, prefix, "Argument 1");
    if (base !== undefined) base = DOMString(base, prefix, "Argument 2");
    return parseHref(url, base) !== undefined;
  }

  // https://w3c.github.io/FileAPI/#dfn-createObjectURL
  static createObjectURL(object) {
    const prefix = "Failed to execute 'createObjectURL' on 'URL'";
    requiredArguments(arguments.length, 1, prefix);
    return blobStore().create(object, prefix);
  }

  static revokeObjectURL(url) {
    const prefix = "Failed to execute 'revokeObjectURL' on 'URL'";
    requiredArguments(arguments.length, 1, prefix);
    blobStore().revoke(DOMString(url, prefix, "Argument 1"));
  }

  get href() {
    return this.#href;
  }
  set href(value) {
    const prefix = "Failed to set the 'href' property on 'URL'";
    brandCheck(isObject(this) && #href in this, "URL");
    value = DOMString(value, prefix, "The value");
    const href = parseHref(value, undefined);
    if (href === undefined) throw invalidURL(value);
    this.#take(href);
    if (this.#params !== null) setList(this.#params, parseForm(this.#query()));
  }

  get origin() {
    const href = this.#href;
    const code = StringPrototypeCharCodeAt(href, 0);
    // http, https, ws, wss, ftp, file, blob: all others have opaque origins.
    if (code !== 0x68 && code !== 0x77 && code !== 0x66 && code !== 0x62) return "null";
    return urlOrigin(href);
  }

  get protocol() {
    return StringPrototypeSlice(this.#href, 0, this.#protocolEnd);
  }
  set protocol(value) {
    brandCheck(isObject(this) && #href in this, "URL");
    this.#set(PROTOCOL, DOMString(value, "Failed to set the 'protocol' property on 'URL'"));
  }

  get username() {
    return StringPrototypeSlice(this.#href, this.#protocolEnd + 2, this.#usernameEnd);
  }
  set username(value) {
    brandCheck(isObject(this) && #href in this, "URL");
    this.#set(USERNAME, DOMString(value, "Failed to set the 'username' property on 'URL'"));
  }

  get password() {
    return StringPrototypeSlice(this.#href, this.#usernameEnd + 1, this.#hostStart);
  }
  set password(value) {
    brandCheck(isObject(this) && #href in this, "URL");
    this.#set(PASSWORD, DOMString(value, "Failed to set the 'password' property on 'URL'"));
  }

  get host() {
    const hostname = this.#hostname();
    return this.#port === NONE ? hostname : `${hostname}:${this.#port}`;
  }
  set host(value) {
    brandCheck(isObject(this) && #href in this, "URL");
    this.#set(HOST, DOMString(value, "Failed to set the 'host' property on 'URL'"));
  }

  #hostname() {
    let start = this.#hostStart;
    if (StringPrototypeCharCodeAt(this.#href, start) === 0x40) start++;
    return StringPrototypeSlice(this.#href, start, this.#hostEnd);
  }

  get hostname() {
    return this.#hostname();
  }
  set hostname(value) {
    brandCheck(isObject(this) && #href in this, "URL");
    this.#set(HOSTNAME, DOMString(value, "Failed to set the 'hostname' property on 'URL'"));
  }

  get port() {
    const port = this.#port;
    return port === NONE ? "" : `${port}`;
  }
  set port(value) {
    brandCheck(isObject(this) && #href in this, "URL");
    this.#set(PORT, DOMString(value, "Failed to set the 'port' property on 'URL'"));
  }

  get pathname() {
    let end = this.#search;
    if (end === NONE) end = this.#hash;
    return end === NONE ? StringPrototypeSlice(this.#href, this.#pathname)
      : StringPrototypeSlice(this.#href, this.#pathname, end);
  }
  set pathname(value) {
    brandCheck(isObject(this) && #href in this, "URL");
    this.#set(PATHNAME, DOMString(value, "Failed to set the 'pathname' property on 'URL'"));
  }

  get search() {
    const query = this.#query();
    return query === "" ? "" : `?${query}`;
  }
  set search(value) {
    brandCheck(isObject(this) && #href in this, "URL");
    this.#set(SEARCH, DOMString(value, "Failed to set the 'search' property on 'URL'"));
    if (this.#params !== null) setList(this.#params, parseForm(this.#query()));
  }

  get searchParams() {
    return this.#params ??= newParamsOf(this, parseForm(this.#query()));
  }

  get hash() {
    const start = this.#hash;
    return start === NONE || start + 1 === this.#href.length ? ""
      : StringPrototypeSlice(this.#href, start);
  }
  set hash(value) {
    brandCheck(isObject(this) && #href in this, "URL");
    this.#set(HASH, DOMString(value, "Failed to set the 'hash' property on 'URL'"));
  }

  toString() {
    return this.#href;
  }

  toJSON() {
    return this.#href;
  }
}
webidl.configureInterface(URL);

function invalidURL(input, base) {
  const error = new TypeError(base === undefined
    ? `Invalid URL: '${input}'` : `Invalid URL: '${input}' with base '${base}'`);
  error.code = "ERR_INVALID_URL";
  error.input = input;
  return error;
}

realm.url = {
  __proto__: null,
  URL,
  URLSearchParams,
  blobStore: null,
  hrefOf,
  isParams: (value) => isObject(value) && isParams(value),
  isURL: (value) => isObject(value) && isURL(value),
  newURL: (href) => new URL(internal, parseHref(href)),
  parseForm,
  parseHref,
  requestHref,
  serializeForm,
  serializeParams: (params) => serializeForm(listOf(params)),
};
realm.expose({ URL, URLSearchParams });
