// SC-7: Pool as weft/async/pool_test.cpp has it.
import { Pool } from "weft:async";
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

// A pool with no room left, and what ends its one running job.
function fullPool(options) {
  const held = Promise.withResolvers();
  const pool = new Pool({ workers: 1, queueSize: 1, ...options });
  pool.trySubmit(() => held.promise);
  pool.trySubmit(() => {});
  return { pool, release: held.resolve };
}

test("SC_7 Pool: nil is checked before closed, and closed before full", async () => {
  const { pool, release } = fullPool();
  assertThrows(() => pool.trySubmit(), "AsyncError", "async: job function is nil");
  assertThrows(() => pool.trySubmit(never), "AsyncError", "async: pool queue is full");
  const closing = pool.close();
  assertThrows(() => pool.trySubmit(never), "AsyncError", "async: pool is closed");
  assertThrows(() => pool.trySubmit(), "AsyncError", "async: job function is nil");
  assertEquals(await textOf(() => pool.submit()), "async: job function is nil");
  assertEquals(await textOf(() => pool.submitFor(1)), "async: job function is nil");
  release();
  await closing;
});

test("SC_7 Pool: the end of the caller is checked before closed", async () => {
  const pool = new Pool({ workers: 1, queueSize: 1 });
  await pool.close();
  const ended = new CancellationController();
  ended.cancel();
  assertEquals(await textOf(() => pool.submit(never, { signal: ended.signal })),
    "context canceled");
  assertEquals(await textOf(() => pool.submit(never, { timeoutMs: 0 })),
    "context deadline exceeded");
  assertEquals(await textOf(() => pool.submitFor(0, never)), "async: timeout");
  assertEquals(await textOf(() => pool.submitFor(-1, never)), "async: timeout");
  assertEquals(await textOf(() => pool.submit(never)), "async: pool is closed");
  assertEquals(await textOf(() => pool.submitFor("1h", never)), "async: pool is closed");
});

test("SC_7 Pool: submit ends with its context and has taken no place", async () => {
  const { pool, release } = fullPool();
  const controller = new CancellationController();
  const waiting = textOf(() => pool.submit(never, { signal: controller.signal }));
  controller.cancel();
  assertEquals(await waiting, "context canceled");
  release();
  await pool.submit(() => {});
  await pool.close();
});

test("SC_7 Pool: submitFor times out by the pool's clock and has taken no place", async () => {
  const clock = Time.fakeClock({ now: 0 });
  const { pool, release } = fullPool({ clock });
  const waiting = textOf(() => pool.submitFor("1h", never));
  await clock.advanceByAsync("59m");
  assertEquals(await Promise.race([waiting, Time.delay(0).then(() => "waits")]), "waits");
  await clock.advanceByAsync("1m");
  assertEquals(await waiting, "async: timeout");
  const other = Time.fakeClock({ now: 0 });
  const ended = textOf(() => pool.submit(never, { clock: other, timeoutMs: 5 }));
  await other.advanceByAsync(5);
  assertEquals(await ended, "context deadline exceeded");
  const disposed = textOf(() => pool.submit(never, { clock: other, timeoutMs: 5 }));
  other.dispose();
  assertEquals(await disposed, "The timer was disposed.");
  release();
  await pool.close();
});

test("SC_7 Pool: the context of submit bounds the admission only", async () => {
  const pool = new Pool({ workers: 1, queueSize: 1 });
  const controller = new CancellationController();
  const release = Promise.withResolvers();
  let aborted;
  await pool.submit(async ({ signal }) => {
    await release.promise;
    aborted = signal.aborted;
  }, { signal: controller.signal });
  controller.cancel();
  release.resolve();
  await pool.close();
  assertEquals(aborted, false);
});

test("SC_7 Pool: an error neither cancels nor drops other jobs", async () => {
  const pool = new Pool({ workers: 1, queueSize: 3 });
  const seen = [];
  pool.trySubmit(() => { throw new Error("first"); });
  pool.trySubmit(() => { throw new Error("second"); });
  pool.trySubmit(({ signal }) => { seen.push(signal.aborted); });
  assertEquals(await textOf(() => pool.close()), "first");
  assertEquals([seen, pool.signal.aborted], [[false], true]);
});

test("SC_7 Pool: queued jobs still run after the end of the parent, and see it", async () => {
  const parent = new CancellationController();
  const pool = new Pool({ workers: 1, queueSize: 2, signal: parent.signal });
  const release = Promise.withResolvers();
  const seen = [];
  pool.trySubmit(() => release.promise);
  pool.trySubmit((context) => { seen.push(context.error?.message); });
  parent.cancel();
  release.resolve();
  await pool.close();
  assertEquals(seen, ["context canceled"]);
});
