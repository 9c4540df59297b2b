"""What a program did, as callgrind counted it: instructions by address, calls by function.

An instruction that locks the bus or enters the kernel is known by its address: objdump says what
stands there.
"""

import collections
import functools
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

ALLOCATORS = {"malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign", "memalign"}
CLOCKS = {"clock_gettime", "gettimeofday"}
CLOCK_OBJECT = "libslow_clock.so"
OUR_OBJECTS = ("libweft",)
MONITOR = "weft::Monitor::watch"
WORKER = "weft::Worker::run_completions"
INSTRUCTION = re.compile(r"^\s+([0-9a-f]+):\s+(\S.*)$")


@dataclass
class Profile:
    """Counts by (object, address), and (calls of, by object and function)."""

    instructions: collections.Counter = field(default_factory=collections.Counter)
    calls: collections.Counter = field(default_factory=collections.Counter)
    functions: dict = field(default_factory=dict)  # (object, address) → the function around it

    def add(self, other: "Profile") -> None:
        self.instructions.update(other.instructions)
        self.calls.update(other.calls)
        self.functions |= other.functions

    def is_monitor(self) -> bool:
        """Of the thread that watches the workers: it works by the time, not by the operations."""
        return any(MONITOR in function for function in self.functions.values())

    def is_worker(self) -> bool:
        return any(WORKER in function for function in self.functions.values())

    def minus(self, other: "Profile") -> "Profile":
        """What is left when the beginning and the end, which both have, are taken away. A count may
        well be below zero: an address that was reached by chance."""
        left = Profile(self.instructions.copy(), self.calls.copy(),
                       other.functions | self.functions)
        left.instructions.subtract(other.instructions)
        left.calls.subtract(other.calls)
        return left


def read_profile(output: Path) -> Profile:
    """Of all threads but the monitor, from the files that callgrind wrote with --dump-instr=yes and
    --separate-threads=yes, without compression."""
    sum_of_threads = Profile()
    files = sorted(output.parent.glob(f"{output.name}-*"))
    if not files:
        raise FileNotFoundError(f"callgrind wrote no {output.name}: the program was killed")
    for file in files:
        thread = read_thread(file)
        if not thread.is_monitor():
            sum_of_threads.add(thread)
    return sum_of_threads


def read_workers(output: Path) -> Profile:
    """Of the workers alone, from the files of one dump that was asked for while the program ran.
    What an engine does on other threads, and how often those look at the clock, is chance."""
    threads = [read_thread(file) for file in sorted(output.parent.glob(f"{output.name}.1-*"))]
    workers = [thread for thread in threads if thread.is_worker()]
    if not workers:
        raise FileNotFoundError(f"callgrind wrote no {output.name}: nothing was counted")
    sum_of_workers = Profile()
    for worker in workers:
        sum_of_workers.add(worker)
    return sum_of_workers


def read_thread(file: Path) -> Profile:
    profile = Profile()
    here, callee = ["", ""], ["", ""]  # object, function
    calls = None
    with file.open(errors="replace") as lines:
        for line in lines:
            if line.startswith("0x"):
                if calls is not None:
                    # The line behind a call is what it cost inside, which is counted there.
                    profile.calls[callee[0] or here[0], callee[1]] += calls
                    calls, callee = None, ["", ""]
                    continue
                address, _, count = line.split()[:3]
                place = (here[0], int(address, 16))
                profile.instructions[place] += int(count)
                profile.functions[place] = here[1]
                continue
            name, _, value = line.rstrip("\n").partition("=")
            if name == "ob":
                here[0] = value
            elif name == "fn":
                here[1] = value
            elif name == "cob":
                callee[0] = value
            elif name == "cfn":
                callee[1] = value
            elif name == "calls":
                calls = int(value.split()[0])
    return profile


@functools.cache
def special_addresses(binary: str) -> dict[int, str]:
    """Address → `locked` or `system call`, of all such instructions of an object."""
    if not Path(binary).exists():
        return {}
    found = {}
    listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "-M", "intel", binary],
                             capture_output=True, text=True, errors="replace").stdout
    for line in listing.splitlines():
        match = INSTRUCTION.match(line)
        if not match:
            continue
        text = match.group(2)
        if text.startswith(("lock ", "mfence")) or (text.startswith("xchg") and "[" in text):
            found[int(match.group(1), 16)] = "locked"
        elif text.startswith("syscall"):
            found[int(match.group(1), 16)] = "system call"
    return found


@dataclass(frozen=True)
class Figures:
    """Of one operation."""

    instructions: float
    ours: float  # instructions in libweft alone
    locked: float
    system_calls: float
    allocations: float
    clock_reads: float
    by_function: dict[str, float]  # instructions, of all objects
    locked_by_function: dict[str, float]


def name_of(function: str) -> str:
    return function.partition("'")[0]  # callgrind numbers recursive calls


def figures_of(profile: Profile, operations: int) -> Figures:
    total = ours = 0
    special = collections.Counter()
    by_function, locked_by_function = collections.Counter(), collections.Counter()
    for (binary, address), count in profile.instructions.items():
        if Path(binary).name == CLOCK_OBJECT:
            continue
        total += count
        if Path(binary).name.startswith(OUR_OBJECTS):
            ours += count
        function = name_of(profile.functions[binary, address])
        by_function[function] += count / operations
        kind = special_addresses(binary).get(address)
        if kind:
            special[kind] += count
        if kind == "locked":
            locked_by_function[function] += count / operations
    called = collections.Counter()
    for (_, function), count in profile.calls.items():
        called[name_of(function)] += count
    return Figures(
        instructions=total / operations, ours=ours / operations,
        locked=special["locked"] / operations,
        system_calls=special["system call"] / operations,
        allocations=sum(called[name] for name in ALLOCATORS) / operations,
        clock_reads=sum(called[name] for name in CLOCKS) / operations,
        by_function=dict(by_function), locked_by_function=dict(locked_by_function))
