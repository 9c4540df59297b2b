#!/usr/bin/env python3
"""An engine that is not the one of the build, and the locales of a bare machine (JS-14)."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from served import PATIENCE_S, WEFT, Weft, main

TAG = re.compile(rb"V8 (\d+)(\.[\d.]+[^\0]* --no-verify-snapshot-checksum)")
WASM = "new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0])"
APP = """
export default { async fetch(request) {
  const { pathname, searchParams } = new URL(request.url);
  if (pathname === "/loop") for (;;);
  if (pathname === "/heap") for (const kept = []; ;) kept.push(new Array(100).fill(kept));
  const stream = new Blob([searchParams.get("text")]).stream()
    .pipeThrough(new CompressionStream("gzip")).pipeThrough(new DecompressionStream("gzip"));
  await new Promise((go) => setTimeout(go, 1));
  await WebAssembly.compile(WASM);
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode("weft"));
  const shared = new Uint8Array(new SharedArrayBuffer(4));
  Atomics.add(shared, 0, 3);
  return Response.json([await new Response(stream).text(), hash.byteLength, shared[0]]);
} };
""".replace("WASM", WASM)


class OtherEngine(unittest.TestCase):
    """The library is the build's own, with a tag as if another V8 had made its snapshot."""

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="weft-snapshot.")
        cls.addClassCleanup(cls.scratch.cleanup)
        folder = Path(cls.scratch.name)
        library = Path(WEFT).resolve().parents[1] / "lib"
        for path in library.glob("libweft*.so.?"):
            shutil.copyfile(path, folder / path.name)
        (folder / "weft").symlink_to(WEFT)
        text = (library / "libweft-js.so").read_bytes()
        found = list(TAG.finditer(text))
        assert len(found) == 1, found
        tag = found[0]
        # The snapshot behind the tag is nonsense, too: whoever read it would not come far.
        begin, size = tag.start() + 256, 64 * 1024
        false = b"V8 1" + tag[1][1:] + tag[2]
        false = false if false != tag[0] else b"V8 2" + tag[1][1:] + tag[2]
        cls.false_version = false.split()[1].decode()
        text = text[:tag.start()] + false + text[tag.end():begin] + b"\xee" * size + \
            text[begin + size:]
        (folder / "libweft-js.so").write_bytes(text)
        cls.environment = {"LD_LIBRARY_PATH": str(folder)}
        cls.folder = folder

    def serve(self, **options):
        before = {name: os.environ.get(name) for name in self.environment}
        os.environ.update(self.environment)
        try:
            weft = Weft(APP, **options)
        finally:
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})
        self.addCleanup(weft.close)
        return weft

    def test_JS_14_a_snapshot_of_another_V8_is_left_out_and_said_so_once(self):
        weft = self.serve(arguments=["--isolates", "2"])
        maps = Path(f"/proc/{weft.process.pid}/maps").read_text()
        self.assertIn(str(self.folder / "libweft-js.so"), maps)
        for number in range(8):
            self.assertEqual(weft.json(f"/?text=t{number}"), [f"t{number}", 32, 3])
        lines = [line for line in weft.log().splitlines() if "snapshot" in line]
        self.assertEqual(len(lines), 1, lines)
        self.assertRegex(
            lines[0], r"made by V8 " + re.escape(self.false_version) + r".* this is V8")

    def test_JS_14_isolates_without_a_snapshot_are_limited_and_replaced_like_others(self):
        weft = self.serve(limits={"heapMiB": 32, "cpuMs": 1000})
        self.assertEqual(weft.ask("/loop").code, "CpuLimit")
        self.assertEqual(weft.json("/?text=a"), ["a", 32, 3])
        self.assertEqual(weft.ask("/heap").code, "HeapLimit")
        self.assertEqual(weft.json("/?text=b"), ["b", 32, 3])

    def test_JS_14_the_snapshot_of_the_build_is_used(self):
        weft = Weft(APP)
        self.addCleanup(weft.close)
        self.assertEqual(weft.json("/?text=own"), ["own", 32, 3])
        self.assertNotIn("snapshot", weft.log())


LOCALES = """[
  ["b", "a", "C", "\\u00e4"].sort((x, y) => x.localeCompare(y)).join(""),
  ["z", "\\u00e4"].sort(new Intl.Collator("sv").compare).join(""),
  new Intl.NumberFormat("de-DE").format(1234.5),
  (1234.5).toLocaleString(),
  new Date(0).toLocaleDateString("en-GB", { timeZone: "UTC" }),
  "I".toLocaleLowerCase("tr"),
  [...new Intl.Segmenter("en", { granularity: "word" }).segment("one two")].length,
  String(1.5), parseFloat("1.5"),
].join("|")"""


class Locales(unittest.TestCase):
    def test_JS_9_Intl_and_localeCompare_are_there_and_the_same_under_LANG_C(self):
        said = []
        for lang in ["C", "POSIX", "C.UTF-8", "en_US.UTF-8", "xx_YY", None]:
            environment = {key: value for key, value in os.environ.items()
                           if not key.startswith("LC_") and key not in ("LANG", "LANGUAGE")}
            if lang:
                environment |= {"LANG": lang, "LC_ALL": lang}
            done = subprocess.run([WEFT, "eval", LOCALES], env=environment, text=True,
                                  capture_output=True, timeout=3 * PATIENCE_S)
            self.assertEqual(done.returncode, 0, done.stderr)
            said.append((lang, done.stdout.strip()))
        expected = "a\u00e4bC|z\u00e4|1.234,5|1,234.5|01/01/1970|\u0131|3|1.5|1.5"
        for lang, text in said:
            with self.subTest(lang):
                self.assertEqual(text, expected)


if __name__ == "__main__":
    main()
