// JS-9: MessageChannel and BroadcastChannel.

const message = (target) => new Promise((resolve) => {
  target.addEventListener("message", resolve, { once: true });
  target.start?.();
});

test("JS_9 MessageChannel: messages arrive copied, in order, in tasks", async () => {
  const { port1, port2 } = new MessageChannel();
  const seen = [];
  const sent = { n: 1 };
  port1.postMessage(sent);
  port1.postMessage("second");
  sent.n = 2;
  await new Promise((resolve) => {
    port2.onmessage = ({ data }) => {
      seen.push(data);
      queueMicrotask(() => seen.push("micro"));
      if (data === "second") setTimeout(resolve, 1);
    };
    seen.push("sync");
  });
  assertEquals(seen, ["sync", { n: 1 }, "micro", "second", "micro"]);
  port1.close();
});

test("JS_9 MessagePort: can be transferred with what it holds", async () => {
  const inner = new MessageChannel();
  const outer = new MessageChannel();
  inner.port1.postMessage("before");
  const arrived = message(outer.port2);
  outer.port1.postMessage({ port: inner.port2 }, [inner.port2]);
  const event = await arrived;
  assert(event.ports[0] === event.data.port);
  assertEquals((await message(event.data.port)).data, "before");
  assertThrows(() => outer.port1.postMessage(0, [inner.port2]), "DataCloneError");
  assertThrows(() => outer.port1.postMessage(0, [outer.port1]), "DataCloneError");
});

test("JS_9 MessagePort: closing one tells the other", async () => {
  const { port1, port2 } = new MessageChannel();
  const closed = new Promise((resolve) => port2.addEventListener("close", resolve));
  port1.close();
  await closed;
  port2.postMessage("nobody");
  assertThrows(() => new MessagePort(), TypeError);
});

test("JS_9 BroadcastChannel: reaches the others of its name", async () => {
  const [a, b, c, d] = ["x", "x", "x", "y"].map((name) => new BroadcastChannel(name));
  const seen = [];
  for (const [name, channel] of [["a", a], ["b", b], ["c", c], ["d", d]]) {
    channel.onmessage = ({ data }) => seen.push(name, data);
  }
  c.close();
  a.postMessage(1);
  await new Promise((resolve) => setTimeout(resolve, 5));
  assertEquals(seen, ["b", 1]);
  assertThrows(() => c.postMessage(1), "InvalidStateError");
  for (const channel of [a, b, d]) channel.close();
});
