#!/usr/bin/env python3
"""weft init, and what it writes:  init_test.py WEFT [unittest's arguments]"""
import json
import re
import subprocess
import unittest
import urllib.request
from pathlib import Path

from program import PATIENCE_S, WEFT, InFolder


class Init(InFolder):
    def serve(self, folder):
        """The address of what is there, on a port that is free."""
        process = subprocess.Popen([WEFT, "serve", "--config", "weft.json", "--port", "0"],
                                   cwd=folder, stdout=subprocess.PIPE, text=True)

        def end():
            process.terminate()
            process.wait(PATIENCE_S)
            process.stdout.close()

        self.addCleanup(end)
        line = process.stdout.readline()
        self.assertRegex(line, r"http://\S+/")
        return re.search(r"http://[\d.:]+/", line)[0]

    def ask(self, address, body=None):
        with urllib.request.urlopen(address, body, timeout=PATIENCE_S) as response:
            return response.read().decode()

    def check(self, folder, name):
        address = self.serve(folder)
        self.assertEqual(self.ask(address), f"{name} runs\n")
        made = json.loads(self.ask(address + "notes", b'{"text": "milk"}'))
        self.assertEqual(json.loads(self.ask(f"{address}notes/{made['id']}")), {"text": "milk"})
        done = subprocess.run([WEFT, "test"], cwd=folder, capture_output=True, text=True,
                              timeout=PATIENCE_S)
        self.assertEqual((done.returncode, "2 passed; 1 file" in done.stdout), (0, True),
                         done.stdout + done.stderr)

    def test_HST_5_what_it_writes_is_served_and_tested(self):
        status, said = self.weft("init", "my-shop")
        self.assertEqual((status, "wrote my-shop/app.js" in said), (0, True), said)
        self.assertIn("cd my-shop && weft test", said)
        folder = self.folder / "my-shop"
        self.assertEqual(sorted(path.name for path in folder.iterdir()),
                         [".gitignore", "README.md", "app.js", "app.test.js", "package.json",
                          "weft.json"])
        self.assertEqual(json.loads((folder / "package.json").read_text())["name"], "my-shop")
        for path in folder.iterdir():
            self.assertNotIn("@", path.read_text(), path.name)
        self.check(folder, "my-shop")

    def test_HST_5_in_TypeScript(self):
        status, said = self.weft("init", "--ts", "--name", "typed")
        self.assertEqual(status, 0, said)
        self.assertTrue(json.loads((self.folder / "tsconfig.json").read_text())
                        ["compilerOptions"]["strict"])
        types = json.loads((self.folder / "tsconfig.json").read_text())["include"][-1]
        self.assertTrue((Path(types).parent / "time.d.ts").is_file(), types)
        self.assertIn("new Map<string, unknown>()", (self.folder / "app.ts").read_text())
        self.assertEqual(self.weft("check", "app.ts")[0], 0)
        self.check(self.folder, "typed")

    def test_HST_5_nothing_is_overwritten(self):
        self.write("weft.json", "mine")
        status, said = self.weft("init", "--name", "x")
        self.assertEqual((status, "there is already ./weft.json" in said), (2, True), said)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["weft.json"])
        self.assertEqual((self.folder / "weft.json").read_text(), "mine")

    def test_HST_5_what_a_new_repository_has_is_kept(self):
        self.write("README.md", "mine\n")
        self.write(".gitignore", "*.log\n")
        status, said = self.weft("init", "--name", "x")
        self.assertEqual((status, "kept ./README.md" in said, "wrote ./app.js" in said),
                         (0, True, True), said)
        self.assertEqual((self.folder / "README.md").read_text(), "mine\n")
        self.assertEqual((self.folder / ".gitignore").read_text(), "*.log\n")
        self.assertTrue((self.folder / "weft.json").is_file())
        # A second time there is more than these.
        self.assertEqual(self.weft("init", "--name", "x")[0], 2)

    def test_HST_5_names(self):
        for bad in ["a b", ".x", "x/y", 'a"b', "x" * 129]:
            status, said = self.weft("init", "new", "--name", bad)
            self.assertEqual((status, "is no name" in said), (2, True), said)
        self.assertEqual(list(self.folder.iterdir()), [])
        self.assertEqual(self.weft("init", "shop/")[0], 0)
        self.assertIn('"shop"', (self.folder / "shop/package.json").read_text())
        self.write("file", "")
        status, said = self.weft("init", "file/below", "--name", "x")
        self.assertEqual((status, "cannot be written" in said), (3, True), said)


if __name__ == "__main__":
    unittest.main()
