const bytes = (...values) => new Uint8Array(values);

test("JS_9 TextEncoder: encodes UTF-8 and replaces lone surrogates", () => {
  const encoder = new TextEncoder();
  assertEquals(encoder.encoding, "utf-8");
  assertEquals(encoder.encode("h\u00E9\u20AC\u{1F600}"),
    bytes(0x68, 0xc3, 0xa9, 0xe2, 0x82, 0xac, 0xf0, 0x9f, 0x98, 0x80));
  assertEquals(encoder.encode("\uD800"), bytes(0xef, 0xbf, 0xbd));
  assertEquals(encoder.encode(), bytes());
});

test("JS_9 TextEncoder: encodeInto writes whole characters only", () => {
  const into = new Uint8Array(4);
  assertEquals(new TextEncoder().encodeInto("a\u20AC\u20AC", into), { read: 2, written: 4 });
  assertEquals(into, bytes(0x61, 0xe2, 0x82, 0xac));
  assertEquals(new TextEncoder().encodeInto("\u{1F600}", new Uint8Array(3)),
    { read: 0, written: 0 });
});

test("JS_9 TextDecoder: replaces errors, or throws when it is fatal", () => {
  assertEquals(new TextDecoder().decode(bytes(0x61, 0xff, 0xe2, 0x82)), "a\uFFFD\uFFFD");
  const fatal = new TextDecoder("utf-8", { fatal: true });
  assertThrows(() => fatal.decode(bytes(0xff)), TypeError);
  assertEquals(fatal.decode(bytes(0x61)), "a");
});

test("JS_9 TextDecoder: a byte order mark is dropped unless asked for", () => {
  const marked = bytes(0xef, 0xbb, 0xbf, 0x61);
  assertEquals(new TextDecoder().decode(marked), "a");
  assertEquals(new TextDecoder("utf-8", { ignoreBOM: true }).decode(marked), "\uFEFFa");
});

test("JS_9 TextDecoder: characters may be cut by the chunks of a stream", () => {
  const decoder = new TextDecoder();
  let text = "";
  for (const byte of new TextEncoder().encode("\uFEFFa\u20AC\u{1F600}")) {
    text += decoder.decode(bytes(byte), { stream: true });
  }
  assertEquals(text + decoder.decode(), "a\u20AC\u{1F600}");
  decoder.decode(bytes(0xe2), { stream: true });
  assertEquals(decoder.decode(), "\uFFFD");
});

test("JS_9 TextDecoder: knows the labels of the standard", () => {
  assertEquals(new TextDecoder(" LATIN1\n").encoding, "windows-1252");
  assertEquals(new TextDecoder("x-sjis").encoding, "shift_jis");
  assertEquals(new TextDecoder("unicode").encoding, "utf-16le");
  assertThrows(() => new TextDecoder("utf-7"), RangeError);
  assertThrows(() => new TextDecoder("replacement"), RangeError);
});

test("JS_9 TextDecoder: decodes legacy encodings", () => {
  assertEquals(new TextDecoder("shift_jis").decode(bytes(0x82, 0xa0)), "\u3042");
  assertEquals(new TextDecoder("gb18030").decode(bytes(0xc4, 0xe3)), "\u4F60");
  assertEquals(new TextDecoder("big5").decode(bytes(0xa4, 0x40)), "\u4E00");
  assertEquals(new TextDecoder("euc-kr").decode(bytes(0xb0, 0xa1)), "\uAC00");
  assertEquals(new TextDecoder("koi8-r").decode(bytes(0xc1)), "\u0430");
  assertEquals(new TextDecoder("utf-16be").decode(bytes(0, 0x41)), "A");
});

test("JS_9 atob and btoa: go both ways and refuse what is none", () => {
  assertEquals(btoa("h\u00E9"), "aOk=");
  assertEquals(atob(" aOk = "), "h\u00E9");
  for (const call of [() => btoa("\u20AC"), () => atob("a"), () => atob("\u20AC")]) {
    const error = assertThrows(call, DOMException);
    assertEquals(error.name, "InvalidCharacterError");
  }
});

test("JS_10 base64: 50 KB round-trip whole", () => {
  let text = "";
  for (let i = 0; i < 50_000; i++) text += String.fromCharCode(i & 255);
  assertEquals(atob(btoa(text)) === text, true);
});

test("JS_9 TextDecoder: decodes shared memory", () => {
  const shared = new SharedArrayBuffer(2);
  new Uint8Array(shared).set([0x68, 0x69]);
  assertEquals(new TextDecoder().decode(shared), "hi");
  assertEquals(new TextDecoder().decode(new Uint8Array(shared), { stream: true }), "hi");
});
