#!/usr/bin/env python3
"""What a user gets:  install_test.py BUILD-FOLDER [CLASS...]"""
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import unittest
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import installed
from installed import COMPILER, PROJECT, Installed, output_of


def first_program_of_the_readme(place):
    """A file with it: what a newcomer tries first."""
    text = (PROJECT.parents[2] / "README.md").read_text(encoding="utf-8")
    program = re.search(r"^```cpp\n(.*?)^```", text, re.MULTILINE | re.DOTALL).group(1)
    source = place / "readme.cpp"
    source.write_text(program, encoding="utf-8")
    return source


class InstalledTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.tree = Installed()

    @classmethod
    def tearDownClass(cls):
        cls.tree.close()

    def expect_success(self, command, **options):
        status, output = self.tree.run(command, **options)
        self.assertEqual(status, 0, output)
        return output


class Package(InstalledTest):
    """By CMake, by pkg-config, in C++ and in C."""

    def test_a_cmake_project_finds_it(self):
        build = self.tree.place / "cmake"
        output_of(["cmake", "-S", PROJECT, "-B", build, "-G", "Ninja", "--log-level=WARNING",
                   f"-DCMAKE_PREFIX_PATH={self.tree.prefix}"])
        output_of(["cmake", "--build", build])
        for program in ("outside", "outside_c", "outside_static", "outside_all"):
            self.expect_success([build / program])
        self.assertNotIn("libweft", output_of(["readelf", "-d", build / "outside_static"]))

    def test_SIM_3a_a_seed_finds_what_was_planted_in_a_service(self):
        program = self.tree.compile("bank_sim.cpp", "-g", module="weft-sim")
        status, output = self.tree.run([program, "--seeds", "1000"])
        self.assertEqual(status, 1, output)
        self.assertIn("money was lost or made", output)
        self.assertIn("mutex 1  lock", output)

    def test_pkg_config_finds_it(self):
        self.expect_success([self.tree.compile("main.cpp")])
        self.expect_success([self.tree.compile("main.c", module="weft-c")])

    def test_the_first_program_of_the_readme_compiles_as_shown(self):
        source = first_program_of_the_readme(self.tree.place)
        program = self.tree.place / "readme"
        output_of([COMPILER, "-Wall", "-Wextra", "-Werror", source, "-o", program,
                   *self.tree.flags()])

    def test_pkg_config_knows_what_a_static_library_needs(self):
        flags = self.tree.flags("weft", "--static")
        program = self.tree.place / "static"
        # The archive by its full name; of the others the linker takes what it finds.
        archive = str(self.tree.lib / "libweft.a")
        flags = [archive if flag == "-lweft" else flag for flag in flags]
        output_of([COMPILER, PROJECT / "main.cpp", "-o", program, *flags])
        self.assertNotIn("libweft", output_of(["readelf", "-d", program]))
        self.expect_success([program])

    def test_only_what_users_can_reach_is_installed(self):
        headers = self.tree.headers()
        strange = [name for name in headers
                   if re.search(r"/testing/|_test|/scenarios/|model", name)]
        self.assertEqual(strange, [])
        # Of the rooms of fiber/ what weft.h names, and what is reached from there.
        reached = {name for name in self.tree.public_headers()
                   if not re.match(r"weft/fiber/.+/", name)}
        for name in headers:
            text = (self.tree.include / name).read_text(encoding="utf-8")
            reached |= set(re.findall(r'^#include "(weft/[^"]+)"', text, re.MULTILINE))
        self.assertEqual(set(headers) - reached, set())
        planted = (self.tree.include / "weft/base/planted.h").read_text(encoding="utf-8")
        self.assertNotIn("enable", planted)

    def test_one_header_has_them_all(self):
        apart = ("weft/c/", "weft/data/", "weft/sim/", "weft/weft.h")
        names = [name for name in self.tree.public_headers() if not name.startswith(apart)]
        source = self.tree.place / "all.cpp"
        source.write_text("#include <weft/weft.h>\n", encoding="utf-8")
        depends = output_of([COMPILER, "-M", source, *self.tree.flags()])
        missing = [name for name in names if f"/{name}" not in depends]
        self.assertEqual(missing, ["weft/base/planted.h"] if "planted.h" not in depends else [])

    def test_messages_name_files_as_the_tree_does(self):
        status, output = self.tree.run([self.tree.compile("assertion.cpp")])
        self.assertNotEqual(status, 0)
        self.assertRegex(output, r"(^|[^/\w])weft/sync/mutex\.cpp:\d+")


class Programs(InstalledTest):
    """What went wrong when others used the package."""

    def test_SC_10a_an_early_return_waits_for_the_jobs(self):
        self.expect_success([self.tree.compile("early_return.cpp", "-fsanitize=address", "-g")])

    def test_FIB_10a_a_call_that_blocks_holds_nobody_up(self):
        self.expect_success([self.tree.compile("blocking_call.cpp")])

    def test_FIB_14e_a_service_ends_well_on_ctrl_c(self):
        program = self.tree.compile("stopped.cpp")
        with subprocess.Popen([program], text=True, stdout=subprocess.PIPE,
                              env=self.tree.environment) as service:
            port = int(service.stdout.readline().split()[1])
            with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
                client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                self.assertEqual(service.stdout.readline(), "asked 1\n")
                service.send_signal(signal.SIGINT)
                answer = b""
                while part := client.recv(4096):
                    answer += part
            self.assertIn(b"answered", answer)
            self.assertEqual(service.stdout.read(), "stopped: well\n")
            self.assertEqual(service.wait(timeout=20), 0)


class Command(InstalledTest):
    """The program `weft`, which finds its libraries by itself."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.weft = cls.tree.prefix / "bin" / "weft"
        cls.tree.environment.pop("LD_LIBRARY_PATH")

    def test_HST_7_scripts_run(self):
        script = self.tree.place / "tool.mjs"
        script.write_text("import { delay } from 'weft:time';\n"
                          "await delay(1); console.log(process.argv[2]);\n", encoding="utf-8")
        self.assertEqual(self.expect_success([self.weft, "run", script, "one"]), "one\n")
        self.assertEqual(self.expect_success([self.weft, "eval", "await 6 * 7"]), "42\n")
        self.expect_success([self.weft, "check", script])

    def test_HST_7_it_serves_by_a_configuration_that_the_schema_describes(self):
        schema = self.tree.prefix / "share" / "weft" / "weft.schema.json"
        keys = json.loads(schema.read_text(encoding="utf-8"))["properties"]
        folder = self.tree.place / "served"
        folder.mkdir()
        (folder / "app.js").write_text("export default { fetch: () => new Response('hello') };",
                                       encoding="utf-8")
        config = {"$schema": str(schema), "listeners": [{"address": "127.0.0.1:0"}],
                  "apps": [{"entry": "app.js"}]}
        self.assertLessEqual(set(config), set(keys))
        (folder / "weft.json").write_text(json.dumps(config), encoding="utf-8")
        with subprocess.Popen([self.weft, "serve", "--config", folder / "weft.json"], text=True,
                              stdout=subprocess.PIPE, env=self.tree.environment) as service:
            try:
                place = re.search(r"http://\S+", service.stdout.readline())
                self.assertIsNotNone(place)
                with urllib.request.urlopen(place.group(), timeout=20) as answer:
                    self.assertEqual(answer.read(), b"hello")
            finally:
                service.terminate()
            self.assertEqual(service.wait(timeout=60), 0)


class Headers(InstalledTest):
    """Each compiles alone, and a small program compiles quickly."""

    def test_each_header_compiles_alone(self):
        flags = self.tree.flags()

        def failure_of(name):
            source = self.tree.place / (re.sub(r"\W", "_", name) + ".cpp")
            source.write_text(f"#include <{name}>\n#include <{name}>\n", encoding="utf-8")
            done = subprocess.run([COMPILER, "-fsyntax-only", "-Wall", "-Wextra", "-Werror",
                                   source, *flags], text=True, capture_output=True, check=False)
            return done.stderr if done.returncode else ""

        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            failures = [text for text in pool.map(failure_of, self.tree.public_headers()) if text]
        self.assertEqual("\n".join(failures), "")

    def test_a_small_server_compiles_in_little_more_than_its_standard_headers(self):
        standard = self.tree.place / "standard.cpp"
        names = ("string", "vector", "functional", "chrono", "map", "memory", "expected", "atomic",
                 "optional", "variant")
        standard.write_text("".join(f"#include <{name}>\n" for name in names) + "int main() {}\n",
                            encoding="utf-8")
        ours, theirs = self.user_times(first_program_of_the_readme(self.tree.place), standard)
        print(f"a small server: {ours:.2f} s, the standard headers alone: {theirs:.2f} s")
        self.assertLess(ours, 2.2 * theirs)

    def user_times(self, *sources):
        """The shortest of five for each, in turn: others use the machine as well, and now more, now
        less."""
        flags = self.tree.flags()
        spent = {source: [] for source in sources}
        for _ in range(5):
            for source in sources:
                before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
                output_of([COMPILER, "-c", "-O2", source, "-o", "/dev/null", *flags])
                spent[source].append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
        return [min(spent[source]) for source in sources]


class Sanitized(InstalledTest):
    """The user's program is built with a sanitizer, the library is not."""

    sanitizer = ""
    environment = {}
    fixed_layout = False

    def build(self, source):
        return self.tree.compile(source, "-g", "-O1", f"-fsanitize={self.sanitizer}",
                                 "-fno-omit-frame-pointer")

    def expect_no_report(self, source, *arguments):
        output = self.expect_success([self.build(source), *arguments],
                                     fixed_layout=self.fixed_layout, **self.environment)
        for word in ("Sanitizer", "runtime error"):
            self.assertNotIn(word, output)

    def expect_report(self, bug, words):
        status, output = self.tree.run([self.planted, bug], fixed_layout=self.fixed_layout,
                                       **self.environment)
        self.assertNotEqual(status, 0, output)
        self.assertIn(words, output)

    def expect_reports(self, bugs):
        self.planted = self.build("planted.cpp")
        for bug, words in bugs.items():
            with self.subTest(bug):
                self.expect_report(bug, words)


class AddressSanitizer(Sanitized):
    sanitizer = "address"
    environment = {"ASAN_OPTIONS": "detect_stack_use_after_return=1"}

    def test_FIB_17a_a_program_with_the_address_sanitizer_is_not_reported(self):
        for source in ("main.cpp", "tour.cpp", "web.cpp"):
            with self.subTest(source):
                self.expect_no_report(source)

    def test_FIB_17b_its_bugs_of_memory_in_fibers_are(self):
        self.expect_reports({"use-after-free": "heap-use-after-free",
                             "write-past-the-frame": "stack-buffer-overflow",
                             "use-after-return": "stack-use-after-return",
                             "leak": "detected memory leaks"})


class UndefinedSanitizer(Sanitized):
    sanitizer = "undefined"
    environment = {"UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}

    def test_FIB_17c_a_program_with_the_sanitizer_of_undefined_behaviour_is_not_reported(self):
        for source in ("tour.cpp", "web.cpp"):
            with self.subTest(source):
                self.expect_no_report(source)

    def test_FIB_17d_its_overflow_in_a_fiber_is(self):
        self.expect_reports({"overflow": "signed integer overflow"})


class ThreadSanitizer(Sanitized):
    sanitizer = "thread"
    environment = {"TSAN_OPTIONS": "halt_on_error=1"}
    fixed_layout = True  # that of GCC 12 cannot place its shadow otherwise

    def test_FIB_17e_a_program_with_the_thread_sanitizer_is_not_reported(self):
        for source in ("tour.cpp", "web.cpp"):
            with self.subTest(source):
                self.expect_no_report(source)

    def test_FIB_17f_its_race_between_two_fibers_is(self):
        self.expect_reports({"race": "data race"})


if __name__ == "__main__":
    installed.BUILD = sys.argv.pop(1)
    unittest.main()
