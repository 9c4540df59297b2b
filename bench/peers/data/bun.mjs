// Bun.sql and bun:sqlite for data.mjs.
import { Database } from "bun:sqlite";
import { clientOf } from "./postgres_like.mjs";

export function open(connections) {
  const { PGHOST, PGPORT, PGUSER, PGDATABASE } = process.env;
  const sql = new Bun.SQL({
    path: `${PGHOST}/.s.PGSQL.${PGPORT}`, hostname: "localhost", port: Number(PGPORT),
    username: PGUSER, database: PGDATABASE, max: connections, tls: false,
  });
  // It has no cursors, so one is declared by hand.
  async function* pages(text, size) {
    const connection = await sql.reserve();
    await connection.unsafe("begin");
    await connection.unsafe(`declare c no scroll cursor for ${text}`);
    for (;;) {
      const rows = await connection.unsafe(`fetch ${size} from c`);
      if (rows.length === 0) break;
      yield rows;
    }
    await connection.unsafe("commit");
    connection.release();
  }
  return clientOf(sql, pages, () => sql.close({ timeout: 1 }));
}

export function openFile(path) {
  const db = new Database(path);
  const get = db.query("select id, n, name, r from big where id = ?");
  return {
    callers: 1,
    get: (id) => get.get(id),
    *scan() {
      yield db.query("select id, n, name, r from big").iterate();
    },
    prepareInserts: () => db.run("create temp table made(id integer primary key, n, name, r)"),
    insert(count) {
      const one = db.query("insert into made values (?, ?, ?, ?)");
      db.transaction(() => {
        for (let id = 0; id < count; id++) one.run(id, id * 7, `row name number ${id}`, id / 2);
      })();
    },
    close: () => db.close(),
  };
}
