// postgres.js for data.mjs.
import { createRequire } from "node:module";
import { clientOf } from "./postgres_like.mjs";

const postgres = createRequire(`${process.env.WEFT_BENCH_MODULES}/x.js`)("postgres");

export function open(connections) {
  const { PGHOST, PGPORT, PGUSER, PGDATABASE } = process.env;
  const sql = postgres({
    host: PGHOST, port: Number(PGPORT), user: PGUSER, database: PGDATABASE, max: connections,
  });
  const pages = (text, size) => sql.unsafe(text).cursor(size);
  return clientOf(sql, pages, () => sql.end({ timeout: 1 }));
}
