#!/usr/bin/env python3
"""Compiled code that is kept from one start to the next:  code_cache_test.py WEFT"""
import hashlib
import os
import re
import signal
import subprocess
import unittest

from program import WEFT, InFolder, eventually

TAKEN = "compiled from the code that was kept"
KEPT = "its code was kept"
REFUSED = "the engine refuses the code"
HEADER_BYTES = 80


def functions(count=100, word="item"):
    """Some 10 KiB of them."""
    return "".join(
        f"function f{n}(a) {{\n  const list = [a, {n}, '{word}'];\n"
        f"  return list.map((each) => String(each)).join('-') + {n};\n}}\n" for n in range(count))


MODULE = functions() + "export const text = f1('x') + f99('y');\n"
COMMONJS = functions() + "module.exports = { text: f1('x') + f99('y') };\n"
SAID = "x-1-item1y-99-item99"


class CodeCache(InFolder):
    def setUp(self):
        super().setUp()
        self.cache = self.folder / "cache"
        self.environment = {"WEFT_CACHE_DIR": str(self.cache), "WEFT_LOG": "debug"}

    def run_script(self, name="main.mjs", environment=None):
        status, said = self.weft("run", name, environment={**self.environment,
                                                           **(environment or {})})
        self.assertEqual(status, 0, said)
        return said

    def files(self):
        return sorted((self.cache / "code").glob("*"))

    def write_main(self, module=MODULE):
        self.write("large.mjs", module)
        self.write("main.mjs", "import { text } from './large.mjs'; console.log(text);\n")


class KeptByRun(CodeCache):
    def test_JS_14_the_second_start_takes_what_the_first_has_kept(self):
        self.write_main()
        first = self.run_script()
        self.assertIn(SAID, first)
        self.assertIn(f"large.mjs: {KEPT}", first)
        second = self.run_script()
        self.assertIn(SAID, second)
        self.assertIn(f"large.mjs: {TAKEN}", second)
        self.assertNotIn(KEPT, second)
        self.assertEqual(len(self.files()), 1, "small files are not worth it")

    def test_JS_14_CommonJS_and_TypeScript_as_well(self):
        self.write("large.cjs", COMMONJS)
        self.write("typed.ts", MODULE.replace("(a)", "(a: string)"))
        self.write("main.mjs", "import { text } from './typed.ts'; import other from './large.cjs';"
                   "console.log(text, other.text);\n")
        self.assertEqual(self.run_script().count(KEPT), 2)
        second = self.run_script()
        self.assertIn(f"{SAID} {SAID}", second)
        self.assertEqual(second.count(TAKEN), 2)

    def test_JS_14_a_text_that_has_changed_is_compiled(self):
        self.write_main()
        self.run_script()
        # Of the same length: the engine itself would not see it.
        self.write_main(MODULE.replace("item", "ITEM"))
        second = self.run_script()
        self.assertIn(SAID.replace("item", "ITEM"), second)
        self.assertNotIn(TAKEN, second)
        self.assertIn(KEPT, second)

    def test_JS_14_the_same_text_elsewhere_has_its_own_name(self):
        text = functions() + "export const where = new Error('here').stack;\n"
        self.write("a.mjs", text)
        self.write("main.mjs", "import { where } from './a.mjs'; console.log(where);\n")
        self.run_script()
        self.write("b.mjs", text)
        self.write("main.mjs", "import { where } from './b.mjs'; console.log(where);\n")
        said = self.run_script()
        self.assertIn(f"{self.folder}/b.mjs:", said)
        self.assertNotIn("a.mjs", said)

    def test_JS_14_stacks_and_imports_are_as_without(self):
        self.write("other.mjs", "export default 'other';\n")
        self.write_main(functions() + "export const text = [import.meta.filename, "
                        "(await import('./other.mjs')).default, new Error('e').stack].join(' ');\n")
        first, second = self.run_script(), self.run_script()
        self.assertIn(TAKEN, second)
        place = re.search(r"large\.mjs:\d+:\d+", first).group()
        self.assertIn(place, second)
        self.assertIn(f"{self.folder}/large.mjs other", second)

    def test_JS_14_damaged_files_are_ignored_and_replaced(self):
        self.write_main()
        self.run_script()
        [file] = self.files()
        whole = file.read_bytes()
        changed = bytearray(whole)
        changed[len(whole) // 2] ^= 1
        for damaged in (b"", whole[:HEADER_BYTES], whole[:-1], whole + b"!", bytes(changed),
                        b"#!/bin/sh\n" * 100):
            file.write_bytes(damaged)
            said = self.run_script()
            self.assertIn(SAID, said)
            self.assertNotIn(TAKEN, said)
            self.assertEqual(self.files(), [file])
            self.assertIn(TAKEN, self.run_script())

    def test_JS_14_code_that_the_engine_refuses_is_replaced(self):
        self.write_main()
        self.run_script()
        [file] = self.files()
        whole = file.read_bytes()
        # As if by another engine, with a sum that fits.
        code = bytes(8) + whole[HEADER_BYTES + 8:]
        file.write_bytes(whole[:40] + hashlib.sha256(code).digest() + whole[72:80] + code)
        said = self.run_script()
        self.assertIn(SAID, said)
        self.assertIn(REFUSED, said)
        self.assertIn(KEPT, said)
        self.assertIn(TAKEN, self.run_script())

    def test_JS_14_a_folder_that_cannot_be_written_to_is_no_error(self):
        self.write_main()
        self.write("cache", "a file stands in the way")
        for _ in range(2):
            said = self.run_script()
            self.assertIn(SAID, said)
            self.assertIn("compiled code cannot be kept there", said)
        self.assertNotIn("cannot be kept", self.weft(
            "run", "main.mjs", environment={**self.environment, "WEFT_LOG": "warn"})[1])

    def test_JS_14_a_folder_that_can_only_be_read_is_read(self):
        self.write_main()
        self.run_script()
        os.chmod(self.cache / "code", 0o500)
        self.addCleanup(os.chmod, self.cache / "code", 0o700)
        said = self.run_script()
        self.assertIn(SAID, said)
        self.assertIn(TAKEN, said)

    def test_JS_14_several_processes_share_the_folder(self):
        self.write_main()
        processes = [subprocess.Popen([WEFT, "run", "main.mjs"], cwd=self.folder, text=True,
                                      env={**os.environ, **self.environment},
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                     for _ in range(4)]
        for process in processes:
            said, _ = process.communicate()
            self.assertEqual(process.returncode, 0, said)
            self.assertIn(SAID, said)
        self.assertEqual(len(self.files()), 1)
        self.assertIn(TAKEN, self.run_script())

    def test_JS_14_the_variables_say_where(self):
        self.write_main()
        home, xdg = self.folder / "home", self.folder / "xdg"
        unset = {key: value for key, value in os.environ.items() if key != "WEFT_CACHE_DIR"}

        def start(**variables):
            subprocess.run([WEFT, "run", "main.mjs"], cwd=self.folder, check=True,
                           env={**unset, **variables}, stdout=subprocess.DEVNULL)

        start(HOME=str(home), WEFT_CACHE_DIR="")
        self.assertFalse(home.exists())
        start(HOME=str(home), XDG_CACHE_HOME="relative")
        self.assertTrue(list((home / ".cache" / "weft" / "code").glob("*.code")))
        start(HOME=str(home), XDG_CACHE_HOME=str(xdg))
        self.assertTrue(list((xdg / "weft" / "code").glob("*.code")))
        start(HOME=str(home), WEFT_CACHE_DIR="here")
        self.assertTrue(list((self.folder / "here" / "code").glob("*.code")))


class KeptByServe(CodeCache):
    def start(self, name="app.mjs"):
        log = open(self.folder / "log", "w+")
        self.addCleanup(log.close)
        process = subprocess.Popen([WEFT, "serve", name, "--port", "0"],
                                   cwd=self.folder, stdout=subprocess.PIPE, stderr=log, text=True,
                                   env={**os.environ, **self.environment})
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        match = re.search(r"http://[\d.]+:(\d+)/", process.stdout.readline())
        self.assertTrue(match, self.log())
        return process, f"http://127.0.0.1:{match.group(1)}/"

    def log(self):
        return (self.folder / "log").read_text()

    def ask(self, url):
        done = subprocess.run([WEFT, "eval", "--allow-fetch", "127.0.0.1",
                               f"await (await fetch('{url}')).text()"],
                              env={**os.environ, "WEFT_CACHE_DIR": ""}, capture_output=True,
                              text=True)
        return done.stdout + done.stderr

    def stop(self, process):
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(), 0, self.log())

    def test_JS_14_the_second_server_takes_what_the_first_has_kept(self):
        self.write("large.mjs", MODULE)
        self.write("late.mjs", MODULE)
        self.write("app.mjs", "import { text } from './large.mjs';\nexport default { "
                   "fetch: async () => new Response(text + (await import('./late.mjs')).text) };\n")
        process, url = self.start()
        eventually("the code is kept", lambda: f"large.mjs: {KEPT}" in self.log())
        self.assertIn(SAID + SAID, self.ask(url))
        # What is imported later is kept later.
        eventually("the code is kept", lambda: f"late.mjs: {KEPT}" in self.log())
        self.stop(process)
        process, url = self.start()
        self.assertIn(SAID + SAID, self.ask(url))
        self.stop(process)
        self.assertEqual(self.log().count(TAKEN), 2)
        self.assertNotIn(KEPT, self.log())

    def test_JS_14_a_server_that_ends_at_once_ends_well(self):
        self.write("app.mjs", functions(4000) +
                   "export default { fetch: () => new Response(f1('x')) };\n")
        for _ in range(3):
            process, _ = self.start()
            self.stop(process)


if __name__ == "__main__":
    unittest.main()
