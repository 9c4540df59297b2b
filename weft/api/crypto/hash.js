// Digests of Web Cryptography: SHA-1, SHA-2, SHA-3, and the functions with an output of any length.
// https://wicg.github.io/webcrypto-modern-algos/
const { cryptoCshake, cryptoDigest, cryptoKangarooTwelve, cryptoTurboShake } = native;
const { members, operationError, paramsConverter, register } = realm.crypto;
const { PromisePrototypeThen, Uint8Array } = realm.primordials;

// A native function gives undefined if it fails.
function required(result) {
  if (result === undefined) throw operationError();
  return result;
}

// The same for a promise.
function requiredLater(result) {
  return PromisePrototypeThen(result, undefined, () => {
    throw operationError();
  });
}

// Shared with other scripts: the length of a digest, and the default length of an HMAC key, which
// is that of a block. `hs` is the member `alg` of a JSON Web Key; SHA-3 has none.
const hashes = {
  __proto__: null,
  "SHA-1": { bits: 160, blockBits: 512, hs: "HS1" },
  "SHA-256": { bits: 256, blockBits: 512, hs: "HS256" },
  "SHA-384": { bits: 384, blockBits: 1024, hs: "HS384" },
  "SHA-512": { bits: 512, blockBits: 1024, hs: "HS512" },
  "SHA3-256": { bits: 256, blockBits: 1088 },
  "SHA3-384": { bits: 384, blockBits: 832 },
  "SHA3-512": { bits: 512, blockBits: 576 },
};
for (const name in hashes) {
  register("digest", name, undefined, (params, data) => required(cryptoDigest(name, data)));
}

// ---- functions of any output length

const noBytes = new Uint8Array(0);
const outputLength = members.integer("outputLength", "unsigned long");

const toCShakeParams = paramsConverter("CShakeParams", [
  outputLength, members.optionalBytes("functionName"), members.optionalBytes("customization"),
]);
const toTurboShakeParams = paramsConverter("TurboShakeParams", [
  outputLength, members.integer("domainSeparation", "octet", false),
]);
const toKangarooTwelveParams = paramsConverter("KangarooTwelveParams", [
  outputLength, members.optionalBytes("customization"),
]);

function requireWholeBytes(params) {
  if (params.outputLength === 0 || params.outputLength % 8 !== 0) {
    throw operationError("The output length is not a number of whole bytes.");
  }
}

function checkTurboShake(params) {
  requireWholeBytes(params);
  const { domainSeparation = 0x1f } = params;
  if (domainSeparation < 0x01 || domainSeparation > 0x7f) {
    throw operationError("The domain separation is 0x01 to 0x7f.");
  }
}

for (const strength of [128, 256]) {
  register("digest", `cSHAKE${strength}`, toCShakeParams, (params, data) =>
    cryptoCshake(strength, params.functionName ?? noBytes, params.customization ?? noBytes,
      params.outputLength, data));

  register("digest", `TurboSHAKE${strength}`, toTurboShakeParams, (params, data) => {
    checkTurboShake(params);
    const { domainSeparation = 0x1f } = params;
    return cryptoTurboShake(strength, domainSeparation, params.outputLength / 8, data);
  }, checkTurboShake);

  register("digest", `KT${strength}`, toKangarooTwelveParams, (params, data) => {
    requireWholeBytes(params);
    return cryptoKangarooTwelve(
      strength, params.customization ?? noBytes, params.outputLength / 8, data);
  }, requireWholeBytes);
}

realm.crypto.hashes = hashes;
realm.crypto.required = required;
realm.crypto.requiredLater = requiredLater;
