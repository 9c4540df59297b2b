"""Builds the programs that are missing or older than their sources into build/bench/.

A program that cannot be built is not an error: its peers are UNAVAILABLE, with the reason.
"""

import os
import platform
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


def go_program(name: str, folder: str) -> Program:
    # Given as files and without a go.mod, the sources get the toolchain's own defaults; a go.mod
    # that Debian's Go can read would switch newer ones to old timers.
    files = sorted(str(path) for path in (BENCH / "peers" / folder).glob("*.go"))
    binary = OUTPUT / name
    command = [find_go(), "build", "-o", str(binary), *files]
    return Program(name, (f"bench/peers/{folder}/*.go",), find_go(), command, binary, {})


def cargo_program(name: str, folder: str) -> Program:
    target = OUTPUT / folder
    command = ["cargo", "build", "--release", "--locked", "--quiet",
               "--manifest-path", f"bench/peers/{folder}/Cargo.toml"]
    sources = (f"bench/peers/{folder}/Cargo.*", f"bench/peers/{folder}/src/*.rs")
    return Program(name, sources, "cargo", command, target / "release" / name,
                   {"CARGO_TARGET_DIR": str(target)})


def npm_program(name: str, package: str, path: str, *others: str) -> Program:
    """A package that is nothing but the program of one kind of machine, so no script need run; or
    modules."""
    folder = OUTPUT / "npm" / name
    command = ["npm", "install", "--prefix", str(folder), "--ignore-scripts", "--no-audit",
               "--no-fund", "--no-save", package, *others]
    return Program(name, (), "npm", command, folder / "node_modules" / path, {})


def npm_programs() -> dict[str, Program]:
    is_arm = platform.machine() == "aarch64"
    cpu, cpu_of_workerd = ("arm64", "arm64") if is_arm else ("x64", "64")
    workerd = f"@cloudflare/workerd-linux-{cpu_of_workerd}"
    bun, deno = f"@oven/bun-linux-{'aarch64' if is_arm else cpu}", f"@deno/linux-{cpu}-glibc"
    return {
        "js.node24": npm_program("node24", f"node-linux-{cpu}@24", f"node-linux-{cpu}/bin/node"),
        "js.bun": npm_program("bun", bun, f"{bun}/bin/bun"),
        "js.deno": npm_program("deno", deno, f"{deno}/deno"),
        "js.workerd": npm_program("workerd", workerd, f"{workerd}/bin/workerd"),
        "data.modules": npm_program("data", "postgres@3", "postgres/package.json", "pg@8",
                                    "pg-cursor@2"),
    }


def go_module(name: str, folder: str) -> Program:
    """With its own modules, which the proxy of Go gives."""
    binary = OUTPUT / name
    command = [find_go(), "build", "-C", str(BENCH / "peers" / folder), "-o", str(binary), "."]
    return Program(name, (f"bench/peers/{folder}/*.go", f"bench/peers/{folder}/go.*"), find_go(),
                   command, binary, {})


def make_programs() -> dict[str, Program]:
    """By Peer.built_as; `client` is the load of the echo servers."""
    bare = "bench/peers/bare"
    return {
        "go": go_program("go_bench", "go"),
        "boost": cxx_program("boost_bench", "bench/peers/boost/boost_bench.cpp",
                             "-lboost_fiber", "-lboost_context"),
        "asio": cxx_program("asio_bench", "bench/peers/asio/asio_bench.cpp"),
        "tokio": cargo_program("tokio_bench", "tokio"),
        "epoll": cxx_program("echo_epoll", f"{bare}/echo_epoll.cpp"),
        "uring": cxx_program("echo_uring", f"{bare}/echo_uring.cpp", "-luring"),
        "floor": cxx_program("sleep_floor", f"{bare}/sleep_floor.cpp"),
        "client": cxx_program("echo_client", "bench/load/echo_client.cpp"),
        "http.go": go_program("go_http", "go_http"),
        "http.hyper": cargo_program("hyper_http", "hyper"),
        "http.epoll": cxx_program("http_epoll", f"{bare}/http_epoll.cpp"),
        "http.load": cxx_program("http_load", "bench/load/http_load.cpp", "-lssl", "-lcrypto"),
        "js.go": go_program("go_js", "go_js"),
        "data.go": go_module("go_data", "data/go"),
        "data.libpq": cxx_program("data_libpq", "bench/peers/data/libpq.cpp",
                                  "-I/usr/include/postgresql", "-lpq"),
        "data.c": cxx_program("data_sqlite", "bench/peers/data/sqlite.cpp", "-lsqlite3"),
    } | npm_programs()


# Peers that come as packages: Peer.built_as → the program on PATH.
INSTALLED = {"http.nginx": "nginx", "http.haproxy": "haproxy", "http.h2o": "h2o",
             "http.node": "node", "http.openssl": "openssl",
             "js.node20": "node"}
# Where only one major version is the peer.
MAJOR = {"js.node20": "v20."}
# Our programs: Peer.built_as → binary and target.
OURS = {"weft": ("weft_bench", "weft_bench"), "sim": ("weft-sim", "weft-sim"),
        "http.weft": ("weft-bench-http", "weft-bench-http"),
        "data.weft": ("weft-bench-data", "weft-bench-data"),
        "js.weft": ("weft", "weft_program weft_js_library")}


def find_installed(name: str) -> Path | Unavailable:
    # Debian keeps servers where the PATH of plain users does not look.
    path = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    return Path(path) if path else Unavailable(f"{name} is not installed")


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


def find_ours(name: str, targets: str, say) -> Path | Unavailable:
    """Our programs come from the release preset: that is what is shipped."""
    if name == "weft" and os.environ.get("WEFT"):
        return Path(os.environ["WEFT"])
    say(f"building {name}")
    done = subprocess.run(["scripts/build", "release", *targets.split()], cwd=ROOT, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    binary = ROOT / "build/release/bin" / name
    if done.returncode != 0 or not binary.exists():
        return Unavailable(f"{name} does not build: {first_error(done.stdout)}")
    return binary


def find_version(name: str, path: Path | Unavailable) -> Path | Unavailable:
    if isinstance(path, Unavailable) or name not in MAJOR:
        return path
    version = subprocess.run([path, "--version"], capture_output=True, text=True).stdout.strip()
    if version.startswith(MAJOR[name]):
        return path
    return Unavailable(f"{path} is {version}")


def build_all(names: set[str], say, download: bool = True) -> dict[str, Path | Unavailable]:
    built = {name: build(program, say) for name, program in make_programs().items()
             if name in names and (download or program.tool != "npm" or program.is_fresh())}
    built |= {name: Unavailable("not installed yet: make bench-js does") for name in npm_programs()
              if name in names and name not in built}
    built |= {name: find_version(name, find_installed(program))
              for name, program in INSTALLED.items() if name in names}
    built |= {name: find_ours(binary, targets, say) for name, (binary, targets) in OURS.items()
              if name in names}
    return built
