// The encodings of Buffer: converts texts to bytes and back.
"use strict";

const { base64DecodeBytes, base64EncodeBytes, utf8Decode, utf8Encode } = native;

const names = {
  __proto__: null,
  utf8: "utf8", "utf-8": "utf8", ucs2: "utf16le", "ucs-2": "utf16le", utf16le: "utf16le",
  "utf-16le": "utf16le", latin1: "latin1", binary: "latin1", ascii: "ascii", base64: "base64",
  base64url: "base64url", hex: "hex",
};

// The canonical name of an encoding, or undefined.
function encodingOf(name) {
  if (name === undefined || name === null || name === "") return "utf8";
  return names[name] ?? names[`${name}`.toLowerCase()];
}

function toEncoding(name) {
  const encoding = encodingOf(name);
  if (encoding !== undefined) return encoding;
  const error = new TypeError(`Unknown encoding: ${String(name)}`);
  error.code = "ERR_UNKNOWN_ENCODING";
  throw error;
}

function fromCodes(text, mask) {
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i) & mask;
  return bytes;
}

function fromHex(text) {
  const bytes = new Uint8Array(text.length >>> 1);
  for (let i = 0; i < bytes.length; i++) {
    const pair = text.slice(2 * i, 2 * i + 2);
    if (!/^[0-9a-fA-F]{2}$/.test(pair)) return bytes.slice(0, i);
    bytes[i] = Number.parseInt(pair, 16);
  }
  return bytes;
}

// Node.js accepts both alphabets, skips characters outside them, and stops at the first '='.
function fromBase64(text) {
  const direct = base64DecodeBytes(text);
  if (direct !== undefined) return new Uint8Array(direct);
  const end = text.indexOf("=");
  let plain = (end < 0 ? text : text.slice(0, end))
    .replace(/-/g, "+").replace(/_/g, "/").replace(/[^A-Za-z0-9+/]/g, "");
  if (plain.length % 4 === 1) plain = plain.slice(0, -1);
  return new Uint8Array(base64DecodeBytes(plain) ?? 0);
}

function fromUtf16(text) {
  const bytes = new Uint8Array(text.length * 2);
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    bytes[2 * i] = code & 255;
    bytes[2 * i + 1] = code >>> 8;
  }
  return bytes;
}

function bytesOf(text, name) {
  switch (toEncoding(name)) {
    case "utf8": return new Uint8Array(utf8Encode(text));
    case "utf16le": return fromUtf16(text);
    case "hex": return fromHex(text);
    case "base64":
    case "base64url": return fromBase64(text);
    default: return fromCodes(text, 255);
  }
}

const kStep = 4096;

function codesOf(bytes, mask) {
  let text = "";
  for (let at = 0; at < bytes.length; at += kStep) {
    const part = bytes.subarray(at, at + kStep);
    text += String.fromCharCode.apply(null, mask === 255 ? part : part.map((b) => b & mask));
  }
  return text;
}

function utf16Of(bytes) {
  let text = "";
  for (let i = 0; i + 1 < bytes.length; i += 2) {
    text += String.fromCharCode(bytes[i] | (bytes[i + 1] << 8));
  }
  return text;
}

function hexOf(bytes) {
  const digits = "0123456789abcdef";
  let text = "";
  for (let i = 0; i < bytes.length; i++) text += digits[bytes[i] >> 4] + digits[bytes[i] & 15];
  return text;
}

// The bytes are a plain Uint8Array.
function textOf(bytes, name) {
  switch (toEncoding(name)) {
    case "utf8": return utf8Decode(bytes, false, true);
    case "utf16le": return utf16Of(bytes);
    case "hex": return hexOf(bytes);
    case "base64": return base64EncodeBytes(bytes);
    case "base64url":
      return base64EncodeBytes(bytes).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
    case "ascii": return codesOf(bytes, 127);
    default: return codesOf(bytes, 255);
  }
}

function byteLength(text, name) {
  switch (encodingOf(name) ?? "utf8") {
    case "utf16le": return text.length * 2;
    case "hex": return text.length >>> 1;
    case "base64":
    case "base64url": {
      const plain = text.replace(/=+$/, "");
      return Math.floor(plain.length * 3 / 4);
    }
    case "utf8": {
      let bytes = text.length;
      for (let i = 0; i < text.length; i++) {
        const code = text.charCodeAt(i);
        if (code >= 0x80) bytes += code < 0x800 ? 1 : 2;
        // A surrogate pair takes four bytes: the two units count for two more.
        if (code >= 0xD800 && code <= 0xDBFF && i + 1 < text.length) {
          const next = text.charCodeAt(i + 1);
          if (next >= 0xDC00 && next <= 0xDFFF) i++;
        }
      }
      return bytes;
    }
    default: return text.length;
  }
}

return { byteLength, bytesOf, encodingOf, textOf, toEncoding };
