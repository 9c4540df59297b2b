#!/usr/bin/env python3
"""fetch() from a handler: where it may go, and what it leaves behind (JS-11, SCP-4)."""
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from served import LONG, MIB, ServeTest, main

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
    for (const init of [{ timeoutMs: 100 }, { deadline: Deadline.after(100) },
                        { timeoutMs: 60_000, signal: AbortSignal.timeout(100) }]) {
      ended.push(await fetch(url, init).then(() => "late", (error) => error.name));
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
};
export default {
  fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    return paths[pathname.slice(1)](searchParams.get("url"), request);
  },
};
"""


class Server(ThreadingHTTPServer):
    request_queue_size = 256  # as many as ever connect at once: who finds no place tries again late
    daemon_threads = True


class Upstream(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    connections = 0
    asked = 0

    def setup(self):
        Upstream.connections += 1
        super().setup()

    def finish(self):
        Upstream.connections -= 1
        try:
            super().finish()
        except OSError:
            pass

    def do_GET(self):
        Upstream.asked += 1
        if self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("location", self.path[4:])
            self.send_header("content-length", "0")
            self.end_headers()
            return
        if self.path.startswith("/after/"):
            time.sleep(int(self.path[7:]) / 1000)
        if self.path == "/slow":
            time.sleep(3)
        body = b"x" * (1_000_000 if self.path == "/big" else 20_000)
        try:
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
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
                begun = time.monotonic()
                found = self.weft.json(f"/get?url=http://{host}/")
                self.assertEqual(found, {"name": "TypeError", "code": "BlockedHost"})
                self.assertLess(time.monotonic() - begun, 2)
        with self.assertRaises(TimeoutError):
            listener.accept()
        listener.close()


class Allowed(WithUpstream):
    @classmethod
    def setUpClass(cls):
        probe = socket.create_server(("127.0.0.1", 0))
        cls.closed_port = probe.getsockname()[1]
        probe.close()
        cls.secret = socket.create_server(("127.0.0.1", 0))
        cls.secret.settimeout(0.2)
        original = Server(("127.0.0.1", 0), Upstream)
        original.daemon_threads = True
        cls.upstream = original
        threading.Thread(target=original.serve_forever, daemon=True).start()
        cls.address = f"127.0.0.1:{original.server_port}"
        cls.OPTIONS = {"arguments": ["--allow-fetch", cls.address,
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

    def test_SCP_2_fetch_heeds_timeoutMs_deadline_and_signal_in_flight(self):
        asked, begun = Upstream.asked, time.monotonic()
        found = self.weft.json(self.url("limited", "/slow"))
        self.assertEqual(found, ["TimeoutError"] * 3)
        self.assertLess(time.monotonic() - begun, 3)  # which is what the upstream takes for one
        self.assertGreater(Upstream.asked, asked)

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
            target=lambda: done.append(self.weft.json(self.url("crowd", "/after/700"))))
        begun = Upstream.asked
        asked.start()
        self.weft.until(lambda: Upstream.asked - begun >= 8, "fetches under way")
        while asked.is_alive():
            most = max(most, threads())
            time.sleep(0.01)
        asked.join()
        self.assertEqual(done, [64])
        self.assertGreater(most, 0)
        self.assertLessEqual(most, before + 2)

    def test_SCP_4_the_signal_of_the_request_reaches_fetch(self):
        asked = Upstream.asked
        client = self.weft.begin(self.url("signal", "/slow"))
        self.weft.until(lambda: Upstream.asked > asked, "the fetch")
        client.close()
        self.weft.until(lambda: self.weft.json("/last") == "AbortError", "the abort of fetch")


if __name__ == "__main__":
    main()
