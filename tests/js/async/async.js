// SC-7: the module weft:async, with the texts of C++.
import { Group, Pool, Task, every, startEvery, withTimeout } from "weft:async";
import { CancellationController, Time } from "weft:time";

const failure = (text) => async () => {
  await Time.delay(1);
  throw new Error(text);
};

test("SC_7 Group: waits for all, gives the first error, cancels the others", async () => {
  const group = new Group({ collectErrors: true, maxErrors: 5 });
  let cancelled = false;
  group.go(failure("first"));
  group.go(async ({ signal }) => {
    try {
      await Time.delay(10_000, { signal });
    } catch (error) {
      cancelled = true;
      throw error;
    }
  });
  await assertRejects(() => group.wait(), Error, "first");
  assertEquals([cancelled, group.errors().length], [true, 2]);
  await assertRejects(() => group.wait(), Error, "async: group wait was already called");
  assertThrows(() => group.go(() => {}), Error,
    "async: group does not accept new tasks after wait starts");
});

test("SC_7 Group: fine with no job; refuses what is none", async () => {
  const group = new Group();
  assertThrows(() => group.go(), Error, "async: job function is nil");
  await group.wait();
  assertThrows(() => new Group({ collectErrors: true }), Error,
    "async: group max_errors must be positive");
});

test("SC_7 Task: its value, once", async () => {
  const task = Task.run(async () => 5);
  await Time.delay(2);
  assertEquals(await task.wait(), 5);
  await assertRejects(() => task.wait(), Error, "async: task wait was already called");
  await assertRejects(() => Task.run(failure("lost")).wait(), Error, "lost");
});

test("SC_7 Pool: so many at once, so many queued, not one more", async () => {
  assertThrows(() => new Pool({ workers: 0, queueSize: 0 }), Error,
    "async: pool worker count must be positive");
  assertThrows(() => new Pool({ workers: 1, queueSize: 0 }), Error,
    "async: pool queue size must be positive");
  const pool = new Pool({ workers: 2, queueSize: 1 });
  let running = 0;
  let most = 0;
  const order = [];
  const full = Promise.withResolvers();
  const job = (name) => async () => {
    most = Math.max(most, ++running);
    await full.promise;
    running--;
    order.push(name);
  };
  for (const name of [1, 2, 3]) pool.trySubmit(job(name));
  assertThrows(() => pool.trySubmit(job(0)), Error, "async: pool queue is full");
  await assertRejects(() => pool.submitFor(1, job(0)), Error, "async: timeout");
  full.resolve();
  await pool.submit(job(4));
  await pool.close();
  assertEquals([most, order], [2, [1, 2, 3, 4]]);
  assertThrows(() => pool.trySubmit(job(0)), Error, "async: pool is closed");
  await assertRejects(() => pool.wait(), Error, "async: pool wait was already called");
});

test("SC_7 Pool: close wakes who waits for room; the first error", async () => {
  const pool = new Pool({ workers: 1, queueSize: 1 });
  pool.trySubmit(failure("one"));
  pool.trySubmit(failure("two"));
  const waiting = pool.submit(() => {});
  const closing = pool.close();
  await assertRejects(() => waiting, Error, "async: pool is closed");
  await assertRejects(() => closing, Error, "one");
});

test("SC_7 every: after each interval, until an error", async () => {
  let count = 0;
  const start = performance.now();
  await assertRejects(() => every(3, () => {
    if (++count === 3) throw new Error("stop");
  }), Error, "stop");
  assert(performance.now() - start >= 9);
  await assertRejects(() => every(0, () => {}), Error, "async: interval must be positive");
  const controller = new CancellationController();
  setTimeout(() => controller.cancel(), 5);
  await assertRejects(
    () => every(2, () => {}, { signal: controller.signal }), Error, "context canceled");
});

test("SC_7 startEvery: stop may be repeated, wait may not", async () => {
  let count = 0;
  const handle = startEvery(1, () => { count++; });
  await Time.delay(10);
  handle.stop();
  handle.stop();
  await handle.wait();
  assert(count > 0);
  await assertRejects(() => handle.wait(), Error, "async: periodic wait was already called");
});

test("SC_7 withTimeout: the job's own outcome in time, `async: timeout` otherwise", async () => {
  assertEquals(await withTimeout("1h", () => 4), 4);
  await assertRejects(() => withTimeout("1h", failure("own")), Error, "own");
  await assertRejects(() => withTimeout(2, () => Time.delay(50)), Error, "async: timeout");
  let started = false;
  await assertRejects(
    () => withTimeout(0, () => { started = true; }), Error, "async: timeout");
  assertEquals(started, false);
  await assertRejects(() => withTimeout(50, () => Time.delay(100), { timeoutMs: 2 }), Error,
    "context deadline exceeded");
});

test("SC_7 withTimeout: a job that ends at its deadline or later is late", async () => {
  await assertRejects(() => withTimeout(2, () => {
    const until = performance.now() + 4;
    while (performance.now() < until) ;
    return "too late";
  }), Error, "async: timeout");
});

test("SC_7 kinds of errors are those of C++", async () => {
  const kindOf = async (act) => {
    try {
      await act();
    } catch (error) {
      return error.kind;
    }
  };
  const ended = new CancellationController();
  ended.cancel();
  const pool = new Pool({ workers: 1, queueSize: 1 });
  const held = Promise.withResolvers();
  pool.trySubmit(() => held.promise);
  pool.trySubmit(() => {});
  assertEquals([
    await kindOf(() => Task.run()),
    await kindOf(() => pool.trySubmit(() => {})),
    await kindOf(() => pool.submit(() => {}, { signal: ended.signal })),
    await kindOf(() => withTimeout(0, () => {})),
  ], ["Misuse", "Limit", "Cancelled", "TimedOut"]);
  held.resolve();
  await pool.close();
  assertEquals(await kindOf(() => pool.submit(() => {})), "Closed");
});

test("SC_7 an error that nobody waited for is reported", async () => {
  let reported;
  const listener = (event) => {
    event.preventDefault();
    reported = event.error;
  };
  addEventListener("error", listener);
  (() => new Group().go(() => { throw new Error("of nobody"); }))();
  // Memory that lives for a while and is thrown away makes the collector look at all that is old.
  let kept = [];
  for (let round = 0; round < 3000 && reported === undefined; ++round) {
    for (let i = 0; i < 100; ++i) kept.push(new Array(1000).fill(round));
    if (kept.length > 2000) kept = [];
    await Time.delay(1);
  }
  removeEventListener("error", listener);
  assertEquals(reported?.message, "of nobody");
});
