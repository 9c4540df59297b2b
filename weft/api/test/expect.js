// expect(value).toBe(...): matchers with .not, .resolves and .rejects, asymmetric matchers, and the
// user's matchers from expect.extend().
"use strict";

const { equal, isObject, kMatches } = load("test/equal");
const { show } = load("test/diff");
const { matchers } = load("test/matchers");
const { compareInline } = load("test/snapshots");
const { state } = load("test/suite");
const kCustom = Symbol.for("nodejs.util.inspect.custom");

class AssertionError extends Error {
  get name() {
    return "AssertionError";
  }
}

function fail(message, above) {
  const error = new AssertionError(message);
  Error.captureStackTrace(error, above);
  throw error;
}

const own = Object.create(null);  // matchers of expect.extend()

function count() {
  if (state.running !== undefined) ++state.running.assertions;
}

function judge(matcher, name, self, received, args, above) {
  const outcome = matcher.call(self, received, ...args);
  const check = (result) => {
    if (Boolean(result.pass) !== self.isNot) return;
    const title = `expect(...)${self.promise ? `.${self.promise}` : ""}${self.isNot ? ".not" : ""}`;
    const text = typeof result.message === "function" ? result.message() : result.message;
    fail(`${title}.${name}()\n\n${text ?? ""}`, above);
  };
  return typeof outcome?.then === "function" ? outcome.then(check) : check(outcome);
}

const utils = { printReceived: show, printExpected: show, stringify: show };

class Expectation {
  #received;
  #self;

  constructor(received, promise = "", isNot = false) {
    this.#received = received;
    this.#self = { isNot, promise, equals: equal, utils };
  }

  get not() {
    return new Expectation(this.#received, this.#self.promise, !this.#self.isNot);
  }
  get resolves() {
    return new Expectation(this.#received, "resolves", this.#self.isNot);
  }
  get rejects() {
    return new Expectation(this.#received, "rejects", this.#self.isNot);
  }

  static run(expectation, name, matcher, args, above) {
    count();
    const self = expectation.#self;
    if (self.promise === "") return judge(matcher, name, self, expectation.#received, args, above);
    return expectation.#later(name, matcher, args, above);
  }

  async #later(name, matcher, args, above) {
    const self = this.#self;
    let value = this.#received;
    if (typeof value === "function" && self.promise === "rejects") value = value();
    if (typeof value?.then !== "function") {
      fail(`expect(...).${self.promise} takes a promise, not ${show(value)}`, above);
    }
    let failed = false;
    try {
      value = await value;
    } catch (error) {
      failed = true;
      value = error;
    }
    if (failed && self.promise === "resolves") {
      fail(`expect(...).resolves: the promise was rejected with ${show(value)}`, above);
    }
    if (!failed && self.promise === "rejects") {
      fail(`expect(...).rejects: the promise was resolved with ${show(value)}`, above);
    }
    return judge(matcher, name, self, value, args, above);
  }
}

function define(name, matcher) {
  Object.defineProperty(Expectation.prototype, name, {
    configurable: true,
    writable: true,
    value: function method(...args) {
      return Expectation.run(this, name, matcher, args, method);
    },
  });
}

for (const name of Object.keys(matchers)) define(name, matchers[name]);

define("toMatchSnapshot", function (received, hint) {
  if (state.running === undefined) throw new Error("toMatchSnapshot() stands outside of a test");
  if (this.isNot) throw new Error("toMatchSnapshot() has no .not");
  const wrong = state.snapshots.compare(state.running.path, received, hint);
  return { pass: wrong === undefined, message: wrong };
});
define("toMatchInlineSnapshot", function (received, expected) {
  if (this.isNot) throw new Error("toMatchInlineSnapshot() has no .not");
  const wrong = compareInline(received, expected);
  return { pass: wrong === undefined, message: wrong };
});

// ---- asymmetric matchers

class Asymmetric {
  #text;
  constructor(text, matches) {
    this.#text = text;
    this[kMatches] = matches;
    Object.defineProperty(this, kMatches, { enumerable: false });
  }
  [kCustom]() {
    return this.#text;
  }
}

const typesOf = new Map([
  [String, "string"], [Number, "number"], [Boolean, "boolean"], [BigInt, "bigint"],
  [Symbol, "symbol"], [Function, "function"],
]);

const kinds = {
  any: (kind) => [`any ${kind.name}`, (value) => kind === Object ? isObject(value)
    : typeof value === typesOf.get(kind) || value instanceof kind],
  objectContaining: (part) => [`an object containing ${show(part)}`, (value) =>
    isObject(value) && Object.keys(part).every(
      (key) => key in value && equal(value[key], part[key]))],
  arrayContaining: (part) => [`an array containing ${show(part)}`, (value) =>
    Array.isArray(value) && part.every((one) => value.some((other) => equal(other, one)))],
  stringContaining: (part) => [`a text containing ${show(part)}`, (value) =>
    typeof value === "string" && value.includes(part)],
  stringMatching: (pattern) => [`a text matching ${show(pattern)}`, (value) =>
    typeof value === "string" && new RegExp(pattern).test(value)],
  closeTo: (number, digits = 2) => [`about ${number}`, (value) =>
    typeof value === "number" && Math.abs(value - number) < 10 ** -digits / 2],
};

const asymmetric = (isNot) => Object.fromEntries(Object.keys(kinds).map((name) => [
  name,
  (...args) => {
    const [text, matches] = kinds[name](...args);
    return new Asymmetric(isNot ? `not ${text}` : text, (value) => matches(value) !== isNot);
  },
]));

// ---- expect

const expect = (received) => new Expectation(received);
Object.assign(expect, asymmetric(false), {
  not: asymmetric(true),
  anything: () => new Asymmetric("anything", (value) => value !== null && value !== undefined),
  extend(added) {
    for (const name of Object.keys(added)) {
      own[name] = added[name];
      define(name, added[name]);
      expect[name] = (...args) => new Asymmetric(name, (value) => Boolean(added[name].call(
        { isNot: false, promise: "", equals: equal, utils }, value, ...args).pass));
    }
  },
  // The number of matchers that must have run by the end of the test.
  assertions(number) {
    state.running.assertionsExpected = number;
  },
  hasAssertions() {
    state.running.assertionsExpected ??= -1;
  },
  fail(message = "this must not be reached") {
    fail(message, expect.fail);
  },
});
delete expect.not.any;

return { AssertionError, expect };
