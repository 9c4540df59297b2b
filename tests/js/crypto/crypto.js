// JS-9: Web Cryptography.

const { subtle } = crypto;
const bytes = (text) => new TextEncoder().encode(text);
const hex = (buffer) =>
  [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const unhex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));

test("JS_9 crypto: randomness", () => {
  const array = new Uint32Array(16);
  assert(crypto.getRandomValues(array) === array && array.some((word) => word !== 0));
  assertThrows(() => crypto.getRandomValues(new Uint8Array(65537)), "QuotaExceededError");
  assertThrows(() => crypto.getRandomValues(new Float32Array(1)), "TypeMismatchError");
  assert(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
    .test(crypto.randomUUID()));
});

test("JS_9 crypto: digests of FIPS 180", async () => {
  assertEquals(hex(await subtle.digest("sha-1", bytes("abc"))),
    "a9993e364706816aba3e25717850c26c9cd0d89d");
  assertEquals(hex(await subtle.digest({ name: "SHA-256" }, bytes(""))),
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  await assertRejects(() => subtle.digest("MD5", bytes("")), "NotSupportedError");
});

test("JS_9 crypto: HMAC of RFC 4231, case 2", async () => {
  const key = await subtle.importKey("raw", bytes("Jefe"), { name: "HMAC", hash: "SHA-256" }, true,
    ["sign", "verify"]);
  const data = bytes("what do ya want for nothing?");
  const tag = await subtle.sign("HMAC", key, data);
  assertEquals(hex(tag), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  assertEquals(await subtle.verify("HMAC", key, tag, data), true);
  assertEquals(await subtle.verify("HMAC", key, tag, bytes("other")), false);
  assertEquals((await subtle.exportKey("jwk", key)).alg, "HS256");
});

test("JS_9 crypto: AES-GCM, and what was changed is refused", async () => {
  const key = await subtle.generateKey({ name: "AES-GCM", length: 256 }, false,
    ["encrypt", "decrypt"]);
  const params = { name: "AES-GCM", iv: new Uint8Array(12), additionalData: bytes("head") };
  const sealed = new Uint8Array(await subtle.encrypt(params, key, bytes("text")));
  assertEquals(new TextDecoder().decode(await subtle.decrypt(params, key, sealed)), "text");
  sealed[0] ^= 1;
  await assertRejects(() => subtle.decrypt(params, key, sealed), "OperationError");
  await assertRejects(() => subtle.exportKey("raw", key), "InvalidAccessError");
  await assertRejects(() => subtle.sign("HMAC", key, sealed), "InvalidAccessError");
});

test("JS_9 crypto: the counter of AES-CTR wraps within its bits", async () => {
  const key = await subtle.importKey("raw", new Uint8Array(16), "AES-CTR", false, ["encrypt"]);
  const stream = async (counter, length, size) => hex(await subtle.encrypt(
    { name: "AES-CTR", counter: unhex(counter), length }, key, new Uint8Array(size)));
  const wrapped = await stream(`${"ab".repeat(15)}ff`, 8, 32);
  const first = await stream(`${"ab".repeat(15)}ff`, 8, 16);
  const second = await stream(`${"ab".repeat(15)}00`, 8, 16);
  assertEquals(wrapped, first + second);
  await assertRejects(() => stream("00".repeat(16), 1, 48), "OperationError");
});

test("JS_9 crypto: HKDF of RFC 5869, case 1, and PBKDF2 of RFC 7914", async () => {
  const hkdf = await subtle.importKey("raw", new Uint8Array(22).fill(0x0b), "HKDF", false,
    ["deriveBits"]);
  assertEquals(hex(await subtle.deriveBits({
    name: "HKDF", hash: "SHA-256", salt: unhex("000102030405060708090a0b0c"),
    info: unhex("f0f1f2f3f4f5f6f7f8f9"),
  }, hkdf, 42 * 8)),
  "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865");
  const password = await subtle.importKey("raw", bytes("passwd"), "PBKDF2", false, ["deriveBits"]);
  assertEquals(hex(await subtle.deriveBits(
    { name: "PBKDF2", hash: "SHA-256", salt: bytes("salt"), iterations: 1 }, password, 512)),
  "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc" +
  "49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783");
});

test("JS_9 crypto: signatures of every kind, through every form of key", async () => {
  const kinds = [
    [{ name: "ECDSA", namedCurve: "P-256" }, { name: "ECDSA", hash: "SHA-256" }],
    [{ name: "ECDSA", namedCurve: "P-521" }, { name: "ECDSA", hash: "SHA-512" }],
    [{ name: "Ed25519" }, "Ed25519"],
    [{ name: "RSA-PSS", modulusLength: 1024, publicExponent: new Uint8Array([1, 0, 1]),
      hash: "SHA-256" }, { name: "RSA-PSS", saltLength: 32 }],
  ];
  for (const [algorithm, params] of kinds) {
    const pair = await subtle.generateKey(algorithm, true, ["sign", "verify"]);
    const signature = await subtle.sign(params, pair.privateKey, bytes("data"));
    for (const format of ["spki", "jwk"]) {
      const key = await subtle.importKey(format, await subtle.exportKey(format, pair.publicKey),
        algorithm, true, ["verify"]);
      assertEquals(await subtle.verify(params, key, signature, bytes("data")), true);
      assertEquals(await subtle.verify(params, key, signature, bytes("else")), false);
    }
    const pkcs8 = await subtle.exportKey("pkcs8", pair.privateKey);
    const again = await subtle.importKey("pkcs8", pkcs8, algorithm, false, ["sign"]);
    const second = await subtle.sign(params, again, bytes("data"));
    assertEquals(await subtle.verify(params, pair.publicKey, second, bytes("data")), true);
  }
});

test("JS_9 crypto: agreement by ECDH and X25519", async () => {
  for (const algorithm of [{ name: "ECDH", namedCurve: "P-384" }, { name: "X25519" }]) {
    const [a, b] = await Promise.all(
      [0, 1].map(() => subtle.generateKey(algorithm, false, ["deriveBits"])));
    const one = await subtle.deriveBits(
      { name: algorithm.name, public: b.publicKey }, a.privateKey, 256);
    const two = await subtle.deriveBits(
      { name: algorithm.name, public: a.publicKey }, b.privateKey, 256);
    assertEquals(hex(one), hex(two));
  }
});

test("JS_9 crypto: wrapped keys come back", async () => {
  const secret = await subtle.generateKey({ name: "AES-CBC", length: 128 }, true, ["encrypt"]);
  const wrapping = await subtle.generateKey({ name: "AES-KW", length: 256 }, false,
    ["wrapKey", "unwrapKey"]);
  const wrapped = await subtle.wrapKey("raw", secret, wrapping, "AES-KW");
  const back = await subtle.unwrapKey("raw", wrapped, wrapping, "AES-KW", "AES-CBC", true,
    ["encrypt"]);
  assertEquals(hex(await subtle.exportKey("raw", back)),
    hex(await subtle.exportKey("raw", secret)));
});

test("JS_9 crypto: keys that do not fit are refused with the right name", async () => {
  await assertRejects(() => subtle.importKey("raw", new Uint8Array(5), "AES-GCM", true,
    ["encrypt"]), "DataError");
  await assertRejects(() => subtle.importKey("raw", new Uint8Array(16), "AES-GCM", true, ["sign"]),
    "SyntaxError");
  await assertRejects(() => subtle.importKey("raw", new Uint8Array(16), "AES-GCM", true, []),
    "SyntaxError");
  await assertRejects(() => subtle.generateKey({ name: "ECDSA", namedCurve: "P-1" }, true,
    ["sign"]), "NotSupportedError");
  await assertRejects(() => subtle.importKey("raw", {}, "AES-GCM", true, ["encrypt"]), TypeError);
});

test("JS_9 crypto: data are taken as they were at the call", async () => {
  const data = bytes("abc");
  const digest = subtle.digest("SHA-256", data);
  data[0] = 0;
  assertEquals(hex(await digest), hex(await subtle.digest("SHA-256", bytes("abc"))));
});

test("JS_9 CryptoKey: can be cloned, cannot be made", async () => {
  const key = await subtle.generateKey({ name: "HMAC", hash: "SHA-1" }, true, ["sign"]);
  const copy = structuredClone(key);
  assertEquals(await subtle.exportKey("jwk", copy), await subtle.exportKey("jwk", key));
  assertThrows(() => new CryptoKey(), TypeError);
});

test("JS_9 crypto: deriveBits refuses lengths outside of their range", async () => {
  const key = await subtle.importKey("raw", bytes("password"), "PBKDF2", false, ["deriveBits"]);
  const algorithm = { name: "PBKDF2", hash: "SHA-256", salt: bytes("salt"), iterations: 1 };
  for (const length of [NaN, Infinity, -8, 2 ** 32 + 8]) {
    await assertRejects(() => subtle.deriveBits(algorithm, key, length), "TypeError");
  }
});

test("JS_9 crypto: what takes long does not hold the loop up", async () => {
  let ticks = 0;
  const ticking = setInterval(() => ticks++, 1);
  const key = await subtle.importKey("raw", bytes("password"), "PBKDF2", false, ["deriveBits"]);
  const slow = { name: "PBKDF2", hash: "SHA-512", salt: bytes("salt"), iterations: 200_000 };
  // Another program may hold the processor while a key is derived; not twenty times.
  for (let round = 0; round < 20 && ticks <= 2; ++round) {
    ticks = 0;
    const derived = await subtle.deriveBits(slow, key, 256);
    assertEquals(derived.byteLength, 32);
  }
  assert(ticks > 2, `${ticks} ticks while a key was derived`);
  clearInterval(ticking);
  const algorithm = { name: "RSA-PSS", modulusLength: 2048, hash: "SHA-256",
    publicExponent: new Uint8Array([1, 0, 1]) };
  const pairs = await Promise.all(
    [1, 2].map(() => subtle.generateKey(algorithm, true, ["sign", "verify"])));
  assertEquals(pairs.map(({ privateKey }) => privateKey.algorithm.modulusLength), [2048, 2048]);
  await assertRejects(
    () => subtle.generateKey({ ...algorithm, publicExponent: new Uint8Array([2]) }, true, ["sign"]));
});
