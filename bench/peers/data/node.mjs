// node:sqlite for data.mjs.
import { DatabaseSync } from "node:sqlite";

export function openFile(path) {
  const db = new DatabaseSync(path);
  const get = db.prepare("select id, n, name, r from big where id = ?");
  return {
    callers: 1,
    get: (id) => get.get(id),
    *scan() {
      yield db.prepare("select id, n, name, r from big").iterate();
    },
    prepareInserts: () => db.exec("create temp table made(id integer primary key, n, name, r)"),
    insert(count) {
      const one = db.prepare("insert into made values (?, ?, ?, ?)");
      db.exec("begin");
      for (let id = 0; id < count; id++) one.run(id, id * 7, `row name number ${id}`, id / 2);
      db.exec("commit");
    },
    close: () => db.close(),
  };
}
