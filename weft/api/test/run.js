// Runs the tests of one file in sequence and reports each to the host by testEvent().
//
// A test is a scope of its own, like a request: the timers and tasks that it or its hooks start end
// with it. Its code is called by a timer of the runner, so a turn that is ended by force does not
// lose a part of the runner. The outcome is reported by ended() or by the deadline in that case.
"use strict";

const { errorText, testDone, testEvent, testScope, testScopeEnd } = native;
const { asyncContext, timers } = realm;
const { Continuation, runIn } = asyncContext;
const { state } = load("test/suite");
const { Snapshots } = load("test/snapshots");
const { restoreAll } = load("test/mock");

let settings;
let active;            // the call whose end is awaited
let failures = 0;
let hasOnly = false;

const tell = (event) => testEvent(JSON.stringify(event));

// The text with the line of the error. Stack frames of this module are left out.
const withoutOurs = (text) => text.split("\n")
  .filter((line) => !/^\s+at .*\(?weft:/.test(line)).join("\n");
const textOf = (error) => withoutOurs(errorText(error));

const plain = (message) => ({ text: message });
const fromError = (error) => ({ text: textOf(error) });

// ---- a call of the application's code

// Returns the failure, or undefined.
function attempt(call, scope, timeoutMs) {
  return new Promise((resolve) => {
    const finish = (failure) => {
      if (active !== run) return;
      active = undefined;
      timers.clearTimeoutInternal(late);
      resolve(failure);
    };
    const run = { scope, finish };
    active = run;
    const late = timers.setTimeoutInternal(
      () => finish(plain(`${call.name} has not ended within ${timeoutMs} ms`)), timeoutMs, true, 0);
    timers.setTimeoutInternal(() => {
      if (active !== run) return;
      let outcome;
      try {
        outcome = runIn(new Continuation(scope, undefined), call.act, undefined, call.args ?? []);
      } catch (error) {
        return finish(fromError(error));
      }
      Promise.resolve(outcome).then(() => finish(undefined), (error) => finish(fromError(error)));
    }, 0, true, 0);
  });
}

const whys = {
  cpu: (ms) => `computed for more than ${ms} ms and was ended`,
  microtasks: () => "ran more microtasks than it may and was ended",
};

function ended(scope, why) {
  if (active?.scope !== scope) return;
  active.finish(plain(`The test ${whys[why](settings.timeoutMs)}`));
}

function uncaught(text) {
  const failure = plain(withoutOurs(text));
  if (state.running !== undefined) state.running.uncaught ??= failure;
  else tell({ kind: "error", text: failure.text });
  // Without this the caller would wait for ever.
  active?.finish(failure);
}

// Returns how many timers were left.
function closeScope(scope) {
  const left = timers.pendingCount(scope);
  timers.endRequest(scope);
  testScopeEnd(scope);
  return left;
}

// ---- the tests to run

const everyTest = (suite) => suite.children.flatMap(
  (child) => child.kind === "test" ? [child] : everyTest(child));

function pathOf(item) {
  const names = [];
  for (let at = item; at.parent !== undefined; at = at.parent) names.unshift(at.name);
  return names;
}

const ancestors = (item) => item.parent === undefined ? [item] : [...ancestors(item.parent), item];

function isWanted(test) {
  const line = ancestors(test);
  if (line.some(({ mode }) => mode === "skip" || mode === "todo")) return false;
  if (hasOnly && !line.some(({ mode }) => mode === "only")) return false;
  return settings.filter === "" || pathOf(test).join(" ").includes(settings.filter);
}

// ---- a test

async function runHooks(hooks, scope) {
  for (const hook of hooks) {
    const failure = await attempt(hook, scope, hook.timeoutMs ?? settings.timeoutMs);
    if (failure !== undefined) return failure;
  }
  return undefined;
}

function checkAssertions({ assertions, assertionsExpected }) {
  if (assertionsExpected === undefined) return undefined;
  if (assertionsExpected < 0 && assertions === 0) return plain("The test has called no matcher");
  if (assertionsExpected >= 0 && assertions !== assertionsExpected) {
    return plain(`The test has called ${assertions} matchers, not ${assertionsExpected}`);
  }
  return undefined;
}

async function runBody(test, running) {
  const { scope } = running;
  const suites = ancestors(test.parent);
  let failure = await runHooks(suites.flatMap((suite) => suite.hooks.beforeEach), scope);
  if (failure === undefined) {
    const call = { name: "The test", act: test.act, args: [running.context] };
    failure = await attempt(call, scope, test.timeoutMs ?? settings.timeoutMs);
    failure ??= running.uncaught ?? checkAssertions(running);
  }
  const after = suites.reverse().flatMap((suite) => suite.hooks.afterEach);
  const late = await runHooks(after, scope);
  return failure ?? late;
}

async function runTest(test) {
  const names = pathOf(test);
  const controller = new AbortController();
  const running = {
    scope: testScope(), path: names.join(" > "), assertions: 0, after: [],
    context: Object.freeze({ name: test.name, path: names, signal: controller.signal }),
  };
  state.running = running;
  const begun = native.monotonicNow();
  let failure = await runBody(test, running);
  const ms = native.monotonicNow() - begun;
  for (const act of running.after.reverse()) act();
  restoreAll();
  controller.abort();
  const leaked = closeScope(running.scope);
  state.running = undefined;
  if (test.fails) {
    failure = failure === undefined ? plain("The test was to fail, and has not") : undefined;
  }
  if (failure !== undefined) ++failures;
  tell({ kind: "test", names, ms, leaked, status: failure === undefined ? "passed" : "failed",
    text: failure?.text });
}

const stops = () => settings.bail && failures > 0;

function failAll(suite, failure) {
  for (const test of everyTest(suite).filter(isWanted)) {
    ++failures;
    tell({ kind: "test", names: pathOf(test), ms: 0, status: "failed", text: failure.text });
  }
}

async function runSuite(suite) {
  const wanted = everyTest(suite).some(isWanted);
  const scope = testScope();
  const failure = wanted ? await runHooks(suite.hooks.beforeAll, scope) : undefined;
  if (failure !== undefined) failAll(suite, failure);
  for (const child of failure === undefined ? suite.children : []) {
    if (stops()) break;
    if (child.kind === "suite") await runSuite(child);
    else if (isWanted(child)) await runTest(child);
    else if (settings.filter === "") {
      tell({ kind: "test", names: pathOf(child), ms: 0,
        status: child.mode === "todo" ? "todo" : "skipped" });
    }
  }
  const late = wanted ? await runHooks(suite.hooks.afterAll, scope) : undefined;
  if (late !== undefined) {
    ++failures;
    tell({ kind: "error", text: late.text });
  }
  closeScope(scope);
}

// ---- a file

async function runFile(path) {
  const failure = await attempt(
    { name: "The file", act: () => import(path) }, testScope(), settings.timeoutMs);
  state.closed = true;
  if (failure !== undefined) return tell({ kind: "error", text: failure.text });
  const tests = everyTest(state.root);
  if (tests.length === 0) return tell({ kind: "error", text: "The file declares no test" });
  hasOnly = tests.some((test) => ancestors(test).some(({ mode }) => mode === "only"));
  await runSuite(state.root);
  const { snapshots } = state;
  const isWhole = !hasOnly && settings.filter === "" && !stops();
  snapshots.drop(isWhole);
  tell({ kind: "snapshots", written: snapshots.written, text: snapshots.text(),
    obsolete: isWhole ? snapshots.obsolete : 0 });
}

function run(path, json) {
  settings = JSON.parse(json);
  state.run = true;
  state.snapshots = new Snapshots(settings.snapshots, settings);
  runFile(path).then(testDone, (error) => {
    tell({ kind: "error", text: textOf(error) });
    testDone();
  });
}

return { ended, run, uncaught };
