// HMAC, KMAC, AES, ChaCha20-Poly1305, HKDF, PBKDF2 and Argon2 of Web Cryptography.
const {
  cryptoAead, cryptoAesCbc, cryptoAesCtr, cryptoAesKw, cryptoArgon2Later, cryptoEqual, cryptoHkdf,
  cryptoHmac, cryptoKmac, cryptoPbkdf2Later, cryptoRandom,
} = native;
const {
  checkJwk, dataError, exportedJwk, fromBase64Url, hashes, members, newKey, notSupported,
  operationError, paramsConverter, problem, rawAlias, register, required, requiredLater,
  requireUsages, toBase64Url,
} = realm.crypto;
const { ArrayPrototypeIncludes, MathCeil, TypeError, Uint8Array } = realm.primordials;

const noBytes = new Uint8Array(0);

// The unused bits of the last byte are zero.
function randomBits(length) {
  const bytes = new Uint8Array(MathCeil(length / 8));
  cryptoRandom(bytes);
  if (length % 8 !== 0) bytes[bytes.length - 1] &= 0xff << (8 - (length % 8));
  return bytes;
}

// The length of the key in bits: all bits of the data, or up to seven fewer.
function keyBits(data, length) {
  const bits = data.length * 8;
  if (length === undefined) return bits;
  if (length > bits || length <= bits - 8) throw dataError();
  return length;
}

// The formats of a secret that consists of bytes. `raw` is the name of the unstructured format.
function secretOf(name, raw, keyData, format, toBytes) {
  if (format === "jwk") return toBytes(keyData);
  if (format !== raw) throw notSupported(`A key of ${name} has no form '${format}'.`);
  return keyData;
}

function exportedSecret(raw, alg, format, key) {
  if (format === raw) return new Uint8Array(key.data).buffer;
  if (format !== "jwk") {
    throw notSupported(`A key of ${key.algorithm.name} has no form '${format}'.`);
  }
  return exportedJwk(key, { kty: "oct", k: toBase64Url(key.data), alg });
}

// ---- HMAC

const macUsages = ["sign", "verify"];

function newHmacKey(hash, length, extractable, usages, data) {
  return newKey("secret", extractable, { name: "HMAC", hash, length }, usages, data);
}

register("sign", "HMAC", undefined, (params, key, data) =>
  required(cryptoHmac(key.algorithm.hash, key.data, data)));
register("verify", "HMAC", undefined, (params, key, signature, data) =>
  cryptoEqual(required(cryptoHmac(key.algorithm.hash, key.data, data)), signature));

const toHmacParams = paramsConverter("HmacImportParams", [
  members.hash, members.integer("length", "unsigned long", false),
]);

function checkHmacGenerate({ length }) {
  if (length === 0) throw operationError("A key of no length cannot be generated.");
}

register("generateKey", "HMAC", toHmacParams, (params, extractable, usages) => {
  requireUsages(usages, macUsages);
  checkHmacGenerate(params);
  const length = params.length ?? hashes[params.hash].blockBits;
  return newHmacKey(params.hash, length, extractable, usages, randomBits(length));
}, checkHmacGenerate);

register("importKey", "HMAC", toHmacParams, (params, format, keyData, extractable, usages) => {
  requireUsages(usages, macUsages);
  const data = secretOf("HMAC", "raw", keyData, rawAlias(format, "raw-secret"), (jwk) => {
    checkJwk(jwk, "oct", "sig", extractable, usages);
    const bytes = fromBase64Url(jwk.k);
    if (jwk.alg !== undefined && jwk.alg !== hashes[params.hash].hs) throw dataError();
    return bytes;
  });
  if (data.length === 0) throw dataError("The key has no length.");
  const length = keyBits(data, params.length);
  return newHmacKey(params.hash, length, extractable, usages, data);
}, ({ length }) => {
  if (length === 0) throw dataError("The key has no length.");
});

register("exportKey", "HMAC", undefined, (format, key) =>
  exportedSecret("raw", hashes[key.algorithm.hash].hs, rawAlias(format, "raw-secret"), key));

register("getKeyLength", "HMAC", toHmacParams, (params) => {
  if (params.length === 0) throw new TypeError("A key of no length cannot be derived.");
  return params.length ?? hashes[params.hash].blockBits;
});

// ---- KMAC

const toKmacLength = paramsConverter("KmacImportParams", [
  members.integer("length", "unsigned long", false),
]);
const toKmacParams = paramsConverter("KmacParams", [
  members.integer("outputLength", "unsigned long"), members.optionalBytes("customization"),
]);

function registerKmac(strength) {
  const name = `KMAC${strength}`;
  const mac = ({ customization, outputLength }, key, data) =>
    cryptoKmac(strength, key.data, customization ?? noBytes, outputLength, data);

  register("sign", name, toKmacParams, mac);
  register("verify", name, toKmacParams, (params, key, signature, data) =>
    cryptoEqual(mac(params, key, data), signature));

  register("generateKey", name, toKmacLength, (params, extractable, usages) => {
    requireUsages(usages, macUsages);
    checkHmacGenerate(params);
    const { length = strength } = params;
    return newKey("secret", extractable, { name, length }, usages, randomBits(length));
  }, checkHmacGenerate);

  register("importKey", name, toKmacLength, (params, format, keyData, extractable, usages) => {
    requireUsages(usages, macUsages);
    const data = secretOf(name, "raw-secret", keyData, format, (jwk) => {
      if (jwk.kty !== "oct") throw dataError();
      const bytes = fromBase64Url(jwk.k);
      if (jwk.alg !== undefined && jwk.alg !== `K${strength}`) throw dataError();
      // NB: The draft says "sign", but a JSON Web Key has no such value for `use`.
      checkJwk(jwk, "oct", "sig", extractable, usages);
      return bytes;
    });
    const length = keyBits(data, params.length);
    return newKey("secret", extractable, { name, length }, usages, data);
  });

  register("exportKey", name, undefined, (format, key) =>
    exportedSecret("raw-secret", `K${strength}`, format, key));

  register("getKeyLength", name, toKmacLength, ({ length = strength }) => length);
}
registerKmac(128);
registerKmac(256);

// ---- AES

const toAesLength = paramsConverter("AesKeyGenParams", [
  members.integer("length", "unsigned short"),
]);
const aesBits = [128, 192, 256];

function requireAesLength({ length }) {
  if (!ArrayPrototypeIncludes(aesBits, length)) {
    throw operationError("A key of AES has 128, 192 or 256 bits.");
  }
}

// `raw` is the name of the unstructured format, `alias` another name for it.
function registerAes(name, suffix, aesUsages, raw = "raw", alias = "raw-secret") {
  const formOf = (format) => (format === alias ? raw : format);
  const newAesKey = (length, extractable, usages, data) =>
    newKey("secret", extractable, { name, length }, usages, data);

  register("generateKey", name, toAesLength, (params, extractable, usages) => {
    requireUsages(usages, aesUsages);
    requireAesLength(params);
    return newAesKey(params.length, extractable, usages, randomBits(params.length));
  }, requireAesLength);

  register("importKey", name, undefined, (params, format, keyData, extractable, usages) => {
    requireUsages(usages, aesUsages);
    const data = secretOf(name, raw, keyData, formOf(format), (jwk) => {
      if (jwk.kty !== "oct") throw dataError();
      return fromBase64Url(jwk.k);
    });
    const length = data.length * 8;
    if (!ArrayPrototypeIncludes(aesBits, length)) throw dataError();
    if (format === "jwk") {
      if (keyData.alg !== undefined && keyData.alg !== `A${length}${suffix}`) throw dataError();
      checkJwk(keyData, "oct", "enc", extractable, usages);
    }
    return newAesKey(length, extractable, usages, data);
  });

  register("exportKey", name, undefined, (format, key) =>
    exportedSecret(raw, `A${key.algorithm.length}${suffix}`, formOf(format), key));

  register("getKeyLength", name, toAesLength, (params) => {
    requireAesLength(params);
    return params.length;
  });
}

const cipherUsages = ["encrypt", "decrypt", "wrapKey", "unwrapKey"];
registerAes("AES-CBC", "CBC", cipherUsages);
registerAes("AES-CTR", "CTR", cipherUsages);
registerAes("AES-GCM", "GCM", cipherUsages);
registerAes("AES-KW", "KW", ["wrapKey", "unwrapKey"]);
registerAes("AES-OCB", "OCB", cipherUsages, "raw-secret", "raw-secret");

function registerCipher(name, toParams, run, check) {
  const checked = (encrypts) => (params, key, data) => {
    check(params);
    return run(encrypts, params, key, data);
  };
  register("encrypt", name, toParams, checked(true), check);
  register("decrypt", name, toParams, checked(false), check);
}

registerCipher("AES-CBC", paramsConverter("AesCbcParams", [members.bytes("iv")]),
  (encrypts, { iv }, key, data) => required(cryptoAesCbc(encrypts, key.data, iv, data)),
  ({ iv }) => {
    if (iv.length !== 16) throw operationError("The iv of AES-CBC has 16 bytes.");
  });

registerCipher("AES-CTR",
  paramsConverter("AesCtrParams", [members.bytes("counter"), members.integer("length", "octet")]),
  (encrypts, { counter, length }, key, data) =>
    required(cryptoAesCtr(key.data, counter, length, data)),
  ({ counter, length }) => {
    if (counter.length !== 16) throw operationError("The counter of AES-CTR has 16 bytes.");
    if (length === 0 || length > 128) throw operationError("1 to 128 bits of AES-CTR count.");
  });

const toAeadParams = paramsConverter("AeadParams", [
  members.bytes("iv"), members.optionalBytes("additionalData"),
  members.integer("tagLength", "octet", false),
]);

function registerAead(name, tagBits, checkIv) {
  registerCipher(name, toAeadParams,
    (encrypts, { iv, additionalData, tagLength = 128 }, key, data) => required(cryptoAead(
      name, encrypts, key.data, iv, additionalData ?? noBytes, tagLength / 8, data)),
    ({ iv, tagLength = 128 }) => {
      checkIv(iv.length);
      if (!ArrayPrototypeIncludes(tagBits, tagLength)) {
        throw operationError(`A tag of ${name} cannot have ${tagLength} bits.`);
      }
    });
}
registerAead("AES-GCM", [32, 64, 96, 104, 112, 120, 128], () => {});
registerAead("AES-OCB", [64, 96, 128], (length) => {
  if (length > 15) throw operationError("The iv of AES-OCB has 15 bytes at most.");
});
registerAead("ChaCha20-Poly1305", [128], (length) => {
  if (length !== 12) throw operationError("The iv of ChaCha20-Poly1305 has 12 bytes.");
});

register("wrapKey", "AES-KW", undefined, (params, key, data) =>
  required(cryptoAesKw(true, key.data, data)));
register("unwrapKey", "AES-KW", undefined, (params, key, data) =>
  required(cryptoAesKw(false, key.data, data)));

// ---- keys of ChaCha20-Poly1305

const chacha = { name: "ChaCha20-Poly1305" };

register("generateKey", chacha.name, undefined, (params, extractable, usages) => {
  requireUsages(usages, cipherUsages);
  return newKey("secret", extractable, chacha, usages, randomBits(256));
});

register("importKey", chacha.name, undefined, (params, format, keyData, extractable, usages) => {
  requireUsages(usages, cipherUsages);
  const data = secretOf(chacha.name, "raw-secret", keyData, format, (jwk) => {
    if (jwk.kty !== "oct") throw dataError();
    const bytes = fromBase64Url(jwk.k);
    if (jwk.alg !== undefined && jwk.alg !== "C20P") throw dataError();
    checkJwk(jwk, "oct", "enc", extractable, usages);
    return bytes;
  });
  if (data.length !== 32) throw dataError("A key of ChaCha20 has 256 bits.");
  return newKey("secret", extractable, chacha, usages, data);
});

register("exportKey", chacha.name, undefined, (format, key) =>
  exportedSecret("raw-secret", "C20P", format, key));

register("getKeyLength", chacha.name, undefined, () => 256);

// ---- HKDF and PBKDF2

const deriveUsages = ["deriveKey", "deriveBits"];

function registerDerivation(name, toParams, run, check, raw = "raw") {
  register("importKey", name, undefined, (params, format, keyData, extractable, usages) => {
    if (format !== raw && format !== "raw-secret") {
      throw notSupported(`A key of ${name} has no form '${format}'.`);
    }
    requireUsages(usages, deriveUsages);
    if (extractable) {
      throw problem("SyntaxError", `A key of ${name} cannot be extracted.`);
    }
    return newKey("secret", false, { name }, usages, keyData);
  });
  const checkAll = (params, length) => {
    if (length === null || length % 8 !== 0) {
      throw operationError("The length is not a number of whole bytes.");
    }
    check(params, length);
  };
  register("deriveBits", name, toParams, (params, key, length) => {
    checkAll(params, length);
    return run(params, key, length / 8);
  }, checkAll);
  register("getKeyLength", name, undefined, () => null);
}

registerDerivation("HKDF",
  paramsConverter("HkdfParams", [members.hash, members.bytes("salt"), members.bytes("info")]),
  ({ hash, salt, info }, key, length) => required(cryptoHkdf(hash, key.data, salt, info, length)),
  ({ hash }, length) => {
    // RFC 5869, section 2.3
    if (length > 255 * hashes[hash].bits) throw operationError("HKDF gives 255 blocks at most.");
  });

registerDerivation("PBKDF2",
  paramsConverter("Pbkdf2Params", [
    members.bytes("salt"), members.integer("iterations", "unsigned long"), members.hash,
  ]),
  ({ hash, salt, iterations }, key, length) =>
    requiredLater(cryptoPbkdf2Later(hash, key.data, salt, iterations, length)),
  ({ iterations }) => {
    if (iterations === 0) throw operationError("PBKDF2 needs one iteration at least.");
  });

// ---- Argon2

const toArgon2Params = paramsConverter("Argon2Params", [
  members.bytes("nonce"), members.integer("parallelism", "unsigned long"),
  members.integer("memory", "unsigned long"), members.integer("passes", "unsigned long"),
  members.integer("version", "octet", false), members.optionalBytes("secretValue"),
  members.optionalBytes("associatedData"),
]);
const kArgon2Version = 19;
const kLanesMax = 2 ** 24 - 1;
// RFC 9106, section 4 recommends at most two gibibytes; much more could end the process.
const kKibibytesMax = 2 ** 21;

function checkArgon2({ memory, parallelism, passes, version = kArgon2Version }, length) {
  if (length < 32) throw operationError("Argon2 gives 32 bits at least.");
  if (version !== kArgon2Version) throw operationError("The version of Argon2 is 19.");
  if (parallelism === 0 || parallelism > kLanesMax || passes === 0) throw operationError();
  if (memory < 8 * parallelism) throw operationError("Each lane of Argon2 needs 8 kibibytes.");
  if (memory > kKibibytesMax) throw operationError("Argon2 can have two gibibytes at most.");
}

const argon2Names = ["Argon2d", "Argon2i", "Argon2id"];
for (let type = 0; type < argon2Names.length; type++) {
  registerDerivation(argon2Names[type], toArgon2Params, (params, key, length) =>
    requiredLater(cryptoArgon2Later(type, key.data, params.nonce, params.secretValue ?? noBytes,
      params.associatedData ?? noBytes, params.parallelism, params.memory, params.passes, length)),
  checkArgon2, "raw-secret");
}
