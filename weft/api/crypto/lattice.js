// ML-KEM and ML-DSA of Web Cryptography: https://wicg.github.io/webcrypto-modern-algos/
//
// The data of a private key is its seed, from which everything else is derived.
const {
  cryptoDsaPublicBytes, cryptoDsaPublicOf, cryptoDsaSignLater, cryptoDsaVerify, cryptoEqual,
  cryptoKemDecapsulate, cryptoKemEncapsulate, cryptoKemIsPublic, cryptoKemPublicOf,
  cryptoLatticeUnwrap, cryptoLatticeWrap, cryptoRandom,
} = native;
const {
  checkJwk, commonUsages, dataError, exportedJwk, fromBase64Url, members, newKey, noAccess,
  notSupported, operationError, paramsConverter, register, required, requiredLater, requireUsages,
  toBase64Url,
} = realm.crypto;
const { TypedArrayPrototypeSet, TypedArrayPrototypeSubarray, Uint8Array } = realm.primordials;

const noBytes = new Uint8Array(0);

function requireType(key, type) {
  if (key.type !== type) throw noAccess(`This takes a ${type} key.`);
}

// A private key in PKCS #8 is one of three: [0] the seed, an OCTET STRING with the expanded key, or
// a SEQUENCE of both. The lengths of all seeds fit into one byte.
const kSeedTag = 0x80;
const kExpandedTag = 0x04;
const kBothTag = 0x30;

function seedOfChoice(choice, seedBytes) {
  const bytes = new Uint8Array(choice);
  if (bytes[0] === kExpandedTag || bytes[0] === kBothTag) {
    throw notSupported("A private key is imported by its seed alone.");
  }
  if (bytes.length !== seedBytes + 2 || bytes[0] !== kSeedTag || bytes[1] !== seedBytes) {
    throw dataError();
  }
  return new Uint8Array(TypedArrayPrototypeSubarray(bytes, 2));
}

function choiceOfSeed(seed) {
  const bytes = new Uint8Array(seed.length + 2);
  bytes[0] = kSeedTag;
  bytes[1] = seed.length;
  TypedArrayPrototypeSet(bytes, seed, 2);
  return bytes;
}

// For each format, whether it holds a private key.
const forms = {
  __proto__: null, spki: false, pkcs8: true, "raw-public": false, "raw-seed": true,
};

// kind: { use, seedBytes, publicUsages, privateUsages, publicOf(set, seed), isPublic(set, key) }
function registerLattice(name, set, kind) {
  const { publicUsages, privateUsages, seedBytes } = kind;
  const usagesOf = (isPrivate) => (isPrivate ? privateUsages : publicUsages);
  const publicOf = (seed) => new Uint8Array(kind.publicOf(set, seed));
  const requirePublic = (bytes) => {
    if (!kind.isPublic(set, bytes)) throw dataError();
    return bytes;
  };
  const requireSeed = (bytes) => {
    if (bytes.length !== seedBytes) throw dataError();
    return bytes;
  };

  register("generateKey", name, undefined, (params, extractable, usages) => {
    requireUsages(usages, [...publicUsages, ...privateUsages]);
    const seed = new Uint8Array(seedBytes);
    cryptoRandom(seed);
    return {
      publicKey: newKey(
        "public", true, { name }, commonUsages(usages, publicUsages), publicOf(seed)),
      privateKey: newKey(
        "private", extractable, { name }, commonUsages(usages, privateUsages), seed),
    };
  });

  function ofJwk(jwk, isPrivate, extractable, usages) {
    checkJwk(jwk, "AKP", kind.use, extractable, usages);
    if (jwk.alg !== name || jwk.pub === undefined) throw dataError();
    const pub = requirePublic(fromBase64Url(jwk.pub));
    if (!isPrivate) return pub;
    const seed = requireSeed(fromBase64Url(jwk.priv));
    if (!cryptoEqual(publicOf(seed), pub)) throw dataError("The halves belong to two keys.");
    return seed;
  }

  function ofDer(isPrivate, der) {
    const inner = cryptoLatticeUnwrap(isPrivate, name, der);
    if (inner === undefined) throw dataError();
    return isPrivate ? seedOfChoice(inner, seedBytes) : requirePublic(new Uint8Array(inner));
  }

  register("importKey", name, undefined, (params, format, keyData, extractable, usages) => {
    const isPrivate = format === "jwk" ? keyData.priv !== undefined : forms[format];
    if (isPrivate === undefined) throw notSupported(`A key of ${name} has no form '${format}'.`);
    requireUsages(usages, usagesOf(isPrivate));
    let data;
    if (format === "jwk") data = ofJwk(keyData, isPrivate, extractable, usages);
    else if (format === "raw-seed") data = requireSeed(keyData);
    else if (format === "raw-public") data = requirePublic(keyData);
    else data = ofDer(isPrivate, keyData);
    return newKey(isPrivate ? "private" : "public", extractable, { name }, usages, data);
  });

  register("exportKey", name, undefined, (format, key) => {
    const isPrivate = key.type === "private";
    if (format === "jwk") {
      const pub = toBase64Url(isPrivate ? publicOf(key.data) : key.data);
      const jwk = { kty: "AKP", alg: name, pub };
      if (isPrivate) jwk.priv = toBase64Url(key.data);
      return exportedJwk(key, jwk);
    }
    if (forms[format] === undefined) throw notSupported(`A key of ${name} has no form '${format}'.`);
    requireType(key, forms[format] ? "private" : "public");
    if (format === "raw-seed" || format === "raw-public") return new Uint8Array(key.data).buffer;
    return required(
      cryptoLatticeWrap(isPrivate, name, isPrivate ? choiceOfSeed(key.data) : key.data));
  });

  register("getPublicKey", name, undefined, (key, usages) => {
    requireType(key, "private");
    requireUsages(usages, publicUsages);
    return newKey("public", true, key.algorithm, usages, publicOf(key.data));
  });
}

// ---- ML-KEM

const kem = {
  use: "enc",
  seedBytes: 64,
  publicUsages: ["encapsulateKey", "encapsulateBits"],
  privateUsages: ["decapsulateKey", "decapsulateBits"],
  publicOf: cryptoKemPublicOf,
  isPublic: cryptoKemIsPublic,
};
const kemNames = ["ML-KEM-512", "ML-KEM-768", "ML-KEM-1024"];
for (let set = 0; set < kemNames.length; set++) {
  registerLattice(kemNames[set], set, kem);
  register("encapsulate", kemNames[set], undefined, (params, key) => {
    requireType(key, "public");
    const [sharedKey, ciphertext] = required(cryptoKemEncapsulate(set, key.data));
    return { sharedKey, ciphertext };
  });
  register("decapsulate", kemNames[set], undefined, (params, key, ciphertext) => {
    requireType(key, "private");
    return required(cryptoKemDecapsulate(set, key.data, ciphertext));
  });
}

// ---- ML-DSA

const dsa = {
  use: "sig",
  seedBytes: 32,
  publicUsages: ["verify"],
  privateUsages: ["sign"],
  publicOf: cryptoDsaPublicOf,
  isPublic: (set, bytes) => bytes.length === cryptoDsaPublicBytes(set),
};
const toContext = paramsConverter("ContextParams", [members.optionalBytes("context")]);

function checkContext({ context = noBytes }) {
  if (context.length > 255) throw operationError("A context has 255 bytes at most.");
}

const dsaNames = ["ML-DSA-44", "ML-DSA-65", "ML-DSA-87"];
for (let set = 0; set < dsaNames.length; set++) {
  registerLattice(dsaNames[set], set, dsa);
  register("sign", dsaNames[set], toContext, (params, key, data) => {
    requireType(key, "private");
    checkContext(params);
    return requiredLater(cryptoDsaSignLater(set, key.data, params.context ?? noBytes, data));
  }, checkContext);
  register("verify", dsaNames[set], toContext, (params, key, signature, data) => {
    requireType(key, "public");
    checkContext(params);
    return cryptoDsaVerify(set, key.data, params.context ?? noBytes, signature, data);
  }, checkContext);
}
