// The handlers of bench-js for every peer that has fetch handlers: one argument, equal work. What
// differs from peer to peer (files, how a server begins) is in the file of that peer.

const CHUNKS = 64;
const CHUNK = new Uint8Array(16 * 1024).fill(120);
const STEPS = 10;
const SLEEP_MS = 5;
const FIELDS = ["host", "user-agent", "accept", "accept-language", "authorization", "x-request-id",
                "cookie", "cache-control"];

const text = (body) => new Response(body, { headers: { "content-type": "text/plain" } });

const step = async (value) => value + 1;

async function json(request) {
  const value = JSON.parse(await request.text());
  value.seen = value.items.length;
  return new Response(JSON.stringify(value), { headers: { "content-type": "application/json" } });
}

function headers(request) {
  const url = new URL(request.url);
  const parts = url.pathname.split("/");
  if (parts[1] !== "users" || parts[3] !== "posts") return new Response("", { status: 404 });
  let bytes = 0;
  for (const name of FIELDS) bytes += request.headers.get(name).length;
  const query = url.searchParams;
  return text(`${parts[2]} ${parts[4]} ${query.get("page")} ${query.get("sort")} ${bytes}`);
}

async function sleep5(_request) {
  await new Promise((resolve) => setTimeout(resolve, SLEEP_MS));
  return text("slept");
}

async function chain(_request) {
  let value = 0;
  for (let i = 0; i < STEPS; ++i) value = await step(value);
  return text(String(value));
}

function stream(_request) {
  let sent = 0;
  return new Response(new ReadableStream({
    pull(controller) {
      if (sent++ < CHUNKS) controller.enqueue(CHUNK.slice());
      else controller.close();
    },
  }));
}

/** By workload; `upstream` is the address that answers 1 KiB. */
export function makeHandlers(upstream) {
  const body = async () => (await fetch(upstream)).text();
  return {
    plaintext: (_request) => text("Hello, World!"),
    json,
    headers,
    sleep5,
    chain,
    fanout: async (_request) => text((await Promise.all([body(), body(), body()])).join("")),
    stream,
    proxy: (_request) => fetch(upstream),
  };
}
