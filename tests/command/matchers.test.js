// Every matcher, in both directions; run by `weft test`.
import { describe, expect, fn, test } from "weft:test";

const fails = (act, text = "") => {
  let error;
  try {
    act();
  } catch (thrown) {
    error = thrown;
  }
  if (error?.name !== "AssertionError") throw new Error(`no failure: ${error}`);
  if (!error.message.includes(text)) throw new Error(`${error.message} does not say ${text}`);
};
// Holds; and then its `.not` does not.
const holds = (value, matcher, ...args) => {
  expect(value)[matcher](...args);
  fails(() => expect(value).not[matcher](...args), `.not.${matcher}()`);
};
const holdsNot = (value, matcher, ...args) => {
  expect(value).not[matcher](...args);
  fails(() => expect(value)[matcher](...args), `.${matcher}()`);
};

class Point {
  constructor(x) {
    this.x = x;
  }
}

test("JS_18 toBe", () => {
  holds(NaN, "toBe", NaN);
  holdsNot(0, "toBe", -0);
  fails(() => expect([1]).toBe([1]), "They are equal, but not the same");
});

test("JS_18 toEqual", () => {
  const circle = { name: "c" };
  circle.self = circle;
  const other = { name: "c" };
  other.self = other;
  for (const [a, b] of [
    [{ a: 1, b: undefined }, { a: 1 }], [new Point(1), { x: 1 }], [[1, [2]], [1, [2]]],
    [new Map([[{ k: 1 }, [2]]]), new Map([[{ k: 1 }, [2]]])], [new Set([[1], 2]), new Set([2, [1]])],
    [new Date(5), new Date(5)], [/a/g, /a/g], [new Error("x"), new Error("x")],
    [new Uint8Array([1, 2]), new Uint8Array([1, 2])], [circle, other], [Object(1), Object(1)],
    [new URL("http://a/"), new URL("http://a/")], [{ [Symbol.for("s")]: 1 }, { [Symbol.for("s")]: 1 }],
    [new Uint8Array([7]).buffer, new Uint8Array([7]).buffer], [null, null],
  ]) holds(a, "toEqual", b);
  for (const [a, b] of [
    [{ a: 1 }, { a: 2 }], [{ a: 1 }, { a: 1, b: 2 }], [{ a: 1, b: 2 }, { a: 1 }], [[1], [1, 2]],
    [[1], { 0: 1, length: 1 }], [new Set([1]), new Set([2])], [new Date(5), new Date(6)],
    [/a/, /a/i], [new Error("x"), new Error("y")], [new Map([[1, 2]]), new Map([[1, 3]])],
    [new Uint8Array([1]), new Uint16Array([1])], [null, undefined], [1, "1"], [0, -0],
    [Promise.resolve(1), Promise.resolve(1)], [new URL("http://a/"), new URL("http://b/")],
  ]) holdsNot(a, "toEqual", b);
});

test("JS_18 toStrictEqual and toMatchObject", () => {
  holds(new Point(1), "toStrictEqual", new Point(1));
  holdsNot(new Point(1), "toStrictEqual", { x: 1 });
  holdsNot({ a: undefined }, "toStrictEqual", {});
  holdsNot([, 1], "toStrictEqual", [undefined, 1]);
  holds({ a: 1, b: { c: 2, d: 3 } }, "toMatchObject", { b: { c: 2 } });
  holdsNot({ a: 1 }, "toMatchObject", { b: 1 });
  holdsNot({ list: [1, 2] }, "toMatchObject", { list: [1] });
});

test("JS_18 questions and comparisons", () => {
  holds(1, "toBeTruthy");
  holds("", "toBeFalsy");
  holds(null, "toBeNull");
  holds(undefined, "toBeUndefined");
  holds(0, "toBeDefined");
  holds(null, "toBeNullish");
  holds(NaN, "toBeNaN");
  holds(2, "toBeGreaterThan", 1);
  holds(2n, "toBeGreaterThanOrEqual", 2);
  holds(1, "toBeLessThan", 2);
  holds(2, "toBeLessThanOrEqual", 2);
  holdsNot(2, "toBeLessThan", 2);
  expect(() => expect("2").toBeLessThan(3)).toThrow(TypeError);
  holds(0.1 + 0.2, "toBeCloseTo", 0.3);
  holdsNot(0.31, "toBeCloseTo", 0.3, 3);
  holds(new Point(1), "toBeInstanceOf", Point);
  holds("x", "toBeTypeOf", "string");
  holds({ a: 1 }, "toBeOneOf", [1, { a: 1 }]);
  holds(4, "toSatisfy", (n) => n % 2 === 0);
});

test("JS_18 texts, lists and properties", () => {
  holds("hello", "toMatch", /^h.*o$/g);
  holds("hello", "toMatch", "ell");
  holdsNot("hello", "toMatch", "x");
  holds("hello", "toContain", "lo");
  holds([1, NaN], "toContain", NaN);
  holds(new Set([3]), "toContain", 3);
  holdsNot([{ a: 1 }], "toContain", { a: 1 });
  holds([{ a: 1 }], "toContainEqual", { a: 1 });
  holds("abc", "toHaveLength", 3);
  holdsNot({}, "toHaveLength", 0);
  const object = { a: { b: [{ c: undefined, "d.e": 5 }] } };
  holds(object, "toHaveProperty", "a.b[0].c");
  holds(object, "toHaveProperty", ["a", "b", 0, "d.e"], 5);
  holdsNot(object, "toHaveProperty", "a.x");
  holdsNot(object, "toHaveProperty", "a.b.length", 2);
  holdsNot(null, "toHaveProperty", "a");
});

test("JS_18 what is thrown", async () => {
  const bad = () => { throw new TypeError("no such user"); };
  holds(bad, "toThrow");
  holds(bad, "toThrow", "such");
  holds(bad, "toThrow", /^no/);
  holds(bad, "toThrow", TypeError);
  holds(bad, "toThrow", new Error("no such user"));
  holds(bad, "toThrow", { name: "TypeError" });
  holdsNot(bad, "toThrow", RangeError);
  holdsNot(() => 1, "toThrow");
  fails(() => expect(() => 1).toThrow(), "nothing was thrown");
  await expect(Promise.resolve(1)).resolves.toBe(1);
  await expect(Promise.resolve(1)).resolves.not.toBe(2);
  await expect(Promise.reject(new Error("x y"))).rejects.toThrow("x");
  await expect(async () => bad()).rejects.toBeInstanceOf(TypeError);
  await expect(expect(Promise.resolve(1)).rejects.toThrow()).rejects.toThrow("was resolved with 1");
  await expect(expect(Promise.reject(1)).resolves.toBe(1)).rejects.toThrow("was rejected with 1");
  await expect(expect(1).resolves.toBe(1)).rejects.toThrow("takes a promise");
});

test("JS_18 asymmetric matchers", () => {
  holds({ a: 1, b: "x", c: [1, 2] }, "toEqual", {
    a: expect.any(Number), b: expect.stringMatching(/^x$/), c: expect.arrayContaining([2]),
  });
  holds([1, "a", null], "toEqual", [expect.anything(), expect.any(String), null]);
  holdsNot([null], "toEqual", [expect.anything()]);
  holds({ a: { b: 1, c: 2 } }, "toEqual", { a: expect.objectContaining({ b: 1 }) });
  holds("hello", "toEqual", expect.stringContaining("ell"));
  holds("hello", "toEqual", expect.not.stringContaining("x"));
  holds([0.1 + 0.2], "toEqual", [expect.closeTo(0.3)]);
  holdsNot({ a: 1 }, "toEqual", { a: expect.any(String) });
});

describe("JS_18 mocks", () => {
  test("calls and results", async () => {
    const f = fn((a, b) => a + b);
    holdsNot(f, "toHaveBeenCalled");
    expect(f(1, 2)).toBe(3);
    holds(f, "toHaveBeenCalledOnce");
    f.mockReturnValueOnce(9).mockReturnValueOnce(8);
    expect([f(0, 0), f(), f(2, 2)]).toEqual([9, 8, 4]);
    holds(f, "toHaveBeenCalledTimes", 4);
    holds(f, "toHaveBeenCalledWith", 0, 0);
    holds(f, "toHaveBeenLastCalledWith", 2, 2);
    holds(f, "toHaveBeenNthCalledWith", 1, 1, 2);
    holds(f, "toHaveReturnedWith", 9);
    holds(f, "toHaveReturnedTimes", 4);
    expect(f.mock.calls).toEqual([[1, 2], [0, 0], [], [2, 2]]);
    expect(f.mock.lastCall).toEqual([2, 2]);
    f.mockClear();
    holdsNot(f, "toHaveReturned");
    f.mockImplementation(() => { throw new Error("x"); });
    expect(f).toThrow("x");
    expect(f.mock.results[0].type).toBe("throw");
    f.mockResolvedValue(1);
    await expect(f()).resolves.toBe(1);
    f.mockRejectedValueOnce(new Error("late"));
    await expect(f()).rejects.toThrow("late");
    f.mockReset();
    expect(f()).toBe(undefined);
    expect(() => expect(() => {}).toHaveBeenCalled()).toThrow(TypeError);
  });

  test("as a class", () => {
    class Real {
      constructor(x) { this.x = x; }
    }
    const Made = fn(Real);
    expect(new Made(1).x).toBe(1);
    expect(Made).toHaveBeenCalledWith(1);
  });
});

test("JS_18 matchers of one's own, and how many were called", () => {
  expect.extend({
    toBeEven(value) {
      return { pass: value % 2 === 0, message: () => `${value} is odd` };
    },
  });
  expect.assertions(5);
  expect(2).toBeEven();
  expect({ n: 4 }).toEqual({ n: expect.toBeEven() });
  fails(() => expect(3).toBeEven(), "3 is odd");
  expect(3).not.toBeEven();
  expect(1).toBe(1);
});

test.failing("JS_18 fewer matchers than said", () => { expect.assertions(1); });
test.failing("JS_18 no matcher", () => { expect.hasAssertions(); });
test.failing("JS_18 what must not be reached", () => { expect.fail("here"); });
