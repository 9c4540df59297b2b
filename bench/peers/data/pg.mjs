// pg for data.mjs.
import { createRequire } from "node:module";

const require = createRequire(`${process.env.WEFT_BENCH_MODULES}/x.js`);
const { Pool } = require("pg");
const Cursor = require("pg-cursor");
const kPage = 1000;
const big = "select id, n, name, ts from big";

export function open(connections) {
  const pool = new Pool({ max: connections });  // the rest by PGHOST and the like
  const named = (client, name, text, values) =>
    client.query({ name, text, values }).then((result) => result.rows);
  const one = (id) =>
    named(pool, "w", "select id, randomnumber from world where id = $1", [id]).then((rows) => rows[0]);
  async function* pages() {
    const client = await pool.connect();
    const cursor = client.query(new Cursor(big));
    for (;;) {
      const rows = await cursor.read(kPage);
      if (rows.length === 0) break;
      yield rows;
    }
    await cursor.close();
    client.release();
  }
  return {
    select: one,
    batch: (ids) => Promise.all(ids.map(one)),
    async transaction(id, number) {
      const client = await pool.connect();
      try {
        await client.query("begin");
        await named(client, "t1", "select randomnumber from world where id = $1", [id]);
        await named(client, "t2", "update world set randomnumber = $2 where id = $1", [id, number]);
        await named(client, "t3", "insert into ins(a, b) values ($1, $2)", [id, "x"]);
        await client.query("commit");
      } finally {
        client.release();
      }
    },
    rows: (n) => named(pool, "r", `${big} where id <= $1`, [n]),
    async *stream() {
      for await (const page of pages()) yield* page;
    },
    async ndjson() {
      let bytes = 0;
      const encoder = new TextEncoder();
      for await (const page of pages())
        bytes += encoder.encode(page.map((row) => JSON.stringify(row)).join("\n")).byteLength;
      return bytes;
    },
    sleep() {
      let process;
      const settled = pool.connect().then(async (client) => {
        process = client.processID;
        await client.query("select pg_sleep(5)").catch(() => {});
        client.release();
      });
      return { settled, cancel: () => pool.query("select pg_cancel_backend($1)", [process]) };
    },
    close: () => pool.end(),
  };
}
