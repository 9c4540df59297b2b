// node:timers and node:timers/promises. https://nodejs.org/api/timers.html
//
// The global setTimeout() returns a number, as on the web platform; this one returns an object with
// unref(), which converts to that number.
"use strict";

const { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate } =
  globalThis;
const { abortError } = load("events");
const kPromisify = Symbol.for("nodejs.util.promisify.custom");

class Timeout {
  #start;
  #clear;
  #id;

  constructor(start, clear) {
    this.#start = start;
    this.#clear = clear;
    this.#id = start();
  }
  ref() {
    return this;
  }
  // Has no effect: the timers of a request end with it, and a script ends after its last timer.
  unref() {
    return this;
  }
  hasRef() {
    return true;
  }
  refresh() {
    this.#clear(this.#id);
    this.#id = this.#start();
    return this;
  }
  close() {
    this.#clear(this.#id);
    return this;
  }
  [Symbol.toPrimitive]() {
    return this.#id;
  }
}

const idOf = (timer) => timer instanceof Timeout ? +timer : timer;

const timers = {
  setTimeout: (callback, ms, ...args) =>
    new Timeout(() => setTimeout(callback, ms, ...args), clearTimeout),
  setInterval: (callback, ms, ...args) =>
    new Timeout(() => setInterval(callback, ms, ...args), clearInterval),
  setImmediate: (callback, ...args) =>
    new Timeout(() => setImmediate(callback, ...args), clearImmediate),
  clearTimeout: (timer) => clearTimeout(idOf(timer)),
  clearInterval: (timer) => clearInterval(idOf(timer)),
  clearImmediate: (timer) => clearImmediate(idOf(timer)),
};

function waitBy(start, clear, value, options) {
  const signal = options?.signal;
  if (signal?.aborted) return Promise.reject(abortError(signal));
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clear(timer);
      reject(abortError(signal));
    };
    const timer = start(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve(value);
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

const promises = {
  setTimeout: (ms, value, options) =>
    waitBy((done) => setTimeout(done, ms), clearTimeout, value, options),
  setImmediate: (value, options) => waitBy(setImmediate, clearImmediate, value, options),
  async* setInterval(ms, value, options) {
    for (;;) yield await promises.setTimeout(ms, value, options);
  },
  scheduler: {
    wait: (ms, options) => promises.setTimeout(ms, undefined, options),
    yield: () => promises.setImmediate(),
  },
};

for (const name of ["setTimeout", "setImmediate"]) {
  Object.defineProperty(timers[name], kPromisify, { value: promises[name] });
}
timers.promises = promises;

return { "node:timers": timers, "node:timers/promises": promises };
