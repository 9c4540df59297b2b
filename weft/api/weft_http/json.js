// JSON for results: like JSON.stringify(), but a value that JSON cannot represent is an error.
//
// For other scripts, realm.resultJson(value, policy):
//     bigint       "string" (default): in decimal digits; "error"
//     bytes        "base64" (default), "array": of views and buffers
//     casing       "preserve" (default), "camelCase": of keys
//     includeNulls true (default); false leaves out members that are null
// An Error becomes { name, message } without its stack. Cycles, functions, symbols and numbers that
// JSON cannot represent are a TypeError that names the path. undefined is left out of objects and
// is an error elsewhere.

const {
  ArrayIsArray, ArrayPrototypeIndexOf, ArrayPrototypePop, ArrayPrototypePush, BigIntPrototypeToString,
  DatePrototypeGetTime, DatePrototypeToISOString, Error, JSONStringify, NumberIsFinite,
  ObjectGetPrototypeOf, ObjectKeys, ObjectPrototype, ArrayPrototype, String, StringFromCharCode,
  StringPrototypeCharAt, StringPrototypeReplace, StringPrototypeSlice, StringPrototypeToLowerCase,
  StringPrototypeToUpperCase, TypeError, isNaN,
} = realm.primordials;
const { webidl } = realm;
const { btoa } = globalThis;

const kDepthMax = 500;
const none = { __proto__: null };

// Whether JSON.stringify() does all that is needed: the value has nothing but plain objects,
// arrays, strings, finite numbers, booleans and null. Most results are of this kind, and
// stringify() is fast without a replacer.
function isPlain(value, depth) {
  switch (typeof value) {
    case "string":
    case "boolean": return true;
    case "number": return NumberIsFinite(value);
    case "object": break;
    default: return false;
  }
  if (value === null) return true;
  if (depth === kDepthMax) return false;
  if (ArrayIsArray(value)) {
    if (ObjectGetPrototypeOf(value) !== ArrayPrototype) return false;
    for (let at = 0; at < value.length; at++) if (!isPlain(value[at], depth + 1)) return false;
    return true;
  }
  const prototype = ObjectGetPrototypeOf(value);
  if (prototype !== ObjectPrototype && prototype !== null) return false;
  if ("toJSON" in value) return false;
  const keys = ObjectKeys(value);
  for (let at = 0; at < keys.length; at++) {
    const member = value[keys[at]];
    if (member !== undefined && !isPlain(member, depth + 1)) return false;
  }
  return true;
}

function base64(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at++) text += StringFromCharCode(bytes[at]);
  return btoa(text);
}

// Converts "first_name", "first-name" and "FirstName" to "firstName".
function camelCase(key) {
  const joined = StringPrototypeReplace(key, /[-_ ]+([A-Za-z0-9])/g,
    (_, letter) => StringPrototypeToUpperCase(letter));
  return StringPrototypeToLowerCase(StringPrototypeCharAt(joined, 0)) +
    StringPrototypeSlice(joined, 1);
}

class Converter {
  constructor(policy) {
    this.policy = policy;
    this.path = "value";
    this.above = [];
  }

  fail(what) {
    return new TypeError(`${this.path} cannot be written as JSON: ${what}`);
  }

  convert(value) {
    switch (typeof value) {
      case "string":
      case "boolean": return value;
      case "number":
        if (!NumberIsFinite(value)) throw this.fail(`it is ${String(value)}`);
        return value;
      case "bigint":
        if (this.policy.bigint === "error") throw this.fail("it is a BigInt");
        return BigIntPrototypeToString(value);
      case "object": return value === null ? null : this.object(value);
      default: throw this.fail(`it is ${typeof value === "undefined" ? "" : "a "}${typeof value}`);
    }
  }

  object(value) {
    if (value instanceof Error) return { name: value.name, message: value.message };
    if (webidl.isBufferSource(value)) {
      const bytes = webidl.viewBytes(value);
      if (this.policy.bytes !== "array") return base64(bytes);
      const list = [];
      for (let at = 0; at < bytes.length; at++) ArrayPrototypePush(list, bytes[at]);
      return list;
    }
    let time;
    try {
      time = DatePrototypeGetTime(value);
    } catch {
      time = undefined;
    }
    if (time !== undefined) {
      if (isNaN(time)) throw this.fail("it is an invalid Date");
      return DatePrototypeToISOString(value);
    }
    if (ArrayPrototypeIndexOf(this.above, value) >= 0) throw this.fail("it contains itself");
    if (this.above.length === kDepthMax) throw this.fail("it is nested too deeply");
    if (typeof value.toJSON === "function") {
      ArrayPrototypePush(this.above, value);
      const result = this.convert(value.toJSON());
      ArrayPrototypePop(this.above);
      return result;
    }
    ArrayPrototypePush(this.above, value);
    const path = this.path;
    const result = ArrayIsArray(value) ? this.list(value, path) : this.members(value, path);
    this.path = path;
    ArrayPrototypePop(this.above);
    return result;
  }

  list(value, path) {
    const result = [];
    for (let at = 0; at < value.length; at++) {
      this.path = `${path}[${at}]`;
      ArrayPrototypePush(result, this.convert(value[at]));
    }
    return result;
  }

  members(value, path) {
    const result = { __proto__: null };
    const keys = ObjectKeys(value);
    for (let at = 0; at < keys.length; at++) {
      const member = value[keys[at]];
      if (member === undefined) continue;
      if (member === null && this.policy.includeNulls === false) continue;
      this.path = `${path}.${keys[at]}`;
      const key = this.policy.casing === "camelCase" ? camelCase(keys[at]) : keys[at];
      result[key] = this.convert(member);
    }
    return result;
  }
}

realm.resultJson = function resultJson(value, policy = none) {
  const isDefault = policy === none || (policy.casing !== "camelCase" &&
    policy.includeNulls !== false);
  if (isDefault && isPlain(value, 0)) return JSONStringify(value);
  return JSONStringify(new Converter(policy).convert(value));
};
