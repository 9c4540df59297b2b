// JS-9: CompressionStream and DecompressionStream.

async function bytesOf(stream) {
  const parts = [];
  for await (const chunk of stream) parts.push(...chunk);
  return new Uint8Array(parts);
}

function once(bytes) {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(bytes);
      controller.close();
    },
  });
}

const formats = ["gzip", "deflate", "deflate-raw", "brotli"];

for (const format of formats) {
  test(`JS_9 CompressionStream: ${format} is smaller and comes back whole`, async () => {
    const text = new TextEncoder().encode("weft ".repeat(5000));
    const packed = await bytesOf(once(text).pipeThrough(new CompressionStream(format)));
    assert(packed.length < text.length / 10);
    const whole = await bytesOf(once(packed).pipeThrough(new DecompressionStream(format)));
    assertEquals(new TextDecoder().decode(whole), "weft ".repeat(5000));
  });

  test(`JS_9 DecompressionStream: ${format} that is cut off or followed is an error`, async () => {
    const text = new TextEncoder().encode("x".repeat(1000));
    const packed = await bytesOf(once(text).pipeThrough(new CompressionStream(format)));
    const cut = once(packed.slice(0, -2)).pipeThrough(new DecompressionStream(format));
    await assertRejects(() => bytesOf(cut), TypeError);
    const junk = new Uint8Array([...packed, 0]);
    const longer = once(junk).pipeThrough(new DecompressionStream(format));
    await assertRejects(() => bytesOf(longer), TypeError);
  });
}

test("JS_9 CompressionStream: refuses other formats and chunks that are no bytes", async () => {
  assertThrows(() => new CompressionStream("zip"), TypeError);
  assertThrows(() => new DecompressionStream(), TypeError);
  await assertRejects(() => bytesOf(once("text").pipeThrough(new CompressionStream("gzip"))),
    TypeError);
});
