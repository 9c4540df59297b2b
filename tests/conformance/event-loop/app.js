// The acceptance app for timers, promises, streams and fetch in one handler: a path a behaviour.
// Each answers {test, pass, ...}; /test-all-local and /test-edge-cases ask several of them.

const sleep = (ms, value) => new Promise((resolve) => setTimeout(() => resolve(value), ms));

// ---- timers

async function timerBasic() {
  const begun = Date.now();
  let fired = false;
  await new Promise((resolve) => {
    setTimeout(() => {
      fired = true;
      resolve();
    }, 50);
  });
  const elapsed = Date.now() - begun;
  return { pass: fired && elapsed >= 49, fired, elapsed };
}

async function timerOrdering() {
  const order = [];
  // Each counts from its own call; no machine may take as long from one call to the next.
  await Promise.all([
    sleep(450).then(() => order.push("c")),
    sleep(50).then(() => order.push("a")),
    sleep(250).then(() => order.push("b")),
  ]);
  return { pass: order.join("") === "abc", order };
}

// ---- promises

async function promiseBasic() {
  const value = await Promise.resolve(1)
    .then((number) => number + 1)
    .then((number) => number * 21);
  return { pass: value === 42, value };
}

async function promiseAll() {
  const values = await Promise.all([Promise.resolve(1), sleep(20, 2), 3, sleep(5, 4)]);
  return { pass: values.join(",") === "1,2,3,4", values };
}

async function deepPromiseChain() {
  let chain = Promise.resolve(0);
  for (let link = 0; link < 100; ++link) chain = chain.then((count) => count + 1);
  const count = await chain;
  return { pass: count === 100, count };
}

function promiseNeverResolves() {
  return new Promise(() => {});
}

// The same while something goes on that could settle it.
function promiseWaitsTooLong() {
  return new Promise(() => {
    setInterval(() => {}, 50);
  });
}

function infiniteLoop() {
  while (true);
}

// ---- streams

async function writableSync() {
  const chunks = [];
  const writer = new WritableStream({ write: (chunk) => void chunks.push(chunk) }).getWriter();
  for (const chunk of ["a", "b", "c"]) await writer.write(chunk);
  await writer.close();
  return { pass: chunks.join("") === "abc", chunks };
}

function slowSink(chunks, ms) {
  return new WritableStream({
    async write(chunk) {
      await sleep(ms);
      chunks.push(chunk);
    },
  });
}

async function writableAsync() {
  const chunks = [];
  const writer = slowSink(chunks, 10).getWriter();
  await writer.write("a");
  const afterFirst = chunks.length;
  await Promise.all([writer.write("b"), writer.write("c")]);
  await writer.close();
  return { pass: afterFirst === 1 && chunks.join("") === "abc", chunks };
}

async function writableError() {
  const stream = new WritableStream({
    write() {
      throw new Error("the sink is full");
    },
  });
  const writer = stream.getWriter();
  writer.closed.catch(() => {});
  const message = await writer.write("a").then(() => "none", (error) => error.message);
  return { pass: message === "the sink is full", message };
}

async function writableManySync() {
  const chunks = [];
  const writer = new WritableStream({ write: (chunk) => void chunks.push(chunk) }).getWriter();
  for (let at = 0; at < 50; ++at) writer.write(at);
  await writer.close();
  return { pass: chunks.length === 50 && chunks.every((chunk, at) => chunk === at) };
}

async function writableManyAsync() {
  const chunks = [];
  const writer = slowSink(chunks, 2).getWriter();
  for (let at = 0; at < 10; ++at) writer.write(at);
  await writer.close();
  return { pass: chunks.join(",") === "0,1,2,3,4,5,6,7,8,9", chunks };
}

async function readAll(stream) {
  const chunks = [];
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return chunks;
    chunks.push(value);
  }
}

async function readableBasic() {
  let count = 0;
  const chunks = await readAll(new ReadableStream({
    pull(controller) {
      controller.enqueue(++count);
      if (count === 3) controller.close();
    },
  }));
  return { pass: chunks.join(",") === "1,2,3", chunks };
}

// Others hang on this: everything is there before anybody reads.
async function startSyncClose() {
  const chunks = await readAll(new ReadableStream({
    start(controller) {
      controller.enqueue("data");
      controller.close();
    },
  }));
  return { pass: chunks.join("") === "data", chunks };
}

// ---- large values

async function blobLarge() {
  const bytes = new Uint8Array(1024 * 1024);
  for (let at = 0; at < bytes.length; ++at) bytes[at] = (at * 31) & 255;
  const blob = new Blob([bytes]);
  const back = new Uint8Array(await blob.arrayBuffer());
  const same = back.length === bytes.length && back.every((byte, at) => byte === bytes[at]);
  return { pass: blob.size === bytes.length && same, size: back.length };
}

async function encodingLarge() {
  const text = "0123456789".repeat(5 * 1024);
  const encoded = btoa(text);
  return { pass: atob(encoded) === text, length: text.length, encoded: encoded.length };
}

// ---- fetch; `env.UPSTREAM` is a server that was started for this

// Nobody is answered who meets others at the upstream until so many have asked by the same name.
async function meet(env, name, count) {
  const response = await fetch(`${env.UPSTREAM}/meet?name=${name}&count=${count}`);
  return `${response.status} ${await response.text()}`;
}

// The timer fires while the first fetch waits for what it sends.
async function asyncFetch(env) {
  const name = crypto.randomUUID();
  let second;
  setTimeout(() => { second = meet(env, name, 2); }, 20);
  const texts = [await meet(env, name, 2), await second];
  return { pass: texts.join() === "200 met,200 met", texts };
}

async function concurrentFetch(env) {
  const name = crypto.randomUUID();
  const texts = await Promise.all([meet(env, name, 2), meet(env, name, 2)]);
  return { pass: texts.join() === "200 met,200 met", texts };
}

// Twenty requests of the app meet by it.
async function crowdFetch(env) {
  const text = await meet(env, "crowd", 20);
  return { pass: text === "200 met", text };
}

async function fetchJson(env) {
  const value = await (await fetch(`${env.UPSTREAM}/json`)).json();
  return { pass: value.hello === "world" && value.list.length === 3, value };
}

async function failure(promise) {
  try {
    await promise;
    return { name: "none" };
  } catch (error) {
    return { name: error.name, message: error.message, code: error.cause?.code };
  }
}

async function fetchError() {
  const error = await failure(fetch("http://no-such-host.invalid/"));
  return { pass: error.name === "TypeError" && error.code === "ConnectionFailed", error };
}

async function ssrfBlocked() {
  const hosts = ["127.0.0.1:8081", "localhost:8081", "10.0.0.1", "172.16.0.1", "192.168.0.1",
    "169.254.169.254", "[::1]:8081", "0x7f000001:8081",
    "[::ffff:127.0.0.1]:8081"];
  const urls = hosts.map((host) => `http://${host}/`);
  const errors = await Promise.all(urls.map((url) => failure(fetch(url))));
  const open = urls.filter((_, at) => errors[at].code !== "BlockedHost");
  return { pass: open.length === 0, open, errors };
}

async function mixedAsync(env) {
  const [timer, fetched, value] = await Promise.all([
    sleep(20, "timer-ok"),
    fetch(`${env.UPSTREAM}/json`).then((response) => response.json()),
    Promise.resolve(42),
  ]);
  return { pass: timer === "timer-ok" && fetched.hello === "world" && value === 42 };
}

// ---- which is where

const tests = {
  "timer-basic": timerBasic,
  "timer-ordering": timerOrdering,
  "promise-basic": promiseBasic,
  "promise-all": promiseAll,
  "deep-promise-chain": deepPromiseChain,
  "promise-never-resolves": promiseNeverResolves,
  "promise-waits-too-long": promiseWaitsTooLong,
  "infinite-loop": infiniteLoop,
  "writable-sync": writableSync,
  "writable-async": writableAsync,
  "writable-error": writableError,
  "writable-many-sync": writableManySync,
  "writable-many-async": writableManyAsync,
  "readable-basic": readableBasic,
  "start-sync-close": startSyncClose,
  "blob-large": blobLarge,
  "encoding-large": encodingLarge,
  "async-fetch": asyncFetch,
  "concurrent-fetch": concurrentFetch,
  "crowd-fetch": crowdFetch,
  "fetch-json": fetchJson,
  "fetch-error": fetchError,
  "ssrf-blocked": ssrfBlocked,
  "mixed-async": mixedAsync,
};
const local = ["timer-basic", "timer-ordering", "promise-basic", "promise-all", "writable-sync",
  "writable-async", "writable-error", "readable-basic", "blob-large", "encoding-large"];
const edges = ["deep-promise-chain", "writable-many-sync", "writable-many-async",
  "start-sync-close"];

async function run(name, env) {
  try {
    return { test: name, ...(await tests[name](env)) };
  } catch (error) {
    return { test: name, pass: false, error: String(error?.stack ?? error) };
  }
}

async function runAll(names, env) {
  const results = [];
  for (const name of names) results.push(await run(name, env));
  const passed = results.filter((result) => result.pass).length;
  return { passed, total: names.length, results };
}

export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    if (pathname === "/test-all-local") return Response.json(await runAll(local, env));
    if (pathname === "/test-edge-cases") return Response.json(await runAll(edges, env));
    const name = pathname.slice("/test-".length);
    if (!pathname.startsWith("/test-") || !Object.hasOwn(tests, name)) {
      return new Response("not found", { status: 404 });
    }
    return Response.json(await run(name, env));
  },
};
