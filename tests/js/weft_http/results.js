import { Results } from "weft:http";

async function shown(response) {
  return [response.status, response.headers.get("content-type"), await response.text()];
}
const kJson = "application/json; charset=utf-8";

test("JS_18 Results: JSON with dates, big integers and bytes", async () => {
  const value = { a: 1, at: new Date(0), big: 10n, bytes: new Uint8Array([1, 2]), gone: undefined };
  assertEquals(await shown(Results.ok(value)),
    [200, kJson, '{"a":1,"at":"1970-01-01T00:00:00.000Z","big":"10","bytes":"AQI="}']);
  assertEquals(await Results.json({ b: new Uint8Array([1]) }, { json: { bytes: "array" } }).text(),
    '{"b":[1]}');
  assertEquals(await Results.json({ first_name: 1, none: null },
    { json: { casing: "camelCase", includeNulls: false } }).text(), '{"firstName":1}');
  assertEquals(await Results.ok(new Error("x")).text(), '{"name":"Error","message":"x"}');
});

test("JS_18 Results: what JSON would lose is an error that names its path", () => {
  const cycle = {};
  cycle.list = [cycle];
  for (const [value, words] of [[{ a: { b: NaN } }, "value.a.b"], [{ f() {} }, "value.f"],
    [[1, Symbol("s")], "value[1]"], [cycle, "contains itself"], [new Date(NaN), "invalid Date"]]) {
    const error = assertThrows(() => Results.ok(value), TypeError);
    assert(error.message.includes(words), error.message);
  }
  assertThrows(() => Results.json(1n, { json: { bigint: "error" } }), TypeError);
});

test("JS_18 Results: statuses and fields", async () => {
  assertEquals(await shown(Results.accepted({ jobId: 1 })), [202, kJson, '{"jobId":1}']);
  assertEquals(await shown(Results.noContent()), [204, null, ""]);
  assertEquals(await shown(Results.notFound()), [404, null, ""]);
  assertEquals(await shown(Results.status(418, "tea")), [418, kJson, '"tea"']);
  assertEquals(await shown(Results.text("x", { status: 203 })),
    [203, "text/plain; charset=utf-8", "x"]);
  assertEquals(await shown(Results.bytes(new Uint8Array([65]), { contentType: "text/x" })),
    [200, "text/x", "A"]);
  const created = Results.created("/u/1", {}, { headers: { "x-a": "b" } });
  assertEquals([created.headers.get("location"), created.headers.get("x-a")], ["/u/1", "b"]);
  assertEquals(Results.redirect("/x").status, 302);
  assert(Results.ok(1) instanceof Response);
});

test("JS_18 Results: problems", async () => {
  const kProblem = "application/problem+json; charset=utf-8";
  assertEquals(await shown(Results.problem("x")), [500, kProblem, '{"title":"x","status":500}']);
  assertEquals(await shown(Results.problem({ title: "y", status: 409, extra: 1 })),
    [409, kProblem, '{"title":"y","status":409,"extra":1}']);
  assertEquals(Results.problem().status, 500);
});

test("JS_18 Results: fields of the server are refused", () => {
  for (const name of ["Content-Length", "content-type", "Connection", "Transfer-Encoding",
    "Keep-Alive"]) {
    assertThrows(() => Results.ok({}, { headers: { [name]: "1" } }), TypeError);
    assertThrows(() => Results.ok({}, { headers: [[name, "1"]] }), TypeError);
  }
});

test("JS_18 Results: cookies and caches", () => {
  const result = Results.ok(1)
    .cookie("a", "b c", { httpOnly: true, sameSite: "lax", maxAge: 5 })
    .cookie("d", 1, { path: "/x", domain: "a.test", secure: true, expires: 0 })
    .cacheHeaders({ cacheControl: "no-cache", vary: ["accept", "cookie"], etag: "v1" });
  assertEquals(result.headers.getSetCookie(), [
    "a=b%20c; Path=/; Max-Age=5; SameSite=Lax; HttpOnly",
    "d=1; Domain=a.test; Path=/x; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Secure"]);
  assertEquals(result.headers.get("vary"), "accept, cookie");
  assertEquals(result.headers.get("etag"), '"v1"');
  assertThrows(() => Results.ok(1).cookie("a b", ""), TypeError);
  assertThrows(() => Results.ok(1).cookie("a", "", { path: "/;x" }), TypeError);
});

test("JS_18 Results: a stream is written as it is read", async () => {
  const order = [];
  const taken = [];
  const response = Results.stream(async (writer) => {
    for (let at = 0; at < 40; ++at) {
      order.push(`w${at}`);
      taken.push(await writer.writeText(String(at % 10)));
      if (!taken.at(-1)) return;
    }
  }, { contentType: "text/plain" });
  const reader = response.body.getReader();
  await reader.read();
  await new Promise((done) => setTimeout(done, 5));
  assert(order.length < 40, "the writer waits for the reader");
  await reader.cancel("enough");
  await new Promise((done) => setTimeout(done, 0));
  assertEquals([taken[0], taken.at(-1)], [true, false], "a write gives whether more is taken");
  assertEquals(await Results.stream((writer) => writer.writeBytes(new Uint8Array([66]))).text(), "B");
});
