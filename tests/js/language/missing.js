// JS-2: what newer editions of ECMAScript have, also where the engine does not.

test("JS_2 ArrayBuffer.prototype.transfer: moves the bytes and detaches", () => {
  const buffer = new Uint8Array([1, 2, 3]).buffer;
  const moved = buffer.transfer();
  assertEquals([buffer.detached, buffer.byteLength, moved.detached], [true, 0, false]);
  assertEquals([...new Uint8Array(moved.transfer(5))], [1, 2, 3, 0, 0]);
  assertThrows(() => buffer.transfer(), TypeError);
  assertThrows(() => ArrayBuffer.prototype.transfer.call({}), TypeError);
});

test("JS_2 Promise.withResolvers", async () => {
  const { promise, resolve } = Promise.withResolvers();
  resolve(7);
  assertEquals(await promise, 7);
});

test("JS_2 Array.fromAsync: iterables of both kinds and what is like an array", async () => {
  async function* numbers() {
    yield 1;
    yield 2;
  }
  assertEquals(await Array.fromAsync(numbers()), [1, 2]);
  assertEquals(await Array.fromAsync([Promise.resolve(1), 2], async (n) => n * 2), [2, 4]);
  assertEquals(await Array.fromAsync({ length: 2, 0: "a", 1: Promise.resolve("b") }), ["a", "b"]);
  await assertRejects(() => Array.fromAsync(null), TypeError);
});

test("JS_2 Promise.try: calls at once and gives a promise of what came", async () => {
  assertEquals(await Promise.try((a, b) => a + b, 1, 2), 3);
  await assertRejects(() => Promise.try(() => { throw new RangeError("no"); }), RangeError);
});

test("JS_2 groupBy: of Object by names, of Map by values", () => {
  const groups = Object.groupBy([1, 2, 3], (n) => (n % 2 ? "odd" : "even"));
  assertEquals([groups.odd, groups.even, Object.getPrototypeOf(groups)], [[1, 3], [2], null]);
  const key = {};
  assertEquals(Map.groupBy([1, 2], () => key).get(key), [1, 2]);
  assertThrows(() => Object.groupBy(null, () => 1), TypeError);
});

test("JS_2 String: whether it is well formed", () => {
  assertEquals(["a\ud83d\ude00".isWellFormed(), "a\ud83d".isWellFormed()], [true, false]);
  assertEquals("\ude00a\ud83d".toWellFormed(), "\ufffda\ufffd");
});

test("JS_2 RegExp.escape: the text matches itself and nothing else", () => {
  assertEquals(RegExp.escape("a.b-c d\n"), "\\x61\\.b\\x2dc\\x20d\\n");
  for (const text of ["1+1", "(a|b)*", "^$\\/", "\u2028é"]) {
    assert(new RegExp(`^${RegExp.escape(text)}$`).test(text), text);
  }
  assertThrows(() => RegExp.escape(1), TypeError);
});

test("JS_2 Symbol.dispose and Symbol.asyncDispose are there", () => {
  assertEquals([typeof Symbol.dispose, typeof Symbol.asyncDispose], ["symbol", "symbol"]);
});

test("JS_2 Error.isError", () => {
  assert(Error.isError(new TypeError()) && Error.isError(new DOMException()));
  class Own extends Error {}
  assert(Error.isError(new Own()));
  for (const other of [undefined, null, 1, "Error", {}, Error.prototype, Object.create(new Error())]) {
    assert(!Error.isError(other));
  }
  assertEquals(Error.isError.length, 1);
});
