// Headers. https://fetch.spec.whatwg.org/#headers-class
//
// A header list is a flat array, [name, value, name, value, ...]; names keep the case in which they
// were given. A Headers object is a view of such a list: Request and Response store the list and
// make the object on demand.
//
// For other scripts, realm.headers:
//     Headers, isHeaders(value)
//     newHeaders(list, guard)      an object over `list` itself, which it modifies
//     newLazyHeaders(id, guard)    over the header list of a server's request, read on demand
//     listOf(headers)              its list
//     setGuard(headers, guard)
//     listFromInit(init, guard, prefix)   a new list from a HeadersInit, checked and normalized
//     get(list, name), has(list, name), append(list, name, value), set(...), remove(list, name)
//         for names in lower case that need no check
//     lower(name)                  a header name in lower case
//     toHeadersInit                the converter of Web IDL
// Guards: "none", "request", "request-no-cors", "response", "immutable".
//
// NB: Browsers prevent scripts from setting header names such as Cookie or Host ("forbidden
// request-header") to protect their user. There is no such user here, and servers need to set them.

const { isProxy, knownHeaders, requestHeaders } = native;
const { webidl } = realm;
const { brandCheck, failure, internal, isObject, requiredArguments } = webidl;
const {
  ArrayIsArray, ArrayPrototype, ArrayPrototypePush, ArrayPrototypeSort, ArrayPrototypeSplice,
  ObjectGetOwnPropertySymbols, ObjectKeys, ReflectOwnKeys, RegExpPrototypeExec,
  StringPrototypeCharCodeAt,
  StringPrototypeSlice, StringPrototypeToLowerCase, SymbolIterator, TypeError, Uint32Array,
} = realm.primordials;
const { ByteString } = webidl.converters;

// ---- names and values

// A common name, and the last value that it had if that needed no normalization: most applications
// send the same few fields with every response.
class KnownName {
  constructor(lowered) {
    this.lowered = lowered;
    this.value = "";
  }
}

const known = { __proto__: null };
const knownLowered = [];  // by their numbers, see known_names.h
const kKnownValueMax = 64;
{
  const names = knownHeaders();
  for (let i = 0; i < names.length; i++) {
    const lowered = StringPrototypeToLowerCase(names[i]);
    ArrayPrototypePush(knownLowered, lowered);
    known[names[i]] = known[lowered] = new KnownName(lowered);
  }
}

const contentType = known["content-type"];

// NB: The name that nearly every response has is recognized by one comparison of pointers.
function entryOf(name) {
  return name === "content-type" ? contentType : known[name];
}

function lower(name) {
  const entry = entryOf(name);
  return entry === undefined ? StringPrototypeToLowerCase(name) : entry.lowered;
}

// A header name in lower case; throws unless it is a token.
function checkedLower(name, prefix) {
  const entry = entryOf(name);
  if (entry !== undefined) return entry.lowered;
  if (RegExpPrototypeExec(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/, name) === null) {
    throw new TypeError(`${prefix}: '${name}' is not a valid header name`);
  }
  return StringPrototypeToLowerCase(name);
}

function isSpace(code) {
  return code === 0x20 || code === 0x09 || code === 0x0a || code === 0x0d;
}

// https://fetch.spec.whatwg.org/#concept-header-value-normalize, then the check of a header value:
// no NUL, no newline.
function checkedValue(value, prefix) {
  let start = 0;
  let end = value.length;
  while (start < end && isSpace(StringPrototypeCharCodeAt(value, start))) start++;
  while (end > start && isSpace(StringPrototypeCharCodeAt(value, end - 1))) end--;
  for (let i = start; i < end; i++) {
    const code = StringPrototypeCharCodeAt(value, i);
    if (code < 0x0e && (code === 0 || code === 0x0a || code === 0x0d)) {
      throw new TypeError(`${prefix}: a header value cannot contain a newline or a NUL`);
    }
  }
  return start === 0 && end === value.length ? value : StringPrototypeSlice(value, start, end);
}

function sameName(name, lowered) {
  return name === lowered || (name.length === lowered.length && lower(name) === lowered);
}

// ---- header lists

function get(list, lowered, separator = ", ") {
  let value = null;
  for (let i = 0; i < list.length; i += 2) {
    if (!sameName(list[i], lowered)) continue;
    value = value === null ? list[i + 1] : `${value}${separator}${list[i + 1]}`;
  }
  return value;
}

function has(list, lowered) {
  for (let i = 0; i < list.length; i += 2) {
    if (sameName(list[i], lowered)) return true;
  }
  return false;
}

// https://fetch.spec.whatwg.org/#concept-header-list-append
function append(list, name, value) {
  const lowered = lower(name);
  // 1. If list contains name, then set name to the first such header's name.
  for (let i = 0; i < list.length; i += 2) {
    if (sameName(list[i], lowered)) {
      name = list[i];
      break;
    }
  }
  ArrayPrototypePush(list, name, value);
}

function remove(list, lowered) {
  for (let i = list.length - 2; i >= 0; i -= 2) {
    if (sameName(list[i], lowered)) ArrayPrototypeSplice(list, i, 2);
  }
}

// https://fetch.spec.whatwg.org/#concept-header-list-set
function set(list, name, value) {
  const lowered = lower(name);
  for (let i = 0; i < list.length; i += 2) {
    if (!sameName(list[i], lowered)) continue;
    list[i + 1] = value;
    for (let j = list.length - 2; j > i; j -= 2) {
      if (sameName(list[j], lowered)) ArrayPrototypeSplice(list, j, 2);
    }
    return;
  }
  ArrayPrototypePush(list, name, value);
}

// https://fetch.spec.whatwg.org/#concept-header-list-sort-and-combine
function sortAndCombine(list) {
  const names = [];
  const seen = { __proto__: null };
  for (let i = 0; i < list.length; i += 2) {
    const name = lower(list[i]);
    if (seen[name] === undefined) {
      seen[name] = [];
      ArrayPrototypePush(names, name);
    }
    ArrayPrototypePush(seen[name], list[i + 1]);
  }
  ArrayPrototypeSort(names, (a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const pairs = [];
  for (let i = 0; i < names.length; i++) {
    const name = names[i];
    const values = seen[name];
    if (name === "set-cookie") {
      for (let j = 0; j < values.length; j++) ArrayPrototypePush(pairs, name, values[j]);
      continue;
    }
    let value = values[0];
    for (let j = 1; j < values.length; j++) value += `, ${values[j]}`;
    ArrayPrototypePush(pairs, name, value);
  }
  return pairs;
}

// ---- guards

// https://fetch.spec.whatwg.org/#no-cors-safelisted-request-header
function isNoCorsSafelisted(lowered, value) {
  if (lowered !== "accept" && lowered !== "accept-language" && lowered !== "content-language" &&
      lowered !== "content-type") return false;
  if (value.length > 128) return false;
  if (lowered === "accept-language" || lowered === "content-language") {
    return RegExpPrototypeExec(/^[0-9A-Za-z *,\-.;=]*$/, value) !== null;
  }
  if (RegExpPrototypeExec(/[\x00-\x08\x10-\x1f"():<>?@[\\\]{}\x7f]/, value) !== null) return false;
  if (lowered === "accept") return true;
  const type = realm.mime.parse(value);
  return type !== null && (type.essence === "application/x-www-form-urlencoded" ||
    type.essence === "multipart/form-data" || type.essence === "text/plain");
}

// https://fetch.spec.whatwg.org/#concept-headers-append, for a guard that allows changes
function guardedAppend(list, guard, name, value, prefix) {
  const lowered = checkedLower(name, prefix);
  value = checkedValue(value, prefix);
  if (guard === "request-no-cors") {
    const old = get(list, lowered);
    if (!isNoCorsSafelisted(lowered, old === null ? value : `${old}, ${value}`)) return;
  }
  append(list, name, value);
}

// ---- HeadersInit

const toPairs = webidl.sequenceConverter(webidl.sequenceConverter(ByteString));
const toRecord = webidl.recordConverter(ByteString, ByteString);

// A record as [key, value, ...].
class FlatRecord {
  constructor(list, isChecked) {
    this.list = list;
    this.isChecked = isChecked;  // names and values were checked
  }
}

// A fast path for an array of arrays of two strings; null for anything else. NB: It does not use
// the iterators of arrays, so an application's changes to them have no effect.
function recordOfPairs(pairs) {
  const list = [];
  for (let i = 0; i < pairs.length; i++) {
    const pair = pairs[i];
    if (!ArrayIsArray(pair) || isProxy(pair) || pair[SymbolIterator] !== valuesOfArray ||
        pair.length !== 2 || typeof pair[0] !== "string" || typeof pair[1] !== "string") {
      return null;
    }
    ArrayPrototypePush(list, ByteString(pair[0]), ByteString(pair[1]));
  }
  return new FlatRecord(list, false);
}

// Returns an argument of fill(): pairs, a record, or a Headers object unchanged.
function toHeadersInit(init, prefix, context) {
  if (!isObject(init)) {
    throw failure("is neither a sequence of pairs nor a record", prefix, context);
  }
  const method = init[SymbolIterator];
  if (method !== undefined && method !== null) {
    if (method === entriesOfHeaders && isHeaders(init)) return init;
    if (method === valuesOfArray && ArrayIsArray(init) && !isProxy(init)) {
      const record = recordOfPairs(init);
      if (record !== null) return record;
    }
    return toPairs(init, prefix, context);
  }
  if (!isProxy(init) && ObjectGetOwnPropertySymbols(init).length === 0) {
    const keys = ObjectKeys(init);
    let list = [];
    let isChecked = true;
    for (let i = 0; i < keys.length; i++) {
      let key = keys[i];
      const entry = entryOf(key);
      if (entry === undefined) key = ByteString(key, prefix, context);
      let value = key === "content-type" ? init["content-type"] : init[key];
      if (entry === undefined || value !== entry.value) {
        isChecked = false;
        value = ByteString(value, prefix, context);
      }
      // NB: push() makes an empty array allocate sixteen more slots; most records have a single
      // field.
      if (i === 0) list = [key, value];
      else ArrayPrototypePush(list, key, value);
    }
    return new FlatRecord(list, isChecked);
  }
  return toRecord(init, prefix, context);
}

// https://fetch.spec.whatwg.org/#concept-headers-fill, with a result of toHeadersInit()
function fill(list, guard, init, prefix) {
  if (isHeaders(init)) {
    const from = listOf(init);
    for (let i = 0; i < from.length; i += 2) {
      guardedAppend(list, guard, from[i], from[i + 1], prefix);
    }
  } else if (init instanceof FlatRecord) {
    const from = init.list;
    for (let i = 0; i < from.length; i += 2) {
      guardedAppend(list, guard, from[i], from[i + 1], prefix);
    }
  } else if (ArrayIsArray(init)) {
    for (let i = 0; i < init.length; i++) {
      const pair = init[i];
      if (pair.length !== 2) {
        throw new TypeError(`${prefix}: Item ${i} does not have two elements, a name and a value`);
      }
      guardedAppend(list, guard, pair[0], pair[1], prefix);
    }
  } else {
    const keys = ReflectOwnKeys(init);
    for (let i = 0; i < keys.length; i++) {
      guardedAppend(list, guard, keys[i], init[keys[i]], prefix);
    }
  }
  return list;
}

function listFromInit(init, guard, prefix) {
  if (!(init instanceof FlatRecord) || guard === "request-no-cors") {
    return fill([], guard, init, prefix);
  }
  // The list of a record becomes the header list itself.
  const { list } = init;
  if (init.isChecked) return list;
  for (let i = 0; i < list.length; i += 2) {
    const name = list[i];
    const value = list[i + 1] = checkedValue(list[i + 1], prefix);
    const entry = entryOf(name);
    if (entry === undefined) checkedLower(name, prefix);
    else if (value.length <= kKnownValueMax) entry.value = value;
  }
  return list;
}

// ---- the fields of a server's request

const kUnknownName = 0xffffffff;
const kPlacesMax = 1 + 3 * 128;

// The native function writes into this array the number of fields and, for each, the number of its
// name, the end of an unknown name in the text, and the end of its value. Made on first use.
let places;

// NB: The names are in lower case already, as scripts see them.
function readFields(id) {
  const text = requestHeaders(id, places ??= new Uint32Array(kPlacesMax));
  if (typeof text !== "string") return text;
  const list = [];
  const end = 1 + 3 * places[0];
  let start = 0;
  for (let at = 1; at < end; at += 3) {
    let name;
    if (places[at] === kUnknownName) {
      name = StringPrototypeSlice(text, start, places[at + 1]);
      start = places[at + 1];
    } else {
      name = knownLowered[places[at]];
    }
    ArrayPrototypePush(list, name, StringPrototypeSlice(text, start, places[at + 2]));
    start = places[at + 2];
  }
  return list;
}

// ---- the class

let isHeaders;
let listOf;
let setGuard;
let sortedOf;
let newHeaders;
let newLazyHeaders;

class Headers {
  #list;
  #guard = "none";
  #source = -1;    // the server's request whose fields these are, until they are read
  #sorted = null;  // sorted for iteration; null after a change

  constructor(init = undefined) {
    if (init === internal) return;
    this.#list = [];
    if (init === undefined) return;
    const prefix = "Failed to construct 'Headers'";
    fill(this.#list, "none", toHeadersInit(init, prefix, "Argument 1"), prefix);
  }

  static {
    isHeaders = (value) => #list in value;
    listOf = (headers) => headers.#list ?? headers.#read();
    setGuard = (headers, guard) => { headers.#guard = guard; };
    sortedOf = (headers) => headers.#sorted ??= sortAndCombine(headers.#list ?? headers.#read());
    newHeaders = (list, guard) => {
      const headers = new Headers(internal);
      headers.#list = list;
      headers.#guard = guard;
      return headers;
    };
    newLazyHeaders = (id, guard) => {
      const headers = new Headers(internal);
      headers.#list = null;
      headers.#source = id;
      headers.#guard = guard;
      return headers;
    };
  }

  #read() {
    return this.#list = readFields(this.#source);
  }

  // https://fetch.spec.whatwg.org/#headers-validate, its second half; returns the list to modify.
  #writable(prefix) {
    if (this.#guard === "immutable") throw new TypeError(`${prefix}: these headers are immutable`);
    this.#sorted = null;
    return this.#list ?? this.#read();
  }

  append(name, value) {
    const prefix = "Failed to execute 'append' on 'Headers'";
    brandCheck(isObject(this) && #list in this, "Headers");
    requiredArguments(arguments.length, 2, prefix);
    name = ByteString(name, prefix, "Argument 1");
    value = ByteString(value, prefix, "Argument 2");
    checkedLower(name, prefix);
    checkedValue(value, prefix);
    guardedAppend(this.#writable(prefix), this.#guard, name, value, prefix);
  }

  delete(name) {
    const prefix = "Failed to execute 'delete' on 'Headers'";
    brandCheck(isObject(this) && #list in this, "Headers");
    requiredArguments(arguments.length, 1, prefix);
    const lowered = checkedLower(ByteString(name, prefix, "Argument 1"), prefix);
    const list = this.#writable(prefix);
    // 2. If this's guard is "request-no-cors", name is not a no-CORS-safelisted request-header
    //    name, and name is not a privileged no-CORS request-header name, then return.
    if (this.#guard === "request-no-cors" && lowered !== "range" &&
        !isNoCorsSafelisted(lowered, lowered === "content-type" ? "text/plain" : "")) return;
    remove(list, lowered);
  }

  get(name) {
    const prefix = "Failed to execute 'get' on 'Headers'";
    brandCheck(isObject(this) && #list in this, "Headers");
    requiredArguments(arguments.length, 1, prefix);
    return get(this.#list ?? this.#read(),
      checkedLower(ByteString(name, prefix, "Argument 1"), prefix));
  }

  getSetCookie() {
    brandCheck(isObject(this) && #list in this, "Headers");
    const list = this.#list ?? this.#read();
    const values = [];
    for (let i = 0; i < list.length; i += 2) {
      if (sameName(list[i], "set-cookie")) ArrayPrototypePush(values, list[i + 1]);
    }
    return values;
  }

  has(name) {
    const prefix = "Failed to execute 'has' on 'Headers'";
    brandCheck(isObject(this) && #list in this, "Headers");
    requiredArguments(arguments.length, 1, prefix);
    return has(this.#list ?? this.#read(),
      checkedLower(ByteString(name, prefix, "Argument 1"), prefix));
  }

  set(name, value) {
    const prefix = "Failed to execute 'set' on 'Headers'";
    brandCheck(isObject(this) && #list in this, "Headers");
    requiredArguments(arguments.length, 2, prefix);
    name = ByteString(name, prefix, "Argument 1");
    value = ByteString(value, prefix, "Argument 2");
    const lowered = checkedLower(name, prefix);
    value = checkedValue(value, prefix);
    const list = this.#writable(prefix);
    if (this.#guard === "request-no-cors" && !isNoCorsSafelisted(lowered, value)) return;
    set(list, name, value);
  }
}

webidl.definePairIterable(Headers, "Headers", {
  check: isHeaders,
  size: (headers) => sortedOf(headers).length / 2,
  keyAt: (headers, index) => sortedOf(headers)[index * 2],
  valueAt: (headers, index) => sortedOf(headers)[index * 2 + 1],
});
webidl.configureInterface(Headers);
const entriesOfHeaders = Headers.prototype.entries;
const valuesOfArray = ArrayPrototype[SymbolIterator];

realm.headers = {
  __proto__: null,
  Headers,
  append,
  get,
  has,
  isHeaders: (value) => isObject(value) && isHeaders(value),
  listFromInit,
  fill,
  listOf,
  lower,
  newHeaders,
  newLazyHeaders,
  remove,
  set,
  setGuard,
  toHeadersInit,
};
realm.expose({ Headers });
