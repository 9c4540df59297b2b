#!/usr/bin/env python3
"""The acceptance app of the event loop:  event_loop_test.py WEFT [unittest's arguments]

Starts `WEFT serve --config weft.json` on a port of its own, and an upstream for fetch(), and asks
every path with the Host header that selects the app.
"""
import http.client
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

HERE = Path(__file__).resolve().parent
WEFT = sys.argv.pop(1) if len(sys.argv) > 1 else "weft"
HOST = "event-loop-test"
PATIENCE_S = 120
DEADLINE_S = json.loads((HERE / "weft.json").read_text())["apps"][0]["limits"][
    "handlerDeadlineMs"] / 1000
NETWORK = ["async-fetch", "concurrent-fetch", "fetch-json", "fetch-error", "mixed-async"]
PENDING = ["promise-never-resolves", "promise-waits-too-long"]
CROWD = 20  # as many as /test-crowd-fetch waits for


class Server(ThreadingHTTPServer):
    request_queue_size = 2 * CROWD  # who finds no place tries again a second later


class Upstream(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    meetings = {}
    changed = threading.Condition()

    def do_GET(self):
        url = urlsplit(self.path)
        if url.path == "/meet":
            query = parse_qs(url.query)
            met = self.meet(query["name"][0], int(query["count"][0]))
            self.answer("text/plain", b"met" if met else b"alone")
        else:
            self.answer("application/json", b'{"hello": "world", "list": [1, 2, 3]}')

    def meet(self, name, count):
        with self.changed:
            self.meetings[name] = self.meetings.get(name, 0) + 1
            self.changed.notify_all()
            return self.changed.wait_for(lambda: self.meetings[name] >= count, PATIENCE_S)

    def answer(self, kind, body):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class EventLoop(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.upstream = Server(("127.0.0.1", 0), Upstream)
        threading.Thread(target=cls.upstream.serve_forever, daemon=True).start()
        upstream = f"127.0.0.1:{cls.upstream.server_port}"
        cls.folder = tempfile.TemporaryDirectory(prefix="weft-event-loop.")
        env = Path(cls.folder.name) / "env"
        env.write_text(f"UPSTREAM=http://{upstream}\n")
        cls.weft = subprocess.Popen(
            [WEFT, "serve", "--config", HERE / "weft.json", "--port", "0",
             "--allow-fetch", upstream, "--env-file", env],
            stdout=subprocess.PIPE, text=True)
        line = cls.weft.stdout.readline()
        match = re.search(r"http://[\d.]+:(\d+)/", line)
        if not match:
            sys.exit(f"weft said {line!r} and not where it serves (status {cls.weft.wait()})")
        cls.port = int(match.group(1))

    @classmethod
    def tearDownClass(cls):
        cls.weft.terminate()
        try:
            status = cls.weft.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            cls.weft.kill()
            status = cls.weft.wait()
        cls.weft.stdout.close()
        cls.upstream.shutdown()
        cls.upstream.server_close()
        cls.folder.cleanup()
        assert status == 0, f"weft ended with {status}"

    def ask(self, path, host=HOST):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            connection.request("GET", path, headers={"Host": host})
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def passes(self, name):
        status, body = self.ask(f"/test-{name}")
        self.assertEqual(status, 200, body)
        self.assertIs(json.loads(body)["pass"], True, body)

    def all_pass(self, path, count):
        status, body = self.ask(path)
        self.assertEqual(status, 200, body)
        found = json.loads(body)
        failed = [result for result in found["results"] if not result["pass"]]
        self.assertEqual((found["passed"], found["total"]), (count, count), failed)
        for result in found["results"]:
            with self.subTest(result["test"]):
                self.passes(result["test"])

    def test_JS_15_all_ten_local_tests_pass(self):
        self.all_pass("/test-all-local", 10)

    def test_JS_15_all_four_edge_cases_pass(self):
        self.all_pass("/test-edge-cases", 4)

    def test_JS_15_fetch_goes_on_beside_timers_and_other_fetches(self):
        for name in NETWORK:
            with self.subTest(name):
                self.passes(name)

    def test_JS_15_private_addresses_are_blocked(self):
        self.passes("ssrf-blocked")

    def test_JS_15_start_with_close_works(self):
        self.passes("start-sync-close")

    def test_JS_15_a_promise_that_never_resolves_is_ended(self):
        for name in PENDING:
            with self.subTest(name):
                begun = time.monotonic()
                status, body = self.ask(f"/test-{name}")
                self.assertEqual(status, 500)
                self.assertIn("Promise did not resolve in time", body)
                self.assertLess(time.monotonic() - begun, 2 * DEADLINE_S)
        self.passes("promise-basic")

    def test_JS_15_an_endless_loop_is_ended_and_the_next_request_answered(self):
        status, _ = self.ask("/test-infinite-loop")
        self.assertEqual(status, 500)
        self.passes("timer-basic")

    def test_JS_15_the_host_header_selects_the_app(self):
        self.assertEqual(self.ask("/test-promise-basic", host="elsewhere")[0], 421)
        self.assertEqual(self.ask("/test-promise-basic", host=f"{HOST}:80")[0], 200)
        self.assertEqual(self.ask("/test-none")[0], 404)

    def test_JS_15_requests_at_once_do_not_wait_for_each_other(self):
        # None of them is answered until all have come.
        answers = []
        threads = [threading.Thread(
            target=lambda: answers.append(self.ask("/test-crowd-fetch"))) for _ in range(CROWD)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([status for status, _ in answers], [200] * CROWD, answers)
        self.assertEqual({json.loads(body)["pass"] for _, body in answers}, {True}, answers)


if __name__ == "__main__":
    unittest.main()
