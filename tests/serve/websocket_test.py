#!/usr/bin/env python3
"""WebSockets and EventSource, on both ends (JS-9, JS-18)."""
import base64
import os
import signal
import struct
import time
import unittest

from served import MIB, PATIENCE_S, ServeTest, Weft, main

APP = """
import { sse, upgradeWebSocket } from "weft:http";

const log = [];
const sockets = [];
const sleep = (ms) => new Promise((go) => setTimeout(go, ms));

function noted(socket) {
  socket.binaryType = "arraybuffer";
  socket.onopen = () => log.push("open");
  socket.onerror = ({ message }) => log.push(`error ${message}`);
  socket.onclose = (e) => log.push(`close ${e.code} ${e.reason} ${e.wasClean}`);
  sockets.push(socket);
}

// What a client of ours sees, as a list.
function seen(ws, events) {
  ws.binaryType = "arraybuffer";
  return new Promise((go) => {
    ws.onopen = () => events.push("open");
    ws.onmessage = ({ data }) =>
      events.push(typeof data === "string" ? data : [...new Uint8Array(data)]);
    ws.onerror = () => events.push("error");
    ws.onclose = (e) => { events.push([e.code, e.reason, e.wasClean]); go(events); };
  });
}

const paths = {
  ok: () => new Response("ok"),
  log: () => Response.json(log.splice(0)),
  echo(request) {
    const { socket, response } = upgradeWebSocket(request);
    noted(socket);
    socket.onmessage = ({ data }) => {
      if (data === "bye") socket.close(4001, "as you like");
      else if (data === "close") socket.close();
      else if (data === "spin") for (;;);
      else socket.send(data);
    };
    response.headers.set("x-extra", "1");
    return response;
  },
  chat(request) {
    const offered = request.headers.get("sec-websocket-protocol") ?? "";
    const { socket, response } = upgradeWebSocket(request, {
      protocol: offered === "" ? undefined : "chat.2",
      onopen() { this.send(this.protocol); this.close(1000); },
    });
    return response;
  },
  timer(request) {
    const { socket, response } = upgradeWebSocket(request);
    noted(socket);
    setTimeout(() => socket.send(`later ${new URL(request.url).search}`), 100);
    return response;
  },
  flood(request) {
    const { socket, response } = upgradeWebSocket(request);
    noted(socket);
    socket.onopen = () => {
      const chunk = new Uint8Array(1024 * 1024);
      for (let i = 0; i < 12; i++) socket.send(chunk);
      log.push(`buffered ${socket.bufferedAmount}`);
      for (let i = 0; i < 12; i++) socket.send(chunk);
    };
    return response;
  },
  pair() {
    const [client, server] = Object.values(new WebSocketPair());
    server.accept();
    server.send("first");
    server.addEventListener("message", ({ data }) => server.send(`got ${data}`));
    return new Response(null, { status: 101, webSocket: client });
  },
  unasked(request) { return upgradeWebSocket(request).response; },

  async self(request) {
    const ws = new WebSocket(new URL("/echo", request.url));
    const events = [ws.readyState];
    const all = seen(ws, events);
    ws.addEventListener("open", () => {
      ws.send("text \\u{1F600}");
      ws.send(new Uint8Array([1, 2, 3]));
      ws.send(new Blob(["ab"]));
      ws.send("bye");
    });
    return Response.json([...await all, ws.readyState]);
  },
  async protocols(request) {
    const ws = new WebSocket(new URL("/chat", request.url), ["chat.1", "chat.2"]);
    const events = await seen(ws, []);
    return Response.json([ws.protocol, ...events]);
  },
  credentials(request) {
    const given = request.headers.get("authorization");
    const { socket, response } = upgradeWebSocket(request);
    socket.onopen = () => { socket.send(String(given)); socket.close(1000); };
    return response;
  },
  async authorized(request) {
    const url = new URL("/credentials", request.url);
    url.username = "me@home";
    url.password = "a:b";
    const ws = new WebSocket(url);
    return Response.json([ws.url === url.href.replace("http", "ws"), ...await seen(ws, [])]);
  },
  async refused(request) {
    return Response.json(await seen(new WebSocket(new URL("/ok", request.url)), []));
  },
  async early(request) {
    const ws = new WebSocket(new URL("/echo", request.url));
    const events = seen(ws, []);
    ws.close();
    return Response.json([ws.readyState, ...await events]);
  },
  async blocked() {
    return Response.json(await seen(new WebSocket("ws://10.1.2.3/"), []));
  },

  feed(request) {
    return sse(request, async (events) => {
      const from = events.lastEventId ?? "none";
      await events.send({ data: `from ${from}`, retry: 50 });
      await events.send({ event: "tick", id: "7", data: "a\\nb" });
    });
  },
  async source(request) {
    const source = new EventSource(new URL("/feed", request.url));
    const events = [source.readyState];
    await new Promise((go) => {
      source.onopen = () => events.push(`open ${source.readyState}`);
      source.onmessage = ({ data, lastEventId }) => events.push(`${data} ${lastEventId}`);
      source.addEventListener("tick", ({ data, lastEventId, origin }) => {
        events.push([data, lastEventId, origin === new URL(request.url).origin]);
        if (events.length > 8) go();
      });
      source.onerror = () => events.push(`error ${source.readyState}`);
    });
    source.close();
    return Response.json([...events, source.readyState]);
  },
  async nosource(request) {
    const source = new EventSource(new URL("/ok", request.url));
    await new Promise((go) => { source.onerror = go; });
    return Response.json(source.readyState);
  },
};

export default {
  fetch(request) {
    return paths[new URL(request.url).pathname.slice(1)](request);
  },
};
"""

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


class Client:
    """A WebSocket, byte by byte."""

    def __init__(self, weft, path, headers=""):
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket = weft.send(path, headers=(
            "connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n"
            f"sec-websocket-key: {key}\r\n{headers}"))
        self.bytes = b""
        while b"\r\n\r\n" not in self.bytes:
            self.bytes += self.more()
        self.head, _, self.bytes = self.bytes.partition(b"\r\n\r\n")

    def more(self):
        got = self.socket.recv(65536)
        if not got:
            raise EOFError
        return got

    def send(self, opcode, payload=b""):
        payload = payload.encode() if isinstance(payload, str) else payload
        mask = os.urandom(4)
        count = len(payload)
        size = (bytes([0x80 | count]) if count < 126
                else b"\xfe" + struct.pack(">H", count) if count < 65536
                else b"\xff" + struct.pack(">Q", count))
        key = int.from_bytes((mask * (count // 4 + 1))[:count], "big")
        masked = (int.from_bytes(payload, "big") ^ key).to_bytes(count, "big")
        self.socket.sendall(bytes([0x80 | opcode]) + size + mask + masked)

    def need(self, count):
        while len(self.bytes) < count:
            self.bytes += self.more()
        taken, self.bytes = self.bytes[:count], self.bytes[count:]
        return taken

    def receive(self):
        first, size = self.need(2)
        if size == 126:
            size = struct.unpack(">H", self.need(2))[0]
        elif size == 127:
            size = struct.unpack(">Q", self.need(8))[0]
        return first & 15, self.need(size)

    def close(self):
        self.socket.close()

    def __del__(self):
        self.close()


def close_of(code, reason=""):
    return CLOSE, struct.pack(">H", code) + reason.encode()


class WebSocketTest(ServeTest):
    SOURCE = APP
    OPTIONS = {"arguments": ["--allow-fetch", "127.0.0.1"]}

    def setUp(self):
        self.weft.json("/log")

    def logged(self, what):
        seen = []

        def look():
            seen.extend(self.weft.json("/log"))
            return any(what in line for line in seen)
        self.weft.until(look, what)
        return seen

    def test_JS_18_a_socket_echoes_and_its_response_keeps_its_headers(self):
        client = Client(self.weft, "/echo")
        self.assertIn(b"101 ", client.head)
        self.assertIn(b"x-extra: 1", client.head.lower())
        client.send(TEXT, "hello")
        client.send(BINARY, b"\x00\xff")
        self.assertEqual(client.receive(), (TEXT, b"hello"))
        self.assertEqual(client.receive(), (BINARY, b"\x00\xff"))
        client.send(PING, "are you there")
        self.assertEqual(client.receive(), (PONG, b"are you there"))
        client.send(*close_of(1000, "done"))
        self.assertEqual(client.receive()[0], CLOSE)
        self.assertEqual(self.logged("close"), ["open", "close 1000 done true"])

    def test_JS_18_the_server_closes_with_code_and_reason(self):
        client = Client(self.weft, "/echo")
        client.send(TEXT, "bye")
        self.assertEqual(client.receive(), close_of(4001, "as you like"))
        client.send(*close_of(4001))
        self.assertIn("close 4001  true", self.logged("close"))
        client = Client(self.weft, "/echo")
        client.send(TEXT, "close")
        self.assertEqual(client.receive(), (CLOSE, b""))
        client.send(CLOSE)
        self.assertIn("close 1005  true", self.logged("close"))

    def test_JS_18_a_client_that_vanishes_is_1006(self):
        client = Client(self.weft, "/echo")
        client.send(TEXT, "x")
        client.receive()
        client.close()
        self.assertIn("close 1006  false", self.logged("close"))

    def test_JS_18_a_client_that_breaks_the_protocol_is_told_so(self):
        client = Client(self.weft, "/echo")
        client.socket.sendall(b"\x81\x01x")  # without a mask
        self.assertEqual(client.receive()[1][:2], struct.pack(">H", 1002))
        self.assertIn("close 1006  false", self.logged("close"))

    def test_JS_18_a_message_of_4_MiB_may_come_in_one_frame(self):
        client = Client(self.weft, "/echo")
        text = "x" * (4 * MIB)
        client.send(TEXT, text)
        parts = [client.receive()]
        while sum(len(part) for _, part in parts) < len(text):
            parts.append(client.receive())
        self.assertEqual(parts[0][0], TEXT)
        self.assertTrue(b"".join(part for _, part in parts) == text.encode())
        client.socket.sendall(b"\x81\xff" + struct.pack(">Q", len(text) + 1) + b"mask")
        self.assertEqual(client.receive()[1][:2], struct.pack(">H", 1009))

    def test_JS_18_a_subprotocol_is_agreed_upon(self):
        client = Client(self.weft, "/chat", "sec-websocket-protocol: chat.1, chat.2\r\n")
        self.assertIn(b"sec-websocket-protocol: chat.2", client.head.lower())
        self.assertEqual(client.receive(), (TEXT, b"chat.2"))
        self.assertEqual(self.weft.ask("/chat").status, 500)

    def test_JS_18_a_request_that_asks_for_no_socket_is_refused(self):
        self.assertEqual(self.weft.ask("/unasked").status, 500)
        client = self.weft.send("/unasked",
                                headers="connection: upgrade\r\nupgrade: websocket\r\n")
        self.assertIn(b" 426 ", client.recv(4096))
        client.close()

    def test_JS_18_the_request_lives_as_long_as_its_socket(self):
        client = Client(self.weft, "/timer?a=1")
        self.assertEqual(client.receive(), (TEXT, b"later ?a=1"))
        client.close()
        self.logged("close")

    def test_JS_18_a_message_that_takes_too_long_costs_only_itself(self):
        client = Client(self.weft, "/echo")
        client.send(TEXT, "spin")
        client.send(TEXT, "after")
        self.assertEqual(client.receive(), (TEXT, b"after"))
        client.close()
        self.logged("close")

    def test_JS_18_what_a_slow_client_does_not_take_is_bounded(self):
        client = Client(self.weft, "/flood")
        lines = self.logged("buffered")
        self.assertIn(f"buffered {12 * 1024 * 1024}", lines)
        client.close()
        self.assertTrue(any("than the peer takes" in line for line in self.logged("close") + lines))

    def test_JS_18_a_pair_is_answered_as_well(self):
        client = Client(self.weft, "/pair")
        self.assertEqual(client.receive(), (TEXT, b"first"))
        client.send(TEXT, "x")
        self.assertEqual(client.receive(), (TEXT, b"got x"))
        client.close()

    def test_JS_9_WebSocket_connects_sends_and_closes(self):
        self.assertEqual(self.weft.json("/self"), [
            0, "open", "text \U0001f600", [1, 2, 3], [97, 98], [4001, "as you like", True], 3])

    def test_JS_9_WebSocket_says_which_subprotocol_was_chosen(self):
        self.assertEqual(self.weft.json("/protocols"),
                         ["chat.2", "open", "chat.2", [1000, "", True]])

    def test_JS_9_WebSocket_sends_the_credentials_of_its_url(self):
        credentials = base64.b64encode(b"me@home:a:b").decode()
        self.assertEqual(self.weft.json("/authorized"),
                         [True, "open", f"Basic {credentials}", [1000, "", True]])

    def test_JS_9_WebSocket_that_is_refused_blocked_or_closed_early_ends_with_1006(self):
        self.assertEqual(self.weft.json("/refused"), ["error", [1006, "", False]])
        self.assertEqual(self.weft.json("/blocked"), ["error", [1006, "", False]])
        self.assertEqual(self.weft.json("/early"), [2, "error", [1006, "", False]])

    def test_JS_9_EventSource_comes_back_with_the_last_id(self):
        self.assertEqual(self.weft.json("/source"), [
            0, "open 1", "from none ", ["a\nb", "7", True], "error 0",
            "open 1", "from 7 7", ["a\nb", "7", True], "error 0",
            "open 1", "from 7 7", ["a\nb", "7", True], 2])

    def test_JS_9_EventSource_gives_up_where_there_are_no_events(self):
        self.assertEqual(self.weft.json("/nosource"), 2)


class DrainTest(unittest.TestCase):
    def test_JS_18_a_server_that_drains_says_1001(self):
        weft = Weft(APP)
        clients = [Client(weft, "/echo") for _ in range(5)]
        begun = time.monotonic()
        weft.process.send_signal(signal.SIGTERM)
        for client in clients:
            self.assertEqual(client.receive(), close_of(1001))
            client.send(*close_of(1001))
            self.assertEqual(client.socket.recv(1), b"")
        self.assertEqual(weft.process.wait(PATIENCE_S), 0)
        self.assertLess(time.monotonic() - begun, 20)
        weft.close()

    def test_JS_18_clients_that_never_answer_a_Close_do_not_hold_the_server(self):
        weft = Weft(APP, drain_ms=500)
        client = Client(weft, "/echo")
        weft.process.send_signal(signal.SIGTERM)
        self.assertEqual(client.receive(), close_of(1001))
        # By itself, though not in time.
        self.assertGreaterEqual(weft.process.wait(PATIENCE_S), 0, weft.log())
        weft.close()


if __name__ == "__main__":
    main()
