// JS-9: the algorithms of the drafts "Secure Curves" and "Modern Algorithms", with the vectors of
// their own standards.

const { subtle } = crypto;
const bytes = (text) => new TextEncoder().encode(text);
const hex = (buffer) =>
  [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const unhex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
const counted = (first, length) => Uint8Array.from({ length }, (_, at) => first + at);
const toUrl = (text) => btoa(String.fromCharCode(...unhex(text)))
  .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

test("JS_9 crypto: SHA-3 of FIPS 202, and what is built on it", async () => {
  assertEquals(hex(await subtle.digest("sha3-256", bytes("abc"))),
    "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532");
  const key = await subtle.generateKey({ name: "HMAC", hash: "SHA3-384" }, true, ["sign"]);
  assertEquals(key.algorithm.length, 832);
  assertEquals((await subtle.sign("HMAC", key, bytes(""))).byteLength, 48);
  assert(!("alg" in await subtle.exportKey("jwk", key)));
  await assertRejects(() => subtle.generateKey(
    { name: "HMAC", hash: { name: "cSHAKE128", outputLength: 256 } }, true, ["sign"]),
    "NotSupportedError");
});

test("JS_9 crypto: cSHAKE and KMAC of SP 800-185, samples 1 and 2", async () => {
  const data = counted(0, 4);
  const digest = (customization) => subtle.digest(
    { name: "cSHAKE128", outputLength: 256, customization: bytes(customization) }, data);
  assertEquals(hex(await digest("Email Signature")),
    "c1c36925b6409a04f1b504fcbca9d82b4017277cb5ed2b2065fc1d3814d5aaf5");
  const key = await subtle.importKey("raw-secret", counted(0x40, 32), "KMAC128", true,
    ["sign", "verify"]);
  const params = (customization) =>
    ({ name: "KMAC128", outputLength: 256, customization: bytes(customization) });
  const tag = await subtle.sign(params(""), key, data);
  assertEquals(hex(tag), "e5780b0d3ea6f7d3a429c5706aa43a00fadbd7d49628839e3187243f456ee14e");
  assertEquals(hex(await subtle.sign(params("My Tagged Application"), key, data)),
    "3b1fba963cd8b0b59e8c1a6d71888b7143651af8ba0a7070c0979e2811324aa5");
  assertEquals(await subtle.verify(params(""), key, tag, data), true);
  assertEquals(await subtle.verify(params("other"), key, tag, data), false);
  assertEquals((await subtle.exportKey("jwk", key)).alg, "K128");
  // SHAKE128 of FIPS 202, of which 3 bits are asked: the low ones of the first byte.
  const short = await subtle.digest({ name: "cSHAKE128", outputLength: 3 }, bytes(""));
  assertEquals(hex(short), "07");
});

test("JS_9 crypto: TurboSHAKE and KangarooTwelve of RFC 9861", async () => {
  const digest = async (name, length, data, more) =>
    hex(await subtle.digest({ name, outputLength: length * 8, ...more }, data));
  assertEquals(await digest("TurboSHAKE128", 32, bytes("")),
    "1e415f1c5983aff2169217277d17bb538cd945a397ddec541f1ce41af2c1b74c");
  assertEquals(await digest("KT128", 32, bytes("")),
    "1ac2d450fc3b4205d19da7bfca1b37513c0803577ac7167f06fe2ce1f0ef39e5");
  // More than a chunk, so that there is a tree.
  const pattern = Uint8Array.from({ length: 8192 }, (_, at) => at % 251);
  assertEquals(await digest("KT128", 32, pattern),
    "48f256f6772f9edfb6a8b661ec92dc93b95ebd05a08a17b39ae3490870c926c3");
  await assertRejects(() => digest("KT256", 0, bytes("")), "OperationError");
  await assertRejects(() => digest("TurboSHAKE256", 32, bytes(""), { domainSeparation: 0x80 }),
    "OperationError");
});

test("JS_9 crypto: ChaCha20-Poly1305 of RFC 8439 §2.8.2", async () => {
  const text = "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for " +
    "the future, sunscreen would be it.";
  const name = "ChaCha20-Poly1305";
  const key = await subtle.importKey("raw-secret", counted(0x80, 32), name, true,
    ["encrypt", "decrypt"]);
  const params = {
    name, iv: unhex("070000004041424344454647"),
    additionalData: unhex("50515253c0c1c2c3c4c5c6c7"),
  };
  const sealed = new Uint8Array(await subtle.encrypt(params, key, bytes(text)));
  assertEquals(hex(sealed.subarray(0, 16)), "d31a8d34648e60db7b86afbc53ef7ec2");
  assertEquals(hex(sealed.subarray(-16)), "1ae10b594f09e26a7e902ecbd0600691");
  assertEquals(new TextDecoder().decode(await subtle.decrypt(params, key, sealed)), text);
  sealed[0] ^= 1;
  await assertRejects(() => subtle.decrypt(params, key, sealed), "OperationError");
  await assertRejects(() => subtle.encrypt({ name, iv: new Uint8Array(13) }, key, bytes("")),
    "OperationError");
  assertEquals((await subtle.exportKey("jwk", key)).alg, "C20P");
  await assertRejects(() => subtle.exportKey("raw", key), "NotSupportedError");
});

test("JS_9 crypto: AES-OCB of RFC 7253, appendix A", async () => {
  const key = await subtle.importKey("raw-secret", counted(0, 16), "AES-OCB", false,
    ["encrypt", "decrypt"]);
  const params = {
    name: "AES-OCB", iv: unhex("bbaa99887766554433221101"), additionalData: counted(0, 8),
  };
  const sealed = await subtle.encrypt(params, key, counted(0, 8));
  assertEquals(hex(sealed), "6820b3657b6f615a5725bda0d3b4eb3a257c9af1f8f03009");
  assertEquals(hex(await subtle.decrypt(params, key, sealed)), "0001020304050607");
  const short = await subtle.encrypt({ ...params, tagLength: 64 }, key, counted(0, 8));
  // The length of the tag goes into the nonce, so this is no prefix.
  assert(short.byteLength === 16 && hex(short) !== hex(sealed).slice(0, 32));
  await assertRejects(() => subtle.encrypt({ ...params, iv: new Uint8Array(16) }, key, short),
    "OperationError");
});

test("JS_9 crypto: Ed448 of RFC 8032 §7.4, blank", async () => {
  const jwk = {
    kty: "OKP", crv: "Ed448",
    d: toUrl("6c82a562cb808d10d632be89c8513ebf6c929f34ddfa8c9f63c9960ef6e348a3528c8a3fcc2f044e39a3fc" +
      "5b94492f8f032e7549a20098f95b"),
    x: toUrl("5fd7449b59b461fd2ce787ec616ad46a1da1342485a70e1f8a0ea75d80e96778edf124769b46c7061bd678" +
      "3df1e50f6cd1fa1abeafe8256180"),
  };
  const key = await subtle.importKey("jwk", jwk, "Ed448", true, ["sign"]);
  const signature = await subtle.sign("Ed448", key, bytes(""));
  assertEquals(hex(signature),
    "533a37f6bbe457251f023c0d88f976ae2dfb504a843e34d2074fd823d41a591f2b233f034f628281f2fd7a22ddd47d" +
    "7828c59bd0a21bfd3980ff0d2028d4b18a9df63e006c5d1c2d345b925d8dc00b4104852db99ac5c7cdda8530a113a0" +
    "f4dbb61149f05a7363268c71d95808ff2e652600");
  const shown = await subtle.getPublicKey(key, ["verify"]);
  assertEquals(await subtle.verify("Ed448", shown, signature, bytes("")), true);
  assertEquals(await subtle.verify("Ed448", shown, signature, bytes("x")), false);
  await assertRejects(() => subtle.sign({ name: "Ed448", context: new Uint8Array(256) }, key,
    bytes("")), "OperationError");
  // y = 1 is the neutral element, for which R = y = 1 and S = 0 would verify whatever is signed.
  const neutral = Uint8Array.of(1, ...new Uint8Array(56));
  const weak = await subtle.importKey("raw-public", neutral, "Ed448", true, ["verify"]);
  const forged = Uint8Array.of(1, ...new Uint8Array(113));
  assertEquals(await subtle.verify("Ed448", weak, forged, bytes("")), false);
});

test("JS_9 crypto: X448 of RFC 7748 §6.2", async () => {
  const jwk = {
    kty: "OKP", crv: "X448",
    d: toUrl("9a8f4925d1519f5775cf46b04b5800d4ee9ee8bae8bc5565d498c28dd9c9baf574a94197448973910063" +
      "82a6f127ab1d9ac2d8c0a598726b"),
    x: toUrl("9b08f7cc31b7e3e67d22d5aea121074a273bd2b83de09c63faa73d2c22c5d9bbc836647241d953d40c5b" +
      "12da88120d53177f80e532c41fa0"),
  };
  const key = await subtle.importKey("jwk", jwk, "X448", false, ["deriveBits"]);
  const other = await subtle.importKey("raw", unhex("3eb7a829b0cd20f5bcfc0b599b6feccf6da4627107bdb" +
    "0d4f345b43027d8b972fc3e34fb4232a13ca706dcb57aec3dae07bdc1c67bf33609"), "X448", true, []);
  const secret = await subtle.deriveBits({ name: "X448", public: other }, key, null);
  assertEquals(hex(secret), "07fff4181ac6cc95ec1c16a94a0f74d12da232ce40a77552281d282bb60c0b56fd246" +
    "4c335543936521c24403085d59a449a5037514a879d");
  // A public key of zeros gives a secret of zeros.
  const zero = await subtle.importKey("raw", new Uint8Array(56), "X448", true, []);
  await assertRejects(() => subtle.deriveBits({ name: "X448", public: zero }, key, null),
    "OperationError");
});

test("JS_9 crypto: the public half of a private key", async () => {
  const pair = await subtle.generateKey({ name: "ECDSA", namedCurve: "P-384" }, false,
    ["sign", "verify"]);
  const shown = await subtle.getPublicKey(pair.privateKey, ["verify"]);
  assertEquals(hex(await subtle.exportKey("raw-public", shown)),
    hex(await subtle.exportKey("raw", pair.publicKey)));
  await assertRejects(() => subtle.getPublicKey(pair.publicKey, []), "InvalidAccessError");
  await assertRejects(() => subtle.getPublicKey(pair.privateKey, ["sign"]), "SyntaxError");
  const secret = await subtle.generateKey({ name: "AES-GCM", length: 128 }, false, ["encrypt"]);
  await assertRejects(() => subtle.getPublicKey(secret, []), "NotSupportedError");
});

test("JS_9 crypto: what is supported, by parameters", async () => {
  const supports = (...given) => SubtleCrypto.supports(...given);
  assert(supports("digest", "SHA3-256") && !supports("digest", "MD5"));
  assert(!supports("brew", "AES-GCM"));
  assert(supports("encrypt", { name: "AES-CBC", iv: new Uint8Array(16) }));
  assert(!supports("encrypt", { name: "AES-CBC", iv: new Uint8Array(15) }));
  assert(supports("wrapKey", "AES-KW", "HMAC"));
  assert(!supports("wrapKey", "AES-KW", "HKDF"), "a key of HKDF cannot be exported");
  const { publicKey } = await subtle.generateKey("X25519", false, ["deriveBits"]);
  const agreement = { name: "X25519", public: publicKey };
  assert(supports("deriveBits", agreement, 256) && !supports("deriveBits", agreement, 257));
  assert(supports("deriveKey", agreement, { name: "AES-GCM", length: 256 }));
  assert(!supports("deriveKey", agreement, { name: "HMAC", hash: "SHA-256" }));
  assertThrows(() => SubtleCrypto.supports("digest"), "TypeError");
});

test("JS_9 crypto: exponents that make no key of RSA are refused at once", async () => {
  const generate = (exponent) => subtle.generateKey(
    { name: "RSA-PSS", modulusLength: 2048, publicExponent: exponent, hash: "SHA-256" }, true,
    ["sign"]);
  for (const exponent of [[], [1], [4], [1, 0, 0], new Array(256).fill(255)]) {
    await assertRejects(() => generate(Uint8Array.from(exponent)), "OperationError");
  }
});

// Of the seeds that count up, what OpenSSL 3.5 makes: the hash of the public key, and for ML-KEM
// the secret of a ciphertext of zeros, which no encapsulation gives.
const lattices = {
  "ML-KEM-512": ["3ae268dccc5456ac0d0f9b39257dc48fe081383b97c400512d712b739762daee", 768,
    "fc3ccf20a37dd91d9f511da5e6cb92039b1414db5b0880741178ccfb143212ff"],
  "ML-KEM-768": ["0b7934c83125c788995e2ba6bd761e33046b3e40571be53e023309a29f398cc9", 1088,
    "c8fbeddafdacef2ffeb8b354ea644f11b5c150f3e2c4a74ce38abba8f854ae16"],
  "ML-KEM-1024": ["c7b8fa0aa471d5ae18922d6ccad5b31e1d84f92ae723abfd13747018740a8530", 1568,
    "294cb5b6b0f37a047745a2a69991f66ac85936e1b077e717eaeb26bb0ba42c68"],
  "ML-DSA-44": ["9f107644c1084526af3bc8098680b05499a2325a644e388fb4f970e058d19d46"],
  "ML-DSA-65": ["d666806e11cee19a7c989f7445f90dd419cf4d2d51db8c0fdb4c0f0a542238c9"],
  "ML-DSA-87": ["91dc389cfaa01470b7f66eee45a4ae9026d154817c754dfe22298b3fa241ffcd"],
};

test("JS_9 crypto: ML-KEM of FIPS 203", async () => {
  for (const name of ["ML-KEM-512", "ML-KEM-768", "ML-KEM-1024"]) {
    const [hash, size, refused] = lattices[name];
    const key = await subtle.importKey("raw-seed", counted(0, 64), name, true,
      ["decapsulateBits", "decapsulateKey"]);
    const shown = await subtle.getPublicKey(key, ["encapsulateBits", "encapsulateKey"]);
    const raw = await subtle.exportKey("raw-public", shown);
    assertEquals(hex(await subtle.digest("SHA-256", raw)), hash);
    assertEquals(hex(await subtle.decapsulateBits(name, key, new Uint8Array(size))), refused);
    const { sharedKey, ciphertext } = await subtle.encapsulateBits(name, shown);
    assertEquals(hex(await subtle.decapsulateBits(name, key, ciphertext)), hex(sharedKey));
    const changed = new Uint8Array(ciphertext);
    changed[size - 1] ^= 1;
    assert(hex(await subtle.decapsulateBits(name, key, changed)) !== hex(sharedKey));
    await assertRejects(() => subtle.decapsulateBits(name, key, changed.subarray(1)),
      "OperationError");
    // A coefficient that is no residue.
    const wrong = new Uint8Array(raw);
    wrong.set([0xff, 0xff], 0);
    await assertRejects(() => subtle.importKey("raw-public", wrong, name, true, []), "DataError");
  }
});

test("JS_9 crypto: a key of ML-KEM becomes a key of AES", async () => {
  const name = "ML-KEM-768";
  const { publicKey, privateKey } = await subtle.generateKey(name, false,
    ["encapsulateKey", "decapsulateKey"]);
  const made = await subtle.encapsulateKey(name, publicKey, "AES-GCM", false, ["encrypt"]);
  const same = await subtle.decapsulateKey(name, privateKey, made.ciphertext, "AES-GCM", false,
    ["decrypt"]);
  const params = { name: "AES-GCM", iv: new Uint8Array(12) };
  const sealed = await subtle.encrypt(params, made.sharedKey, bytes("text"));
  assertEquals(new TextDecoder().decode(await subtle.decrypt(params, same, sealed)), "text");
  await assertRejects(() => subtle.encapsulateBits(name, publicKey), "InvalidAccessError");
});

test("JS_9 crypto: ML-DSA of FIPS 204", async () => {
  for (const name of ["ML-DSA-44", "ML-DSA-65", "ML-DSA-87"]) {
    const key = await subtle.importKey("raw-seed", counted(0, 32), name, true, ["sign"]);
    const shown = await subtle.getPublicKey(key, ["verify"]);
    const raw = await subtle.exportKey("raw-public", shown);
    assertEquals(hex(await subtle.digest("SHA-256", raw)), lattices[name][0]);
    const params = { name, context: bytes("context") };
    const signature = new Uint8Array(await subtle.sign(params, key, bytes("text")));
    const verify = (...given) => subtle.verify(...given);
    assertEquals(await verify(params, shown, signature, bytes("text")), true);
    assertEquals(await verify(params, shown, signature, bytes("test")), false);
    assertEquals(await verify(name, shown, signature, bytes("text")), false);
    assertEquals(await verify(params, shown, signature.subarray(1), bytes("text")), false);
    // The last bytes count the hints; more than there may be are no signature.
    signature[signature.length - 1] = 255;
    assertEquals(await verify(params, shown, signature, bytes("text")), false);
    await assertRejects(() => subtle.sign({ name, context: new Uint8Array(256) }, key, bytes("")),
      "OperationError");
  }
});

test("JS_9 crypto: the forms of the keys of ML-KEM and ML-DSA", async () => {
  const key = await subtle.importKey("raw-seed", counted(0, 32), "ML-DSA-44", true, ["sign"]);
  const jwk = await subtle.exportKey("jwk", key);
  assertEquals(jwk.kty, "AKP");
  assertEquals(jwk.alg, "ML-DSA-44");
  await subtle.importKey("jwk", jwk, "ML-DSA-44", true, ["sign"]);
  await assertRejects(() => subtle.importKey("jwk", { ...jwk, priv: toUrl("00".repeat(32)) },
    "ML-DSA-44", true, ["sign"]), "DataError");
  const der = new Uint8Array(await subtle.exportKey("pkcs8", key));
  assertEquals(hex(der.subarray(0, 24)), "3034020100300b0609608648016503040311042280200001");
  const load = (data, name = "ML-DSA-44") => subtle.importKey("pkcs8", data, name, true, ["sign"]);
  assertEquals(hex(await subtle.exportKey("raw-seed", await load(der))),
    hex(counted(0, 32)));
  await assertRejects(() => load(der, "ML-DSA-65"), "DataError");
  await assertRejects(() => load(der.subarray(0, 53)), "DataError");
  // The choice says that the whole key stands there.
  const expanded = new Uint8Array(der);
  expanded[20] = 0x04;
  await assertRejects(() => load(expanded), "NotSupportedError");
  // Every byte changed, once: no crash, and no other key under the same name.
  for (let at = 0; at < der.length - 32; at++) {
    // The version, which OpenSSL leaves to its callers.
    if (at === 4) continue;
    const changed = new Uint8Array(der);
    changed[at] ^= 0x55;
    const outcome = await load(changed).then(() => "loaded", (error) => error.name);
    assert(["DataError", "NotSupportedError"].includes(outcome), `byte ${at}: ${outcome}`);
  }
});

test("JS_9 crypto: Argon2 of RFC 9106 §5", async () => {
  const vectors = {
    Argon2d: "512b391b6f1162975371d30919734294f868e3be3984f3c1a13a4db9fabe4acb",
    Argon2i: "c814d9d1dc7f37aa13f0d77f2494bda1c8de6b016dd388d29952a4c4672b6ce8",
    Argon2id: "0d640df58d78766c08c037a34a8b53c9d01ef0452d75b65eb52520e96b01e659",
  };
  const filled = (length, value) => new Uint8Array(length).fill(value);
  for (const [name, expected] of Object.entries(vectors)) {
    const key = await subtle.importKey("raw-secret", filled(32, 1), name, false, ["deriveBits"]);
    const params = {
      name, nonce: filled(16, 2), secretValue: filled(8, 3), associatedData: filled(12, 4),
      memory: 32, passes: 3, parallelism: 4,
    };
    assertEquals(hex(await subtle.deriveBits(params, key, 256)), expected);
    for (const wrong of [{ memory: 31 }, { memory: 2 ** 21 + 1 }, { passes: 0 },
      { parallelism: 0 }, { version: 16 }]) {
      await assertRejects(() => subtle.deriveBits({ ...params, ...wrong }, key, 256),
        "OperationError");
    }
    await assertRejects(() => subtle.deriveBits(params, key, 24), "OperationError");
    await assertRejects(() => subtle.importKey("raw", filled(32, 1), name, false, ["deriveBits"]),
      "NotSupportedError");
  }
});
