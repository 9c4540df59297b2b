// node:util/types. https://nodejs.org/api/util.html#utiltypes
"use strict";

const { isProxy, valueKind } = native;
const { kinds } = realm.inspecting;

const isObject = (value) =>
  (typeof value === "object" && value !== null) || typeof value === "function";
const ofKind = (...wanted) => (value) => isObject(value) && wanted.includes(valueKind(value));
const tagOf = Object.getOwnPropertyDescriptor(
  Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag).get;

const types = {
  isAnyArrayBuffer: ofKind(kinds.kArrayBuffer, kinds.kSharedArrayBuffer),
  isArgumentsObject: ofKind(kinds.kArguments),
  isArrayBuffer: ofKind(kinds.kArrayBuffer),
  isArrayBufferView: ArrayBuffer.isView,
  isAsyncFunction: ofKind(kinds.kAsyncFunction, kinds.kAsyncGeneratorFunction),
  isBigIntObject: ofKind(kinds.kBigIntObject),
  isBooleanObject: ofKind(kinds.kBooleanObject),
  isBoxedPrimitive: ofKind(kinds.kNumberObject, kinds.kStringObject, kinds.kBooleanObject,
    kinds.kBigIntObject, kinds.kSymbolObject),
  isCryptoKey: (value) => value instanceof CryptoKey,
  isDataView: ofKind(kinds.kDataView),
  isDate: ofKind(kinds.kDate),
  isExternal: ofKind(kinds.kExternal),
  isGeneratorFunction: ofKind(kinds.kGeneratorFunction, kinds.kAsyncGeneratorFunction),
  isGeneratorObject: ofKind(kinds.kGenerator),
  isKeyObject: (value) => value instanceof load("crypto")["node:crypto"].KeyObject,
  isMap: ofKind(kinds.kMap),
  isMapIterator: ofKind(kinds.kMapIterator),
  isModuleNamespaceObject: ofKind(kinds.kModule),
  isNativeError: ofKind(kinds.kError),
  isNumberObject: ofKind(kinds.kNumberObject),
  isPromise: ofKind(kinds.kPromise),
  isProxy: (value) => isObject(value) && isProxy(value),
  isRegExp: ofKind(kinds.kRegExp),
  isSet: ofKind(kinds.kSet),
  isSetIterator: ofKind(kinds.kSetIterator),
  isSharedArrayBuffer: ofKind(kinds.kSharedArrayBuffer),
  isStringObject: ofKind(kinds.kStringObject),
  isSymbolObject: ofKind(kinds.kSymbolObject),
  isTypedArray: ofKind(kinds.kTypedArray),
  isWeakMap: ofKind(kinds.kWeakMap),
  isWeakSet: ofKind(kinds.kWeakSet),
};
for (const name of ["Uint8Array", "Uint8ClampedArray", "Uint16Array", "Uint32Array", "Int8Array",
  "Int16Array", "Int32Array", "Float32Array", "Float64Array", "BigInt64Array", "BigUint64Array"]) {
  types[`is${name}`] = (value) => isObject(value) && tagOf.call(value) === name;
}

return { "node:util/types": types };
