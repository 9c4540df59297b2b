// DAT: the module weft:data, over SQLite.
import { Results } from "weft:http";
import { DatabaseError, isQuery, open, redact, sql, sqlite } from "weft:data";
import { everyWayEnds, flightsEnd, statementsAreInOrder } from "./ways.mjs";

const endless =
  "with recursive n(x) as (select 1 union all select x + 1 from n) select count(*) from n";
const numbers = (count) =>
  sql`with recursive n(x) as (select 1 union all select x + 1 from n limit ${count}) select x from n`;

async function withDatabase(work, options = { path: ":memory:" }) {
  const db = await sqlite.open(options);
  try {
    return await work(db);
  } finally {
    await db.close();
  }
}

test("DAT_6 sql: values are parameters, names are quoted, statements are put in", () => {
  const inner = sql`b = ${2}`;
  const query = sql`select * from ${sql.identifier('or"der')} where a = ${1} and ${inner} or c = ${3}`;
  assert(isQuery(query));
  assertEquals(query.text, 'select * from "or""der" where a = $1 and b = $2 or c = $3');
  assertEquals(query.parameters, [1, 2, 3]);
  assertThrows(() => sql("select 1"), TypeError);
  for (const bad of ["", "a\0b", 7]) assertThrows(() => sql.identifier(bad), TypeError);
});

test("DAT_6 sql: wrappers refuse what is not of their form, and do not show it", () => {
  const wrong = {
    decimal: ["", "1.2.3", "0x10", 7], uuid: ["6ba7b810"], date: ["2026-13-01", "26-01-01"],
    time: ["24:00:00", "1:2:3"], timestamp: ["2026-11-18"], instant: ["2026-11-18T08:00:00"],
    offsetDateTime: ["2026-11-18T08:00:00Z"],
  };
  for (const [name, values] of Object.entries(wrong)) {
    for (const value of values) {
      const error = assertThrows(() => sql[name](value), TypeError);
      if (value !== "" && value !== 7) assert(!error.message.includes(value), error.message);
    }
  }
});

test("DAT_1 query, queryRaw, queryOne, exec", () => withDatabase(async (db) => {
  assertEquals(db.provider, "sqlite");
  await db.exec("create table t (id integer primary key, name text)");
  assertEquals(await db.exec(sql`insert into t (name) values (${"a"}), (${"b"})`),
    { affectedRows: 2, lastInsertId: 2 });
  const rows = await db.query(sql`select id, name from t order by id`);
  assertEquals([...rows], [{ id: 1, name: "a" }, { id: 2, name: "b" }]);
  assertEquals(rows.columnNames, ["id", "name"]);
  assertEquals(rows.columns, [{ name: "id", index: 0 }, { name: "name", index: 1 }]);
  assertEquals(Object.keys(rows), ["0", "1"]);
  const raw = await db.queryRaw("select id, name, id as name from t where id = ?", [2]);
  assertEquals(raw.rows, [[2, "b", 2]]);
  assertEquals(raw.mode, "raw");
  assertEquals((await db.query("select 1 as x", [], { mode: "raw" })).rows, [[1]]);
  // Of two columns with one name the last counts.
  assertEquals(await db.queryOne("select 1 as x, 2 as x"), { x: 2 });
  assertEquals(await db.queryOne(sql`select * from t where id = ${9}`), null);
  assertEquals(Object.keys(await db.queryOne('select 1 as "__proto__"')), ["__proto__"]);
}));

test("DAT_1 unknown options and wrong parameters are refused before anything happens",
  () => withDatabase(async (db) => {
    await assertRejects(() => db.query("select 1", [], { maxrows: 1 }), TypeError, "maxrows");
    await assertRejects(() => db.exec("select 1", [], { maxRows: 1 }), TypeError);
    await assertRejects(() => db.query("select ?", [undefined]), TypeError, "Parameter 1");
    await assertRejects(() => db.query("select ?", [{}]), TypeError, "sql.json()");
    await assertRejects(() => db.query("select ?", [new Date()]), TypeError, "sql.instant");
    await assertRejects(() => db.query("select ?", { maxRows: 1 }), TypeError);
    for (const maxRows of [0, -1, 1.5, "1"]) {
      await assertRejects(() => db.query("select 1", [], { maxRows }), TypeError);
    }
    await assertRejects(() => sqlite.open({ path: ":memory:", mode: 1 }), TypeError, "mode");
    await assertRejects(() => sqlite.open({}), TypeError);
  }));

test("DAT_6 every type comes back as it went", () => withDatabase(async (db) => {
  await db.exec(`create table t (i integer, big integer, r real, s text, b blob, d decimal text,
    j json text, u uuid, day date, at timestamp, ok boolean, n text)`);
  const bytes = Uint8Array.from({ length: 300 }, (_, at) => at);
  await db.exec(sql`insert into t values (${42}, ${-(2n ** 63n)}, ${0.1}, ${"naïve 🌱 ' \" ; --"},
    ${bytes}, ${sql.decimal("-12345678901234567890.1200")}, ${sql.json({ a: [1, null, "x"] })},
    ${sql.uuid("6BA7B810-9DAD-11D1-80B4-00C04FD430C8")}, ${sql.date("2024-02-29")},
    ${sql.timestamp("2026-11-18 08:00:00.5")}, ${true}, ${null})`);
  assertEquals(await db.queryOne("select * from t"), {
    i: 42, big: -(2n ** 63n), r: 0.1, s: "naïve 🌱 ' \" ; --", b: bytes,
    d: "-12345678901234567890.1200", j: { a: [1, null, "x"] },
    u: "6ba7b810-9dad-11d1-80b4-00c04fd430c8", day: "2024-02-29",
    at: "2026-11-18T08:00:00.5", ok: true, n: null,
  });
  // An integer that a number holds exactly is a number, and none is ever rounded.
  assertEquals((await db.queryRaw(sql`select ${2n ** 53n - 1n}, ${2n ** 53n}, ${2n ** 63n - 1n}`))
    .rows, [[2 ** 53 - 1, 2n ** 53n, 2n ** 63n - 1n]]);
  await assertRejects(() => db.query(sql`select ${2n ** 63n}`), DatabaseError);
  assertEquals((await db.queryRaw(sql`select ${new ArrayBuffer(2)}`)).rows, [[new Uint8Array(2)]]);
}));

test("DAT_6 times of day and points in time come back as they went", () => withDatabase(async (db) => {
  await db.exec("create table t (at time, point instant, there timestamptz)");
  const forms = [["08:30:00", "2026-11-18T23:59:59.5Z", "2026-11-18T23:59:59.5+02:00"],
    ["23:59:59.123456", "0001-01-01T00:00:00Z", "2024-02-29T00:00:00-09:30"]];
  for (const [at, point, there] of forms) {
    await db.exec(sql`insert into t values (${sql.time(at)}, ${sql.instant(point)},
      ${sql.offsetDateTime(there)})`);
  }
  assertEquals((await db.queryRaw("select at, point, there from t order by rowid")).rows, forms);
  assertEquals((await db.queryRaw(sql`select * from t where at = ${sql.time("08:30:00")}`)).rows,
    [forms[0]]);
}));

test("DAT_6 what is in an array is checked like the array, and nothing of it ends the process",
  () => withDatabase(async (db) => {
    const wrong = [
      [[{}], "Parameter 1[0]"], [[1, [2, new Date()]], "Parameter 1[1][1]"], [[Symbol("x")], "[0]"],
      [[() => {}], "[0]"], [[undefined], "undefined"], [[,], "undefined"],
      [new Proxy([{}], {}), "Parameter 1[0]"], [Object.create(ArrayBuffer.prototype), "object"],
    ];
    for (const [value, text] of wrong) {
      await assertRejects(() => db.query(sql`select ${value}`), TypeError, text);
      await assertRejects(() => db.batch([["select ?", [value]]]), TypeError, text);
    }
    const cyclic = [];
    cyclic.push(cyclic);
    let deep = [];
    for (let depth = 0; depth < 100_000; depth++) deep = [deep];
    for (const value of [cyclic, deep, [[[[[[[]]]]]]]]) {
      await assertRejects(() => db.query(sql`select ${value}`), TypeError, "nested deeper than 6");
    }
    // SQLite has no arrays, which it says of one that is well-formed.
    for (const value of [[[[[[[1]]]]]], [sql.decimal("1"), null], new Proxy([], {})]) {
      const error = await assertRejects(() => db.query(sql`select ${value}`), DatabaseError);
      assertEquals(error.code, "WEFT_E_DATA_MISUSE");
    }
  }));

test("DAT_6 what sql makes cannot be made or changed otherwise", () => withDatabase(async (db) => {
  const price = sql.decimal("1.50");
  const prototype = Object.getPrototypeOf(price);
  const { toString } = prototype;
  try {
    prototype.toString = () => 7;
    Object.defineProperty(prototype, "type", { value: "x" });
    price.constructor.isValue = () => true;
    assertEquals((await db.queryRaw(sql`select ${price}`)).rows, [["1.50"]]);
  } finally {
    prototype.toString = toString;
  }
  assertThrows(() => new price.constructor(4, {}), TypeError);
  assertThrows(() => new (sql`select 1`.constructor)([7], []), TypeError);
  assertThrows(() => new db.constructor("x", {}), TypeError);
  assertThrows(() => sql(Object.assign([7], { raw: [7] })), TypeError, "template");
  assertThrows(() => sql(Object.assign(["a"], { raw: ["a"] }), 1), TypeError, "template");
}));

test("DAT_7 one row too many fails", () => withDatabase(async (db) => {
  assertEquals((await db.query(numbers(128))).length, 128);
  const error = await assertRejects(() => db.query(numbers(129)), DatabaseError);
  assertEquals(error.code, "WEFT_E_DATA_TOO_MANY_ROWS");
  assert(error.message.includes("more than 128 rows (maxRows)"), error.message);
  assertEquals((await db.query(numbers(129), { maxRows: 129 })).length, 129);
  assertEquals(await db.queryOne(numbers(129)), { x: 1 });
}));

test("DAT_1 transaction: commits, rolls back, nests", () => withDatabase(async (db) => {
  await db.exec("create table t (id integer primary key)");
  const count = async () => (await db.queryOne("select count(*) as n from t")).n;
  const given = await db.transaction(async (tx) => {
    await tx.exec(sql`insert into t values (${1})`);
    await assertRejects(() => tx.transaction(async (inner) => {
      await inner.exec("insert into t values (2)");
      throw new Error("undo");
    }), Error, "undo");
    await tx.transaction((inner) => inner.exec("insert into t values (3)"));
    return "done";
  });
  assertEquals(given, "done");
  assertEquals(await count(), 2);
  let kept;
  await assertRejects(() => db.transaction(async (tx) => {
    kept = tx;
    await tx.exec("delete from t");
    throw new RangeError("changed my mind");
  }), RangeError);
  assertEquals(await count(), 2);
  const late = await assertRejects(() => kept.exec("delete from t"), DatabaseError);
  assertEquals(late.code, "WEFT_E_DATA_CLOSED");
  await assertRejects(() => db.transaction((tx) => tx.exec("delete from t"), { readOnly: true }),
    DatabaseError);
  await assertRejects(() => db.transaction(() => {}, { isolation: "loose" }), TypeError);
  assertEquals(await count(), 2);
}));

test("DAT_1 statements of a transaction run in the order in which they were asked for", () =>
  withDatabase(async (db) => {
    await db.exec("create table lines (n integer primary key, v integer)");
    await statementsAreInOrder(db, (v) => sql`insert into lines (v) values (${v})`);
  }));

test("DAT_1 a comment behind a statement is no second one", () => withDatabase(async (db) => {
  for (const tail of [";", "; -- the end", " -- the end", "; /* the\nend */ ;\n--;", "; /* open"]) {
    assertEquals(await db.queryOne(`select 1 as x${tail}`), { x: 1 }, tail);
  }
  const two = await assertRejects(() => db.query("select 1; -- one\nselect 2"), DatabaseError);
  assertEquals(two.code, "WEFT_E_DATA_WRONG_STATEMENT");
}));

test("DAT_1 batch: all or nothing", () => withDatabase(async (db) => {
  await db.exec("create table t (id integer primary key)");
  const [first, second] =
    await db.batch([sql`insert into t values (${1})`, ["select id from t where id = ?", [1]]]);
  assertEquals(first.affectedRows, 1);
  assertEquals([...second.rows], [{ id: 1 }]);
  const error = await assertRejects(
    () => db.batch(["insert into t values (2)", "insert into t values (1)"]), DatabaseError);
  assertEquals(error.code, "WEFT_E_DATA_UNIQUE_VIOLATION");
  assertEquals(error.sqlState, "23505");
  assertEquals(await db.queryOne("select count(*) as n from t"), { n: 1 });
}));

test("DAT_6 a batch passes every kind of value as a single statement does",
  () => withDatabase(async (db) => {
    const long = "long é ".repeat(1000);
    const values = [null, true, false, 0, -1, 1.5, 2 ** 53, 2n ** 62n, "", "plain", "naïve 🌱",
      "\ud83c", "\udf31", long, new Uint8Array([0, 255]), sql.decimal("1.50"), "last"];
    for (const chosen of [values, values.filter((value) => value !== "naïve 🌱" && value !== long)]) {
      const single = [];
      for (const value of chosen) single.push((await db.queryRaw("select ? as x", [value])).rows);
      const batch = await db.batch(chosen.map((value) => ["select ? as x", [value]]));
      assertEquals(batch.map(({ rows }) => rows.map(({ x }) => [x])), single);
      const [{ rows }] = await db.batch([[`select ${chosen.map((_, at) => `? as c${at}`)}`, chosen]]);
      assertEquals(Object.values(rows[0]), single.map(([[value]]) => value));
    }
    // More values than the space that is kept from batch to batch.
    const many = Array.from({ length: 12 }, (_, at) => Array(3000).fill(at));
    const found = await db.batch(many.map((some, at) =>
      [`select ${at} in (${some.map(() => "?")}) as found, 99 in (${some[0]}) as no`, some]));
    assertEquals(found.map(({ rows: [each] }) => [each.found, each.no]), many.map(() => [1, 0]));
  }));

test("DAT_1 batch: each result has its own columns, rows and numbers", () => withDatabase(async (db) => {
  const results = await db.batch(["create table t (id integer primary key, x)",
    ["insert into t (x) values (?), (?)", ["a", "b"]], "select id, x from t", "select x from t",
    "select x from t where id > 9", "update t set x = 'c' where id = 2", "select 1 as id, 2 as x"]);
  assertEquals(results.map(({ affectedRows, lastInsertId }) => [affectedRows, lastInsertId]),
    [[0, undefined], [2, 2], [0, undefined], [0, undefined], [0, undefined], [1, undefined],
      [0, undefined]]);
  assertEquals(results.map(({ rows }) => rows.columnNames),
    [[], [], ["id", "x"], ["x"], ["x"], [], ["id", "x"]]);
  assertEquals(results.map(({ rows }) => [...rows]), [[], [],
    [{ id: 1, x: "a" }, { id: 2, x: "b" }], [{ x: "a" }, { x: "b" }], [], [], [{ id: 1, x: 2 }]]);
  assertEquals("lastInsertId" in results[0], false);
  assertEquals(results[2].rows === results[6].rows, false);
}));

test("DAT_6 many rows are made as few are, whatever their columns are called",
  () => withDatabase(async (db) => {
    const columns = ["7 as id", "'x' as \"a b\"", "null as \"\"", "2 as \"1\"",
      "3 as \"\"\"q\\'`${x}\"", "4 as id", "5 as \"constructor\"", "6 as \"\u2028\""];
    const row = { id: 4, "a b": "x", "": null, 1: 2, "\"q\\'`${x}": 3, constructor: 5, "\u2028": 6 };
    const numbers = "with recursive n(i) as (select 1 union all select i + 1 from n where i < ?)";
    for (const count of [1, 64, 200, 200, 3]) {
      const rows = await db.query(`${numbers} select ${columns} from n`, [count], { maxRows: 200 });
      assertEquals(rows.length, count);
      for (const each of rows) {
        assertEquals(each, row);
        assertEquals(Object.keys(each), Object.keys(row));
        assertEquals(Object.getPrototypeOf(each) === Object.prototype, true);
      }
      assertEquals([rows.mode, Object.keys(rows).length], ["object", count]);
    }
    const odd = await db.query(`${numbers} select 1 as "__proto__", 2 as x from n`, [100]);
    assertEquals(odd.map((each) => Object.keys(each).length), Array(100).fill(2));
    // Results with the same columns share their description, so nobody may change it.
    assert(Object.isFrozen(odd.columnNames) && Object.isFrozen(odd.columns));
    const [first] = odd.columns;
    assert(Object.isFrozen(first));
  }));

test("DAT_8 cursors: every row, and the connection is free again", () => withDatabase(async (db) => {
  const cursor = await db.queryCursor(numbers(1000), { batchSize: 100 });
  assertEquals([cursor.mode, cursor.provider, cursor.columnNames], ["object", "sqlite", ["x"]]);
  assertEquals(db.stats().inUse, 1);
  let sum = 0;
  for await (const row of cursor) sum += row.x;
  assertEquals(sum, 500500);
  assertEquals(db.stats().inUse, 0);
  assertThrows(() => cursor[Symbol.asyncIterator](), TypeError, "single-use");
  const raw = await db.queryRawCursor(numbers(3));
  assertEquals(await raw.next(), { value: [1], done: false });
  await raw.close();
  await raw.close();
  assert(raw.closed);
  const closed = await assertRejects(() => raw.next(), DatabaseError);
  assertEquals(closed.code, "WEFT_E_DATA_CLOSED");
  for await (const row of await db.stream(numbers(1000))) {
    if (row.x === 10) break;
  }
  assertEquals(db.stats().inUse, 0);
  const capped = await db.queryCursor(numbers(1000), { maxRows: 300, batchSize: 200 });
  const error = await assertRejects(async () => {
    for await (const row of capped) assert(row.x <= 300);
  }, DatabaseError);
  assertEquals(error.code, "WEFT_E_DATA_TOO_MANY_ROWS");
  assertEquals(db.stats().inUse, 0);
}));

test("DAT_8 calls of a cursor at once are answered in their order", () => withDatabase(async (db) => {
  const cursor = await db.queryCursor(numbers(10), { batchSize: 2 });
  const rows = await Promise.all(Array.from({ length: 12 }, () => cursor.next()));
  assertEquals(rows.map(({ value }) => value?.x),
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, undefined, undefined]);
  assertEquals(rows.map(({ done }) => done).indexOf(true), 10);
  // What was asked for before is given before it ends, and nothing behind it.
  const left = await db.queryCursor(numbers(10), { batchSize: 1 });
  const order = [];
  const calls = [left.next(), left.next(), left.return("left"), left.next()];
  calls.forEach((one, at) => one.then(() => order.push(at), () => order.push(at)));
  const [first, second, end, late] = await Promise.allSettled(calls);
  assertEquals([first.value, second.value, end.value],
    [{ value: { x: 1 }, done: false }, { value: { x: 2 }, done: false },
      { value: "left", done: true }]);
  assertEquals(late.reason.code, "WEFT_E_DATA_CLOSED");
  assertEquals(order, [0, 1, 2, 3]);
  assertEquals(db.stats().inUse, 0);
  // close() waits for nobody.
  const slow = await db.queryCursor(`select 1 as x union all select * from (${endless})`, [],
    { batchSize: 1 });
  await slow.next();
  const stopped = assertRejects(slow.next(), DatabaseError);
  await slow.close();
  assertEquals((await stopped).code, "WEFT_E_DATA_CLOSED");
  assertEquals(await db.queryOne("select 1 as x"), { x: 1 });
}));

test("DAT_8 a cursor is opened by for await", () => withDatabase(async (db) => {
  let sum = 0;
  for await (const { x } of db.queryCursor(numbers(1000))) sum += x;
  for await (const [x] of db.queryRawCursor(numbers(1000))) {
    sum += x;
    if (x === 2) break;
  }
  assertEquals(sum, 500503);
  assertEquals(db.stats().inUse, 0);
  const wrong = assertRejects(async () => {
    for await (const row of db.stream("selec 1")) assert(!row);
  }, DatabaseError);
  assertEquals((await wrong).code, "WEFT_E_DATA_WRONG_STATEMENT");
  const opening = db.queryCursor(numbers(2));
  const cursor = await opening;
  assertEquals(await Array.fromAsync(opening), [{ x: 1 }, { x: 2 }]);
  for (const used of [opening, cursor]) {
    await assertRejects(async () => Array.fromAsync(used), TypeError, "single-use");
  }
}));

test("DAT_8 every way out of a cursor gives its connection back", () => withDatabase((db) =>
  everyWayEnds(db, numbers(5000))));

test("DAT_9 batches and cursors are stopped in flight", () => withDatabase(async (db) => {
  await db.exec("create table flights (id integer)");
  await flightsEnd(db, "insert into flights values (1)", endless,
    `select 1 as x union all select * from (${endless})`);
}));

test("DAT_9 signal, timeoutMs and deadline: before and in flight", () => withDatabase(async (db) => {
  const controller = new AbortController();
  setTimeout(() => controller.abort("why"), 5);
  assertEquals(await db.query(endless, [], { signal: controller.signal }).catch((e) => e), "why");
  assertEquals(await db.query("select 1", [], { signal: controller.signal }).catch((e) => e),
    "why");
  const late = await assertRejects(() => db.query(endless, [], { timeoutMs: 5 }), DatabaseError);
  assertEquals(late.code, "WEFT_E_DATA_TIMED_OUT");
  const before = await assertRejects(() => db.query("select 1", [], { timeoutMs: 0 }),
    DatabaseError);
  assertEquals(before.code, "WEFT_E_DATA_TIMED_OUT");
  // What was stopped never stops the next.
  for (let i = 0; i < 50; i++) {
    const stop = new AbortController();
    const stopped = db.query(endless, [], { signal: stop.signal }).catch((error) => error.name);
    queueMicrotask(() => stop.abort());
    assertEquals(await stopped, "AbortError");
    assertEquals(await db.queryOne("select 1 as x"), { x: 1 });
  }
}));

test("DAT_10 errors have a code and no values", () => withDatabase(async (db) => {
  await db.exec("create table t (name text unique)");
  await db.exec(sql`insert into t values (${"c4n4ry"})`);
  const unique = await assertRejects(() => db.exec(sql`insert into t values (${"c4n4ry"})`),
    DatabaseError);
  assert(!`${unique.stack}${unique.message}`.includes("c4n4ry"), unique.message);
  assertEquals(unique.transient, false);
  const syntax = await assertRejects(() => db.query("selec 1"), DatabaseError, 'near "selec"');
  assertEquals(syntax.code, "WEFT_E_DATA_WRONG_STATEMENT");
  assertEquals(redact("postgres://u:c4n4ry@db.example.com/shop"), "postgres://db.example.com/shop");
}));

test("DAT_11 a name that the configuration does not have is refused, and so is what access forbids",
  async () => {
    const missing = await assertRejects(() => open("data.nothing"), DatabaseError, "data.nothing");
    assertEquals(missing.code, "WEFT_E_DATA_PERMISSION_DENIED");
    await withDatabase(async (db) => {
      assertEquals(await db.queryOne("select 1 as x"), { x: 1 });
      const error = await assertRejects(() => db.exec("create table t (id integer)"),
        DatabaseError);
      assertEquals(error.code, "WEFT_E_DATA_PERMISSION_DENIED");
      await assertRejects(() => db.query("create table t (id integer)"), DatabaseError);
    }, { path: ":memory:", access: "read" });
  });

test("DAT_5 what a statement changed of the connection is gone for the next", () =>
  withDatabase(async (db) => {
    await db.exec("create table t (id integer)");
    await assertRejects(() => db.transaction((tx) => tx.exec("commit"), { readOnly: true }),
      DatabaseError);
    await db.exec("insert into t values (1)");
    await db.exec("pragma foreign_keys = off");
    assertEquals(await db.queryOne("pragma foreign_keys"), { foreign_keys: 1 });
    await db.transaction((tx) => tx.exec("create temp table u (id integer)"));
    await assertRejects(() => db.query("select * from u"), DatabaseError);
    assertEquals(await db.queryOne("select * from t"), { id: 1 });
  }));

test("DAT_13 what a database does its work by is among its numbers", () =>
  withDatabase((db) => assertEquals([db.stats().provider, db.stats().mode],
    ["sqlite", "serialized thread"])));

test("DAT_5 closed databases take nothing more", async () => {
  const db = await sqlite.open({ path: ":memory:" });
  await db.close();
  await db.close();
  const error = await assertRejects(() => db.query("select 1"), DatabaseError);
  assertEquals(error.code, "WEFT_E_DATA_CLOSED");
  assertEquals(db.stats(), null);
});

test("DAT_2 a table that changed gives its columns as they are now", () => withDatabase(async (db) => {
  await db.exec("create table t (a integer, b text)");
  await db.exec("insert into t values (1, 'two')");
  const all = async () => {
    const rows = await db.query("select * from t");
    const cursor = await db.queryCursor("select * from t where 1");
    const { columnNames } = cursor;
    assertEquals(columnNames, rows.columnNames);
    assertEquals((await cursor.next()).value, rows[0]);
    await cursor.close();
    return rows[0];
  };
  assertEquals(await all(), { a: 1, b: "two" });
  await db.exec("alter table t add column c text default 'three'");
  assertEquals(await all(), { a: 1, b: "two", c: "three" });
  await db.exec("alter table t drop column a");
  assertEquals(await all(), { b: "two", c: "three" });
  await db.exec("alter table t rename column b to d");
  assertEquals(await all(), { d: "two", c: "three" });
}));

const codeOf = async (promise) => (await assertRejects(promise, DatabaseError)).code;
const kClosed = "WEFT_E_DATA_CLOSED";
const kLate = "WEFT_E_DATA_TIMED_OUT";

test("DAT_8 closing a database ends its cursors, read and unread", async () => {
  const db = await sqlite.open({ path: ":memory:" });
  const cursor = await db.queryCursor(numbers(1000));
  assertEquals((await cursor.next()).value, { x: 1 });
  await db.close();
  assert(cursor.closed);
  assertEquals(await codeOf(cursor.next()), kClosed);
  await cursor.close();
  // One that is under way.
  const other = await sqlite.open({ path: ":memory:" });
  const rows = await other.queryCursor(`select 1 as x union all select * from (${endless})`, [],
    { batchSize: 1 });
  assertEquals((await rows.next()).value, { x: 1 });
  const ended = assertRejects(rows.next(), DatabaseError);
  await other.close();
  await ended;
  // One that is being opened.
  const third = await sqlite.open({ path: ":memory:" });
  const opening = third.queryCursor(numbers(10));
  const closing = third.close();
  assertEquals(await codeOf(opening), kClosed);
  await closing;
});

test("DAT_8 closing a database undoes its transactions", async () => {
  const works = {
    waiting: (tx, db) => db.close(),
    using: async (tx, db) => {
      await db.close();
      await tx.query("select 1");
    },
    reading: async (tx, db) => {
      const cursor = await tx.queryCursor(numbers(1000));
      await cursor.next();
      await db.close();
      await cursor.next();
    },
    inner: (tx, db) => tx.transaction((inner) => db.close().then(() => inner.query("select 1"))),
    running: async (tx, db) => {
      const ended = assertRejects(tx.query(endless), DatabaseError);
      await db.close();
      await ended;
    },
  };
  for (const [name, work] of Object.entries(works)) {
    const db = await sqlite.open({ path: ":memory:" });
    const code = await codeOf(db.transaction((tx) => work(tx, db)));
    assertEquals(code, kClosed, name);
    assertEquals(await codeOf(db.transaction(() => {})), kClosed);
  }
  const db = await sqlite.open({ path: ":memory:" });
  const beginning = db.transaction(() => {});
  const closing = db.close();
  assertEquals(await codeOf(beginning), kClosed);
  await closing;
});

test("DAT_9 the signal of a transaction undoes it", () => withDatabase(async (db) => {
  await db.exec("create table t (id integer)");
  const controllers = Array.from({ length: 4 }, () => new AbortController());
  const works = [
    async (tx, abort) => {
      setTimeout(abort, 5);
      await tx.query(endless);
    },
    async (tx, abort) => {
      abort();
      // Nobody needs the function to end.
      while (db.stats().inUse > 0) await new Promise((done) => setTimeout(done, 1));
      await assertRejects(tx.query("select 1"), DatabaseError);
    },
    async (tx, abort) => {
      abort();
      throw new RangeError("noticed");
    },
    (tx, abort) => tx.transaction(async (inner) => {
      setTimeout(abort, 5);
      await inner.query(endless);
    }),
  ];
  for (const [at, work] of works.entries()) {
    const { signal } = controllers[at];
    const undone = db.transaction(async (tx) => {
      await tx.exec("insert into t values (1)");
      await work(tx, () => controllers[at].abort(`why ${at}`));
    }, { signal });
    assertEquals(await undone.catch((error) => error), `why ${at}`);
    assertEquals(await db.queryOne("select count(*) as n from t"), { n: 0 });
  }
}));

test("DAT_9 an inner transaction has its own time and signal, and no mode of its own",
  () => withDatabase(async (db) => {
    await db.exec("create table t (id integer)");
    await db.transaction(async (tx) => {
      for (const options of [{ readOnly: true }, { readOnly: false }, { isolation: "default" }]) {
        await assertRejects(tx.transaction(() => {}, options), TypeError, "outermost");
      }
      // NB: SQLite undoes the whole transaction when a statement that writes is stopped.
      const slow = (inner) => inner.query(endless);
      assertEquals(await codeOf(tx.transaction(slow, { timeoutMs: 20 })), kLate);
      // It bounds what is inside of it as well.
      const deep = (inner) => inner.transaction(slow);
      assertEquals(await codeOf(tx.transaction(deep, { timeoutMs: 20 })), kLate);
      // One whose function does not care is undone all the same.
      const careless = (inner) => assertRejects(inner.query(endless), DatabaseError);
      assertEquals(await codeOf(tx.transaction(careless, { timeoutMs: 20 })), kLate);
      const controller = new AbortController();
      const { signal } = controller;
      const stopped = tx.transaction(async (inner) => {
        await inner.exec("insert into t values (1)");
        setTimeout(() => controller.abort("why"), 5);
        await inner.query(endless);
      }, { signal });
      assertEquals(await stopped.catch((error) => error), "why");
      await tx.exec("insert into t values (2)");
    });
    assertEquals([...await db.query("select * from t")], [{ id: 2 }]);
  }));

test("DAT_9 opening has a deadline", () => withDatabase(async (db) => {
  const path = `${process.argv[1]}.db`;
  // Outside of WAL mode, one that writes holds up whoever opens the file.
  await db.exec("vacuum into ?", [path]);
  await db.transaction(async (tx) => {
    await tx.exec("attach ? as file", [path]);
    await tx.exec("create table file.t (id integer)");
    // Without it, SQLite gives up by itself, after 5 seconds.
    assertEquals(await codeOf(sqlite.open({ path, timeoutMs: 20 })), kLate);
  });
  const file = await sqlite.open({ path });
  assertEquals(await file.queryOne("select * from t"), null);
  await file.close();
}));

test("DAT_14 Results.rows: a row is a line, whatever the JSON in it looks like", () =>
  withDatabase(async (db) => {
    await db.exec("create table t (j json text)");
    await db.exec(sql`insert into t values (${sql.rawJson('{\r\n"a": "x\\n"\n}')}), (${sql.json(2)})`);
    const text = await Results.rows(await db.queryCursor("select j from t")).text();
    assertEquals(text, '{"j":{  "a": "x\\n" }}\n{"j":2}\n');
  }));

test("DAT_14 Results.rows: lines or an array, fetched as they are read", () =>
  withDatabase(async (db) => {
    const lines = Results.rows(await db.queryCursor(numbers(1000), { batchSize: 10 }));
    assertEquals(lines.headers.get("content-type"), "application/x-ndjson");
    const reader = lines.body.getReader();
    const first = new TextDecoder().decode((await reader.read()).value);
    assertEquals(first.split("\n")[0], '{"x":1}');
    // The rest waits for its reader.
    assertEquals(db.stats().inUse, 1);
    await reader.cancel();
    assertEquals(db.stats().inUse, 0);
    const whole = await Results.rows(await db.queryCursor(numbers(600))).text();
    assertEquals(whole.trim().split("\n").map((line) => JSON.parse(line).x)
      .reduce((sum, x) => sum + x), 180300);
    const array = Results.rows(await db.queryCursor(numbers(600)), { format: "json" });
    assertEquals((await array.json()).length, 600);
    const none = await db.queryCursor("select 1 as x where 0");
    assertEquals(await Results.rows(none, { format: "json" }).json(), []);
    assertThrows(() => Results.rows(none), TypeError, "single-use");
    assertThrows(() => Results.rows([1, 2]), TypeError);
    assertEquals(db.stats().inUse, 0);
  }));
