// Node, Deno, Bun: so many workers, one after another, each ready when it has its handlers; then a
// server that answers. By the environment: PORT, ISOLATES.
import http from "node:http";
import process from "node:process";

const { ISOLATES, PORT } = process.env;
const Thread = globalThis.Worker ?? (await import("node:worker_threads")).Worker;
const workers = [];

function ready(worker) {
  return new Promise((resolve, reject) => {
    if (worker.once) worker.once("message", resolve).once("error", reject);
    else worker.onmessage = resolve, worker.onerror = reject;
  });
}

for (let i = 0; i < Number(ISOLATES); ++i) {
  const worker = new Thread(new URL("worker.mjs", import.meta.url), { type: "module" });
  workers.push(worker);
  await ready(worker);
}

http.createServer((_request, response) => response.end(String(workers.length)))
  .listen(Number(PORT), "127.0.0.1");
