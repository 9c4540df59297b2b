// JS-9: the console. What it prints is checked by the page docs/js/console.md.

test("JS_9 console: is a namespace object", () => {
  assertEquals(Object.prototype.toString.call(console), "[object console]");
  assert(Object.getPrototypeOf(Object.getPrototypeOf(console)) === Object.prototype);
  assertEquals(Reflect.ownKeys(Object.getPrototypeOf(console)), []);
  for (const name of ["log", "error", "table", "timeLog", "groupCollapsed", "dirxml"]) {
    const own = Object.getOwnPropertyDescriptor(console, name);
    assertEquals([typeof own.value, own.writable, own.enumerable], ["function", true, true], name);
  }
  assertEquals(Object.getOwnPropertyDescriptor(globalThis, "console").enumerable, false);
});

test("JS_9 console: methods need no receiver", () => {
  const { count, countReset } = console;
  count("console test");
  countReset("console test");
});

test("JS_9 console: labels are converted, and only that may throw", () => {
  const label = { toString() { throw new RangeError("label"); } };
  for (const name of ["count", "countReset", "time", "timeLog", "timeEnd"]) {
    assertThrows(() => console[name](label), RangeError);
  }
});

test("JS_9 console: hostile values neither throw nor run", () => {
  const boom = () => { throw new Error("ran"); };
  const traps = new Proxy({}, { get: () => boom });
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  const error = new Error("x");
  Object.defineProperty(error, "stack", { get: boom });
  Object.defineProperty(error, "message", { get: boom });
  const values = [
    { get a() { return boom(); } }, new Proxy({}, traps), new Proxy(() => {}, traps), revoked.proxy,
    error, Object.create(new Proxy({}, traps)), { get [Symbol.toStringTag]() { return boom(); } },
    { [Symbol.for("nodejs.util.inspect.custom")]: boom }, Object.setPrototypeOf([], null),
    Object.setPrototypeOf(/x/, null), { constructor: { get name() { return boom(); } } },
    Object.assign(() => {}, { get: boom }),
  ];
  console.group("hostile values");
  const prepare = Error.prepareStackTrace;
  for (const hook of [undefined, boom, () => ({}), () => null]) {
    Error.prepareStackTrace = hook;
    for (const value of values) {
      console.log(value);
      console.log("%s %d %i %f %j %o %O %c", value, value, value, value, value, value, value);
      console.table([value]);
      console.dir(value, { showHidden: true, showProxy: true });
    }
    console.log(new Error("formatted badly"));
  }
  Error.prepareStackTrace = prepare;
  console.groupEnd();
});

test("JS_9 console: the end of the stack is survived", () => {
  let deep = {};
  for (let i = 0; i < 50_000; i++) deep = { deep };
  console.dir(deep, { depth: 50_000 });
});
