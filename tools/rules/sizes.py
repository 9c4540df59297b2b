"""How long a file, a function and a line may be."""
from .braces import functions
from .source import Finding

HEADER_LINES = 400
SOURCE_LINES = 800
FUNCTION_LINES = 70
LINE_COLUMNS = 100
DOCUMENT_LINES = {"ARCHITECTURE.md": 400, "CMakeLists.txt": 150}
CODE = (".h", ".cpp", ".c", ".S", ".py", ".sh", ".cmake", "CMakeLists.txt", "Makefile")


def check_lines(file):
    limit = DOCUMENT_LINES.get(file.path)
    if file.is_cpp:
        limit = HEADER_LINES if file.name.endswith(".h") else SOURCE_LINES
    count = len(file.lines) - 1
    if limit and count > limit:
        yield Finding(file.path, limit + 1, "size", f"{count} lines, at most {limit}: "
                      "divide it by ideas")
    is_script = file.path.startswith(("scripts/", "tools/", ".ci/")) and "." not in file.name
    if not file.name.endswith(CODE) and not is_script:
        return
    for number, line in enumerate(file.lines, 1):
        if len(line) > LINE_COLUMNS:
            yield Finding(file.path, number, "size",
                          f"{len(line)} columns, at most {LINE_COLUMNS}")
        if line != line.rstrip():
            yield Finding(file.path, number, "size", "blanks at the end of the line")


def check(tree):
    for file in tree.files.values():
        if file.path.startswith("bench/peers/"):
            continue
        yield from check_lines(file)
        if not file.is_cpp:
            continue
        for first, last in functions(file):
            count = last - first + 1
            if count > FUNCTION_LINES:
                yield Finding(file.path, first, "size", f"a function of {count} lines, at most "
                              f"{FUNCTION_LINES}: give its parts names")
