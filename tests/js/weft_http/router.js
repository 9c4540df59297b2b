import { Results, files, router } from "weft:http";

function asking(app) {
  return (method, path, init) =>
    app.fetch(new Request(`http://h${path}`, { method, ...init }), { E: 1 }, { waitUntil() {} });
}
const text = async (promise) => (await promise).text();

test("JS_18 router: the most exact pattern counts, whatever the order", async () => {
  const app = router();
  const ask = asking(app);
  app.get("/u/{rest:*}", (ctx) => `rest ${ctx.route.rest}`);
  app.get("/u/{name}", (ctx) => `name ${ctx.route.name}`);
  app.get("/u/{id:int}", (ctx) => `id ${ctx.route.id}`);
  app.get("/u/me", () => "me");
  assertEquals(await text(ask("GET", "/u/me")), "me");
  assertEquals(await text(ask("GET", "/u/-7")), "id -7");
  assertEquals(await text(ask("GET", "/u/b%C3%BC")), "name bü");
  assertEquals(await text(ask("GET", "/u/a/b")), "rest a/b");
  assertEquals((await ask("GET", "/u")).status, 404);
  assertEquals((await ask("GET", "/u/%zz")).status, 400);
});

test("JS_18 router: constraints", async () => {
  const app = router();
  const ask = asking(app);
  for (const kind of ["int", "float", "alpha", "uuid", "str"]) app.get(`/${kind}/{v:${kind}}`, () => "");
  for (const [path, status] of [["/int/1", 200], ["/int/1.5", 404], ["/float/-1.5", 200],
    ["/float/x", 404], ["/alpha/ab", 200], ["/alpha/a1", 404],
    ["/uuid/123e4567-e89b-12d3-a456-426614174000", 200], ["/uuid/1", 404], ["/str/x", 200],
    ["/str/", 404], ["/int/1/", 404]]) {
    assertEquals((await ask("GET", path)).status, status, path);
  }
});

test("JS_18 router: methods", async () => {
  const app = router();
  const ask = asking(app);
  app.get("/a", () => "get");
  app.post("/a", async (ctx) => Results.created("/a/1", await ctx.request.json()));
  const refused = await ask("DELETE", "/a");
  assertEquals([refused.status, refused.headers.get("allow")], [405, "GET, HEAD, POST"]);
  assertEquals((await ask("HEAD", "/a")).status, 200);
  assertEquals(await text(ask("POST", "/a", { body: '{"z":1}' })), '{"z":1}');
  app.all("/any", (ctx) => ctx.request.method);
  assertEquals(await text(ask("PURGE", "/any")), "PURGE");
});

test("JS_18 router: what a handler may return", async () => {
  const app = router();
  const ask = asking(app);
  const values = { text: "x", list: [1], number: 7, no: false, nothing: null };
  for (const name of Object.keys(values)) app.get(`/${name}`, () => values[name]);
  app.get("/undefined", () => {});
  assertEquals((await ask("GET", "/text")).headers.get("content-type"), "text/plain; charset=utf-8");
  assertEquals(await text(ask("GET", "/list")), "[1]");
  assertEquals(await text(ask("GET", "/nothing")), "null");
  await assertRejects(() => ask("GET", "/undefined"), TypeError);
});

test("JS_18 router: groups, middleware, errors", async () => {
  const app = router();
  const ask = asking(app);
  const order = [];
  app.use(async (ctx, next) => {
    order.push("in");
    const response = await next();
    order.push("out");
    return response;
  });
  const admin = app.group("/admin/{who}").use((ctx, next) => (ctx.route.who === "eve"
    ? Results.forbidden() : next()));
  admin.get("/x", (ctx) => ctx.route.who);
  app.get("/throws", () => { throw new RangeError("no"); });
  app.onError((error) => Results.problem({ title: error.name, status: 502 }));
  app.notFound(() => Results.notFound({ lost: true }));
  assertEquals(await text(ask("GET", "/admin/bob/x")), "bob");
  assertEquals(order, ["in", "out"]);
  assertEquals((await ask("GET", "/admin/eve/x")).status, 403);
  assertEquals((await ask("GET", "/throws")).status, 502);
  assertEquals(await text(ask("GET", "/lost")), '{"lost":true}');
});

test("JS_18 router: a body that is no JSON is 400, JSON that others sent is not", async () => {
  const app = router();
  app.post("/json", async (ctx) => ({ sum: (await ctx.request.json()).sum }));
  app.post("/own", () => JSON.parse("{"));
  app.post("/other", () => new Response("{").json());
  const post = (path, body) => asking(app)("POST", path, { body });
  assertEquals(await text(post("/json", '{"sum":1}')), '{"sum":1}');
  for (const body of ["{", "", "undefined"]) {
    const answer = await post("/json", new TextEncoder().encode(body));
    assertEquals(answer.status, 400, body);
    assertEquals(answer.headers.get("content-type"), "application/problem+json; charset=utf-8");
  }
  await assertRejects(post("/own", "x"), SyntaxError);
  await assertRejects(post("/other", "x"), SyntaxError);
  app.onError((error) => Results.problem({ title: error.name, status: 422 }));
  assertEquals((await post("/json", new TextEncoder().encode("{"))).status, 422);
});

test("JS_18 router: names, query, cookies", async () => {
  const app = router();
  app.get("/u/{id:int}/{name}", (ctx) => ({
    query: ctx.query, seen: ctx.cookies.get("seen"), none: ctx.cookies.get("none"),
    name: ctx.routeName, pattern: ctx.routePattern, env: ctx.env.E,
  })).name("user");
  assertEquals(app.urlFor("user", { id: 7, name: "a b" }, { q: "x&y" }), "/u/7/a%20b?q=x%26y");
  assertThrows(() => app.urlFor("user", { id: "x", name: "a" }), TypeError);
  assertThrows(() => app.urlFor("user", { id: 1 }), TypeError);
  assertThrows(() => app.urlFor("nobody"), TypeError);
  const answer = await asking(app)("GET", "/u/1/a?a=1&a=2", { headers: { cookie: "x=1; seen=a%20b" } });
  assertEquals(await answer.json(), { query: { a: "2" }, seen: "a b", none: null, name: "user",
    pattern: "/u/{id:int}/{name}", env: 1 });
});

test("JS_18 router: mistakes are told when the route is added", () => {
  const app = router();
  app.get("/a", () => 1).name("a");
  assertThrows(() => app.get("/a", () => 2), TypeError);
  assertThrows(() => app.get("/b", () => 2).name("a"), TypeError);
  assertThrows(() => app.get("/c"), TypeError);
  for (const wrong of ["x", "/{a:nope}", "/{a}/{a}", "/{a:*}/b", "/a{b}", "/{1}", "/a?b"]) {
    assertThrows(() => app.get(wrong, () => 1), SyntaxError, wrong);
  }
});

test("JS_18 files: types, conditions, ranges, and nothing outside of the folder", async () => {
  const app = router();
  app.get("/{path:*}", files(new URL("./", import.meta.url)));
  const ask = asking(app);
  const whole = await ask("GET", "/router.js");
  assertEquals(whole.status, 200);
  assertEquals(whole.headers.get("content-type"), "text/javascript; charset=utf-8");
  const bytes = await whole.text();
  const etag = whole.headers.get("etag");
  assertEquals((await ask("GET", "/router.js", { headers: { "if-none-match": etag } })).status, 304);
  const modified = whole.headers.get("last-modified");
  assertEquals((await ask("GET", "/router.js",
    { headers: { "if-modified-since": modified } })).status, 304);
  const part = await ask("GET", "/router.js", { headers: { range: "bytes=2-5" } });
  assertEquals([part.status, await part.text()], [206, bytes.slice(2, 6)]);
  assertEquals(part.headers.get("content-range"), `bytes 2-5/${new TextEncoder().encode(bytes).length}`);
  assertEquals((await ask("GET", "/router.js", { headers: { range: "bytes=9999999-" } })).status, 416);
  for (const path of ["/none.js", "/..%2frun", "/%2e%2e/run", "/a/../../run", "/.hidden", "/%00",
    "/"]) {
    assertEquals((await ask("GET", path)).status, 404, path);
  }
});

test("JS_18 static and proxy: a script that asks by itself gets files; paths are fixed ones", async () => {
  const app = router();
  app.static("/assets", new URL("./", import.meta.url)).get("/", () => "home");
  const ask = asking(app);
  assertEquals((await ask("GET", "/assets/router.js")).headers.get("content-type"),
    "text/javascript; charset=utf-8");
  assertEquals((await ask("GET", "/assets/none.js")).status, 404);
  assertEquals(await (await ask("GET", "/")).text(), "home");
  for (const wrong of ["assets", "/a/", "/a//b", "/.a", "/{a}", "/a?b", "/:a", "/%61"]) {
    assertThrows(() => app.static(wrong, "/tmp"), SyntaxError, wrong);
    assertThrows(() => app.proxy(wrong, "http://127.0.0.1"), SyntaxError, wrong);
  }
  assertThrows(() => app.proxy("/up", []), TypeError);
});
