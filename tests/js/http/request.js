import { Deadline } from "weft:time";

test("JS_9 Request: has what it was made with", async () => {
  const request = new Request("http://h/p#f", {
    method: "post", headers: { "X-A": "1" }, body: "text", redirect: "manual", cache: "no-store",
  });
  assertEquals(request.method, "POST");
  assertEquals(request.url, "http://h/p#f");
  assertEquals(request.headers.get("x-a"), "1");
  assertEquals(request.headers.get("content-type"), "text/plain;charset=UTF-8");
  assertEquals([request.redirect, request.cache, request.mode], ["manual", "no-store", "cors"]);
  assertEquals(await request.text(), "text");
});

test("JS_9 Request: refuses what cannot be sent", () => {
  for (const make of [
    () => new Request("relative"),
    () => new Request("http://me:secret@h/"),
    () => new Request("http://h/", { method: "TRACE" }),
    () => new Request("http://h/", { method: "a b" }),
    () => new Request("http://h/", { body: "x" }),
    () => new Request("http://h/", { method: "POST", body: new ReadableStream() }),
    () => new Request("http://h/", { mode: "navigate" }),
    () => new Request("http://h/", { signal: {} }),
    () => new Request("http://h/", { redirect: "sometimes" }),
  ]) assertThrows(make, TypeError);
});

test("JS_9 Request: methods keep their case but for the usual ones", () => {
  assertEquals(new Request("http://h/", { method: "delete" }).method, "DELETE");
  assertEquals(new Request("http://h/", { method: "patch" }).method, "patch");
});

test("JS_9 Request: made of another takes its body and leaves it used", async () => {
  const first = new Request("http://h/", { method: "POST", body: "x", headers: { a: "1" } });
  const second = new Request(first, { headers: { b: "2" } });
  assertEquals(first.bodyUsed, true);
  assertEquals(second.headers.get("a"), null);
  assertEquals(await second.text(), "x");
  assertThrows(() => new Request(first), TypeError);
});

test("JS_9 Request: a clone follows the signal of the original", () => {
  const controller = new AbortController();
  const request = new Request("http://h/", { signal: controller.signal });
  const clone = request.clone();
  assert(request.signal !== controller.signal);
  controller.abort("why");
  assertEquals([request.signal.reason, clone.signal.reason], ["why", "why"]);
});

test("JS_9 fetch: data URLs need no network", async () => {
  const response = await fetch("data:text/html;charset=utf-8;base64,PGI+");
  assertEquals(response.headers.get("content-type"), "text/html;charset=utf-8");
  assertEquals(await response.text(), "<b>");
  assertEquals(response.url, "data:text/html;charset=utf-8;base64,PGI+");
  assertThrows(() => response.headers.set("a", "b"), TypeError);
  await assertRejects(() => fetch("data:no-comma"), TypeError);
});

test("JS_9 fetch: a signal that is aborted already sends nothing", async () => {
  const reason = new Error("given up");
  const signal = AbortSignal.abort(reason);
  let caught;
  await fetch("data:,x", { signal }).catch((error) => { caught = error; });
  assert(caught === reason);
});

test("SCP_2 fetch: a time that is over sends nothing, the earliest wins", async () => {
  const nameOf = (init, input = "data:,x") => fetch(input, init).then(() => "ok", (e) => e.name);
  assertEquals(await nameOf({ timeoutMs: 0 }), "TimeoutError");
  assertEquals(await nameOf({ deadline: Deadline.after(0), timeoutMs: 900 }), "TimeoutError");
  assertEquals(await nameOf({ timeoutMs: 0, deadline: Deadline.never() }), "TimeoutError");
  assertEquals(await nameOf({ timeoutMs: 0, signal: AbortSignal.abort() }), "AbortError");
  assertEquals(await nameOf({ timeoutMs: 900, signal: AbortSignal.abort() }), "AbortError");
  const aborted = new Request("http://h/", { signal: AbortSignal.abort() });
  assertEquals(await nameOf({ timeoutMs: 900 }, aborted), "AbortError");
  assertEquals(await nameOf({ timeoutMs: 900, deadline: Deadline.after(800) }), "ok");
  assert((await nameOf({ timeoutMs: "soon" })) !== "ok");
});

test("JS_9 fetch: rejects for what it cannot fetch", async () => {
  await assertRejects(() => fetch("about:nothing"), TypeError);
  await assertRejects(() => fetch("http://h:25/"), TypeError);
  await assertRejects(() => fetch("nonsense"), TypeError);
  await assertRejects(() => fetch(), TypeError);
});
