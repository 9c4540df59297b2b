#!/usr/bin/env python3
"""The script for gdb, on a live process and on a core file:  gdb_test.py TARGET SCRIPT

Exit status 77: skipped, because gdb is not there or may not attach."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TARGET, SCRIPT = sys.argv.pop(1), sys.argv.pop(1)
NOT_ALLOWED = re.compile(r"ptrace: Operation not permitted|Could not attach")


def in_gdb(where, *commands):
    words = ["gdb", "--batch", "-nx", "-q", "-ex", "set width 0", "-ex", f"source {SCRIPT}", *where]
    for command in commands:
        words += ["-ex", command]
    environment = dict(os.environ, DEBUGINFOD_URLS="")
    done = subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, timeout=200,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout


class Gdb(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="weft-gdb.")
        cls.target = subprocess.Popen([TARGET, "mprotect"], stdout=subprocess.PIPE, text=True)
        assert cls.target.stdout.readline() == "ready\n"
        cls.live = ["-p", str(cls.target.pid)]
        cls.core = [TARGET, os.path.join(cls.folder, "core")]
        cls.listed = in_gdb(cls.live, "weft fibers", "weft fiber all bt",
                            f"generate-core-file {cls.core[1]}")
        if NOT_ALLOWED.search(cls.listed):
            cls.tearDownClass()
            print("UNAVAILABLE: gdb may not attach here")
            sys.exit(77)
        found = re.search(r"^. (\d+) +waiting for an item", cls.listed, re.MULTILINE)
        cls.number = found.group(1) if found else "none"

    @classmethod
    def tearDownClass(cls):
        cls.target.kill()
        cls.target.wait()
        cls.target.stdout.close()
        shutil.rmtree(cls.folder)

    def check_list(self, text):
        self.assertRegex(text, r"(?m)^. \d+ +waiting for an item +waiting on channel 0x")
        self.assertRegex(text, r"(?m)^. \d+ +computing +running in thread \d+$")
        self.assertRegex(text, r"(?m)^. \d+ +main +waiting on join")
        self.assertRegex(text, r"(?m)^4 fibers$")

    def check_entered(self, where):
        # In whichever frame it is: what is inlined there has a frame of the same function.
        text = in_gdb(where, f"weft fiber {self.number}", "frame apply all -q -s print marker",
                      "weft fibers", "weft thread", "bt")
        self.assertRegex(text, rf"(?m)^fiber {self.number} 'waiting for an item'")
        self.assertRegex(text, r"(?m)^\$1 = 4711$")
        entered, _, left = text.partition("4 fibers\n")
        self.assertRegex(entered, rf"(?m)^\* {self.number} ")
        self.assertNotIn("wait_for_an_item", left)

    def test_FIB_16e_the_fibers_of_a_process_are_listed_with_their_frames(self):
        self.check_list(self.listed)
        self.assertRegex(self.listed, r"(?m)^#\d+ .*\bcompute_for_ever \(")
        self.assertRegex(self.listed, r"(?m)^#\d+ .*\bwait_for_an_item \(")

    def test_FIB_16e_a_parked_fiber_of_a_process_is_entered_and_left(self):
        self.check_entered(self.live)
        self.assertIsNone(self.target.poll(), "the program did not survive")

    def test_FIB_16e_the_same_on_a_core_file(self):
        self.check_list(in_gdb(self.core, "weft fibers"))
        self.check_entered(self.core)

    def test_FIB_16f_a_job_without_a_name_is_called_by_what_it_is(self):
        self.assertRegex(self.listed, r"(?m)^. \d+ +task +waiting on channel 0x")

    def test_FIB_16e_a_fiber_that_is_not_there_is_refused(self):
        self.assertIn("which fiber?", in_gdb(self.core, "weft fiber 4000000"))


if not shutil.which("gdb"):
    print("UNAVAILABLE: gdb is not installed (scripts/setup deep)")
    sys.exit(77)
unittest.main()
