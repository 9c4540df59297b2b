// Globals for the tests of what JavaScript sees. A file calls test() for each of its cases; the
// program that tests/js/run makes imports this file, then the tests, and calls runTests().

const cases = [];
const kCaseMs = 60_000;  // only what hangs takes as long, even on a loaded machine

class AssertionError extends Error {
  get name() {
    return "AssertionError";
  }
}

function describe(value) {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return `function ${value.name}`;
  if (value === null || typeof value !== "object") return Object.is(value, -0) ? "-0" : String(value);
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if (Array.isArray(value)) return `[${value.map(describe).join(", ")}]`;
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
    return `${value.constructor.name}(${bytesOf(value).join(" ")})`;
  }
  if (value instanceof Map || value instanceof Set) {
    return `${value.constructor.name}(${describe([...value])})`;
  }
  const pairs = Reflect.ownKeys(value).map((key) => `${String(key)}: ${describe(value[key])}`);
  return `{${pairs.join(", ")}}`;
}

function bytesOf(value) {
  if (value instanceof ArrayBuffer) return [...new Uint8Array(value)];
  return [...new Uint8Array(value.buffer, value.byteOffset, value.byteLength)];
}

function equal(left, right, seen = new Map()) {
  if (Object.is(left, right)) return true;
  if (left === null || right === null) return false;
  if (typeof left !== "object" || typeof right !== "object") return false;
  if (seen.get(left) === right) return true;
  seen.set(left, right);
  if (Object.getPrototypeOf(left) !== Object.getPrototypeOf(right)) return false;
  if (left instanceof Date) return Object.is(left.getTime(), right.getTime());
  if (left instanceof RegExp) return String(left) === String(right);
  if (left instanceof Error && (left.name !== right.name || left.message !== right.message)) {
    return false;
  }
  if (left instanceof ArrayBuffer) return equal(bytesOf(left), bytesOf(right), seen);
  if (left instanceof Map || left instanceof Set) return equal([...left], [...right], seen);
  const keys = Reflect.ownKeys(left);
  if (keys.length !== Reflect.ownKeys(right).length) return false;
  return keys.every((key) => Object.hasOwn(right, key) && equal(left[key], right[key], seen));
}

function assert(value, message = "the condition does not hold") {
  if (!value) throw new AssertionError(message);
}

function assertEquals(actual, expected, message = "") {
  if (equal(actual, expected)) return;
  const prefix = message === "" ? "" : `${message}: `;
  throw new AssertionError(`${prefix}${describe(actual)} is not ${describe(expected)}`);
}

function assertNotEquals(actual, unexpected, message = "") {
  if (!equal(actual, unexpected)) return;
  const prefix = message === "" ? "" : `${message}: `;
  throw new AssertionError(`${prefix}${describe(actual)} is what it must not be`);
}

// The kind is a class, the name of an error, or nothing; the text is part of the message.
function checkError(error, kind, text) {
  if (typeof kind === "function" && !(error instanceof kind)) {
    throw new AssertionError(`${describe(error)} is no ${kind.name}`);
  }
  if (typeof kind === "string") assertEquals(error?.name, kind, describe(error));
  if (text === undefined) return error;
  const found = text instanceof RegExp ? text.test(error.message) : error.message.includes(text);
  assert(found, `${describe(error)} does not say ${text}`);
  return error;
}

// Both give the error, for further questions.
function assertThrows(act, kind, text) {
  let error;
  try {
    act();
  } catch (thrown) {
    return checkError(thrown, kind, text);
  }
  throw new AssertionError("nothing was thrown", error);
}

async function assertRejects(promise, kind, text) {
  let value;
  try {
    value = await (typeof promise === "function" ? promise() : promise);
  } catch (reason) {
    return checkError(reason, kind, text);
  }
  throw new AssertionError(`nothing was rejected: ${describe(value)} came`);
}

function test(name, act) {
  cases.push({ name, act });
}

async function runOne({ act }) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(
      () => reject(new AssertionError(`not done after ${kCaseMs} ms`)), kCaseMs);
  });
  try {
    await Promise.race([act(), late]);
  } finally {
    clearTimeout(timer);
  }
}

async function runTests() {
  let failed = 0;
  for (const one of cases) {
    try {
      await runOne(one);
      console.log(`ok ${one.name}`);
    } catch (error) {
      ++failed;
      console.log(`FAILED ${one.name}\n${error?.stack ?? describe(error)}`);
    }
  }
  console.log(`${cases.length} cases, ${failed} failed`);
  if (failed > 0) throw new AssertionError(`${failed} of ${cases.length} cases failed`);
}

Object.assign(globalThis, {
  test, assert, assertEquals, assertNotEquals, assertThrows, assertRejects, runTests,
});
