#!/usr/bin/env python3
"""weft repl, through a pipe and a pseudo-terminal:  repl_test.py WEFT [unittest's arguments]"""
import fcntl
import http.server
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import threading
import time
import unittest

from program import PATIENCE_S, WEFT, InFolder

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r|\x07|\x08")


class Terminal:
    """weft repl with a person in front of it."""

    def __init__(self, folder, colours=False, words=()):
        self.master, slave = pty.openpty()
        environment = {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8",
                       "WEFT_REPL_HISTORY": str(folder / "history")}
        environment.pop("NO_COLOR", None)
        if not colours:
            environment["NO_COLOR"] = "1"
        self.process = subprocess.Popen([WEFT, "repl", *words], stdin=slave, stdout=slave,
                                        stderr=slave, cwd=folder, env=environment,
                                        start_new_session=True, preexec_fn=self.take_terminal)
        os.close(slave)
        self.raw = ""
        self.seen = 0
        self.wait_for("> ")

    @staticmethod
    def take_terminal():
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        # Wide enough for every line.
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 240, 0, 0))

    def type(self, text):
        os.write(self.master, text.encode())

    def text(self):
        return ESCAPES.sub("", self.raw)

    def wait_for(self, what):
        """Until the text comes behind what was seen before; gives what came till then."""
        end = time.monotonic() + PATIENCE_S
        while True:
            at = self.text().find(what, self.seen)
            if at >= 0:
                before = self.text()[self.seen:at]
                self.seen = at + len(what)
                return before
            if time.monotonic() > end:
                raise AssertionError(f"{what!r} has not come: {self.text()[self.seen:][-500:]!r}")
            if not select.select([self.master], [], [], 0.2)[0]:
                continue
            try:
                self.raw += os.read(self.master, 65536).decode(errors="replace")
            except OSError:
                raise AssertionError(f"it ended without {what!r}: {self.text()[-500:]!r}") from None

    def ask(self, line, answer):
        self.type(line + "\r")
        self.wait_for(line.rsplit("\n", 1)[-1])
        self.wait_for(answer)
        self.wait_for("> ")

    def end(self):
        self.type("\x04")
        return self.process.wait(PATIENCE_S)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)


class Repl(InFolder):
    def terminal(self, **options):
        terminal = Terminal(self.folder, **options)
        self.addCleanup(terminal.close)
        return terminal

    # ---- through a pipe

    def test_JS_12_a_pipe_is_evaluated_line_by_line(self):
        status, said = self.weft("repl", text="6 * 7\n'a' + _\nundefined\n({ a: [1] })\n")
        self.assertEqual((status, said), (0, "42\n'a42'\n{ a: [ 1 ] }\n"))
        status, said = self.weft("repl", text="throw new TypeError('bad')\n1\n")
        self.assertEqual((status, "TypeError: bad" in said, said.endswith("1\n")), (1, True, True))
        self.assertEqual(self.weft("repl", text="f(1,\n")[0], 1)
        self.assertEqual(self.weft("repl", text="JSON.parse('{')\n")[0], 1)

    def test_JS_7_a_full_heap_ends_it(self):
        bomb = "const kept = []; for (;;) kept.push(new Array(10000).fill(Math.random()))"
        status, said = self.weft("repl", text=f"1\n{bomb}\n2\n")
        self.assertEqual((status, said[:2], "the heap is full" in said), (1, "1\n", True), said)

    def test_JS_12_declarations_stay_and_can_be_made_anew(self):
        self.assertEqual(self.weft("repl", text=(
            "const x = await Promise.resolve(5)\nx\nconst x = 6\nx\nlet y = x, z = 1\ny + z\n"
            "class A { b() { return 1; } }\nnew A().b()\nfunction f() { return 3; }\nf()\n"
            "{ a: 1 }\n{ let q = 1; }\n"))[1], "5\n6\n7\n1\n3\n{ a: 1 }\n")

    def test_JS_12_modules_are_imported(self):
        self.write("m.js", "export const one = 1;\nexport default 'of m';\n")
        self.write("broken.js", "export default ;\n")
        status, said = self.weft("repl", text=(
            'import m, { one as n } from "./m.js"\nm + n\nimport * as all from "./m.js"\nall.one\n'
            'import "./m.js"\nimport { Time } from "weft:time"\nawait Time.delay(1); "later"\n'
            '(await import("./m.js")).default\n'))
        self.assertEqual((status, "of m1'\n1\n" in said, said.endswith("'later'\n'of m'\n")),
                         (0, True, True), said)
        status, said = self.weft("repl", text='import "./broken.js"\n"goes on"\n')
        self.assertEqual((status, "goes on" in said), (1, True), said)

    def test_JS_12_imports_may_be_followed_by_code(self):
        self.write("m.js", "export const one = () => 1;\nexport default () => 'of m';\n")
        self.write("l.js", "#!/usr/bin/env weft\n// Two of them.\n"
                   'import m, {\n  one,\n} from "./m.js";\nimport * as all from "./m.js"\n'
                   "m() + one() + all.one();\n")
        self.assertEqual(self.weft("repl", text=(
            'import m from "./m.js"; m()\n.load l.js\nimport{one as n}from"./m.js";n()\n'
            "import { Time } from 'weft:time' // of ours\ntypeof Time\n"
            'const text = `\nimport m from "./m.js";\n`; text.length\n'
            'typeof import.meta\n')), (1, "'of m'\n'of m11'\n1\n'object'\n25\n" +
            self.weft("repl", text="typeof import.meta\n")[1]))

    def test_JS_12_an_open_comment_goes_on(self):
        self.assertEqual(self.weft("repl", text="1 /* \u00e9\ntwo */ + 1\n'\U0001f600' /*\n*/\n"),
                         (0, "2\n'\U0001f600'\n"))
        status, said = self.weft("repl", text="'/*\n2\n")
        self.assertEqual((status, "Invalid or unexpected token" in said, said[-3:]),
                         (1, True, "\n2\n"), said)
        self.assertIn("in the middle", self.weft("repl", text="1 /*\n")[1])

    def test_JS_12_an_import_map_names_modules(self):
        self.write("map.json", '{"imports": {"m": "./lib/m.js"}}')
        self.write("lib/m.js", "export default 'of the map';\n")
        self.assertEqual(self.weft("repl", "--import-map", "map.json",
                                   text='import m from "m"; m\n'), (0, "'of the map'\n"))

    def test_JS_12_lines_that_belong_together(self):
        self.assertEqual(self.weft("repl", text=(
            "function f(a) {\n  return a + 1;\n}\nf(2)\nMath.max(1,\n2)\n`a\nb`\n[1,\n\n2]\n"))[1],
            "3\n2\n'a\\nb'\n[ 1, 2 ]\n")

    def test_JS_12_load_evaluates_a_file(self):
        self.write("l.js", "const loaded = 70;\nloaded + 1;\n")
        status, said = self.weft("repl", text=".load l.js\nloaded\n.load none.js\n.nonsense\n")
        self.assertEqual(status, 0, said)
        self.assertTrue(said.startswith("71\n70\n"), said)
        self.assertIn("none.js", said)
        self.assertIn("there is no command .nonsense", said)

    # ---- at a terminal

    def test_JS_12_a_person_types(self):
        terminal = self.terminal()
        terminal.ask("1 + 1", "2\n")
        terminal.ask("let u", "undefined\n")
        terminal.ask("'gr\u00fc\u00dfe'.length", "5\n")
        terminal.type("if (true) {\r")
        terminal.wait_for("... ")
        terminal.type("'in' + 'side' }\r")
        terminal.wait_for("'inside'\n")
        terminal.ask(".help", ".load FILE")
        self.assertNotIn("\x1b[3", terminal.raw)
        self.assertEqual(terminal.end(), 0)

    def test_JS_12_colours_are_for_a_terminal(self):
        terminal = self.terminal(colours=True)
        terminal.ask("40 + 2", "42\n")
        self.assertIn("\x1b[33m42\x1b[39m", terminal.raw)
        terminal.type(".exit\r")
        self.assertEqual(terminal.process.wait(PATIENCE_S), 0)

    def test_JS_12_Tab_completes(self):
        terminal = self.terminal()
        terminal.ask("const holder = { alpha: 1, alphabet: { zeta: 7 } }", "undefined\n")
        terminal.type("hol\t.alphab\t.z\t\r")
        terminal.wait_for("7\n")
        terminal.wait_for("> ")
        terminal.type("holder.al\t\t")
        terminal.wait_for("alpha  alphabet")
        terminal.type("\x15structuredC\t(8)\r")
        terminal.wait_for("8\n")
        terminal.wait_for("> ")
        terminal.ask("let asked = 0", "undefined\n")
        terminal.ask("const loud = { get x() { asked++; return {}; } }", "undefined\n")
        terminal.type("loud.x.\t\x15asked\r")
        terminal.wait_for("0\n")

    def test_JS_12_Ctrl_C_ends_an_evaluation_and_drops_a_line(self):
        terminal = self.terminal()
        terminal.ask("let n = 0", "undefined\n")
        # A signal from a terminal drops what has not been read: it is given when all has been.
        terminal.type("console.log('beg' + 'un'); for (;;) n++\r")
        terminal.wait_for("begun\n")
        terminal.type("\x03")
        terminal.wait_for("interrupted")
        terminal.wait_for("> ")
        terminal.ask("n > 0", "true\n")
        terminal.type("console.log('wait' + 'ing'); await new Promise(() => {})\r")
        terminal.wait_for("waiting\n")
        terminal.type("\x03")
        terminal.wait_for("interrupted")
        terminal.wait_for("> ")
        terminal.type("n = 'dropped'")
        terminal.wait_for("dropped'")
        terminal.type("\x03")
        terminal.wait_for("> ")
        terminal.type("function f() {\r")
        terminal.wait_for("... ")
        terminal.type("\x03")
        terminal.wait_for("> ")
        terminal.ask("typeof n", "'number'\n")
        self.assertEqual(terminal.end(), 0)

    def test_JS_12_what_was_started_goes_on_while_a_line_is_awaited(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("content-length", "4")
                self.end_headers()
                self.wfile.write(b"came")

            def log_message(self, *_):
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        terminal = self.terminal(words=("--allow-fetch", "127.0.0.1"))
        # What they write may come before the answer, or behind it.
        for line, answer, later in [
                ("setTimeout(() => console.log('from the ' + 'timer'), 50); 0", "0\n",
                 "from the timer"),
                (f"fetch('http://127.0.0.1:{server.server_port}/').then((r) => r.text())"
                 ".then((t) => console.log('it ' + t)); 1", "1\n", "it came"),
                ("setTimeout(() => { throw new Error('of ' + 'nobody'); }, 1); 2", "2\n",
                 "Error: of nobody")]:
            mark = terminal.seen
            terminal.type(line + "\r")
            terminal.wait_for(line)
            terminal.wait_for(answer)
            terminal.seen = mark
            terminal.wait_for(later)
        terminal.type("3 + 3\r")
        terminal.wait_for("6\n")

    def test_JS_12_the_history_is_kept(self):
        first = self.terminal()
        first.ask("'kept ' + 1", "'kept 1'\n")
        self.assertEqual(first.end(), 0)
        self.assertEqual((self.folder / "history").stat().st_mode & 0o777, 0o600)
        second = self.terminal()
        second.type("\x1b[A")
        second.wait_for("'kept ' + 1")
        second.type(" + 2\r")
        second.wait_for("'kept 12'\n")
        second.wait_for("> ")
        self.assertEqual(second.end(), 0)

    def test_JS_12_a_signal_that_ends_it_ends_it(self):
        terminal = self.terminal()
        terminal.process.send_signal(signal.SIGTERM)
        self.assertEqual(terminal.process.wait(PATIENCE_S), -signal.SIGTERM)


if __name__ == "__main__":
    unittest.main()
