#!/usr/bin/env python3
"""Debuggers that come to `weft serve --inspect` and `weft run --inspect-brk` (JS-13)."""
import json
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

from devtools import Refused, Session, get, listening
from served import PATIENCE_S, WEFT, ServeTest, Weft, main

APP = """
const kept = [];
const paths = {
  ok: () => new Response("ok"),
  add(url) {
    let sum = Number(url.searchParams.get("a"));
    sum += 2;
    return new Response(`sum ${sum}`);
  },
  log(url) {
    console.warn("seen", { path: url.pathname });
    return new Response("logged");
  },
  fail() { throw new TypeError("nobody catches it"); },
  spin() {
    let n = 0;
    for (const end = performance.now() + 100; performance.now() < end;) n++;
    return new Response(`spun`);
  },
  fill() { for (;;) kept.push(new Array(1e5).fill({})); },
};

export default {
  async fetch(request) {
    const url = new URL(request.url);
    return paths[url.pathname.slice(1)](url);
  },
};
"""
# The lines of `add` above, from 0, as the protocol counts.
SUM_LINE = next(at for at, line in enumerate(APP.splitlines()) if "sum += 2" in line)


class InBackground:
    """A request whose answer is looked at later."""

    def __init__(self, weft, target):
        self.answer = None
        self.thread = threading.Thread(target=self.ask, args=[weft, target])
        self.thread.start()

    def ask(self, weft, target):
        self.answer = weft.ask(target)

    def text(self):
        self.thread.join(PATIENCE_S)
        return self.answer.text


class Inspected(ServeTest):
    SOURCE = APP
    OPTIONS = {"arguments": ["--inspect=0"], "limits": {"handlerDeadlineMs": 300, "heapMiB": 64}}

    def setUp(self):
        self.url = listening(self.weft.log())[0]

    def open(self, **options):
        session = Session(self.url, **options)
        self.addCleanup(session.close)
        return session

    def stop_in_add(self):
        """A session, and a request that stands at a breakpoint."""
        session = self.open()
        session.ask("Debugger.enable")
        place = session.ask("Debugger.setBreakpointByUrl", lineNumber=SUM_LINE,
                            urlRegex=".*/app.js")
        self.assertEqual(len(place["locations"]), 1)
        request = InBackground(self.weft, "/add?a=40")
        return session, request, session.wait_for("Debugger.paused")

    def test_JS_13_the_isolates_are_listed(self):
        status, text = get(self.url, "/json/list")
        target, = json.loads(text)
        self.assertEqual(status, 200)
        self.assertEqual(target["webSocketDebuggerUrl"], self.url)
        self.assertEqual(target["url"], f"file://{self.weft.path}/app.js")
        self.assertEqual((target["type"], target["id"]), ("node", self.url.rpartition("/")[2]))
        self.assertIn(self.url.removeprefix("ws://"), target["devtoolsFrontendUrl"])
        self.assertEqual(get(self.url, "/json")[1], text)
        self.assertIn("weft/", json.loads(get(self.url, "/json/version")[1])["Browser"])
        self.assertEqual(get(self.url, "/json/none")[0], 404)

    def test_JS_13_the_protocol_has_what_the_engine_says_it_has(self):
        domains = {domain["domain"]: {entry["name"] for entry in domain["commands"]}
                   for domain in json.loads(get(self.url, "/json/protocol")[1])["domains"]}
        known = self.open().ask("Schema.getDomains")["domains"]
        self.assertLessEqual({domain["name"] for domain in known}, set(domains))
        self.assertIn("setBreakpointByUrl", domains["Debugger"])

    def test_JS_13_pages_and_names_that_were_rebound_are_refused(self):
        for host in ["evil.example", "127.0.0.1.evil.example:9229", "localhost.evil.example"]:
            self.assertEqual(get(self.url, "/json", Host=host)[0], 403, host)
            with self.assertRaisesRegex(Refused, "403"):
                Session(self.url, host=host)
        for host in ["localhost:9229", "[::1]:9229", "10.1.2.3"]:
            self.assertEqual(get(self.url, "/json", Host=host)[0], 200, host)
        for origin in ["http://127.0.0.1", "https://evil.example", "null"]:
            with self.assertRaisesRegex(Refused, "403"):
                Session(self.url, origin=origin)
        for origin in ["devtools://devtools", "chrome-devtools://devtools"]:
            self.open(origin=origin).ask("Runtime.enable")
        with self.assertRaisesRegex(Refused, "404"):
            Session(self.url[:-4] + "0000")

    def test_JS_13_a_handler_stands_at_a_breakpoint_is_asked_and_goes_on(self):
        session, request, paused = self.stop_in_add()
        frame = paused["callFrames"][0]
        self.assertEqual((frame["functionName"], session.url_of(frame)),
                         ("add", f"file://{self.weft.path}/app.js"))
        asked = session.ask("Debugger.evaluateOnCallFrame", callFrameId=frame["callFrameId"],
                            expression="sum")
        self.assertEqual(asked["result"]["value"], 40)
        session.send("Debugger.stepOver")
        frame = session.wait_for("Debugger.paused")["callFrames"][0]
        self.assertEqual(frame["location"]["lineNumber"], SUM_LINE + 1)
        session.ask("Debugger.setVariableValue", scopeNumber=0, variableName="sum",
                    newValue={"value": 7}, callFrameId=frame["callFrameId"])
        session.ask("Debugger.resume")
        self.assertEqual(request.text(), "sum 7")

    def test_JS_13_a_client_that_leaves_lets_go_of_the_handler(self):
        session, request, _ = self.stop_in_add()
        session.close()
        self.assertEqual(request.text(), "sum 42")

    def test_JS_13_another_client_sees_what_stands_still(self):
        first, request, _ = self.stop_in_add()
        second = self.open()
        second.send("Debugger.enable")
        second.wait_for("Debugger.paused")
        first.close()
        second.ask("Debugger.resume")
        self.assertEqual(request.text(), "sum 42")

    def test_JS_13_the_console_and_what_nobody_catches_are_told(self):
        session = self.open()
        session.ask("Runtime.enable")
        self.assertEqual(self.weft.ask("/log").text, "logged")
        called = session.wait_for("Runtime.consoleAPICalled")
        self.assertEqual((called["type"], called["args"][0]["value"]), ("warning", "seen"))
        self.assertEqual(called["stackTrace"]["callFrames"][0]["functionName"], "log")
        self.assertIn("seen { path: '/log' }", self.weft.log())
        self.assertEqual(self.weft.ask("/fail").status, 500)
        thrown = session.wait_for("Runtime.exceptionThrown")["exceptionDetails"]
        self.assertIn("TypeError: nobody catches it", thrown["exception"]["description"])
        self.assertTrue(thrown["stackTrace"]["callFrames"])

    def test_JS_13_a_profile_and_a_heap_snapshot_are_taken_over_the_wire(self):
        session = self.open()
        session.ask("Profiler.enable")
        session.ask("Profiler.start")
        self.assertEqual(self.weft.ask("/spin").text, "spun")
        profile = session.ask("Profiler.stop")["profile"]
        self.assertIn("spin", [node["callFrame"]["functionName"] for node in profile["nodes"]])
        session.ask("HeapProfiler.takeHeapSnapshot")
        chunks = [event["params"]["chunk"] for event in session.events
                  if event["method"] == "HeapProfiler.addHeapSnapshotChunk"]
        self.assertGreater(json.loads("".join(chunks))["snapshot"]["node_count"], 1000)

    def test_JS_13_an_isolate_that_is_replaced_ends_its_sessions(self):
        session = self.open()
        session.ask("Runtime.enable")
        self.assertEqual(self.weft.ask("/fill").status, 500)
        session.await_end()
        self.assertIn("Inspector.targetCrashed", [event["method"] for event in session.events])
        self.assert_answers()
        asked = self.open().ask("Runtime.evaluate", expression="6 * 7")
        self.assertEqual(asked["result"]["value"], 42)


class Places(unittest.TestCase):
    def open(self, url):
        session = Session(url)
        self.addCleanup(session.close)
        return session

    def stop(self, weft):
        """A session whose isolate stands still."""
        session = self.open(listening(weft.log())[0])
        session.ask("Debugger.enable")
        session.send("Runtime.evaluate", expression="debugger")
        session.wait_for("Debugger.paused")
        return session

    def test_JS_13_isolates_stand_still_alone(self):
        weft = Weft(APP, arguments=["--inspect=0", "--isolates", "2"])
        self.addCleanup(weft.close)
        self.stop(weft)
        second = self.open(listening(weft.log())[1])
        self.assertEqual(second.ask("Runtime.evaluate", expression="1 + 1")["result"]["value"], 2)

    def test_JS_13_a_native_route_answers_while_its_isolate_stands_still(self):
        weft = Weft(APP, arguments=["--inspect=0"], files={"page.txt": "a page"}, config={
            "listeners": [{"address": "127.0.0.1:0"}],
            "apps": [{"entry": "app.js", "static": [{"path": "/files", "folder": "."}]}]})
        self.addCleanup(weft.close)
        self.stop(weft)
        self.assertEqual(weft.ask("/files/page.txt").text, "a page")

    def test_JS_13_a_server_that_ends_lets_go_of_what_stands_still(self):
        weft = Weft(APP, arguments=["--inspect=0"])
        session = self.stop(weft)
        weft.process.terminate()
        session.await_end()
        # Another signal would end it at once.
        self.assertEqual(weft.process.wait(PATIENCE_S), 0)
        weft.close()

    def test_JS_13_an_application_that_is_loaded_anew_keeps_its_place(self):
        weft = Weft(APP, arguments=["--inspect=0", "--watch"])
        self.addCleanup(weft.close)
        url, = listening(weft.log())
        session = self.open(url)
        session.ask("Runtime.enable")
        (weft.path / "app.js").write_text(
            "globalThis.edition = 2; export default { fetch: () => new Response() };")
        session.await_end()
        asked = self.open(url).ask("Runtime.evaluate", expression="edition")
        self.assertEqual(asked["result"]["value"], 2)


class Scripts(unittest.TestCase):
    def start(self, name, source, *words):
        scratch = tempfile.TemporaryDirectory(prefix="weft-inspect.")
        self.addCleanup(scratch.cleanup)
        path = Path(scratch.name) / name
        path.write_text(source)
        weft = subprocess.Popen([WEFT, *(words or ["run", "--inspect-brk=0"]), path], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(weft.communicate)
        self.addCleanup(weft.kill)
        url, = listening(weft.stderr.readline())
        session = Session(url)
        self.addCleanup(session.close)
        return weft, session, f"file://{path}"

    def stopped_first(self, session):
        session.ask("Runtime.enable")
        session.ask("Debugger.enable")
        session.ask("Runtime.runIfWaitingForDebugger")
        paused = session.wait_for("Debugger.paused")
        frame = paused["callFrames"][0]
        return paused["reason"], session.url_of(frame), frame["location"]["lineNumber"]

    def test_JS_13_a_module_waits_for_a_client_and_stops_at_its_first_statement(self):
        weft, session, url = self.start("script.mjs", "// first\nconst a = 1;\nconsole.log(a);\n")
        self.assertEqual(self.stopped_first(session), ("Break on start", url, 1))
        session.ask("Debugger.resume")
        self.assertEqual(session.wait_for("Runtime.consoleAPICalled")["args"][0]["value"], 1)
        session.await_end()
        self.assertEqual(weft.wait(PATIENCE_S), 0)
        self.assertEqual(weft.stdout.read(), "1\n")

    def test_JS_13_CommonJS_stops_at_the_first_statement_of_the_file(self):
        _, session, url = self.start("script.cjs", "\nconst a = 1;\nconsole.log(a);\n")
        self.assertEqual(self.stopped_first(session), ("Break on start", url, 1))
        session.close()

    def test_JS_13_a_script_without_brk_waits_for_nobody(self):
        weft, session, _ = self.start("script.js", "setInterval(() => {}, 1000)",
                                      "run", "--inspect=127.0.0.1:0")
        session.send("Runtime.evaluate", expression="process.exit(7)")
        session.await_end()
        self.assertEqual(weft.wait(PATIENCE_S), 7)

    def test_JS_13_an_application_that_waits_for_a_client_can_be_ended(self):
        weft, session, _ = self.start("app.js", APP, "serve", "--port=0", "--inspect-brk=0")
        session.ask("Runtime.enable")
        weft.terminate()
        session.await_end()
        self.assertEqual(weft.wait(PATIENCE_S), 1)
        self.assertIn("wait for a debugger", weft.stderr.read())

    def test_JS_13_an_application_stops_at_its_first_statement(self):
        weft, session, url = self.start("app.js", APP, "serve", "--port=0", "--inspect-brk=0")
        self.assertEqual(self.stopped_first(session), ("Break on start", url, 1))
        session.ask("Debugger.resume")
        self.assertIn("weft serves", weft.stdout.readline())

    def test_JS_13_a_port_that_is_taken_is_said(self):
        _, session, _ = self.start("script.js", "")
        port = session.socket.getpeername()[1]
        done = subprocess.run([WEFT, "run", f"--inspect={port}", "/dev/null"], text=True,
                              capture_output=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 3)
        self.assertIn(f"127.0.0.1:{port}", done.stderr)


if __name__ == "__main__":
    main()
