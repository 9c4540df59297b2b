// JS-9: structuredClone.

test("JS_9 structuredClone: copies what the language has", () => {
  const source = {
    n: -0, b: 10n, s: "text", d: new Date(5), r: /a/gi, m: new Map([[{ k: 1 }, [1, , 3]]]),
    set: new Set(["x"]), boxed: Object(7), bytes: new Uint8Array([1, 2]).subarray(1),
    nothing: undefined, nil: null,
  };
  const copy = structuredClone(source);
  assert(Object.is(copy.n, -0));
  assertEquals([copy.b, copy.s, copy.d, String(copy.r)], [10n, "text", new Date(5), "/a/gi"]);
  const [[key, list]] = copy.m;
  assertEquals([key, list.length, 1 in list], [{ k: 1 }, 3, false]);
  assertEquals([...copy.set], ["x"]);
  assertEquals([typeof copy.boxed, copy.boxed + 0], ["object", 7]);
  assertEquals([copy.bytes.byteOffset, copy.bytes[0], copy.bytes.buffer.byteLength], [1, 2, 2]);
  assert("nothing" in copy && copy.nil === null);
});

test("JS_9 structuredClone: keeps identity and cycles", () => {
  const source = { list: [] };
  source.self = source;
  source.list.push(source, source.list);
  const copy = structuredClone(source);
  assert(copy !== source && copy.self === copy && copy.list[0] === copy);
  assert(copy.list[1] === copy.list);
});

test("JS_9 structuredClone: errors keep class, message, stack and cause", () => {
  const source = new RangeError("far", { cause: new TypeError("near") });
  const copy = structuredClone(source);
  assert(copy instanceof RangeError && copy.cause instanceof TypeError);
  assertEquals([copy.message, copy.stack], [source.message, source.stack]);
  const dom = structuredClone(new DOMException("m", "AbortError"));
  assert(dom instanceof DOMException);
  assertEquals([dom.name, dom.message, dom.code], ["AbortError", "m", 20]);
});

test("JS_9 structuredClone: refuses what cannot be copied", () => {
  for (const value of [() => {}, Symbol("s"), new WeakMap(), Promise.resolve(), new Proxy({}, {}),
    { deep: [() => {}] }, new EventTarget(), new Headers(), Object(Symbol("s"))]) {
    assertThrows(() => structuredClone(value), "DataCloneError");
  }
  assertThrows(() => structuredClone(), TypeError);
});

test("JS_9 structuredClone: loses classes and getters", () => {
  class Point {
    x = 1;
    get y() { return 2; }
  }
  assertEquals(structuredClone(new Point()), { x: 1 });
  assertEquals(structuredClone({ get z() { return 3; } }), { z: 3 });
});

test("JS_9 structuredClone: transfers buffers, all or none", () => {
  const buffer = new Uint8Array([1, 2, 3]).buffer;
  assertThrows(() => structuredClone(() => {}, { transfer: [buffer] }), "DataCloneError");
  assertEquals(buffer.byteLength, 3);
  const { view } = structuredClone({ view: new Uint8Array(buffer) }, { transfer: [buffer] });
  assertEquals([buffer.byteLength, [...view]], [0, [1, 2, 3]]);
  assertThrows(() => structuredClone(buffer, { transfer: [buffer] }), "DataCloneError");
  const other = new ArrayBuffer(1);
  assertThrows(() => structuredClone(0, { transfer: [other, other] }), "DataCloneError");
  assertThrows(() => structuredClone(0, { transfer: [{}] }), "DataCloneError");
});

test("JS_9 structuredClone: Blob and File", async () => {
  const blob = structuredClone(new Blob(["hello"], { type: "text/plain" }));
  assertEquals([await blob.text(), blob.type], ["hello", "text/plain"]);
  const file = structuredClone(new File(["x"], "a.txt", { lastModified: 5 }));
  assertEquals([file.name, file.lastModified, file instanceof File], ["a.txt", 5, true]);
});

test("JS_9 structuredClone: patched prototypes are not asked", () => {
  const { get } = Map.prototype;
  Map.prototype.get = () => { throw new Error("asked"); };
  let copy;
  try {
    copy = structuredClone({ a: { b: 1 } });
  } finally {
    Map.prototype.get = get;
  }
  assertEquals(copy, { a: { b: 1 } });
});
