// RSA, elliptic curves, Ed25519, Ed448, X25519 and X448 of Web Cryptography.
const {
  cryptoAgree, cryptoEcGenerate, cryptoEcNumbers, cryptoEcOfNumbers, cryptoEcOfPoint,
  cryptoEdwardsGenerate, cryptoEdwardsNumbers, cryptoEdwardsOfNumber, cryptoEqual, cryptoKeyDetails,
  cryptoPublicOf, cryptoRsaGenerate, cryptoRsaNumbers, cryptoRsaOaepDecryptLater,
  cryptoRsaOaepEncrypt, cryptoRsaOfNumbers, cryptoSign, cryptoSignLater, cryptoVerify,
} = native;
const {
  checkJwk, commonUsages, dataError, exportedJwk, fromBase64Url, innerOf, members, newKey, noAccess,
  notSupported, operationError, paramsConverter, rawAlias, register, required, requireUsages,
  requiredLater, toBase64Url,
} = realm.crypto;
const { converters } = realm.webidl;
const {
  ArrayPrototypeIncludes, MathCeil, TypedArrayPrototypeSet, TypedArrayPrototypeSlice, Uint8Array,
} = realm.primordials;

const none = [];
const noBytes = new Uint8Array(0);

function requireType(key, type) {
  if (key.type !== type) throw noAccess(`This takes a ${type} key.`);
}

function copied(data) {
  return new Uint8Array(data).buffer;
}

// The keys of a pair: the private key with `privateUsages`, the public key with `publicUsages`.
function newPair(pair, algorithm, extractable, usages, privateUsages, publicUsages) {
  return {
    publicKey: newKey("public", true, algorithm, commonUsages(usages, publicUsages), pair[1]),
    privateKey: newKey(
      "private", extractable, algorithm, commonUsages(usages, privateUsages), pair[0]),
  };
}

// Registers getPublicKey(), which derives the public key from a private one.
function registerPublic(name, publicUsages) {
  register("getPublicKey", name, undefined, (key, usages) => {
    requireType(key, "private");
    requireUsages(usages, publicUsages);
    return newKey("public", true, key.algorithm, usages, required(cryptoPublicOf(key.data)));
  });
}

// Checks a DER encoding and describes it: { kind, curve, bits, exponent, der }.
function detailsOf(isPrivate, keyData, kind) {
  const details = cryptoKeyDetails(isPrivate, keyData);
  if (details === undefined || details[0] !== kind) throw dataError();
  return { curve: details[1], bits: details[2], exponent: details[3], der: details[4] };
}

// ---- RSA

const rsaBitsMin = 256;
const rsaBitsMax = 16384;
const rsaNumberNames = ["n", "e", "d", "p", "q", "dp", "dq", "qi"];

const toRsaGenerate = paramsConverter("RsaHashedKeyGenParams", [
  members.integer("modulusLength", "unsigned long"),
  { key: "publicExponent", converter: converters.Uint8Array, required: true },
  members.hash,
]);
const toRsaImport = paramsConverter("RsaHashedImportParams", [members.hash]);

// With other exponents OpenSSL may run for ever or make no valid key. An exponent is odd, at least
// three and, as in SP 800-56B, section 6.2, at most 256 bits long.
function checkRsaGenerate({ modulusLength, publicExponent }) {
  if (modulusLength < rsaBitsMin || modulusLength > rsaBitsMax) {
    throw operationError(`A modulus has ${rsaBitsMin} to ${rsaBitsMax} bits.`);
  }
  let first = 0;
  while (first < publicExponent.length && publicExponent[first] === 0) first++;
  const length = publicExponent.length - first;
  const last = length === 0 ? 0 : publicExponent[publicExponent.length - 1];
  if (length > 32 || last % 2 === 0 || (length === 1 && last < 3)) {
    throw operationError("This can be no public exponent.");
  }
}

function rsaAlgorithm(name, hash, details) {
  return {
    name, modulusLength: details.bits, publicExponent: new Uint8Array(details.exponent), hash,
  };
}

function rsaOfJwk(jwk, isPrivate) {
  if (!isPrivate) {
    if (jwk.n === undefined || jwk.e === undefined) throw dataError();
    return cryptoRsaOfNumbers(false, fromBase64Url(jwk.n), fromBase64Url(jwk.e));
  }
  if (jwk.oth !== undefined) throw notSupported("Keys of more than two primes are not supported.");
  const numbers = [];
  for (let i = 0; i < rsaNumberNames.length; i++) {
    if (jwk[rsaNumberNames[i]] === undefined) throw dataError();
    numbers[i] = fromBase64Url(jwk[rsaNumberNames[i]]);
  }
  return cryptoRsaOfNumbers(true, numbers[0], numbers[1], numbers[2], numbers[3], numbers[4],
    numbers[5], numbers[6], numbers[7]);
}

// `algs`: the value of the member `alg` of a JSON Web Key for each hash.
function registerRsa(name, use, algs, privateUsages, publicUsages) {
  const both = [...publicUsages, ...privateUsages];

  register("generateKey", name, toRsaGenerate, async (params, extractable, usages) => {
    requireUsages(usages, both);
    checkRsaGenerate(params);
    const { modulusLength, publicExponent, hash } = params;
    const pair = await requiredLater(cryptoRsaGenerate(modulusLength, publicExponent));
    const algorithm = { name, modulusLength, publicExponent, hash };
    return newPair(pair, algorithm, extractable, usages, privateUsages, publicUsages);
  }, checkRsaGenerate);
  registerPublic(name, publicUsages);

  register("importKey", name, toRsaImport, ({ hash }, format, keyData, extractable, usages) => {
    let isPrivate = format === "pkcs8";
    let der = keyData;
    if (format === "jwk") {
      isPrivate = keyData.d !== undefined;
      requireUsages(usages, isPrivate ? privateUsages : publicUsages);
      checkJwk(keyData, "RSA", use, extractable, usages);
      if (keyData.alg !== undefined && keyData.alg !== algs[hash]) throw dataError();
      der = rsaOfJwk(keyData, isPrivate);
      if (der === undefined) throw dataError();
    } else if (format === "spki" || format === "pkcs8") {
      requireUsages(usages, isPrivate ? privateUsages : publicUsages);
    } else {
      throw notSupported(`A key of ${name} has no form '${format}'.`);
    }
    const details = detailsOf(isPrivate, der, "RSA");
    return newKey(isPrivate ? "private" : "public", extractable,
      rsaAlgorithm(name, hash, details), usages, details.der);
  });

  register("exportKey", name, undefined, (format, key) => {
    const isPrivate = key.type === "private";
    if (format === "jwk") {
      const numbers = required(cryptoRsaNumbers(isPrivate, key.data));
      const jwk = { kty: "RSA", alg: algs[key.algorithm.hash] };
      for (let i = 0; i < numbers.length; i++) jwk[rsaNumberNames[i]] = toBase64Url(numbers[i]);
      return exportedJwk(key, jwk);
    }
    return exportedDer(name, format, key);
  });
}

function exportedDer(name, format, key) {
  if (format !== "spki" && format !== "pkcs8") {
    throw notSupported(`A key of ${name} has no form '${format}'.`);
  }
  requireType(key, format === "spki" ? "public" : "private");
  return copied(key.data);
}

const algsOf = (prefix, suffix = "") => ({
  __proto__: null,
  "SHA-1": suffix === "" ? `${prefix}1` : prefix,
  "SHA-256": `${prefix}${suffix}256`,
  "SHA-384": `${prefix}${suffix}384`,
  "SHA-512": `${prefix}${suffix}512`,
});
registerRsa("RSASSA-PKCS1-v1_5", "sig", algsOf("RS"), ["sign"], ["verify"]);
registerRsa("RSA-PSS", "sig", algsOf("PS"), ["sign"], ["verify"]);
registerRsa("RSA-OAEP", "enc", algsOf("RSA-OAEP", "-"), ["decrypt", "unwrapKey"],
  ["encrypt", "wrapKey"]);

// Registers a signature scheme. options(params, key) gives [hash, saltBytes]; `sign` is a native
// function.
function registerSignature(name, toParams, sign, options, check) {
  register("sign", name, toParams, (params, key, data) => {
    requireType(key, "private");
    check?.(params);
    const [hash, salt] = options(params, key);
    return sign(name, hash, salt, key.data, data);
  }, check);
  register("verify", name, toParams, (params, key, signature, data) => {
    requireType(key, "public");
    check?.(params);
    const [hash, salt] = options(params, key);
    return cryptoVerify(name, hash, salt, key.data, signature, data) === true;
  }, check);
}
const signNow = (name, hash, salt, key, data) => required(cryptoSign(name, hash, salt, key, data));
const signLater = (name, hash, salt, key, data) =>
  requiredLater(cryptoSignLater(name, hash, salt, key, data));
registerSignature("RSASSA-PKCS1-v1_5", undefined, signLater,
  (params, key) => [key.algorithm.hash, 0]);
registerSignature("RSA-PSS",
  paramsConverter("RsaPssParams", [members.integer("saltLength", "unsigned long")]), signLater,
  (params, key) => [key.algorithm.hash, params.saltLength]);
registerSignature("ECDSA", paramsConverter("EcdsaParams", [members.hash]), signNow,
  (params) => [params.hash, 0]);
registerSignature("Ed25519", undefined, signNow, () => ["", 0]);
registerSignature("Ed448", paramsConverter("ContextParams", [members.optionalBytes("context")]),
  signNow, () => ["", 0], ({ context = noBytes }) => {
    if (context.length > 255) throw operationError("A context has 255 bytes at most.");
    // OpenSSL 3.0 has no parameter for a context.
    if (context.length > 0) throw notSupported("A context of Ed448 is not supported.");
  });

const toOaepParams = paramsConverter("RsaOaepParams", [members.optionalBytes("label")]);
register("encrypt", "RSA-OAEP", toOaepParams, ({ label = noBytes }, key, data) => {
  requireType(key, "public");
  return required(cryptoRsaOaepEncrypt(key.algorithm.hash, key.data, label, data));
});
register("decrypt", "RSA-OAEP", toOaepParams, ({ label = noBytes }, key, data) => {
  requireType(key, "private");
  return requiredLater(cryptoRsaOaepDecryptLater(key.algorithm.hash, key.data, label, data));
});

// ---- elliptic curves

const curves = {
  __proto__: null,
  "P-256": { bytes: 32, alg: "ES256" },
  "P-384": { bytes: 48, alg: "ES384" },
  "P-521": { bytes: 66, alg: "ES512" },
};
const toCurve = paramsConverter("EcKeyGenParams", [
  { key: "namedCurve", converter: converters.DOMString, required: true },
]);

function ecOfJwk(jwk, namedCurve, isPrivate) {
  if (jwk.crv !== namedCurve) throw dataError();
  if (jwk.x === undefined || jwk.y === undefined) throw dataError();
  const { bytes } = curves[namedCurve];
  const x = fromBase64Url(jwk.x);
  const y = fromBase64Url(jwk.y);
  const d = isPrivate ? fromBase64Url(jwk.d) : undefined;
  if (x.length !== bytes || y.length !== bytes || (isPrivate && d.length !== bytes)) {
    throw dataError();
  }
  return cryptoEcOfNumbers(namedCurve, x, y, d);
}

function requireCurve({ namedCurve }) {
  if (curves[namedCurve] === undefined) {
    throw notSupported(`The curve '${namedCurve}' is not supported.`);
  }
}

function registerEc(name, use, privateUsages, publicUsages) {
  const both = [...publicUsages, ...privateUsages];
  registerPublic(name, publicUsages);

  register("generateKey", name, toCurve, (params, extractable, usages) => {
    requireUsages(usages, both);
    requireCurve(params);
    const { namedCurve } = params;
    const pair = required(cryptoEcGenerate(namedCurve));
    return newPair(pair, { name, namedCurve }, extractable, usages, privateUsages, publicUsages);
  }, requireCurve);

  register("importKey", name, toCurve, ({ namedCurve }, given, keyData, extractable, usages) => {
    const format = rawAlias(given, "raw-public");
    const isPrivate = format === "pkcs8" || (format === "jwk" && keyData.d !== undefined);
    if (!ArrayPrototypeIncludes(["raw", "spki", "pkcs8", "jwk"], format)) {
      throw notSupported(`A key of ${name} has no form '${format}'.`);
    }
    if (format === "raw" && curves[namedCurve] === undefined) throw dataError();
    requireUsages(usages, isPrivate ? privateUsages : publicUsages);
    let der = keyData;
    if (format === "jwk") {
      checkJwk(keyData, "EC", use, extractable, usages);
      if (curves[namedCurve] === undefined) throw dataError();
      if (name === "ECDSA" && keyData.alg !== undefined &&
          keyData.alg !== curves[namedCurve].alg) throw dataError();
      der = ecOfJwk(keyData, namedCurve, isPrivate);
    } else if (format === "raw") {
      der = cryptoEcOfPoint(namedCurve, keyData);
    }
    if (der === undefined) throw dataError();
    const details = detailsOf(isPrivate, der, "EC");
    if (details.curve !== namedCurve) throw dataError();
    return newKey(isPrivate ? "private" : "public", extractable, { name, namedCurve }, usages,
      details.der);
  }, requireCurve);

  register("exportKey", name, undefined, (given, key) => {
    const format = rawAlias(given, "raw-public");
    const isPrivate = key.type === "private";
    if (format !== "raw" && format !== "jwk") return exportedDer(name, format, key);
    if (format === "raw") requireType(key, "public");
    const [x, y, d] = required(cryptoEcNumbers(isPrivate, key.data));
    if (format === "jwk") {
      const jwk = {
        kty: "EC", crv: key.algorithm.namedCurve, x: toBase64Url(x), y: toBase64Url(y),
      };
      if (isPrivate) jwk.d = toBase64Url(d);
      return exportedJwk(key, jwk);
    }
    const point = new Uint8Array(1 + 2 * curves[key.algorithm.namedCurve].bytes);
    point[0] = 4;
    TypedArrayPrototypeSet(point, new Uint8Array(x), 1);
    TypedArrayPrototypeSet(point, new Uint8Array(y), 1 + x.byteLength);
    return point.buffer;
  });
}
const deriveUsages = ["deriveKey", "deriveBits"];
registerEc("ECDSA", "sig", ["sign"], ["verify"]);
registerEc("ECDH", "enc", deriveUsages, none);

// ---- Ed25519, Ed448, X25519 and X448

// The length of a key, and the values allowed for `alg`; the first one is exported.
const edwards = {
  __proto__: null,
  Ed25519: { bytes: 32, algs: ["Ed25519", "EdDSA"] },
  Ed448: { bytes: 57, algs: ["Ed448", "EdDSA"] },
  X25519: { bytes: 32 },
  X448: { bytes: 56 },
};

function registerEdwards(name, use, privateUsages, publicUsages) {
  registerPublic(name, publicUsages);

  register("generateKey", name, undefined, (params, extractable, usages) => {
    requireUsages(usages, [...publicUsages, ...privateUsages]);
    const pair = required(cryptoEdwardsGenerate(name));
    return newPair(pair, { name }, extractable, usages, privateUsages, publicUsages);
  });

  register("importKey", name, undefined, (params, given, keyData, extractable, usages) => {
    const format = rawAlias(given, "raw-public");
    const isPrivate = format === "pkcs8" || (format === "jwk" && keyData.d !== undefined);
    if (!ArrayPrototypeIncludes(["raw", "spki", "pkcs8", "jwk"], format)) {
      throw notSupported(`A key of ${name} has no form '${format}'.`);
    }
    requireUsages(usages, isPrivate ? privateUsages : publicUsages);
    let der = keyData;
    if (format === "jwk") der = edwardsOfJwk(name, use, keyData, isPrivate, extractable, usages);
    else if (format === "raw") der = edwardsOf(name, false, keyData);
    const details = detailsOf(isPrivate, der, name);
    return newKey(isPrivate ? "private" : "public", extractable, { name }, usages, details.der);
  });

  register("exportKey", name, undefined, (given, key) => {
    const format = rawAlias(given, "raw-public");
    const isPrivate = key.type === "private";
    if (format !== "raw" && format !== "jwk") return exportedDer(name, format, key);
    if (format === "raw") requireType(key, "public");
    const [x, d] = required(cryptoEdwardsNumbers(isPrivate, key.data));
    if (format === "raw") return x;
    const jwk = { kty: "OKP", crv: name, x: toBase64Url(x) };
    if (isPrivate) jwk.d = toBase64Url(d);
    jwk.alg = edwards[name].algs?.[0];
    return exportedJwk(key, jwk);
  });
}

function edwardsOf(name, isPrivate, bytes) {
  const der = bytes.length === edwards[name].bytes
    ? cryptoEdwardsOfNumber(name, isPrivate, bytes) : undefined;
  if (der === undefined) throw dataError();
  return der;
}

function edwardsOfJwk(name, use, jwk, isPrivate, extractable, usages) {
  checkJwk(jwk, "OKP", use, extractable, usages);
  if (jwk.crv !== name || jwk.x === undefined) throw dataError();
  const { algs } = edwards[name];
  if (algs !== undefined && jwk.alg !== undefined && !ArrayPrototypeIncludes(algs, jwk.alg)) {
    throw dataError();
  }
  const x = fromBase64Url(jwk.x);
  if (!isPrivate) return edwardsOf(name, false, x);
  const der = edwardsOf(name, true, fromBase64Url(jwk.d));
  const numbers = cryptoEdwardsNumbers(true, der);
  if (numbers === undefined || !cryptoEqual(numbers[0], x)) throw dataError();
  return der;
}

registerEdwards("Ed25519", "sig", ["sign"], ["verify"]);
registerEdwards("Ed448", "sig", ["sign"], ["verify"]);
registerEdwards("X25519", "enc", deriveUsages, none);
registerEdwards("X448", "enc", deriveUsages, none);

// ---- agreement

// The first bits of the secret; the unused bits of the last byte are zero.
function firstBits(secret, length) {
  if (length === null) return secret;
  const bytes = TypedArrayPrototypeSlice(new Uint8Array(secret), 0, MathCeil(length / 8));
  if (length % 8 !== 0) bytes[bytes.length - 1] &= 0xff << (8 - (length % 8));
  return bytes.buffer;
}

function registerAgreement(name) {
  const toParams = paramsConverter("EcdhKeyDeriveParams", [
    { key: "public", converter: converters.CryptoKey, required: true },
  ]);
  const publicOf = (params) => {
    const other = innerOf(params.public);
    requireType(other, "public");
    if (other.algorithm.name !== name) throw noAccess("The keys are of different kinds.");
    return other;
  };
  const checkLength = ({ algorithm }, length) => {
    const { bytes } = edwards[name] ?? curves[algorithm.namedCurve];
    if (length !== null && length > bytes * 8) throw operationError("The secret is not so long.");
  };
  register("deriveBits", name, toParams, (params, key, length) => {
    requireType(key, "private");
    const other = publicOf(params);
    if (other.algorithm.namedCurve !== key.algorithm.namedCurve) {
      throw noAccess("The keys are of different kinds.");
    }
    const secret = required(cryptoAgree(key.data, other.data));
    checkLength(key, length);
    return firstBits(secret, length);
  }, (params, length) => checkLength(publicOf(params), length));
}
registerAgreement("ECDH");
registerAgreement("X25519");
registerAgreement("X448");
