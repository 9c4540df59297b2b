// Structured cloning. https://html.spec.whatwg.org/#safe-passing-of-structured-data
//
// Source and copy belong to the same isolate, so one traversal serializes and deserializes at the
// same time. NB: Scripts cannot distinguish the two phases, because making the copy runs no code of
// theirs.
//
// V8's own serializer is not used: it treats an instance of a platform class, which is written in
// JavaScript, as a plain object.
//
// For other scripts, realm.clone:
//   serializable({ is(value), clone(value, deep) })    deep(value) clones a part
//   transferable({ is(value), isDetached(value), create(value), move(value, fresh) })
//       create() makes the new object before anything is moved; move() cannot fail
//   cloneWith(value, transferList) -> { value, transferred }
//   close()   called once, at the end of the prelude; after it, platform objects that are
//             neither are refused
const { bufferDetach, bufferIsDetachable, bufferShare, valueKind } = native;
const { DOMException, webidl } = realm;
const { kinds } = realm.inspecting;
const {
  Array, ArrayBuffer, ArrayBufferPrototypeGetByteLength, ArrayBufferPrototypeGetMaxByteLength,
  ArrayBufferPrototypeGetResizable, ArrayPrototypeIndexOf, ArrayPrototypePush,
  BigIntPrototypeValueOf,
  BooleanPrototypeValueOf, DataView, Date, DatePrototypeGetTime, Error, EvalError, Map,
  MapPrototypeForEach, MapPrototypeGet, MapPrototypeHas, MapPrototypeSet, NumberPrototypeValueOf,
  Object, ObjectDefineProperty, ObjectKeys, ObjectPrototype, ObjectPrototypeHasOwnProperty,
  RangeError, ReferenceError, ReflectGetOwnPropertyDescriptor, ReflectGetPrototypeOf,
  ReflectOwnKeys, RegExp, RegExpPrototypeGetFlags, RegExpPrototypeGetSource, Set, SetPrototypeAdd,
  SetPrototypeForEach, String, StringPrototypeValueOf, SymbolToStringTag, SyntaxError, TypeError,
  TypedArrayPrototypeGetLength, TypedArrayPrototypeGetSymbolToStringTag, TypedArrayPrototypeSet,
  URIError, Uint8Array, globalThis: global,
} = realm.primordials;

const serializables = [];
const transferables = [];
// The prototypes of the platform's interfaces.
const platformPrototypes = [];

function refuse(message) {
  return new DOMException(message, "DataCloneError");
}

function nameOf(value) {
  const name = realm.inspecting.constructorName(value);
  return name === null ? "The object" : `An object of class ${name}`;
}

// CreateDataProperty: setters on prototypes are not called.
function define(target, key, value) {
  ObjectDefineProperty(target, key, {
    __proto__: null, value, writable: true, enumerable: true, configurable: true,
  });
}

// ---- buffers

function cloneBuffer(buffer) {
  if (webidl.isDetached(buffer)) throw refuse("A detached ArrayBuffer could not be cloned.");
  const length = ArrayBufferPrototypeGetByteLength(buffer);
  const copy = ArrayBufferPrototypeGetResizable?.(buffer)
    ? new ArrayBuffer(length, { maxByteLength: ArrayBufferPrototypeGetMaxByteLength(buffer) })
    : new ArrayBuffer(length);
  TypedArrayPrototypeSet(new Uint8Array(copy), new Uint8Array(buffer));
  return copy;
}

function cloneView(value, kind, memory) {
  const buffer = webidl.viewBuffer(value);
  if (webidl.isArrayBuffer(buffer) && webidl.isDetached(buffer)) {
    throw refuse("A view of a detached ArrayBuffer could not be cloned.");
  }
  const offset = webidl.viewByteOffset(value);
  const copy = clone(buffer, memory);
  if (kind === kinds.kDataView) return new DataView(copy, offset, webidl.viewByteLength(value));
  const constructor = realm.primordials[TypedArrayPrototypeGetSymbolToStringTag(value)];
  return new constructor(copy, offset, TypedArrayPrototypeGetLength(value));
}

// ---- errors

const errorClasses = {
  __proto__: null, Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError,
};

function hide(target, key, value) {
  ObjectDefineProperty(target, key, {
    __proto__: null, value, writable: true, enumerable: false, configurable: true,
  });
}

function cloneError(value, memory) {
  const name = value.name;
  const constructor = errorClasses[typeof name === "symbol" ? "" : String(name)] ?? Error;
  const own = ReflectGetOwnPropertyDescriptor(value, "message");
  const message = own !== undefined && "value" in own ? String(own.value) : undefined;
  const copy = new constructor(message);
  MapPrototypeSet(memory, value, copy);
  // The stack is the "accompanying data" that the standard asks to attach.
  const { stack } = value;
  hide(copy, "stack", typeof stack === "string" ? stack : undefined);
  const cause = ReflectGetOwnPropertyDescriptor(value, "cause");
  if (cause !== undefined && "value" in cause) hide(copy, "cause", clone(cause.value, memory));
  return copy;
}

// ---- containers

function cloneMap(value, memory) {
  const copy = new Map();
  MapPrototypeSet(memory, value, copy);
  // A copy of the entries: cloning them may run getters that change the map.
  const entries = [];
  MapPrototypeForEach(value, (item, key) => {
    ArrayPrototypePush(entries, key);
    ArrayPrototypePush(entries, item);
  });
  for (let i = 0; i < entries.length; i += 2) {
    const key = clone(entries[i], memory);
    MapPrototypeSet(copy, key, clone(entries[i + 1], memory));
  }
  return copy;
}

function cloneSet(value, memory) {
  const copy = new Set();
  MapPrototypeSet(memory, value, copy);
  const entries = [];
  SetPrototypeForEach(value, (item) => ArrayPrototypePush(entries, item));
  for (let i = 0; i < entries.length; i++) SetPrototypeAdd(copy, clone(entries[i], memory));
  return copy;
}

function cloneProperties(value, copy, memory) {
  MapPrototypeSet(memory, value, copy);
  const keys = ObjectKeys(value);
  for (let i = 0; i < keys.length; i++) {
    // A getter may have removed it.
    if (!ObjectPrototypeHasOwnProperty(value, keys[i])) continue;
    define(copy, keys[i], clone(value[keys[i]], memory));
  }
  return copy;
}

// ---- platform objects

function isPlatformObject(value) {
  for (let holder = ReflectGetPrototypeOf(value); holder !== null && holder !== ObjectPrototype;
    holder = ReflectGetPrototypeOf(holder)) {
    if (ArrayPrototypeIndexOf(platformPrototypes, holder) >= 0) return true;
    if (valueKind(holder) === kinds.kProxy) return false;
  }
  return false;
}

function clonePlatformObject(value, memory) {
  for (let i = 0; i < serializables.length; i++) {
    if (!serializables[i].is(value)) continue;
    const copy = serializables[i].clone(value, (part) => clone(part, memory));
    MapPrototypeSet(memory, value, copy);
    return copy;
  }
  throw refuse(`${nameOf(value)} could not be cloned.`);
}

// ---- the traversal

function clone(value, memory) {
  if (typeof value !== "object" || value === null) {
    if (typeof value === "symbol") throw refuse("A symbol could not be cloned.");
    if (typeof value === "function") throw refuse("A function could not be cloned.");
    return value;
  }
  const known = MapPrototypeGet(memory, value);
  if (known !== undefined) return known;
  const kind = valueKind(value);
  if (kind === kinds.kPlain || kind === kinds.kError) {
    const prototype = ReflectGetPrototypeOf(value);
    const plain = prototype === ObjectPrototype || prototype === null;
    if (!plain && isPlatformObject(value)) return clonePlatformObject(value, memory);
    if (kind === kinds.kError) return cloneError(value, memory);
    return cloneProperties(value, {}, memory);
  }
  if (kind === kinds.kArray) {
    const copy = [];
    copy.length = value.length;
    return cloneProperties(value, copy, memory);
  }
  if (kind === kinds.kMap) return cloneMap(value, memory);
  if (kind === kinds.kSet) return cloneSet(value, memory);
  // Arguments objects are cloned as plain ones, as browsers do.
  if (kind === kinds.kArguments) return cloneProperties(value, {}, memory);
  const copy = cloneLeaf(value, kind, memory);
  MapPrototypeSet(memory, value, copy);
  return copy;
}

function cloneLeaf(value, kind, memory) {
  switch (kind) {
    case kinds.kNumberObject: return Object(NumberPrototypeValueOf(value));
    case kinds.kStringObject: return Object(StringPrototypeValueOf(value));
    case kinds.kBooleanObject: return Object(BooleanPrototypeValueOf(value));
    case kinds.kBigIntObject: return Object(BigIntPrototypeValueOf(value));
    case kinds.kDate: return new Date(DatePrototypeGetTime(value));
    case kinds.kRegExp:
      return new RegExp(RegExpPrototypeGetSource(value), regExpFlags(value));
    case kinds.kArrayBuffer: return cloneBuffer(value);
    // Shared memory stays shared; the object itself can be the same.
    case kinds.kSharedArrayBuffer: return bufferShare(value);
    case kinds.kTypedArray:
    case kinds.kDataView: return cloneView(value, kind, memory);
    default: throw refuse(`${nameOf(value)} could not be cloned.`);
  }
}

const flagGetters = ["HasIndices", "Global", "IgnoreCase", "Multiline", "DotAll", "Unicode",
  "UnicodeSets", "Sticky"];
const flagLetters = "dgimsuvy";

// [[OriginalFlags]]: the getter `flags` would read properties that scripts can replace.
function regExpFlags(value) {
  let flags = "";
  for (let i = 0; i < flagGetters.length; i++) {
    const getter = realm.primordials[`RegExpPrototypeGet${flagGetters[i]}`];
    if (getter !== undefined && getter(value)) flags += flagLetters[i];
  }
  return flags;
}

// ---- transfer
// https://html.spec.whatwg.org/#structuredserializewithtransfer

function transferableOf(value) {
  for (let i = 0; i < transferables.length; i++) {
    if (transferables[i].is(value)) return transferables[i];
  }
  return undefined;
}

function prepareTransfer(value, memory) {
  const isBuffer = webidl.isArrayBuffer(value);
  const kind = isBuffer ? undefined : transferableOf(value);
  if (!isBuffer && kind === undefined) {
    throw refuse(`${nameOf(value)} could not be transferred.`);
  }
  if (MapPrototypeHas(memory, value)) {
    throw refuse("An object stands twice in the list of what is to be transferred.");
  }
  if (!isBuffer) {
    const fresh = kind.isDetached(value) ? value : kind.create(value);
    MapPrototypeSet(memory, value, fresh);
    return { value, fresh, kind };
  }
  // The new buffer shares the memory at once; the old one is detached when everything has
  // succeeded.
  const fresh = webidl.isDetached(value) ? value : bufferShare(value);
  MapPrototypeSet(memory, value, fresh);
  return { value, fresh, kind };
}

function checkTransfer({ value, kind }) {
  if (kind !== undefined) {
    if (kind.isDetached(value)) {
      throw refuse(`${nameOf(value)} is locked, or has been transferred before.`);
    }
    return;
  }
  if (webidl.isDetached(value)) throw refuse("A detached ArrayBuffer could not be transferred.");
  if (!bufferIsDetachable(value)) throw new TypeError("This ArrayBuffer cannot be transferred.");
}

function cloneWith(value, transferList) {
  const memory = new Map();
  const prepared = [];
  for (let i = 0; i < transferList.length; i++) {
    ArrayPrototypePush(prepared, prepareTransfer(transferList[i], memory));
  }
  const copy = clone(value, memory);
  for (let i = 0; i < prepared.length; i++) checkTransfer(prepared[i]);
  const transferred = [];
  for (let i = 0; i < prepared.length; i++) {
    const { value: old, fresh, kind } = prepared[i];
    if (kind === undefined) bufferDetach(old);
    else kind.move(old, fresh);
    ArrayPrototypePush(transferred, fresh);
  }
  return { value: copy, transferred };
}

// ---- the interface

const toTransfer = webidl.sequenceConverter(webidl.converters.object);
const toOptions = webidl.dictionaryConverter("StructuredSerializeOptions", [
  { key: "transfer", converter: toTransfer, defaultValue: () => [] },
]);

const { structuredClone } = {
  structuredClone(value, options = undefined) {
    const prefix = "Failed to execute 'structuredClone'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    const { transfer } = toOptions(options, prefix, "Argument 2");
    return cloneWith(value, transfer).value;
  },
};

serializables[0] = {
  is: realm.isDOMException,
  clone(value) {
    const copy = realm.isQuotaExceededError(value)
      ? new realm.QuotaExceededError(value.message, {
        quota: value.quota ?? undefined, requested: value.requested ?? undefined,
      })
      : new DOMException(value.message, value.name);
    if (typeof value.stack === "string") hide(copy, "stack", value.stack);
    return copy;
  },
};

function close() {
  const keys = ReflectOwnKeys(global);
  for (let i = 0; i < keys.length; i++) {
    const value = ReflectGetOwnPropertyDescriptor(global, keys[i])?.value;
    if (typeof value !== "function") continue;
    const prototype = ReflectGetOwnPropertyDescriptor(value, "prototype")?.value;
    if (!webidl.isObject(prototype)) continue;
    if (ReflectGetOwnPropertyDescriptor(prototype, SymbolToStringTag) === undefined) continue;
    ArrayPrototypePush(platformPrototypes, prototype);
  }
}

realm.clone = {
  __proto__: null,
  cloneWith,
  close,
  serializable: (kind) => ArrayPrototypePush(serializables, kind),
  toOptions,
  toTransfer,
  transferable: (kind) => ArrayPrototypePush(transferables, kind),
};
realm.structuredClone = (value) => cloneWith(value, []).value;
ObjectDefineProperty(global, "structuredClone", {
  __proto__: null, value: structuredClone, writable: true, enumerable: true, configurable: true,
});
