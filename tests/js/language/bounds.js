// JS-7: what V8 would not survive is refused, and nothing else is different.

test("JS_7 bounds: what cannot fit is a RangeError that names the limit", () => {
  for (const act of [
    () => new Array(2 ** 28).fill(0),
    () => new Array(2 ** 28).fill({}, -(2 ** 27)),
    () => new Array(2 ** 32 - 1).fill(1, 5),
    () => "x".repeat(2 ** 28).split(""),
  ]) {
    const error = assertThrows(act, RangeError);
    assertEquals(error.message.includes("limits.heapMiB"), true);
  }
});

test("JS_7 bounds: what fits is done as the language says", () => {
  assertEquals(new Array(3).fill(1), [1, 1, 1]);
  assertEquals([1, 2, 3, 4].fill(0, 1, -1), [1, 0, 0, 4]);
  assertEquals([1, 2, 3].fill(), [undefined, undefined, undefined]);
  assertEquals([1, 2, 3].fill(9, { valueOf: () => 2 }), [1, 2, 9]);
  assertEquals(new Array(2 ** 32 - 1).fill(7, -2)[2 ** 32 - 2], 7);
  assertEquals(new Array(2 ** 28).fill(7, 3, 3).length, 2 ** 28);
  assertEquals({ ...Array.prototype.fill.call({ length: 2 }, 5) }, { 0: 5, 1: 5, length: 2 });
  class Own extends Array {}
  assertEquals(new Own(2).fill(1) instanceof Own, true);
  assertThrows(() => Array.prototype.fill.call(null, 1), TypeError);
  assertEquals("abc".split(""), ["a", "b", "c"]);
  assertEquals("a-b-c".split("-", 2), ["a", "b"]);
  assertEquals("a1b".split(/\d/), ["a", "b"]);
  assertEquals("ab".split(), ["ab"]);
  assertEquals("x".repeat(2 ** 21).split("", 2), ["x", "x"]);
  assertEquals("ab".split({ [Symbol.split]: (text, limit) => [text, limit] }, 3), ["ab", 3]);
  assertThrows(() => String.prototype.split.call(undefined, ""), TypeError);
});

test("JS_7 bounds: the functions look as those of the language", () => {
  for (const [holder, name, length] of [
    [Array.prototype, "fill", 1], [String.prototype, "split", 2], [Function.prototype, "toString", 0],
  ]) {
    const method = holder[name];
    assertEquals([method.name, method.length, "prototype" in method], [name, length, false]);
    assertEquals(String(method), `function ${name}() { [native code] }`);
    const { writable, enumerable, configurable } = Object.getOwnPropertyDescriptor(holder, name);
    assertEquals([writable, enumerable, configurable], [true, false, true]);
    assertThrows(() => new method(), TypeError);
  }
  assertEquals(String(() => 1), "() => 1");
  assertEquals(String(Array.prototype.push), "function push() { [native code] }");
  assertThrows(() => Function.prototype.toString.call({}), TypeError);
});
