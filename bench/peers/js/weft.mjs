// The Weft of bench-js: a template, as the handler of each workload is a program of its own.
import { makeHandlers } from "./handlers.mjs";

const handlers = makeHandlers("http://127.0.0.1:@UPSTREAM_PORT@/1k");

export default { fetch: handlers.@WORKLOAD@ };
