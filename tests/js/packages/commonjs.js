import barrel, { first, second } from "barrel";
import compiled, { Late, more, named, part } from "compiled";
import * as compiledNames from "compiled";
import { how } from "dual";
import forNode from "dual/only-node";
import { createRequire, builtinModules, isBuiltin } from "node:module";
import plain, { answer, data, double, joined, loadedAgain, self, version, where } from "plain";
import { kind } from "untyped";
import untyped from "untyped/function.js";

const require = createRequire(import.meta.url);
const folder = import.meta.dirname;

test("JS_2 CommonJS: default and named exports", () => {
  assertEquals(answer, 42);
  assertEquals(double(4), 8);
  assertEquals(plain.answer, 42);
  assertEquals(plain.double, double);
  assert(self);
  assertEquals(untyped(), "a function");
});

test("JS_2 CommonJS: require() of files, folders, JSON and built-ins", () => {
  assertEquals(data, { colour: "blue" });
  assertEquals(version, "1.2.3");
  assert(joined);
  assert(loadedAgain());
});

test("JS_2 CommonJS: __filename and __dirname", () => {
  assertEquals(where, {
    file: `${folder}/node_modules/plain/lib/main.js`, folder: `${folder}/node_modules/plain/lib`,
  });
});

test("JS_2 CommonJS: what compilers write shows its names", () => {
  assertEquals([named, part, more, typeof Late], ["named", "a part", "more", "function"]);
  // The default export of a CommonJS file is module.exports, whatever it says of itself.
  assertEquals(compiled.default, "the default");
  assertEquals(compiledNames.default, compiled);
  assertEquals(compiledNames["module.exports"], compiled);
  assertEquals(compiledNames.__esModule, true);
  assertEquals([first, second], [1, 2]);
  assertEquals(barrel, { first: 1, second: 2 });
});

test("JS_2 CommonJS: cycles give what was exported so far", () => {
  const cyclic = require("cyclic");
  assertEquals(cyclic.seenByB, "early");
  assertEquals(cyclic.bGot(), "late");
});

test("JS_2 CommonJS: conditions of import and of require()", () => {
  assertEquals(how, "import");
  assertEquals(require("dual").how, "require");
  assertEquals(forNode, "for node");
  assertEquals(kind, "module by its syntax");
});

test("JS_2 CommonJS: require() of an ES module gives its namespace", async () => {
  const required = require("esm-only");
  assert(required.esm);
  assertEquals(required.default(), "called");
  assertEquals(required, await import("esm-only"));
  assertThrows(() => require("esm-only/waits"), Error, "awaits at its top level");
  assertEquals((await import("esm-only/waits")).late, 1);
});

test("JS_2 CommonJS: what is not there says what was tried", () => {
  const error = assertThrows(() => require("./nothing"), Error, "nothing");
  assertEquals(error.code, "MODULE_NOT_FOUND");
  assertEquals(assertThrows(() => require("no-such-package"), Error).code, "MODULE_NOT_FOUND");
  assertThrows(() => require("node:nothing"), Error, 'no built-in module "node:nothing"');
  assertThrows(() => createRequire("relative"), TypeError);
});

test("JS_2 CommonJS: require.resolve, the cache, an error and the next attempt", () => {
  const path = require.resolve("cyclic/b.js");
  assert(path.endsWith("/node_modules/cyclic/b.js"));
  assert(path in require.cache);
  assertEquals(require.resolve("fs"), "node:fs");
  assertThrows(() => require("./fixtures/throws.cjs"), Error, "attempt 1");
  assertThrows(() => require("./fixtures/throws.cjs"), Error, "attempt 2");
  assertThrows(() => require("./fixtures/broken.cjs"), SyntaxError);
});

test("JS_2 CommonJS: import() from a CommonJS file, and of one", async () => {
  const { load } = require("./fixtures/imports.cjs");
  assertEquals((await load()).how, "import");
  assertEquals((await import("./fixtures/imports.cjs")).load, load);
  const both = await Promise.all([import("./fixtures/shared.js"), import("./fixtures/shared.js")]);
  assertEquals(both[0], both[1]);
});

test("JS_2 node:module knows the built-ins", () => {
  assert(builtinModules.includes("events"));
  assert(isBuiltin("node:fs") && isBuiltin("fs") && !isBuiltin("hono"));
});

test("JS_2 import(): a package that is not there is told by its code", async () => {
  const absent = await assertRejects(import("no-such-package"), TypeError);
  assertEquals(absent.code, "ERR_MODULE_NOT_FOUND");
  assertEquals((await assertRejects(import("./nothing.js"), TypeError)).code,
    "ERR_MODULE_NOT_FOUND");
});

test("JS_2 import.meta.resolve() says where a path leads, also where nothing is", () => {
  const folder = import.meta.url.slice(0, import.meta.url.lastIndexOf("/"));
  assertEquals(import.meta.resolve("./nothing%20here.js?v=1"), `${folder}/nothing%20here.js?v=1`);
  assertEquals(import.meta.resolve("./commonjs.js"), import.meta.url);
  assertEquals(import.meta.resolve("/no/such/../file"), "file:///no/file");
  assertThrows(() => import.meta.resolve("no-such-package"), TypeError);
});
