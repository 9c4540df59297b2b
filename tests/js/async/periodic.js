// SC-7: every and startEvery as weft/async/periodic_test.cpp has them, on a clock that is moved.
import { every, startEvery, withTimeout } from "weft:async";
import { CancellationController, Deadline, Time } from "weft:time";

const textOf = async (act) => {
  try {
    await act();
    return "";
  } catch (error) {
    return error.message;
  }
};
const never = () => { throw new Error("must not run"); };
const endOf = (signal) => new Promise((resolve) => {
  if (signal.aborted) resolve();
  else signal.addEventListener("abort", resolve);
});

test("SC_7 every: checks the interval, then nil, then the context", async () => {
  const ended = new CancellationController();
  ended.cancel();
  const { signal } = ended;
  for (const interval of [0, -1, "0s"]) {
    for (const start of [every, startEvery]) {
      assertEquals(await textOf(() => start(interval, undefined, { signal })),
        "async: interval must be positive");
    }
  }
  for (const start of [every, startEvery]) {
    assertEquals(await textOf(() => start(1, undefined, { signal })), "async: job function is nil");
    assertEquals(await textOf(() => start(1, never, { signal })), "context canceled");
    assertEquals(await textOf(() => start(1, never, { timeoutMs: 0 })),
      "context deadline exceeded");
  }
  assertThrows(() => startEvery(1, never, { signal }), "AsyncError", "context canceled");
});

test("SC_7 every: the first run after one interval, the next one after the end of a run", async () => {
  const clock = Time.fakeClock({ now: 0 });
  const begun = [];
  const loop = textOf(() => every(10, async () => {
    begun.push(clock.monotonicNowMs());
    await clock.delay(25);
    if (begun.length === 3) throw new Error("enough");
  }, { clock }));
  await clock.advanceByAsync(200);
  assertEquals([await loop, begun], ["enough", [10, 45, 80]]);
});

test("SC_7 every: the end of the context between runs and during one", async () => {
  const between = new CancellationController();
  const loop = textOf(() => every("1h", never, { signal: between.signal }));
  between.cancel();
  assertEquals(await loop, "context canceled");
  const during = new CancellationController();
  let runs = 0;
  assertEquals(await textOf(() => every(1, () => {
    ++runs;
    during.cancel();
  }, { signal: during.signal })), "context canceled");
  assertEquals(runs, 1);
});

test("SC_7 every: a deadline stops it, by the clock of the options", async () => {
  const clock = Time.fakeClock({ now: 0 });
  let runs = 0;
  const loop = textOf(() => every("1m", () => { ++runs; }, {
    clock, deadline: Deadline.after("210s", { clock }),
  }));
  await clock.advanceByAsync("5m");
  assertEquals([await loop, runs], ["context deadline exceeded", 3]);
});

test("SC_7 every: the error of a job is unchanged", async () => {
  const controller = new CancellationController();
  assertEquals(await textOf(() => every(1, () => {
    controller.cancel();
    throw new Error("periodic failed");
  }, { signal: controller.signal })), "periodic failed");
});

test("SC_7 startEvery: stop before the first run and between runs", async () => {
  const before = startEvery("1h", never);
  before.stop();
  await before.wait();
  const clock = Time.fakeClock({ now: 0 });
  let runs = 0;
  const handle = startEvery(10, () => { ++runs; }, { clock });
  await clock.advanceByAsync(35);
  handle.stop();
  await handle.wait();
  await clock.advanceByAsync(100);
  assertEquals(runs, 3);
});

test("SC_7 startEvery: wait waits for a run under way", async () => {
  const entered = Promise.withResolvers();
  const release = Promise.withResolvers();
  let finished = false;
  const handle = startEvery(1, async ({ signal }) => {
    entered.resolve();
    await release.promise;
    finished = signal.aborted;
  });
  await entered.promise;
  handle.stop();
  release.resolve();
  await handle.wait();
  assert(finished);
});

test("SC_7 startEvery: an error of the job counts after stop, whatever its text", async () => {
  const entered = Promise.withResolvers();
  const handle = startEvery(1, async (context) => {
    entered.resolve();
    await endOf(context.signal);
    context.check();
  });
  await entered.promise;
  handle.stop();
  assertEquals(await textOf(() => handle.wait()), "context canceled");
});

test("SC_7 startEvery: the end of the parent counts unless stop came first", async () => {
  const parent = new CancellationController();
  const begin = () => startEvery("1h", never, { signal: parent.signal });
  const [alone, before, after] = [begin(), begin(), begin()];
  before.stop();
  parent.cancel();
  after.stop();
  assertEquals(await textOf(() => alone.wait()), "context canceled");
  assertEquals(await textOf(() => before.wait()), "");
  assertEquals(await textOf(() => after.wait()), "context canceled");
});

test("SC_7 startEvery: stop again after wait", async () => {
  const handle = startEvery("1h", never);
  handle.stop();
  handle.stop();
  await handle.wait();
  assertEquals(await textOf(() => handle.wait()), "async: periodic wait was already called");
  handle.stop();
});

test("SC_7 a context can be passed on with its clock", async () => {
  const clock = Time.fakeClock({ now: 0 });
  const waiting = textOf(() => withTimeout("1h", (context) => Time.delay("2h", context), { clock }));
  await clock.advanceByAsync("1h");
  assertEquals(await waiting, "async: timeout");
});
