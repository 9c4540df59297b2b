const streamOf = (...texts) => new ReadableStream({
  start(controller) {
    for (const text of texts) controller.enqueue(new TextEncoder().encode(text));
    controller.close();
  },
});

test("JS_9 Response: has a status, headers and a body", async () => {
  const response = new Response("hello",
    { status: 201, statusText: "Made", headers: { "X-A": "b" } });
  assertEquals(response.status, 201);
  assertEquals(response.statusText, "Made");
  assertEquals(response.ok, true);
  assertEquals(response.type, "default");
  assertEquals(response.headers.get("x-a"), "b");
  assertEquals(response.headers.get("content-type"), "text/plain;charset=UTF-8");
  assertEquals(response.bodyUsed, false);
  assertEquals(await response.text(), "hello");
  assertEquals(response.bodyUsed, true);
  await assertRejects(() => response.text(), TypeError);
  assertThrows(() => response.body.getReader(), TypeError);
});

test("JS_9 Response: refuses what cannot be sent", () => {
  assertThrows(() => new Response("", { status: 199 }), RangeError);
  assertThrows(() => new Response("", { status: 204 }), TypeError);
  assertThrows(() => new Response(null, { statusText: "a\nb" }), TypeError);
  assertThrows(() => new Response(null, { headers: { "a\n": "b" } }), TypeError);
});

test("JS_9 Response: json, redirect and error", async () => {
  const json = Response.json({ a: [1] }, { status: 202 });
  assertEquals(json.headers.get("content-type"), "application/json");
  assertEquals(json.status, 202);
  assertEquals(await json.json(), { a: [1] });
  assertThrows(() => Response.json(undefined), TypeError);
  const redirect = Response.redirect("http://h/x y", 307);
  assertEquals(redirect.headers.get("location"), "http://h/x%20y");
  assertThrows(() => redirect.headers.set("a", "b"), TypeError);
  assertThrows(() => Response.redirect("http://h/", 200), RangeError);
  assertEquals(Response.error().type, "error");
});

test("JS_9 Response: a body can be anything that Fetch allows", async () => {
  const form = new FormData();
  form.append("a", "1");
  const cases = [
    ["text", "text/plain;charset=UTF-8", "text"],
    [new Uint8Array([0x68, 0x69]), null, "hi"],
    [new Uint8Array([0x68, 0x69]).buffer, null, "hi"],
    [new DataView(new Uint8Array([0x68, 0x69]).buffer, 1), null, "i"],
    [new Blob(["b"], { type: "text/x" }), "text/x", "b"],
    [new URLSearchParams({ a: "1 2" }), "application/x-www-form-urlencoded;charset=UTF-8", "a=1+2"],
    [streamOf("st", "ream"), null, "stream"],
    [12, "text/plain;charset=UTF-8", "12"],
  ];
  for (const [body, type, text] of cases) {
    const response = new Response(body);
    assertEquals(response.headers.get("content-type"), type);
    assertEquals(await response.text(), text);
  }
});

test("JS_9 Response: bytes given are copied", async () => {
  const given = new Uint8Array([1]);
  const response = new Response(given);
  given[0] = 2;
  assertEquals(await response.bytes(), new Uint8Array([1]));
});

test("JS_9 Response: each way of reading", async () => {
  assertEquals(await new Response("\uFEFF{\"a\":1}").json(), { a: 1 });
  assertEquals((await new Response("ab").arrayBuffer()).byteLength, 2);
  const typed = new Response("ab", { headers: { "content-type": "A/B" } });
  assertEquals((await typed.blob()).type, "a/b");
  assertEquals(await new Response(null).text(), "");
  await assertRejects(() => new Response("{").json(), SyntaxError);
  await assertRejects(() => new Response("x").formData(), TypeError);
  let text = "";
  for await (const chunk of new Response("chunks").body) text += new TextDecoder().decode(chunk);
  assertEquals(text, "chunks");
});

test("JS_9 Response: a clone has the same bytes and its own headers", async () => {
  for (const body of ["text", new Uint8Array([1, 2]), streamOf("s")]) {
    const response = new Response(body, { headers: { a: "1" } });
    const clone = response.clone();
    clone.headers.set("a", "2");
    assertEquals(response.headers.get("a"), "1");
    assertEquals(await clone.bytes(), await response.bytes());
    assertThrows(() => response.clone(), TypeError);
  }
});

test("JS_9 Response: a stream that gives no bytes fails the read", async () => {
  const stream = new ReadableStream({ start(controller) { controller.enqueue("text"); } });
  await assertRejects(() => new Response(stream).text(), TypeError);
  const broken = new ReadableStream({
    start(controller) { controller.error(new RangeError("x")); },
  });
  await assertRejects(() => new Response(broken).text(), RangeError);
});

test("JS_9 Response: methods check their receiver", async () => {
  await assertRejects(() => Response.prototype.text.call({}), TypeError);
  assertThrows(() => Response.prototype.clone.call(new Request("http://h/")), TypeError);
});

test("JS_9 FormData: survives multipart/form-data", async () => {
  const form = new FormData();
  form.append("text", "a\nb");
  form.append("odd \"name\"\r\n", "v");
  form.append("file", new File([new Uint8Array([0, 13, 10, 255])], "f.bin", { type: "x/y" }));
  const back = await new Response(form).formData();
  assertEquals(back.get("text"), "a\r\nb");
  assertEquals(back.get("odd \"name\"\r\n"), "v");
  const file = back.get("file");
  assertEquals([file.name, file.type, file.size], ["f.bin", "x/y", 4]);
  assertEquals(await file.bytes(), new Uint8Array([0, 13, 10, 255]));
});

test("JS_9 FormData: reads forms that are URL-encoded, and refuses broken ones", async () => {
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const form = await new Response("a=1&b=%20", { headers }).formData();
  assertEquals([...form], [["a", "1"], ["b", " "]]);
  const multipart = { "content-type": "multipart/form-data; boundary=x" };
  for (const text of ["", "--x", "--x\r\n\r\nno name\r\n--x--", "--y--\r\n"]) {
    await assertRejects(() => new Response(text, { headers: multipart }).formData(), TypeError);
  }
});

test("JS_9 Blob: is sliced, read and joined", async () => {
  const blob = new Blob(["ab", new Uint8Array([99]), new Blob(["de"])], { type: "T/P" });
  assertEquals([blob.size, blob.type], [5, "t/p"]);
  assertEquals(await blob.slice(1, -1).text(), "bcd");
  assertEquals(await blob.slice(-2).text(), "de");
  assertEquals(await new Response(blob.stream()).text(), "abcde");
  assertEquals((await blob.arrayBuffer()).byteLength, 5);
});

test("JS_10 Blob: 1 MiB survives whole", async () => {
  const part = new Uint8Array(1 << 20).map((_, i) => i * 31);
  const back = await new Response(new Blob([part]).stream()).bytes();
  assertEquals(back.length, part.length);
  assert(back.every((byte, i) => byte === part[i]));
});

test("JS_9 File: has a name and a time", () => {
  const file = new File(["x"], "a.txt", { lastModified: 7 });
  assertEquals([file.name, file.lastModified, file instanceof Blob], ["a.txt", 7, true]);
  assertThrows(() => new File(["x"]), TypeError);
});
