import { sse } from "weft:http";

test("JS_18 sse: events as the standard writes them", async () => {
  const request = new Request("http://h/", { headers: { "last-event-id": "4" } });
  const response = sse(request, async (events) => {
    assertEquals(events.lastEventId, "4");
    await events.send({ event: "t", id: 1, data: "a\nb\r\nc" });
    await events.send({ data: { x: 1 } });
    await events.send("hi");
    await events.send({ retry: 5, comment: "c" });
  });
  assertEquals(response.headers.get("content-type"), "text/event-stream");
  assertEquals(response.headers.get("cache-control"), "no-store");
  assertEquals(await response.text(), "event: t\nid: 1\ndata: a\ndata: b\ndata: c\n\n" +
    'data: {"x":1}\n\ndata: hi\n\n: c\nretry: 5\n\n');
});

test("JS_18 sse: an iterable", async () => {
  async function* events() {
    yield "1";
    yield { event: "e", data: "2" };
  }
  assertEquals(await sse(events()).text(), "data: 1\n\nevent: e\ndata: 2\n\n");
  assertThrows(() => sse(7), TypeError);
});

test("JS_18 sse: names have no line of their own", async () => {
  for (const event of [{ event: "a\nb" }, { id: "a\rb" }, { id: "\0" }, { retry: "x" }]) {
    await assertRejects(() => sse((events) => events.send(event)).text(), TypeError);
  }
});

test("JS_18 sse: a client that goes away ends the source, and send() waits for a slow one", async () => {
  let sent = 0;
  let told = false;
  const response = sse(async (events) => {
    while (await events.send(String(sent))) sent += 1;
    told = events.signal.aborted;
  });
  const reader = response.body.getReader();
  await reader.read();
  await new Promise((done) => setTimeout(done, 10));
  assert(sent < 100, `${sent} were sent to a client that reads nothing`);
  await reader.cancel();
  await new Promise((done) => setTimeout(done, 10));
  assert(told);
});

test("JS_18 sse: an aborted request closes the stream", async () => {
  const controller = new AbortController();
  const request = new Request("http://h/", { signal: controller.signal });
  const response = sse(request, async (events) => {
    await events.send("1");
    await new Promise((done) => events.signal.addEventListener("abort", done));
  });
  const text = response.text();
  await new Promise((done) => setTimeout(done, 5));
  controller.abort();
  assertEquals(await text, "data: 1\n\n");
});

test("JS_18 sse: comments keep a quiet stream alive", async () => {
  const quiet = Promise.withResolvers();
  const response = sse(() => quiet.promise, { keepAliveMs: 10 });
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body) {
    text += decoder.decode(chunk);
    if (text.length >= 8) quiet.resolve();
  }
  assert(text.startsWith(": \n\n: \n\n"), JSON.stringify(text));
});
