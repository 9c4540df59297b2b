#!/usr/bin/env python3
"""Tests of scripts/check and scripts/flaky: what is repeated, named and skipped (TST-5)."""
import os
import re
import subprocess
import sys
import tempfile
import unittest
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

sys.dont_write_bytecode = True  # no cache file beside a program
SCRIPTS = Path(__file__).resolve().parent
ROOT = SCRIPTS.parent


def load(name):
    """A script as a module, for what cannot be shown from outside."""
    loader = SourceFileLoader(name, str(SCRIPTS / name))
    module = module_from_spec(spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


class Build:
    """A folder as cmake would leave it, whose tests are lines of shell."""

    def __init__(self, folder, **tests):
        self.folder = Path(folder)
        self.count = self.folder / "count"
        text = ""
        for name, (script, properties) in tests.items():
            script = script.replace("COUNT", f"{self.count}.{name}")
            text += f'add_test({name} bash -c [==[echo x >>{self.count}.{name}; {script}]==])\n' \
                    f'set_tests_properties({name} PROPERTIES {properties} TIMEOUT 60)\n'
        (self.folder / "CTestTestfile.cmake").write_text(text)
        (self.folder / ".ninja_log").write_text("")

    def runs_of(self, name):
        path = Path(f"{self.count}.{name}")
        return len(path.read_text().split()) if path.exists() else 0

    def start(self, run):
        """scripts/check with this build, in a folder of that name."""
        program = "import sys; from pathlib import Path\n" \
                  "from importlib.machinery import SourceFileLoader as L\n" \
                  "check = L('check', sys.argv[1]).load_module()\n" \
                  "folder = Path(sys.argv[3]); folder.mkdir()\n" \
                  "run = check.Run(folder, Path(sys.argv[2]), 'dev')\n" \
                  "sys.stdout.reconfigure(line_buffering=True)\n" \
                  "sys.exit(check.check(run, []))\n"
        return subprocess.Popen(
            [sys.executable, "-B", "-W", "ignore", "-c", program, SCRIPTS / "check", self.folder,
             self.folder / run], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def check(self):
        """What scripts/check does with this build: (exit status, lines that it says itself)."""
        process = self.start("run")
        output, _ = process.communicate(timeout=60)
        says = re.findall(r"^(?:repeated|skipped|unavailable): .*$", output, re.MULTILINE)
        return process.returncode, says


FAILS_ONCE = '[ "$(wc -l <COUNT)" -gt 1 ]'


class Check(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_TST_5a_a_test_that_fails_once_has_failed(self):
        build = Build(self.folder, race=(FAILS_ONCE, ""))
        status, says = build.check()
        self.assertNotEqual(status, 0)
        self.assertEqual((build.runs_of("race"), says), (1, []))

    def test_TST_5a_only_a_test_of_time_is_tried_again_and_named(self):
        build = Build(self.folder, late=(FAILS_ONCE, "LABELS timing"), good=("true", ""))
        status, says = build.check()
        self.assertEqual(status, 0)
        self.assertEqual((build.runs_of("late"), build.runs_of("good")), (2, 1))
        self.assertEqual(says, ["repeated: late: passed"])

    def test_TST_5a_a_test_of_time_that_fails_twice_has_failed(self):
        build = Build(self.folder, late=("false", "LABELS timing"))
        status, says = build.check()
        self.assertNotEqual(status, 0)
        self.assertEqual((build.runs_of("late"), says), (2, ["repeated: late: failed again"]))

    def test_TST_5a_what_a_sanitizer_has_seen_is_never_tried_again(self):
        for report in ("WARNING: ThreadSanitizer: data race", "a.cpp:1:2: runtime error: shift"):
            with tempfile.TemporaryDirectory() as folder:
                build = Build(folder, late=(f"echo '{report}'; {FAILS_ONCE}", "LABELS timing"))
                self.assertNotEqual(build.check()[0], 0)
                self.assertEqual(build.runs_of("late"), 1)

    def test_TST_5a_nothing_is_tried_again_when_another_test_has_failed(self):
        build = Build(self.folder, late=(FAILS_ONCE, "LABELS timing"), race=("false", ""))
        self.assertNotEqual(build.check()[0], 0)
        self.assertEqual(build.runs_of("late"), 1)

    def test_TST_5a_tests_of_time_are_few_exist_and_have_reasons(self):
        text = (ROOT / "cmake" / "weft_timing.cmake").read_text().partition("endfunction()")[2]
        loops = re.findall(r"foreach\(case(.*?)\)\n(.*?)endforeach\(\)", text, re.DOTALL)
        for names, call in loops:
            text += "".join(call.replace("${case}", name) for name in names.split())
        text = re.sub(r"foreach\(.*?endforeach\(\)", "", text, flags=re.DOTALL)
        entries = re.findall(r'weft_timing\(\w+\s+(\w+)\.(\w+)\s+"([^"]+)"\)', text)
        self.assertEqual(len(entries), text.count("weft_timing("), "each has its reason")
        self.assertTrue(0 < len(entries) <= 15, len(entries))
        sources = "".join(path.read_text() for folder in ("weft", "tests")
                          for path in ROOT.glob(f"{folder}/**/*_test.cpp"))
        for suite, case, _ in entries:
            found = re.search(rf"TEST(_F)?\({suite},\s+{case}\)", sources)
            self.assertTrue(found, f"{suite}.{case}")

    def test_TST_2b_two_runs_of_one_build_at_once_do_not_meet(self):
        # Each waits for the other, and would find the file of the other in a common folder.
        alone = 'mkdir "$TMPDIR/mine" || exit 1; for i in $(seq 400); do ' \
                '[ "$(wc -l <COUNT)" -ge 2 ] && exit 0; sleep 0.05; done; exit 1'
        build = Build(self.folder, alone=(alone, ""))
        runs = [build.start(name) for name in ("one", "two")]
        outputs = [run.communicate(timeout=60)[0] for run in runs]
        self.assertEqual([run.returncode for run in runs], [0, 0], outputs)
        self.assertEqual(build.runs_of("alone"), 2)
        for name in ("one", "two"):
            self.assertTrue((Path(self.folder) / name / "report.xml").exists(), outputs)

    def test_TST_5c_cases_that_skip_themselves_are_named_with_their_reasons(self):
        output = "[ RUN      ] Net.six\n/a/net_test.cpp:7: Skipped\nno IPv6 here\n\n" \
                 "[  SKIPPED ] Net.six (0 ms)\n" \
                 "[ RUN      ] Net.four\n[       OK ] Net.four (0 ms)\n" \
                 "[ RUN      ] Net.ring\nnet_test.cpp:9: Skipped\nUNAVAILABLE: no ring\n" \
                 "[  SKIPPED ] Net.ring (0 ms)\n" \
                 "[  SKIPPED ] 2 tests, listed below:\n" \
                 "[  SKIPPED ] Net.six\n[  SKIPPED ] Net.ring\n"
        build = Build(self.folder, net=(f"printf '%s' '{output}'", ""))
        self.assertEqual(build.check(), (0, ["skipped: net: Net.six: no IPv6 here",
                                             "unavailable: net: Net.ring: no ring"]))

    def skips_of_unittest(self, *options):
        """What is said of a file of unittest, run with these options."""
        file = Path(self.folder) / "some_test.py"
        file.write_text("import unittest\n"
                        "class Some(unittest.TestCase):\n"
                        "    @unittest.skipIf(True, 'it\\'s not here')\n"
                        "    def test_one(self): pass\n"
                        "    def test_two(self):\n"
                        "        \"\"\"In words.\"\"\"\n"
                        "        self.skipTest('UNAVAILABLE: no gdb')\n"
                        "    def test_three(self): pass\n"
                        "@unittest.skip('none of them')\n"
                        "class Other(unittest.TestCase):\n"
                        "    def test_four(self): pass\n"
                        "unittest.main()\n")
        return Build(self.folder, some=(f"python3 {file} {' '.join(options)}", "")).check()

    def test_TST_5c_cases_of_unittest_that_skip_themselves_are_named_too(self):
        self.assertEqual(self.skips_of_unittest("-v"),
                         (0, ["skipped: some: Other.test_four: none of them",
                              "skipped: some: Some.test_one: it's not here",
                              "unavailable: some: Some.test_two: no gdb"]))

    def test_TST_5c_cases_of_unittest_without_names_are_counted(self):
        self.assertEqual(self.skips_of_unittest(),
                         (0, ["skipped: some: 3 cases: it names them with -v"]))

    def test_TST_5c_a_program_that_could_not_be_built_is_unavailable(self):
        build = Build(self.folder, beast=("echo 'UNAVAILABLE: no Boost'",
                                          'SKIP_REGULAR_EXPRESSION "UNAVAILABLE: "'))
        self.assertEqual(build.check(), (0, ["unavailable: beast: no Boost"]))


class Flaky(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.flaky = load("flaky")
        self.flaky.ROOT = Path(folder.name) / "root"
        (self.flaky.ROOT / "build").mkdir(parents=True)

    def run_flaky(self, *arguments):
        self.flaky.sys.argv = ["flaky", "--preset", self.folder, *arguments]
        with tempfile.TemporaryFile("w+") as output:
            saved, self.flaky.sys.stdout = self.flaky.sys.stdout, output
            try:
                status = self.flaky.main()
            finally:
                self.flaky.sys.stdout = saved
            output.seek(0)
            return status, output.read()

    def test_TST_5b_every_test_is_repeated_beside_load_and_on_one_cpu(self):
        build = Build(self.folder, a=("nproc >>COUNT.cpus; pgrep -cf 'while True: pass' "
                                      ">>COUNT.busy || true", ""))
        status, output = self.run_flaky("--count", "3")
        self.assertEqual(status, 0, output)
        self.assertEqual(build.runs_of("a"), 6)
        cpus = Path(f"{build.count}.a.cpus").read_text().split()
        busy = [int(number) for number in Path(f"{build.count}.a.busy").read_text().split()]
        self.assertEqual(cpus, [str(len(os.sched_getaffinity(0)))] * 3 + ["1"] * 3)
        self.assertTrue(all(number >= self.flaky.BUSY_PROCESSES for number in busy[:3]), busy)

    def test_TST_5b_one_failure_among_many_runs_counts_unless_it_is_of_time(self):
        script = '[ "$(wc -l <COUNT)" != 2 ]'
        Build(self.folder, race=(script, ""), late=(script, "LABELS timing"))
        status, output = self.run_flaky("--count", "3", "--only", "one-cpu", "late")
        self.assertEqual(status, 0, output)
        self.assertIn("timing: one-cpu late: 1 of 3", output)
        status, output = self.run_flaky("--count", "3", "--only", "one-cpu")
        self.assertEqual(status, 1, output)
        self.assertIn("FLAKY: one-cpu race: 1 of 3", output)

    def test_TST_5b_a_test_that_cannot_run_here_is_named_and_has_not_failed(self):
        Build(self.folder, gdb=("exit 77", "SKIP_RETURN_CODE 77"), good=("true", ""))
        status, output = self.run_flaky("--count", "2", "--only", "one-cpu")
        self.assertEqual(status, 0, output)
        self.assertIn("skipped: one-cpu gdb: 2 of 2", output)
        self.assertNotIn("FLAKY", output)

    def test_TST_5b_a_run_that_was_stopped_goes_on(self):
        build = Build(self.folder, a=("true", ""), b=("true", ""))
        status, _ = self.run_flaky("--count", "2", "--only", "one-cpu", "--seconds", "0")
        self.assertEqual((status, build.runs_of("a")), (75, 0))
        self.assertEqual(self.run_flaky("--count", "2", "--only", "one-cpu", "^a$")[0], 0)
        self.assertEqual(self.run_flaky("--count", "3", "--only", "one-cpu")[0], 0)
        self.assertEqual((build.runs_of("a"), build.runs_of("b")), (3, 3))


if __name__ == "__main__":
    unittest.main()
