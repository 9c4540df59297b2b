"""A reading of C++ by braces alone: good enough to find functions and what stands outside them."""
import re

TYPE = re.compile(r"\b(class|struct|union|enum)\b")
TEMPLATE = re.compile(r"\btemplate\s*<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>")
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
# A brace behind one of these opens a value, and the statement goes on behind it.
VALUE = re.compile(r"([=,(]|\breturn)\s*$")
MEMBER_VALUE = re.compile(r"\)[^;{}]*:\s.*[\w>]$", re.DOTALL)
WHITE = " \n"
VARIABLE_VALUE = re.compile(r"[\w>\]]$")


def kind_of(text):
    """What the brace behind this text opens, outside of functions."""
    if VALUE.search(text.rstrip()[-8:]) or (text[-1:] not in WHITE and MEMBER_VALUE.search(text)):
        return "value"
    head = TEMPLATE.sub("", text).replace("alignas(", "alignas ").partition("(")[0]
    if "namespace" in head.split() or re.fullmatch(r'\s*extern\s*"[^"]*"\s*', text):
        return "namespace"
    if TYPE.search(head):
        return "type"
    if ")" in text:
        return "function"
    return "value" if VARIABLE_VALUE.search(text) else "block"


def parse(code):
    """Yields (kind, text, first offset, last offset) of each function, and of each statement
    (kind 'statement') that ends at namespace scope."""
    code = DIRECTIVE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), code)
    opened = []
    begin = 0               # where the current statement began
    for match in re.finditer(r"[{};]", code):
        at, sign = match.start(), match.group()
        if sign == "{":
            # Within a function nothing else counts, and its text is not copied again and again.
            kind = "block" if "function" in opened else kind_of(code[begin:at])
            opened.append(kind)
            if kind in ("namespace", "type"):
                begin = at + 1
        elif sign == ";":
            if any(kind in ("function", "value") for kind in opened):
                continue
            if all(kind == "namespace" for kind in opened):
                yield "statement", code[begin:at], begin, at
            begin = at + 1
        elif opened:
            kind = opened.pop()
            if kind == "function":
                yield "function", code[begin:at], begin, at
            if kind != "value" and "function" not in opened and "value" not in opened:
                begin = at + 1


def first_line(code, text, begin):
    return code.count("\n", 0, begin + len(text) - len(text.lstrip())) + 1


def functions(file):
    """(first line, last line) of each outermost function."""
    return [(first_line(file.code, text, begin), file.code.count("\n", 0, end) + 1)
            for kind, text, begin, end in file.parts if kind == "function"]


def namespace_statements(file):
    """(line, text) of each statement that is not inside a type or a function."""
    return [(first_line(file.code, text, begin), text.strip())
            for kind, text, begin, _ in file.parts if kind == "statement"]
