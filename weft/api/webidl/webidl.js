// Web IDL for JavaScript: converts JavaScript values to values of Web IDL types.
// https://webidl.spec.whatwg.org/
//
// Every script of api/ converts the arguments of its operations here, in their order, before
// anything else. Native functions receive only results of converters.
//
// ---- Converters: `convert(value, prefix, context, options) -> value`; they throw a TypeError
//
//     const prefix = "Failed to execute 'append' on 'Headers'";
//     webidl.requiredArguments(arguments.length, 2, prefix);
//     name = webidl.converters.ByteString(name, prefix, "Argument 1");
//
// `prefix` and `context` are constant texts, concatenated only when the conversion fails. `options`
// depends on the type: { enforceRange, clamp } for integers, { treatNullAsEmptyString } for
// DOMString, { allowShared, allowResizable } for buffer types.
//
// webidl.converters has: any, undefined, boolean, object, bigint, symbol,
//     byte, octet, short, "unsigned short", long, "unsigned long", "long long",
//     "unsigned long long",
//     float, "unrestricted float", double, "unrestricted double",
//     DOMString, USVString, ByteString, "sequence<DOMString>", "sequence<USVString>",
//     ArrayBuffer, ArrayBufferView, BufferSource, Uint8Array, DataView,
//     Function, DOMTimeStamp, "Promise<any>"
// A script adds its own: `webidl.converters.Blob = webidl.interfaceConverter("Blob", isBlob);`
//
// ---- Functions that make converters
//
//     enumConverter("RequestMode", ["cors", "no-cors"])
//     dictionaryConverter("EventInit", members, inherited?)   members: a list of
//         { key, converter, required?, defaultValue?, options? }, sorted here; defaultValue may be
//         a function, called for each conversion; a member without one is left out when undefined.
//         The result is a null-prototype object.
//     nullableConverter(converter), sequenceConverter(converter), frozenArrayConverter(converter),
//     recordConverter(keyConverter, valueConverter)     gives a null-prototype object
//     interfaceConverter("Blob", isBlob)                isBlob(value) is called for objects only
//     callbackConverter("Function")                     checks that the value is callable
//     promiseConverter()                                Promise<T>
//     unionConverter([[test(value), converter], ...], otherwise)
//
// ---- Classes
//
//     class Thing {
//       #size;                                          // brand: `#size in value`
//       constructor(size = 0) { ... }                   // defaults keep `length` right
//       get size() { if (!(isThing(this))) throw webidl.illegalInvocation("Thing"); ... }
//     }
//     webidl.configureInterface(Thing);                 // enumerable members, Symbol.toStringTag
//     webidl.defineConstants(Thing, { NONE: 0 });
//     webidl.definePairIterable(Headers, "Headers", { check, size, keyAt, valueAt });
//     webidl.internal                                   argument of constructors closed to scripts
//     webidl.illegalConstructor()                       // the error to throw without that token
//     webidl.requiredArguments(arguments.length, 1, prefix)
//     webidl.brandCheck(condition, "Thing")             // throws unless condition
//
// ---- Values
//
//     isObject(v), isBufferSource(v), isArrayBuffer(v), isSharedArrayBuffer(v), isDetached(buffer),
//     toWellFormed(string), viewBytes(view | buffer) -> Uint8Array over the same memory,
//     copyBytes(view | buffer) -> Uint8Array over new memory, sequenceFrom(iterable, method, ...)

const {
  ArrayBufferIsView, ArrayBufferPrototypeGetByteLength, ArrayBufferPrototypeGetResizable,
  ArrayPrototypeConcat, ArrayPrototypeSlice, ArrayPrototypeSort, BigInt, BigIntAsIntN,
  BigIntAsUintN, DataViewPrototypeGetBuffer, DataViewPrototypeGetByteLength,
  DataViewPrototypeGetByteOffset, FunctionPrototypeCall, IteratorPrototype, MathFloor, MathFround,
  MathTrunc, Number, NumberIsFinite, NumberIsNaN, NumberMAX_SAFE_INTEGER, NumberMIN_SAFE_INTEGER,
  ObjectDefineProperty, ObjectFreeze, ObjectSetPrototypeOf, PromiseResolve, ReflectApply,
  ReflectGetOwnPropertyDescriptor, ReflectOwnKeys, RegExpPrototypeExec,
  SharedArrayBufferPrototypeGetByteLength, String, StringFromCharCode, StringPrototypeCharCodeAt,
  StringPrototypeSlice, SymbolIterator, SymbolToStringTag, TypeError, TypedArrayPrototypeGetBuffer,
  TypedArrayPrototypeGetByteLength, TypedArrayPrototypeGetByteOffset,
  TypedArrayPrototypeGetSymbolToStringTag, Uint8Array,
} = realm.primordials;

function failure(message, prefix, context) {
  const subject = context === undefined ? "The value" : context;
  const text = `${subject} ${message}`;
  return new TypeError(prefix === undefined ? text : `${prefix}: ${text}`);
}

function isObject(value) {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

function requiredArguments(count, required, prefix) {
  if (count < required) {
    throw new TypeError(`${prefix}: ${required} argument${required === 1 ? "" : "s"} required, ` +
      `but only ${count} present`);
  }
}

// ---- numbers
// https://webidl.spec.whatwg.org/#js-integer-types

function toNumber(value, prefix, context) {
  if (typeof value === "number") return value;
  if (typeof value === "symbol") throw failure("is a symbol, not a number", prefix, context);
  if (typeof value === "bigint") throw failure("is a BigInt, not a number", prefix, context);
  return +value;
}

function evenRound(x) {
  // Ties are rounded to the even integer.
  const floor = MathFloor(x);
  const fraction = x - floor;
  if (fraction < 0.5) return floor;
  if (fraction > 0.5) return floor + 1;
  return floor % 2 === 0 ? floor : floor + 1;
}

function censorNegativeZero(x) {
  return x === 0 ? 0 : x;
}

function integerConverter(bits, signed) {
  const is64 = bits === 64;
  const lower = is64 ? (signed ? NumberMIN_SAFE_INTEGER : 0) : (signed ? -(2 ** (bits - 1)) : 0);
  const upper = is64 ? NumberMAX_SAFE_INTEGER : 2 ** (signed ? bits - 1 : bits) - 1;
  const modulus = 2 ** bits;
  const half = 2 ** (bits - 1);

  return function toInteger(value, prefix, context, options) {
    let x = toNumber(value, prefix, context);
    if (options !== undefined) {
      if (options.enforceRange) {
        if (!NumberIsFinite(x)) throw failure("is not a finite number", prefix, context);
        x = censorNegativeZero(MathTrunc(x));
        if (x < lower || x > upper) {
          throw failure(`is outside the accepted range of ${lower} to ${upper}, inclusive`,
            prefix, context);
        }
        return x;
      }
      if (options.clamp) {
        if (NumberIsNaN(x)) return 0;
        if (x <= lower) return lower;
        if (x >= upper) return upper;
        return censorNegativeZero(evenRound(x));
      }
    }
    if (x >= lower && x <= upper) return censorNegativeZero(MathTrunc(x));
    if (!NumberIsFinite(x)) return 0;
    x = MathTrunc(x);
    if (is64) {
      const wide = BigInt(x);
      return Number(signed ? BigIntAsIntN(64, wide) : BigIntAsUintN(64, wide));
    }
    x %= modulus;
    if (x < 0) x += modulus;
    if (signed && x >= half) x -= modulus;
    return censorNegativeZero(x);
  };
}

function floatConverter(single, unrestricted) {
  return function toFloat(value, prefix, context) {
    const x = toNumber(value, prefix, context);
    if (!unrestricted && !NumberIsFinite(x)) {
      throw failure("is not a finite floating-point value", prefix, context);
    }
    if (!single) return x;
    const y = MathFround(x);
    if (!unrestricted && !NumberIsFinite(y)) {
      throw failure("is outside the range of a single-precision floating-point value",
        prefix, context);
    }
    return y;
  };
}

// ---- strings

function toDOMString(value, prefix, context, options) {
  if (typeof value === "string") return value;
  if (value === null && options !== undefined && options.treatNullAsEmptyString) return "";
  if (typeof value === "symbol") {
    throw failure("is a symbol, which cannot be converted to a string", prefix, context);
  }
  return String(value);
}

// A regular expression costs more to enter than so many characters to read.
const kShortText = 64;

// Whether no code unit of a short text lies above the limit. False also says that it is not short.
function isShortBelow(string, limit) {
  const { length } = string;
  if (length > kShortText) return false;
  for (let i = 0; i < length; i++) {
    if (StringPrototypeCharCodeAt(string, i) > limit) return false;
  }
  return true;
}

// Lone surrogates become U+FFFD.
function toWellFormed(string) {
  if (isShortBelow(string, 0xd7ff) || RegExpPrototypeExec(/[\uD800-\uDFFF]/, string) === null) {
    return string;
  }
  let result = "";
  let copied = 0;
  const { length } = string;
  for (let i = 0; i < length; i++) {
    const unit = StringPrototypeCharCodeAt(string, i);
    if ((unit & 0xf800) !== 0xd800) continue;
    if (unit < 0xdc00 && i + 1 < length &&
        (StringPrototypeCharCodeAt(string, i + 1) & 0xfc00) === 0xdc00) {
      i++;
      continue;
    }
    result += StringPrototypeSlice(string, copied, i) + StringFromCharCode(0xfffd);
    copied = i + 1;
  }
  return result + StringPrototypeSlice(string, copied);
}

function toUSVString(value, prefix, context) {
  return toWellFormed(toDOMString(value, prefix, context));
}

function toByteString(value, prefix, context) {
  const string = toDOMString(value, prefix, context);
  if (!isShortBelow(string, 0xff) && RegExpPrototypeExec(/[^\x00-\xff]/, string) !== null) {
    throw failure("has a character above U+00FF, which a byte string cannot have", prefix, context);
  }
  return string;
}

// ---- buffers

function isArrayBuffer(value) {
  if (typeof value !== "object" || value === null) return false;
  try {
    ArrayBufferPrototypeGetByteLength(value);
    return true;
  } catch {
    return false;
  }
}

function isSharedArrayBuffer(value) {
  if (typeof value !== "object" || value === null) return false;
  try {
    SharedArrayBufferPrototypeGetByteLength(value);
    return true;
  } catch {
    return false;
  }
}

function isBufferSource(value) {
  return ArrayBufferIsView(value) || isArrayBuffer(value);
}

// ES: IsDetachedBuffer
function isDetached(buffer) {
  if (ArrayBufferPrototypeGetByteLength(buffer) !== 0) return false;
  try {
    new Uint8Array(buffer);
    return false;
  } catch {
    return true;
  }
}

function viewBuffer(view) {
  return TypedArrayPrototypeGetSymbolToStringTag(view) === undefined
    ? DataViewPrototypeGetBuffer(view) : TypedArrayPrototypeGetBuffer(view);
}

function viewByteLength(view) {
  return TypedArrayPrototypeGetSymbolToStringTag(view) === undefined
    ? DataViewPrototypeGetByteLength(view) : TypedArrayPrototypeGetByteLength(view);
}

function viewByteOffset(view) {
  return TypedArrayPrototypeGetSymbolToStringTag(view) === undefined
    ? DataViewPrototypeGetByteOffset(view) : TypedArrayPrototypeGetByteOffset(view);
}

function isDetachedSource(source) {
  const buffer = ArrayBufferIsView(source) ? viewBuffer(source) : source;
  return !isSharedArrayBuffer(buffer) && isDetached(buffer);
}

// The bytes of a buffer source as a Uint8Array over the same memory; empty for a detached one.
function viewBytes(source) {
  if (ArrayBufferIsView(source)) {
    if (TypedArrayPrototypeGetSymbolToStringTag(source) === "Uint8Array") return source;
    if (isDetachedSource(source)) return new Uint8Array(0);
    return new Uint8Array(viewBuffer(source), viewByteOffset(source), viewByteLength(source));
  }
  return isDetachedSource(source) ? new Uint8Array(0) : new Uint8Array(source);
}

// https://webidl.spec.whatwg.org/#dfn-get-buffer-source-copy
function copyBytes(source) {
  if (isDetachedSource(source)) return new Uint8Array(0);
  // NB: TypedArray.prototype.slice would look up the species of the array.
  return new Uint8Array(viewBytes(source));
}

function checkBuffer(buffer, prefix, context, options) {
  if (isArrayBuffer(buffer)) {
    if (ArrayBufferPrototypeGetResizable !== undefined && !(options?.allowResizable) &&
        ArrayBufferPrototypeGetResizable(buffer)) {
      throw failure("is backed by a resizable ArrayBuffer, which is not allowed", prefix, context);
    }
    return;
  }
  if (!(options?.allowShared)) {
    throw failure("is backed by a SharedArrayBuffer, which is not allowed", prefix, context);
  }
}

function toArrayBuffer(value, prefix, context, options) {
  if (!isArrayBuffer(value) && !(options?.allowShared && isSharedArrayBuffer(value))) {
    throw failure("is not an ArrayBuffer", prefix, context);
  }
  checkBuffer(value, prefix, context, options);
  return value;
}

function toArrayBufferView(value, prefix, context, options) {
  if (!ArrayBufferIsView(value)) throw failure("is not an ArrayBuffer view", prefix, context);
  checkBuffer(viewBuffer(value), prefix, context, options);
  return value;
}

function toBufferSource(value, prefix, context, options) {
  if (ArrayBufferIsView(value)) return toArrayBufferView(value, prefix, context, options);
  if (!isArrayBuffer(value) && !isSharedArrayBuffer(value)) {
    throw failure("is not an ArrayBuffer or a view of one", prefix, context);
  }
  checkBuffer(value, prefix, context, options);
  return value;
}

function typedArrayConverter(name) {
  return function toTypedArray(value, prefix, context, options) {
    const tag = ArrayBufferIsView(value)
      ? TypedArrayPrototypeGetSymbolToStringTag(value) ?? "DataView" : undefined;
    if (tag !== name) throw failure(`is not a ${name}`, prefix, context);
    checkBuffer(viewBuffer(value), prefix, context, options);
    return value;
  };
}

// ---- functions that make converters

function enumConverter(name, values) {
  const known = { __proto__: null };
  for (let i = 0; i < values.length; i++) known[values[i]] = true;
  return function toEnum(value, prefix, context) {
    const string = toDOMString(value, prefix, context);
    if (known[string] !== true) {
      throw failure(`'${string}' is not a valid value of ${name}`, prefix, context);
    }
    return string;
  };
}

// https://webidl.spec.whatwg.org/#js-dictionary
function dictionaryConverter(name, members, inherited) {
  // Members are read in lexicographical order, those of inherited dictionaries first.
  const own = ArrayPrototypeSort(
    ArrayPrototypeSlice(members), (a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  const all = inherited === undefined ? own : ArrayPrototypeConcat(inherited.members, own);

  function toDictionary(value, prefix, context) {
    const result = { __proto__: null };
    const absent = value === undefined || value === null;
    if (!absent && !isObject(value)) {
      throw failure(`is not an object, so it cannot be a ${name}`, prefix, context);
    }
    for (let i = 0; i < all.length; i++) {
      const member = all[i];
      const { key } = member;
      const given = absent ? undefined : value[key];
      if (given !== undefined) {
        result[key] = member.converter(
          given, prefix, member.context ??= `'${key}' of '${name}'`, member.options);
      } else if (member.defaultValue !== undefined) {
        const fallback = member.defaultValue;
        result[key] = typeof fallback === "function" ? fallback() : fallback;
      } else if (member.required) {
        throw failure(`has no member '${key}', which ${name} requires`, prefix, context);
      }
    }
    return result;
  }
  toDictionary.members = all;
  return toDictionary;
}

function nullableConverter(converter) {
  return function toNullable(value, prefix, context, options) {
    if (value === null || value === undefined) return null;
    return converter(value, prefix, context, options);
  };
}

// https://webidl.spec.whatwg.org/#create-sequence-from-iterable
function sequenceFrom(iterable, method, converter, prefix, context, options) {
  const iterator = ReflectApply(method, iterable, []);
  if (!isObject(iterator)) throw failure("gave an iterator that is no object", prefix, context);
  const { next } = iterator;
  const item = `An item of ${context ?? "the value"}`;
  const items = [];
  for (;;) {
    const step = FunctionPrototypeCall(next, iterator);
    if (!isObject(step)) throw failure("gave a result that is no object", prefix, context);
    if (step.done) return items;
    items[items.length] = converter(step.value, prefix, item, options);
  }
}

function sequenceConverter(converter) {
  return function toSequence(value, prefix, context, options) {
    if (!isObject(value)) throw failure("is not iterable", prefix, context);
    const method = value[SymbolIterator];
    if (method === undefined || method === null || typeof method !== "function") {
      throw failure("is not iterable", prefix, context);
    }
    return sequenceFrom(value, method, converter, prefix, context, options);
  };
}

function frozenArrayConverter(converter) {
  const toSequence = sequenceConverter(converter);
  return (value, prefix, context, options) =>
    ObjectFreeze(toSequence(value, prefix, context, options));
}

// https://webidl.spec.whatwg.org/#js-record
function recordConverter(keyConverter, valueConverter) {
  return function toRecord(value, prefix, context, options) {
    if (!isObject(value)) throw failure("is not an object", prefix, context);
    const result = { __proto__: null };
    const keys = ReflectOwnKeys(value);
    for (let i = 0; i < keys.length; i++) {
      const descriptor = ReflectGetOwnPropertyDescriptor(value, keys[i]);
      if (descriptor === undefined || !descriptor.enumerable) continue;
      const key = keyConverter(keys[i], prefix, context, options);
      result[key] = valueConverter(value[keys[i]], prefix, context, options);
    }
    return result;
  };
}

function interfaceConverter(name, isInstance) {
  return function toInterface(value, prefix, context) {
    if (!isObject(value) || !isInstance(value)) throw failure(`is not a ${name}`, prefix, context);
    return value;
  };
}

function callbackConverter(name) {
  return function toCallback(value, prefix, context) {
    if (typeof value !== "function") {
      throw failure(`is not a function, so it cannot be a ${name}`, prefix, context);
    }
    return value;
  };
}

function promiseConverter() {
  return (value) => PromiseResolve(value);
}

function unionConverter(choices, otherwise) {
  return function toUnion(value, prefix, context, options) {
    for (let i = 0; i < choices.length; i++) {
      if (choices[i][0](value)) return choices[i][1](value, prefix, context, options);
    }
    return otherwise(value, prefix, context, options);
  };
}

// ---- classes

const internal = { __proto__: null };

function illegalConstructor() {
  return new TypeError("Illegal constructor");
}

function illegalInvocation(name) {
  return new TypeError(name === undefined
    ? "Illegal invocation" : `Illegal invocation: the receiver is not a ${name}`);
}

function brandCheck(condition, name) {
  if (!condition) throw illegalInvocation(name);
}

function makeEnumerable(target, isStatic) {
  const keys = ReflectOwnKeys(target);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i];
    if (typeof key === "symbol" || key === "constructor") continue;
    if (isStatic && (key === "prototype" || key === "name" || key === "length")) continue;
    const descriptor = ReflectGetOwnPropertyDescriptor(target, key);
    if (!descriptor.configurable) continue;
    descriptor.enumerable = true;
    ObjectDefineProperty(target, key, descriptor);
  }
}

// Operations and attributes of interfaces are enumerable, unlike methods of classes.
function configureInterface(constructor, name = constructor.name) {
  makeEnumerable(constructor, true);
  makeEnumerable(constructor.prototype, false);
  ObjectDefineProperty(constructor.prototype, SymbolToStringTag, {
    __proto__: null,
    value: name,
    writable: false,
    enumerable: false,
    configurable: true,
  });
  return constructor;
}

function defineConstants(constructor, constants) {
  const keys = ReflectOwnKeys(constants);
  for (let i = 0; i < keys.length; i++) {
    const descriptor = {
      __proto__: null,
      value: constants[keys[i]],
      writable: false,
      enumerable: true,
      configurable: false,
    };
    ObjectDefineProperty(constructor, keys[i], descriptor);
    ObjectDefineProperty(constructor.prototype, keys[i], descriptor);
  }
}

// The arguments of definePairIterable(), for code that shows such objects to people.
const pairIterables = [];

// https://webidl.spec.whatwg.org/#js-iterable
//
// Defines entries(), keys(), values(), forEach() and [Symbol.iterator]() on the class. The pairs
// may change during the iteration:
//     check(value) -> whether `value` is of the class
//     size(object), keyAt(object, index), valueAt(object, index)
function definePairIterable(constructor, name, { check, size, keyAt, valueAt }) {
  class PairIterator {
    #target;
    #kind;
    #index = 0;

    constructor(target, kind) {
      this.#target = target;
      this.#kind = kind;
    }

    next() {
      if (!isObject(this) || !(#target in this)) throw illegalInvocation(`${name} Iterator`);
      const target = this.#target;
      const index = this.#index;
      if (index >= size(target)) return { value: undefined, done: true };
      this.#index = index + 1;
      const kind = this.#kind;
      const value = kind === "key" ? keyAt(target, index)
        : kind === "value" ? valueAt(target, index)
        : [keyAt(target, index), valueAt(target, index)];
      return { value, done: false };
    }
  }
  // The prototype of the iterators is an ordinary object that inherits from %IteratorPrototype%.
  const iteratorPrototype = PairIterator.prototype;
  delete iteratorPrototype.constructor;
  ObjectSetPrototypeOf(iteratorPrototype, IteratorPrototype);
  configureInterface(PairIterator, `${name} Iterator`);

  function iterate(target, kind) {
    if (!isObject(target) || !check(target)) throw illegalInvocation(name);
    return new PairIterator(target, kind);
  }

  const methods = {
    entries() { return iterate(this, "key+value"); },
    keys() { return iterate(this, "key"); },
    values() { return iterate(this, "value"); },
    forEach(callback, thisArg = undefined) {
      if (!isObject(this) || !check(this)) throw illegalInvocation(name);
      const prefix = `Failed to execute 'forEach' on '${name}'`;
      requiredArguments(arguments.length, 1, prefix);
      if (typeof callback !== "function") throw failure("is not a function", prefix, "Argument 1");
      for (let i = 0; i < size(this); i++) {
        FunctionPrototypeCall(callback, thisArg, valueAt(this, i), keyAt(this, i), this);
      }
    },
  };
  pairIterables[pairIterables.length] = { constructor, name, check, size, keyAt, valueAt };
  const { prototype } = constructor;
  const keys = ReflectOwnKeys(methods);
  for (let i = 0; i < keys.length; i++) {
    ObjectDefineProperty(prototype, keys[i], {
      __proto__: null, value: methods[keys[i]], writable: true, enumerable: true,
      configurable: true,
    });
  }
  ObjectDefineProperty(prototype, SymbolIterator, {
    __proto__: null, value: methods.entries, writable: true, enumerable: false, configurable: true,
  });
}

const converters = {
  __proto__: null,
  any: (value) => value,
  undefined: () => undefined,
  boolean: (value) => !!value,
  object(value, prefix, context) {
    if (!isObject(value)) throw failure("is not an object", prefix, context);
    return value;
  },
  symbol(value, prefix, context) {
    if (typeof value !== "symbol") throw failure("is not a symbol", prefix, context);
    return value;
  },
  bigint: (value) => BigInt(value),
  byte: integerConverter(8, true),
  octet: integerConverter(8, false),
  short: integerConverter(16, true),
  "unsigned short": integerConverter(16, false),
  long: integerConverter(32, true),
  "unsigned long": integerConverter(32, false),
  "long long": integerConverter(64, true),
  "unsigned long long": integerConverter(64, false),
  float: floatConverter(true, false),
  "unrestricted float": floatConverter(true, true),
  double: floatConverter(false, false),
  "unrestricted double": floatConverter(false, true),
  DOMTimeStamp: integerConverter(64, false),
  DOMString: toDOMString,
  USVString: toUSVString,
  ByteString: toByteString,
  ArrayBuffer: toArrayBuffer,
  ArrayBufferView: toArrayBufferView,
  BufferSource: toBufferSource,
  Uint8Array: typedArrayConverter("Uint8Array"),
  DataView: typedArrayConverter("DataView"),
  Function: callbackConverter("Function"),
  "Promise<any>": promiseConverter(),
  "sequence<DOMString>": sequenceConverter(toDOMString),
  "sequence<USVString>": sequenceConverter(toUSVString),
};

realm.webidl = {
  __proto__: null,
  converters,
  enumConverter,
  dictionaryConverter,
  nullableConverter,
  sequenceConverter,
  frozenArrayConverter,
  recordConverter,
  interfaceConverter,
  callbackConverter,
  promiseConverter,
  unionConverter,
  typedArrayConverter,
  internal,
  illegalConstructor,
  illegalInvocation,
  brandCheck,
  requiredArguments,
  configureInterface,
  defineConstants,
  definePairIterable,
  pairIterables,
  failure,
  isObject,
  isArrayBuffer,
  isSharedArrayBuffer,
  isBufferSource,
  isDetached,
  toWellFormed,
  viewBytes,
  viewBuffer,
  viewByteLength,
  viewByteOffset,
  copyBytes,
  sequenceFrom,
};
