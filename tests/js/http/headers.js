test("JS_9 Headers: get combines values", () => {
  const headers = new Headers([["A", "1"], ["a", "2"]]);
  assertEquals(headers.get("a"), "1, 2");
  assertEquals(headers.get("none"), null);
});

test("JS_9 Headers: values are trimmed, names and values checked", () => {
  assertEquals(new Headers({ a: " \t1 \n" }).get("a"), "1");
  for (const make of [
    () => new Headers({ "a b": "1" }),
    () => new Headers({ a: "1\r\nb: 2" }),
    () => new Headers({ a: "\u20AC" }),
    () => new Headers([["a"]]),
    () => new Headers("a"),
    () => new Headers().append("a"),
  ]) assertThrows(make, TypeError);
});

test("JS_9 Headers: iteration is sorted, in lower case, and keeps cookies apart", () => {
  const headers = new Headers([["B", "1"], ["Set-Cookie", "x"], ["a", "2"], ["set-cookie", "y"],
    ["b", "3"]]);
  assertEquals([...headers],
    [["a", "2"], ["b", "1, 3"], ["set-cookie", "x"], ["set-cookie", "y"]]);
  assertEquals(headers.getSetCookie(), ["x", "y"]);
});

test("JS_9 Headers: set replaces, delete removes, has tells", () => {
  const headers = new Headers({ a: "1" });
  headers.append("A", "2");
  headers.set("a", "3");
  assertEquals([...headers], [["a", "3"]]);
  headers.delete("A");
  assertEquals(headers.has("a"), false);
});

test("JS_9 Headers: change while they are walked", () => {
  const headers = new Headers({ a: "1", b: "2" });
  const seen = [];
  for (const [name] of headers) {
    seen.push(name);
    headers.delete("b");
    if (name === "a") headers.append("c", "3");
  }
  assertEquals(seen, ["a", "c"]);
});

test("JS_9 Headers: a record's symbols are refused, its prototype is not looked at", () => {
  assertThrows(() => new Headers({ [Symbol("s")]: "1" }), TypeError);
  assertEquals([...new Headers(Object.create({ a: "1" }))], []);
});
