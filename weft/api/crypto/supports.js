// SubtleCrypto.supports() and its table of operations.
// https://wicg.github.io/webcrypto-modern-algos/#checking-support-for-an-algorithm
const { find, normalize, toIdentifier } = realm.crypto;
const { webidl } = realm;
const { Uint8Array } = realm.primordials;

const toLength = webidl.nullableConverter(webidl.converters["unsigned long"]);
const enforced = { __proto__: null, enforceRange: true };

// The methods and the names of their operations in the registry.
const operations = {
  __proto__: null,
  encrypt: "encrypt",
  decrypt: "decrypt",
  sign: "sign",
  verify: "verify",
  digest: "digest",
  generateKey: "generateKey",
  deriveKey: "deriveKey",
  deriveBits: "deriveBits",
  importKey: "importKey",
  exportKey: "exportKey",
  wrapKey: "wrapKey",
  unwrapKey: "unwrapKey",
  encapsulateKey: "encapsulate",
  encapsulateBits: "encapsulate",
  decapsulateKey: "decapsulate",
  decapsulateBits: "decapsulate",
  getPublicKey: "getPublicKey",
};
// The operation that is used if an algorithm has not registered this one.
const substitutes = { __proto__: null, wrapKey: "encrypt", unwrapKey: "decrypt" };
// The operation that the second algorithm must support.
const seconds = {
  __proto__: null,
  deriveKey: "importKey",
  unwrapKey: "importKey",
  encapsulateKey: "importKey",
  decapsulateKey: "importKey",
  wrapKey: "exportKey",
};

function isSupported(operation, algorithm, length) {
  try {
    const params = normalize(algorithm, operation);
    params.entry.check?.(params, length);
    return true;
  } catch {
    const substitute = substitutes[operation];
    return substitute !== undefined && isSupported(substitute, algorithm, length);
  }
}

function keyLength(algorithm) {
  const params = normalize(algorithm, "getKeyLength");
  return params.entry.run(params);
}

// The number of bytes that an encapsulation gives, of which the key is made.
const kSharedBytes = 32;

function takesShared(algorithm) {
  try {
    const params = normalize(algorithm, "importKey");
    params.entry.run(params, "raw-secret", new Uint8Array(kSharedBytes), false, []);
    return true;
  } catch {
    return false;
  }
}

function supportsWithKey(operation, algorithm, other) {
  const second = seconds[operation];
  if (second !== undefined && !isSupported(second, other, null)) return false;
  if (operation === "encapsulateKey" || operation === "decapsulateKey") {
    return takesShared(other) && isSupported(operations[operation], algorithm, null);
  }
  if (operation !== "deriveKey") return isSupported(operations[operation], algorithm, null);
  let length;
  try {
    length = keyLength(other);
  } catch {
    return false;
  }
  return isSupported("deriveBits", algorithm, length);
}

// The third argument is a length, or another algorithm; Web IDL tells them apart by their types.
realm.crypto.supports = (operation, algorithm, third, prefix) => {
  operation = webidl.converters.DOMString(operation, prefix, "Argument 1");
  algorithm = toIdentifier(algorithm, prefix, "Argument 2");
  const isLength = third === undefined || third === null || typeof third === "number" ||
    typeof third === "bigint";
  if (isLength) {
    const length = toLength(third, prefix, "Argument 3", enforced);
    return operations[operation] !== undefined &&
      isSupported(operations[operation], algorithm, length);
  }
  const other = toIdentifier(third, prefix, "Argument 3");
  return operations[operation] !== undefined && supportsWithKey(operation, algorithm, other);
};
