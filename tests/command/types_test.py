#!/usr/bin/env python3
"""The declarations for TypeScript beside the modules themselves:  types_test.py WEFT"""
import json
import re
import unittest
from pathlib import Path

from program import InFolder

TYPES = Path(__file__).resolve().parents[2] / "weft" / "api" / "types"
VALUE = re.compile(r"^  export (?:const|function|class) (\w+)", re.MULTILINE)
ALIAS = re.compile(r"^  export \{ \w+ as (\w+) \};", re.MULTILINE)
DEFAULT = re.compile(r"^  export default ", re.MULTILINE)


def declared():
    """Module -> the values that it exports."""
    found = {}
    for file in TYPES.glob("*.d.ts"):
        text = file.read_text()
        name = re.search(r'^declare module "(weft:\w+)"', text, re.MULTILINE)[1]
        found[name] = {*VALUE.findall(text), *ALIAS.findall(text),
                       *(["default"] if DEFAULT.search(text) else [])}
    return found


class Types(InFolder):
    def there(self, module):
        status, said = self.weft("eval", f'import * as m from "{module}";\n'
                                 "console.log(JSON.stringify(Object.keys(m)));\n")
        self.assertEqual(status, 0, said)
        return set(json.loads(said))

    def test_JS_18_every_export_is_declared_and_every_declaration_exported(self):
        modules = declared()
        self.assertEqual(sorted(modules), ["weft:async", "weft:data", "weft:http", "weft:test",
                                           "weft:time"])
        for module, names in modules.items():
            with self.subTest(module):
                self.assertEqual(self.there(module), names)

    def test_JS_18_every_method_of_expect_and_of_Results_is_declared(self):
        text = (TYPES / "test.d.ts").read_text()
        begin = text.index("export interface Matchers<R>")
        matchers = set(re.findall(r"^    (to\w+)\(", text[begin:text.index("}", begin)],
                                  re.MULTILINE))
        self.write("a.test.js", 'import { expect, test } from "weft:test";\ntest("x", () => {\n'
                   "  console.log(JSON.stringify(Object.getOwnPropertyNames(\n"
                   "    Object.getPrototypeOf(expect(1)))));\n});\n")
        status, said = self.weft("test")
        self.assertEqual(status, 0, said)
        there = json.loads(said.splitlines()[0])
        self.assertEqual({name for name in there if name.startswith("to")}, matchers)
        text = (TYPES / "http.d.ts").read_text()
        begin = text.index("export const Results: {")
        results = set(re.findall(r"^    (\w+)[:(]", text[begin:text.index("};", begin)],
                                 re.MULTILINE))
        status, said = self.weft("eval", 'import { Results } from "weft:http";\n'
                                 "console.log(JSON.stringify(Object.keys(Results)));\n")
        self.assertEqual((status, set(json.loads(said))), (0, results))


if __name__ == "__main__":
    unittest.main()
