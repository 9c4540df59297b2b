// The equality of two values for toEqual(), toStrictEqual(), toMatchObject() and other matchers
// that compare structures. An asymmetric matcher, such as expect.any(Number), has a method under
// kMatches.
"use strict";

const { kinds } = realm.inspecting;
const { valueKind } = native;
const kMatches = Symbol("weft.test.matches");

const isObject = (value) => value !== null && typeof value === "object";

function sameBytes(a, b) {
  const bytesOf = (value) => value instanceof ArrayBuffer || value instanceof SharedArrayBuffer
    ? new Uint8Array(value) : new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  const left = bytesOf(a);
  const right = bytesOf(b);
  return left.length === right.length && left.every((byte, i) => byte === right[i]);
}

// Pairs each member of one with a different member of the other.
function sameMembers(a, b, same) {
  const rest = [...b];
  for (const one of a) {
    const place = rest.findIndex((other) => same(one, other));
    if (place < 0) return false;
    rest.splice(place, 1);
  }
  return rest.length === 0;
}

// The own keys of an object; without `strict`, those with the value undefined are left out.
function keysOf(value, strict) {
  const symbols = Object.getOwnPropertySymbols(value)
    .filter((symbol) => Object.prototype.propertyIsEnumerable.call(value, symbol));
  const keys = [...Object.keys(value), ...symbols];
  return strict ? keys : keys.filter((key) => value[key] !== undefined);
}

class Comparison {
  #strict;
  #partial;
  #pairs = new Map();

  constructor(how) {
    this.#strict = how === "strict";
    this.#partial = how === "partial";
  }

  same(actual, expected) {
    if (isObject(expected) && typeof expected[kMatches] === "function") {
      return expected[kMatches](actual);
    }
    if (isObject(actual) && typeof actual[kMatches] === "function") return actual[kMatches](expected);
    if (Object.is(actual, expected)) return true;
    if (!isObject(actual) || !isObject(expected)) return false;
    const kind = valueKind(actual);
    if (kind !== valueKind(expected)) return false;
    if (this.#strict && Object.getPrototypeOf(actual) !== Object.getPrototypeOf(expected)) {
      return false;
    }
    // A cycle equals a cycle of the same shape.
    const known = this.#pairs.get(actual);
    if (known !== undefined && known.includes(expected)) return true;
    this.#pairs.set(actual, [...known ?? [], expected]);
    return this.#sameInside(actual, expected, kind);
  }

  #sameInside(actual, expected, kind) {
    const same = (a, b) => this.same(a, b);
    switch (kind) {
      case kinds.kDate:
        return Object.is(actual.getTime(), expected.getTime());
      case kinds.kRegExp:
        return String(actual) === String(expected) && actual.lastIndex === expected.lastIndex;
      case kinds.kError:
        return actual.name === expected.name && actual.message === expected.message &&
          same(actual.cause, expected.cause) && this.#sameKeys(actual, expected);
      case kinds.kArrayBuffer:
      case kinds.kSharedArrayBuffer:
      case kinds.kDataView:
        return sameBytes(actual, expected);
      case kinds.kTypedArray:
        return actual[Symbol.toStringTag] === expected[Symbol.toStringTag] &&
          actual.length === expected.length && actual.every((one, i) => Object.is(one, expected[i]));
      case kinds.kSet:
        return actual.size === expected.size && sameMembers(actual, expected, same);
      case kinds.kMap:
        return actual.size === expected.size && sameMembers(
          actual, expected, (a, b) => same(a[0], b[0]) && same(a[1], b[1]));
      case kinds.kNumberObject:
      case kinds.kStringObject:
      case kinds.kBooleanObject:
      case kinds.kBigIntObject:
      case kinds.kSymbolObject:
        return Object.is(actual.valueOf(), expected.valueOf());
      case kinds.kArray:
        return actual.length === expected.length && this.#sameKeys(actual, expected);
      case kinds.kPromise:
      case kinds.kWeakMap:
      case kinds.kWeakSet:
        return false;
      default:
        return this.#sameUrl(actual, expected) && this.#sameKeys(actual, expected);
    }
  }

  #sameUrl(actual, expected) {
    return !(actual instanceof URL) || !(expected instanceof URL) || actual.href === expected.href;
  }

  #sameKeys(actual, expected) {
    const keys = keysOf(expected, this.#strict);
    if (!this.#partial && keysOf(actual, this.#strict).length !== keys.length) return false;
    return keys.every((key) => key in actual && (this.#partial || Object.hasOwn(actual, key)) &&
      this.same(actual[key], expected[key]));
  }
}

// how: "loose", "strict" or "partial".
const equal = (actual, expected, how = "loose") => new Comparison(how).same(actual, expected);

return { equal, isObject, kMatches };
