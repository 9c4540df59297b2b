// Functions of newer editions of ECMAScript that the supported engines lack: for buffers, promises,
// objects and strings.

const {
  Array, ArrayBuffer, ArrayBufferPrototype, ArrayBufferPrototypeGetByteLength,
  ArrayPrototypePush, Error, FunctionPrototypeCall, Map, MapPrototypeGet, MapPrototypeSet, MathMin,
  Object, ObjectDefineProperty, Promise, ReflectApply, RegExp, RegExpPrototypeExec, String,
  StringPrototype, StringPrototypeCharCodeAt, StringPrototypeReplace, StringPrototypeSlice, Symbol,
  SymbolAsyncIterator, SymbolIterator, TypeError, TypedArrayPrototypeSet, Uint8Array,
} = realm.primordials;
const { converters, isDetached, isObject } = realm.webidl;
const { defineMissing } = realm.language;

const enforceRange = { __proto__: null, enforceRange: true };

// https://tc39.es/ecma262/#sec-arraybuffercopyanddetach
function ArrayBufferCopyAndDetach(buffer, newLength) {
  const byteLength = ArrayBufferPrototypeGetByteLength(buffer);
  const length = newLength === undefined
    ? byteLength : converters["unsigned long long"](newLength, undefined, undefined, enforceRange);
  if (isDetached(buffer)) throw new TypeError("The ArrayBuffer is detached");
  const whole = native.arrayBufferTransfer(buffer);
  if (length === byteLength) return whole;
  const resized = new ArrayBuffer(length);
  TypedArrayPrototypeSet(
    new Uint8Array(resized), new Uint8Array(whole, 0, MathMin(length, byteLength)));
  return resized;
}

function createDataProperty(object, key, value) {
  ObjectDefineProperty(object, key, {
    __proto__: null, value, writable: true, enumerable: true, configurable: true,
  });
}

// https://tc39.es/proposal-array-from-async/
async function collect(constructor, items, map, thisArg) {
  if (map !== undefined && typeof map !== "function") {
    throw new TypeError("The mapping is not a function");
  }
  const isClass = typeof constructor === "function" && "prototype" in constructor;
  const iterable = (items[SymbolAsyncIterator] ?? items[SymbolIterator]) !== undefined;
  let index = 0;
  if (iterable) {
    const array = isClass ? new constructor() : [];
    for await (const item of items) {
      createDataProperty(array, index, map === undefined
        ? item : await FunctionPrototypeCall(map, thisArg, item, index));
      index++;
    }
    array.length = index;
    return array;
  }
  const list = Object(items);
  const length = converters["unsigned long long"](list.length, undefined, undefined, clamp);
  const array = isClass ? new constructor(length) : new Array(length);
  for (; index < length; index++) {
    let item = await list[index];
    if (map !== undefined) item = await FunctionPrototypeCall(map, thisArg, item, index);
    createDataProperty(array, index, item);
  }
  array.length = length;
  return array;
}

const clamp = { __proto__: null, clamp: true };

defineMissing(ArrayBufferPrototype, {
  transfer(newLength = undefined) { return ArrayBufferCopyAndDetach(this, newLength); },
  transferToFixedLength(newLength = undefined) {
    return ArrayBufferCopyAndDetach(this, newLength);
  },
  get detached() { return isDetached(this); },
});

defineMissing(Array, {
  fromAsync(items, map = undefined, thisArg = undefined) {
    return collect(this, items, map, thisArg);
  },
});

// https://tc39.es/ecma262/#sec-error.iserror
const kNativeError = 9;

defineMissing(Error, {
  isError(value) {
    if (!isObject(value)) return false;
    if (native.valueKind(value) === kNativeError) return !realm.language.isWasmException(value);
    return realm.isDOMException(value);
  },
});

// https://tc39.es/ecma262/#sec-newpromisecapability
function newCapability(constructor, name) {
  if (!isObject(constructor)) throw new TypeError(`${name} was called on no constructor`);
  let resolve;
  let reject;
  const promise = new constructor((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}

defineMissing(Promise, {
  // https://tc39.es/ecma262/#sec-promise.withResolvers
  withResolvers() { return newCapability(this, "Promise.withResolvers"); },

  // https://tc39.es/ecma262/#sec-promise.try
  try(callback, ...rest) {
    const { promise, resolve, reject } = newCapability(this, "Promise.try");
    try {
      resolve(ReflectApply(callback, undefined, rest));
    } catch (error) {
      reject(error);
    }
    return promise;
  },
});

// https://tc39.es/ecma262/#sec-groupby
function forEachKey(items, callback, use) {
  if (items === undefined || items === null) throw new TypeError("The items are not iterable");
  if (typeof callback !== "function") throw new TypeError("The callback is not a function");
  let index = 0;
  for (const item of items) use(callback(item, index++), item);
}

defineMissing(Object, {
  groupBy(items, callback) {
    const groups = { __proto__: null };
    forEachKey(items, callback, (key, item) => {
      const name = typeof key === "symbol" ? key : `${key}`;
      if (name in groups) ArrayPrototypePush(groups[name], item);
      else groups[name] = [item];
    });
    return groups;
  },
});

defineMissing(Map, {
  groupBy(items, callback) {
    const groups = new Map();
    forEachKey(items, callback, (key, item) => {
      const group = MapPrototypeGet(groups, key);
      if (group === undefined) MapPrototypeSet(groups, key, [item]);
      else ArrayPrototypePush(group, item);
    });
    return groups;
  },
});

function textOf(value, name) {
  if (value === undefined || value === null) {
    throw new TypeError(`String.prototype.${name} was called on null or undefined`);
  }
  return String(value);
}

// A surrogate without its other half.
const lone = "(?<![\\uD800-\\uDBFF])[\\uDC00-\\uDFFF]|[\\uD800-\\uDBFF](?![\\uDC00-\\uDFFF])";

defineMissing(StringPrototype, {
  isWellFormed() {
    return RegExpPrototypeExec(new RegExp(lone), textOf(this, "isWellFormed")) === null;
  },
  toWellFormed() {
    return StringPrototypeReplace(textOf(this, "toWellFormed"), new RegExp(lone, "g"), "\ufffd");
  },
}, 111);

// https://tc39.es/ecma262/#sec-encodeforregexpescape
const controls = { __proto__: null, "\t": "\\t", "\n": "\\n", "\v": "\\v", "\f": "\\f", "\r": "\\r" };

function escapedUnit(unit) {
  if (unit in controls) return controls[unit];
  if (RegExpPrototypeExec(/[\^$\\.*+?()[\]{}|\/]/, unit) !== null) return `\\${unit}`;
  const code = StringPrototypeCharCodeAt(unit, 0);
  const hex = code.toString(16);
  return code < 256 ? `\\x${StringPrototypeSlice(`0${hex}`, -2)}`
    : `\\u${StringPrototypeSlice(`000${hex}`, -4)}`;
}

defineMissing(RegExp, {
  escape(text) {
    if (typeof text !== "string") throw new TypeError("RegExp.escape takes a string");
    let escaped = "";
    for (let i = 0; i < text.length; i++) {
      const unit = text[i];
      const code = StringPrototypeCharCodeAt(text, i);
      if (i === 0 && RegExpPrototypeExec(/[0-9A-Za-z]/, unit) !== null) {
        escaped += `\\x${code.toString(16)}`;
      } else if (RegExpPrototypeExec(/[\^$\\.*+?()[\]{}|\/,\-=<>#&!%:;@~'`"\s]/, unit) !== null) {
        escaped += escapedUnit(unit);
      } else if (code >= 0xd800 && code <= 0xdfff && isLone(text, i, code)) {
        escaped += `\\u${code.toString(16)}`;
      } else {
        escaped += unit;
      }
    }
    return escaped;
  },
});

function isLone(text, at, code) {
  const other = StringPrototypeCharCodeAt(text, code < 0xdc00 ? at + 1 : at - 1);
  return code < 0xdc00 ? !(other >= 0xdc00 && other <= 0xdfff)
    : !(other >= 0xd800 && other <= 0xdbff);
}

// The symbols of explicit resource management: libraries define methods with them.
function defineSymbol(name) {
  if (name in Symbol) return;
  ObjectDefineProperty(Symbol, name, {
    __proto__: null, value: Symbol(`Symbol.${name}`), writable: false, enumerable: false,
    configurable: false,
  });
}

defineSymbol("dispose");
defineSymbol("asyncDispose");
