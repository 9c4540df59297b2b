#!/usr/bin/env python3
"""The program weft as people call it:  command_test.py WEFT [unittest's arguments]"""
import http.client
import os
import platform
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from contextlib import contextmanager
from pathlib import Path

# The compiled code of the user is neither taken nor added to.
os.environ.setdefault("WEFT_CACHE_DIR", "")
WEFT = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else "weft"
PATIENCE_S = 120
HELLO = 'export default { fetch: (request) => new Response("hello") };\n'


def eventually(what, condition):
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError(f"{what}: not within {PATIENCE_S} s")


class Command(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="weft-command.")
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def weft(self, *words):
        done = subprocess.run([WEFT, *words], cwd=self.folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=PATIENCE_S)
        return done.returncode, done.stdout, done.stderr

    @contextmanager
    def serving(self, *words):
        process = subprocess.Popen([WEFT, "serve", *words], cwd=self.folder, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            line = process.stdout.readline()
            match = re.search(r"http://[\d.]+:(\d+)/", line)
            if not match and "unix:" not in line:
                process.kill()
                self.fail(f"weft said {line!r}: {process.stderr.read()}")
            yield process, int(match.group(1)) if match else 0
        finally:
            if process.poll() is None:
                process.terminate()
            try:
                process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()
            process.stderr.close()

    def ask(self, port, path="/", method="GET", body=None):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        try:
            connection.request(method, path, body)
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    # ---- run, eval, check

    def test_JS_12_eval_writes_the_value(self):
        self.assertEqual(self.weft("eval", "1 + 1"), (0, "2\n", ""))
        self.assertEqual(self.weft("eval", "let a = 2; a * 3")[1], "6\n")
        self.assertEqual(
            self.weft("eval", "await new Promise((done) => setTimeout(done, 5, 'x'))")[1], "x\n")
        self.assertEqual(self.weft("eval", "undefined"), (0, "", ""))

    def test_JS_12_run_ends_when_nothing_is_pending(self):
        self.write("a.js", 'import { b } from "./b.js";\nconsole.log(b);\n'
                   'setTimeout(() => console.log("late"), 50);\n')
        self.write("b.js", 'export const b = await Promise.resolve("b");\n')
        self.assertEqual(self.weft("run", "a.js"), (0, "b\nlate\n", ""))

    def test_JS_2_a_script_of_CommonJS_is_its_main_module(self):
        self.write("a.cjs", "const b = require('./b.cjs');\n"
                   "console.log(require.main === module, module.id, ...b);\n")
        self.write("b.cjs", "module.exports = [require.main === module, require.main.filename];\n")
        self.assertEqual(self.weft("run", "a.cjs"),
                         (0, f"true . false {self.folder}/a.cjs\n", ""))
        self.write("c.mjs", "import { createRequire } from 'node:module';\n"
                   "console.log(createRequire(import.meta.url).main);\nimport './d.cjs';\n")
        self.write("d.cjs", "console.log(require.main);\n")
        self.assertEqual(self.weft("run", "c.mjs"), (0, "undefined\nundefined\n", ""))

    def test_JS_12_a_module_of_WebAssembly_that_is_compiled_is_pending(self):
        self.write("a.js", """
            const bytes = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);
            console.log(String(await WebAssembly.compile(bytes)));
            const { instance } = await WebAssembly.instantiate(bytes);
            console.log(String(instance));
            WebAssembly.compile(new Uint8Array(3)).catch((error) => console.log(error.name));
            console.log(WebAssembly.compile.name, WebAssembly.compile.length);
            """)
        self.assertEqual(self.weft("run", "a.js"), (0, (
            "[object WebAssembly.Module]\n[object WebAssembly.Instance]\ncompile 1\n"
            "CompileError\n"), ""))
        self.write("b.js", "WebAssembly.compile(new Uint8Array(3));\n")
        status, _, told = self.weft("run", "b.js")
        self.assertEqual((status, "CompileError" in told), (1, True), told)

    def test_JS_12_a_script_that_throws_is_status_one(self):
        self.write("a.js", "const x = 1;\nthrow new Error('no ' + x);\n")
        status, _, told = self.weft("run", "a.js")
        self.assertEqual(status, 1)
        self.assertIn("no 1", told)
        self.assertIn("a.js:2", told)
        self.write("b.js", "Promise.reject(new TypeError('late'));\n")
        status, _, told = self.weft("run", "b.js")
        self.assertEqual((status, "TypeError: late" in told), (1, True), told)
        self.assertIn('Uncaught {"code":7}', self.weft("eval", "throw { code: 7 }")[2])

    def test_JS_12_an_AggregateError_tells_of_what_it_holds(self):
        self.write("a.js", "const all = [new RangeError('one'), 2, ...Array(9).fill(3)];\n"
                           "throw new AggregateError(all, 'many', { cause: new Error('why') });\n")
        status, _, told = self.weft("run", "a.js")
        self.assertEqual(status, 1)
        for part in ("AggregateError: many", "  because of: RangeError: one", "a.js:1",
                     "  because of: Uncaught 2", "  and of 3 more", "  caused by: Error: why"):
            self.assertIn(part, told)

    def test_JS_12_a_signal_that_would_fire_later_keeps_no_script(self):
        hour = 3_600_000
        self.write("a.js", f"""
            const signal = AbortSignal.timeout({hour});
            await (await fetch("data:,x", {{ signal, timeoutMs: {hour} }})).text();
            setTimeout(() => console.log("timer"), 20);
            setImmediate(() => console.log("immediate"));
            """)
        # The timer is the first one when 20 ms have gone by before the next turn of the loop.
        status, said, told = self.weft("run", "a.js")
        self.assertEqual((status, sorted(said.split()), told), (0, ["immediate", "timer"], ""))
        # Whoever waits for it is told.
        self.write("b.js", """
            const signal = AbortSignal.timeout(20);
            await new Promise((resolve) => signal.addEventListener("abort", resolve));
            console.log(signal.reason.name);
            """)
        self.assertEqual(self.weft("run", "b.js"), (0, "TimeoutError\n", ""))

    def test_JS_12_exitCode_is_the_status_at_a_natural_end(self):
        self.write("a.js", "process.exitCode = 7; setTimeout(() => console.log('late'), 5);\n")
        self.assertEqual(self.weft("run", "a.js"), (7, "late\n", ""))
        self.assertEqual(self.weft("eval", "process.exitCode = '9'; 'x'"), (9, "x\n", ""))
        self.write("b.mjs", 'import process from "node:process"; process.exitCode = 3;\n'
                   "process.exit();\n")
        self.assertEqual(self.weft("run", "b.mjs"), (3, "", ""))
        status, _, told = self.weft("eval", "process.exitCode = 'seven'")
        self.assertEqual((status, "must be an integer" in told), (1, True), told)
        # What nobody caught is a failure, whatever else was asked for.
        self.assertEqual(self.weft("eval", "process.exitCode = 0; throw 1")[0], 1)

    def test_JS_12_process_tells_of_the_end(self):
        self.write("a.js", """
            let rounds = 0;
            process.on("beforeExit", (code) => {
                console.log("beforeExit", code);
                if (++rounds < 3) setTimeout(() => console.log("more"), 1);
            });
            process.on("exit", (code) => {
                console.log("exit", code, process.exitCode);
                process.exitCode = 5;
                setTimeout(() => console.log("never"), 1);
            });
            process.exitCode = 4;
            """)
        self.assertEqual(self.weft("run", "a.js"), (5, (
            "beforeExit 4\nmore\nbeforeExit 4\nmore\nbeforeExit 4\nexit 4 4\n"), ""))
        self.write("b.js", """
            process.on("beforeExit", () => console.log("beforeExit"));
            process.on("exit", (code) => { console.log("exit", code); process.exit(6); });
            process.exit(2);
            """)
        self.assertEqual(self.weft("run", "b.js"), (6, "exit 2\n", ""))
        self.write("c.js", """
            process.on("beforeExit", () => console.log("beforeExit"));
            process.on("exit", (code) => console.log("exit", code));
            setTimeout(() => { throw new Error("late"); }, 1);
            """)
        status, said, told = self.weft("run", "c.js")
        self.assertEqual((status, said, "late" in told), (1, "exit 1\n", True), told)
        self.write("d.js", 'process.on("exit", () => { throw new Error("at the end"); });\n')
        status, _, told = self.weft("run", "d.js")
        self.assertEqual((status, "at the end" in told), (1, True), told)

    def test_JS_18_a_recurring_job_that_has_ended_keeps_no_script(self):
        self.write("a.js", """
            import { Time } from "weft:time";
            Time.every(1, () => console.log("ran"), { maxRuns: 1, timeoutMs: "1h" });
            """)
        self.assertEqual(self.weft("run", "a.js"), (0, "ran\n", ""))

    def test_JS_7_a_script_that_fills_its_heap_fails_and_runs_once(self):
        bomb = "const kept = []; for (;;) kept.push(new Array(10000).fill(Math.random()));"
        for name, text in [("a.js", bomb), ("b.js", f"setTimeout(() => {{ {bomb} }}, 1);")]:
            self.write(name, f"console.log('begun');\n{text}\n")
            status, said, told = self.weft("run", name)
            self.assertEqual((status, said, "heap" in told), (1, "begun\n", True), told)

    def test_JS_2_an_import_that_is_not_there_says_what_was_tried(self):
        self.write("a.js", 'import "./b";\n')
        self.write("b.js", "")
        status, _, told = self.weft("run", "a.js")
        self.assertEqual(status, 1)
        self.assertIn(f"tried {self.folder.resolve()}/b", told)
        self.assertIn('Did you mean "./b.js"?', told)
        self.write("c.js", 'await import("left-pad");\n')
        self.assertIn("node_modules/left-pad", self.weft("run", "c.js")[2])

    def test_JS_2_packages_json_and_meta(self):
        self.write("node_modules/p/package.json", '{"exports": {"worker": "./w.js", '
                   '"default": "./d.js"}, "type": "module"}')
        self.write("node_modules/p/w.js", 'export default "worker";')
        self.write("data.json", '{"n": 7}')
        self.write("a.js", 'import p from "p";\nimport data from "./data.json";\n'
                   'import { Results } from "weft:http";\n'
                   'console.log(p, data.n, Results.ok(1).status, '
                   'import.meta.url.endsWith("/a.js"));\n')
        self.assertEqual(self.weft("run", "a.js"), (0, "worker 7 200 true\n", ""))

    def test_JS_2_import_attributes_say_what_a_module_is(self):
        self.write("data.json", '{"n": 7}')
        self.write("b.js", 'export { default } from "./data.json" with { type: "json" };\n')
        self.write("a.js", 'import d from "./data.json" with {\n  type: "json",\n};\n'
                   'import b from "./b.js";\n'
                   'const c = await import("./data.json", { with: { type: "json" } });\n'
                   'console.log(d.n, b.n, c.default.n);\nthrow new Error("here");\n')
        status, said, told = self.weft("run", "a.js")
        self.assertEqual((status, said), (1, "7 7 7\n"), told)
        self.assertIn("a.js:7", told)
        self.write("a.js", 'let a;\nimport s from "./s.css" with { type: "css" };\n')
        status, _, told = self.weft("run", "a.js")
        self.assertEqual(status, 1)
        self.assertIn("a.js:2:38", told)
        self.assertIn("there is no type of modules 'css'", told)

    def test_HST_5_check_compiles_and_runs_nothing(self):
        self.write("a.js", 'import "./b.js";\nconsole.log("ran");\n')
        self.write("b.js", "let a = 1;\n")
        status, said, told = self.weft("check", "a.js")
        self.assertEqual((status, "ran" in said), (0, False), told)
        self.write("b.js", "let a = ;\n")
        status, _, told = self.weft("check", "a.js")
        self.assertEqual(status, 1)
        self.assertIn("b.js:1", told)

    def test_JS_2_import_maps_are_for_scripts_as_well(self):
        self.write("map.json", '{"imports": {"m": "./lib/m.js"}}')
        self.write("lib/m.js", "export default 'of the map';\n")
        self.write("a.js", 'import m from "m";\nconsole.log(m);\n')
        self.write("a.test.js", 'import { test, expect } from "weft:test";\nimport m from "m";\n'
                   'test("m", () => expect(m).toBe("of the map"));\n')
        option = ("--import-map", "map.json")
        self.assertEqual(self.weft("run", *option, "a.js"), (0, "of the map\n", ""))
        self.assertEqual(self.weft("eval", *option, "(await import('m')).default"),
                         (0, "of the map\n", ""))
        self.assertEqual(self.weft("check", *option, "a.js")[0], 0)
        self.assertEqual(self.weft("test", *option, "a.test.js")[0], 0)
        for verb, what in [("run", "a.js"), ("check", "a.js"), ("test", "a.test.js")]:
            self.assertEqual(self.weft(verb, what)[0], 1, verb)
            status, _, told = self.weft(verb, "--import-map", "none.json", what)
            self.assertEqual((status, "there is no none.json" in told), (2, True), told)
        self.write("map.json", "{")
        status, _, told = self.weft("run", *option, "a.js")
        self.assertEqual((status, "map.json" in told), (1, True), told)

    def test_JS_2_cts_is_CommonJS_and_mts_a_module(self):
        self.write("a.cts", 'import b = require("./b.cjs");\nconst { c } = require("./c.cts");\n'
                   "const all: string[] = [b.name as string, c, typeof module];\n"
                   "console.log(all.join());\nexports.all = all;\n")
        self.write("b.cts", 'exports.name = "b" satisfies string;\n')
        self.write("c.cts", 'const c: string = "c";\nexports.c = c;\n')
        self.write("d.mts", 'import { all } from "./a.cts";\nimport b from "./b.cjs";\n'
                   "console.log(all.length as number, b.name!);\n")
        self.assertEqual(self.weft("run", "a.cts"), (0, "b,c,object\n", ""))
        self.assertEqual(self.weft("run", "d.mts"), (0, "b,c,object\n3 b\n", ""))
        self.assertEqual(self.weft("check", "d.mts")[0], 0)
        self.write("e.test.cts", 'const { test, expect } = require("weft:test");\n'
                   'test("typed", () => { const x: number = 1; expect(x).toBe(1); });\n')
        self.assertEqual(self.weft("test", "e.test.cts")[0], 0)
        self.write("f.cts", "const x: = 1;\n")
        status, _, told = self.weft("run", "f.cts")
        self.assertEqual((status, "f.cts:1" in told), (1, True), told)

    def test_JS_2_node_fs_tells_a_link_from_what_it_leads_to(self):
        self.write("inside/file", "12345")
        self.write("outside/secret", "123")
        (self.folder / "inside/link").symlink_to("file")
        (self.folder / "inside/folder-link").symlink_to("../inside")
        (self.folder / "inside/out").symlink_to("../outside/secret")
        (self.folder / "inside/dangling").symlink_to("nothing")
        (self.folder / "outside/in").symlink_to("../inside/file")
        (self.folder / "outside/away").symlink_to("secret")
        self.write("a.js", """
            import fs from "node:fs";
            const of = (stats) => [stats.isSymbolicLink(), stats.isFile(), stats.size].join();
            const told = (act) => {
              try { return of(act()); } catch (error) { return error.code; }
            };
            for (const path of ["inside/link", "inside/folder-link",
              "inside/file", "inside/out", "inside/dangling", "inside/none", "outside/away"]) {
              console.log(path, told(() => fs.lstatSync(path)));
            }
            console.log(of(fs.statSync("inside/link")), of(await fs.promises.lstat("inside/link")));
            console.log(fs.lstatSync("inside/none", { throwIfNoEntry: false }));
            """)
        status, said, told = self.weft("run", "--allow-read", "inside", "a.js")
        self.assertEqual((status, told, said.splitlines()), (0, "", [
            "inside/link true,false,4", "inside/folder-link true,false,9",
            "inside/file false,true,5",
            "inside/out true,false,17", "inside/dangling true,false,7", "inside/none ENOENT",
            "outside/away ERR_ACCESS_DENIED", "false,true,5 true,false,4", "undefined"]))

    def test_JS_2_the_architecture_is_that_of_the_machine(self):
        machine = platform.machine()
        name = {"x86_64": "x64", "aarch64": "arm64"}.get(machine, machine)
        self.write("a.js", 'import os from "node:os";\n'
                   "console.log(process.arch, os.arch(), os.machine());\n")
        self.assertEqual(self.weft("run", "a.js")[1], f"{name} {name} {machine}\n")

    def test_HST_5_statuses_are_as_documented(self):
        self.assertEqual(self.weft("--version")[0], 0)
        self.assertEqual(self.weft("nonsense")[0], 2)
        self.assertEqual(self.weft("serve", "none.js")[0], 2)
        self.write("weft.json", '{"listeners": [], "apps": 1}')
        status, _, told = self.weft("serve", "--config", "weft.json")
        self.assertEqual(status, 2)
        self.assertIn("weft.json:1:27: apps: must be a list, not 1", told)
        self.assertNotIn("\033", told)

    # ---- serve

    def test_HST_5_serve_answers_and_ends_on_sigterm(self):
        self.write("app.js", HELLO)
        with self.serving("app.js", "--port", "0") as (process, port):
            self.assertEqual(self.ask(port), (200, "hello"))
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(PATIENCE_S), 0)

    def test_HST_5_a_folder_is_served_by_its_package(self):
        self.write("p/package.json", '{"main": "src/main.js"}')
        self.write("p/src/main.js", HELLO)
        with self.serving("p", "--port", "0") as (_, port):
            self.assertEqual(self.ask(port), (200, "hello"))

    def test_HST_5_an_app_that_cannot_be_loaded_is_status_one(self):
        self.write("app.js", "export default 7;\n")
        status, _, told = self.weft("serve", "app.js", "--port", "0")
        self.assertEqual(status, 1, told)
        self.assertIn("export default { fetch", told)
        self.write("app.js", "let a = ;\n")
        self.assertEqual(self.weft("serve", "app.js", "--port", "0")[0], 1)

    def test_HST_5_an_address_that_is_taken_is_status_three(self):
        self.write("app.js", HELLO)
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = str(taken.getsockname()[1])
            self.assertEqual(self.weft("serve", "app.js", "--port", port)[0], 3)
        with self.serving("app.js", "--port", "0", "--isolates", "2") as (_, port):
            self.assertEqual(
                self.weft("serve", "app.js", "--port", str(port), "--isolates", "2")[0], 3)

    def test_HST_5_several_isolates_share_a_port(self):
        self.write("app.js", "const id = String(Math.random());\n"
                   "export default { fetch: () => new Response(id) };\n")
        with self.serving("app.js", "--port", "0", "--isolates", "3") as (_, port):
            seen = {self.ask(port)[1] for _ in range(200)}
            self.assertEqual(len(seen), 3)

    def test_HST_5_watch_loads_the_app_anew(self):
        self.write("app.js", 'import { text } from "./text.js";\n'
                   "export default { fetch: () => new Response(text) };\n")
        self.write("text.js", 'export const text = "one";\n')
        with self.serving("app.js", "--port", "0", "--watch") as (_, port):
            self.assertEqual(self.ask(port), (200, "one"))
            self.write("text.js", "export const text = ;\n")
            time.sleep(0.6)
            self.assertEqual(self.ask(port), (200, "one"))
            self.write("text.js", 'export const text = "two";\n')
            eventually("the new text", lambda: self.ask(port) == (200, "two"))

    def test_HST_1_env_and_limits_reach_the_app(self):
        self.write("app.js", "export default { fetch: async (request, env) => "
                   "new Response(env.A + env.B + (await request.text()).length) };\n")
        self.write(".env", "A=1\nB=2\n")
        self.write("weft.json", '{"listeners": [{"address": "127.0.0.1:0"}], "apps": [{"entry": '
                   '"app.js", "env": {"B": "x"}, "limits": {"bodyBytes": 10}}]}')
        with self.serving("--config", "weft.json", "--env-file", ".env") as (_, port):
            self.assertEqual(self.ask(port, "/", "POST", b"12345"), (200, "1x5"))
            self.assertEqual(self.ask(port, "/", "POST", b"12345678901")[0], 413)

    def test_HST_1_apps_are_selected_by_host(self):
        for name in ("a", "b"):
            self.write(f"{name}.js", f'globalThis.who = (globalThis.who ?? "") + "{name}";\n'
                       "export default { fetch: () => new Response(who) };\n")
        self.write("weft.json", '{"listeners": [{"address": "127.0.0.1:0"}], "apps": ['
                   '{"entry": "a.js", "hosts": ["a.test"]}, {"entry": "b.js"}]}')
        with self.serving("--config", "weft.json") as (_, port):
            def ask(host):
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
                connection.request("GET", "/", headers={"Host": host})
                body = connection.getresponse().read().decode()
                connection.close()
                return body
            self.assertEqual(ask("a.test"), "a")
            self.assertEqual(ask("else.test"), "b")

    def test_HST_5_a_second_signal_ends_the_program_at_once(self):
        self.write("app.js", "let begun = 0;\nexport default { fetch(request) {\n"
                   "  if (request.url.endsWith('/begun')) return Response.json(begun);\n"
                   "  begun++;\n  return new Promise(() => setInterval(() => {}, 100));\n} };\n")
        self.write("weft.json", '{"listeners": [{"address": "127.0.0.1:0"}], "apps": [{"entry": '
                   '"app.js", "limits": {"handlerDeadlineMs": 60000}}]}')
        with self.serving("--config", "weft.json") as (process, port):
            idle = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
            idle.request("GET", "/begun")
            idle.getresponse().read()
            with socket.create_connection(("127.0.0.1", port)) as client:
                client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                eventually("the request", lambda: self.ask(port, "/begun") == (200, "1"))
                process.send_signal(signal.SIGTERM)
                self.assertEqual(idle.sock.recv(1), b"")  # the drain has begun
                idle.close()
                self.assertIsNone(process.poll())
                process.send_signal(signal.SIGTERM)
                begun = time.monotonic()
                self.assertNotEqual(process.wait(PATIENCE_S), 0)
                self.assertLess(time.monotonic() - begun, 15)  # the drain has thirty


if __name__ == "__main__":
    unittest.main()
