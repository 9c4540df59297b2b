// What a WebSocket says of itself and checks, without a server. What needs one is in
// tests/serve/websocket_test.py.
import { upgradeWebSocket } from "weft:http";

const kBlocked = "ws://127.0.0.1:1234/a?b";

function ended(socket) {
  const seen = [];
  return new Promise((go) => {
    socket.onerror = (event) => seen.push(event.type);
    socket.onclose = (event) => {
      seen.push(event.type, event.code, event.reason, event.wasClean);
      go(seen);
    };
  });
}

function assertDom(name, run) {
  const error = assertThrows(run, DOMException);
  assertEquals(error.name, name);
}

test("JS_9 WebSocket: the constructor checks its URL", () => {
  assertThrows(() => new WebSocket(), TypeError);
  assertThrows(() => WebSocket("ws://a/"), TypeError);
  for (const url of ["/relative", "ws:", "ftp://a/", "mailto:a@b", "ws://a/#x", "ws://a b/"]) {
    assertDom("SyntaxError", () => new WebSocket(url));
  }
});

test("JS_9 WebSocket: the constructor checks its subprotocols", () => {
  for (const protocols of ["", "a b", "a,b", ["a", "a"], ["a", "A"], ["\u00e9"],
    [""], { protocols: ["a", "a"] }, { protocols: "a b" }]) {
    assertDom("SyntaxError", () => new WebSocket(kBlocked, protocols));
  }
  assertThrows(() => new WebSocket(kBlocked, [Symbol()]), TypeError);
});

test("JS_9 WebSocket: the constructor takes an object of options", async () => {
  for (const options of [{}, null, { protocols: "a" }, { protocols: ["a", "b"] }]) {
    await ended(new WebSocket(kBlocked, options));
  }
  assertThrows(() => new WebSocket(kBlocked, { protocols: [Symbol()] }), TypeError);
});

test("JS_9 WebSocket: http and https stand for ws and wss", async () => {
  const socket = new WebSocket("http://127.0.0.1:1234/a?b");
  const secure = new WebSocket(new URL("HTTPS://127.0.0.1:1234"));
  assertEquals(socket.url, kBlocked);
  assertEquals(secure.url, "wss://127.0.0.1:1234/");
  await Promise.all([ended(socket), ended(secure)]);
});

test("JS_9 WebSocket: a new one is connecting, and has its defaults", async () => {
  const socket = new WebSocket(kBlocked);
  assertEquals([socket.readyState, socket.protocol, socket.extensions, socket.bufferedAmount,
    socket.binaryType, socket.onmessage], [0, "", "", 0, "blob", null]);
  assertEquals([WebSocket.CONNECTING, WebSocket.OPEN, socket.CLOSING, socket.CLOSED], [0, 1, 2, 3]);
  assertEquals(Object.prototype.toString.call(socket), "[object WebSocket]");
  assert(socket instanceof EventTarget);
  socket.binaryType = "arraybuffer";
  socket.binaryType = "nonsense";
  assertEquals(socket.binaryType, "arraybuffer");
  assertDom("InvalidStateError", () => socket.send("x"));
  await ended(socket);
});

test("JS_9 WebSocket: an address that is not allowed is an error and 1006", async () => {
  const socket = new WebSocket(kBlocked);
  assertEquals(await ended(socket), ["error", "close", 1006, "", false]);
  assertEquals(socket.readyState, WebSocket.CLOSED);
  socket.send("four");
  socket.send(new Uint8Array(3));
  socket.send(new Blob(["\u00e9"]));
  assertEquals(socket.bufferedAmount, 9);
  socket.close();
});

test("JS_9 WebSocket: a bad port is an error and 1006", async () => {
  assertEquals(await ended(new WebSocket("ws://127.0.0.1:25/")), ["error", "close", 1006, "", false]);
});

test("JS_9 WebSocket: close() checks code and reason", async () => {
  const socket = new WebSocket(kBlocked);
  for (const code of [0, 999, 1001, 1005, 2999, 5000, NaN, null]) {
    assertDom("InvalidAccessError", () => socket.close(code));
  }
  assertDom("SyntaxError", () => socket.close(1000, "x".repeat(124)));
  assertDom("SyntaxError", () => socket.close(1000, "\u00e9".repeat(62)));
  assertEquals(socket.readyState, 0);
  const end = ended(socket);
  socket.close(3000, "x".repeat(123));
  assertEquals(socket.readyState, WebSocket.CLOSING);
  assertEquals((await end).slice(0, 3), ["error", "close", 1006]);
});

test("JS_9 WebSocket: members check what they are called on", () => {
  for (const name of ["url", "readyState", "bufferedAmount", "protocol", "binaryType"]) {
    const { get } = Object.getOwnPropertyDescriptor(WebSocket.prototype, name);
    assertThrows(() => get.call({}), TypeError);
  }
  assertThrows(() => WebSocket.prototype.send.call({}, "x"), TypeError);
  assertThrows(() => WebSocket.prototype.close.call({}), TypeError);
});

test("JS_18 upgradeWebSocket: takes a request that asks for a WebSocket", () => {
  assertThrows(() => upgradeWebSocket({}), TypeError);
  assertThrows(() => upgradeWebSocket(new Request("http://a/")), TypeError);
  const headers = { upgrade: "WebSocket", connection: "keep-alive, Upgrade" };
  assertThrows(() => upgradeWebSocket(new Request("http://a/", { headers, method: "POST" })),
    TypeError);
  assertThrows(() => upgradeWebSocket(new Request("http://a/", { headers }), { protocol: "x" }),
    TypeError);
  const { socket, response } = upgradeWebSocket(new Request("http://a/b", { headers }));
  assertEquals([socket.url, socket.readyState, response.status, response.body],
    ["ws://a/b", 0, 101, null]);
});

test("JS_18 WebSocketPair: only its first end makes a response with status 101", () => {
  const [client, server] = Object.values(new WebSocketPair());
  assertEquals(new Response(null, { status: 101, webSocket: client }).status, 101);
  assertThrows(() => new Response(null, { status: 101, webSocket: server }), TypeError);
  assertThrows(() => new Response(null, { status: 101 }), RangeError);
});
