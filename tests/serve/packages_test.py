#!/usr/bin/env python3
"""What packages find on Weft: CommonJS, node: modules, files (JS-2)."""
import subprocess
import tempfile
import unittest
from pathlib import Path

from served import PATIENCE_S, WEFT, Weft, main

READER = """
import { readFile, readdir, stat } from "node:fs/promises";
import fs from "fs";
export default { async fetch(request, env) {
  const path = new URL(request.url).searchParams.get("path");
  try {
    const bytes = await readFile(path);
    return Response.json({
      text: await readFile(path, "utf8"), size: (await stat(path)).size, length: bytes.length,
      same: fs.readFileSync(path, "utf8") === String(bytes), exists: fs.existsSync(path),
      beside: await readdir(new URL("file://" + path + "/..")),
    });
  } catch (error) {
    return Response.json({ code: error.code, message: error.message });
  }
} };
"""


def run(folder, source, *options, name="tool.mjs"):
    file = Path(folder) / name
    file.write_text(source)
    return subprocess.run([WEFT, "run", *options, file], stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE_S)


class Packages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weft-packages.")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_JS_2_files_are_read_only_where_it_was_allowed(self):
        (self.folder / "open").mkdir()
        (self.folder / "open" / "a.txt").write_text("hello")
        (self.folder / "shut.txt").write_text("secret")
        (self.folder / "open" / "link.txt").symlink_to(self.folder / "shut.txt")
        config = {"listeners": [{"address": "127.0.0.1:0"}],
                  "apps": [{"entry": "app.js", "allowRead": [str(self.folder / "open")]}]}
        weft = Weft(READER, config=config)
        self.addCleanup(weft.close)
        read = weft.json(f"/?path={self.folder}/open/a.txt")
        self.assertEqual((read["text"], read["size"], read["length"], read["same"]),
                         ("hello", 5, 5, True))
        self.assertEqual(read["beside"], ["a.txt", "link.txt"])
        self.assertEqual(weft.json(f"/?path={self.folder}/open/none")["code"], "ENOENT")
        for path in ["shut.txt", "open/../shut.txt", "open/link.txt", "openly"]:
            with self.subTest(path):
                refused = weft.json(f"/?path={self.folder}/{path}")
                self.assertEqual(refused["code"], "ERR_ACCESS_DENIED", refused)
                self.assertIn("--allow-read", refused["message"])

    def test_JS_2_nothing_is_read_by_default_and_nothing_written_ever(self):
        done = run(self.folder, """
            import fs from "node:fs";
            try { fs.readFileSync("/etc/hostname"); } catch (error) { console.log(error.code); }
            try { fs.writeFileSync("/tmp/x", "y"); } catch (error) { console.log(error.code); }
            console.log(fs.existsSync("/etc/hostname"));
            """)
        self.assertEqual(done.stdout.split(), ["ERR_ACCESS_DENIED", "EROFS", "false"], done.stderr)

    def test_JS_2_a_script_ends_the_process_an_application_does_not(self):
        done = run(self.folder, """
            console.log("before");
            setTimeout(() => process.exit(7), 1);
            setInterval(() => {}, 1000);
            process.on("exit", (status) => console.log("status", status));
            """)
        self.assertEqual((done.returncode, done.stdout), (7, "before\nstatus 7\n"), done.stderr)
        weft = Weft("""export default { fetch() {
            try { process.exit(1); } catch (error) { return new Response(error.message); }
        } };""")
        self.addCleanup(weft.close)
        self.assertIn("process.exit()", weft.ask("/").text)
        self.assertTrue(weft.alive())

    def test_JS_2_an_application_sees_its_own_environment(self):
        config = {"listeners": [{"address": "127.0.0.1:0"}],
                  "apps": [{"entry": "app.js", "env": {"MODE": "live"}}]}
        weft = Weft("export default { fetch: () => Response.json({ ...process.env }) };",
                    config=config)
        self.addCleanup(weft.close)
        self.assertEqual(weft.json("/"), {"MODE": "live"})
        done = run(self.folder, "process.stdout.write(process.env.PATH + process.argv[2])", )
        self.assertIn("/bin", done.stdout)

    def test_JS_2_an_import_map_is_heeded(self):
        config = {"listeners": [{"address": "127.0.0.1:0"}],
                  "apps": [{"entry": "app.js", "importMap": "map.json"}]}
        weft = Weft('import { text } from "words"; export default { fetch: () => '
                    "new Response(text) };", config=config,
                    files={"map.json": '{"imports": {"words": "./en.js"}}',
                           "en.js": 'export const text = "mapped";'})
        self.addCleanup(weft.close)
        self.assertEqual(weft.ask("/").text, "mapped")

    def test_JS_2_an_error_in_a_CommonJS_file_shows_its_line(self):
        (self.folder / "part.cjs").write_text("'use strict';\n\nmodule.exports = missing.thing;\n")
        done = run(self.folder, 'import "./part.cjs";')
        self.assertEqual(done.returncode, 1)
        self.assertIn("part.cjs:3", done.stderr)
        self.assertIn("missing is not defined", done.stderr)


class TypeScriptFiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weft-typescript.")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_JS_2_stacks_show_the_lines_of_the_file(self):
        (self.folder / "parts.ts").write_text("""export interface Shape<T> {
  area: T;
}
export enum Kind { Round, Square }

export async function later(shape: Shape<number>): Promise<number> {
  await Promise.resolve();
  const wrong: Shape<number> = (undefined as unknown) as Shape<number>; return wrong.area;
}
""")
        done = run(self.folder, """import { Kind, later, Shape } from "./parts";
const shape: Shape<number> = { area: Kind.Square };
try {
  await later(shape);
} catch (error) {
  const before = (error as Error).stack!;
  console.log(shape.area, before === (error as Error).stack, before);
}
await later(shape);
""", name="tool.ts")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("1 true TypeError", done.stdout)
        self.assertIn("parts.ts:8:86", done.stdout)
        self.assertIn("tool.ts:4:3", done.stdout)
        self.assertIn("parts.ts:8:86", done.stderr)

    def test_JS_2_an_application_in_TypeScript_is_served_and_checked(self):
        config = {"listeners": [{"address": "127.0.0.1:0"}], "apps": [{"entry": "app.ts"}]}
        app = """import { greet } from "./greet.js";
            import type { Nobody } from "./nowhere.js";
            class App {
              constructor(private readonly word: string) {}
              fetch(request: Request): Response {
                return new Response(greet(this.word, new URL(request.url).pathname as string));
              }
            }
            const app = new App("hello");
            export default { fetch: (request: Request) => app.fetch(request) } satisfies object;"""
        greet = "export const greet = <T extends string>(a: T, b: T): string => `${a} ${b}`;"
        weft = Weft(config=config, files={"app.ts": app, "greet.ts": greet})
        self.addCleanup(weft.close)
        self.assertEqual(weft.ask("/you").text, "hello /you")
        checked = subprocess.run([WEFT, "check", weft.path / "app.ts"], capture_output=True,
                                 text=True, timeout=PATIENCE_S)
        self.assertEqual(checked.returncode, 0, checked.stderr)

    def test_JS_2_elements_are_calls_of_the_runtime(self):
        runtime = self.folder / "node_modules" / "tiny"
        runtime.mkdir(parents=True)
        (runtime / "package.json").write_text(
            '{"name": "tiny", "type": "module", "exports": {"./jsx-runtime": "./run.js"}}')
        (runtime / "run.js").write_text("""
            export const jsx = (type, { children, ...rest }) => typeof type === "function"
              ? type({ children, ...rest })
              : `<${type}${Object.keys(rest).map((key) => ` ${key}=${rest[key]}`).join("")}>` +
                `${[children ?? []].flat(9).join("")}</${type}>`;
            export { jsx as jsxs };
            export const Fragment = ({ children }) => [children].flat().join("");""")
        (self.folder / "tsconfig.json").write_text(
            '{ // for editors\n "compilerOptions": { "jsxImportSource": "tiny", }, }')
        done = run(self.folder, """
            const Item = ({ n }: { n: number }) => <li class="i">{n}</li>;
            console.log(<ul>a <Item n={1} /><>{[2, 3].map((n) => <Item n={n} />)}</></ul>);
            """, name="page.tsx")
        self.assertEqual(done.stdout, "<ul>a <li class=i>1</li><li class=i>2</li><li class=i>3"
                                      "</li></ul>\n", done.stderr)

    def test_JS_2_what_cannot_be_stripped_points_at_its_line(self):
        done = run(self.folder, "let a = 1;\nnamespace B { export const c = a; }\n", name="bad.ts")
        self.assertEqual(done.returncode, 1)
        self.assertIn("bad.ts:2:1", done.stderr)
        self.assertIn("namespace", done.stderr)


if __name__ == "__main__":
    main()
