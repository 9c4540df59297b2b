// SHA, HMAC, AES, HKDF and PBKDF2 of Web Cryptography.
const {
  cryptoAesCbc, cryptoAesCtr, cryptoAesGcm, cryptoAesKw, cryptoDigest, cryptoEqual, cryptoHkdf,
  cryptoHmac, cryptoPbkdf2Later, cryptoRandom,
} = native;
const {
  checkJwk, dataError, exportedJwk, fromBase64Url, members, newKey, notSupported,
  operationError, paramsConverter, register, requireUsages, toBase64Url,
} = realm.crypto;
const {
  ArrayPrototypeIncludes, MathCeil, PromisePrototypeThen, TypeError, Uint8Array,
} = realm.primordials;

// A native leaf gives undefined when it fails.
function required(result) {
  if (result === undefined) throw operationError();
  return result;
}

// The same of a promise.
function requiredLater(result) {
  return PromisePrototypeThen(result, undefined, () => {
    throw operationError();
  });
}

function randomBytes(length) {
  const bytes = new Uint8Array(length);
  cryptoRandom(bytes);
  return bytes;
}

// ---- SHA

const hashes = {
  __proto__: null,
  "SHA-1": { blockBits: 512, hs: "HS1" },
  "SHA-256": { blockBits: 512, hs: "HS256" },
  "SHA-384": { blockBits: 1024, hs: "HS384" },
  "SHA-512": { blockBits: 1024, hs: "HS512" },
};
for (const name of ["SHA-1", "SHA-256", "SHA-384", "SHA-512"]) {
  register("digest", name, undefined, (params, data) => required(cryptoDigest(name, data)));
}

// ---- HMAC

const hmacUsages = ["sign", "verify"];

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

register("generateKey", "HMAC", toHmacParams, (params, extractable, usages) => {
  requireUsages(usages, hmacUsages);
  if (params.length === 0) throw operationError("A key of no length cannot be generated.");
  const length = params.length ?? hashes[params.hash].blockBits;
  const data = randomBytes(MathCeil(length / 8));
  if (length % 8 !== 0) data[data.length - 1] &= 0xff << (8 - (length % 8));
  return newHmacKey(params.hash, length, extractable, usages, data);
});

register("importKey", "HMAC", toHmacParams, (params, format, keyData, extractable, usages) => {
  requireUsages(usages, hmacUsages);
  let data = keyData;
  if (format === "jwk") {
    checkJwk(keyData, "oct", "sig", extractable, usages);
    data = fromBase64Url(keyData.k);
    if (keyData.alg !== undefined && keyData.alg !== hashes[params.hash].hs) throw dataError();
  } else if (format !== "raw") {
    throw notSupported(`A key of HMAC has no form '${format}'.`);
  }
  let length = data.length * 8;
  if (length === 0) throw dataError("The key has no length.");
  if (params.length !== undefined) {
    if (params.length > length || params.length <= length - 8) throw dataError();
    length = params.length;
  }
  return newHmacKey(params.hash, length, extractable, usages, data);
});

register("exportKey", "HMAC", undefined, (format, key) => {
  if (format === "raw") return new Uint8Array(key.data).buffer;
  if (format !== "jwk") throw notSupported(`A key of HMAC has no form '${format}'.`);
  return exportedJwk(key, {
    kty: "oct", k: toBase64Url(key.data), alg: hashes[key.algorithm.hash].hs,
  });
});

register("getKeyLength", "HMAC", toHmacParams, (params) => {
  if (params.length === 0) throw new TypeError("A key of no length cannot be derived.");
  return params.length ?? hashes[params.hash].blockBits;
});

// ---- AES

const toAesLength = paramsConverter("AesKeyGenParams", [
  members.integer("length", "unsigned short"),
]);
const aesBits = [128, 192, 256];

function registerAes(name, suffix, aesUsages) {
  const newAesKey = (length, extractable, usages, data) =>
    newKey("secret", extractable, { name, length }, usages, data);

  register("generateKey", name, toAesLength, ({ length }, extractable, usages) => {
    requireUsages(usages, aesUsages);
    if (!ArrayPrototypeIncludes(aesBits, length)) {
      throw operationError("A key of AES has 128, 192 or 256 bits.");
    }
    return newAesKey(length, extractable, usages, randomBytes(length / 8));
  });

  register("importKey", name, undefined, (params, format, keyData, extractable, usages) => {
    requireUsages(usages, aesUsages);
    let data = keyData;
    if (format === "jwk") {
      if (keyData.kty !== "oct") throw dataError();
      data = fromBase64Url(keyData.k);
    } else if (format !== "raw") {
      throw notSupported(`A key of AES has no form '${format}'.`);
    }
    const length = data.length * 8;
    if (!ArrayPrototypeIncludes(aesBits, length)) throw dataError();
    if (format === "jwk") {
      if (keyData.alg !== undefined && keyData.alg !== `A${length}${suffix}`) throw dataError();
      checkJwk(keyData, "oct", "enc", extractable, usages);
    }
    return newAesKey(length, extractable, usages, data);
  });

  register("exportKey", name, undefined, (format, key) => {
    if (format === "raw") return new Uint8Array(key.data).buffer;
    if (format !== "jwk") throw notSupported(`A key of AES has no form '${format}'.`);
    return exportedJwk(key, {
      kty: "oct", k: toBase64Url(key.data), alg: `A${key.algorithm.length}${suffix}`,
    });
  });

  register("getKeyLength", name, toAesLength, ({ length }) => {
    if (!ArrayPrototypeIncludes(aesBits, length)) {
      throw operationError("A key of AES has 128, 192 or 256 bits.");
    }
    return length;
  });
}

const cipherUsages = ["encrypt", "decrypt", "wrapKey", "unwrapKey"];
registerAes("AES-CBC", "CBC", cipherUsages);
registerAes("AES-CTR", "CTR", cipherUsages);
registerAes("AES-GCM", "GCM", cipherUsages);
registerAes("AES-KW", "KW", ["wrapKey", "unwrapKey"]);

function registerCipher(name, toParams, run) {
  register("encrypt", name, toParams, (params, key, data) => run(true, params, key, data));
  register("decrypt", name, toParams, (params, key, data) => run(false, params, key, data));
}

registerCipher("AES-CBC", paramsConverter("AesCbcParams", [members.bytes("iv")]),
  (encrypts, { iv }, key, data) => {
    if (iv.length !== 16) throw operationError("The iv of AES-CBC has 16 bytes.");
    return required(cryptoAesCbc(encrypts, key.data, iv, data));
  });

registerCipher("AES-CTR",
  paramsConverter("AesCtrParams", [members.bytes("counter"), members.integer("length", "octet")]),
  (encrypts, { counter, length }, key, data) => {
    if (counter.length !== 16) throw operationError("The counter of AES-CTR has 16 bytes.");
    if (length === 0 || length > 128) throw operationError("1 to 128 bits of AES-CTR count.");
    return required(cryptoAesCtr(key.data, counter, length, data));
  });

const tagBits = [32, 64, 96, 104, 112, 120, 128];
registerCipher("AES-GCM",
  paramsConverter("AesGcmParams", [
    members.bytes("iv"), members.optionalBytes("additionalData"),
    members.integer("tagLength", "octet", false),
  ]),
  (encrypts, { iv, additionalData, tagLength = 128 }, key, data) => {
    if (!ArrayPrototypeIncludes(tagBits, tagLength)) {
      throw operationError(`A tag of AES-GCM cannot have ${tagLength} bits.`);
    }
    const additional = additionalData ?? new Uint8Array(0);
    return required(cryptoAesGcm(encrypts, key.data, iv, additional, tagLength / 8, data));
  });

register("wrapKey", "AES-KW", undefined, (params, key, data) =>
  required(cryptoAesKw(true, key.data, data)));
register("unwrapKey", "AES-KW", undefined, (params, key, data) =>
  required(cryptoAesKw(false, key.data, data)));

// ---- HKDF and PBKDF2

const deriveUsages = ["deriveKey", "deriveBits"];

function registerDerivation(name, toParams, run) {
  register("importKey", name, undefined, (params, format, keyData, extractable, usages) => {
    if (format !== "raw") throw notSupported(`A key of ${name} has no form '${format}'.`);
    requireUsages(usages, deriveUsages);
    if (extractable) {
      throw realm.crypto.problem("SyntaxError", `A key of ${name} cannot be extracted.`);
    }
    return newKey("secret", false, { name }, usages, keyData);
  });
  register("deriveBits", name, toParams, (params, key, length) => {
    if (length === null || length % 8 !== 0) {
      throw operationError("The length is not a number of whole bytes.");
    }
    return run(params, key, length / 8);
  });
  register("getKeyLength", name, undefined, () => null);
}

registerDerivation("HKDF",
  paramsConverter("HkdfParams", [members.hash, members.bytes("salt"), members.bytes("info")]),
  ({ hash, salt, info }, key, length) => required(cryptoHkdf(hash, key.data, salt, info, length)));

registerDerivation("PBKDF2",
  paramsConverter("Pbkdf2Params", [
    members.bytes("salt"), members.integer("iterations", "unsigned long"), members.hash,
  ]),
  ({ hash, salt, iterations }, key, length) => {
    if (iterations === 0) throw operationError("PBKDF2 needs one iteration at least.");
    return requiredLater(cryptoPbkdf2Later(hash, key.data, salt, iterations, length));
  });

realm.crypto.required = required;
realm.crypto.requiredLater = requiredLater;
