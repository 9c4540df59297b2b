// JS-18: the module weft:time.
import {
  CancellationController, CancelledError, Deadline, InvalidDeadlineError, Time, TimeoutError,
  TimerDisposedError, delay,
} from "weft:time";

test("JS_18 Time.delay: waits, by number and by text", async () => {
  const start = performance.now();
  await Time.delay(5);
  await delay("5ms");
  assert(performance.now() - start >= 10);
});

test("JS_18 Time.delay: refuses what is no duration", async () => {
  for (const bad of [-1, NaN, "5x", "", 0x1_0000_0000, undefined]) {
    await assertRejects(() => Time.delay(bad), InvalidDeadlineError);
  }
});

test("JS_18 Time.delay: ends by signal and by deadline", async () => {
  const controller = new CancellationController();
  setTimeout(() => controller.cancel("why"), 2);
  const cancelled = await assertRejects(
    () => Time.delay(10_000, { signal: controller.signal }), CancelledError);
  assertEquals(cancelled.reason, "why");
  await assertRejects(() => Time.delay(10_000, { signal: controller.signal }), CancelledError);
  await assertRejects(() => Time.delay(10_000, { deadline: Deadline.after(2) }), TimeoutError);
  await assertRejects(() => Time.delay(1, { deadline: Deadline.after(0) }), TimeoutError);
  await assertRejects(() => Time.delay(10_000, { timeoutMs: 2 }), TimeoutError);
  await Time.delay(1, { deadline: Deadline.never() });
});

test("JS_18 Time.delay: takes an AbortSignal", async () => {
  const controller = new AbortController();
  setTimeout(() => controller.abort(), 2);
  await assertRejects(() => Time.delay(10_000, { signal: controller.signal }), CancelledError);
});

test("JS_18 Time.timeout: the earlier of afterMs and deadline wins", async () => {
  assertEquals(await Time.timeout(async () => 7, { afterMs: 1000 }), 7);
  assertEquals(await Time.timeout(Promise.resolve(8), { afterMs: 1000 }), 8);
  const forever = () => new Promise(() => {});
  await assertRejects(
    () => Time.timeout(forever, { afterMs: 10_000, deadline: Deadline.after(2) }), TimeoutError);
  await assertRejects(() => Time.timeout(forever, {}), InvalidDeadlineError);
  let started = false;
  await assertRejects(() => Time.timeout(() => { started = true; }, { afterMs: 0 }), TimeoutError);
  assertEquals(started, false);
});

test("JS_18 Time.timeout: the operation sees its end", async () => {
  let signal;
  await assertRejects(() => Time.timeout((context) => {
    signal = context.signal;
    return new Promise(() => {});
  }, { afterMs: 2 }), TimeoutError);
  assert(signal.aborted);
});

test("JS_18 Time.interval: ticks; overlapping next() is refused; cancel is done", async () => {
  const seen = [];
  for await (const tick of Time.interval(2, { immediate: true, maxTicks: 3 })) {
    seen.push(tick.index);
    assert(tick.at instanceof Date && tick.scheduledAt instanceof Date);
  }
  assertEquals(seen, [1, 2, 3]);
  const interval = Time.interval(2);
  const first = interval.next();
  await assertRejects(() => interval.next(), Error);
  assertEquals((await first).done, false);
  const controller = new CancellationController();
  const cancelled = Time.interval(10_000, { signal: controller.signal });
  const next = cancelled.next();
  controller.cancel();
  assertEquals((await next).done, true);
});

test("JS_18 Time.every: an error does not stop it; stop waits for the run", async () => {
  const runs = [];
  const job = Time.every(2, (context) => {
    runs.push(context.run);
    throw new Error(`run ${context.run}`);
  }, { maxRuns: 3 });
  while (!job.stopped) await Time.delay(1);
  assertEquals([runs, job.stopped, job.lastError.message], [[1, 2, 3], true, "run 3"]);
  const begun = Promise.withResolvers();
  const release = Promise.withResolvers();
  let ended = false;
  const slow = Time.every(1, async () => {
    begun.resolve();
    await release.promise;
    ended = true;
  }, { immediate: true });
  await begun.promise;
  assertEquals(slow.running, true);
  const stopping = slow.stop();
  assertEquals([ended, slow.stopped, slow.running], [false, true, true]);
  release.resolve();
  await stopping;
  assertEquals([ended, slow.stopped, slow.running], [true, true, false]);
});

test("JS_18 Time.every: skips a run while one is under way", async () => {
  const clock = Time.fakeClock({ now: 0 });
  let release;
  const job = Time.every(10, () => new Promise((resolve) => { release = resolve; }), { clock });
  for (let i = 0; i < 3; i++) {
    clock.advanceBy(10);
    await Time.delay(0);
  }
  assertEquals([job.running, job.skippedRuns], [true, 2]);
  release();
  await job.stop();
  assertThrows(() => Time.every(10, () => {}, { missedRunPolicy: "all" }), InvalidDeadlineError);
});

test("JS_18 Time.fakeClock: time stands until it is moved", async () => {
  const clock = Time.fakeClock({ now: new Date("2026-01-01T00:00:00Z") });
  const order = [];
  const b = Time.delay(20, { clock }).then(() => order.push("b"));
  const a = Time.delay(10, { clock }).then(() => order.push("a"));
  clock.advanceBy(1000);
  await Promise.all([a, b]);
  assertEquals(order, ["a", "b"]);
  assertEquals(clock.now().toISOString(), "2026-01-01T00:00:01.000Z");
  assertEquals(clock.monotonicNowMs(), 1000);
  const left = Time.delay(10, { clock });
  clock.dispose();
  await assertRejects(() => left, TimerDisposedError);
  assertThrows(() => clock.advanceBy(1), TimerDisposedError);
});

test("JS_18 CancellationController: first reason, linked, timeout, an AbortSignal", async () => {
  const a = new CancellationController();
  const linked = CancellationController.linked(a.signal, new AbortController().signal);
  a.cancel("first");
  a.cancel("second");
  assertEquals([linked.signal.cancelled, linked.signal.reason], [true, "first"]);
  assertThrows(() => linked.signal.throwIfCancelled(), CancelledError);
  assert(a.signal instanceof AbortSignal);
  const timed = CancellationController.timeout(2);
  await Time.delay(10);
  assert(timed.signal.reason instanceof TimeoutError);
});

test("JS_18 Time.interval: timeoutMs ends it, all in all", async () => {
  const clock = Time.fakeClock({ now: 0 });
  const interval = Time.interval(10, { clock, timeoutMs: 25 });
  const next = async () => {
    const ticked = interval.next();
    ticked.catch(() => {});
    await clock.advanceByAsync(10);
    return ticked;
  };
  assertEquals([(await next()).value.index, (await next()).value.index], [1, 2]);
  await assertRejects(next, TimeoutError);
  assertEquals((await interval.next()).done, true);
});

test("JS_18 Time.every: timeoutMs ends it", async () => {
  const clock = Time.fakeClock({ now: 0 });
  let runs = 0;
  const job = Time.every(10, () => { ++runs; }, { clock, timeoutMs: 25 });
  await clock.advanceByAsync(100);
  assertEquals([runs, job.stopped], [2, true]);
});

test("JS_18 Time.fakeClock: advanceByAsync lets what it wakes set timers in turn", async () => {
  const clock = Time.fakeClock({ now: 0 });
  const seen = [];
  const job = Time.every("1m", () => { seen.push(clock.monotonicNowMs() / 60_000); }, { clock });
  await clock.advanceByAsync("1h");
  assertEquals([seen.length, seen[0], seen[59], job.skippedRuns], [60, 1, 60, 0]);
  assertEquals(clock.monotonicNowMs(), 3_600_000);
  await job.stop();
  // A chain of waits, begun only after it was called.
  const chain = (async () => {
    await null;
    for (let i = 0; i < 3; i++) await Time.delay(10, { clock });
    return clock.monotonicNowMs();
  })();
  await clock.advanceByAsync(40);
  assertEquals([await chain, clock.monotonicNowMs()], [3_600_030, 3_600_040]);
  const moved = clock.advanceByAsync(10);
  clock.dispose();
  await moved;
  await assertRejects(() => clock.advanceByAsync(1), TimerDisposedError);
});

test("JS_18 Time.timeout: an error that comes late is reported", async () => {
  const reports = [];
  const listener = (event) => {
    event.preventDefault();
    reports.push(event.error.message);
  };
  addEventListener("error", listener);
  const late = Promise.withResolvers();
  const owned = Promise.withResolvers();
  await assertRejects(() => Time.timeout(() => late.promise, { afterMs: 1 }), TimeoutError);
  await assertRejects(
    () => Time.timeout(({ signal }) => Time.delay("1h", { signal }), { afterMs: 1 }), TimeoutError);
  await assertRejects(() => Time.timeout(owned.promise, { afterMs: 1 }), TimeoutError);
  late.reject(new Error("late error"));
  owned.reject(new Error("of whoever has the promise"));
  await Time.delay(0);
  removeEventListener("error", listener);
  assertEquals(reports, ["late error"]);
});
