// The Deno of bench-js, by the environment: PORT, WORKLOAD, UPSTREAM_PORT, WWW (the folder of 10k.bin).
import { makeHandlers } from "./handlers.mjs";

const [port, upstreamPort, workload, www] =
  ["PORT", "UPSTREAM_PORT", "WORKLOAD", "WWW"].map((name) => Deno.env.get(name));
const handlers = makeHandlers(`http://127.0.0.1:${upstreamPort}/1k`);
handlers.file = async (_request) => {
  const { readable } = await Deno.open(`${www}/10k.bin`);
  return new Response(readable, { headers: { "content-length": "10240" } });
};

Deno.serve({ port: Number(port), hostname: "127.0.0.1", onListen() {} }, handlers[workload]);
