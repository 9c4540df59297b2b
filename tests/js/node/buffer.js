import buffer from "node:buffer";

const bytes = (text, encoding) => [...Buffer.from(text, encoding)];

test("JS_2 Buffer: every encoding, both ways", () => {
  assertEquals(Buffer, buffer.Buffer);
  assertEquals(bytes("h\u00E9\u20AC\u{1F600}"),
    [104, 0xC3, 0xA9, 0xE2, 0x82, 0xAC, 0xF0, 0x9F, 0x98, 0x80]);
  assertEquals(bytes("deadBEEFzz", "hex"), [0xDE, 0xAD, 0xBE, 0xEF]);
  assertEquals(bytes("aGk=", "base64"), [104, 105]);
  assertEquals(bytes("-_-_", "base64"), [0xFB, 0xFF, 0xBF]);
  assertEquals(bytes("aG k\n", "base64"), [104, 105]);
  assertEquals(bytes("a\u20AC", "utf16le"), [97, 0, 0xAC, 0x20]);
  assertEquals(bytes("\u00FF\u0100", "latin1"), [255, 0]);
  const all = Buffer.from([0xFB, 0xFF, 0x80, 0x41]);
  assertEquals(all.toString("hex"), "fbff8041");
  assertEquals(all.toString("base64"), "+/+AQQ==");
  assertEquals(all.toString("base64url"), "-_-AQQ");
  assertEquals(all.toString("latin1"), "\u00FB\u00FF\u0080A");
  assertEquals(all.toString("ascii"), "{\u007F\u0000A");
  assertEquals(all.toString(), "\uFFFD\uFFFD\uFFFDA");
  assertEquals(Buffer.byteLength("h\u00E9\u{1F600}"), 7);
  assertThrows(() => Buffer.from("a", "klingon"), TypeError, "Unknown encoding");
});

test("JS_2 Buffer: numbers are read and written, and their ranges kept", () => {
  const b = Buffer.alloc(16);
  assertEquals(b.writeUInt32LE(0xDEADBEEF, 0), 4);
  b.writeInt16BE(-2, 4);
  b.writeUIntBE(0x123456, 6, 3);
  b.writeBigInt64LE(-5n, 8);
  assertEquals([b.readUInt32LE(0), b.readInt16BE(4), b.readUIntBE(6, 2), b.readBigInt64LE(8)],
    [0xDEADBEEF, -2, 0x1234, -5n]);
  assertEquals(b.readUint8(0), 0xEF);
  b.writeDoubleBE(1.5, 8);
  assertEquals([b.readDoubleBE(8), b.readIntLE(0, 6)], [1.5, b.readIntLE(0, 6)]);
  assertEquals(assertThrows(() => b.readUInt8(16), RangeError).code, "ERR_OUT_OF_RANGE");
  assertThrows(() => b.writeUInt8(256, 0), RangeError);
  assertThrows(() => b.readUInt16LE(0.5), RangeError);
});

test("JS_2 Buffer: made, joined, cut, compared, searched", () => {
  assert(Buffer.isBuffer(Buffer("abc")) && new Buffer(3).length === 3);
  assert(Buffer.from("x") instanceof Uint8Array && !Buffer.isBuffer(new Uint8Array(1)));
  const shared = new ArrayBuffer(4);
  Buffer.from(shared, 1, 2).fill(7);
  assertEquals([...new Uint8Array(shared)], [0, 7, 7, 0]);
  assertEquals(Buffer.concat([Buffer.from("a"), Buffer.from("bc")]).toString(), "abc");
  assertEquals(Buffer.concat([Buffer.from("abc")], 2).toString(), "ab");
  const whole = Buffer.from("hello world");
  whole.subarray(0, 1)[0] = 72;
  assertEquals(whole.slice(0, 5).toString(), "Hello");
  assertEquals([whole.indexOf("wor"), whole.lastIndexOf("o"), whole.includes("z")], [6, 7, false]);
  assertEquals([Buffer.compare(Buffer.from("a"), Buffer.from("b")),
    Buffer.from("a").equals(Buffer.from("a"))], [-1, true]);
  assertEquals(Buffer.alloc(5, "ab").toString(), "ababa");
  assertEquals(JSON.stringify(Buffer.from("a")), '{"type":"Buffer","data":[97]}');
  assertEquals([...Buffer.from({ type: "Buffer", data: [1, 2] })], [1, 2]);
  const room = Buffer.alloc(3);
  assertEquals([room.write("a\u00E9\u20AC"), room.toString()], [3, "a\u00E9"]);
  assertEquals([...Buffer.from([1, 2, 3, 4]).swap16()], [2, 1, 4, 3]);
  assert(Buffer.isBuffer(whole.map((byte) => byte)));
  assertThrows(() => Buffer.from(5), TypeError);
  assertThrows(() => Buffer.alloc(-1), RangeError);
});

test("JS_2 node:buffer: what is out of range is refused by its name", () => {
  const buffer = Buffer.from("hello world");
  assertEquals(buffer.indexOf("", 20), 11);
  const names = [() => buffer.copy(Buffer.alloc(2), 0, 20), () => buffer.copy(Buffer.alloc(2), -1),
    () => buffer.fill("a", 0, 99), () => buffer.fill("a", -1)];
  for (const [i, name] of ["sourceStart", "targetStart", "end", "offset"].entries()) {
    const error = assertThrows(names[i], RangeError, `"${name}"`);
    assertEquals(error.code, "ERR_OUT_OF_RANGE");
  }
});
