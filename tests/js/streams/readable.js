// JS-9, JS-10: ReadableStream.

async function collect(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

test("JS_10 ReadableStream: chunks enqueued and closed in start() arrive", async () => {
  const stream = new ReadableStream({
    start(controller) {
      controller.enqueue("a");
      controller.enqueue("b");
      controller.close();
    },
  });
  const reader = stream.getReader();
  assertEquals(await reader.read(), { value: "a", done: false });
  assertEquals(await reader.read(), { value: "b", done: false });
  assertEquals(await reader.read(), { value: undefined, done: true });
  await reader.closed;
});

test("JS_10 ReadableStream: tee feeds both branches, at their own pace", async () => {
  let next = 0;
  const stream = new ReadableStream({
    pull(controller) {
      controller.enqueue(next++);
      if (next === 5) controller.close();
    },
  });
  const [first, second] = stream.tee();
  assert(stream.locked);
  assertEquals(await collect(first), [0, 1, 2, 3, 4]);
  assertEquals(await collect(second), [0, 1, 2, 3, 4]);
});

test("JS_10 ReadableStream: tee cancels its source when both branches are cancelled", async () => {
  let reason;
  const stream = new ReadableStream({ cancel(given) { reason = given; } });
  const [first, second] = stream.tee();
  const cancelled = first.cancel("one");
  await Promise.resolve();
  assertEquals(reason, undefined);
  await Promise.all([cancelled, second.cancel("two")]);
  assertEquals(reason, ["one", "two"]);
});

test("JS_9 ReadableStream: pull is called as long as the queue is below its mark", async () => {
  let pulls = 0;
  const stream = new ReadableStream({
    pull(controller) { controller.enqueue(pulls++); },
  }, { highWaterMark: 3 });
  await new Promise((resolve) => setTimeout(resolve, 0));
  assertEquals(pulls, 3);
  await stream.getReader().read();
  await new Promise((resolve) => setTimeout(resolve, 0));
  assertEquals(pulls, 4);
});

test("JS_9 ReadableStream: an error reaches the reads that wait and those that come", async () => {
  let controller;
  const stream = new ReadableStream({ start(given) { controller = given; } });
  const reader = stream.getReader();
  const waiting = reader.read();
  controller.error(new RangeError("broken"));
  await assertRejects(() => waiting, RangeError);
  await assertRejects(() => reader.read(), RangeError);
  await assertRejects(() => reader.closed, RangeError);
});

test("JS_9 ReadableStream: leaving a loop early cancels, unless told otherwise", async () => {
  let cancelled = 0;
  const make = () => new ReadableStream({
    pull(controller) { controller.enqueue(1); },
    cancel() { cancelled++; },
  });
  for await (const chunk of make()) if (chunk) break;
  assertEquals(cancelled, 1);
  const kept = make();
  for await (const chunk of kept.values({ preventCancel: true })) if (chunk) break;
  assertEquals([cancelled, kept.locked], [1, false]);
});

test("JS_9 ReadableStream.from: arrays, generators, and its return() on cancel", async () => {
  assertEquals(await collect(ReadableStream.from([1, Promise.resolve(2)])), [1, 2]);
  let returned = false;
  async function* numbers() {
    try {
      for (let i = 0;; i++) yield i;
    } finally {
      returned = true;
    }
  }
  const reader = ReadableStream.from(numbers()).getReader();
  assertEquals((await reader.read()).value, 0);
  await reader.cancel();
  assert(returned);
  assertThrows(() => ReadableStream.from(7), TypeError);
});

test("JS_9 ReadableStream: a released reader rejects what it waited for", async () => {
  const stream = new ReadableStream();
  const reader = stream.getReader();
  const waiting = reader.read();
  reader.releaseLock();
  await assertRejects(() => waiting, TypeError);
  assertEquals(stream.locked, false);
  assertThrows(() => new ReadableStreamDefaultReader({}), TypeError);
});

test("JS_9 byte streams: BYOB reads fill the given view and keep the rest", async () => {
  const stream = new ReadableStream({
    type: "bytes",
    start(controller) {
      controller.enqueue(new Uint8Array([1, 2, 3, 4, 5]));
      controller.close();
    },
  });
  const reader = stream.getReader({ mode: "byob" });
  const view = new Uint8Array(3);
  const first = await reader.read(view);
  assertEquals([...first.value], [1, 2, 3]);
  assertEquals(view.byteLength, 0);
  const second = await reader.read(new Uint8Array(3));
  assertEquals([...second.value], [4, 5]);
  const last = await reader.read(new Uint8Array(3));
  assertEquals([last.done, last.value.byteLength], [true, 0]);
});

test("JS_9 byte streams: a source fills the reader's own memory by byobRequest", async () => {
  const stream = new ReadableStream({
    type: "bytes",
    pull(controller) {
      const { view } = controller.byobRequest;
      view[0] = 9;
      controller.byobRequest.respond(1);
    },
  });
  const reader = stream.getReader({ mode: "byob" });
  assertEquals([...(await reader.read(new Uint8Array(4))).value], [9]);
  const three = await reader.read(new Uint8Array(4), { min: 3 });
  assertEquals([...three.value], [9, 9, 9]);
});

test("JS_10 byte streams: tee gives each branch its own bytes", async () => {
  const stream = new ReadableStream({
    type: "bytes",
    start(controller) {
      controller.enqueue(new Uint8Array([1, 2]));
      controller.close();
    },
  });
  const [first, second] = stream.tee();
  const [a] = await collect(first);
  a[0] = 7;
  const [b] = await collect(second);
  assertEquals([...b], [1, 2]);
});
