// JS-2: the helpers of iterators, also where the engine has none.

function* numbers(log = []) {
  try {
    for (let n = 1; ; n++) yield n;
  } finally {
    log.push("closed");
  }
}

test("JS_2 Iterator: helpers can be chained", () => {
  const made = numbers().map((n) => n * 2).filter((n) => n % 3 === 0).drop(1).take(2);
  assertEquals(made.toArray(), [12, 18]);
  assertEquals([1, 2].values().flatMap((n) => [n, n * 10]).toArray(), [1, 10, 2, 20]);
  assertEquals(Object.prototype.toString.call(made), "[object Iterator Helper]");
  assert(made instanceof Iterator);
});

test("JS_2 Iterator: reduce, forEach, some, every and find", () => {
  const list = () => [1, 2, 3].values();
  assertEquals([list().reduce((a, b) => a + b), list().reduce((a, b) => a + b, "")], [6, "123"]);
  const seen = [];
  list().forEach((value, index) => seen.push([value, index]));
  assertEquals(seen, [[1, 0], [2, 1], [3, 2]]);
  assertEquals([list().some((n) => n > 2), list().every((n) => n < 3)], [true, false]);
  assertEquals(list().find((n) => n > 1), 2);
  assertThrows(() => [].values().reduce((a, b) => a + b), TypeError);
});

test("JS_2 Iterator: a generator is closed by take, find, an error and return", () => {
  for (const use of [
    (it) => it.take(2).toArray(),
    (it) => it.find((n) => n === 2),
    (it) => assertThrows(() => it.map(() => { throw new RangeError("no"); }).next(), RangeError),
    (it) => { const helper = it.map((n) => n); helper.next(); helper.return(); },
  ]) {
    const log = [];
    use(numbers(log));
    assertEquals(log, ["closed"]);
  }
});

test("JS_2 Iterator: wrong arguments are refused", () => {
  assertThrows(() => numbers().map(1), TypeError);
  assertThrows(() => numbers().take(-1), RangeError);
  assertThrows(() => numbers().take(NaN), RangeError);
  assertThrows(() => new Iterator(), TypeError);
  assertThrows(() => Iterator.prototype.map.call(1, () => 1), TypeError);
});

test("JS_2 Iterator: from wraps what has next(), and classes extend it", () => {
  let n = 0;
  assertEquals(Iterator.from({ next: () => ({ value: n++, done: n > 3 }) }).toArray(), [0, 1, 2]);
  assertEquals(Iterator.from("ab").toArray(), ["a", "b"]);
  class Mine extends Iterator {
    next() { return { value: 1, done: false }; }
  }
  assertEquals(new Mine().take(2).toArray(), [1, 1]);
});
