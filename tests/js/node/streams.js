import { Duplex, PassThrough, Readable, Transform, Writable, finished, pipeline } from "node:stream";
import { text } from "node:stream/consumers";
import * as promises from "node:stream/promises";

const turn = () => new Promise((done) => setTimeout(done, 5));

test("JS_2 node:stream: a pipeline carries everything, in order, at the pace of its end", async () => {
  const taken = [];
  const upper = new Transform({
    transform(chunk, encoding, done) {
      done(null, chunk.toString().toUpperCase());
    },
  });
  const slow = new Writable({
    highWaterMark: 3,
    write(chunk, encoding, done) {
      taken.push(chunk.toString());
      setTimeout(done, 1);
    },
  });
  await promises.pipeline(Readable.from(["ab", "cd", "ef"]), upper, slow);
  assertEquals(taken, ["AB", "CD", "EF"]);
  let total = 0;
  const parts = Array.from({ length: 200 }, (_, i) => Buffer.alloc(10_000, i));
  await promises.pipeline(Readable.from(parts, { objectMode: false }), new PassThrough(),
    new Writable({
      write(chunk, encoding, done) {
        total += chunk.length;
        setImmediate(done);
      },
    }));
  assertEquals(total, 2_000_000);
});

test("JS_2 node:stream: an error anywhere ends the whole pipeline", async () => {
  const source = Readable.from((async function* () {
    yield "a";
    throw new Error("boom");
  })());
  const middle = new PassThrough();
  await assertRejects(promises.pipeline(source, middle, new PassThrough().resume()), Error, "boom");
  assert(middle.destroyed);
  const error = await new Promise((done) => pipeline(Readable.from(["a"]), new Writable({
    write: (chunk, encoding, next) => next(new Error("full")),
  }), done));
  assertEquals(error.message, "full");
});

test("JS_2 node:stream: events of both sides come in their order", async () => {
  const log = [];
  const readable = new Readable({ read() {} });
  readable.on("data", (chunk) => log.push(`data ${chunk}`));
  for (const name of ["end", "close"]) readable.on(name, () => log.push(name));
  readable.push("1");
  readable.push(null);
  const writable = new Writable({ write: (chunk, encoding, done) => done() });
  for (const name of ["finish", "close"]) writable.on(name, () => log.push(`w ${name}`));
  writable.end("a", () => log.push("w callback"));
  await turn();
  assertEquals(log.filter((one) => !one.startsWith("w")), ["data 1", "end", "close"]);
  assertEquals(log.filter((one) => one.startsWith("w")).sort(),
    ["w callback", "w close", "w finish"]);
  const after = new Writable({ write: (chunk, encoding, done) => done() });
  after.on("error", (error) => log.push(error.code));
  after.end();
  after.write("late");
  await turn();
  assert(log.includes("ERR_STREAM_WRITE_AFTER_END"));
});

test("JS_2 node:stream: back-pressure is told by write() and drain", async () => {
  const waiting = [];
  const writable = new Writable({
    highWaterMark: 4,
    write(chunk, encoding, done) {
      waiting.push(done);
    },
  });
  assertEquals([writable.write("ab"), writable.write("cd")], [true, false]);
  assert(writable.writableNeedDrain);
  let drained = false;
  writable.once("drain", () => {
    drained = true;
  });
  while (waiting.length > 0) {
    waiting.shift()();
    await turn();
  }
  assert(drained);
});

test("JS_2 node:stream: iteration, encodings, duplex, finished", async () => {
  const readable = new Readable({ read() {} });
  const euro = Buffer.from("\u20AC");
  readable.setEncoding("utf8");
  readable.push(euro.subarray(0, 1));
  readable.push(euro.subarray(1));
  readable.push(null);
  let read = "";
  for await (const chunk of readable) read += chunk;
  assertEquals(read, "\u20AC");
  const duplex = new Duplex({
    read() {
      this.push("out");
      this.push(null);
    },
    write: (chunk, encoding, done) => done(),
  });
  duplex.end("in");
  assertEquals(await text(duplex), "out");
  assert(duplex instanceof Writable && duplex instanceof Readable);
  const broken = new Readable({ read() {} });
  const ended = new Promise((done) => finished(broken, done));
  broken.destroy();
  assertEquals((await ended).code, "ERR_STREAM_PREMATURE_CLOSE");
  assertEquals(await Readable.from([1, 2, 3, 4]).filter((x) => x % 2 === 0).map((x) => x * 2)
    .toArray(), [4, 8]);
});

test("JS_2 node:stream: to the web platform's streams and back", async () => {
  const web = Readable.toWeb(Readable.from([Buffer.from("a"), Buffer.from("b")]));
  assertEquals(await new Response(web).text(), "ab");
  assertEquals(await text(Readable.fromWeb(new Blob(["hello"]).stream())), "hello");
  const parts = [];
  const sink = Writable.fromWeb(new WritableStream({ write: (chunk) => void parts.push(chunk) }));
  await promises.pipeline(Readable.from([Buffer.from("x")]), sink);
  assertEquals(parts.map(String), ["x"]);
});

test("JS_2 node:stream: functions stand in a pipeline, in its middle and at its end", async () => {
  const double = async function* (source) {
    for await (const chunk of source) yield `${chunk}${chunk}`;
  };
  const letters = () => Readable.from(["a", "b"]);
  assertEquals(await promises.pipeline(letters(), double, text), "aabb");
  assertEquals(await promises.pipeline(letters(), new PassThrough(), double, double, text),
    "aaaabbbb");
  const taken = [];
  await promises.pipeline(["x", "y"], double, new Writable({
    objectMode: true,
    write(chunk, encoding, done) {
      taken.push(chunk);
      done();
    },
  }));
  assertEquals(taken, ["xx", "yy"]);
  const error = await assertRejects(promises.pipeline(letters(), async function* () {
    throw new RangeError("in the middle");
  }, text), RangeError);
  assertEquals(error.message, "in the middle");
});

test("JS_2 node:stream: a function of a pipeline may leave the rest", async () => {
  const source = Readable.from(["a", "b", "c"]);
  const first = await promises.pipeline(source, new PassThrough({ objectMode: true }),
    async (chunks) => {
      for await (const chunk of chunks) return chunk;
    });
  assertEquals([first, source.destroyed], ["a", true]);
  assertEquals(await promises.pipeline(Readable.from(["a"]), async () => "unread"), "unread");
  assertEquals(await promises.pipeline(Readable.from(["a", "b"]), async function* (chunks) {
    for await (const chunk of chunks) {
      yield chunk;
      return;
    }
  }, text), "a");
});

test("JS_2 node:stream: Duplex.from() takes a function", async () => {
  const duplex = Duplex.from(async function* (source) {
    for await (const chunk of source) yield `${chunk}!`;
  });
  duplex.end("hey");
  assertEquals(await text(duplex), "hey!");
});
