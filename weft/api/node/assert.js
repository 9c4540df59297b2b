// node:assert. https://nodejs.org/api/assert.html
"use strict";

const { kinds } = realm.inspecting;
const { valueKind } = native;

class AssertionError extends Error {
  constructor({ message, actual, expected, operator, stackStartFn } = {}) {
    super(message ?? `${realm.inspect(actual)} ${operator} ${realm.inspect(expected)}`);
    this.name = "AssertionError";
    this.code = "ERR_ASSERTION";
    this.generatedMessage = message === undefined;
    this.actual = actual;
    this.expected = expected;
    this.operator = operator;
    if (stackStartFn !== undefined) Error.captureStackTrace(this, stackStartFn);
  }
}

// ---- deep equality

function sameBytes(a, b) {
  if (a.byteLength !== b.byteLength) return false;
  const left = new Uint8Array(a.buffer ?? a, a.byteOffset ?? 0, a.byteLength);
  const right = new Uint8Array(b.buffer ?? b, b.byteOffset ?? 0, b.byteLength);
  return left.every((byte, i) => byte === right[i]);
}

function sameSets(a, b, strict, seen) {
  if (a.size !== b.size) return false;
  const rest = [...b];
  for (const one of a) {
    const place = rest.findIndex((other) => deepEqual(one, other, strict, seen));
    if (place < 0) return false;
    rest.splice(place, 1);
  }
  return true;
}

function sameMaps(a, b, strict, seen) {
  if (a.size !== b.size) return false;
  const rest = [...b];
  for (const [key, value] of a) {
    const place = rest.findIndex(([otherKey, other]) =>
      deepEqual(key, otherKey, strict, seen) && deepEqual(value, other, strict, seen));
    if (place < 0) return false;
    rest.splice(place, 1);
  }
  return true;
}

function keysOf(value, strict) {
  const keys = Object.keys(value);
  if (!strict) return keys;
  return keys.concat(Object.getOwnPropertySymbols(value)
    .filter((symbol) => Object.prototype.propertyIsEnumerable.call(value, symbol)));
}

function sameInside(a, b, kind, strict, seen) {
  switch (kind) {
    case kinds.kDate: if (!Object.is(a.getTime(), b.getTime())) return false; break;
    case kinds.kRegExp: if (`${a}` !== `${b}` || a.lastIndex !== b.lastIndex) return false; break;
    case kinds.kError:
      if (a.name !== b.name || a.message !== b.message) return false;
      if (!deepEqual(a.cause, b.cause, strict, seen)) return false;
      break;
    case kinds.kSet: if (!sameSets(a, b, strict, seen)) return false; break;
    case kinds.kMap: if (!sameMaps(a, b, strict, seen)) return false; break;
    case kinds.kArrayBuffer:
    case kinds.kDataView: return sameBytes(a, b);
    case kinds.kTypedArray:
      if (a.length !== b.length) return false;
      for (let i = 0; i < a.length; i++) {
        if (strict ? !Object.is(a[i], b[i]) : a[i] !== b[i]) return false;
      }
      return true;
    case kinds.kArray: if (a.length !== b.length) return false; break;
    case kinds.kPromise:
    case kinds.kWeakMap:
    case kinds.kWeakSet: return false;
    default:
      if (typeof a.valueOf?.() !== "object" && !Object.is(a.valueOf?.(), b.valueOf?.())) {
        return false;
      }
  }
  const keys = keysOf(a, strict);
  if (keys.length !== keysOf(b, strict).length) return false;
  return keys.every((key) =>
    Object.prototype.propertyIsEnumerable.call(b, key) && deepEqual(a[key], b[key], strict, seen));
}

function deepEqual(a, b, strict, seen = []) {
  if (strict ? Object.is(a, b) : a === b || (a !== a && b !== b)) return true;
  const objects = a !== null && b !== null && typeof a === "object" && typeof b === "object";
  if (!objects) return !strict && typeof a !== "function" && a == b;
  if (strict && Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  const kind = valueKind(a);
  if (kind !== valueKind(b)) return false;
  // In a cyclic structure, a pair that is already being compared is assumed to be equal.
  if (seen.some(([left, right]) => left === a && right === b)) return true;
  seen.push([a, b]);
  const same = sameInside(a, b, kind, strict, seen);
  seen.pop();
  return same;
}

// ---- assertions

function failed(actual, expected, message, operator, stackStartFn, text) {
  if (message instanceof Error) throw message;
  const error = new AssertionError({
    message: message ?? text, actual, expected, operator, stackStartFn,
  });
  error.generatedMessage = message === undefined;
  throw error;
}

function compared(text, actual, expected) {
  return `${text}\n\n${realm.inspect(actual)}\n\nshould be\n\n${realm.inspect(expected)}\n`;
}

function assert(value, message) {
  if (!value) {
    failed(value, true, message, "==", assert,
      "The expression evaluated to a falsy value");
  }
}

// Whether an error is the expected one; `expected` is a class, a pattern, an object or a function.
function matches(error, expected) {
  if (expected === undefined) return true;
  if (expected instanceof RegExp) return expected.test(String(error));
  if (typeof expected === "function") {
    if (expected.prototype !== undefined && error instanceof expected) return true;
    if (Object.prototype.isPrototypeOf.call(Error, expected)) return false;
    return Reflect.apply(expected, {}, [error]) === true;
  }
  return Object.keys(expected).concat(expected instanceof Error ? ["name", "message"] : [])
    .every((key) => expected[key] instanceof RegExp && typeof error?.[key] === "string"
      ? expected[key].test(error[key]) : deepEqual(error?.[key], expected[key], true));
}

function judge(error, expected, message, operator, from) {
  if (typeof expected === "string") [message, expected] = [expected, undefined];
  if (matches(error, expected)) return;
  if (typeof expected === "function" && (expected === Error ||
      Object.prototype.isPrototypeOf.call(Error, expected))) {
    const received = error?.constructor?.name;
    failed(error, expected, message, operator, from,
      `The error is expected to be an instance of "${expected.name}". Received ` +
      `${typeof received === "string" ? `"${received}"` : realm.inspect(error)}\n\n` +
      `Error message:\n\n${error?.message}`);
  }
  failed(error, expected, message, operator, from,
    `The error is not the expected one: ${realm.inspect(error)}`);
}

function missing(expected, message, operator, from) {
  const text = typeof expected === "string" ? expected : message;
  failed(undefined, expected, text === undefined ? undefined : text, operator, from,
    operator === "rejects" ? "Missing expected rejection." : "Missing expected exception.");
}

function requireFunction(act) {
  if (typeof act !== "function") {
    throw load("events").invalid(
      `The "fn" argument must be of type function. Received ${realm.inspect(act)}`);
  }
}

async function outcomeOf(promised) {
  const promise = typeof promised === "function" ? promised() : promised;
  if (typeof promise?.then !== "function") {
    throw load("events").invalid('The "promiseFn" argument must be a function or a Promise');
  }
  try {
    await promise;
  } catch (error) {
    return { error };
  }
  return undefined;
}

const both = {
  ok(value, message) {
    if (!value) {
      failed(value, true, message, "==", both.ok, "The expression evaluated to a falsy value");
    }
  },
  fail(message = "Failed") {
    if (message instanceof Error) throw message;
    throw new AssertionError({ message, operator: "fail", stackStartFn: both.fail });
  },
  strictEqual(actual, expected, message) {
    if (!Object.is(actual, expected)) {
      failed(actual, expected, message, "strictEqual", both.strictEqual,
        compared("Expected values to be strictly equal:", actual, expected));
    }
  },
  notStrictEqual(actual, expected, message) {
    if (Object.is(actual, expected)) {
      failed(actual, expected, message, "notStrictEqual", both.notStrictEqual,
        `Expected "actual" to be strictly unequal to: ${realm.inspect(expected)}`);
    }
  },
  deepStrictEqual(actual, expected, message) {
    if (!deepEqual(actual, expected, true)) {
      failed(actual, expected, message, "deepStrictEqual", both.deepStrictEqual,
        compared("Expected values to be strictly deep-equal:", actual, expected));
    }
  },
  notDeepStrictEqual(actual, expected, message) {
    if (deepEqual(actual, expected, true)) {
      failed(actual, expected, message, "notDeepStrictEqual", both.notDeepStrictEqual,
        `Expected "actual" not to be strictly deep-equal to: ${realm.inspect(expected)}`);
    }
  },
  throws(act, expected, message) {
    requireFunction(act);
    try {
      act();
    } catch (error) {
      return judge(error, expected, message, "throws", both.throws);
    }
    return missing(expected, message, "throws", both.throws);
  },
  doesNotThrow(act, expected, message) {
    requireFunction(act);
    try {
      act();
    } catch (error) {
      const text = typeof expected === "string" ? expected : message;
      failed(error, expected, text, "doesNotThrow", both.doesNotThrow,
        `Got unwanted exception.\nActual message: "${error?.message}"`);
    }
  },
  async rejects(promised, expected, message) {
    const outcome = await outcomeOf(promised);
    if (outcome === undefined) return missing(expected, message, "rejects", both.rejects);
    return judge(outcome.error, expected, message, "rejects", both.rejects);
  },
  async doesNotReject(promised, expected, message) {
    const outcome = await outcomeOf(promised);
    if (outcome !== undefined) {
      failed(outcome.error, expected, message, "doesNotReject", both.doesNotReject,
        `Got unwanted rejection.\nActual message: "${outcome.error?.message}"`);
    }
  },
  match(text, pattern, message) {
    if (typeof text !== "string" || !pattern.test(text)) {
      failed(text, pattern, message, "match", both.match,
        `The input did not match the regular expression ${pattern}. Input:\n\n` +
        `${realm.inspect(text)}\n`);
    }
  },
  doesNotMatch(text, pattern, message) {
    if (typeof text === "string" && pattern.test(text)) {
      failed(text, pattern, message, "doesNotMatch", both.doesNotMatch,
        `The input was expected to not match the regular expression ${pattern}`);
    }
  },
  ifError(value) {
    if (value === null || value === undefined) return;
    failed(value, null, undefined, "ifError", both.ifError,
      `ifError got unwanted exception: ${value?.message ?? realm.inspect(value)}`);
  },
  AssertionError,
};

const loose = {
  equal(actual, expected, message) {
    if (actual == expected || (actual !== actual && expected !== expected)) return;
    failed(actual, expected, message, "==", loose.equal);
  },
  notEqual(actual, expected, message) {
    if (actual != expected) return;
    failed(actual, expected, message, "!=", loose.notEqual);
  },
  deepEqual(actual, expected, message) {
    if (!deepEqual(actual, expected, false)) {
      failed(actual, expected, message, "deepEqual", loose.deepEqual,
        compared("Expected values to be loosely deep-equal:", actual, expected));
    }
  },
  notDeepEqual(actual, expected, message) {
    if (deepEqual(actual, expected, false)) {
      failed(actual, expected, message, "notDeepEqual", loose.notDeepEqual,
        `Expected "actual" not to be loosely deep-equal to: ${realm.inspect(expected)}`);
    }
  },
};

function strict(value, message) {
  if (!value) {
    failed(value, true, message, "==", strict, "The expression evaluated to a falsy value");
  }
}
Object.assign(strict, both, {
  equal: both.strictEqual,
  notEqual: both.notStrictEqual,
  deepEqual: both.deepStrictEqual,
  notDeepEqual: both.notDeepStrictEqual,
  strict,
});
Object.assign(assert, both, loose, { strict });

return {
  "node:assert": assert,
  "node:assert/strict": strict,
  isDeepStrictEqual: (a, b) => deepEqual(a, b, true),
};
