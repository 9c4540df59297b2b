"""docs/contract.md and the tests agree: what is done has a test, and tests name real promises."""
import re

from .source import Finding

PAGE = "docs/contract.md"
STATES = ("open", "done", "later")
ROW = re.compile(r"\|\s*([A-Z]+-\d+[a-z]*)\s*\|(.*)\|([^|]*)\|([^|]*)\|\s*$")
GTEST = re.compile(r"\b(?:TYPED_)?TEST(?:_F|_P)?\s*\(\s*(\w+)\s*,\s*(\w+)\s*\)")
# A macro that gives a whole file's tests their id: #define X(name) TEST(Suite, FIB_7a_##name)
GTEST_MACRO = re.compile(r"^#define (\w+)\((\w+)\) TEST\((\w+), (\w+)##\2\)$", re.MULTILINE)
PYTEST_CLASS = re.compile(r"^class (\w+)\(", re.MULTILINE)
PYTEST = re.compile(r"^    def test_(\w+)\(", re.MULTILINE)
# test("JS_9 Headers: get combines values", ...) in tests/js/<room>/ is <room>.JS_9_Headers_get_...
SCRIPT_FOLDER = "tests/js/"
SCRIPT_TEST = re.compile(r"^test\(\s*[\"'`]([A-Z]+_\d+[a-z]?[^\"'`]*)[\"'`]", re.MULTILINE)
ID_IN_NAME = re.compile(r"(?:DISABLED_)?([A-Z]{2,4})_(\d+)([a-z]?)(?:_|$)")


def family(row_id):
    return row_id.rstrip("abcdefghijklmnopqrstuvwxyz")


def ids_of(test_name):
    """['FIB-1a'] for FIB_1a_run_returns: the ids that a name begins with, mostly one."""
    found = []
    at = 0
    while match := ID_IN_NAME.match(test_name, at):
        found.append(f"{match.group(1)}-{match.group(2)}{match.group(3)}")
        at = match.end()
    return found


def covers(test_id, row_id):
    """Whether a test of 'NET-3b' may prove the row: 'NET-3b' itself and its clause 'NET-3ba'."""
    rest = row_id.removeprefix(test_id)
    return bool(test_id) and (not rest or (rest != row_id and rest.isalpha()))


def tests_of(tree):
    """'Suite.name' -> (path, line) of every test in the tree."""
    found = {}
    for file in tree.files.values():
        if file.name.endswith(".cpp") and file.is_test:
            for match in GTEST.finditer(file.code):
                found[f"{match.group(1)}.{match.group(2)}"] = (file.path,
                                                              file.line_at(match.start()))
            for macro, _, suite, prefix in GTEST_MACRO.findall(file.code):
                for match in re.finditer(rf"^{macro}\((\w+)\)", file.code, re.MULTILINE):
                    found[f"{suite}.{prefix}{match.group(1)}"] = (file.path,
                                                                  file.line_at(match.start()))
        elif file.name.endswith("_test.py"):
            classes = [(match.start(), match.group(1)) for match in
                       PYTEST_CLASS.finditer(file.text)]
            for match in PYTEST.finditer(file.text):
                owner = [name for at, name in classes if at < match.start()]
                line = file.text.count("\n", 0, match.start()) + 1
                found[f"{owner[-1] if owner else ''}.{match.group(1)}"] = (file.path, line)
        elif file.path.startswith(SCRIPT_FOLDER) and file.name.endswith(".js"):
            room = file.path.removeprefix(SCRIPT_FOLDER).split("/")[0]
            for match in SCRIPT_TEST.finditer(file.text):
                name = re.sub(r"\W+", "_", match.group(1)).strip("_")
                found[f"{room}.{name}"] = (file.path, file.text.count("\n", 0, match.start()) + 1)
    return found


def check_row(number, row, tree, tests):
    row_id, _, cell, state = (part.strip() for part in row)
    if state not in STATES:
        yield Finding(PAGE, number, "contract", f"{row_id}: the state is one of "
                      f"{', '.join(STATES)}, not '{state}'")
    named = re.findall(r"`([^`]+)`", cell)
    for name in named:
        if name not in tests and name not in tree.files:
            yield Finding(PAGE, number, "contract", f"{row_id}: there is no test {name}")
    if state != "done":
        return
    # A path proves nothing: the file may be there and say nothing about the promise.
    carries = any(name in tests and covers(test_id, row_id)
                  for name in named for test_id in ids_of(name.rpartition(".")[2]))
    if not carries:
        yield Finding(PAGE, number, "contract", f"{row_id} is done, but names no test that "
                      f"carries its id ({row_id.replace('-', '_')}_...)")


def check(tree):
    page = tree.files.get(PAGE)
    if not page:
        yield Finding(PAGE, 1, "contract", "the contract is missing")
        return
    tests = tests_of(tree)
    ids = set()
    for number, line in enumerate(page.lines, 1):
        if match := ROW.match(line):
            row_id = match.group(1)
            if row_id in ids:
                yield Finding(PAGE, number, "contract", f"{row_id} has two rows")
            ids |= {row_id}
            yield from check_row(number, match.groups(), tree, tests)
    known = {row_id[:end] for row_id in ids for end in range(len(family(row_id)), len(row_id) + 1)}
    for name, (path, line) in tests.items():
        for test_id in ids_of(name.rpartition(".")[2]):
            if test_id not in known:
                yield Finding(path, line, "contract", f"{test_id} is not in {PAGE}")
