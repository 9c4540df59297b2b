#!/usr/bin/env python3
"""Tests of scripts/setup against a pretended system: no package is really installed."""
import os
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

SETUP = Path(__file__).resolve().parent / "setup"


class Setup(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.bin = Path(folder.name)
        self.calls = self.bin / "calls"
        for tool in ("bash", "sed", "grep", "mktemp", "rm", "tail", "env", "cat", "mkdir", "mv",
                     "tee"):
            (self.bin / tool).symlink_to(shutil.which(tool))
        self.pretend("apt-get", f'echo "apt-get $*" >>{self.calls}')
        self.pretend("go", "true")

    def pretend(self, tool, script):
        path = self.bin / tool
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(0o755)

    def system(self, user, missing=()):
        """A system where all but the missing packages are installed, seen by this user."""
        self.pretend("id", f"echo {user}")
        self.pretend("dpkg-query", f"""shift 3
for package; do [[ " {' '.join(missing)} " == *" $package "* ]] || echo "installed $package"; done
""")

    def run_setup(self, *groups):
        return subprocess.run(["bash", SETUP, *groups], text=True, capture_output=True,
                              env={**os.environ, "PATH": str(self.bin),
                                   "WEFT_FOREIGN": str(self.bin / "foreign"),
                                   "WEFT_ETC": str(self.bin / "etc")}, timeout=30)

    def installs(self):
        return [line for line in self.calls.read_text().splitlines() if " install " in line] \
            if self.calls.exists() else []

    def test_it_is_silent_and_calls_no_apt_when_nothing_is_missing(self):
        self.system(user=0)
        begun = time.monotonic()
        done = self.run_setup("build", "deep", "cross", "bench", "lint")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual(self.installs(), [])
        self.assertLess(time.monotonic() - begun, 2.0)

    def test_root_installs_without_sudo_and_says_what(self):
        self.system(user=0, missing=["libfmt-dev", "ccache"])
        done = self.run_setup()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("setup: installing ccache libfmt-dev", done.stdout)
        self.assertEqual(len(self.installs()), 1)
        self.assertTrue(self.installs()[0].endswith("--no-install-recommends ccache libfmt-dev"))

    def test_a_user_installs_with_sudo(self):
        self.system(user=1000, missing=["strace"])
        self.pretend("sudo", f'echo sudo >>{self.calls}; exec "$@"')
        done = self.run_setup("deep")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("sudo", self.calls.read_text().splitlines())
        self.assertEqual(len(self.installs()), 1)

    def test_a_user_without_sudo_is_told_what_is_missing(self):
        self.system(user=1000, missing=["strace"])
        done = self.run_setup("deep")
        self.assertEqual(done.returncode, 1)
        self.assertIn("root or sudo is needed: strace", done.stderr)
        self.assertEqual(self.installs(), [])

    def test_go_is_asked_for_only_without_one_on_the_path(self):
        self.system(user=0, missing=["golang-go"])
        self.assertEqual(self.run_setup("bench").stdout, "")
        (self.bin / "go").unlink()
        self.assertIn("installing golang-go", self.run_setup("bench").stdout)

    def test_postgres_is_installed_without_a_cluster_of_the_machine(self):
        self.system(user=0, missing=["postgresql"])
        self.assertEqual(self.run_setup("data").returncode, 0)
        self.assertTrue(self.installs()[0].endswith("--no-install-recommends postgresql"))
        settings = self.bin / "etc/postgresql-common/createcluster.conf"
        self.assertEqual(settings.read_text(), "create_main_cluster = false\n")
        # What somebody has set is left as it is.
        settings.write_text("create_main_cluster = true\n")
        self.run_setup("data")
        self.assertEqual(settings.read_text(), "create_main_cluster = true\n")

    def archive(self):
        """A pretended archive in which libnode-dev needs libnode108, and that needs libuv1."""
        self.pretend("apt-cache", """case $2 in
    libnode-dev) echo '  Depends: libssl-dev'; echo '  Depends: libnode108';;
    libnode108) echo '  Depends: libuv1'; echo '  Depends: node-acorn';;
esac""")
        self.pretend("apt-get", f"""echo "apt-get $*" >>{self.calls}
[[ $* != *download* ]] || for package in "${{@:3}}"; do echo >$package.deb; done""")
        self.pretend("dpkg-deb", f'echo "$2" >>{self.calls}; mkdir -p "$3/usr"')

    def test_v8_is_unpacked_and_not_installed(self):
        self.system(user=0, missing=["libnode-dev", "libuv1"])
        self.archive()
        done = self.run_setup("js")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(len(self.installs()), 1)
        self.assertTrue(self.installs()[0].endswith("--no-install-recommends libuv1"))
        self.assertEqual(self.calls.read_text().count(".deb"), 2)
        self.assertEqual([path.name for path in (self.bin / "foreign").iterdir()], ["node"])
        self.assertEqual([path.name for path in (self.bin / "foreign/node").iterdir()], ["usr"])
        self.assertEqual(self.run_setup("js").stdout, "")

    def test_v8_that_is_installed_is_left_alone(self):
        self.system(user=0)
        self.archive()
        done = self.run_setup("js")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertFalse(self.calls.exists())

    def test_v8_that_cannot_be_had_is_named_and_no_error(self):
        self.system(user=0, missing=["libnode-dev", "libuv1"])
        self.archive()
        self.pretend("dpkg-deb", "exit 1")
        done = self.run_setup("js")
        self.assertEqual(done.returncode, 0)
        self.assertIn("V8 cannot be had", done.stderr)
        self.assertEqual(list((self.bin / "foreign").iterdir()), [])

    def test_a_failed_installation_shows_what_apt_said(self):
        self.system(user=0, missing=["strace"])
        self.pretend("apt-get", "echo E: no such luck; exit 100")
        done = self.run_setup("deep")
        self.assertEqual(done.returncode, 1)
        self.assertIn("E: no such luck", done.stderr)

    def test_an_unknown_group_is_refused(self):
        self.system(user=0)
        done = self.run_setup("nonsense")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no group 'nonsense'", done.stderr)


if __name__ == "__main__":
    unittest.main()
