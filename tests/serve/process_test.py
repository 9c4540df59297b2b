#!/usr/bin/env python3
"""The process: how it rests, ends, reloads and serves several applications
(JS-2, JS-6, JS-12, JS-15)."""
import json
import signal
import socket
import threading
import time
import unittest

from served import PATIENCE_S, SANITIZED, ServeTest, Weft, main, read_to_end

APP = """
import { delay } from "weft:time";
const sleep = (ms) => new Promise((go) => setTimeout(go, ms));
// By a timer as well: a promise that only a signal may settle could count as one of nobody.
const drainOf = ({ signal }) => delay(60_000, { signal }).catch(() => {});
let begun = 0;
export default {
  async fetch(request, env, ctx) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/begun") return Response.json(begun);
    begun++;
    if (pathname === "/sleep") await sleep(+searchParams.get("ms"));
    if (pathname === "/duringDrain") await drainOf(request).then(() => sleep(100));
    if (pathname === "/stream") {
      return new Response(new ReadableStream({
        async start(controller) {
          controller.enqueue(new Uint8Array(10));
          await drainOf(request);
          for (let i = 0; i < 4; i++) { await sleep(60); controller.enqueue(new Uint8Array(10)); }
          controller.close();
        },
      }));
    }
    if (pathname === "/loop") for (;;);
    if (pathname === "/later") {
      ctx.signal.addEventListener("abort", () => console.error("told of the drain"));
      const wait = searchParams.has("ms") ? sleep(+searchParams.get("ms"))
        : drainOf(ctx).then(() => sleep(100));
      ctx.waitUntil(wait.then(() => console.error("done later")));
    }
    if (pathname === "/untilDrain") {
      // What waits by the signal: a timer of weft:time, a fetch, and a stream.
      const { signal } = request;
      const name = (error) => error.name;
      const timer = delay(60_000, { signal }).then(() => "late", name);
      const fetched = fetch(searchParams.get("url"), { signal }).then(() => "late", name);
      const stream = new ReadableStream({}).pipeTo(new WritableStream(), { signal })
        .then(() => "late", name);
      return Response.json(await Promise.all([timer, fetched, stream]));
    }
    return new Response("ok");
  },
};
"""


class Idle(ServeTest):
    SOURCE = APP

    def test_JS_6_an_idle_server_uses_no_processor_time(self):
        self.assert_answers()
        keep_alive = self.weft.send("/ok")
        keep_alive.recv(4096)

        def rests():
            before = self.weft.cpu_ticks()
            time.sleep(1)
            return self.weft.cpu_ticks() == before

        self.weft.until(rests, "the end of what the start has left to do")

        def is_idle():
            before = self.weft.cpu_ticks()
            time.sleep(2)
            return self.weft.cpu_ticks() - before <= 1

        # A server that polls uses its processor in every such window.
        self.weft.until(is_idle, "a server at rest")
        keep_alive.close()


class Drain(unittest.TestCase):
    def setUp(self):
        self.weft = Weft(APP, limits={"handlerDeadlineMs": 60_000})
        self.addCleanup(self.weft.close)

    def test_JS_12_SIGTERM_lets_requests_end(self):
        idle = self.weft.send("/ok")
        idle.recv(4096)
        asked = [self.weft.begin(target, headers="connection: close\r\n")
                 for target in ("/duringDrain", "/stream")]
        self.weft.process.send_signal(signal.SIGTERM)
        idle.settimeout(PATIENCE_S)
        self.assertEqual(idle.recv(100), b"")  # closed at once
        idle.close()
        answers = [read_to_end(client) for client in asked]
        for answer in answers:
            self.assertTrue(answer.startswith(b"HTTP/1.1 200"), answer)
        self.assertEqual(answers[1].count(b"\0"), 50)
        self.assertEqual(self.weft.process.wait(PATIENCE_S), 0)

    def test_SCP_4_the_signal_fires_when_the_server_drains_and_reaches_what_waits(self):
        silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(silent.close)
        silent.settimeout(PATIENCE_S)
        port = silent.getsockname()[1]
        weft = Weft(APP, arguments=["--allow-fetch", f"127.0.0.1:{port}"])
        self.addCleanup(weft.close)
        client = weft.begin(f"/untilDrain?url=http://127.0.0.1:{port}/")
        asked, _ = silent.accept()  # the fetch is under way
        self.addCleanup(asked.close)
        self.assertTrue(asked.recv(100))
        weft.process.send_signal(signal.SIGTERM)
        answer = read_to_end(client)
        self.assertTrue(answer.startswith(b"HTTP/1.1 200"), answer)
        names = json.loads(answer.rpartition(b"\r\n\r\n")[2])
        self.assertEqual(len(names), 3)
        self.assertNotIn("late", names)
        self.assertEqual(weft.process.wait(PATIENCE_S), 0)

    def test_JS_12_answers_in_flight_at_a_drain_close_their_connections(self):
        # They did not ask for it: the server says so and does it.
        idle = self.weft.send("/ok")
        idle.recv(4096)
        asked = [self.weft.begin("/duringDrain"), self.weft.begin("/stream")]
        self.weft.process.send_signal(signal.SIGTERM)
        idle.settimeout(PATIENCE_S)
        self.assertEqual(idle.recv(100), b"")  # the drain has begun
        idle.close()
        quiet = read_to_end(asked[0])
        self.assertTrue(quiet.startswith(b"HTTP/1.1 200"), quiet)
        self.assertIn(b"connection: close\r\n", quiet.lower())
        stream = read_to_end(asked[1])
        self.assertEqual(stream.count(b"\0"), 50)
        self.assertEqual(self.weft.process.wait(PATIENCE_S), 0)

    def test_JS_3_what_waitUntil_holds_ends_well_in_a_drain(self):
        self.assertEqual(self.weft.ask("/later").text, "ok")
        self.weft.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.weft.process.wait(PATIENCE_S), 0)
        self.assertIn("told of the drain", self.weft.log())
        self.assertIn("done later", self.weft.log())

    def test_JS_3_what_waitUntil_holds_is_ended_with_the_drain(self):
        weft = Weft(APP, drain_ms=200)
        self.addCleanup(weft.close)
        self.assertEqual(weft.ask("/later?ms=20000").text, "ok")
        self.assertEqual(weft.stop(), 3)
        self.assertNotIn("done later", weft.log())

    def test_JS_12_a_second_SIGTERM_ends_it_at_once(self):
        idle = self.weft.send("/ok")
        idle.recv(4096)
        client = self.weft.begin("/sleep?ms=60000")
        self.weft.process.send_signal(signal.SIGTERM)
        self.assertEqual(idle.recv(100), b"")  # the drain has begun
        idle.close()
        self.assertTrue(self.weft.alive())
        begun = time.monotonic()
        self.weft.process.send_signal(signal.SIGTERM)
        self.weft.process.wait(PATIENCE_S)
        self.assertLess(time.monotonic() - begun, 15)  # the drain has thirty
        client.close()

    def test_HST_5_a_drain_that_overruns_is_status_three(self):
        weft = Weft(APP, drain_ms=200)
        self.addCleanup(weft.close)
        client = weft.begin("/sleep?ms=9000")
        self.addCleanup(client.close)
        self.assertEqual(weft.stop(), 3)
        self.assertIn("what had not ended after 200 ms (drainMs) was cut off", weft.log())

    def test_JS_12_SIGTERM_ends_a_server_without_requests(self):
        begun = time.monotonic()
        self.assertEqual(self.weft.stop(), 0)
        self.assertLess(time.monotonic() - begun, 20)  # the drain itself has thirty


class Watch(unittest.TestCase):
    def test_JS_12_a_reload_leaves_nothing_of_the_old_application(self):
        source = """
            import { name } from "./name.js";
            let ticks = 0;
            setInterval(() => { globalThis.ticking = ++ticks; }, 5);
            export default { async fetch(request) {
              if (request.url.endsWith("/slow")) await new Promise((go) => setTimeout(go, 600));
              return new Response(name);
            } };"""
        weft = Weft(source, arguments=["--watch"], files={"name.js": 'export const name = "v0";'})
        self.addCleanup(weft.close)
        self.assertEqual(weft.ask("/").text, "v0")
        sockets = weft.sockets()
        kept = weft.send("/")
        kept.recv(4096)
        for version in ["v1", "v2", "v3"]:
            slow = []
            thread = threading.Thread(target=lambda: slow.append(weft.ask("/slow").text))
            thread.start()
            time.sleep(0.1)
            (weft.path / "name.js").write_text(f'export const name = "{version}";')
            weft.until(lambda: weft.ask("/").text == version, version)
            thread.join()
            self.assertEqual(slow[0][0], "v")
        # A connection that lived through it is answered by the new application.
        kept.sendall(b"GET / HTTP/1.1\r\nhost: test\r\n\r\n")
        self.assertIn(b"v3", kept.recv(4096))
        kept.close()
        weft.until(lambda: weft.sockets() <= sockets, "the end of the old sockets")

    def test_JS_12_timers_of_the_old_application_end_with_it(self):
        source = """
            import { every } from "weft:time";
            setInterval(() => console.error("interval of v0"), 5);
            every(5, () => console.error("every of v0"));
            export default { fetch: () => new Response("v0") };"""
        weft = Weft(source, arguments=["--watch"])
        self.addCleanup(weft.close)

        def ticks(version):
            log = weft.log()
            return [log.count(f"{kind} of {version}") for kind in ["interval", "every"]]

        def until_ticking(version):
            before = ticks(version)
            weft.until(lambda: all(map(int.__lt__, before, ticks(version))), f"ticks of {version}")

        until_ticking("v0")
        (weft.path / "app.js").write_text(source.replace("v0", "v1"))
        weft.until(lambda: weft.ask("/").text == "v1", "v1")
        until_ticking("v1")
        before = ticks("v0")
        until_ticking("v1")
        until_ticking("v1")
        self.assertEqual(ticks("v0"), before)

    def test_JS_12_a_reload_that_fails_keeps_the_old_application(self):
        weft = Weft('export default { fetch: () => new Response("good") };',
                    arguments=["--watch"])
        self.addCleanup(weft.close)
        self.assertEqual(weft.ask("/").text, "good")
        (weft.path / "app.js").write_text("this is no JavaScript")
        weft.until(lambda: "app.js" in weft.log(), "the complaint")
        self.assertEqual(weft.ask("/").text, "good")


    def test_HST_5_a_change_is_loaded_within_200_ms(self):
        weft = Weft('export default { fetch: () => new Response("v0") };', arguments=["--watch"])
        self.addCleanup(weft.close)
        bound, best = 2 if SANITIZED else 0.2, 60
        # Other programs of the machine can hold up any one change, but not all.
        for version in range(1, 41):
            source = f'export default {{ fetch: () => new Response("v{version}") }};'
            (weft.path / "app.js").write_text(source)
            begun = time.monotonic()
            weft.until(lambda: weft.ask("/").text == f"v{version}", f"v{version}")
            best = min(best, time.monotonic() - begun)
            if version >= 7 and best < bound:
                break
        self.assertLess(best, bound)

    def test_HST_5_a_new_file_that_is_broken_or_missing_and_then_mended_is_loaded(self):
        weft = Weft('export default { fetch: () => new Response("old") };', arguments=["--watch"])
        self.addCleanup(weft.close)
        for name, broken in [("broken.js", "this is no JavaScript"), ("missing.js", None)]:
            with self.subTest(name):
                if broken:
                    (weft.path / name).write_text(broken)
                (weft.path / "app.js").write_text(
                    f'import {{ text }} from "./{name}";\n'
                    "export default { fetch: () => new Response(text) };")
                weft.until(lambda: name in weft.log(), "the complaint")
                self.assertNotEqual(weft.ask("/").text, name)
                (weft.path / name).write_text(f'export const text = "{name}";')
                weft.until(lambda: weft.ask("/").text == name, "the mended application")

    def test_HST_5_an_entry_that_was_away_is_loaded_again(self):
        weft = Weft('export default { fetch: () => new Response("old") };', arguments=["--watch"])
        self.addCleanup(weft.close)
        (weft.path / "app.js").unlink()
        weft.until(lambda: "app.js" in weft.log(), "the complaint")
        self.assertEqual(weft.ask("/").text, "old")
        (weft.path / "app.js").write_text('export default { fetch: () => new Response("new") };')
        weft.until(lambda: weft.ask("/").text == "new", "the new application")

    def test_JS_6_who_watches_and_who_waits_for_a_last_request_is_not_woken_meanwhile(self):
        source = """
            export default { fetch(request) {
              if (!request.url.endsWith("/stream")) return new Response("v0");
              return new Response(new ReadableStream({
                start(controller) { controller.enqueue(new Uint8Array(10)); } }));
            } };"""
        weft = Weft(source, arguments=["--watch"])
        self.addCleanup(weft.close)
        stream = weft.send("/stream")
        self.addCleanup(stream.close)
        stream.recv(4096)
        # The stream of the old application does not hold the new ones up.
        for version in ["v1", "v2"]:
            (weft.path / "app.js").write_text(source.replace("v0", version))
            weft.until(lambda: weft.ask("/").text == version, version)

        def rests():
            before = weft.switches()
            time.sleep(2)
            return weft.switches() - before < 40

        # What still watches a request that has ended wakes up again and again.
        weft.until(rests, "a server at rest")


class Hosts(unittest.TestCase):
    def test_JS_15_the_Host_header_selects_the_application(self):
        config = {
            "listeners": [{"address": "127.0.0.1:0"}],
            "apps": [
                {"name": "one", "hosts": ["one.example"], "entry": "one.js", "env": {"N": "1"}},
                {"name": "two", "hosts": ["two.example", "*.two.example"], "entry": "two.js",
                 "limits": {"cpuMs": 100}},
            ],
        }
        answer = 'export default { fetch: (request, env) => new Response("%s" + (env.N ?? "")) };'
        weft = Weft(config=config, files={
            "one.js": answer % "one",
            "two.js": 'export default { fetch(request) { if (request.url.endsWith("loop")) '
                      'for (;;); return new Response("two"); } };'})
        self.addCleanup(weft.close)
        for host, text in [("one.example", "one1"), ("two.example", "two"),
                           ("a.two.example", "two"), ("ONE.example:80", "one1")]:
            with self.subTest(host):
                self.assertEqual(weft.ask("/", headers={"host": host}).text, text)
        self.assertEqual(weft.ask("/", headers={"host": "three.example"}).status, 421)
        self.assertEqual(weft.ask("/loop", headers={"host": "two.example"}).code, "CpuLimit")
        self.assertEqual(weft.ask("/", headers={"host": "one.example"}).text, "one1")


if __name__ == "__main__":
    main()
