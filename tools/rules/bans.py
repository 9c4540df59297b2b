"""Constructs that the house does not use, each with what to write instead."""
import re
from dataclasses import dataclass

from .braces import namespace_statements
from .source import Finding


@dataclass
class Ban:
    rule: str
    pattern: re.Pattern
    instead: str
    scope: str          # product: shipped code; tests; weft: all under weft/
    parts: tuple        # a text without any of these is not searched: that is much faster
    allowed: tuple = ()  # paths where the construct is at home


def ban(rule, parts, pattern, instead, scope, *allowed):
    return Ban(rule, re.compile(pattern), instead, scope, tuple(parts.split()), allowed)


OS_SLEEP = r"\bstd::this_thread::\w+|\b(usleep|nanosleep|clock_nanosleep)\s*\(|\bsleep\s*\(\s*\d"

BANS = [
    ban("atomic", "std::atomic __atomic_ __sync_",
        r"\bstd::atomic\w*|\b__atomic_\w+|\b__sync_\w+",
        "weft::Atomic (weft/base/atomic.h), whose orders are mandatory", "weft",
        "weft/base/atomic.h", "weft/testing/model"),
    ban("fence", "_fence",
        r"\batomic_(thread|signal)_fence\b",
        "an order on the access itself: the thread sanitizer does not see fences", "weft"),
    ban("threads", "mutex condition_variable thread std::async std::promise std::future semaphore "
        "std::latch std::barrier",
        r"\bstd::(recursive_|shared_|timed_|shared_timed_)*mutex\b"
        r"|\bstd::condition_variable\w*|\bstd::j?thread\b|\bstd::(async|promise|future)\b"
        r"|\bstd::(counting_semaphore|binary_semaphore|latch|barrier)\b|\bpthread_create\b",
        "weft/sync, weft::spawn, weft::blocking or env::start_thread", "product",
        "weft/base/env.cpp"),
    ban("sleep", "sleep this_thread",
        OS_SLEEP + r"|(?<!weft::)\bsleep_(for|until)\s*\(",
        "testing::ManualClock, the simulation, or a wait for what should happen", "tests",
        "tests/sim/floor/", "tests/sim/data/"),  # in simulation nobody waits for a sleep
    ban("sleep", "sleep this_thread",
        OS_SLEEP, "weft::sleep_for, or env for the real machine", "product"),
    ban("throw", "throw",
        r"\bthrow\b", "a Result: Weft does not throw", "product"),
    ban("new", "new",
        r"(?<!operator )\bnew\b(?!\s*\()|\bnew\s*\(\s*std::nothrow\b",
        "std::make_unique or a value", "product"),
    ban("delete", "delete",
        r"(?<!operator )(?<!= )(?<!=)\bdelete\b", "std::unique_ptr", "product"),
    ban("thread_local", "thread_local __thread",
        r"\bthread_local\b|\b__thread\b",
        "this_worker(): a fiber may wake on another thread", "weft"),
    ban("random", "rand random mt19937",
        r"\b(s?rand|rand_r|drand48|getrandom)\s*\(|\bstd::(random_device|mt19937)\w*",
        "env::random, which simulation can seed", "product", "weft/base/env.cpp"),
    ban("clock", "clock_gettime gettimeofday _clock::now std::time time(",
        r"\b(clock_gettime|gettimeofday)\s*\(|\b\w+_clock::now\b|\bstd::time\s*\("
        r"|\btime\s*\(\s*(nullptr|NULL|0)\s*\)",
        "weft::Clock::now() or env::now_ns(), which simulation can move", "weft",
        "weft/base/env.cpp"),
    ban("assert", "assert",
        r"(?<!static_)\bassert\s*\(", "WEFT_ASSERT, which NDEBUG keeps", "weft"),
    ban("names", "Manager Helper Util Impl",
        r"\b(class|struct)\s+\w*(Manager|Helper|Util|Utils|Impl)\b",
        "a name that says what it is", "weft"),
]


def in_scope(ban_, file):
    if file.path.startswith(ban_.allowed or ("\0",)):
        return False
    if ban_.scope == "tests":
        return file.is_test
    if ban_.scope == "product":
        return bool(file.weft_folder) and not file.is_test
    return bool(file.weft_folder)


# A variable at namespace scope: words, a name, then its value or nothing.
GLOBAL = re.compile(
    r"(?:[\w:]+(?:<[^;]*>)?[\s*&]+)+\w+\s*(?:\[[^\]]*\]\s*)*(?:=.*|\{.*)?", re.DOTALL)
NO_VARIABLE = re.compile(
    r"\b(using|typedef|namespace|template|friend|concept|static_assert|constexpr|extern"
    r"|thread_local|operator|requires)\b|^(static |inline )*const\b|\*\s*const\b"
    r"|^(enum\s+)?(class|struct|union|enum)\s+(\[\[.*\]\]\s*)?[\w:]+(\s*:\s*[\w:]+)?$")


def check_namespace_scope(file):
    for line, statement in namespace_statements(file):
        if file.name.endswith(".h") and statement.startswith("using namespace"):
            yield Finding(file.path, line, "using", "a header that imports a namespace imports it "
                          "into every file that includes it: qualify the name")
        if file.name.endswith("_test.cpp"):
            continue
        if not NO_VARIABLE.search(statement.partition("=")[0]) and GLOBAL.fullmatch(statement):
            yield Finding(file.path, line, "global", "a mutable global: give it an owner that is "
                          "built and passed on")


def check_bans(file):
    for ban_ in BANS:
        if not in_scope(ban_, file) or not any(part in file.code for part in ban_.parts):
            continue
        for match in ban_.pattern.finditer(file.code):
            line = file.line_at(match.start())
            if file.code_lines[line - 1].lstrip().startswith("#"):
                continue
            yield Finding(file.path, line, ban_.rule,
                          f"'{match.group().strip()}': use {ban_.instead}")


def check(tree):
    for file in tree.cpp:
        if file.path.startswith(("bench/", "cmake/")):
            continue
        if file.name.endswith(".h") and "#pragma once" not in file.code_lines:
            yield Finding(file.path, 1, "pragma", "a header begins with #pragma once")
        yield from check_bans(file)
        if file.weft_folder:
            yield from check_namespace_scope(file)
