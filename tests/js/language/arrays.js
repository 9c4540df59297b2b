// JS-2: the methods of arrays that leave their array as it is, also where the engine has none.

test("JS_2 Array: toSorted, toReversed, toSpliced and with leave the array alone", () => {
  const list = [3, 1, 2];
  assertEquals(list.toSorted(), [1, 2, 3]);
  assertEquals(list.toSorted((a, b) => b - a), [3, 2, 1]);
  assertEquals(list.toReversed(), [2, 1, 3]);
  assertEquals(list.toSpliced(1, 1, 8, 9), [3, 8, 9, 2]);
  assertEquals([list.toSpliced(-1), list.toSpliced(), list.toSpliced(1)], [[3, 1], [3, 1, 2], [3]]);
  assertEquals(list.with(-1, 7), [3, 1, 7]);
  assertEquals(list, [3, 1, 2]);
  assertThrows(() => list.with(3, 0), RangeError);
  assertThrows(() => list.toSorted(null), TypeError);
  assertThrows(() => Array.prototype.toReversed.call(null), TypeError);
});

test("JS_2 Array: holes and what is like an array become whole arrays", () => {
  assertEquals(Object.keys([, 1].toReversed()), ["0", "1"]);
  assertEquals(Array.prototype.with.call({ length: 2, 0: "a" }, 1, "b"), ["a", "b"]);
  assertThrows(() => Array.prototype.toSorted.call({ length: 2 ** 32 }), RangeError);
});

test("JS_2 Array: the new methods look as those of the language", () => {
  for (const [name, length] of [["toSorted", 1], ["toReversed", 0], ["toSpliced", 2], ["with", 2]]) {
    const method = Array.prototype[name];
    assertEquals([method.name, method.length, "prototype" in method], [name, length, false]);
    assertEquals(Object.prototype.propertyIsEnumerable.call(Array.prototype, name), false);
  }
});

test("JS_2 TypedArray: copies keep their element type", () => {
  const bytes = new Uint8Array([3, 1, 2]);
  assertEquals([...bytes.toSorted()], [1, 2, 3]);
  assertEquals([...bytes.toReversed()], [2, 1, 3]);
  assertEquals([...bytes.with(0, 257)], [1, 1, 2]);
  assert(bytes.toSorted() instanceof Uint8Array);
  assertEquals([...new BigInt64Array([1n]).with(0, 5n)], [5n]);
  assertThrows(() => bytes.with(0, 1n), TypeError);
  assertThrows(() => bytes.with(3, 1), RangeError);
});
