// The base of Web Cryptography: CryptoKey, the registry of algorithms and their normalization.
// https://www.w3.org/TR/webcrypto-2/
//
// The scripts of the algorithms register their operations in realm.crypto:
//     register("encrypt", "AES-GCM", toParams, run, check)
// run(params, key, data) returns an ArrayBuffer. toParams converts the dictionary; it is undefined
// for an algorithm that has only a name. check(params, length) throws for parameters that are valid
// for no key and no data: run() calls it at the step of the standard, and SubtleCrypto.supports()
// calls it alone.
const { DOMException, clone, webidl } = realm;
const { converters } = webidl;
const {
  ArrayPrototypeIncludes, ArrayPrototypePush, ArrayPrototypeSlice, ObjectKeys,
  StringFromCharCode, StringPrototypeCharCodeAt, StringPrototypeToUpperCase, Uint8Array,
} = realm.primordials;

// ---- keys

// The internal state of a key: { type, extractable, algorithm, usages, data }. `data` is the secret
// itself, or the DER encoding of one key of a pair.
let innerOf;
let isCryptoKey;

// The algorithm as scripts see it: plain objects, made once.
function publicAlgorithm(algorithm) {
  const copy = {};
  const keys = ObjectKeys(algorithm);
  for (let i = 0; i < keys.length; i++) {
    const value = algorithm[keys[i]];
    if (keys[i] === "hash") copy.hash = { name: value };
    else if (keys[i] === "publicExponent") copy.publicExponent = new Uint8Array(value);
    else copy[keys[i]] = value;
  }
  return copy;
}

class CryptoKey {
  #inner;
  #algorithm;
  #usages;

  constructor(token = undefined, inner = undefined) {
    if (token !== webidl.internal) throw webidl.illegalConstructor();
    this.#inner = inner;
  }
  get type() {
    return this.#inner.type;
  }
  get extractable() {
    return this.#inner.extractable;
  }
  get algorithm() {
    const inner = this.#inner;
    return this.#algorithm ??= publicAlgorithm(inner.algorithm);
  }
  get usages() {
    const inner = this.#inner;
    return this.#usages ??= ArrayPrototypeSlice(inner.usages);
  }

  static {
    isCryptoKey = (value) => #inner in value;
    innerOf = (key) => key.#inner;
  }
}
webidl.configureInterface(CryptoKey);
converters.CryptoKey = webidl.interfaceConverter("CryptoKey", (value) => isCryptoKey(value));
clone.serializable({
  is: (value) => isCryptoKey(value),
  clone: (key) => new CryptoKey(webidl.internal, innerOf(key)),
});

const allUsages = [
  "encrypt", "decrypt", "sign", "verify", "deriveKey", "deriveBits", "wrapKey", "unwrapKey",
  "encapsulateKey", "encapsulateBits", "decapsulateKey", "decapsulateBits",
];

// Each usage once, in the order of the standard.
function normalizedUsages(usages) {
  const normalized = [];
  for (let i = 0; i < allUsages.length; i++) {
    if (ArrayPrototypeIncludes(usages, allUsages[i])) ArrayPrototypePush(normalized, allUsages[i]);
  }
  return normalized;
}

function commonUsages(usages, allowed) {
  const common = [];
  for (let i = 0; i < allUsages.length; i++) {
    const usage = allUsages[i];
    if (ArrayPrototypeIncludes(usages, usage) && ArrayPrototypeIncludes(allowed, usage)) {
      ArrayPrototypePush(common, usage);
    }
  }
  return common;
}

function newKey(type, extractable, algorithm, usages, data) {
  return new CryptoKey(webidl.internal, {
    type, extractable, algorithm, usages: normalizedUsages(usages), data,
  });
}

// ---- errors

function problem(name, message) {
  return new DOMException(message, name);
}
const operationError = (message = "The operation failed for a reason of its own.") =>
  problem("OperationError", message);
const dataError = (message = "The data of the key do not fit.") => problem("DataError", message);
const notSupported = (message) => problem("NotSupportedError", message);
const noAccess = (message) => problem("InvalidAccessError", message);

function requireUsages(usages, allowed) {
  for (let i = 0; i < usages.length; i++) {
    if (!ArrayPrototypeIncludes(allowed, usages[i])) {
      throw problem("SyntaxError", `A key of this kind cannot be used to ${usages[i]}.`);
    }
  }
}

// ---- algorithms
// https://www.w3.org/TR/webcrypto-2/#algorithm-normalization

const registry = { __proto__: null };

function register(operation, name, toParams, run, check) {
  const table = registry[operation] ??= { __proto__: null };
  table[StringPrototypeToUpperCase(name)] = { name, toParams, run, check };
}

function find(operation, name) {
  return registry[operation]?.[StringPrototypeToUpperCase(name)];
}

const toAlgorithm = webidl.dictionaryConverter("Algorithm", [
  { key: "name", converter: converters.DOMString, required: true },
]);

function toIdentifier(value, prefix, context) {
  return webidl.isObject(value) ? value : converters.DOMString(value, prefix, context);
}

// An algorithm that uses a hash needs one with an output of fixed length.
function normalizeHash(identifier) {
  const { entry, name } = normalize(identifier, "digest");
  if (entry.toParams !== undefined) throw notSupported(`'${name}' is no hash of a fixed length.`);
  return name;
}

function normalize(identifier, operation) {
  const given = typeof identifier === "string" ? { name: identifier } : identifier;
  const { name } = toAlgorithm(given, undefined, "The algorithm");
  const entry = find(operation, name);
  if (entry === undefined) {
    throw notSupported(`The algorithm '${name}' cannot be used to ${operation}.`);
  }
  const params = entry.toParams === undefined ? { __proto__: null }
    : entry.toParams(given, undefined, "The algorithm");
  params.name = entry.name;
  const keys = ObjectKeys(params);
  for (let i = 0; i < keys.length; i++) {
    const value = params[keys[i]];
    if (keys[i] === "hash") params.hash = normalizeHash(value);
    else if (webidl.isBufferSource(value)) params[keys[i]] = webidl.copyBytes(value);
  }
  params.entry = entry;
  return params;
}

// Converts a dictionary that inherits from Algorithm; `members` as for webidl.dictionaryConverter.
// NB: normalize() has read the name before. Reading it again would call its getter twice, which
// other engines do not do.
function paramsConverter(name, members) {
  return webidl.dictionaryConverter(name, members);
}

const members = {
  __proto__: null,
  hash: { key: "hash", converter: toIdentifier, required: true },
  bytes: (key) => ({ key, converter: converters.BufferSource, required: true }),
  optionalBytes: (key) => ({ key, converter: converters.BufferSource }),
  integer: (key, type, required = true) =>
    ({ key, converter: converters[type], options: { enforceRange: true }, required }),
};

// ---- base64url

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

function toBase64Url(buffer) {
  const bytes = new Uint8Array(buffer);
  let text = "";
  let bits = 0;
  let held = 0;
  for (let i = 0; i < bytes.length; i++) {
    held = (held << 8) | bytes[i];
    bits += 8;
    while (bits >= 6) {
      bits -= 6;
      text += alphabet[(held >> bits) & 63];
    }
    held &= (1 << bits) - 1;
  }
  return bits === 0 ? text : text + alphabet[(held << (6 - bits)) & 63];
}

function digitOf(code) {
  if (code >= 65 && code <= 90) return code - 65;
  if (code >= 97 && code <= 122) return code - 71;
  if (code >= 48 && code <= 57) return code + 4;
  return code === 45 ? 62 : code === 95 ? 63 : -1;
}

function fromBase64Url(text) {
  if (typeof text !== "string" || text.length % 4 === 1) throw dataError();
  const bytes = new Uint8Array((text.length * 3) >> 2);
  let bits = 0;
  let held = 0;
  let at = 0;
  for (let i = 0; i < text.length; i++) {
    const digit = digitOf(StringPrototypeCharCodeAt(text, i));
    if (digit < 0) throw dataError();
    held = (held << 6) | digit;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes[at++] = held >> bits;
      held &= (1 << bits) - 1;
    }
  }
  return bytes;
}

// ---- JSON Web Keys

const text = (key) => ({ key, converter: converters.DOMString });
const toOtherPrimes = webidl.dictionaryConverter("RsaOtherPrimesInfo",
  [text("r"), text("d"), text("t")]);
const toJwk = webidl.dictionaryConverter("JsonWebKey", [
  text("kty"), text("use"), { key: "key_ops", converter: converters["sequence<DOMString>"] },
  text("alg"), { key: "ext", converter: converters.boolean }, text("crv"), text("x"), text("y"),
  text("d"), text("n"), text("e"), text("p"), text("q"), text("dp"), text("dq"), text("qi"),
  { key: "oth", converter: webidl.sequenceConverter(toOtherPrimes) }, text("k"), text("pub"),
  text("priv"),
]);

// The checks that every kind of key has in common. `use` is the required value of that member.
function checkJwk(jwk, kty, use, extractable, usages) {
  if (jwk.kty !== kty) throw dataError(`The JSON Web Key is not of the type '${kty}'.`);
  if (usages.length > 0 && jwk.use !== undefined && jwk.use !== use) {
    throw dataError("The JSON Web Key is for another use.");
  }
  if (jwk.key_ops !== undefined) {
    const seen = { __proto__: null };
    for (let i = 0; i < jwk.key_ops.length; i++) {
      if (seen[jwk.key_ops[i]]) throw dataError("The JSON Web Key names an operation twice.");
      seen[jwk.key_ops[i]] = true;
    }
    for (let i = 0; i < usages.length; i++) {
      if (!seen[usages[i]]) throw dataError(`The JSON Web Key is not meant to ${usages[i]}.`);
    }
  }
  if (jwk.ext === false && extractable) {
    throw dataError("The JSON Web Key is not meant to be extracted.");
  }
}

// The members that every exported key has. Some combinations have no `alg`.
function exportedJwk(inner, own) {
  if (own.alg === undefined) delete own.alg;
  return { ...own, key_ops: ArrayPrototypeSlice(inner.usages), ext: inner.extractable };
}

// "raw" was renamed when several kinds of raw keys were introduced; algorithms that had "raw"
// accept both names.
const rawAlias = (format, alias) => (format === alias ? "raw" : format);

// The bytes of an ASCII text.
function bytesOfText(source) {
  const bytes = new Uint8Array(source.length);
  for (let i = 0; i < source.length; i++) bytes[i] = StringPrototypeCharCodeAt(source, i);
  return bytes;
}
function textOfBytes(bytes) {
  let source = "";
  for (let i = 0; i < bytes.length; i++) source += StringFromCharCode(bytes[i]);
  return source;
}

realm.crypto = {
  __proto__: null,
  CryptoKey, allUsages, bytesOfText, checkJwk, commonUsages, dataError, exportedJwk, find, fromBase64Url,
  innerOf, members, newKey, noAccess, normalize, notSupported, operationError,
  paramsConverter, problem, rawAlias, register, requireUsages, textOfBytes, toBase64Url, toIdentifier, toJwk,
};
realm.expose({ CryptoKey });
