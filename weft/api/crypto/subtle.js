// crypto: Crypto and SubtleCrypto. https://www.w3.org/TR/webcrypto-2/#subtlecrypto-interface
//
// Every method converts its arguments, normalizes its algorithm and copies its data before it
// returns its promise. The promise is rejected for any error, also of these steps.
const { cryptoRandom, cryptoUuid } = native;
const { webidl } = realm;
const { converters, requiredArguments } = webidl;
const {
  allUsages, bytesOfText, dataError, find, innerOf, noAccess, normalize, notSupported, problem,
  supports, textOfBytes, toIdentifier, toJwk,
} = realm.crypto;
const {
  ArrayPrototypeIncludes, JSONParse, JSONStringify, ObjectKeys, TypeError,
  TypedArrayPrototypeGetByteLength, TypedArrayPrototypeGetSymbolToStringTag, Uint8Array,
} = realm.primordials;

const toFormat = webidl.enumConverter("KeyFormat", [
  "raw-public", "raw-private", "raw-seed", "raw-secret", "raw", "spki", "pkcs8", "jwk",
]);
const toUsages = webidl.sequenceConverter(webidl.enumConverter("KeyUsage", allUsages));
const toLength = webidl.nullableConverter(converters["unsigned long"]);
const enforced = { __proto__: null, enforceRange: true };
const toKey = converters.CryptoKey;


// Checks that the key belongs to the algorithm and has this usage.
function requireFor(params, key, usage) {
  const inner = innerOf(key);
  if (params.name !== inner.algorithm.name) {
    throw noAccess("The key belongs to another algorithm.");
  }
  if (!ArrayPrototypeIncludes(inner.usages, usage)) {
    throw noAccess(`The key is not meant to ${usage}.`);
  }
  return inner;
}

function requireSomeUsage(key) {
  const inner = innerOf(key);
  if (inner.type !== "public" && inner.usages.length === 0) {
    throw problem("SyntaxError", "A key that is not public needs a usage.");
  }
  return key;
}

// keyData: bytes, or a converted JsonWebKey.
function importKey(params, format, keyData, extractable, usages) {
  return requireSomeUsage(params.entry.run(params, format, keyData, extractable, usages));
}

function exportKey(format, key) {
  const inner = innerOf(key);
  const entry = find("exportKey", inner.algorithm.name);
  if (entry === undefined) throw notSupported(`A key of ${inner.algorithm.name} has no such form.`);
  if (!inner.extractable) throw noAccess("The key cannot be extracted.");
  return entry.run(format, inner);
}

// Finds the operation registered for wrapping, or else for encryption.
function normalizeWrap(identifier, wrap, cipher) {
  try {
    return normalize(identifier, wrap);
  } catch {
    return normalize(identifier, cipher);
  }
}

// The text without calling a method toJSON that an application has put on a prototype.
function jsonOf(jwk) {
  const plain = { __proto__: null };
  const keys = ObjectKeys(jwk);
  for (let i = 0; i < keys.length; i++) plain[keys[i]] = jwk[keys[i]];
  return JSONStringify(plain);
}

function jwkOfBytes(bytes) {
  let parsed;
  try {
    parsed = JSONParse(textOfBytes(new Uint8Array(bytes)));
  } catch {
    throw dataError("The key is not JSON.");
  }
  const jwk = toJwk(parsed, undefined, "The key");
  if (jwk.kty === undefined) throw dataError("The key has no type.");
  return jwk;
}

class SubtleCrypto {
  #brand;

  constructor() {
    if (arguments[0] !== webidl.internal) throw webidl.illegalConstructor();
  }

  async encrypt(algorithm, key, data) {
    this.#brand;
    const prefix = "Failed to execute 'encrypt' on 'SubtleCrypto'";
    requiredArguments(arguments.length, 3, prefix);
    algorithm = toIdentifier(algorithm, prefix, "Argument 1");
    key = toKey(key, prefix, "Argument 2");
    data = converters.BufferSource(data, prefix, "Argument 3");
    const params = normalize(algorithm, "encrypt");
    data = webidl.copyBytes(data);
    return params.entry.run(params, requireFor(params, key, "encrypt"), data);
  }

  async decrypt(algorithm, key, data) {
    this.#brand;
    const prefix = "Failed to execute 'decrypt' on 'SubtleCrypto'";
    requiredArguments(arguments.length, 3, prefix);
    algorithm = toIdentifier(algorithm, prefix, "Argument 1");
    key = toKey(key, prefix, "Argument 2");
    data = converters.BufferSource(data, prefix, "Argument 3");
    const params = normalize(algorithm, "decrypt");
    data = webidl.copyBytes(data);
    return params.entry.run(params, requireFor(params, key, "decrypt"), data);
  }

  async sign(algorithm, key, data) {
    this.#brand;
    const prefix = "Failed to execute 'sign' on 'SubtleCrypto'";
    requiredArguments(arguments.length, 3, prefix);
    algorithm = toIdentifier(algorithm, prefix, "Argument 1");
    key = toKey(key, prefix, "Argument 2");
    data = converters.BufferSource(data, prefix, "Argument 3");
    const params = normalize(algorithm, "sign");
    data = webidl.copyBytes(data);
    return params.entry.run(params, requireFor(params, key, "sign"), data);
  }

  async verify(algorithm, key, signature, data) {
    this.#brand;
    const prefix = "Failed to execute 'verify' on 'SubtleCrypto'";
    requiredArguments(arguments.length, 4, prefix);
    algorithm = toIdentifier(algorithm, prefix, "Argument 1");
    key = toKey(key, prefix, "Argument 2");
    signature = converters.BufferSource(signature, prefix, "Argument 3");
    data = converters.BufferSource(data, prefix, "Argument 4");
    const params = normalize(algorithm, "verify");
    signature = webidl.copyBytes(signature);
    data = webidl.copyBytes(data);
    return params.entry.run(params, requireFor(params, key, "verify"), signature, data);
  }

  async digest(algorithm, data) {
    this.#brand;
    const prefix = "Failed to execute 'digest' on 'SubtleCrypto'";
    requiredArguments(arguments.length, 2, prefix);
    algorithm = toIdentifier(algorithm, prefix, "Argument 1");
    data = converters.BufferSource(data, prefix, "Argument 2");
    const params = normalize(algorithm, "digest");
    return params.entry.run(params, webidl.copyBytes(data));
  }

  async generateKey(algorithm, extractable, keyUsages) {
    this.#brand;
    const prefix = "Failed to execute 'generateKey' on 'SubtleCrypto'";
    requiredArguments(arguments.length, 3, prefix);
    algorithm = toIdentifier(algorithm, prefix, "Argument 1");
    extractable = !!extractable;
    const usages = toUsages(keyUsages, prefix, "Argument 3");
    const params = normalize(algorithm, "generateKey");
    const made = await params.entry.run(params, extractable, usages);
    requireSomeUsage(made.privateKey ?? made);
    return made;
  }

  async deriveKey(algorithm, baseKey, derivedKeyType, extractable, keyUsages) {
    this.#brand;
    const prefix = "Failed to execute 'deriveKey' on 'SubtleCrypto'";
    requiredArguments(arguments.length, 5, prefix);
    algorithm = toIdentifier(algorithm, prefix, "Argument 1");
    baseKey = toKey(baseKey, prefix, "Argument 2");
    derivedKeyType = toIdentifier(derivedKeyType, prefix, "Argument 3");
    extractable = !!extractable;
    const usages = toUsages(keyUsages, prefix, "Argument 5");
    const params = normalize(algorithm, "deriveBits");
    const importParams = normalize(derivedKeyType, "importKey");
    const lengthParams = normalize(derivedKeyType, "getKeyLength");
    const inner = requireFor(params, baseKey, "deriveKey");
    const length = lengthParams.entry.run(lengthParams);
    const secret = await params.entry.run(params, inner, length);
    return importKey(importParams, "raw-secret", new Uint8Array(secret), extractable, usages);
  }

  async deriveBits(algorithm, baseKey, length = null) {
    this.#brand;
    const prefix = "Failed to execute 'deriveBits' on 'SubtleCrypto'";
    requiredArguments(arguments.length, 2, prefix);
    algorithm = toIdentifier(algorithm, prefix, "Argument 1");
    baseKey = toKey(baseKey, prefix, "Argument 2");
    length = toLength(length, prefix, "Argument 3", enforced);
    const params = normalize(algorithm, "deriveBits");
    return params.entry.run(params, requireFor(params, baseKey, "deriveBits"), length);
  }

  async importKey(format, keyData, algorithm, extractable, keyUsages) {
    this.#brand;
    const prefix = "Failed to execute 'importKey' on 'SubtleCrypto'";
    requiredArguments(arguments.length, 5, prefix);
    format = toFormat(format, prefix, "Argument 1");
    const isBytes = webidl.isBufferSource(keyData);
    keyData = isBytes ? converters.BufferSource(keyData, prefix, "Argument 2")
      : toJwk(keyData, prefix, "Argument 2");
    algorithm = toIdentifier(algorithm, prefix, "Argument 3");
    extractable = !!extractable;
    const usages = toUsages(keyUsages, prefix, "Argument 5");
    const params = normalize(algorithm, "importKey");
    if (isBytes === (format === "jwk")) {
      throw new TypeError(`${prefix}: Argument 2 is not a key of the form '${format}'`);
    }
    if (isBytes) keyData = webidl.copyBytes(keyData);
    return importKey(params, format, keyData, extractable, usages);
  }

  async exportKey(format, key) {
    this.#brand;
    const prefix = "Failed to execute 'exportKey' on 'SubtleCrypto'";
    requiredArguments(arguments.length, 2, prefix);
    format = toFormat(format, prefix, "Argument 1");
    return exportKey(format, toKey(key, prefix, "Argument 2"));
  }

  async wrapKey(format, key, wrappingKey, wrapAlgorithm) {
    this.#brand;
    const prefix = "Failed to execute 'wrapKey' on 'SubtleCrypto'";
    requiredArguments(arguments.length, 4, prefix);
    format = toFormat(format, prefix, "Argument 1");
    key = toKey(key, prefix, "Argument 2");
    wrappingKey = toKey(wrappingKey, prefix, "Argument 3");
    wrapAlgorithm = toIdentifier(wrapAlgorithm, prefix, "Argument 4");
    const params = normalizeWrap(wrapAlgorithm, "wrapKey", "encrypt");
    const inner = requireFor(params, wrappingKey, "wrapKey");
    const exported = exportKey(format, key);
    const bytes = format === "jwk" ? bytesOfText(jsonOf(exported)) : exported;
    return params.entry.run(params, inner, bytes);
  }

  async unwrapKey(format, wrappedKey, unwrappingKey, unwrapAlgorithm, unwrappedKeyAlgorithm,
    extractable, keyUsages) {
    this.#brand;
    const prefix = "Failed to execute 'unwrapKey' on 'SubtleCrypto'";
    requiredArguments(arguments.length, 7, prefix);
    format = toFormat(format, prefix, "Argument 1");
    wrappedKey = converters.BufferSource(wrappedKey, prefix, "Argument 2");
    unwrappingKey = toKey(unwrappingKey, prefix, "Argument 3");
    unwrapAlgorithm = toIdentifier(unwrapAlgorithm, prefix, "Argument 4");
    unwrappedKeyAlgorithm = toIdentifier(unwrappedKeyAlgorithm, prefix, "Argument 5");
    extractable = !!extractable;
    const usages = toUsages(keyUsages, prefix, "Argument 7");
    const params = normalizeWrap(unwrapAlgorithm, "unwrapKey", "decrypt");
    const importParams = normalize(unwrappedKeyAlgorithm, "importKey");
    const wrapped = webidl.copyBytes(wrappedKey);
    const inner = requireFor(params, unwrappingKey, "unwrapKey");
    const bytes = await params.entry.run(params, inner, wrapped);
    const keyData = format === "jwk" ? jwkOfBytes(bytes) : new Uint8Array(bytes);
    return importKey(importParams, format, keyData, extractable, usages);
  }

  async encapsulateKey(encapsulationAlgorithm, encapsulationKey, sharedKeyAlgorithm, extractable,
    keyUsages) {
    this.#brand;
    const prefix = "Failed to execute 'encapsulateKey' on 'SubtleCrypto'";
    requiredArguments(arguments.length, 5, prefix);
    const algorithm = toIdentifier(encapsulationAlgorithm, prefix, "Argument 1");
    const key = toKey(encapsulationKey, prefix, "Argument 2");
    sharedKeyAlgorithm = toIdentifier(sharedKeyAlgorithm, prefix, "Argument 3");
    extractable = !!extractable;
    const usages = toUsages(keyUsages, prefix, "Argument 5");
    const params = normalize(algorithm, "encapsulate");
    const importParams = normalize(sharedKeyAlgorithm, "importKey");
    const inner = requireFor(params, key, "encapsulateKey");
    const { sharedKey, ciphertext } = params.entry.run(params, inner);
    return {
      sharedKey: importKey(
        importParams, "raw-secret", new Uint8Array(sharedKey), extractable, usages),
      ciphertext,
    };
  }

  async encapsulateBits(encapsulationAlgorithm, encapsulationKey) {
    this.#brand;
    const prefix = "Failed to execute 'encapsulateBits' on 'SubtleCrypto'";
    requiredArguments(arguments.length, 2, prefix);
    const algorithm = toIdentifier(encapsulationAlgorithm, prefix, "Argument 1");
    const key = toKey(encapsulationKey, prefix, "Argument 2");
    const params = normalize(algorithm, "encapsulate");
    return params.entry.run(params, requireFor(params, key, "encapsulateBits"));
  }

  async decapsulateKey(decapsulationAlgorithm, decapsulationKey, ciphertext, sharedKeyAlgorithm,
    extractable, keyUsages) {
    this.#brand;
    const prefix = "Failed to execute 'decapsulateKey' on 'SubtleCrypto'";
    requiredArguments(arguments.length, 6, prefix);
    const algorithm = toIdentifier(decapsulationAlgorithm, prefix, "Argument 1");
    const key = toKey(decapsulationKey, prefix, "Argument 2");
    ciphertext = converters.BufferSource(ciphertext, prefix, "Argument 3");
    sharedKeyAlgorithm = toIdentifier(sharedKeyAlgorithm, prefix, "Argument 4");
    extractable = !!extractable;
    const usages = toUsages(keyUsages, prefix, "Argument 6");
    const params = normalize(algorithm, "decapsulate");
    const importParams = normalize(sharedKeyAlgorithm, "importKey");
    ciphertext = webidl.copyBytes(ciphertext);
    const inner = requireFor(params, key, "decapsulateKey");
    const shared = new Uint8Array(params.entry.run(params, inner, ciphertext));
    return importKey(importParams, "raw-secret", shared, extractable, usages);
  }

  async decapsulateBits(decapsulationAlgorithm, decapsulationKey, ciphertext) {
    this.#brand;
    const prefix = "Failed to execute 'decapsulateBits' on 'SubtleCrypto'";
    requiredArguments(arguments.length, 3, prefix);
    const algorithm = toIdentifier(decapsulationAlgorithm, prefix, "Argument 1");
    const key = toKey(decapsulationKey, prefix, "Argument 2");
    ciphertext = converters.BufferSource(ciphertext, prefix, "Argument 3");
    const params = normalize(algorithm, "decapsulate");
    ciphertext = webidl.copyBytes(ciphertext);
    return params.entry.run(params, requireFor(params, key, "decapsulateBits"), ciphertext);
  }

  async getPublicKey(key, keyUsages) {
    this.#brand;
    const prefix = "Failed to execute 'getPublicKey' on 'SubtleCrypto'";
    requiredArguments(arguments.length, 2, prefix);
    key = toKey(key, prefix, "Argument 1");
    const usages = toUsages(keyUsages, prefix, "Argument 2");
    const inner = innerOf(key);
    const entry = find("getPublicKey", inner.algorithm.name);
    if (entry === undefined) throw notSupported(`${inner.algorithm.name} has no public keys.`);
    return entry.run(inner, usages);
  }

  static supports(operation, algorithm, third = undefined) {
    const prefix = "Failed to execute 'supports' on 'SubtleCrypto'";
    requiredArguments(arguments.length, 2, prefix);
    return supports(operation, algorithm, third, prefix);
  }
}
webidl.configureInterface(SubtleCrypto);

// ---- crypto

const kRandomBytesMax = 65536;
const integerArrays = [
  "Int8Array", "Uint8Array", "Uint8ClampedArray", "Int16Array", "Uint16Array", "Int32Array",
  "Uint32Array", "BigInt64Array", "BigUint64Array",
];

class Crypto {
  #subtle = new SubtleCrypto(webidl.internal);

  constructor() {
    if (arguments[0] !== webidl.internal) throw webidl.illegalConstructor();
  }

  get subtle() {
    return this.#subtle;
  }

  getRandomValues(array) {
    this.#subtle;
    const prefix = "Failed to execute 'getRandomValues' on 'Crypto'";
    requiredArguments(arguments.length, 1, prefix);
    array = converters.ArrayBufferView(array, prefix, "Argument 1");
    const kind = TypedArrayPrototypeGetSymbolToStringTag(array);
    if (!ArrayPrototypeIncludes(integerArrays, kind)) {
      throw problem("TypeMismatchError", `${prefix}: the array is not one of integers`);
    }
    if (TypedArrayPrototypeGetByteLength(array) > kRandomBytesMax) {
      throw new realm.QuotaExceededError(
        `${prefix}: ${kRandomBytesMax} bytes can be had at once, no more`);
    }
    cryptoRandom(array);
    return array;
  }

  randomUUID() {
    this.#subtle;
    return cryptoUuid();
  }
}
webidl.configureInterface(Crypto);

realm.expose({ Crypto, SubtleCrypto });
realm.readonlyAttribute("crypto", new Crypto(webidl.internal));
