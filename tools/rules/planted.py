"""Each planted bug (base/planted.h) is looked for by a test, else it proves nothing."""
import re

from .source import Finding

PLANTED = re.compile(r'\bWEFT_PLANTED\s*\(\s*"([^"]+)"')


def check(tree):
    looked_for = {name for file in tree.cpp if file.name.endswith("_test.cpp")
                  for name in re.findall(r'"([^"\n]+)"', file.text)}
    for file in tree.weft:
        for match in PLANTED.finditer(file.text):
            is_code = file.code[match.start():match.start() + 1] == "W"
            if is_code and match.group(1) not in looked_for:
                yield Finding(file.path, file.line_at(match.start()), "planted",
                              f"no test looks for the bug '{match.group(1)}'")
