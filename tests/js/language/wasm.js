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

// (module (import "env" "add" (func (param i32) (result i32)))
//         (func (export "run") (result i32) i32.const 41 call 0))
const kModule = new Uint8Array([
  0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00, 0x01, 0x0a, 0x02, 0x60, 0x01, 0x7f, 0x01, 0x7f,
  0x60, 0x00, 0x01, 0x7f, 0x02, 0x0b, 0x01, 0x03, 0x65, 0x6e, 0x76, 0x03, 0x61, 0x64, 0x64, 0x00,
  0x00, 0x03, 0x02, 0x01, 0x01, 0x07, 0x07, 0x01, 0x03, 0x72, 0x75, 0x6e, 0x00, 0x01, 0x0a, 0x08,
  0x01, 0x06, 0x00, 0x41, 0x29, 0x10, 0x00, 0x0b,
]);
const imports = { env: { add: (value) => value + 1 } };

function wasmResponse(body = kModule, type = "application/wasm", init = {}) {
  return new Response(body, { ...init, headers: type === null ? {} : { "content-type": type } });
}

test("JS_9m WebAssembly: a response is compiled and instantiated, or a promise of one", async () => {
  const module = await WebAssembly.compileStreaming(wasmResponse());
  assert(module instanceof WebAssembly.Module);
  assertEquals((await WebAssembly.instantiate(module, imports)).exports.run(), 42);
  const made = await WebAssembly.instantiateStreaming(
    Promise.resolve(wasmResponse(kModule, "Application/WASM")), imports);
  assert(made.module instanceof WebAssembly.Module);
  assertEquals(made.instance.exports.run(), 42);
});

test("JS_9m WebAssembly: a stream and what was fetched are compiled", async () => {
  const pieces = [kModule.slice(0, 9), kModule.slice(9, 30), kModule.slice(30)];
  const stream = new ReadableStream({
    async pull(controller) {
      await new Promise((go) => setTimeout(go, 1));
      if (pieces.length === 0) controller.close();
      else controller.enqueue(pieces.shift());
    },
  });
  const { instance } = await WebAssembly.instantiateStreaming(wasmResponse(stream), imports);
  assertEquals(instance.exports.run(), 42);
  const url = `data:application/wasm;base64,${btoa(String.fromCharCode(...kModule))}`;
  assert(await WebAssembly.compileStreaming(fetch(url)) instanceof WebAssembly.Module);
});

test("JS_9m WebAssembly: what is no response of WebAssembly is a rejected promise", async () => {
  for (const name of ["compileStreaming", "instantiateStreaming"]) {
    const stream = WebAssembly[name];
    assertEquals([stream.name, stream.length], [name, 1]);
    for (const type of [null, "", "text/plain", "application/wasm;", "application/wasm; a=b"]) {
      const response = wasmResponse(kModule, type);
      await assertRejects(stream(response, imports), TypeError, "Content-Type");
      assert(!response.bodyUsed);
    }
    await assertRejects(stream(wasmResponse(kModule, undefined, { status: 404 })), TypeError, "404");
    for (const source of [undefined, null, 1, kModule, {}, Promise.resolve(kModule)]) {
      await assertRejects(stream(source, imports), TypeError, "not a Response");
    }
    await assertRejects(stream(), TypeError);
    await assertRejects(stream(Promise.reject(new RangeError("why"))), RangeError, "why");
    const used = wasmResponse();
    await used.text();
    await assertRejects(stream(used, imports), TypeError);
    await assertRejects(stream(wasmResponse("no module"), imports), WebAssembly.CompileError);
    await assertRejects(stream(wasmResponse(null), imports), WebAssembly.CompileError);
  }
  await assertRejects(WebAssembly.instantiateStreaming(wasmResponse(), null), TypeError);
  await assertRejects(WebAssembly.instantiateStreaming(wasmResponse()), TypeError);
  await assertRejects(
    WebAssembly.instantiateStreaming(wasmResponse(), { env: {} }), WebAssembly.LinkError);
});
