// WRK-4: cancellation, also under the names that workers have for it.
import {
  CancellationController, CancellationSignal, CancelledError, Time, WorkerCancellationController,
  WorkerCancellationSignal,
} from "weft:time";

test("WRK_4 the names of workers are the same classes", () => {
  assertEquals(WorkerCancellationController === CancellationController, true);
  assertEquals(WorkerCancellationSignal === CancellationSignal, true);
  const { signal } = new WorkerCancellationController();
  assert(signal instanceof WorkerCancellationSignal);
  assertEquals([signal.cancelled, signal.aborted, signal.reason], [false, false, undefined]);
});

test("WRK_4 the first reason is kept and the end is told once", () => {
  const controller = new WorkerCancellationController();
  const { signal } = controller;
  let told = 0;
  const removed = () => { told += 100; };
  signal.addEventListener("abort", () => { ++told; });
  signal.addEventListener("abort", removed);
  signal.removeEventListener("abort", removed);
  controller.cancel("first");
  controller.cancel("second");
  assertEquals([signal.cancelled, signal.aborted, signal.reason, told], [true, true, "first", 1]);
  signal.addEventListener("abort", () => { ++told; });
  controller.cancel();
  assertEquals(told, 1);
  const error = assertThrows(() => signal.throwIfCancelled(), CancelledError);
  assertEquals(error.reason, "first");
  const plain = new WorkerCancellationController();
  plain.cancel();
  assert(plain.signal.reason instanceof CancelledError);
});

test("WRK_4 one model with AbortSignal, in both directions", async () => {
  const controller = new WorkerCancellationController();
  assert(controller.signal instanceof AbortSignal);
  const any = AbortSignal.any([controller.signal]);
  const target = new EventTarget();
  let heard = 0;
  target.addEventListener("x", () => { ++heard; }, { signal: controller.signal });
  target.dispatchEvent(new Event("x"));
  controller.cancel("over");
  target.dispatchEvent(new Event("x"));
  assertEquals([any.aborted, any.reason, heard], [true, "over", 1]);

  const web = new AbortController();
  const linked = WorkerCancellationController.linked(web.signal);
  const waiting = assertRejects(() => Time.delay(10_000, { signal: web.signal }), CancelledError);
  web.abort("gone");
  assertEquals([linked.signal.cancelled, linked.signal.reason], [true, "gone"]);
  assertEquals((await waiting).reason, "gone");
});
