#!/usr/bin/env python3
"""fetch() from a handler: where it may go, and what it leaves behind (JS-11, SCP-4)."""
import http.client
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from served import LONG, MIB, PATIENCE_S, ServeTest, Weft, main

APP = """
import { Deadline } from "weft:time";
let last = null;
let begun = 0;
const paths = {
  begun: () => Response.json(begun),
  ok: () => new Response("ok"),
  async get(url) {
    try {
      const response = await fetch(url);
      return Response.json({ status: response.status, text: await response.text() });
    } catch (error) {
      return Response.json({ name: error.name, code: error.cause?.code ?? null });
    }
  },
  async unread(url) { await fetch(url); return new Response("ok"); },
  async cloned(url) {
    const response = await fetch(url);
    await response.clone().text();
    return new Response("ok");
  },
  async signal(url, request) {
    begun++;
    try {
      return await fetch(url, { signal: request.signal });
    } catch (error) {
      last = error.name;
      throw error;
    }
  },
  last: () => Response.json(last),
  async limited(url) {
    const ended = [];
    for (const init of [() => ({ timeoutMs: 500 }), () => ({ deadline: Deadline.after(500) }),
                        () => ({ timeoutMs: 60_000, signal: AbortSignal.timeout(500) })]) {
      ended.push(await fetch(url, init()).then(() => "late", (error) => error.name));
    }
    return Response.json(ended);
  },
  async many(url) {
    // By the order in which the answers came, whatever the order of the calls.
    const order = [];
    await Promise.all([1200, 600, 900, 300].map(async (ms) => {
      await (await fetch(`${url}${ms}`)).text();
      order.push(ms);
    }));
    return Response.json(order);
  },
  async crowd(url) {
    const one = async () => (await fetch(url)).text();
    const all = await Promise.all(Array.from({ length: 64 }, one));
    return Response.json(all.length);
  },
  proxy: (url) => fetch(url),
  passedUntilTimeout: (url) => fetch(url, { timeoutMs: wait }),
  passedUntilDeadline: (url) => fetch(url, { deadline: Deadline.after(wait) }),
  passedUntilAbort(url) {
    passing = new AbortController();
    return fetch(url, { signal: AbortSignal.any([passing.signal, AbortSignal.timeout(600_000)]) });
  },
  endPassing() {
    passing.abort();
    return new Response("ok");
  },
  waitLonger() {
    wait *= 4;
    return new Response("ok");
  },
  forward: (url, request) => fetch(new Request(url, request)),
  head: (url) => fetch(url, { method: "HEAD" }),
  copied: async (url) => new Response((await fetch(url)).body, await fetch(url)),
  async kept(url) {
    if (kept !== null) return kept;
    kept = await fetch(url);
    return new Response("ok");
  },
  async endless(url) {
    try {
      return Response.json((await (await fetch(url)).text()).length);
    } catch (error) {
      return Response.json({ name: error.name, message: error.message });
    }
  },
  async together(url) {
    const one = async () => (await fetch(url)).status;
    const all = await Promise.all(Array.from({ length: 300 }, one));
    return Response.json(all.filter((status) => status === 200).length);
  },
  // Responses of fetches whose signal lives on, which nobody else has.
  async longSignal(url) {
    const { signal } = lasting;
    for (let i = 0; i < 20; i++) {
      const response = await fetch(url, { signal });
      if (i % 2 === 0) await response.text();
      watched.push(new WeakRef(response));
    }
    return new Response("ok");
  },
  alive() {
    let garbage = [];  // so that the collector looks at everything
    for (let i = 0; i < 40; i++) garbage.push(new Array(100_000).fill(i));
    garbage = null;
    return Response.json(watched.filter((weak) => weak.deref() !== undefined).length);
  },
  background(url) {
    wanted = url;
    return Response.json(fetched);
  },
  // Its request is over when it begins: the body is refused.
  late(url) {
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(new Uint8Array(1 << 20));
        controller.close();
      },
    });
    gate.then(() => fetch(url, { method: "POST", body, duplex: "half" }))
      .catch((error) => { last = error.name; });
    return new Response("ok");
  },
  open() {
    openGate();
    return new Response("ok");
  },
};
let wait = 500;
let passing = null;
let kept = null;
let openGate;
const gate = new Promise((go) => { openGate = go; });
const lasting = new AbortController();
const watched = [];
// Of no request: nobody reads what comes, and nobody drops it.
let wanted = null;
let fetched = 0;
setInterval(() => {
  if (wanted === null || fetched === 200) return;
  fetched++;
  fetch(wanted).catch((error) => { last = error.message; });
}, 1);
export default {
  fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    return paths[pathname.slice(1)](searchParams.get("url"), request);
  },
};
"""


# What is of one connection only; the last is so because Connection names it.
HOPS = [("connection", "Keep-Alive, x-hop"), ("keep-alive", "timeout=5"), ("upgrade", "h2c"),
        ("trailer", "x-sum"), ("proxy-connection", "keep-alive"), ("x-hop", "1")]


class Server(ThreadingHTTPServer):
    request_queue_size = 512  # as many as ever connect at once: who finds no place tries again late
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # clients go away


class Upstream(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    connections = 0
    asked = 0
    fields = []
    crowd = threading.Condition()
    waiting = 0

    def setup(self):
        Upstream.connections += 1
        super().setup()

    def finish(self):
        Upstream.connections -= 1
        try:
            super().finish()
        except OSError:
            pass

    def do_HEAD(self):
        self.send_response(200)
        self.send_header("content-length", "4321")
        self.end_headers()

    def do_POST(self):
        self.do_GET()

    def endless(self):
        self.send_response(200)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        piece = b"10000\r\n" + b"x" * 65536 + b"\r\n"
        try:
            while True:
                self.wfile.write(piece)
        except OSError:
            self.close_connection = True

    def stall(self):
        """The half of a body, and nothing more until the client closes the connection."""
        self.send_response(200)
        self.send_header("content-length", "20000")
        self.end_headers()
        self.wfile.write(b"x" * 10_000)
        self.connection.recv(1)
        self.close_connection = True

    def do_GET(self):
        Upstream.asked += 1
        if self.path == "/stall":
            return self.stall()
        if self.path == "/endless":
            return self.endless()
        if self.path == "/together":
            with Upstream.crowd:
                Upstream.waiting += 1
                Upstream.crowd.notify_all()
                Upstream.crowd.wait_for(lambda: Upstream.waiting >= 300, 60)
        if self.path == "/fields":
            Upstream.fields = self.headers.items()
        if self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("location", self.path[4:])
            self.send_header("content-length", "0")
            self.end_headers()
            return
        if self.path.startswith("/after/"):
            time.sleep(int(self.path[7:]) / 1000)
        if self.path == "/slow":
            time.sleep(30)
        body = b"x" * (1_000_000 if self.path == "/big" else 20_000)
        try:
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            if self.path == "/hops":
                for name, value in HOPS:
                    self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            self.close_connection = True

    def log_message(self, *_):
        pass


class WithUpstream(ServeTest):
    SOURCE = APP

    @classmethod
    def setUpClass(cls):
        cls.upstream = Server(("127.0.0.1", 0), Upstream)
        cls.upstream.daemon_threads = True
        threading.Thread(target=cls.upstream.serve_forever, daemon=True).start()
        cls.address = f"127.0.0.1:{cls.upstream.server_port}"
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.upstream.shutdown()
        cls.upstream.server_close()


class Blocked(WithUpstream):
    def test_JS_11_addresses_that_are_not_public_are_not_connected_to(self):
        listener = socket.create_server(("127.0.0.1", 0))
        listener.settimeout(0.2)
        port = listener.getsockname()[1]
        for host in ["127.0.0.1", "localhost", "[::1]", "0.0.0.0", "2130706433", "0x7f.1",
                     "0177.0.0.1", "127.1", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]"]:
            with self.subTest(host):
                found = self.weft.json(f"/get?url=http://{host}:{port}/")
                self.assertEqual(found, {"name": "TypeError", "code": "BlockedHost"})
        for host in ["10.1.2.3", "192.168.1.1", "172.16.0.1", "169.254.169.254", "100.64.0.1",
                     "[fd00::1]", "[fe80::1]"]:
            with self.subTest(host):
                found = self.weft.json(f"/get?url=http://{host}/")
                self.assertEqual(found, {"name": "TypeError", "code": "BlockedHost"})
        with self.assertRaises(TimeoutError):
            listener.accept()
        listener.close()


class Allowed(WithUpstream):
    @classmethod
    def setUpClass(cls):
        # Bound and never listening: connecting to it is refused, and nobody else gets the port.
        cls.closed = socket.socket()
        cls.addClassCleanup(cls.closed.close)
        cls.closed.bind(("127.0.0.1", 0))
        cls.closed_port = cls.closed.getsockname()[1]
        cls.secret = socket.create_server(("127.0.0.1", 0))
        cls.secret.settimeout(0.2)
        original = Server(("127.0.0.1", 0), Upstream)
        original.daemon_threads = True
        cls.upstream = original
        threading.Thread(target=original.serve_forever, daemon=True).start()
        cls.address = f"127.0.0.1:{original.server_port}"
        cls.OPTIONS = {"limits": {"heapMiB": 64, "handlerDeadlineMs": 100_000, "cpuMs": 10_000},
                       "arguments": ["--allow-fetch", cls.address,
                                     "--allow-fetch", f"127.0.0.1:{cls.closed_port}"]}
        ServeTest.setUpClass.__func__(cls)

    @classmethod
    def tearDownClass(cls):
        cls.secret.close()
        super().tearDownClass()

    def url(self, path, target):
        return f"/{path}?url=http://{self.address}{target}"

    def test_JS_11_what_is_allowed_is_reached(self):
        found = self.weft.json(self.url("get", "/"))
        self.assertEqual((found["status"], len(found["text"])), (200, 20_000))

    def test_JS_11_a_redirect_to_a_blocked_address_is_not_followed(self):
        port = self.secret.getsockname()[1]
        for target in [f"http://127.0.0.1:{port}/", f"http://localhost:{port}/",
                       "http://169.254.169.254/"]:
            with self.subTest(target):
                found = self.weft.json(self.url("get", "/to/" + target))
                self.assertEqual(found, {"name": "TypeError", "code": "BlockedHost"})
        with self.assertRaises(TimeoutError):
            self.secret.accept()

    def test_JS_11_nobody_listens(self):
        found = self.weft.json(f"/get?url=http://127.0.0.1:{self.closed_port}/")
        self.assertEqual(found, {"name": "TypeError", "code": "ConnectionFailed"})

    def test_JS_11_unread_and_cloned_responses_release_their_connections(self):
        for path in ["unread", "cloned"]:
            for target in ["/", "/big"]:
                with self.subTest(path + target):
                    for _ in range(10):
                        self.weft.ask(self.url(path, target))
                    before = self.weft.rss()
                    for _ in range(2500 if LONG else 40):
                        self.assertEqual(self.weft.ask(self.url(path, target)).text, "ok")
                    self.assertLess(self.weft.rss() - before, 40 * MIB)
                    # Those that the pool keeps for the next request may stay.
                    self.weft.until(lambda: Upstream.connections <= 8, "the end of connections")

    def test_JS_11_a_response_is_passed_on(self):
        answer = self.weft.ask(self.url("proxy", "/big"))
        self.assertEqual((answer.status, len(answer.body)), (200, 1_000_000))

    def test_JS_11_what_is_of_one_connection_is_not_passed_on(self):
        own = dict(HOPS) | {"te": "trailers", "expect": "100-continue", "upgrade": "websocket",
                            "proxy-authorization": "Basic eDp5", "x-kept": "2"}
        answer = self.weft.ask(self.url("forward", "/fields"), headers=own)
        self.assertEqual(answer.status, 200, answer)
        sent = {name.lower() for name, _ in Upstream.fields}
        self.assertIn("x-kept", sent)
        self.assertEqual(sent & (own.keys() - {"connection", "x-kept"}), set())
        for path in ["proxy", "copied"]:
            with self.subTest(path):
                answer = self.weft.ask(self.url(path, "/hops"))
                self.assertEqual((answer.status, len(answer.body)), (200, 20_000))
                found = {name.lower() for name in answer.headers}
                self.assertEqual(found & dict(HOPS).keys(), set())

    def test_JS_9_the_length_of_a_HEAD_is_passed_on(self):
        answer = self.weft.ask(self.url("head", "/"), "HEAD")
        self.assertEqual(answer.headers["content-length"], "4321")
        answer = self.weft.ask(self.url("head", "/"))
        self.assertEqual((answer.headers["content-length"], answer.body), ("0", b""))

    def test_JS_16_a_response_whose_request_is_over_fails_at_once(self):
        self.assertEqual(self.weft.ask(self.url("kept", "/")).text, "ok")
        self.assert_failed(self.weft.ask(self.url("kept", "/")), "HandlerThrew")
        self.assertIn("response to be passed on is gone", self.weft.log())

    def test_JS_7_an_endless_response_fails_its_reader_alone(self):
        found = self.weft.json(self.url("endless", "/endless"))
        self.assertEqual(found["name"], "TypeError")
        self.assertIn("limits.heapMiB", found["message"])
        self.assertEqual(self.weft.ask("/ok").text, "ok")

    def test_JS_11_hundreds_of_slow_responses_are_awaited_at_once(self):
        self.assertEqual(self.weft.json(self.url("together", "/together")), 300)

    def test_JS_11_a_signal_that_lives_on_keeps_no_response(self):
        for target in ["/", "/big"]:
            self.assertEqual(self.weft.ask(self.url("longSignal", target)).text, "ok")
        # The last ones may still be found by whoever looks for pointers on the stack.
        self.weft.until(lambda: self.weft.json("/alive") <= 4, "the end of the responses")

    def test_JS_11_unread_responses_of_the_application_release_their_connections(self):
        url, asked = self.url("background", "/big"), Upstream.asked
        self.weft.until(lambda: self.weft.json(url) == 200, "fetches of the application")
        self.weft.until(lambda: Upstream.asked - asked >= 200, "their arrival")
        self.weft.until(lambda: Upstream.connections <= 140, "the end of connections")

    def test_JS_9_a_refused_upload_does_not_hold_the_server(self):
        weft = Weft(APP)
        self.addCleanup(weft.close)
        self.assertEqual(weft.ask(self.url("late", "/")).text, "ok")
        weft.ask("/open")
        weft.until(lambda: weft.json("/last") == "TypeError", "the end of the fetch")
        self.assertEqual(weft.stop(), 0)

    def test_SCP_2_fetch_heeds_timeoutMs_deadline_and_signal_in_flight(self):
        asked, begun = Upstream.asked, time.monotonic()
        found = self.weft.json(self.url("limited", "/slow"))
        self.assertEqual(found, ["TimeoutError"] * 3)
        self.assertLess(time.monotonic() - begun, 30)  # which is what the upstream takes for one
        self.weft.until(lambda: Upstream.asked > asked, "the request in flight")

    def until_cut_off(self, path, begun=lambda: None):
        """Asks for what stalls; gives what came instead, if its response had not begun."""
        connection = http.client.HTTPConnection("127.0.0.1", self.weft.port, timeout=PATIENCE_S)
        self.addCleanup(connection.close)
        connection.request("GET", self.url(path, "/stall"))
        response = connection.getresponse()
        if response.status != 200:
            return response.read()
        self.assertEqual(len(response.read(10_000)), 10_000)
        begun()
        with self.assertRaises(http.client.IncompleteRead):
            response.read()
        return None

    def test_SCP_2_fetch_heeds_timeoutMs_and_deadline_while_its_body_is_passed_on(self):
        for path in ["passedUntilTimeout", "passedUntilDeadline"]:
            with self.subTest(path):
                others = Upstream.connections
                # On a busy machine the head may not have come in time.
                while instead := self.until_cut_off(path):
                    self.assertIn(b"handler threw", instead)
                    self.weft.ask("/waitLonger")
                self.weft.until(lambda: Upstream.connections <= others, "the end of the upstream")

    def test_SCP_4_a_signal_ends_a_fetch_whose_body_is_passed_on(self):
        others = Upstream.connections
        self.assertIsNone(self.until_cut_off(
            "passedUntilAbort", lambda: self.weft.ask("/endPassing")))
        self.weft.until(lambda: Upstream.connections <= others, "the end of the upstream")

    def test_SCP_4_a_fetch_that_a_signal_might_end_is_passed_on_whole(self):
        answer = self.weft.ask(self.url("passedUntilAbort", "/big"))
        self.assertEqual((answer.status, len(answer.body)), (200, 1_000_000))
        self.weft.ask("/endPassing")
        # A client that goes away ends it, too.
        others = Upstream.connections
        client = self.weft.send(self.url("passedUntilAbort", "/stall"))
        self.assertTrue(client.recv(4096).startswith(b"HTTP/1.1 200"))
        client.close()
        self.weft.until(lambda: Upstream.connections <= others, "the end of the upstream")

    def test_JS_17_completions_run_in_the_order_in_which_they_come(self):
        # Others on the machine may hold up one of the answers, but not each time.
        expected = [300, 600, 900, 1200]
        found = []
        for _ in range(5):
            found.append(self.weft.json(self.url("many", "/after/")))
            self.assertEqual(sorted(found[-1]), expected)
            if found[-1] == expected:
                return
        self.fail(found)

    def test_JS_11_no_fetch_has_a_thread_of_its_own(self):
        def threads():
            return len(list(Path(f"/proc/{self.weft.process.pid}/task").iterdir()))

        self.assertEqual(self.weft.json(self.url("crowd", "/")), 64)
        before, most, done = threads(), 0, []
        asked = threading.Thread(
            target=lambda: done.append(self.weft.json(self.url("crowd", "/after/2000"))))
        begun = Upstream.asked
        asked.start()
        self.weft.until(lambda: Upstream.asked - begun >= 8, "fetches under way")
        while asked.is_alive():
            most = max(most, threads())
            time.sleep(0.01)
        asked.join()
        self.assertEqual(done, [64])
        self.assertGreater(most, 0)
        # A thread for each of the 64 would show; the engine's own come and go.
        self.assertLessEqual(most, before + 16)

    def test_SCP_4_the_signal_of_the_request_reaches_fetch(self):
        asked = Upstream.asked
        client = self.weft.begin(self.url("signal", "/slow"))
        self.weft.until(lambda: Upstream.asked > asked, "the fetch")
        client.close()
        self.weft.until(lambda: self.weft.json("/last") == "AbortError", "the abort of fetch")


if __name__ == "__main__":
    main()
