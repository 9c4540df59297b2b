// The workerd of bench-js: a template, see weft.mjs.
import { makeHandlers } from "handlers";

const handlers = makeHandlers("http://127.0.0.1:@UPSTREAM_PORT@/1k");

export default { fetch: (request) => handlers.@WORKLOAD@(request) };
