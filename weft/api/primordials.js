// The intrinsics as they were before any application ran, and the functions that define globals and
// modules.
//
// An application may replace Array.prototype.push or delete Promise.prototype.then. The prelude
// must still work, so its scripts take every intrinsic from `realm.primordials`:
//
//     const { ArrayPrototypePush, ObjectDefineProperty, PromisePrototypeThen } = realm.primordials;
//     ArrayPrototypePush(list, item);             // methods take their `this` as first argument
//     PromisePrototypeThen(promise, onFulfilled, onRejected);
//
// Names:
//     Array, Promise, TypeError, ...              the constructors under their own names
//     ObjectKeys, PromiseResolve, MathMin, ...    static functions, bound if they use `this`
//     ArrayPrototypePush, ...                     prototype methods, uncurried
//     MapPrototypeGetSize(map), ...               prototype accessors, uncurried
//     ArrayPrototypeSymbolIterator, SymbolIterator, ...  symbol-keyed methods, well-known symbols
//     TypedArray..., IteratorPrototype, AsyncIteratorPrototype   intrinsics without a global name
//     uncurryThis(f), noop()
//     newPromise()                                { promise, resolve, reject }
//     markHandled(promise)                        its rejection is not reported as unhandled
//
// NB: `for (x of array)`, `[...array]` and `f(...array)` look up Array.prototype[Symbol.iterator],
// which applications may have replaced. Iterate over arrays by index and use ReflectApply.
//
// realm.expose({ URL, Headers })   defines globals: writable, configurable; enumerable if it
//                                  is an operation of Web IDL, which is a function in lower case
// realm.modules["weft:time"] = { delay, default: ... }   defines a built-in module.

const { apply, bind, call } = Function.prototype;
const uncurryThis = bind.bind(call);
const { defineProperty, getOwnPropertyDescriptor } = Object;
const { ownKeys } = Reflect;

const primordials = { __proto__: null, uncurryThis };

function capitalized(key) {
  if (typeof key === "symbol") {
    // "Symbol.iterator" becomes "SymbolIterator".
    const name = key.description;
    return `Symbol${name[7].toUpperCase()}${name.slice(8)}`;
  }
  return `${key[0].toUpperCase()}${key.slice(1)}`;
}

// Static functions that use their `this` value.
const boundStatics = {
  __proto__: null,
  Array: true,
  Promise: true,
};

function captureStatics(holder, name) {
  const keys = ownKeys(holder);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i];
    if (key === "prototype" || key === "name" || key === "length" || key === "caller" ||
        key === "arguments") continue;
    const { value, get } = getOwnPropertyDescriptor(holder, key);
    if (get !== undefined) continue;
    primordials[`${name}${capitalized(key)}`] =
      typeof value === "function" && name in boundStatics ? bind.call(value, holder) : value;
  }
}

function capturePrototype(prototype, name) {
  const keys = ownKeys(prototype);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i];
    if (key === "constructor") continue;
    const { value, get, set } = getOwnPropertyDescriptor(prototype, key);
    const label = capitalized(key);
    if (get !== undefined) primordials[`${name}PrototypeGet${label}`] = uncurryThis(get);
    if (set !== undefined) primordials[`${name}PrototypeSet${label}`] = uncurryThis(set);
    if (typeof value === "function") primordials[`${name}Prototype${label}`] = uncurryThis(value);
  }
}

function captureClass(constructor, name) {
  primordials[name] = constructor;
  primordials[`${name}Prototype`] = constructor.prototype;
  captureStatics(constructor, name);
  capturePrototype(constructor.prototype, name);
}

const namespaces = ["Atomics", "JSON", "Math", "Reflect"];
for (let i = 0; i < namespaces.length; i++) {
  // V8 adds Atomics only after a snapshot was read.
  const holder = globalThis[namespaces[i]];
  if (holder !== undefined) captureStatics(holder, namespaces[i]);
}

const classes = [
  "AggregateError", "Array", "ArrayBuffer", "BigInt", "BigInt64Array", "BigUint64Array", "Boolean",
  "DataView", "Date", "Error", "EvalError", "FinalizationRegistry", "Float32Array", "Float64Array",
  "Function", "Int16Array", "Int32Array", "Int8Array", "Map", "Number", "Object", "Promise",
  "RangeError", "ReferenceError", "RegExp", "Set", "SharedArrayBuffer", "String", "Symbol",
  "SyntaxError", "TypeError", "URIError", "Uint16Array", "Uint32Array", "Uint8Array",
  "Uint8ClampedArray", "WeakMap", "WeakRef", "WeakSet",
];
for (let i = 0; i < classes.length; i++) {
  const constructor = globalThis[classes[i]];
  if (constructor !== undefined) captureClass(constructor, classes[i]);
}
// V8 adds this class only after a snapshot was read, too.
let sharedByteLength;
primordials.SharedArrayBufferPrototypeGetByteLength = function getByteLength(buffer) {
  sharedByteLength ??= uncurryThis(
    getOwnPropertyDescriptor(SharedArrayBuffer.prototype, "byteLength").get);
  return sharedByteLength(buffer);
};
primordials.Proxy = Proxy;
primordials.globalThis = globalThis;

const functions = [
  "decodeURI", "decodeURIComponent", "encodeURI", "encodeURIComponent", "isFinite", "isNaN",
  "parseFloat", "parseInt",
];
for (let i = 0; i < functions.length; i++) primordials[functions[i]] = globalThis[functions[i]];

// ---- intrinsics without a global name

const TypedArray = Object.getPrototypeOf(Uint8Array);
captureClass(TypedArray, "TypedArray");
primordials.TypedArrayFrom = undefined;  // These two need a concrete class as `this`.
primordials.TypedArrayOf = undefined;

const ArrayIteratorPrototype = Object.getPrototypeOf([][Symbol.iterator]());
primordials.ArrayIteratorPrototype = ArrayIteratorPrototype;
primordials.ArrayIteratorPrototypeNext = uncurryThis(ArrayIteratorPrototype.next);
primordials.IteratorPrototype = Object.getPrototypeOf(ArrayIteratorPrototype);
const AsyncGenerator = Object.getPrototypeOf(async function* () {}).prototype;
primordials.AsyncIteratorPrototype = Object.getPrototypeOf(AsyncGenerator);
primordials.FunctionPrototypeApply = uncurryThis(apply);
primordials.FunctionPrototypeBind = uncurryThis(bind);
primordials.FunctionPrototypeCall = uncurryThis(call);

// ---- promises

const then = uncurryThis(Promise.prototype.then);

function noop() {}
primordials.noop = noop;

// A promise with its resolving functions.
const PromiseConstructor = Promise;
primordials.newPromise = function newPromise() {
  let resolve;
  let reject;
  const promise = new PromiseConstructor((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
};

primordials.markHandled = function markHandled(promise) {
  then(promise, undefined, noop);
};

realm.primordials = Object.freeze(primordials);

// ---- globals and modules

const global = globalThis;

realm.expose = function expose(members) {
  const keys = ownKeys(members);
  for (let i = 0; i < keys.length; i++) {
    const value = members[keys[i]];
    defineProperty(global, keys[i], {
      __proto__: null,
      value,
      writable: true,
      enumerable: typeof value === "function" && keys[i][0] >= "a",
      configurable: true,
    });
  }
};

realm.modules = { __proto__: null };
