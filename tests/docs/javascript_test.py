#!/usr/bin/env python3
"""The JavaScript of the documentation:  javascript_test.py WEFT

Each ```js block of README.md and docs/js is run: one with a default export is served and asked for
/, any other is a script; what it writes is the ```text block behind it, if there is one.
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WEFT = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else "weft"
PATIENCE_S = 120
BLOCK = re.compile(r"^```js\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)


class Documentation(unittest.TestCase):
    def serve(self, path):
        process = subprocess.Popen([WEFT, "serve", path, "--port", "0"], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            match = re.search(r"http://\S+", process.stdout.readline())
            if not match:
                process.kill()
                self.fail(process.stderr.read())
            with urllib.request.urlopen(match.group(), timeout=PATIENCE_S) as answer:
                self.assertEqual(answer.status, 200)
        finally:
            process.terminate()
            process.wait(PATIENCE_S)
            process.stdout.close()
            process.stderr.close()

    def run_script(self, path, expected):
        done = subprocess.run([WEFT, "run", path], stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        if expected is not None:
            self.assertEqual(done.stdout, expected)

    def test_JS_3_every_snippet_runs(self):
        count = 0
        for page in [ROOT / "README.md", *sorted((ROOT / "docs/js").glob("*.md"))]:
            for match in BLOCK.finditer(page.read_text()):
                source, expected = match.groups()
                line = page.read_text().count("\n", 0, match.start()) + 1
                count += 1
                with self.subTest(f"{page.relative_to(ROOT)}:{line}"), \
                        tempfile.TemporaryDirectory(prefix="weft-docs.") as folder:
                    path = Path(folder) / "app.js"
                    path.write_text(source)
                    (path.parent / "public").mkdir()  # which a page names
                    if "export default" in source:
                        self.serve(path)
                    else:
                        self.run_script(path, expected)
        self.assertGreater(count, 4)


if __name__ == "__main__":
    unittest.main()
