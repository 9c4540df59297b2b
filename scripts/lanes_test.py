#!/usr/bin/env python3
"""Tests of scripts/lanes: the four endings, the summary, and two runs at once (TST-1, TST-2)."""
import json
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
LANES = Path(__file__).resolve().parent / "lanes"
LOGS = tempfile.TemporaryDirectory()


def load():
    """scripts/lanes as a module, for what cannot be shown from outside."""
    loader = SourceFileLoader("lanes", str(LANES))
    module = module_from_spec(spec_from_loader("lanes", loader))
    sys.modules["lanes"] = module
    loader.exec_module(module)
    return module


def start(*lanes, options=(), **environment):
    arguments = [part for lane in lanes for part in ("--lane", lane)]
    return subprocess.Popen([sys.executable, LANES, *options, *arguments], text=True,
                            env={**os.environ, "WEFT_RUNS": LOGS.name, **environment},
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def run(*lanes, options=()):
    process = start(*lanes, options=options)
    output, _ = process.communicate(timeout=60)
    return process.returncode, output.rstrip("\n").split("\n")


class Lanes(unittest.TestCase):
    def test_TST_1_a_lane_that_exits_0_has_passed(self):
        status, lines = run("good=true")
        self.assertEqual(status, 0)
        self.assertTrue(lines[-2].startswith("PASS        good"), lines)
        self.assertEqual(lines[-1], "1 passed, 0 failed, 0 skipped")

    def test_TST_1_a_lane_that_exits_otherwise_has_failed_and_its_log_is_shown(self):
        status, lines = run("bad=echo the reason; exit 3")
        self.assertEqual(status, 1)
        self.assertIn("  | the reason", lines)
        self.assertTrue(any(line.startswith("  the whole log: ") for line in lines))
        self.assertRegex(lines[-2], r"^FAIL +bad .*exit status 3$")
        self.assertEqual(lines[-1], "0 passed, 1 failed, 0 skipped")

    def test_a_lane_that_failed_names_the_tests_that_did(self):
        _, lines = run("bad=echo '[  FAILED  ] Wheel.turns';"
                       "echo '[  FAILED  ] Wheel.turns (1 ms)';"
                       "echo ' 3/19 Test  #3: fiber.epoll ......***Failed  2.00 sec';"
                       "echo ' 4/19 Test  #4: differential ......***Skipped  0.01 sec'; exit 8")
        self.assertRegex(lines[-2], r"^FAIL +bad .*exit status 8, Wheel.turns, fiber.epoll$")

    def test_a_lane_that_failed_shows_what_its_log_tells_of_that(self):
        _, lines = run("bad=for i in $(seq 100); do echo good $i; done;"
                       "echo 'a.cpp:5: Failure'; echo 'Expected: b'; seq 200 400; exit 8")
        shown = [line for line in lines if line.startswith("  | ")]
        self.assertEqual(shown, ["  | ...", "  | a.cpp:5: Failure", "  | Expected: b",
                                 "  | 200", "  | 201"])

    def test_what_later_lanes_begin_with_is_built_while_earlier_ones_run(self):
        lanes = load()
        with tempfile.TemporaryDirectory() as folder:
            lanes.ROOT = Path(folder)
            (lanes.ROOT / "scripts").mkdir()
            script = lanes.ROOT / "scripts" / "build"
            script.write_text("#!/bin/sh\necho \"$*\" >>built\n"
                              "[ \"$1\" != second ] || echo >done\n")
            script.chmod(0o755)
            built, done = lanes.ROOT / "built", lanes.ROOT / "done"
            os.mkfifo(done)
            kinds = [lanes.Lane("a", "", "", builds="first"), lanes.Lane("b", "", ""),
                     lanes.Lane("c", "", "", builds="second x y"),
                     lanes.Lane("d", "", "", builds="first")]
            with lanes.building_ahead(kinds, lanes.ROOT / "log"):
                done.read_text()  # waits for the one who writes
            self.assertEqual(built.read_text(), "first\nsecond x y\n")

    def test_TST_1_a_lane_that_dies_of_a_signal_has_failed(self):
        status, lines = run("killed=kill -9 $$")
        self.assertEqual(status, 1)
        self.assertEqual(lines[-1], "0 passed, 1 failed, 0 skipped")

    def test_TST_1_a_lane_that_hangs_is_stopped_with_its_children_and_has_failed(self):
        status, lines = run("stuck=sleep 1000 & wait", options=["--limit", "0.2"])
        self.assertEqual(status, 1)
        self.assertRegex(lines[-2], r"^FAIL +stuck .*stopped after 0.2 s$")

    def test_TST_1_a_skipped_lane_says_why(self):
        status, lines = run("later=echo not today; exit 77")
        self.assertEqual(status, 0)
        self.assertRegex(lines[-2], r"^SKIPPED +later .*not today$")
        self.assertEqual(lines[-1], "0 passed, 0 failed, 1 skipped")

    def test_TST_1_an_unavailable_lane_is_listed_as_such_and_never_passes(self):
        status, lines = run("ring=echo no ring here; exit 69")
        self.assertEqual(status, 0)
        self.assertRegex(lines[-2], r"^UNAVAILABLE +ring .*no ring here$")
        self.assertEqual(lines[-1], "0 passed, 0 failed, 1 skipped")

    def test_RCT_1e_a_lane_is_unavailable_where_the_kernel_refuses_io_uring(self):
        lanes = load()
        lanes.io_uring_refused = lambda: "io_uring: Operation not permitted"
        lane = lanes.Lane("ring", "", "true", io_uring=True)
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "log"
            self.assertEqual(lanes.run(lane, log, dict(os.environ)),
                             ("UNAVAILABLE", "io_uring: Operation not permitted"))
            self.assertFalse(log.exists(), "it was run all the same")

    def test_every_lane_of_a_reactor_asks_for_the_kernel_first(self):
        for group in load().GROUPS.values():
            for lane in group:
                self.assertEqual(lane.io_uring, lane.name.endswith(".io_uring"), lane.name)

    def test_TST_1_a_failure_does_not_stop_the_lanes_behind_it(self):
        status, lines = run("a=false", "b=true", "c=exit 77", "d=exit 69")
        self.assertEqual(status, 1)
        self.assertEqual([line.split()[0] for line in lines[-5:-1]],
                         ["FAIL", "PASS", "SKIPPED", "UNAVAILABLE"])
        self.assertEqual(lines[-1], "1 passed, 1 failed, 2 skipped")

    def test_TST_2b_two_runs_at_once_have_different_folders_and_remove_them(self):
        # Each run waits until the other has begun, so that they are really there together.
        meet = 'touch "$DIR/{me}"; for i in $(seq 400); do [ -e "$DIR/{other}" ] && break; ' \
               'sleep 0.05; done; [ -e "$DIR/{other}" ] && echo "at $TMPDIR" && exit 77'
        with tempfile.TemporaryDirectory() as folder:
            runs = [start("x=" + meet.format(me=me, other=other), DIR=folder)
                    for me, other in (("one", "two"), ("two", "one"))]
            outputs = [process.communicate(timeout=60)[0] for process in runs]
        places = [re.search(r"at (\S+)", output.splitlines()[-2]).group(1) for output in outputs]
        self.assertNotEqual(places[0], places[1])
        for place in places:
            self.assertFalse(Path(place).exists())

    def test_TST_2b_no_test_listens_where_another_run_would_too(self):
        # A port of its own choice or a path outside of TMPDIR; a simulated machine has its own.
        taken = re.compile(r'(?:listen|open|bind)\([^;]*(?:loopback\([1-9]|parse\("[^"]*:[1-9]\d*"|'
                           r'unix_path\("/)')
        root = LANES.parent.parent
        sources = [path for folder in ("weft", "tests") for path in (root / folder).rglob("*.cpp")
                   if path.name.endswith("_test.cpp") and "sim" not in path.parts]
        self.assertGreater(len(sources), 100)
        found = [f"{path.relative_to(root)}: {match.group()}" for path in sources
                 for match in taken.finditer(path.read_text())]
        self.assertEqual(found, [])

    def test_TST_2c_the_deep_lanes_run_the_suite_of_a_build_with_NDEBUG(self):
        commands = [lane.command for lane in load().GROUPS["deep"] if "release" in lane.name]
        self.assertEqual(commands, ["scripts/check release -LE 'house|epoll|io_uring|soak'",
                                    "scripts/check release -L '^descriptors.epoll$'",
                                    "scripts/check release -L '^descriptors.io_uring$'"])
        root = LANES.parent.parent
        presets = json.loads((root / "CMakePresets.json").read_text())["configurePresets"]
        release = next(preset for preset in presets if preset["name"] == "release")
        self.assertEqual(release["cacheVariables"]["CMAKE_BUILD_TYPE"], "Release")
        self.assertRegex((root / "CMakeLists.txt").read_text(), r'_FLAGS_RELEASE "[^"]*-DNDEBUG')

    def test_TST_5b_the_long_lanes_repeat_every_test(self):
        lanes = load()
        commands = [lane.command for group in ("long", "flaky") for lane in lanes.GROUPS[group]
                    if lane.name == "flaky"]
        self.assertEqual(commands, ["scripts/build dev && scripts/flaky --count 30"] * 2)

    def test_TST_5c_what_was_skipped_is_counted_and_named_below_its_lane(self):
        status, lines = run("dev=echo 'skipped: net: Net.six: no IPv6';"
                            "echo 'skipped: net: Net.seven: no IPv7';"
                            "echo 'unavailable: beast: no Boost'; echo 'repeated: late: passed'",
                            "other=true")
        self.assertEqual(status, 0)
        self.assertRegex(lines[-6], r"^PASS +dev .*; 2 skipped; 1 unavailable; 1 repeated$")
        self.assertRegex(lines[-5], r"^SKIPPED +dev net: 2: Net.six: no IPv6; Net.seven: no IPv7$")
        self.assertRegex(lines[-4], r"^UNAVAILABLE +dev beast: 1: no Boost$")
        self.assertRegex(lines[-3], r"^REPEATED +dev late: 1: passed$")
        self.assertRegex(lines[-2], r"^PASS +other +\S+ s  true$")
        self.assertEqual(lines[-1], "2 passed, 0 failed, 0 skipped")

    def test_TST_5d_every_kind_runs_the_reactor_that_users_get(self):
        lanes = load()
        kinds = {"dev": "test", "release": "deep", "asan": "deep", "tsan": "deep"}
        for name, group in kinds.items():
            commands = {lane.name: lane.command for lane in lanes.GROUPS[group]}
            self.assertRegex(commands[name], "-LE 'house[|]epoll[|]io_uring")
            for reactor in ("epoll", "io_uring"):
                self.assertIn(f"-L '^descriptors.{reactor}$'", commands[f"{name}.{reactor}"])
                rest = next(lane.command for lane in lanes.GROUPS["deep"]
                            if lane.name == f"reactors.{reactor}")
                self.assertIn(f"-L '^{reactor}$'", rest)
        # A run without the name of a reactor has no WEFT_REACTOR: it takes what users get.
        function = (LANES.parent.parent / "cmake/weft_test.cmake").read_text()
        self.assertEqual(function.count("WEFT_REACTOR="), 1)
        self.assertRegex(function, r'MATCHES "[^"]*epoll[|]io_uring[^"]*"\)\s[^#]*WEFT_REACTOR=')
        for folder in ("fiber", "sync", "async", "net", "http"):
            listing = (LANES.parent.parent / f"weft/{folder}/CMakeLists.txt").read_text()
            self.assertIn(f"weft_folder({folder} REACTORS", listing)

    def assert_cross_lane(self, arch):
        lanes = {lane.name: lane.command for lane in load().GROUPS["cross"]}
        self.assertEqual(lanes[arch], f"scripts/check {arch} -R '^(base|fiber|sync)([.]|$)'")
        toolchain = LANES.parent.parent / f"cmake/toolchain/{arch}.cmake"
        self.assertIn(f"qemu-{arch}", toolchain.read_text())

    def test_PLT_1a_the_plain_lane_runs_every_test_on_this_machine(self):
        lane = next(lane for lane in load().GROUPS["test"] if lane.name == "dev")
        self.assertEqual(lane.command, "scripts/check dev -LE 'house|epoll|io_uring'")
        presets = json.loads((LANES.parent.parent / "CMakePresets.json").read_text())
        dev = next(preset for preset in presets["configurePresets"] if preset["name"] == "dev")
        self.assertNotIn("toolchainFile", dev)

    def test_PLT_1b_a_lane_runs_the_tests_on_aarch64(self):
        self.assert_cross_lane("aarch64")

    def test_PLT_1c_a_lane_runs_the_tests_on_riscv64(self):
        self.assert_cross_lane("riscv64")

    def test_contributing_names_the_presets_and_targets_that_exist(self):
        root = LANES.parent.parent
        text = (root / "CONTRIBUTING.md").read_text()
        table = re.findall(r"^\| (`[^|]*) \|", text, re.MULTILINE)
        presets = json.loads((root / "CMakePresets.json").read_text())["configurePresets"]
        self.assertEqual(sorted(re.findall(r"`(\w+)`", " ".join(table))),
                         sorted(preset["name"] for preset in presets if not preset.get("hidden")))
        targets = re.findall(r"^([a-z-]+):", (root / "Makefile").read_text(), re.MULTILINE)
        named = set(re.findall(r"\bmake ([a-z-]+)", text))
        self.assertLessEqual(named, set(targets))
        self.assertLessEqual({target for target in targets if target.startswith("test")}, named)

    def test_an_unknown_lane_is_refused(self):
        process = subprocess.run([sys.executable, LANES, "nonsense"], text=True,
                                 capture_output=True, timeout=60)
        self.assertEqual(process.returncode, 1)
        self.assertIn("no group or lane 'nonsense'", process.stderr)


if __name__ == "__main__":
    unittest.main()
