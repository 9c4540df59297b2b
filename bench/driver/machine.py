"""What the figures were taken on: the machine, and the versions of what was built."""

import json
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

from .building import BENCH, CXX, Unavailable, find_go, find_installed, npm_programs


def output_of(*command: str) -> str:
    if shutil.which(command[0]) is None:
        return ""
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def field_of(file: str, pattern: str) -> str:
    match = re.search(pattern, Path(file).read_text(), re.MULTILINE)
    return match.group(1) if match else "unknown"


def describe_machine() -> dict[str, str]:
    """Two runs are one table only if this is equal."""
    kilobytes = int(field_of("/proc/meminfo", r"^MemTotal:\s*(\d+)"))
    return {
        "cpu": field_of("/proc/cpuinfo", r"^model name\s*:\s*(.*)$"),
        "cores": str(os.cpu_count()),
        "memory": f"{kilobytes / 2**20:.0f} GiB",
        "kernel": platform.release(),
        "system": field_of("/etc/os-release", r'^PRETTY_NAME="?([^"\n]*)'),
    }


def package_version(header: str, pattern: str) -> str:
    return field_of(header, pattern) if Path(header).exists() else "not installed"


def locked_version(crate: str, folder: str = "tokio") -> str:
    return field_of(str(BENCH / f"peers/{folder}/Cargo.lock"),
                    rf'^name = "{crate}"\nversion = "([^"]*)"')


def program_version(name: str, option: str) -> str:
    """The first number with dots that the program says of itself."""
    path = find_installed(name)
    return "not installed" if isinstance(path, Unavailable) else version_of(path, option)


def version_of(path: Path, option: str = "--version") -> str:
    if not path.exists():
        return "not installed"
    if path.name == "package.json":
        return json.loads(path.read_text())["version"]
    done = subprocess.run([path, option], capture_output=True, text=True)
    match = re.search(r"\d+[.-][\w.+-]+", done.stdout + done.stderr)
    return match.group(0) if match else "unknown"


def shown_name(program: str) -> str:
    """As which the version of a program or of modules from npm is listed."""
    return {"data.modules": "postgres.js"}.get(program, program.removeprefix("js."))


def describe_versions() -> dict[str, str]:
    boost = package_version("/usr/include/boost/version.hpp", r'BOOST_LIB_VERSION "([^"]*)"')
    return {
        "compiler": (output_of(CXX, "--version") or "none").splitlines()[0],
        "go": output_of(find_go(), "version") or "none",
        "boost, asio": boost.replace("_", "."),
        "rust": output_of("rustc", "--version") or "none",
        "tokio": locked_version("tokio"),
        "async-channel": locked_version("async-channel"),
        "hyper": locked_version("hyper", "hyper"),
        "node": program_version("node", "--version"),
        "nginx": program_version("nginx", "-v"),
        "haproxy": program_version("haproxy", "-v"),
        "h2o": program_version("h2o", "--version"),
        "openssl": program_version("openssl", "version"),
        **{shown_name(name): version_of(program.binary)
           for name, program in npm_programs().items()},
    }


def load_average() -> float:
    return os.getloadavg()[0]
