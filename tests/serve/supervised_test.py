#!/usr/bin/env python3
"""Applications in a process of their own, which is started anew when it dies (JS-7, HST-5)."""
import contextlib
import http.client
import os
import signal
import time
import unittest
from pathlib import Path

from bombs_test import BOMBS, UNSURVIVED
from served import PATIENCE_S, SANITIZED, Weft, main

APP = """
const sleep = (ms) => new Promise((go) => setTimeout(go, ms));
let begun = 0;
export default { async fetch(request) {
  const { pathname } = new URL(request.url);
  if (pathname === "/begun") return Response.json(begun);
  begun++;
  if (pathname === "/sleep") {
    console.error("it sleeps");
    await sleep(1000);
  }
  return new Response("ok");
} };
"""


def children(pid):
    found = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # a thread may have ended meanwhile
            found += [int(word) for word in path.read_text().split()]
    return found


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Supervised(unittest.TestCase):
    def serve(self, source, **options):
        weft = Weft(source, arguments=["--supervised", *options.pop("arguments", [])], **options)
        self.addCleanup(weft.close)
        return weft

    def child(self, weft):
        def look():
            return [child for child in children(weft.process.pid) if is_alive(child)]
        return weft.until(look, "a child")[0]

    def answer_after_death(self, weft):
        """Connects again when a connection was one of the child that dies."""
        def ask():
            try:
                return weft.ask("/ok").text == "ok"
            except (OSError, http.client.HTTPException):
                return False
        weft.until(ask, "an answer")

    @unittest.skipIf(SANITIZED, "V8 asks for more than the sanitizer has")
    def test_JS_7_what_V8_does_not_survive_costs_one_process(self):
        weft = self.serve(BOMBS, limits={"heapMiB": 64, "cpuMs": 500})
        deaths = 0
        for name in UNSURVIVED:
            with self.subTest(name):
                before = self.child(weft)
                try:
                    answer = weft.ask("/" + name)
                    self.assertEqual(answer.status, 500, answer)
                except (OSError, http.client.HTTPException):
                    deaths += 1
                    weft.until(lambda: not is_alive(before), "the end of the process")
                self.answer_after_death(weft)
        self.assertGreater(deaths, 0)
        self.assertEqual(weft.log().count("another is started"), deaths, weft.log()[-2000:])

    @unittest.skipIf(SANITIZED, "V8 asks for more than the sanitizer has")
    def test_JS_7_what_ends_the_process_is_reported_with_the_request_and_its_stack(self):
        weft = self.serve(BOMBS, limits={"heapMiB": 64, "cpuMs": 20_000})
        with self.assertRaises((OSError, http.client.HTTPException)):
            weft.ask("/replace", headers={"x-request-id": "last"})
        self.answer_after_death(weft)
        self.assertRegex(weft.log(), r"""weft: fatal: V8: .*out of memory
  weft \d+\.\d+\.\d+, V8 \d+\.\d+\.\S+, build [0-9a-f]{16,}
  \S+: GET /replace \(request last\)
  at replace \(\S+app\.js:\d+:\d+\)
  at fetch \(\S+app\.js:\d+:\d+\)
""")

    def test_JS_7_a_process_that_dies_is_replaced_at_once_behind_the_same_listener(self):
        weft = self.serve(APP)
        best = 60
        for _ in range(3 if SANITIZED else 8):
            before = self.child(weft)
            self.answer_after_death(weft)
            begun = time.monotonic()
            os.kill(before, signal.SIGKILL)
            weft.until(lambda: not is_alive(before), "its end")
            # Who comes meanwhile waits in the backlog.
            self.assertEqual(weft.ask("/ok").text, "ok")
            best = min(best, time.monotonic() - begun)
            time.sleep(0.3)
        print(f"\nan answer {best * 1000:.0f} ms after the death of the process")
        self.assertLess(best, PATIENCE_S / 4)
        self.assertIn("was killed by SIGKILL: another is started", weft.log())

    def test_JS_7_a_process_that_dies_again_and_again_is_started_ever_more_slowly(self):
        weft = self.serve(APP)
        begun = time.monotonic()
        for _ in range(8):
            before = self.child(weft)
            os.kill(before, signal.SIGKILL)
            weft.until(lambda: not is_alive(before), "its end")
        self.answer_after_death(weft)
        # 50, 100, 200, 400 and 800 ms have been waited for; without the last, where the first child
        # was slow to start and counts as one that was well.
        self.assertGreater(time.monotonic() - begun, 0.74)
        self.assertEqual(weft.stop(), 0)

    def test_HST_5_signals_reach_the_process_of_the_applications(self):
        weft = self.serve(APP, arguments=["--isolates", "2"])
        clients = [weft.send("/sleep") for _ in range(6)]
        weft.until(lambda: weft.log().count("it sleeps") == 6, "the begin of all")
        weft.process.send_signal(signal.SIGTERM)
        for client in clients:
            self.assertTrue(client.recv(4096).startswith(b"HTTP/1.1 200"))
            client.close()
        self.assertEqual(weft.process.wait(PATIENCE_S), 0)

    def test_HST_5_a_second_signal_ends_both_at_once(self):
        weft = self.serve(APP.replace("1000", "60_000"))
        client = weft.begin("/sleep")
        self.addCleanup(client.close)
        idle = weft.send("/ok")
        idle.recv(4096)
        child = self.child(weft)
        weft.process.send_signal(signal.SIGTERM)
        self.assertEqual(idle.recv(100), b"")  # the drain has begun
        idle.close()
        self.assertTrue(weft.alive())
        weft.process.send_signal(signal.SIGTERM)
        weft.process.wait(PATIENCE_S)
        weft.until(lambda: not is_alive(child), "the end of the child")

    def test_HST_5_the_child_ends_when_nobody_is_there_to_start_another(self):
        weft = self.serve(APP)
        child = self.child(weft)
        self.answer_after_death(weft)
        weft.process.kill()
        weft.process.wait()
        weft.until(lambda: not is_alive(child), "the end of the child")

    def test_HST_5_what_cannot_be_loaded_is_told_once(self):
        with self.assertRaisesRegex(AssertionError, r"(?s)ended with 1: .*no JavaScript"):
            Weft("this is no JavaScript", arguments=["--supervised"])


if __name__ == "__main__":
    main()
