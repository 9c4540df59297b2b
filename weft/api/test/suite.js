// The declarations of a test file: suites of tests with their hooks.
"use strict";

const { each } = load("test/each");

class Suite {
  kind = "suite";
  children = [];
  hooks = { beforeAll: [], afterAll: [], beforeEach: [], afterEach: [] };

  constructor(name, parent, mode) {
    this.name = name;
    this.parent = parent;
    this.mode = mode;
  }
}

const root = new Suite("", undefined, "run");
const state = {
  root,
  current: root,
  running: undefined,  // the running test
  run: false,          // whether `weft test` runs the file
  closed: false,       // whether the file has been loaded
};

function requireOpen(what) {
  if (!state.run) throw new Error(`${what}: files of tests are run by "weft test"`);
  if (state.running !== undefined) throw new Error(`${what} stands inside of a test`);
  if (state.closed) throw new Error(`${what} comes after the file has been loaded`);
}

// Accepts a number of milliseconds, or { timeout }.
function timeoutOf(options) {
  const ms = typeof options === "number" ? options : options?.timeout;
  if (ms === undefined) return undefined;
  if (typeof ms !== "number" || !(ms > 0)) throw new TypeError("a timeout is a number above 0");
  return ms;
}

function addTest(mode, name, act, options) {
  requireOpen(`test("${name}")`);
  if (typeof act === "object" || typeof act === "number") [act, options] = [options, act];
  if (typeof act !== "function" && mode !== "todo") {
    throw new TypeError(`test("${name}") needs a function`);
  }
  state.current.children.push({
    kind: "test", name: String(name), parent: state.current, mode, act,
    timeoutMs: timeoutOf(options), fails: options?.fails === true,
  });
}

function addSuite(mode, name, act) {
  requireOpen(`describe("${name}")`);
  const suite = new Suite(String(name), state.current, mode);
  state.current.children.push(suite);
  state.current = suite;
  try {
    const result = act();
    if (typeof result?.then === "function") {
      throw new TypeError(`describe("${name}") declares its tests at once, without await`);
    }
  } finally {
    state.current = suite.parent;
  }
}

function declarer(add) {
  const declare = (mode) => (name, act, options) => add(mode, name, act, options);
  const made = declare("run");
  for (const mode of ["only", "skip", "todo"]) {
    made[mode] = declare(mode);
    made[mode].each = each(made[mode]);
  }
  made.each = each(made);
  made.skipIf = (condition) => condition ? made.skip : made;
  made.runIf = (condition) => condition ? made : made.skip;
  return made;
}

const test = declarer(addTest);
test.failing = (name, act, options) =>
  addTest("run", name, act, { timeout: timeoutOf(options), fails: true });
const describe = declarer(addSuite);

const hook = (name) => (act, options) => {
  requireOpen(name);
  if (typeof act !== "function") throw new TypeError(`${name} needs a function`);
  state.current.hooks[name].push({ name, act, timeoutMs: timeoutOf(options) });
};

return {
  state,
  api: {
    test,
    it: test,
    describe,
    beforeAll: hook("beforeAll"),
    afterAll: hook("afterAll"),
    beforeEach: hook("beforeEach"),
    afterEach: hook("afterEach"),
  },
};
