// JS-9: streams that are transferred.

function moved(stream) {
  return structuredClone(stream, { transfer: [stream] });
}

test("JS_9 structuredClone: a readable stream goes on elsewhere, its chunks cloned", async () => {
  const chunk = { text: "one" };
  const source = ReadableStream.from([chunk, "two"]);
  const stream = moved(source);
  assert(source.locked && !stream.locked && stream !== source);
  const chunks = [];
  for await (const each of stream) chunks.push(each);
  assertEquals(chunks, [{ text: "one" }, "two"]);
  assert(chunks[0] !== chunk);
  assertThrows(() => moved(source), "DataCloneError");
  assertThrows(() => structuredClone(new ReadableStream()), "DataCloneError");
});

test("JS_9 structuredClone: a subclass of ReadableStream arrives as ReadableStream", () => {
  class Own extends ReadableStream {}
  assertEquals(Object.getPrototypeOf(moved(new Own())), ReadableStream.prototype);
});

test("JS_9 structuredClone: a transferred stream is pulled no more than it is read", async () => {
  let pulls = 0;
  const stream = moved(new ReadableStream({
    pull(controller) {
      controller.enqueue(++pulls);
    },
  }, { highWaterMark: 0 }));
  const reader = stream.getReader();
  assertEquals((await reader.read()).value, 1);
  assertEquals((await reader.read()).value, 2);
  assert(pulls <= 4, `${pulls} pulls for two reads`);
});

test("JS_9 structuredClone: cancelling and failing reach the other side", async () => {
  let cancelled;
  const stream = moved(new ReadableStream({ cancel: (reason) => (cancelled = reason) }));
  await stream.cancel("enough");
  assertEquals(cancelled, "enough");
  const failing = moved(new ReadableStream({ start: (c) => c.error(new TypeError("broken")) }));
  await assertRejects(() => failing.getReader().read(), TypeError);
  const strange = moved(ReadableStream.from([() => {}]));
  await assertRejects(() => strange.getReader().read(), "DataCloneError");
});

test("JS_9 structuredClone: a writable stream takes chunks from elsewhere", async () => {
  const written = [];
  let closed = false;
  const sink = new WritableStream({
    write: (chunk) => void written.push(chunk),
    close: () => void (closed = true),
  });
  const writer = moved(sink).getWriter();
  const chunk = [1];
  await writer.write(chunk);
  await writer.write("two");
  await writer.close();
  assertEquals([written, closed], [[[1], "two"], true]);
  assert(written[0] !== chunk && sink.locked);
  assertThrows(() => moved(new TransformStream()), "DataCloneError");
});
