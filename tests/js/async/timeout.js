// SC-7: withTimeout as weft/async/timeout_test.cpp has it.
import { withTimeout } from "weft:async";
import { CancellationController, Time } from "weft:time";

const textOf = async (act) => {
  try {
    await act();
    return "";
  } catch (error) {
    return error.message;
  }
};
const never = () => { throw new Error("must not run"); };
const endOf = (signal) => new Promise((resolve) => signal.addEventListener("abort", resolve));
const heed = async (context) => {
  await endOf(context.signal);
  context.check();
};
// Computes until the time is over, without a look at its context.
const pass = (ms) => {
  const until = performance.now() + ms;
  while (performance.now() < until) ;
};

// What is reported while the function runs.
async function reportsOf(act) {
  const texts = [];
  const listener = (event) => {
    event.preventDefault();
    texts.push(event.error.message);
  };
  addEventListener("error", listener);
  try {
    await act();
    await Time.delay(0);
  } finally {
    removeEventListener("error", listener);
  }
  return texts;
}

test("SC_7 withTimeout: refuses a nil job before all else, then an ended parent", async () => {
  const ended = new CancellationController();
  ended.cancel();
  const { signal } = ended;
  assertEquals(await textOf(() => withTimeout(0, undefined, { signal })),
    "async: job function is nil");
  for (const ms of [1000, 0, -1]) {
    assertEquals(await textOf(() => withTimeout(ms, never, { signal })), "context canceled");
    assertEquals(await textOf(() => withTimeout(ms, never, { timeoutMs: 0 })),
      "context deadline exceeded");
  }
  for (const ms of [0, -1]) {
    assertEquals(await textOf(() => withTimeout(ms, never)), "async: timeout");
  }
});

test("SC_7 withTimeout: the error of a job in time is unchanged", async () => {
  for (const text of ["job failed", "context deadline exceeded", "async: timeout"]) {
    assertEquals(await textOf(() => withTimeout("1h", () => { throw new Error(text); })), text);
  }
});

test("SC_7 withTimeout: the context ends with the call", async () => {
  let context;
  await withTimeout("1h", (given) => { context = given; });
  assertThrows(() => context.check(), "AsyncError", "context canceled");
});

test("SC_7 withTimeout: the earlier deadline counts, by the clock of the options", async () => {
  for (const [own, parent, text] of [
    ["1m", "1h", "async: timeout"],
    ["1m", "1m", "async: timeout"],
    ["1h", "1m", "context deadline exceeded"],
  ]) {
    const clock = Time.fakeClock({ now: 0 });
    const waiting = textOf(() => withTimeout(own, heed, { clock, timeoutMs: parent }));
    await clock.advanceByAsync("59s");
    assertEquals(await Promise.race([waiting, Time.delay(0).then(() => "waits")]), "waits");
    await clock.advanceByAsync("1s");
    assertEquals(await waiting, text);
  }
});

test("SC_7 withTimeout: a result after the end of the parent is an error", async () => {
  for (const fails of [false, true]) {
    const reports = await reportsOf(async () => {
      assertEquals(await textOf(() => withTimeout("1h", () => {
        pass(200);
        if (fails) throw new Error("not seen");
        return 1;
      }, { timeoutMs: 150 })), "context deadline exceeded");
    });
    assertEquals(reports, fails ? ["not seen"] : []);
  }
  const parent = new CancellationController();
  assertEquals(await textOf(() => withTimeout("1h", () => {
    parent.cancel();
    return 1;
  }, { signal: parent.signal })), "context canceled");
});

test("SC_7 withTimeout: an error that comes late is reported, the end of its context is not", async () => {
  const late = Promise.withResolvers();
  const reports = await reportsOf(async () => {
    assertEquals(await textOf(() => withTimeout(1, () => late.promise)), "async: timeout");
    assertEquals(await textOf(() => withTimeout(1, heed)), "async: timeout");
    late.reject(new Error("late error"));
  });
  assertEquals(reports, ["late error"]);
});
