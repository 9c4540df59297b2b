"""Builds the programs that are missing or older than their sources into build/bench/.

A program that cannot be built is not an error: its peers are UNAVAILABLE, with the reason.
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BENCH = ROOT / "bench"
OUTPUT = ROOT / "build" / "bench"
COMMON = "bench/common/*.h"
BUILD_TIMEOUT_SECONDS = 900
ERROR = re.compile(r"\berror\b|cannot find", re.IGNORECASE)  # not the option -Werror

CXX = os.environ.get("CXX", "g++")
CXXFLAGS = ["-std=c++20", "-O2", "-I."]


@dataclass(frozen=True)
class Unavailable:
    reason: str


@dataclass(frozen=True)
class Program:
    name: str
    sources: tuple[str, ...]  # globs; a newer file means that the program is built again
    tool: str  # the compiler, as it is found on PATH
    command: list[str]
    binary: Path
    environment: dict[str, str]

    def is_fresh(self) -> bool:
        if not self.binary.exists():
            return False
        built = self.binary.stat().st_mtime
        files = [file for pattern in self.sources for file in ROOT.glob(pattern)]
        return all(file.stat().st_mtime <= built for file in files)


def cxx_program(name: str, source: str, *libraries: str) -> Program:
    binary = OUTPUT / name
    folder = str(Path(source).parent)
    command = [CXX, *CXXFLAGS, "-o", str(binary), source, *libraries, "-lpthread"]
    return Program(name, (source, f"{folder}/*.h", COMMON), CXX, command, binary, {})


def find_go() -> str:
    """The go on PATH, else where Debian's packages put it."""
    debian = sorted(Path("/usr/lib").glob("go-*/bin/go"), reverse=True)
    return shutil.which("go") or next((str(path) for path in debian), "go")


def go_program() -> Program:
    # Given as files and without a go.mod, the sources get the toolchain's own defaults; a go.mod
    # that Debian's Go can read would switch newer ones to old timers.
    files = sorted(str(path) for path in (BENCH / "peers/go").glob("*.go"))
    binary = OUTPUT / "go_bench"
    command = [find_go(), "build", "-o", str(binary), *files]
    return Program("go_bench", ("bench/peers/go/*.go",), find_go(), command, binary, {})


def tokio_program() -> Program:
    target = OUTPUT / "tokio"
    command = ["cargo", "build", "--release", "--locked", "--quiet",
               "--manifest-path", "bench/peers/tokio/Cargo.toml"]
    sources = ("bench/peers/tokio/Cargo.*", "bench/peers/tokio/src/*.rs")
    return Program("tokio_bench", sources, "cargo", command, target / "release/tokio_bench",
                   {"CARGO_TARGET_DIR": str(target)})


def make_programs() -> dict[str, Program]:
    """By family; `client` is the load of the echo servers."""
    bare = "bench/peers/bare"
    return {
        "go": go_program(),
        "boost": cxx_program("boost_bench", "bench/peers/boost/boost_bench.cpp",
                             "-lboost_fiber", "-lboost_context"),
        "asio": cxx_program("asio_bench", "bench/peers/asio/asio_bench.cpp"),
        "tokio": tokio_program(),
        "epoll": cxx_program("echo_epoll", f"{bare}/echo_epoll.cpp"),
        "uring": cxx_program("echo_uring", f"{bare}/echo_uring.cpp", "-luring"),
        "floor": cxx_program("sleep_floor", f"{bare}/sleep_floor.cpp"),
        "client": cxx_program("echo_client", "bench/load/echo_client.cpp"),
    }


def first_error(output: str) -> str:
    """The line of a compiler's output that says most."""
    lines = [line.strip().replace(f"{ROOT}/", "") for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if ERROR.search(line)]
    return (errors or lines[-1:] or ["no output"])[0][:200]


def build(program: Program, say) -> Path | Unavailable:
    if program.is_fresh():
        return program.binary
    if shutil.which(program.tool) is None:
        return Unavailable(f"{program.tool} is not installed")
    say(f"building {program.name}")
    OUTPUT.mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(program.command, cwd=ROOT, env=os.environ | program.environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=BUILD_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        return Unavailable(f"building {program.name} took over {BUILD_TIMEOUT_SECONDS} s")
    if done.returncode != 0:
        return Unavailable(f"{program.name} does not build: {first_error(done.stdout)}")
    program.binary.touch()  # cargo leaves an up-to-date binary as it was
    return program.binary


def find_ours(name: str, target: str, say) -> Path | Unavailable:
    """Our programs come from the release preset: that is what is shipped."""
    say(f"building {name}")
    done = subprocess.run(["scripts/build", "release", target], cwd=ROOT, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    binary = ROOT / "build/release/bin" / name
    if done.returncode != 0 or not binary.exists():
        return Unavailable(f"{name} does not build: {first_error(done.stdout)}")
    return binary


def build_all(families: set[str], say) -> dict[str, Path | Unavailable]:
    built = {}
    for family, program in make_programs().items():
        if family in families:
            built[family] = build(program, say)
    if "weft" in families:
        built["weft"] = find_ours("weft_bench", "weft_bench", say)
    if "sim" in families:
        built["sim"] = find_ours("weft-sim", "weft-sim", say)
    return built
