"""The library installed to a folder of its own, and programs that are built against it.

They see nothing of this tree: what a program includes and links is what `cmake --install` gave.
"""
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parent / "project"
RUN_S = 120
COMPILER = os.environ.get("CXX", "c++")

BUILD = None  # the build folder; set by install_test.py


def output_of(command, **options):
    """What it printed; fails with that if the command does."""
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=600, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}\nended with {done.returncode}:\n"
                             f"{done.stdout}")
    return done.stdout


class Installed:
    """An installed tree, removed by close()."""

    def __init__(self):
        self.place = Path(tempfile.mkdtemp(prefix="weft-install."))
        self.prefix = self.place / "prefix"
        output_of(["cmake", "--install", BUILD, "--prefix", self.prefix])
        self.include = self.prefix / "include"
        self.lib = next(path.parent for path in sorted(self.prefix.rglob("libweft.so")))
        self.environment = {**os.environ, "LD_LIBRARY_PATH": str(self.lib),
                            "PKG_CONFIG_PATH": str(self.lib / "pkgconfig"),
                            "WEFT_CACHE_DIR": ""}

    def close(self):
        shutil.rmtree(self.place)

    def flags(self, module="weft", *options):
        asked = ["pkg-config", "--cflags", "--libs", *options, module]
        return output_of(asked, env=self.environment).split()

    def headers(self):
        """Every installed header, as one includes it."""
        return sorted(str(path.relative_to(self.include)) for path in self.include.rglob("*.h"))

    def public_headers(self):
        return [name for name in self.headers() if "/internal/" not in name]

    def compile(self, source, *options, module="weft", link=()):
        """The path of the program that was made of a file in project/."""
        language = ["-std=c11"] if source.endswith(".c") else []
        compiler = os.environ.get("CC", "cc") if language else COMPILER
        tag = re.sub(r"\W+", "_", "".join([source, module, *options, *link]))
        program = self.place / tag
        output_of([compiler, *language, "-Wall", "-Wextra", "-Werror", *options, PROJECT / source,
                   "-o", program, *self.flags(module, *link)], env=self.environment)
        return program

    def run(self, command, fixed_layout=False, **variables):
        """How the program ended, and what it wrote."""
        if fixed_layout:
            command = ["setarch", "-R", *command]
        done = subprocess.run(command, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=RUN_S, check=False,
                              env={**self.environment, **variables})
        return done.returncode, done.stdout
