"""What the tests of the tools have in common: a folder, and the program in it."""
import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

# The compiled code of the user is neither taken nor added to.
os.environ.setdefault("WEFT_CACHE_DIR", "")
WEFT = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else "weft"
PATIENCE_S = 120


def eventually(what, condition):
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError(f"{what}: not within {PATIENCE_S} s")


class InFolder(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="weft-tools.")
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def weft(self, *words, text="", environment=None):
        """Its status and its output, both streams in one."""
        done = subprocess.run([WEFT, *words], cwd=self.folder, input=text, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=PATIENCE_S, env={**os.environ, **(environment or {})})
        return done.returncode, done.stdout
