import * as jose from "jose";

async function roundTrip(algorithm) {
  const { publicKey, privateKey } = await jose.generateKeyPair(algorithm);
  const token = await new jose.SignJWT({ sub: algorithm }).setProtectedHeader({ alg: algorithm })
    .setIssuedAt().setExpirationTime("2h").sign(privateKey);
  return (await jose.jwtVerify(token, publicKey)).payload.sub;
}

async function sealed() {
  const key = await jose.generateSecret("A256GCM");
  const token = await new jose.CompactEncrypt(new TextEncoder().encode("hidden"))
    .setProtectedHeader({ alg: "dir", enc: "A256GCM" }).encrypt(key);
  return new TextDecoder().decode((await jose.compactDecrypt(token, key)).plaintext);
}

export default {
  async fetch() {
    const secret = new TextEncoder().encode("0123456789abcdef0123456789abcdef");
    const token = await new jose.SignJWT({ a: 1 }).setProtectedHeader({ alg: "HS256" })
      .sign(secret);
    return Response.json([(await jose.jwtVerify(token, secret)).payload.a,
      await roundTrip("ES256"), await roundTrip("RS256"), await roundTrip("EdDSA"), await sealed()]);
  },
};
