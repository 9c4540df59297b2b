// The matchers of expect(). Each receives the matcher's `this` and its arguments, and returns {
// pass, message }. `message` describes the expectation, for a failure of the matcher or of its
// `.not`.
"use strict";

const { equal, isObject } = load("test/equal");
const { diff, diffLines, show } = load("test/diff");
const { isMock } = load("test/mock");

// "Expected: 1\nReceived: 2", with a diff if the values have more than one line.
function versus(received, expected, not) {
  const lines = [`Expected: ${not ? "not " : ""}${show(expected)}`, `Received: ${show(received)}`];
  if (not) return lines[0];
  const both = lines.join("\n");
  const difference = diff(expected, received);
  if (difference === "") return both;
  return both.length > 400 || both.split("\n").length > 2 ? difference : `${both}\n\n${difference}`;
}

const simple = (pass, received, what, not) => ({
  pass, message: () => `Expected: ${not ? "not " : ""}${what}\nReceived: ${show(received)}`,
});

// A matcher without arguments that tests one condition.
const predicateMatcher = (what, ask) => function (received) {
  return simple(ask(received), received, what, this.isNot);
};

const comparing = (sign, compare) => function (received, expected) {
  for (const value of [received, expected]) {
    if (typeof value !== "number" && typeof value !== "bigint") {
      throw new TypeError(`${show(value)} is no number`);
    }
  }
  return simple(compare(received, expected), received, `${sign} ${show(expected)}`, this.isNot);
};

const equaling = (how) => function (received, expected) {
  return {
    pass: equal(received, expected, how),
    message: () => versus(received, expected, this.isNot),
  };
};

// ---- properties

function pathOf(path) {
  if (Array.isArray(path)) return path;
  return String(path).replace(/\[(\w+)\]/g, ".$1").split(".").filter((part) => part !== "");
}

function toHaveProperty(received, path, ...values) {
  let value = received;
  let found = received !== null && received !== undefined;
  for (const key of pathOf(path)) {
    found &&= value !== null && value !== undefined && key in Object(value);
    value = found ? value[key] : undefined;
  }
  const name = Array.isArray(path) ? path.join(".") : path;
  if (values.length === 0) return simple(found, received, `to have the property ${name}`, this.isNot);
  return {
    pass: found && equal(value, values[0]),
    message: () => found ? `The property ${name}:\n${versus(value, values[0], this.isNot)}`
      : `Expected: to have the property ${name}\nReceived: ${show(received)}`,
  };
}

// ---- errors

const describeError = (error) => error instanceof Error ? `${error.name}: ${error.message}`
  : show(error);

function errorMatches(error, expected) {
  const message = isObject(error) ? error.message : error;
  if (expected === undefined) return true;
  if (typeof expected === "string") return String(message).includes(expected);
  if (expected instanceof RegExp) return expected.test(String(message));
  if (typeof expected === "function") return error instanceof expected;
  if (expected instanceof Error) return message === expected.message;
  return isObject(error) && Object.keys(expected).every((key) => equal(error[key], expected[key]));
}

function thrownText(expected) {
  if (expected === undefined) return "an error";
  if (typeof expected === "function") return `an error of class ${expected.name}`;
  if (expected instanceof Error) return `an error with the message ${show(expected.message)}`;
  return `an error with ${show(expected)}`;
}

function toThrow(received, expected) {
  let thrown = false;
  let error = received;
  if (this.promise === "rejects") {
    thrown = true;
  } else {
    if (typeof received !== "function") throw new TypeError("toThrow() takes a function");
    try {
      received();
    } catch (caught) {
      thrown = true;
      error = caught;
    }
  }
  const came = thrown ? describeError(error) : "nothing was thrown";
  return {
    pass: thrown && errorMatches(error, expected),
    message: () => `Expected: ${this.isNot ? "not " : ""}${thrownText(expected)}\nReceived: ${came}`,
  };
}

// ---- mocks

function callsOf(received) {
  if (!isMock(received)) throw new TypeError("the value is no function of fn() or spyOn()");
  return received.mock.calls;
}

const listCalls = (calls) => calls.length === 0 ? "no call"
  : calls.slice(-10).map((call) => `\n  (${call.map(show).join(", ")})`).join("");

const calling = (what, ask) => function (received, ...args) {
  const calls = callsOf(received);
  return {
    pass: ask(calls, args, received.mock.results),
    message: () => `Expected: ${this.isNot ? "not " : ""}${what} ${args.map(show).join(", ")}\n` +
      `Received: ${calls.length} calls: ${listCalls(calls)}`,
  };
};

const returned = (results) => results.filter(({ type }) => type === "return");

const mockMatchers = {
  toHaveBeenCalled: calling("to be called", (calls) => calls.length > 0),
  toHaveBeenCalledOnce: calling("to be called once", (calls) => calls.length === 1),
  toHaveBeenCalledTimes: calling("calls:", (calls, [times]) => calls.length === times),
  toHaveBeenCalledWith: calling(
    "to be called with", (calls, args) => calls.some((call) => equal(call, args))),
  toHaveBeenLastCalledWith: calling(
    "to be called last with", (calls, args) => equal(calls.at(-1), args)),
  toHaveBeenNthCalledWith: calling(
    "this call with", (calls, [nth, ...args]) => equal(calls[nth - 1], args)),
  toHaveReturned: calling("to return", (calls, args, results) => returned(results).length > 0),
  toHaveReturnedTimes: calling(
    "returns:", (calls, [times], results) => returned(results).length === times),
  toHaveReturnedWith: calling(
    "to return", (calls, [value], results) =>
      returned(results).some((result) => equal(result.value, value))),
};

// ---- other matchers

function toBe(received, expected) {
  return {
    pass: Object.is(received, expected),
    message: () => {
      const text = versus(received, expected, this.isNot);
      return !this.isNot && equal(received, expected, "strict")
        ? `${text}\nThey are equal, but not the same; toEqual() compares what they hold.` : text;
    },
  };
}

function toBeCloseTo(received, expected, digits = 2) {
  const near = received === expected || Math.abs(received - expected) < 10 ** -digits / 2;
  return simple(near, received, `${show(expected)} to ${digits} digits`, this.isNot);
}

function toContain(received, part) {
  const pass = typeof received === "string" ? received.includes(part)
    : [...received].some((one) => Object.is(one, part));
  return simple(pass, received, `to contain ${show(part)}`, this.isNot);
}

function toContainEqual(received, part) {
  return simple([...received].some((one) => equal(one, part)), received,
    `to contain what equals ${show(part)}`, this.isNot);
}

function toMatch(received, pattern) {
  if (typeof received !== "string") throw new TypeError(`${show(received)} is no text`);
  const pass = typeof pattern === "string" ? received.includes(pattern)
    : new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, "")).test(received);
  return simple(pass, received, `to match ${show(pattern)}`, this.isNot);
}

function toHaveLength(received, length) {
  return simple(received?.length === length, received,
    `length ${length}, not ${received?.length}`, this.isNot);
}

function toBeInstanceOf(received, kind) {
  return simple(received instanceof kind, received, `an instance of ${kind.name}`, this.isNot);
}

function toBeTypeOf(received, type) {
  return simple(typeof received === type, received, `of type ${type}`, this.isNot);
}

function toBeOneOf(received, values) {
  return simple([...values].some((one) => equal(received, one)), received,
    `one of ${show([...values])}`, this.isNot);
}

function toSatisfy(received, ask) {
  return simple(Boolean(ask(received)), received, "to satisfy the function", this.isNot);
}

const matchers = {
  toBe,
  toEqual: equaling("loose"),
  toStrictEqual: equaling("strict"),
  toMatchObject: equaling("partial"),
  toBeTruthy: predicateMatcher("a true value", Boolean),
  toBeFalsy: predicateMatcher("a false value", (value) => !value),
  toBeNull: predicateMatcher("null", (value) => value === null),
  toBeUndefined: predicateMatcher("undefined", (value) => value === undefined),
  toBeDefined: predicateMatcher("a value", (value) => value !== undefined),
  toBeNullish: predicateMatcher(
    "null or undefined", (value) => value === null || value === undefined),
  toBeNaN: predicateMatcher("NaN", Number.isNaN),
  toBeGreaterThan: comparing(">", (a, b) => a > b),
  toBeGreaterThanOrEqual: comparing(">=", (a, b) => a >= b),
  toBeLessThan: comparing("<", (a, b) => a < b),
  toBeLessThanOrEqual: comparing("<=", (a, b) => a <= b),
  toBeCloseTo,
  toBeInstanceOf,
  toBeOneOf,
  toBeTypeOf,
  toContain,
  toContainEqual,
  toHaveLength,
  toHaveProperty,
  toMatch,
  toSatisfy,
  toThrow,
  toThrowError: toThrow,
  ...mockMatchers,
};

return { diffLines, matchers };
