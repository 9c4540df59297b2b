test("JS_9 URL: has its parts", () => {
  const url = new URL("https://me:secret@example.com:8080/a/b?c=d#e");
  assertEquals(url.protocol, "https:");
  assertEquals(url.username, "me");
  assertEquals(url.password, "secret");
  assertEquals(url.host, "example.com:8080");
  assertEquals(url.hostname, "example.com");
  assertEquals(url.port, "8080");
  assertEquals(url.pathname, "/a/b");
  assertEquals(url.search, "?c=d");
  assertEquals(url.hash, "#e");
  assertEquals(url.origin, "https://example.com:8080");
  assertEquals(`${url}`, url.href);
  assertEquals(JSON.stringify({ url }), `{"url":"${url.href}"}`);
});

test("JS_9 URL: resolves against a base, which may be a URL", () => {
  assertEquals(new URL("../x", "http://h/a/b/c").href, "http://h/a/x");
  assertEquals(new URL("?q", new URL("http://h/a")).href, "http://h/a?q");
});

test("JS_9 URL: what is no URL throws a TypeError", () => {
  assertThrows(() => new URL("nonsense"), TypeError);
  assertThrows(() => new URL("http://h/", "nonsense"), TypeError);
  assertThrows(() => new URL(), TypeError);
  assertEquals(URL.canParse("nonsense"), false);
  assertEquals(URL.parse("nonsense"), null);
  assertEquals(URL.parse("x", "http://h/").href, "http://h/x");
});

test("JS_9 URL: setters change their part and nothing else", () => {
  const url = new URL("http://h:1/p?q#f");
  url.port = "80";
  url.hostname = "B\u00FCcher.example";
  url.pathname = "a b";
  url.hash = "";
  assertEquals(url.href, "http://xn--bcher-kva.example/a%20b?q");
  url.protocol = "mailto";
  assertEquals(url.protocol, "http:");
  assertThrows(() => { url.href = "nonsense"; }, TypeError);
});

test("JS_9 URL: lone surrogates become U+FFFD", () => {
  assertEquals(new URL("http://h/\uD800").pathname, "/%EF%BF%BD");
});

test("JS_9 URL: the search parameters and the URL follow each other", () => {
  const url = new URL("http://h/?a=1&b=2");
  const { searchParams } = url;
  searchParams.append("c", "x y&z");
  assertEquals(url.search, "?a=1&b=2&c=x+y%26z");
  url.search = "?only=this";
  assertEquals([...searchParams], [["only", "this"]]);
  assert(url.searchParams === searchParams);
  searchParams.delete("only");
  assertEquals(url.href, "http://h/");
});

test("JS_9 URL: an object URL names a blob until it is revoked", async () => {
  const href = URL.createObjectURL(new Blob(["hello"], { type: "text/plain" }));
  const response = await fetch(href);
  assertEquals(await response.text(), "hello");
  assertEquals(response.headers.get("content-type"), "text/plain");
  URL.revokeObjectURL(href);
  await assertRejects(() => fetch(href), TypeError);
});

test("JS_9 URLSearchParams: is made from a text, pairs or a record", () => {
  const params = new URLSearchParams("?a=1&b=%20+%F0%9F%98%80");
  assertEquals(params.get("b"), "  \u{1F600}");
  assertEquals(params.toString(), "a=1&b=++%F0%9F%98%80");
  assertEquals(new URLSearchParams([["a", "1"], ["a", "2"]]).getAll("a"), ["1", "2"]);
  assertEquals(new URLSearchParams({ x: "1", y: "2" }).toString(), "x=1&y=2");
  assertThrows(() => new URLSearchParams([["a"]]), TypeError);
});

test("JS_9 URLSearchParams: is sorted by code units, and stays so among equals", () => {
  const params = new URLSearchParams("z=1&\uFFFD=2&\u{1F308}=3&z=0&a=4");
  params.sort();
  assertEquals([...params.keys()], ["a", "z", "z", "\u{1F308}", "\uFFFD"]);
  assertEquals(params.getAll("z"), ["1", "0"]);
});

test("JS_9 URLSearchParams: has, get, set and delete", () => {
  const params = new URLSearchParams("a=1&a=2&b=3");
  assertEquals(params.size, 3);
  assert(params.has("a", "2") && !params.has("a", "3"));
  params.set("a", "9");
  assertEquals(params.toString(), "a=9&b=3");
  params.delete("b", "4");
  assertEquals(params.get("b"), "3");
  assertEquals(params.get("none"), null);
});

test("JS_9 URLPattern: matches and names its groups", () => {
  const pattern = new URLPattern({ pathname: "/users/:id/:rest*" });
  const match = pattern.exec("https://h/users/42/a/b");
  assertEquals(match.pathname.groups.id, "42");
  assertEquals(match.pathname.groups.rest, "a/b");
  assert(!pattern.test("https://h/other"));
});

test("JS_9 URLPattern: is made of a text, with a base where it needs one", () => {
  const pattern = new URLPattern("/books/(\\d+)", "https://example.com");
  assert(pattern.test("https://example.com/books/7"));
  assert(!pattern.test("https://example.com/books/seven"));
  assertEquals(pattern.hasRegExpGroups, true);
  assertThrows(() => new URLPattern("/books"), TypeError);
  assertThrows(() => new URLPattern({ pathname: "/(" }), TypeError);
});

test("JS_9 URLPattern: regards the case of letters unless told otherwise", () => {
  assert(!new URLPattern({ pathname: "/a" }).test({ pathname: "/A" }));
  assert(new URLPattern({ pathname: "/a" }, { ignoreCase: true }).test({ pathname: "/A" }));
});
