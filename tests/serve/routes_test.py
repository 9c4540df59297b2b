#!/usr/bin/env python3
"""Folders and proxies that are served without entering JavaScript, and applications by path
(HST-1, JS-18)."""
import http.client
import http.server
import threading
import time
import unittest

from served import PATIENCE_S, ServeTest, Weft, main, read_to_end

APP = """
import { router } from "weft:http";

const app = router();
let asked = 0;
let begun = 0;
app.use(async (ctx, next) => { asked++; return next(); });
app.static("/assets", new URL("./public/", import.meta.url), { cacheControl: "max-age=60" });
app.group("/v1").static("/docs", new URL("./public/", import.meta.url), { index: "home.html" });
app.proxy("/up", "http://127.0.0.1:PORT");
app.get("/ok", () => "ok");
app.get("/asked", () => asked);
app.get("/begun", () => begun);
app.get("/loop", () => { begun++; for (;;); });
app.get("/later", async () => { begun++; await new Promise((go) => setTimeout(go, 1)); for (;;); });
app.get("/stream", () => new Response(new ReadableStream({
  async pull(controller) {
    for (let i = 0; i < 40; i++) {
      controller.enqueue(new Uint8Array(50_000).fill(65 + i % 26));
      await new Promise((go) => setTimeout(go, 1));
    }
    controller.close();
  },
})));
app.post("/echo", async (ctx) => new Response(await ctx.request.text()));
export default app;
"""


class Upstream:
    """A server that tells what it was asked."""

    def __init__(self):
        upstream = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                length = int(self.headers.get("content-length") or 0)
                body = self.rfile.read(length)
                upstream.asked.append((self.command, self.path, dict(self.headers), body))
                if self.path.endswith("/slow"):
                    upstream.may_go_on.wait(PATIENCE_S)
                text = f"{self.command} {self.path} {len(body)}".encode()
                self.send_response(200)
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_POST = do_GET

            def log_message(self, *arguments):
                pass

        self.asked = []
        self.may_go_on = threading.Event()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.may_go_on.set()
        self.server.shutdown()
        self.server.server_close()


def make_public(path):
    public = path / "public"
    public.mkdir()
    (public / "a.txt").write_text("0123456789")
    (public / "index.html").write_text("index")
    (public / "home.html").write_text("home")


class Routes(ServeTest):
    @classmethod
    def setUpClass(cls):
        cls.upstream = Upstream()
        cls.weft = Weft(
            APP.replace("PORT", str(cls.upstream.port)), folders=make_public,
            config={"listeners": [{"address": "127.0.0.1:0"}], "apps": [{
                "entry": "app.js", "allowFetch": ["127.0.0.1"],
                "static": [{"path": "/files", "folder": "public"}],
                "proxy": [{"path": "/api",
                           "upstreams": [f"http://127.0.0.1:{cls.upstream.port}"]}]}]},
            # The loop of /loop goes on until all others have been answered beside it.
            limits={"cpuMs": 8000, "handlerDeadlineMs": 60_000, "bodyBytes": 1000})

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.upstream.close()

    def test_HST_1_folders_are_served_by_those_who_wrote_the_configuration(self):
        before = self.weft.json("/asked")
        answer = self.weft.ask("/files/a.txt")
        self.assertEqual((answer.status, answer.text), (200, "0123456789"))
        part = self.weft.ask("/files/a.txt", headers={"range": "bytes=2-3"})
        self.assertEqual((part.status, part.text), (206, "23"))
        self.assertEqual(self.weft.ask("/files/").text, "index")
        self.assertEqual(self.weft.ask("/files").status, 301)
        self.assertEqual(self.weft.ask("/files/none").status, 404)
        self.assertEqual(self.weft.ask("/files/../app.js").status, 400)
        self.assertEqual(self.weft.ask("/files/a.txt", method="POST").status, 405)
        # None of them has entered JavaScript.
        self.assertEqual(self.weft.json("/asked"), before + 1)
        other = self.weft.ask("/filesystem")
        self.assertEqual(other.headers["content-type"], "application/problem+json; charset=utf-8")

    def test_JS_18_folders_are_served_by_those_who_wrote_the_script(self):
        before = self.weft.json("/asked")
        answer = self.weft.ask("/assets/a.txt")
        self.assertEqual((answer.status, answer.text), (200, "0123456789"))
        self.assertEqual(answer.headers["cache-control"], "max-age=60")
        again = self.weft.ask("/assets/a.txt", headers={"if-none-match": answer.headers["etag"]})
        self.assertEqual(again.status, 304)
        self.assertEqual(self.weft.ask("/v1/docs/").text, "home")
        self.assertEqual(self.weft.json("/asked"), before + 1)

    def test_HST_1_requests_go_on_to_another_server_as_they_came(self):
        before = self.weft.json("/asked")
        self.assertEqual(self.weft.ask("/api/x?y=1").text, "GET /api/x?y=1 0")
        self.assertEqual(self.weft.ask("/up/x", "POST", b"12345").text, "POST /up/x 5")
        self.assertEqual(self.upstream.asked[-1][2]["X-Forwarded-For"], "127.0.0.1")
        self.assertEqual(self.weft.ask("/api/%2e%2e/secret").status, 400)
        self.assertEqual(self.weft.json("/asked"), before + 1)

    def test_HST_1_the_limits_of_the_application_count(self):
        asked = len(self.upstream.asked)
        self.assertEqual(self.weft.ask("/api/x", "POST", b"x" * 1001).status, 413)
        self.assertEqual(len(self.upstream.asked), asked)

    def in_the_loop(self, path):
        """A client whose request computes without an end, and the clients before it."""
        before = self.weft.cpu_ticks()
        client = self.weft.send(path)
        self.weft.until(lambda: self.weft.cpu_ticks() > before + 30, "the loop")
        return client

    def check_while_it_computes(self, path):
        kept = http.client.HTTPConnection("127.0.0.1", self.weft.port, timeout=PATIENCE_S)
        kept.request("GET", "/ok")
        self.assertEqual(kept.getresponse().read(), b"ok")
        looping = self.in_the_loop(path)
        kept.request("GET", "/files/a.txt")
        self.assertEqual(kept.getresponse().read(), b"0123456789")
        # Those for the script wait, and lose nothing by it.
        stream = self.weft.send("/stream", headers="connection: close\r\n")
        echo = self.weft.send("/echo", "POST", "connection: close\r\ncontent-length: 4\r\n")
        for target, text in [("/files/a.txt", "0123456789"), ("/assets/a.txt", "0123456789"),
                             ("/api/x", "GET /api/x 0"), ("/up/x", "GET /up/x 0")]:
            self.assertEqual(self.weft.ask(target).text, text)
        looping.setblocking(False)
        with self.assertRaises(BlockingIOError):
            looping.recv(1)  # it still computes
        echo.sendall(b"echo")
        looping.settimeout(PATIENCE_S)
        self.assertIn(b"500", looping.recv(4096))
        looping.close()
        chunked = read_to_end(stream)
        for i in range(26):
            self.assertEqual(chunked.count(bytes([65 + i]) * 1000) > 0, True, i)
        self.assertTrue(chunked.endswith(b"0\r\n\r\n"))
        self.assertTrue(read_to_end(echo).endswith(b"\r\n\r\necho"))
        kept.request("GET", "/ok")
        self.assertEqual(kept.getresponse().read(), b"ok")
        kept.close()
        self.assert_answers()

    def test_JS_18_routes_answer_while_a_script_computes_without_end(self):
        self.check_while_it_computes("/loop")

    def test_JS_18_routes_answer_while_a_script_computes_after_a_wait(self):
        self.check_while_it_computes("/later")

    def test_HST_1_what_is_under_way_ends_well_in_a_drain(self):
        upstream = Upstream()
        self.addCleanup(upstream.close)
        weft = Weft("export default { fetch: () => new Response('ok') };", config={
            "listeners": [{"address": "127.0.0.1:0"}], "apps": [{"entry": "app.js", "proxy": [
                {"path": "/api", "upstreams": [f"http://127.0.0.1:{upstream.port}"]}]}]})
        self.addCleanup(weft.close)
        idle = weft.send("/ok")
        idle.recv(4096)
        client = weft.send("/api/slow", headers="connection: close\r\n")
        weft.until(lambda: upstream.asked, "the upstream")
        weft.process.terminate()
        self.assertEqual(idle.recv(100), b"")  # the drain has begun
        idle.close()
        upstream.may_go_on.set()
        self.assertIn(b"GET /api/slow 0", read_to_end(client))
        self.assertEqual(weft.process.wait(PATIENCE_S), 0)

    def test_JS_18_a_script_reaches_by_its_proxy_what_fetch_may_reach(self):
        weft = Weft("""
            import { router } from "weft:http";
            export default router().proxy("/up", "http://127.0.0.1:PORT");
            """.replace("PORT", str(self.upstream.port)))
        self.addCleanup(weft.close)
        asked = len(self.upstream.asked)
        self.assertEqual(weft.ask("/up/x").status, 502)
        self.assertEqual(len(self.upstream.asked), asked)

    def test_JS_18_a_route_that_cannot_be_is_told_with_the_script(self):
        for line in ['app.static("assets", "/tmp")', 'app.static("/../x", "/tmp")',
                     'app.proxy("/up", [])', 'app.proxy("/up", "ftp://x")',
                     'app.static("/x", "/nowhere/at/all")']:
            with self.subTest(line):
                with self.assertRaisesRegex(AssertionError, "ended with 1"):
                    Weft('import { router } from "weft:http"; const app = router();\n'
                         f"{line};\nexport default app;")


class Paths(unittest.TestCase):
    def test_HST_1_applications_are_selected_by_path(self):
        source = "export default { fetch: (r) => new Response('NAME ' + new URL(r.url).pathname) };"
        weft = Weft(files={f"{name}.js": source.replace("NAME", name) for name in "ab"}, config={
            "listeners": [{"address": "127.0.0.1:0"}],
            "apps": [{"entry": "a.js"}, {"entry": "b.js", "path": "/b"}]})
        self.addCleanup(weft.close)
        for path, text in [("/", "a /"), ("/b", "b /b"), ("/b/c?d", "b /b/c"), ("/bc", "a /bc")]:
            self.assertEqual(weft.ask(path).text, text)


if __name__ == "__main__":
    main()
