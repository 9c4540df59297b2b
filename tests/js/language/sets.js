// JS-2: the methods of sets that take another one, also where the engine has none.

const a = new Set([1, 2, 3]);
const b = new Set([3, 4]);

test("JS_2 Set: union, intersection and differences", () => {
  assertEquals([...a.union(b)], [1, 2, 3, 4]);
  assertEquals([...a.intersection(b)], [3]);
  assertEquals([...b.intersection(a)], [3]);
  assertEquals([...a.difference(b)], [1, 2]);
  assertEquals([...b.difference(a)], [4]);
  assertEquals([...a.symmetricDifference(b)], [1, 2, 4]);
  assertEquals([...a], [1, 2, 3]);
});

test("JS_2 Set: subsets, supersets and disjoint ones", () => {
  assertEquals([new Set([1]).isSubsetOf(a), b.isSubsetOf(a)], [true, false]);
  assertEquals([a.isSupersetOf(new Set([1])), a.isSupersetOf(b)], [true, false]);
  assertEquals([a.isDisjointFrom(b), a.isDisjointFrom(new Set([9]))], [false, true]);
});

test("JS_2 Set: takes whatever has size, has and keys, and a Map", () => {
  assertEquals([...a.intersection(new Map([[2, "x"]]))], [2]);
  assertThrows(() => a.union([1]), TypeError);
  assertThrows(() => a.union({ size: NaN, has() {}, keys() {} }), TypeError);
  assertThrows(() => a.union({ size: -1, has() {}, keys() {} }), RangeError);
  assertThrows(() => Set.prototype.union.call(new Map(), a), TypeError);
});

test("JS_2 Set: an answer that is known closes the other's iterator", () => {
  let closed = 0;
  const other = {
    size: 1, has: () => false,
    keys: () => ({ next: () => ({ value: 9, done: false }), return() { closed++; return {}; } }),
  };
  assertEquals([a.isSupersetOf(other), closed], [false, 1]);
});
