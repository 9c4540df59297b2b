import assert_ from "node:assert";
import strict from "assert/strict";
import { AsyncLocalStorage, AsyncResource } from "node:async_hooks";
import EventEmitter, { once } from "node:events";
import os from "node:os";
import path from "path";
import process_ from "node:process";
import querystring from "node:querystring";
import { StringDecoder } from "node:string_decoder";
import { setTimeout as delay } from "node:timers/promises";
import timers from "timers";
import url, { fileURLToPath, pathToFileURL } from "node:url";
import util, { promisify } from "node:util";
import diagnostics from "node:diagnostics_channel";

test("JS_2 node:path does as Node.js does on POSIX", () => {
  assertEquals(path.join("/a", "..", "b", "./c/"), "/b/c/");
  assertEquals(path.resolve("/a", "b", "../c"), "/a/c");
  assertEquals(path.relative("/a/b/c", "/a/d"), "../../d");
  assertEquals(["/a/b.c.d", ".bashrc", "a/b/", "file."].map(path.extname), [".d", "", "", "."]);
  assertEquals(["/a//b/", "//a", "a", "/"].map(path.dirname), ["/a/", "//", ".", "/"]);
  assertEquals(path.parse("/home/x/file.txt"),
    { root: "/", dir: "/home/x", base: "file.txt", ext: ".txt", name: "file" });
  assertEquals(path.format({ dir: "/a", name: "b", ext: "c" }), "/a/b.c");
  assertEquals(path.posix, path);
  assertEquals(assertThrows(() => path.join(1), TypeError).code, "ERR_INVALID_ARG_TYPE");
});

test("JS_2 node:events: once, order, errors, inheritance by call", async () => {
  const emitter = new EventEmitter();
  const log = [];
  emitter.on("a", (x) => log.push(`on ${x}`));
  emitter.prependOnceListener("a", (x) => log.push(`once ${x}`));
  assertEquals([emitter.emit("a", 1), emitter.emit("a", 2), emitter.emit("b")], [true, true, false]);
  assertEquals(log, ["once 1", "on 1", "on 2"]);
  assertThrows(() => emitter.emit("error", new RangeError("x")), RangeError);
  function Old() {
    EventEmitter.call(this);
  }
  util.inherits(Old, EventEmitter);
  const old = new Old();
  setTimeout(() => old.emit("late", 1, 2), 1);
  assertEquals(await once(old, "late"), [1, 2]);
  assertEquals(emitter.listenerCount("a"), 1);
  emitter.removeAllListeners();
  assertEquals(emitter.eventNames(), []);
  assertEquals(EventEmitter.EventEmitter, EventEmitter);
});

test("JS_2 node:util: promisify, inherits, format, types, inspect", async () => {
  assertEquals(await promisify((x, done) => done(null, x + 1))(1), 2);
  await assertRejects(promisify((done) => done(new Error("no")))(), Error, "no");
  assertEquals(util.format("%s=%d %j", "a", 1, { b: 2 }), 'a=1 {"b":2}');
  assertEquals(util.inspect({ a: [1, { b: { c: 2 } }] }, { depth: 0 }), "{ a: [Array] }");
  assert(util.types.isMap(new Map()) && !util.types.isMap({}));
  assert(util.types.isUint8Array(Buffer.alloc(1)) && util.types.isPromise(Promise.resolve()));
  assert(util.isDeepStrictEqual({ a: new Set([1]) }, { a: new Set([1]) }));
  assert(!util.isDeepStrictEqual([1], ["1"]));
  assertEquals(util.stripVTControlCharacters("\u001B[31mred\u001B[39m"), "red");
  assertEquals(util.TextEncoder, TextEncoder);
  assertEquals(await new Promise((done) => util.callbackify(async () => 5)((_, x) => done(x))), 5);
});

test("JS_2 node:assert: equality, errors, rejections", async () => {
  assert_.deepStrictEqual({ a: [1, new Map([[1, { b: 2 }]])] }, { a: [1, new Map([[1, { b: 2 }]])] });
  assert_.deepEqual([1, "2"], ["1", 2]);
  assert_.throws(() => {
    throw new TypeError("abc");
  }, { name: "TypeError", message: /b/ });
  await assert_.rejects(Promise.reject(new RangeError("r")), RangeError);
  const error = assertThrows(() => strict.equal(1, "1"), assert_.AssertionError);
  assertEquals([error.code, error.actual, error.expected], ["ERR_ASSERTION", 1, "1"]);
  assertThrows(() => assert_(0, "none"), assert_.AssertionError, "none");
  assertThrows(() => assert_.notDeepStrictEqual([1], [1]), assert_.AssertionError);
});

test("JS_2 node:process: what packages ask of it", async () => {
  assertEquals(process, process_);
  assertEquals(global, globalThis);
  assert(Number.parseInt(process.versions.node, 10) >= 20);
  assertEquals([process.platform, typeof process.pid, process.argv.length], ["linux", "number", 2]);
  assert(process.cwd().startsWith("/"));
  assertEquals(typeof process.env.PATH, "string");
  process.env.COUNT = 1;
  assertEquals([process.env.COUNT, "COUNT" in process.env], ["1", true]);
  delete process.env.COUNT;
  assertEquals(process.env.COUNT, undefined);
  const order = [];
  process.nextTick((x) => order.push(x), "tick");
  order.push("now");
  await Promise.resolve();
  assertEquals(order, ["now", "tick"]);
  const [seconds, nanoseconds] = process.hrtime();
  assert(seconds >= 0 && nanoseconds >= 0 && typeof process.hrtime.bigint() === "bigint");
  assert(process.memoryUsage().heapUsed > 0);
});

test("JS_2 node:url, node:querystring", () => {
  assertEquals(fileURLToPath("file:///a%20b/c"), "/a b/c");
  assertEquals(pathToFileURL("/a b#c?%").href, "file:///a%20b%23c%3F%25");
  assertThrows(() => fileURLToPath("http://a/"), TypeError);
  const parsed = url.parse("http://u:p@host.example:8080/p/a?x=1&x=2#h", true);
  assertEquals([parsed.auth, parsed.host, parsed.pathname, parsed.hash, parsed.query.x],
    ["u:p", "host.example:8080", "/p/a", "#h", ["1", "2"]]);
  assertEquals(url.format({ protocol: "https", host: "a.b", pathname: "/c", query: { d: 1 } }),
    "https://a.b/c?d=1");
  assertEquals(url.resolve("/one/two", "three"), "/one/three");
  assertEquals(url.URL, URL);
  assertEquals({ ...querystring.parse("a=1&b=%20x+y&a=2") }, { a: ["1", "2"], b: " x y" });
  assertEquals(querystring.stringify({ a: [1, "b c"], d: true }), "a=1&a=b%20c&d=true");
});

test("JS_2 node:timers, node:string_decoder, node:async_hooks, node:os", async () => {
  assertEquals(await delay(1, "value"), "value");
  const controller = new AbortController();
  const waiting = delay(60_000, undefined, { signal: controller.signal });
  controller.abort();
  assertEquals((await assertRejects(waiting, Error)).name, "AbortError");
  const timer = timers.setTimeout(() => {}, 60_000).unref();
  timers.clearTimeout(timer);
  const decoder = new StringDecoder("utf8");
  const text = [...Buffer.from("h\u20ACy\u{1F600}")].map((byte) => decoder.write(Buffer.of(byte)));
  assertEquals(text.join("") + decoder.end(), "h\u20ACy\u{1F600}");
  const storage = new AsyncLocalStorage();
  const resource = storage.run("kept", () => new AsyncResource("TEST"));
  assertEquals(resource.runInAsyncScope(() => storage.getStore()), "kept");
  assertEquals(os.EOL, "\n");
  const seen = [];
  diagnostics.subscribe("test", (message) => seen.push(message));
  diagnostics.channel("test").publish("hello");
  assertEquals(seen, ["hello"]);
});

test("JS_2 node: modules that cannot work here say so when they are used", async () => {
  const { createServer, STATUS_CODES } = await import("node:http");
  assertEquals(STATUS_CODES[404], "Not Found");
  assertThrows(() => createServer(), Error, "weft serve");
  const { spawn } = await import("child_process");
  assertThrows(() => spawn("ls"), Error, "child_process.spawn() is not there");
  await assertRejects(import("node:wasi"), TypeError, 'no built-in module "node:wasi"');
});

test("JS_2 node:util: promisify() knows the global timers", async () => {
  assertEquals(await promisify(setTimeout)(1, "later"), "later");
  assertEquals(await promisify(setImmediate)("soon"), "soon");
  assertEquals(promisify(setTimeout), promisify(setTimeout));
});

test("JS_2 node:assert: an error of another class is a failed assertion", async () => {
  const wrong = await assertRejects(assert_.rejects(async () => {
    throw new TypeError("other");
  }, RangeError), assert_.AssertionError);
  assert(wrong.message.includes('instance of "RangeError". Received "TypeError"'), wrong.message);
  assertThrows(() => assert_.throws(() => {
    throw new TypeError("other");
  }, RangeError), assert_.AssertionError);
  assertEquals(assertThrows(() => assert_.throws("no function"), TypeError).code,
    "ERR_INVALID_ARG_TYPE");
});

test("JS_2 node:querystring: null separators are the usual ones", () => {
  assertEquals({ ...querystring.parse("a=1&b=2&c=3", null, null, { maxKeys: 2 }) },
    { a: "1", b: "2" });
  assertEquals(querystring.stringify({ a: 1, b: 2 }, "", null), "a=1&b=2");
});

test("JS_2 node:util: MIMEType has its parts, which can be changed", () => {
  const mime = new util.MIMEType('Text/HTML; charset=utf-8; Title="a \\"b"');
  assertEquals([mime.type, mime.subtype, mime.essence], ["text", "html", "text/html"]);
  assertEquals([...mime.params], [["charset", "utf-8"], ["title", 'a "b']]);
  assertEquals(`${mime}`, 'text/html;charset=utf-8;title="a \\"b"');
  mime.subtype = "Plain";
  mime.params.delete("title");
  mime.params.set("q", "");
  assertEquals(JSON.stringify([mime, mime.params.get("charset"), mime.params.get("no")]),
    JSON.stringify(['text/plain;charset=utf-8;q=""', "utf-8", null]));
  for (const act of [() => new util.MIMEType("text"), () => { mime.type = "a/b"; }]) {
    assertEquals(assertThrows(act, TypeError).code, "ERR_INVALID_MIME_SYNTAX");
  }
});

test("JS_2 node:util: parseEnv() knows quotes, comments and values of many lines", () => {
  const text = "A=1 # one\r\n# B=2\n export C = 'x # y' # z\nD=\"a\\nb\"\n" +
    "E=`q\nF=r`\nG=\nH='open\n";
  assertEquals(util.parseEnv(text),
    { A: "1", C: "x # y", D: "a\nb", E: "q\nF=r", G: "", H: "'open" });
});
