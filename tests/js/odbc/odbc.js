// DAT-4: the module weft:data over ODBC.
import { DatabaseError, odbc, redact, sql } from "weft:data";
import { Results } from "weft:http";
import { everyWayEnds, theDatabaseEnds } from "../data/ways.mjs";
import { connectionString, open, withDatabase } from "./driver.mjs";

const endless =
  "with recursive n(x) as (select 1 union all select x + 1 from n) select count(*) as n from n";
const numbers = (count) =>
  `with recursive n(x) as (select 1 union all select x + 1 from n where x < ${count}) select x from n`;

test("DAT_4 query, queryRaw, queryOne, exec, batch", () => withDatabase(async (db) => {
  assertEquals(db.provider, "odbc");
  assertEquals(db.stats().mode, "blocking pool");
  await db.exec("create table t (id integer primary key, name text)");
  assertEquals(await db.exec(sql`insert into t (name) values (${"a"}), (${"b"})`),
    { affectedRows: 2 });
  assertEquals([...await db.query(sql`select id, name from t order by id`)],
    [{ id: 1, name: "a" }, { id: 2, name: "b" }]);
  assertEquals((await db.queryRaw("select name from t where id = ?", [2])).rows, [["b"]]);
  assertEquals(await db.queryOne(sql`select name from t where id = ${9}`), null);
  await assertRejects(() => db.batch(["delete from t", "select * from nowhere"]), DatabaseError);
  assertEquals(await db.queryOne("select count(*) as n from t"), { n: 2 });
}));

test("DAT_1 transactions and savepoints", () => withDatabase(async (db) => {
  await db.exec("create table t (name text)");
  await db.transaction(async (tx) => {
    await tx.exec(sql`insert into t values (${"kept"})`);
    await assertRejects(() => tx.transaction(async (inner) => {
      await inner.exec(sql`insert into t values (${"undone"})`);
      throw new RangeError("undo it");
    }), RangeError);
  });
  assertEquals([...await db.query("select name from t")], [{ name: "kept" }]);
}));

test("DAT_8 cursors, and DAT_14 Results.rows", () => withDatabase(async (db) => {
  let sum = 0;
  for await (const { x } of await db.queryCursor(numbers(10000))) sum += x;
  assertEquals(sum, 50005000);
  for await (const { x } of await db.stream(numbers(10000))) if (x === 5) break;
  assertEquals(db.stats().inUse, 0);
  const response = Results.rows(await db.queryCursor(numbers(3)));
  assertEquals(await response.text(), '{"x":1}\n{"x":2}\n{"x":3}\n');
}));

test("DAT_8 every way out of a cursor gives its connection back", async () => {
  await withDatabase((db) => everyWayEnds(db, numbers(5000)));
  await theDatabaseEnds(await open(), numbers(5000));
});

test("DAT_9 signal and timeoutMs stop the statement", () => withDatabase(async (db) => {
  const controller = new AbortController();
  setTimeout(() => controller.abort(new RangeError("enough")), 20);
  await assertRejects(() => db.query(endless, [], { signal: controller.signal }), RangeError);
  const late = await assertRejects(() => db.query(endless, [], { timeoutMs: 20 }), DatabaseError);
  assertEquals(late.code, "WEFT_E_DATA_TIMED_OUT");
  assertEquals(await db.queryOne("select 1 as n"), { n: 1 });
}));

test("DAT_10 errors have a code and show no secret", async () => {
  await withDatabase(async (db) => {
    const wrong = await assertRejects(() => db.query(sql`selec ${"c4n4ry"}`), DatabaseError);
    assertEquals([wrong.code, wrong.sqlState], ["WEFT_E_DATA_WRONG_STATEMENT", "42000"]);
    assert(!`${wrong.message}${wrong.stack}`.includes("c4n4ry"));
  });
  const db = await odbc.open({ connectionString: "Driver=/nowhere/driver.so;PWD=hunter2" });
  const missing = await assertRejects(() => db.query("select 1"), DatabaseError);
  assertEquals([missing.code, missing.sqlState], ["WEFT_E_DATA_UNSUPPORTED", "IM003"]);
  assert(!`${missing.message}${missing.stack}`.includes("hunter2"));
  await db.close();
  assertEquals(redact("Driver=x;Server=db;Database=shop;UID=u;PWD=hunter2"), "odbc://db/shop");
  for (const options of [undefined, {}, { connectionString: "" }, { connectionString: "a\0b" },
    { connectionString, maxConnections: 0 }, { connectionString, acces: "read" }]) {
    await assertRejects(() => odbc.open(options), TypeError);
  }
});

test("DAT_11 a handle that may only read cannot write", () => withDatabase(async (db) => {
  const refused = await assertRejects(() => db.query("create table wrong (n int)"), DatabaseError);
  assertEquals(refused.code, "WEFT_E_DATA_READ_ONLY");
}, { access: "read" }));
