// One worker of workers.mjs: has the handlers of an application, and has answered once.
import { makeHandlers } from "./handlers.mjs";

const port = globalThis.postMessage ? globalThis : (await import("node:worker_threads")).parentPort;
const answer = makeHandlers("").plaintext(new Request("http://localhost/"));
port.postMessage(await answer.text());
globalThis.onmessage = () => {};  // a worker that listens does not end
port.on?.("message", () => {});
