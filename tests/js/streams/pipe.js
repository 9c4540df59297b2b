// JS-9, JS-10: WritableStream, TransformStream and pipes.

function source(chunks) {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
}

const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

test("JS_10 WritableStream: an asynchronous sink sees one chunk at a time, in order", async () => {
  const seen = [];
  let writing = 0;
  const writer = new WritableStream({
    async write(chunk) {
      assertEquals(++writing, 1);
      await later(chunk === 0 ? 5 : 0);
      seen.push(chunk);
      writing--;
    },
    close() { seen.push("closed"); },
  }).getWriter();
  for (let i = 0; i < 5; i++) writer.write(i);
  await writer.close();
  assertEquals(seen, [0, 1, 2, 3, 4, "closed"]);
});

test("JS_9 WritableStream: ready and desiredSize show back-pressure", async () => {
  let release;
  const writer = new WritableStream({
    write() { return new Promise((resolve) => { release = resolve; }); },
  }, { highWaterMark: 2 }).getWriter();
  await writer.ready;
  assertEquals(writer.desiredSize, 2);
  writer.write("a");
  writer.write("b");
  assertEquals(writer.desiredSize, 0);
  let ready = false;
  writer.ready.then(() => { ready = true; });
  await later(0);
  assertEquals(ready, false);
  release();
  await writer.ready;
  assertEquals(writer.desiredSize, 1);
});

test("JS_9 WritableStream: abort stops the chunks that wait and tells the sink", async () => {
  const seen = [];
  const stream = new WritableStream({
    write(chunk, controller) {
      controller.signal.addEventListener("abort", () => seen.push("signal"));
      seen.push(chunk);
      return later(1);
    },
    abort(reason) { seen.push(reason); },
  });
  const writer = stream.getWriter();
  await writer.ready;
  writer.write(1).catch(() => {});
  const second = writer.write(2);
  second.catch(() => {});
  await writer.abort("why");
  assertEquals(seen, [1, "signal", "why"]);
  await assertRejects(() => second);
});

test("JS_9 WritableStream: a sink that fails fails what follows", async () => {
  const writer = new WritableStream({
    write() { throw new RangeError("full"); },
  }).getWriter();
  await assertRejects(() => writer.write(1), RangeError);
  await assertRejects(() => writer.closed, RangeError);
  await assertRejects(() => writer.write(2), RangeError);
});

test("JS_9 pipeTo: all chunks, then close; both ends are unlocked", async () => {
  const seen = [];
  const from = source(["a", "b", "c"]);
  const to = new WritableStream({
    write(chunk) { seen.push(chunk); },
    close() { seen.push("closed"); },
  });
  await from.pipeTo(to);
  assertEquals(seen, ["a", "b", "c", "closed"]);
  assertEquals([from.locked, to.locked], [false, false]);
});

test("JS_9 pipeTo: errors go forward and backward", async () => {
  let reason;
  const broken = new ReadableStream({ pull() { throw new RangeError("source"); } });
  await assertRejects(
    () => broken.pipeTo(new WritableStream({ abort(given) { reason = given; } })), RangeError);
  assertEquals(reason.message, "source");
  const from = new ReadableStream({
    pull(controller) { controller.enqueue(1); },
    cancel(given) { reason = given; },
  });
  await assertRejects(
    () => from.pipeTo(new WritableStream({ write() { throw new RangeError("sink"); } })),
    RangeError);
  assertEquals(reason.message, "sink");
});

test("JS_9 pipeTo: a signal stops it and both ends hear why", async () => {
  const controller = new AbortController();
  const heard = [];
  const from = new ReadableStream({ cancel(reason) { heard.push(["cancel", reason]); } });
  const to = new WritableStream({ abort(reason) { heard.push(["abort", reason]); } });
  const piped = from.pipeTo(to, { signal: controller.signal });
  controller.abort("stop");
  assertEquals(await piped.catch((reason) => reason), "stop");
  assertEquals(heard, [["abort", "stop"], ["cancel", "stop"]]);
});

test("JS_9 pipeTo: write() is never called within enqueue()", async () => {
  let controller;
  const seen = [];
  const from = new ReadableStream({ start(given) { controller = given; } });
  const piped = from.pipeTo(new WritableStream({ write(chunk) { seen.push(chunk); } }));
  await later(0);
  controller.enqueue("x");
  assertEquals(seen, []);
  controller.close();
  await piped;
  assertEquals(seen, ["x"]);
});

test("JS_9 TransformStream: transforms, flushes and keeps back-pressure", async () => {
  let started = 0;
  const upper = new TransformStream({
    transform(chunk, controller) {
      started++;
      controller.enqueue(chunk.toUpperCase());
    },
    flush(controller) { controller.enqueue("!"); },
  });
  const reader = source(["a", "b"]).pipeThrough(upper).getReader();
  await later(0);
  assertEquals(started, 0);
  const seen = [];
  for (let step; !(step = await reader.read()).done;) seen.push(step.value);
  assertEquals(seen, ["A", "B", "!"]);
});

test("JS_9 TransformStream: an error of transform() reaches both sides", async () => {
  const transform = new TransformStream({ transform() { throw new RangeError("bad"); } });
  const writer = transform.writable.getWriter();
  const written = writer.write(1);
  written.catch(() => {});
  await assertRejects(() => transform.readable.getReader().read(), RangeError);
  await assertRejects(() => written, RangeError);
});

test("JS_9 queuing strategies: by bytes and by count", () => {
  const bytes = new ByteLengthQueuingStrategy({ highWaterMark: 10 });
  assertEquals([bytes.highWaterMark, bytes.size(new Uint8Array(3))], [10, 3]);
  const count = new CountQueuingStrategy({ highWaterMark: 2 });
  assertEquals([count.highWaterMark, count.size("any")], [2, 1]);
  assertThrows(() => new CountQueuingStrategy({}), TypeError);
});

test("JS_9 TextEncoderStream and TextDecoderStream: characters cut by chunks", async () => {
  const bytes = [];
  for await (const chunk of source(["a\ud83d", "\ude00b"]).pipeThrough(new TextEncoderStream())) {
    bytes.push(...chunk);
  }
  assertEquals(bytes, [97, 0xf0, 0x9f, 0x98, 0x80, 98]);
  let text = "";
  const halves = source([new Uint8Array(bytes.slice(0, 3)), new Uint8Array(bytes.slice(3))]);
  for await (const chunk of halves.pipeThrough(new TextDecoderStream())) text += chunk;
  assertEquals(text, "a\u{1f600}b");
});

test("JS_10 a mebibyte goes through a chain of streams whole", async () => {
  const whole = new Uint8Array(1 << 20);
  for (let i = 0; i < whole.length; i++) whole[i] = (i * 31) & 255;
  let at = 0;
  const from = new ReadableStream({
    pull(controller) {
      const end = Math.min(at + 10_007, whole.length);
      controller.enqueue(whole.slice(at, end));
      at = end;
      if (at === whole.length) controller.close();
    },
  });
  let checked = 0;
  await from.pipeThrough(new TransformStream()).pipeTo(new WritableStream({
    async write(chunk) {
      await null;
      for (const byte of chunk) assert(byte === whole[checked++]);
    },
  }));
  assertEquals(checked, whole.length);
});
