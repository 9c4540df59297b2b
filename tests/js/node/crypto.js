import crypto from "node:crypto";
import { promisify } from "node:util";
import zlib from "node:zlib";

test("JS_2 node:crypto: hashes and HMAC by their test vectors", () => {
  const hash = (name, data) => crypto.createHash(name).update(data).digest("hex");
  assertEquals(hash("sha256", "abc"),
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  assertEquals(hash("md5", "abc"), "900150983cd24fb0d6963f7d28e17f72");
  assertEquals(hash("SHA1", "abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  const two = crypto.createHash("sha1").update("a");
  const copy = two.copy();
  assertEquals(two.update("bc").digest("base64"), "qZk+NkcGgWq6PiVxeFDCbJzQ2J0=");
  assertEquals(copy.update("bc").digest("hex"), hash("sha1", "abc"));
  // RFC 4231, case 2.
  assertEquals(crypto.createHmac("sha256", "Jefe").update("what do ya want for nothing?")
    .digest("hex"), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  assertThrows(() => crypto.createHash("sha0"), Error, "not supported");
  assertThrows(() => two.update("more"), Error, "already called");
});

test("JS_2 node:crypto: randomness, comparison", () => {
  assertEquals(crypto.randomBytes(70_000).length, 70_000);
  assertNotEquals(crypto.randomBytes(16).toString("hex"), crypto.randomBytes(16).toString("hex"));
  assert(/^[0-9a-f]{8}-[0-9a-f]{4}-4/.test(crypto.randomUUID()));
  for (let i = 0; i < 100; i++) {
    const number = crypto.randomInt(3, 6);
    assert(number >= 3 && number < 6);
  }
  assert(crypto.timingSafeEqual(Buffer.from("a"), Buffer.from("a")));
  assertThrows(() => crypto.timingSafeEqual(Buffer.from("a"), Buffer.from("ab")), RangeError);
  assertEquals(crypto.webcrypto.subtle, globalThis.crypto.subtle);
});

test("JS_2 node:crypto: scrypt and PBKDF2 by their test vectors, now and later", async () => {
  // RFC 7914 section 12, RFC 6070 case 2.
  const scrypted = "77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442" +
    "fcd0069ded0948f8326a753a0fc81f17e8d3e0fb2e0d3628cf35e20c38d18906";
  const options = { N: 16, r: 1, p: 1 };
  assertEquals(crypto.scryptSync("", "", 64, options).toString("hex"), scrypted);
  assertEquals((await promisify(crypto.scrypt)("", "", 64, options)).toString("hex"), scrypted);
  const derived = "ea6c014dc72d6f8ccd1ed92ace1d41f0d8de8957";
  const pbkdf2 = ["password", "salt", 2, 20, "sha1"];
  assertEquals(crypto.pbkdf2Sync(...pbkdf2).toString("hex"), derived);
  assertEquals((await promisify(crypto.pbkdf2)(...pbkdf2)).toString("hex"), derived);
});

test("JS_2 node:crypto: AES in GCM and CBC goes both ways", () => {
  const key = crypto.randomBytes(32);
  const iv = crypto.randomBytes(12);
  const cipher = crypto.createCipheriv("aes-256-gcm", key, iv);
  cipher.setAAD(Buffer.from("head"));
  const sealed = Buffer.concat([cipher.update("secret", "utf8"), cipher.final()]);
  const open = (tag) => {
    const decipher = crypto.createDecipheriv("aes-256-gcm", key, iv);
    decipher.setAAD(Buffer.from("head")).setAuthTag(tag);
    return decipher.update(sealed, undefined, "utf8") + decipher.final("utf8");
  };
  assertEquals(open(cipher.getAuthTag()), "secret");
  assertThrows(() => open(Buffer.alloc(16)), Error, "authenticate");
});

test("JS_2 node:crypto: the classes of ciphers are constructed as their functions do", () => {
  const given = ["aes-128-cbc", Buffer.alloc(16, 1), Buffer.alloc(16, 2)];
  const cipher = new crypto.Cipheriv(...given);
  const sealed = Buffer.concat([cipher.update("secret", "utf8"), cipher.final()]);
  const decipher = new crypto.Decipheriv(...given);
  assertEquals(decipher.update(sealed, undefined, "utf8") + decipher.final("utf8"), "secret");
  const { Cipheriv, Decipheriv } = crypto;
  assert(crypto.createCipheriv(...given) instanceof Cipheriv);
  assert(crypto.createDecipheriv(...given) instanceof Decipheriv);
  assert(!(decipher instanceof Cipheriv));
});

test("JS_2 node:crypto: an initialization vector of a wrong length is refused", () => {
  const key = Buffer.alloc(16);
  for (const [name, length] of [["cbc", 15], ["cbc", 0], ["ctr", 1], ["ctr", 17], ["gcm", 0]]) {
    assertThrows(() => crypto.createCipheriv(`aes-128-${name}`, key, Buffer.alloc(length)), Error,
      "Invalid initialization vector");
  }
});

test("JS_2 node:zlib packs and unpacks", async () => {
  const packed = zlib.gzipSync("hello ".repeat(100));
  assert(packed.length < 100);
  assertEquals(zlib.gunzipSync(packed).toString(), "hello ".repeat(100));
  assertEquals((await promisify(zlib.inflate)(zlib.deflateSync("x"))).toString(), "x");
  assertThrows(() => zlib.gunzipSync(Buffer.from("no gzip")), Error);
  for (const pack of [zlib.gzipSync, zlib.deflateSync]) {
    assertEquals(zlib.unzipSync(pack("either")).toString(), "either");
    assertEquals((await promisify(zlib.unzip)(pack("either"))).toString(), "either");
  }
  const parts = [];
  for await (const part of zlib.createUnzip().end(zlib.deflateSync("streamed"))) parts.push(part);
  assertEquals(Buffer.concat(parts).toString(), "streamed");
  assertThrows(() => zlib.unzipSync(Buffer.from("neither")), Error);
});

test("JS_2 node:zlib maxOutputLength keeps bombs small", async () => {
  const zeros = Buffer.alloc(1_000_000);
  for (const [pack, unpack] of [
    ["gzip", "gunzip"], ["deflate", "inflate"], ["deflateRaw", "inflateRaw"], ["gzip", "unzip"],
    ["brotliCompress", "brotliDecompress"],
  ]) {
    const packed = zlib[`${pack}Sync`](zeros);
    const limit = { maxOutputLength: 999_999 };
    const error = assertThrows(() => zlib[`${unpack}Sync`](packed, limit), RangeError,
      "Cannot create a Buffer larger than 999999 bytes");
    assertEquals(error.code, "ERR_BUFFER_TOO_LARGE");
    assertEquals((await assertRejects(promisify(zlib[unpack])(packed, limit), RangeError)).code,
      "ERR_BUFFER_TOO_LARGE");
    assertEquals(zlib[`${unpack}Sync`](packed, { maxOutputLength: 1_000_000 }).length, 1_000_000);
  }
  assertEquals(assertThrows(
    () => zlib.gzipSync("not small enough", { maxOutputLength: 5 }), RangeError).code,
    "ERR_BUFFER_TOO_LARGE");
  for (const [bad, code] of [[0, "ERR_OUT_OF_RANGE"], ["5", "ERR_INVALID_ARG_TYPE"]]) {
    assertEquals(assertThrows(() => zlib.gunzipSync(zlib.gzipSync("x"), { maxOutputLength: bad }),
      Error).code, code);
  }
});

test("JS_2 node:crypto: SHAKE gives as many bytes as are asked for", () => {
  const shake = (name, outputLength) =>
    crypto.createHash(name, { outputLength }).update("a").digest("hex");
  assertEquals(shake("shake256", 5), "867e2cb04f");
  assertEquals(shake("shake256", 40).length, 80);
  assert(shake("shake128", 20).startsWith(shake("shake128", undefined)));
  const hash = crypto.createHash("shake256", { outputLength: 5 }).update("a");
  assertEquals(hash.copy().digest("hex"), "867e2cb04f");
});
