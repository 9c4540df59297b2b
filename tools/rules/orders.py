"""Atomic accesses name their memory order, and an order that is not the obvious one its reason."""
import re

from .source import Finding

ACCESS = re.compile(
    r"(?:\.|->)(load|store|exchange|compare_exchange_(?:weak|strong)|fetch_(?:add|sub|or|and|xor))"
    r"\s*\(")
NAMED = re.compile(r"memory_order|\b\w*order\b|\bk(Relaxed|Acquire|Release|AcqRel|SeqCst)\b"
                   r"|\bsuccess\b|\bfailure\b|\bOrder::k\w+")
NEEDS_REASON = re.compile(r"memory_order(_|::)(relaxed|seq_cst)\b")
REASON_LINES = 12  # a comment stands at most so far above the access it speaks of


def arguments(code, begin):
    """The text between the parenthesis before `begin` and the one that closes it."""
    depth = 1
    for at in range(begin, len(code)):
        if code[at] == "(":
            depth += 1
        elif code[at] == ")":
            depth -= 1
            if depth == 0:
                return code[begin:at]
    return code[begin:]


def has_comment(file, line):
    near = range(max(1, line - REASON_LINES), line + 1)
    return any("//" in file.lines[number - 1] and "//" not in file.code_lines[number - 1]
               for number in near)


def check(tree):
    for file in tree.weft:
        if file.weft_folder == "testing":
            continue  # The model checker is made of orders, as values.
        for match in ACCESS.finditer(file.code):
            if not NAMED.search(arguments(file.code, match.end())):
                yield Finding(file.path, file.line_at(match.start()), "order",
                              f"{match.group(1)}() names no memory order")
        if file.is_test:
            continue
        for match in NEEDS_REASON.finditer(file.code):
            line = file.line_at(match.start())
            if not has_comment(file, line):
                yield Finding(file.path, line, "order",
                              f"say above why {match.group(2)} suffices or is needed")
