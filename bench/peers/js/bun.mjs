// The Bun of bench-js, by the environment: PORT, WORKLOAD, UPSTREAM_PORT, WWW (the folder of 10k.bin).
import { makeHandlers } from "./handlers.mjs";

const { PORT, UPSTREAM_PORT, WORKLOAD, WWW } = process.env;
const handlers = makeHandlers(`http://127.0.0.1:${UPSTREAM_PORT}/1k`);
handlers.file = (_request) => new Response(Bun.file(`${WWW}/10k.bin`));

Bun.serve({ port: Number(PORT), hostname: "127.0.0.1", idleTimeout: 120, fetch: handlers[WORKLOAD] });
