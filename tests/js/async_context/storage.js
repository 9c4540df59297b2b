// The asynchronous context: AsyncLocalStorage.
import { AsyncLocalStorage, AsyncResource } from "node:async_hooks";
import { AsyncLocalStorage as Same } from "weft:async";

const storage = new AsyncLocalStorage();
const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

test("JS_9 AsyncLocalStorage: is one class by both names", () => {
  assert(Same === AsyncLocalStorage);
});

test("JS_9 AsyncLocalStorage: follows await, timers, microtasks", async () => {
  const seen = [];
  await storage.run("a", async () => {
    seen.push(storage.getStore());
    await null;
    seen.push(storage.getStore());
    await later(2);
    seen.push(storage.getStore());
    await new Promise((resolve) => setImmediate(() => {
      seen.push(storage.getStore());
      queueMicrotask(() => {
        seen.push(storage.getStore());
        resolve();
      });
    }));
  });
  assertEquals(seen, ["a", "a", "a", "a", "a"]);
  assertEquals(storage.getStore(), undefined);
});

test("JS_9 AsyncLocalStorage: two flows do not see each other", async () => {
  const flow = (name) => storage.run(name, async () => {
    for (let i = 0; i < 5; i++) {
      await later(1);
      assertEquals(storage.getStore(), name);
    }
  });
  await Promise.all([flow("x"), flow("y"), flow("z")]);
});

test("JS_9 AsyncLocalStorage: run nests, exit hides, an error restores", () => {
  const other = new AsyncLocalStorage();
  storage.run(1, () => {
    other.run("other", () => {
      storage.run(2, () => assertEquals([storage.getStore(), other.getStore()], [2, "other"]));
      storage.exit(() => assertEquals([storage.getStore(), other.getStore()],
        [undefined, "other"]));
      assertThrows(() => storage.run(3, () => { throw new Error("x"); }), Error);
      assertEquals(storage.getStore(), 1);
    });
    assertEquals(other.getStore(), undefined);
  });
});

test("JS_9 AsyncLocalStorage: bind, snapshot, AsyncResource", () => {
  const [bound, snapshot, resource] = storage.run("kept", () => [
    AsyncLocalStorage.bind(() => storage.getStore()),
    AsyncLocalStorage.snapshot(),
    new AsyncResource("TEST"),
  ]);
  assertEquals(bound(), "kept");
  assertEquals(snapshot((x) => [x, storage.getStore()], 1), [1, "kept"]);
  assertEquals(resource.runInAsyncScope(() => storage.getStore()), "kept");
});

test("JS_9 AsyncLocalStorage: enterWith holds for the rest of the flow", async () => {
  await storage.run("outer", async () => {
    storage.enterWith("inner");
    await null;
    assertEquals(storage.getStore(), "inner");
  });
  assertEquals(storage.getStore(), undefined);
});

test("JS_9 AsyncLocalStorage: is there in a thenable, after it and at an abort", async () => {
  await storage.run("a", async () => {
    let inThen;
    const thenable = {
      then(resolve) {
        inThen = storage.getStore();
        setTimeout(resolve, 1);
      },
    };
    await thenable;
    assertEquals([inThen, storage.getStore()], ["a", "a"]);
    inThen = undefined;
    await Promise.resolve().then(() => thenable);
    assertEquals([inThen, storage.getStore()], ["a", "a"]);
    const controller = new AbortController();
    const seen = new Promise((resolve) => controller.signal.addEventListener("abort",
      () => resolve(storage.getStore())));
    setTimeout(() => controller.abort(), 1);
    assertEquals(await seen, "a");
  });
});
