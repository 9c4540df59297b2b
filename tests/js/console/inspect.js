// JS-9: how values are shown to people.
import { format, inspect } from "node:util";

const all = (value) => inspect(value, { breakLength: Infinity });

test("JS_9 console: objects of the platform are shown with what they hold", async () => {
  assertEquals(all(new URL("http://u:p@a:81/b?x=1#h")),
    "URL { href: 'http://u:p@a:81/b?x=1#h', origin: 'http://a:81', protocol: 'http:', " +
    "username: 'u', password: 'p', host: 'a:81', hostname: 'a', port: '81', pathname: '/b', " +
    "search: '?x=1', searchParams: URLSearchParams { 'x' => '1' }, hash: '#h' }");
  assertEquals(all(new Headers([["B-c", "2"], ["a", "1"]])), "Headers { a: '1', 'b-c': '2' }");
  assertEquals([all(new Headers()), all(new URLSearchParams())],
    ["Headers {}", "URLSearchParams {}"]);
  const form = new FormData();
  form.append("a", "b");
  form.append("f", new File(["abc"], "n.txt", { type: "text/plain", lastModified: 5 }));
  assertEquals(all(form), "FormData { a: 'b', " +
    "f: File { size: 3, type: 'text/plain', name: 'n.txt', lastModified: 5 } }");
  const request = all(new Request("http://a/b", { method: "PUT", headers: { x: "y" } }));
  assert(request.startsWith("Request { method: 'PUT', url: 'http://a/b', headers: " +
    "Headers { x: 'y' }, redirect: 'follow',"), request);
  assertEquals(all(Response.json([1], { status: 201 })),
    "Response { status: 201, statusText: '', ok: true, headers: Headers { 'content-type': " +
    "'application/json' }, bodyUsed: false, redirected: false, type: 'default', url: '' }");
  assertEquals(all(AbortSignal.abort("why")), "AbortSignal { aborted: true, reason: 'why' }");
  assertEquals(all(new AbortController()),
    "AbortController { signal: AbortSignal { aborted: false } }");
  const event = all(new CustomEvent("x", { detail: { a: 1 } }));
  assert(event.startsWith("CustomEvent { type: 'x', ") && event.endsWith("detail: { a: 1 } }"),
    event);
  assertEquals(all(new TransformStream()), "TransformStream { " +
    "readable: ReadableStream { locked: false }, writable: WritableStream { locked: false } }");
  const key = await crypto.subtle.generateKey({ name: "AES-GCM", length: 128 }, true, ["encrypt"]);
  assertEquals(all(key), "CryptoKey { type: 'secret', extractable: true, " +
    "algorithm: { name: 'AES-GCM', length: 128 }, usages: [ 'encrypt' ] }");
});

test("JS_9 console: showing platform objects neither changes them nor runs code", async () => {
  const response = new Response("text");
  all(response);
  assertEquals([response.bodyUsed, await response.text()], [false, "text"]);
  const url = new URL("http://a/");
  const original = Object.getOwnPropertyDescriptor(URL.prototype, "href");
  Object.defineProperty(URL.prototype, "href", { ...original, get: () => "never" });
  const shown = all(url);
  Object.defineProperty(URL.prototype, "href", original);
  assert(shown.startsWith("URL { href: 'http://a/',"), shown);
  assertEquals(all(Object.create(URL.prototype)), "URL {}");
  class Own extends Headers {
    extra = 1;
  }
  assertEquals(all(new Own({ a: "b" })), "Own [Headers] { a: 'b', extra: 1 }");
  assertEquals(all({ a: { b: { c: new Headers({ d: "e" }) } } }), "{ a: { b: { c: [Headers] } } }");
});

test("JS_9 console: a DOMException is shown as an error", () => {
  const shown = all(new DOMException("it took too long", "TimeoutError"));
  assert(/^DOMException \[TimeoutError\]: it took too long\n    at /.test(shown), shown);
  const quota = all(new QuotaExceededError("full", { quota: 5, requested: 7 }));
  assert(quota.startsWith("QuotaExceededError: full\n"), quota);
  assert(quota.includes("quota: 5") && quota.includes("requested: 7"), quota);
});

test("JS_9 console: a class of one's own says what it extends", () => {
  class Foo extends Map {}
  class Bar extends Uint8Array {}
  assertEquals(all(new Foo([[1, 2]])), "Foo(1) [Map] { 1 => 2 }");
  assertEquals(all(new Bar(2)), "Bar(2) [Uint8Array] [ 0, 0 ]");
  assertEquals(all("\u007f\u001b"), "'\\x7F\\x1B'");
  class ValidationError extends TypeError {}
  assert(all(new ValidationError("v")).startsWith("ValidationError [TypeError]: v\n"));
  assertEquals(all(Object.setPrototypeOf(new Map([[1, 2]]), null)),
    "[Map(1): null prototype] { 1 => 2 }");
});

test("JS_9 console: %s asks an object that has words of its own", () => {
  assertEquals(format("%s %s", { toString: () => "own" }, new (class {
    toString() {
      return "of a class";
    }
  })()), "own of a class");
  assertEquals(format("%s", new URL("http://a/b")), "http://a/b");
  assertEquals(format("%s %s", {}, new Date(0)), "{} 1970-01-01T00:00:00.000Z");
  assertEquals(format("%s", Object.create(null)), "[Object: null prototype] {}");
  assertEquals(format("%s", { a: 1, toString() { throw new Error("ran"); } }),
    "{ a: 1, toString: [Function: toString] }");
  assertEquals(format("%s", new Proxy({}, { get() { throw new Error("ran"); } })), "{}");
});
