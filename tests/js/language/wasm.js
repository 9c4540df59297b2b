// JS-9: where WebAssembly of the engine is mended.

test("JS_9 WebAssembly: an exception is no Error, and tells its arguments", () => {
  const { Exception, Tag } = WebAssembly;
  const tag = new Tag({ parameters: ["i32"] });
  const exception = new Exception(tag, [42]);
  assertEquals(Object.prototype.toString.call(exception), "[object WebAssembly.Exception]");
  assertEquals(exception.constructor, Exception);
  assert(exception instanceof Exception && !(exception instanceof Error));
  assert(!Error.isError(exception) && Error.isError(new WebAssembly.RuntimeError()));
  assertEquals(Exception.length, 2);
  assertEquals(exception.getArg(tag, 0), 42);
  assertThrows(() => exception.getArg(tag, -1), RangeError);
  assertThrows(() => exception.getArg(tag, NaN), RangeError);
  assertThrows(() => exception.getArg(tag), TypeError);
  assertThrows(() => Exception.prototype.getArg.call({}, tag, 0), TypeError);
});

test("JS_9 WebAssembly: the setter of a global without an argument", () => {
  const global = new WebAssembly.Global({ value: "i32", mutable: true }, 7);
  const { set } = Object.getOwnPropertyDescriptor(WebAssembly.Global.prototype, "value");
  assertEquals(set.name, "set value");
  set.call(global);
  assertEquals(global.value, 0);
  assertThrows(() => set.call({}, 1), TypeError);
  assertEquals(WebAssembly.Table.prototype.set.length, 1);
});
