#!/usr/bin/env python3
"""weft test, as people call it:  weft_test_test.py WEFT [unittest's arguments]"""
import http.server
import os
import threading
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path

from program import PATIENCE_S, InFolder

HERE = Path(__file__).resolve().parent

IMPORT = ('import { test, it, describe, expect, fn, spyOn, fakeClock, beforeAll, afterAll, '
          'beforeEach, afterEach } from "weft:test";\nimport { Time } from "weft:time";\n')
# The machine of the build server is not that of the tests.
os.environ.pop("CI", None)


class WeftTest(InFolder):
    def run_tests(self, text, *words, name="a.test.js", environment=None):
        self.write(name, IMPORT + text)
        return self.weft("test", *words, environment=environment)

    def test_JS_18_passing_tests_are_status_zero(self):
        status, said = self.run_tests("""
            describe("math", () => {
              test("adds", () => { expect(1 + 1).toBe(2); });
              it.each([[1, 2], [3, 4]])("%d and %d", (a, b) => { expect(b - a).toBe(1); });
              test.each([{ name: "ann" }])("of $name", ({ name }) => expect(name).toBe("ann"));
              test.skip("left out", () => { throw new Error("ran"); });
              test.todo("to be written");
              test.failing("known", () => { throw new Error("known"); });
            });
            """)
        self.assertEqual(status, 0, said)
        self.assertIn("5 passed, 2 skipped; 1 file", said)

    def test_JS_18_a_failure_has_a_code_frame_and_a_difference(self):
        status, said = self.run_tests("""
            test("objects", () => {
              expect({ name: "bob", list: [1, 2] }).toEqual({ name: "ann", list: [1, 2] });
            });
            test("numbers", () => { expect(1).toBe(2); });
            """)
        self.assertEqual(status, 1, said)
        self.assertIn("a.test.js:5:53", said)
        self.assertIn("expect({ name: \"bob\"", said)
        self.assertRegex(said, r"\n +\^\n")
        self.assertIn("-   name: 'ann'\n", said)
        self.assertIn("+   name: 'bob'\n", said)
        self.assertIn("Expected: 2\n    Received: 1\n", said)
        self.assertNotIn("weft:", said)
        self.assertNotIn("\033", said)
        self.assertIn("0 passed, 2 failed; 1 file", said)

    def test_JS_18_what_never_ends_fails_alone(self):
        status, said = self.run_tests("""
            test("waits", () => new Promise(() => {}));
            test("loops", () => { for (;;) ; });
            test("floods", async () => { for (;;) await null; });
            test("loops later", async () => { await Time.delay(1); for (;;) ; });
            test("of its own time", () => Time.delay(60_000), { timeout: 50 });
            test("goes on", () => {});
            """, "--timeout", "2000")
        self.assertEqual(status, 1, said)
        self.assertIn("1 passed, 5 failed", said)
        self.assertIn("The test has not ended within 2000 ms", said)
        self.assertEqual(said.count("The test computed for more than 2000 ms and was ended"), 3)
        self.assertIn("The test has not ended within 50 ms", said)

    def test_JS_18_a_file_that_never_ends_fails_alone(self):
        self.write("b.test.js", "for (;;) ;\n")
        self.write("c.test.js", "await new Promise(() => {});\n")
        self.write("d.test.js", "const a = ;\n")
        self.write("e.test.js", "const a = [];\nfor (;;) a.push(new Array(10000).fill(a));\n")
        self.write("f.test.js", "// nothing\n")
        status, said = self.run_tests('test("good", () => {});\n', "--timeout", "5000")
        self.assertEqual(status, 1, said)
        self.assertIn("1 passed, 5 errors; 6 files", said)
        self.assertEqual(said.count("The file has not ended within 5000 ms"), 2)
        self.assertIn("d.test.js:1", said)
        self.assertIn("the heap is full", said)
        self.assertIn("The file declares no test", said)

    def test_JS_18_what_a_test_leaves_ends_with_it(self):
        status, said = self.run_tests("""
            let ticks = 0;
            let delayed = "waits";
            test("leaves", () => {
              setInterval(() => { ++ticks; }, 1);
              Time.delay(30).then(() => { delayed = "came"; }, () => { delayed = "ended"; });
            });
            test("sees", async () => {
              const before = ticks;
              await Time.delay(60);
              expect([ticks, delayed]).toEqual([before, "waits"]);
            });
            """)
        self.assertEqual(status, 0, said)
        self.assertIn("leaves: left 2 timers, which ended with it", said)

    def test_JS_18_an_error_that_nobody_caught_fails_the_test_that_runs(self):
        status, said = self.run_tests("""
            test("timer", async () => {
              setTimeout(() => { throw new Error("in a timer"); }, 1);
              await Time.delay(10_000);
            });
            test("rejection", async () => {
              Promise.reject(new TypeError("of nobody"));
              await Time.delay(10_000);
            });
            test("good", () => {});
            """)
        self.assertEqual(status, 1, said)
        self.assertIn("Error: in a timer", said)
        self.assertIn("TypeError: of nobody", said)
        self.assertIn("1 passed, 2 failed", said)

    def test_JS_18_hooks_run_around(self):
        status, said = self.run_tests("""
            const order = [];
            const note = (name) => () => { order.push(name); };
            beforeAll(note("A")); afterAll(() => console.log(order.join("")));
            beforeEach(note("b")); afterEach(note("e"));
            describe("inner", () => {
              beforeAll(note("B")); afterAll(note("F"));
              beforeEach(note("c")); afterEach(note("d"));
              test("one", note("1"));
              test("two", note("2"));
            });
            describe("broken", () => {
              beforeAll(() => { throw new Error("no ground"); });
              test("three", note("3"));
            });
            """)
        self.assertEqual(status, 1, said)
        self.assertIn("ABbc1debc2deF\n", said)
        self.assertIn("broken > three", said)
        self.assertIn("no ground", said)

    def test_JS_18_snapshots_are_written_then_compared(self):
        text = 'test("shape", () => { expect({ a: [1, %s] }).toMatchSnapshot(); });\n'
        status, said = self.run_tests(text % 2)
        self.assertEqual((status, "1 snapshot written" in said), (0, True), said)
        kept = (self.folder / "__snapshots__" / "a.test.js.snap").read_text()
        self.assertIn("=== shape 1\n{\n  a: [\n    1,\n    2\n  ]\n}\n", kept)
        self.assertEqual(self.run_tests(text % 2)[0], 0)
        status, said = self.run_tests(text % 3)
        self.assertEqual(status, 1, said)
        self.assertIn("-     2\n", said)
        self.assertIn("+     3\n", said)
        self.assertEqual(self.run_tests(text % 3, "--update")[0], 0)
        self.assertEqual(self.run_tests(text % 3)[0], 0)
        status, said = self.run_tests('test("other", () => { expect(1).toMatchSnapshot(); });\n',
                                  environment={"CI": "true"})
        self.assertEqual((status, "none is written" in said), (1, True), said)
        status, said = self.run_tests(
            'test("inline", () => {\n'
            '  expect([1]).toMatchInlineSnapshot(`\n    [\n      1\n    ]\n  `);\n});\n')
        self.assertEqual(status, 0, said)

    def test_JS_18_a_report_in_JUnits_form(self):
        self.write("b.test.js", 'throw new Error("<no & file>");\n')
        status, said = self.run_tests("""
            test("good", () => {});
            test("bad <&>", () => { expect("\\u0001").toBe("<b>"); });
            test.skip("left out", () => {});
            """, "--junit", "report.xml")
        self.assertEqual(status, 1, said)
        suites = xml.parse(self.folder / "report.xml").getroot()
        found = {suite.get("name"): suite for suite in suites}
        self.assertEqual(sorted(found), ["a.test.js", "b.test.js"])
        first = found["a.test.js"]
        self.assertEqual([first.get(name) for name in ("tests", "failures", "skipped")],
                         ["3", "1", "1"])
        self.assertEqual(first[1].get("name"), "bad <&>")
        self.assertIn("a.test.js:5", first[1].find("failure").text)
        self.assertEqual(first[2].find("skipped").tag, "skipped")
        self.assertIn("<no & file>", found["b.test.js"][0].find("error").text)

    def test_JS_18_files_run_in_isolates_of_their_own_at_the_same_time(self):
        # Nobody is answered until all four are there.
        meeting = threading.Barrier(4)

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                meeting.wait(PATIENCE_S)
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        for name in "abcd":
            self.write(f"{name}.test.js", IMPORT + """
                test("meets the others", async () => {
                  expect(globalThis.seen).toBe(undefined);
                  globalThis.seen = true;
                  const response = await fetch("http://127.0.0.1:%d/");
                  expect(response.status).toBe(204);
                });
                """ % server.server_port)
        status, said = self.weft("test", "--jobs", "4", "--timeout", "50000",
                                 "--allow-fetch", "127.0.0.1")
        self.assertEqual((status, "4 passed; 4 files" in said), (0, True), said)

    def test_JS_18_what_is_run_can_be_chosen(self):
        text = """
            describe("login", () => {
              test("works", () => {});
              test("fails", () => { throw 1; });
            });
            test("other", () => {});
            """
        status, said = self.run_tests(text, "--filter", "login works")
        self.assertEqual((status, "1 passed; 1 file" in said), (0, True), said)
        status, said = self.run_tests(text, "--bail")
        self.assertEqual((status, "1 passed, 1 failed; 1 file" in said), (1, True), said)
        status, said = self.run_tests('test.only("a", () => {});\ntest("b", () => { throw 1; });')
        self.assertEqual((status, "1 passed, 1 skipped" in said), (0, True), said)
        self.write("src/deep/x_test.ts", IMPORT + 'test("typed", () => { const a: number = 1; });')
        self.write("node_modules/p/y.test.js", "throw 1;")
        self.write("src/.hidden/z.test.js", "throw 1;")
        self.assertIn("1 passed; 1 file", self.weft("test", "src")[1])
        self.assertIn("2 passed, 1 skipped; 2 files", self.weft("test")[1])

    def test_JS_18_mocks_and_the_clock_of_weft_time(self):
        status, said = self.run_tests("""
            const object = { greet: (name) => `hello ${name}` };
            test("spy", () => {
              const spy = spyOn(object, "greet").mockReturnValueOnce("instead");
              expect(object.greet("ann")).toBe("instead");
              expect(object.greet("bob")).toBe("hello bob");
              expect(spy).toHaveBeenCalledTimes(2);
              expect(spy).toHaveBeenLastCalledWith("bob");
              expect(spy).toHaveReturnedWith("hello bob");
            });
            test("is restored", () => { expect(object.greet("x")).toBe("hello x"); });
            test("clock", async () => {
              const clock = fakeClock({ now: 0 });
              const done = fn();
              Time.delay("1h", { clock }).then(done);
              clock.advanceBy("59m"); await null;
              expect(done).not.toHaveBeenCalled();
              clock.advanceBy("1m"); await null;
              expect(done).toHaveBeenCalledOnce();
            });
            """)
        self.assertEqual(status, 0, said)

    def test_JS_18_matchers_hold_and_fail_as_they_should(self):
        status, said = self.weft("test", str(HERE / "matchers.test.js"))
        self.assertEqual(status, 0, said)
        self.assertIn("13 passed; 1 file", said)

    def test_HST_5_what_is_wrong_is_said(self):
        status, said = self.weft("test")
        self.assertEqual((status, "there is no *.test.*" in said), (2, True), said)
        status, said = self.weft("test", "none.js")
        self.assertEqual((status, "there is no none.js" in said), (2, True), said)
        self.assertEqual(self.weft("test", "--jobs", "0")[0], 2)
        self.write("a.test.js", IMPORT + 'test("x", () => {});')
        status, said = self.weft("run", "a.test.js")
        self.assertEqual((status, 'are run by "weft test"' in said), (1, True), said)
        status, said = self.weft("test", "--junit", "/proc/none/x.xml")
        self.assertEqual((status, "cannot be written" in said), (3, True), said)


if __name__ == "__main__":
    unittest.main()
