// node:crypto: hashes, HMAC, randomness, derived keys, and the web platform's cryptography.
// https://nodejs.org/api/crypto.html
"use strict";

const {
  cryptoAead, cryptoAesCbc, cryptoAesCtr, cryptoCshake, cryptoDigest, cryptoEqual, cryptoHkdf,
  cryptoHmac, cryptoPbkdf2, cryptoPbkdf2Later, cryptoRandom, cryptoScrypt, cryptoScryptLater,
  cryptoUuid,
} = native;
const { invalid } = load("events");
const { Buffer } = load("buffer")["node:buffer"];
const { Transform } = load("stream")["node:stream"];
const { nextTick } = load("process")["node:process"];

const kHashes = ["md5", "ripemd160", "sha1", "sha224", "sha256", "sha384", "sha512", "sha512-224",
  "sha512-256", "sha3-224", "sha3-256", "sha3-384", "sha3-512", "blake2b512", "blake2s256"];

function hashName(name) {
  if (typeof name !== "string") {
    throw invalid('The "algorithm" argument must be of type string.');
  }
  return name.toLowerCase().replace(/^rsa-/, "").replace(/^sha-(\d)/, "sha$1");
}

function toBytes(value, encoding = undefined, name = "data") {
  if (typeof value === "string") return Buffer.from(value, encoding);
  if (value instanceof KeyObject) return value.export();
  if (ArrayBuffer.isView(value)) {
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  }
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  throw invalid(`The "${name}" argument must be of type string or an instance of Buffer, ` +
    "TypedArray, or DataView.");
}

function given(buffer, encoding) {
  const bytes = Buffer.from(buffer);
  return encoding === undefined || encoding === "buffer" ? bytes : bytes.toString(encoding);
}

function failed(message, code = "ERR_CRYPTO_INVALID_STATE") {
  const error = new Error(message);
  error.code = code;
  return error;
}

// Collects the data until the digest is requested.
class Digesting extends Transform {
  #parts = [];
  #ended = false;

  update(data, encoding = undefined) {
    if (this.#ended) throw failed("Digest already called", "ERR_CRYPTO_HASH_FINALIZED");
    // A copy, because the caller may modify the data afterwards.
    this.#parts.push(Buffer.from(toBytes(data, encoding)));
    return this;
  }
  digest(encoding = undefined) {
    if (this.#ended) throw failed("Digest already called", "ERR_CRYPTO_HASH_FINALIZED");
    this.#ended = true;
    const all = this.#parts.length === 1 ? this.#parts[0] : Buffer.concat(this.#parts);
    return given(this._compute(all), encoding);
  }
  _parts() {
    return this.#parts;
  }
  _transform(chunk, encoding, callback) {
    this.update(chunk, encoding);
    callback();
  }
  _flush(callback) {
    this.push(this.digest());
    callback();
  }
}

class Hash extends Digesting {
  #name;
  #bytes;  // undefined, or the value of outputLength
  constructor(name, options = undefined, parts = []) {
    super(options);
    this.#name = hashName(name);
    if (cryptoDigest(this.#name, new Uint8Array(0)) === undefined) {
      throw failed("Digest method not supported", "ERR_CRYPTO_INVALID_DIGEST");
    }
    if (this.#name.startsWith("shake")) this.#bytes = options?.outputLength;
    this._parts().push(...parts);
  }
  _compute(bytes) {
    if (this.#bytes === undefined) return cryptoDigest(this.#name, bytes);
    // cSHAKE without a name and a customization equals SHAKE.
    const none = new Uint8Array(0);
    const strength = this.#name === "shake128" ? 128 : 256;
    return cryptoCshake(strength, none, none, this.#bytes * 8, bytes);
  }
  copy(options = undefined) {
    return new Hash(this.#name, { outputLength: this.#bytes, ...options }, this._parts());
  }
}

class Hmac extends Digesting {
  #name;
  #key;
  constructor(name, key, options = undefined) {
    super(options);
    this.#name = hashName(name);
    this.#key = Buffer.from(toBytes(key, options?.encoding, "key"));
    if (cryptoDigest(this.#name, new Uint8Array(0)) === undefined) {
      throw failed(`Invalid digest: ${name}`, "ERR_CRYPTO_INVALID_DIGEST");
    }
  }
  _compute(bytes) {
    return cryptoHmac(this.#name, this.#key, bytes);
  }
}

// ---- keys: secret ones

class KeyObject {
  #bytes;
  constructor(type, bytes) {
    this.type = type;
    this.#bytes = bytes;
  }
  get symmetricKeySize() {
    return this.#bytes.length;
  }
  export(options = undefined) {
    if (options?.format === "jwk") return { kty: "oct", k: this.#bytes.toString("base64url") };
    return Buffer.from(this.#bytes);
  }
  equals(other) {
    return other instanceof KeyObject && cryptoEqual(this.#bytes, other.export());
  }
  static from() {
    throw missing("KeyObject.from()");
  }
}

function missing(what) {
  return failed(`crypto.${what} is not there; crypto.subtle has signatures and key pairs`,
    "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM");
}

// ---- randomness

function fill(bytes) {
  // The native fills at most 64 KiB at once, as the web platform does.
  for (let at = 0; at < bytes.length; at += 65536) cryptoRandom(bytes.subarray(at, at + 65536));
  return bytes;
}

function randomBytes(size, callback = undefined) {
  if (typeof size !== "number" || !(size >= 0 && size <= 2 ** 31 - 1)) {
    throw invalid(`The value of "size" is out of range. Received ${size}`, "ERR_OUT_OF_RANGE");
  }
  const made = Buffer.alloc(size);
  fill(made);
  if (callback === undefined) return made;
  nextTick(callback, null, made);
  return undefined;
}

function randomFillSync(buffer, offset = 0, size = undefined) {
  const bytes = toBytes(buffer, undefined, "buf");
  const end = size === undefined ? bytes.length : offset + size;
  fill(bytes.subarray(offset, end));
  return buffer;
}

function randomFill(buffer, ...rest) {
  const callback = rest.pop();
  randomFillSync(buffer, ...rest);
  nextTick(callback, null, buffer);
}

function randomInt(min, max = undefined, callback = undefined) {
  if (max === undefined || typeof max === "function") [min, max, callback] = [0, min, max];
  const range = max - min;
  const whole = Number.isSafeInteger(min) && Number.isSafeInteger(max);
  if (!whole || !(range > 0 && range <= 2 ** 48)) {
    throw invalid(`The value of "max" is out of range. Received ${max}`, "ERR_OUT_OF_RANGE");
  }
  // Numbers above the last whole multiple of the range would make small results more likely.
  const limit = 2 ** 48 - 2 ** 48 % range;
  let number;
  do number = randomBytes(6).readUIntBE(0, 6);
  while (number >= limit);
  const result = min + number % range;
  if (callback === undefined) return result;
  nextTick(callback, null, result);
  return undefined;
}

// ---- derived keys

function pbkdf2Sync(password, salt, iterations, length, digest) {
  const key = cryptoPbkdf2(hashName(digest), toBytes(password), toBytes(salt), iterations, length);
  if (key === undefined) throw failed(`Invalid digest: ${digest}`, "ERR_CRYPTO_INVALID_DIGEST");
  return Buffer.from(key);
}

function later(promise, callback) {
  promise.then((key) => nextTick(callback, null, Buffer.from(key)),
    (error) => nextTick(callback, error));
}

function pbkdf2(password, salt, iterations, length, digest, callback) {
  if (typeof callback !== "function") {
    throw invalid('The "callback" argument must be of type function.');
  }
  later(cryptoPbkdf2Later(hashName(digest), toBytes(password), toBytes(salt), iterations, length),
    callback);
}

function scryptArguments(password, salt, length, options) {
  const n = options?.N ?? options?.cost ?? 16384;
  const r = options?.r ?? options?.blockSize ?? 8;
  const p = options?.p ?? options?.parallelization ?? 1;
  const most = options?.maxmem ?? 32 * 1024 * 1024;
  if (n < 2 || (n & (n - 1)) !== 0 || 128 * n * r > most) {
    const error = new RangeError("Invalid scrypt params: memory limit exceeded");
    error.code = "ERR_CRYPTO_INVALID_SCRYPT_PARAMS";
    throw error;
  }
  // OpenSSL needs slightly more than the formula says.
  return [toBytes(password), toBytes(salt), length, n, r, p, most + 1024 * 1024];
}

function scryptSync(password, salt, length, options = undefined) {
  const key = cryptoScrypt(...scryptArguments(password, salt, length, options));
  if (key === undefined) throw failed("scrypt failed");
  return Buffer.from(key);
}

function scrypt(password, salt, length, options, callback = undefined) {
  if (typeof options === "function") [options, callback] = [undefined, options];
  later(cryptoScryptLater(...scryptArguments(password, salt, length, options)), callback);
}

function hkdfSync(digest, key, salt, info, length) {
  const made = cryptoHkdf(hashName(digest), toBytes(key), toBytes(salt), toBytes(info), length);
  if (made === undefined) throw failed("hkdf failed", "ERR_CRYPTO_INVALID_KEYLEN");
  return made;
}

function timingSafeEqual(a, b) {
  const left = toBytes(a, undefined, "buf1");
  const right = toBytes(b, undefined, "buf2");
  if (left.length !== right.length) {
    const error = new RangeError("Input buffers must have the same byte length");
    error.code = "ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH";
    throw error;
  }
  return cryptoEqual(left, right);
}

// ---- AES

const kTagBytes = 16;

class Cipher extends Transform {
  #parts = [];
  #encrypts;
  #mode;
  #key;
  #iv;
  #additional = new Uint8Array(0);
  #tag;

  constructor(encrypts, name, key, iv) {
    super();
    const [, bits, mode] = /^(?:id-)?aes-?(128|192|256)-(cbc|ctr|gcm)$/i.exec(name) ?? [];
    this.#key = Buffer.from(toBytes(key, undefined, "key"));
    if (mode === undefined) throw failed(`Unknown cipher: ${name}`, "ERR_CRYPTO_UNKNOWN_CIPHER");
    if (this.#key.length * 8 !== +bits) {
      throw failed("Invalid key length", "ERR_CRYPTO_INVALID_KEYLEN");
    }
    this.#mode = mode.toLowerCase();
    this.#iv = Buffer.from(toBytes(iv, undefined, "iv"));
    if (this.#iv.length === 0 || (this.#mode !== "gcm" && this.#iv.length !== 16)) {
      throw failed("Invalid initialization vector", "ERR_CRYPTO_INVALID_IV");
    }
    this.#encrypts = encrypts;
  }
  setAAD(data) {
    this.#additional = Buffer.from(toBytes(data));
    return this;
  }
  setAuthTag(tag) {
    this.#tag = Buffer.from(toBytes(tag));
    return this;
  }
  getAuthTag() {
    return this.#tag;
  }
  setAutoPadding() {
    return this;
  }
  // final() gives the whole result: it is correct, although not in pieces.
  update(data, inputEncoding = undefined, outputEncoding = undefined) {
    this.#parts.push(Buffer.from(toBytes(data, inputEncoding)));
    return given(new Uint8Array(0), outputEncoding);
  }
  final(outputEncoding = undefined) {
    const result = this.#run(Buffer.concat(this.#parts));
    if (result === undefined) {
      throw failed(this.#mode === "gcm" ? "Unsupported state or unable to authenticate data"
        : "bad decrypt", "ERR_OSSL_BAD_DECRYPT");
    }
    if (this.#mode !== "gcm" || !this.#encrypts) return given(result, outputEncoding);
    const whole = Buffer.from(result);
    this.#tag = whole.subarray(whole.length - kTagBytes);
    return given(whole.subarray(0, whole.length - kTagBytes), outputEncoding);
  }
  #run(data) {
    if (this.#mode === "cbc") return cryptoAesCbc(this.#encrypts, this.#key, this.#iv, data);
    if (this.#mode === "ctr") return cryptoAesCtr(this.#key, this.#iv, 128, data);
    const tag = this.#encrypts ? new Uint8Array(0) : this.#tag ?? new Uint8Array(0);
    return cryptoAead("AES-GCM", this.#encrypts, this.#key, this.#iv, this.#additional, kTagBytes,
      Buffer.concat([data, tag]));
  }
  _transform(chunk, encoding, callback) {
    this.update(chunk, encoding);
    callback();
  }
  _flush(callback) {
    this.push(this.final());
    callback();
  }
}

class Cipheriv extends Cipher {
  constructor(name, key, iv) {
    super(true, name, key, iv);
  }
}

class Decipheriv extends Cipher {
  constructor(name, key, iv) {
    super(false, name, key, iv);
  }
}

const absent = {};
for (const name of ["createSign", "createVerify", "sign", "verify", "createPrivateKey",
  "createPublicKey", "generateKeyPair", "generateKeyPairSync", "createDiffieHellman",
  "createECDH", "publicEncrypt", "privateDecrypt", "publicDecrypt", "privateEncrypt"]) {
  absent[name] = () => {
    throw missing(`${name}()`);
  };
}

const { crypto: webcrypto } = globalThis;
const crypto = {
  ...absent,
  Cipheriv,
  Decipheriv,
  Hash,
  Hmac,
  KeyObject,
  constants: { __proto__: null, RSA_PKCS1_PADDING: 1, RSA_PKCS1_OAEP_PADDING: 4 },
  createCipheriv: (name, key, iv) => new Cipheriv(name, key, iv),
  createDecipheriv: (name, key, iv) => new Decipheriv(name, key, iv),
  createHash: (name, options) => new Hash(name, options),
  createHmac: (name, key, options) => new Hmac(name, key, options),
  createSecretKey: (key, encoding) =>
    new KeyObject("secret", Buffer.from(toBytes(key, encoding, "key"))),
  getCiphers: () => [128, 192, 256].flatMap((bits) =>
    ["cbc", "ctr", "gcm"].map((mode) => `aes-${bits}-${mode}`)),
  getCurves: () => ["prime256v1", "secp384r1", "secp521r1"],
  getFips: () => 0,
  getHashes: () => [...kHashes],
  getRandomValues: (view) => webcrypto.getRandomValues(view),
  hash: (name, data, encoding = "hex") => given(
    cryptoDigest(hashName(name), toBytes(data)), encoding),
  hkdf: (digest, key, salt, info, length, callback) =>
    nextTick(callback, null, hkdfSync(digest, key, salt, info, length)),
  hkdfSync,
  pbkdf2,
  pbkdf2Sync,
  pseudoRandomBytes: randomBytes,
  randomBytes,
  randomFill,
  randomFillSync,
  randomInt,
  randomUUID: () => cryptoUuid(),
  scrypt,
  scryptSync,
  subtle: webcrypto.subtle,
  timingSafeEqual,
  webcrypto,
};

return { "node:crypto": crypto };
