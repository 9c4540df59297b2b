"""The tree as the rules see it: texts, code without comments and strings, and exceptions."""
import os
import re
from dataclasses import dataclass
from functools import cached_property

from .braces import parse

SKIPPED_FOLDERS = {".git", ".cache", "build", "target", "__pycache__", "node_modules"}
CPP = (".h", ".cpp")
BINARY = (".png", ".svg", ".ico", ".gz", ".bin")

# Comments, and literals of strings and characters. 1'000 is no character literal.
NOT_CODE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(?P<mark>\w*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|"""
    r"""(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'""",
    re.DOTALL,
)
ALLOW = re.compile(r"(?://|#)\s*tidy: (allow|allow-file) ([\w-]+)(?::\s*(\S.*))?")


@dataclass(frozen=True)
class Finding:
    path: str
    line: int
    rule: str
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.rule}: {self.message}"


def blank(match):
    """The same number of lines and columns, without what was written there."""
    text = match.group()
    if text.startswith("/"):
        return re.sub(r"[^\n]", " ", text)
    return text[0] + re.sub(r"[^\n]", " ", text[1:-1]) + text[-1]


class File:
    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.name = path.rpartition("/")[2]
        self.folder = path.rpartition("/")[0]

    @cached_property
    def lines(self):
        return self.text.split("\n")

    @cached_property
    def code(self):
        """The text with comments and the insides of literals blanked; lines stay where they are."""
        return NOT_CODE.sub(blank, self.text)

    @cached_property
    def code_lines(self):
        return self.code.split("\n")

    @cached_property
    def parts(self):
        """Its functions, and its statements at namespace scope; see braces.py."""
        return list(parse(self.code))

    @cached_property
    def includes(self):
        """(line, written as, system?) of each #include."""
        found = []
        for number, line in enumerate(self.lines, 1):
            match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
            if match and self.code_lines[number - 1].lstrip().startswith("#"):
                found.append((number, match.group(2), match.group(1) == "<"))
        return found

    @property
    def is_cpp(self):
        return self.name.endswith(CPP)

    @property
    def is_test(self):
        """Not shipped: tests, and the helpers of tests."""
        return self.name.endswith(("_test.cpp", "_test.h", "_fuzz.cpp")) or \
            self.path.startswith(("tests/", "weft/testing/"))

    @property
    def weft_folder(self):
        """'fiber' for weft/fiber/..., empty outside weft/."""
        parts = self.path.split("/")
        return parts[1] if parts[0] == "weft" and len(parts) > 2 else ""

    def line_at(self, offset):
        return self.code.count("\n", 0, offset) + 1


class Tree:
    def __init__(self, texts):
        self.files = {path: File(path, text) for path, text in sorted(texts.items())}

    @classmethod
    def read(cls, root):
        texts = {}
        for folder, folders, names in os.walk(root):
            folders[:] = [name for name in folders if name not in SKIPPED_FOLDERS]
            for name in names:
                path = os.path.join(folder, name)
                # In a linked work tree .git is a file.
                if name == ".git" or name.endswith(BINARY) or os.path.islink(path):
                    continue
                with open(path, encoding="utf-8", errors="replace") as stream:
                    texts[os.path.relpath(path, root)] = stream.read()
        return cls(texts)

    @property
    def cpp(self):
        return [file for file in self.files.values() if file.is_cpp]

    @property
    def weft(self):
        return [file for file in self.cpp if file.weft_folder]


class Exceptions:
    """The `tidy: allow` remarks of a tree. A remark covers its line and the two beside it."""

    def __init__(self, tree):
        self.remarks = {}
        self.findings = []
        for file in tree.files.values():
            if "tidy: allow" not in file.text or file.name.endswith((".md", "_test.py")):
                continue
            for number, line in enumerate(file.lines, 1):
                match = ALLOW.search(line)
                if not match:
                    continue
                scope, rule, reason = match.groups()
                if not reason:
                    self.findings.append(Finding(file.path, number, "allow",
                                                 f"say why: // tidy: {scope} {rule}: <reason>"))
                self.remarks[(file.path, rule, number, scope)] = False

    def covers(self, finding):
        covered = False
        for (path, rule, line, scope) in self.remarks:
            if path != finding.path or rule != finding.rule:
                continue
            if scope == "allow-file" or abs(line - finding.line) <= 1:
                self.remarks[(path, rule, line, scope)] = covered = True
        return covered

    def unused(self):
        for (path, rule, line, scope), used in self.remarks.items():
            if not used:
                yield Finding(path, line, "allow", f"nothing here breaks the rule '{rule}'")


def judge(tree, rules):
    """All breaches of the rules that no remark allows."""
    exceptions = Exceptions(tree)
    findings = [finding for rule in rules for finding in rule.check(tree)
                if not exceptions.covers(finding)]
    findings += exceptions.findings + list(exceptions.unused())
    return sorted(set(findings), key=lambda finding: (finding.path, finding.line, finding.rule))
