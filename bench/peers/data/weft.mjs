// weft:data for data.mjs.
import { Results } from "weft:http";
import { postgres, sql, sqlite } from "weft:data";
import process from "node:process";

const kBatch = 4096;
const { env } = process;

export async function open(connections) {
  const db = await postgres.open({
    connectionString: `host=${env.PGHOST} port=${env.PGPORT} user=${env.PGUSER} dbname=${env.PGDATABASE}`,
    maxConnections: connections,
  });
  const one = (id) => sql`select id, randomnumber from world where id = ${id}`;
  return {
    select: (id) => db.queryOne(one(id)),
    async batch(ids) {
      return (await db.batch(ids.map(one))).map((result) => result.rows[0]);
    },
    transaction: (id, number) => db.batch([
      sql`select randomnumber from world where id = ${id}`,
      sql`update world set randomnumber = ${number} where id = ${id}`,
      sql`insert into ins(a, b) values (${id}, ${"x"})`,
    ]),
    rows: (n) => db.query(sql`select id, n, name, ts from big where id <= ${n}`, { maxRows: n }),
    async *stream() {
      yield* await db.stream("select id, n, name, ts from big");
    },
    async ndjson() {
      const cursor = await db.queryCursor("select id, n, name, ts from big", [], { batchSize: 2048 });
      let bytes = 0;
      for await (const chunk of Results.rows(cursor).body) bytes += chunk.byteLength;
      return bytes;
    },
    sleep() {
      const stop = new AbortController();
      const settled = db.query("select pg_sleep(5)", [], { signal: stop.signal }).catch(() => {});
      return { settled, cancel: () => stop.abort() };
    },
    close: () => db.close(),
  };
}

export async function openFile(path) {
  const db = await sqlite.open({ path, maxConnections: 1 });
  return {
    get: (id) => db.queryOne(sql`select id, n, name, r from big where id = ${id}`),
    async *scan() {
      const cursor = await db.stream("select id, n, name, r from big", [], { batchSize: 4096 });
      let rows = [];
      for await (const row of cursor) {
        rows.push(row);
        if (rows.length < kBatch) continue;
        yield rows;
        rows = [];
      }
      yield rows;
    },
    // A temporary table does not outlive the transaction.
    prepareInserts: () => {},
    insert: (count) => db.transaction(async (tx) => {
      await tx.exec("create temp table made(id integer primary key, n, name, r)");
      for (let at = 0; at < count; at += kBatch) {
        const list = [];
        for (let id = at; id < Math.min(at + kBatch, count); id++)
          list.push(["insert into made values (?, ?, ?, ?)", [id, id * 7, `row name number ${id}`, id / 2]]);
        await tx.batch(list);
      }
    }),
    close: () => db.close(),
  };
}
