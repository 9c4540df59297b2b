"""Who may include whom (the table of ARCHITECTURE.md), and where foreign headers may stand."""
import re

from .source import Finding

# Rule `layers`: the folders that a folder may include, besides itself.
BELOW = {
    "base": [],
    "fiber": ["base"],
    "sync": ["base", "fiber"],
    "async": ["base", "fiber", "sync"],
    "c": ["base", "fiber", "sync", "async"],
    "net": ["base", "fiber", "sync", "async"],
    "http": ["base", "fiber", "sync", "async", "net"],
    "data": ["base", "fiber", "sync", "async", "net"],
    "queue": ["base", "fiber", "sync", "async", "net", "data"],
    "js": ["base", "fiber", "sync", "async"],
    "api": ["base", "fiber", "sync", "async", "net", "http", "data", "queue", "js"],
    "app": ["base", "fiber", "sync", "async", "net", "http", "data", "queue", "js", "api", "sim"],
    "sim": ["base", "fiber", "sync", "async", "net"],
}
# Also `layers`: the rooms of a folder, from the bottom up. A header may include what is in its own
# room, in those before it and in the folder itself; what is in a room is for its folder alone,
# but for the headers that weft/weft.h names. A test may include all of its folder.
ROOMS = {"fiber": ["wait", "switch", "io", "schedule", "os", "report"]}
# What a source may include besides: the scheduler runs what is below it, and is asked by it.
UPWARD = {"switch": ["schedule", "report"], "io": ["schedule"], "schedule": ["report"]}
# The model checker replaces the atomics themselves, in its own builds only.
MODEL = {"weft/testing/model_atomic.h"}

# Rule `foreign`: header -> the places that may include it.
SYSTEM = ["weft/fiber/", "weft/base/env.cpp", "weft/base/log.cpp", "weft/base/assert.cpp",
          # One opens the engine's library, one asks whether a person looks, one what he types.
          "weft/app/engine_library.cpp", "weft/app/supervisor.cpp", "weft/app/terminal.cpp",
          "weft/app/line_editor.cpp",
          # It has to know whose its folder and its files are.
          "weft/api/application/disk_code_store.cpp",
          # libpq closes its descriptor when it likes, so a copy of it is waited for.
          "weft/data/postgres/internal/"]
FOREIGN = [
    (r"fmt/", ["weft/base/"]),
    (r"(liburing|libunwind|linux/io_uring|elfutils/|dwarf\.h)", ["weft/fiber/"]),
    # sim/gtest.h is a header for those who have it.
    (r"(gtest|gmock)/", ["weft/testing/", "tests/", "weft/sim/gtest.h"]),
    (r"boost/", ["tests/differential/", "bench/"]),
    (r"(sys/socket|sys/un|netdb|netinet/.*|arpa/.*|ares)",
     ["weft/net/", "weft/data/postgres/internal/"]),
    (r"openssl/", ["weft/net/tls/", "weft/http/wire/", "weft/api/crypto/",
                  "weft/data/postgres/internal/"]),
    (r"(nghttp2/|zlib|brotli/|zstd)", ["weft/http/wire/", "weft/api/streams/compression.cpp"]),
    (r"sqlite3", ["weft/data/sqlite/"]),
    (r"(libpq|postgresql/)", ["weft/data/postgres/"]),
    (r"(sql|sqlext|sqltypes)\.h", ["weft/data/odbc/"]),
    (r"nats", ["weft/queue/"]),
    (r"(v8|libplatform)", ["weft/js/", "weft/api/"]),
    (r"unicode/", ["weft/api/url/", "weft/api/encoding/"]),
    (r"nlohmann/", ["weft/app/", "weft/js/package_json.cpp"]),
    (r"(CLI/|histedit|editline/)", ["weft/app/"]),
    # Headers of the operating system; also tests may ask it what really happened.
    (r"(sys|linux|asm|bits|sanitizer)/.*", SYSTEM),
    (r"(pthread|sched|unistd|signal|fcntl|poll|dirent|spawn|ucontext|execinfo|cxxabi|dlfcn|time"
     r"|errno|semaphore|link|elf|malloc)\.h", SYSTEM),
]
COMPILER = re.compile(r"(immintrin|x86intrin|arm_acle|stdint|stddef|unwind)\.h")
STANDARD = re.compile(r"[a-z_0-9]+")  # <vector>, <cstdint>: standard headers have no suffix


def folder_of(include):
    parts = include.split("/")
    return parts[1] if parts[0] == "weft" and len(parts) > 2 else ""


def room_of(path):
    """'io' for weft/fiber/io/..., empty where a folder has no rooms or a file is in none."""
    parts = path.split("/")
    return parts[2] if parts[0] == "weft" and len(parts) > 3 and parts[1] in ROOMS else ""


def is_private(include, tree):
    if "/internal/" in include:
        return True
    whole = tree.files.get("weft/weft.h")
    named = {name for _, name, _ in whole.includes} if whole else set()
    return room_of(include) != "" and include not in named


def check_rooms(file, line, include):
    """Inside a folder: which room may include which."""
    rooms, here, target = ROOMS.get(file.weft_folder, []), room_of(file.path), room_of(include)
    if file.is_test or not here or target in ("", here):
        return
    unknown = [room for room in (here, target) if room not in rooms]
    if unknown:
        yield Finding(file.path, line, "layers", f"{unknown[0]} is not in ROOMS of "
                      "tools/rules/layers.py")
        return
    may = rooms[:rooms.index(here)]
    if not file.name.endswith(".h"):
        may = may + UPWARD.get(here, [])
    if target not in may:
        yield Finding(file.path, line, "layers", f"the room {here} may not include {target} here "
                      f"(it may include: {', '.join(may) or 'no other room'})")


def check_own(file, line, include, tree):
    if include not in tree.files:
        yield Finding(file.path, line, "layers", f"there is no {include}; includes are written "
                      "from the root of the repository")
        return
    target, here = folder_of(include), file.weft_folder
    if target != here and is_private(include, tree):
        yield Finding(file.path, line, "layers", f"{include} is for weft/{target}/ alone")
    if target == here:
        yield from check_rooms(file, line, include)
    if here in ("", "testing") or target in ("", here) or include in MODEL:
        return
    if target == "testing":
        if not file.is_test:
            yield Finding(file.path, line, "layers", "weft/testing/ is for tests only")
    elif target not in BELOW.get(here, []):
        may = ", ".join(BELOW[here]) if BELOW.get(here) else "nothing else of weft"
        yield Finding(file.path, line, "layers",
                      f"{here} may not include {target} (it may include: {may})")


def check_foreign(file, line, include):
    if STANDARD.fullmatch(include) or COMPILER.fullmatch(include):
        return
    for pattern, places in FOREIGN:
        if not re.match(pattern, include):
            continue
        if file.path.startswith(tuple(places)):
            return
        tests_too = places is SYSTEM or pattern.startswith("(gtest")
        if file.is_test and tests_too:
            return
        yield Finding(file.path, line, "foreign",
                      f"<{include}> may stand only in {', '.join(places)}")
        return
    yield Finding(file.path, line, "foreign",
                  f"<{include}> has no home yet; give it one in tools/rules/layers.py")


def check(tree):
    for file in tree.cpp:
        if file.path.startswith(("bench/", "cmake/")):
            continue
        for line, include, system in file.includes:
            if not system:
                yield from check_own(file, line, include, tree)
            elif file.weft_folder:
                yield from check_foreign(file, line, include)
