// DAT: the module weft:data, over a live PostgreSQL.
import { DatabaseError, postgres, redact, sql } from "weft:data";
import { Results } from "weft:http";
import { everyWayEnds, flightsEnd, statementsAreInOrder } from "../data/ways.mjs";
import { connectionString, inSchema, withDatabase } from "./server.mjs";

async function withTable(name, work) {
  const db = await inSchema(name);
  try {
    await db.exec("create table t (id bigserial primary key, name text)");
    return await work(db);
  } finally {
    await db.close();
  }
}

test("DAT_7 queryOne of a statement that writes undoes nothing", () => withTable("first",
  async (db) => {
    const row = await db.queryOne("with new as (insert into t (name) select repeat('x', 1000)" +
      " from generate_series(1, 10000) returning *) select id, name from new order by id");
    assertEquals(row.id, 1);
    assertEquals(await db.queryOne("select count(*) as n from t"), { n: 10000 });
  }));

test("DAT_3 query, queryRaw, queryOne, exec, batch", () => withTable("calls", async (db) => {
  assertEquals(db.provider, "postgres");
  assertEquals(db.stats().mode, "reactor");
  assertEquals(await db.exec(sql`insert into t (name) values (${"a"}), (${"b"})`),
    { affectedRows: 2 });
  assertEquals([...await db.query(sql`select id, name from t order by id`)],
    [{ id: 1, name: "a" }, { id: 2, name: "b" }]);
  assertEquals((await db.queryRaw("select name from t where id = $1", [2])).rows, [["b"]]);
  assertEquals(await db.queryOne(sql`select name from t where id = ${9}`), null);
  const results = await db.batch([
    sql`insert into t (name) values (${"c"}) returning id`, "select count(*) as n from t"]);
  assertEquals(results.map(({ rows }) => [...rows]), [[{ id: 3 }], [{ n: 3 }]]);
  await assertRejects(() => db.batch(["delete from t", "select * from nowhere"]), DatabaseError);
  assertEquals(await db.queryOne("select count(*) as n from t"), { n: 3 });
}));

test("DAT_6 every type comes back as it went", () => withDatabase(async (db) => {
  const row = await db.queryOne(sql`select ${true}::boolean as yes, ${9007199254740993n}::bigint as big,
    ${sql.decimal("12.3400")}::numeric as price, ${sql.uuid("6ba7b810-9dad-11d1-80b4-00c04fd430c8")}::uuid
    as id, ${sql.date("2026-11-18")}::date as day, ${new Uint8Array([0, 255])}::bytea as bytes,
    ${sql.json({ a: [1, null] })}::json as json, ${[1, 2, null]}::int[] as list, ${null}::text as none`);
  assertEquals(row, {
    yes: true, big: 9007199254740993n, price: "12.3400",
    id: "6ba7b810-9dad-11d1-80b4-00c04fd430c8", day: "2026-11-18", bytes: new Uint8Array([0, 255]),
    json: { a: [1, null] }, list: [1, 2, null], none: null,
  });
}));

test("DAT_6 times of day and points in time come back as they went", () => withDatabase(async (db) => {
  const there = "2026-11-18T23:59:59.5+02:00";
  const row = await db.queryOne(sql`select ${sql.time("23:59:59.123456")}::time as at,
    ${sql.timestamp("2024-02-29T08:00:00.5")}::timestamp as local,
    ${sql.instant("2026-11-18T23:59:59.5Z")}::timestamptz as instant,
    ${sql.offsetDateTime(there)}::timestamptz as there, ${sql.instant("0001-01-01T00:00:00Z")} as first`);
  // PostgreSQL keeps the point in time, and not where it was.
  assertEquals(row, {
    at: "23:59:59.123456", local: "2024-02-29T08:00:00.5", instant: "2026-11-18T23:59:59.5Z",
    there: "2026-11-18T21:59:59.5Z", first: "0001-01-01T00:00:00Z",
  });
  await assertRejects(() => db.query(sql`select ${sql.offsetDateTime(there)}::timestamp`),
    DatabaseError);
}));

test("DAT_6 arrays of every type, with nulls in them", () => withDatabase(async (db) => {
  const id = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
  const row = await db.queryOne(sql`select ${["a,\"b", "", null, "NULL", "\\{}"]}::text[] as texts,
    ${[sql.decimal("1.50"), null, sql.decimal("-12345678901234567890.1200")]}::numeric[] as prices,
    ${[sql.uuid(id), null]}::uuid[] as ids, ${[[1, 2], [3, 4]]}::int[] as square,
    ${[sql.json({ a: "}\"" }), null, sql.json([1])]}::jsonb[] as objects,
    ${[1, null, "x", [true], sql.json({ a: null }), sql.decimal("1.50")]}::jsonb as json,
    ${[new Uint8Array([0, 255]), null]}::bytea[] as bytes, ${[]}::int[] as none`);
  assertEquals(row, {
    texts: ["a,\"b", "", null, "NULL", "\\{}"],
    prices: ["1.50", null, "-12345678901234567890.1200"], ids: [id, null], square: [[1, 2], [3, 4]],
    objects: [{ a: "}\"" }, null, [1]], json: [1, null, "x", [true], { a: null }, 1.5],
    bytes: [new Uint8Array([0, 255]), null], none: [],
  });
  await assertRejects(() => db.query(sql`select ${[{ a: 1 }]}::jsonb`), TypeError, "Parameter 1[0]");
}));

test("DAT_1 transactions and savepoints", () => withTable("transactions", async (db) => {
  const count = async () => (await db.queryOne("select count(*) as n from t")).n;
  await db.transaction(async (tx) => {
    await tx.exec(sql`insert into t (name) values (${"kept"})`);
    await assertRejects(() => tx.transaction(async (inner) => {
      await inner.exec(sql`insert into t (name) values (${"undone"})`);
      throw new RangeError("undo it");
    }), RangeError);
  });
  assertEquals(await count(), 1);
  await assertRejects(() => db.transaction(async (tx) => {
    await tx.exec("delete from t");
    throw new RangeError("undo it");
  }), RangeError);
  assertEquals(await count(), 1);
  const refused = await assertRejects(() => db.transaction(
    (tx) => tx.exec("delete from t"), { readOnly: true }), DatabaseError);
  assertEquals(refused.sqlState, "25006");
}));

test("DAT_1 statements of a transaction run in the order in which they were asked for", () =>
  withDatabase(async (db) => {
    await db.exec("drop table if exists lines");
    await db.exec("create table lines (n serial, v integer)");
    await statementsAreInOrder(db, (v) => sql`insert into lines (v) values (${v})`);
    await db.exec("drop table lines");
  }));

test("DAT_6 a wrong number of parameters is an error of its statement alone", () =>
  withDatabase(async (db) => {
    await db.query("select $1::int as x", [1]);
    const wrong = async (values, text = "select $1::int as x") => {
      const error = await assertRejects(() => db.query(text, values), DatabaseError);
      assertEquals([error.code, error.sqlState, error.transient],
        ["WEFT_E_DATA_WRONG_STATEMENT", "07001", false], `${error}`);
    };
    await wrong([]);
    await wrong([1, 2]);
    await wrong([1, 2], "select $1 as x");
    await wrong([1], "select $1::int, $2::int");
    const answers = await Promise.allSettled([[1], [1, 2], [3]].map(
      (values) => db.queryOne("select $1::int as x", values)));
    assertEquals(answers.map(({ value }) => value?.x), [1, undefined, 3]);
  }, { maxConnections: 1 }));

test("DAT_6 a statement has as many parameters as the protocol can count", () =>
  withDatabase(async (db) => {
    for (const many of [7498, 7499, 65535]) {
      const values = Array.from({ length: many }, (_, index) => index);
      const text = `select sum(n) as n from (values ${
        values.map((_, index) => `($${index + 1}::bigint)`)}) as v (n)`;
      assertEquals(await db.queryOne(text, values), { n: `${many * (many - 1) / 2}` });
    }
    const beyond = await assertRejects(() => db.query("select 1", Array(65536).fill(1)), DatabaseError);
    assertEquals([beyond.code, beyond.sqlState], ["WEFT_E_DATA_OUT_OF_RESOURCES", "54000"]);
    assertEquals(await db.queryOne("select 1 as x"), { x: 1 });
  }));

// Texts take the place of PostgreSQL's binary form beside a type that Weft does not know.
test("DAT_6 bytes come back whatever form the session gives them", () => withDatabase((db) =>
  db.transaction(async (tx) => {
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
    for (const form of ["escape", "hex"]) {
      await tx.exec(`set local bytea_output = ${form}`);
      const row = await tx.queryOne(
        sql`select ${bytes}::bytea as one, array[${bytes}::bytea, null] as list, '1 day'::interval as day`);
      assertEquals(row, { one: bytes, list: [bytes, null], day: "1 day" }, form);
    }
  })));

test("DAT_8 cursors: every row, and the connection is free again", () => withDatabase(async (db) => {
  let sum = 0;
  for await (const { x } of await db.queryCursor("select x from generate_series(1, 10000) x")) {
    sum += x;
  }
  assertEquals(sum, 50005000);
  for await (const { x } of await db.stream("select x from generate_series(1, 1000000) x")) {
    if (x === 5) break;
  }
  assertEquals(db.stats().inUse, 0);
}));

test("DAT_8 every way out of a cursor gives its connection back", () => withDatabase((db) =>
  everyWayEnds(db, "select x from generate_series(1, 100000) x")));

test("DAT_9 batches and cursors are stopped in flight", () => withTable("flights", async (db) => {
  await db.exec("create table flights (id int)");
  await flightsEnd(db, "insert into flights values (1)", "select pg_sleep(60)",
    "select x from generate_series(1, 2) x where x = 1 or pg_sleep(60) is null");
}));

test("DAT_8 closing a database ends its cursors and undoes its transactions", async () => {
  const closed = async (promise) =>
    assertEquals((await assertRejects(promise, DatabaseError)).code, "WEFT_E_DATA_CLOSED");
  const db = await inSchema("closing");
  await db.exec("create table t (id int)");
  const cursor = await db.queryCursor("select * from generate_series(1, 100000) as x");
  await cursor.next();
  await closed(db.transaction(async (tx) => {
    await tx.exec("insert into t values (1)");
    const ended = assertRejects(tx.query("select pg_sleep(60)"), DatabaseError);
    await db.close();
    await ended;
  }));
  await closed(cursor.next());
  await closed(db.query("select 1"));
  await withDatabase(async (other) =>
    assertEquals(await other.queryOne("select count(*) as n from closing.t"), { n: 0 }));
});

test("DAT_9 the signal of a transaction undoes it at the server", () => withTable("signals",
  async (db) => {
    const controller = new AbortController();
    const undone = db.transaction(async (tx) => {
      await tx.exec("insert into t (name) values ('never')");
      setTimeout(() => controller.abort("why"), 5);
      await tx.query("select pg_sleep(60)");
    }, { signal: controller.signal });
    assertEquals(await undone.catch((error) => error), "why");
    assertEquals(await db.queryOne("select count(*) as n from t"), { n: 0 });
    // One that ends early leaves the outer one as it is.
    await db.transaction(async (tx) => {
      const late = await assertRejects(tx.transaction(
        (inner) => inner.query("select pg_sleep(60)"), { timeoutMs: 1000 }), DatabaseError);
      assertEquals(late.code, "WEFT_E_DATA_TIMED_OUT");
      await tx.exec("insert into t (name) values ('kept')");
    });
    assertEquals(await db.queryOne("select count(*) as n from t"), { n: 1 });
  }));

test("DAT_14 Results.rows", () => withDatabase(async (db) => {
  const response = Results.rows(await db.queryCursor("select x from generate_series(1, 3) x"));
  assertEquals(await response.text(), '{"x":1}\n{"x":2}\n{"x":3}\n');
}));

test("DAT_9 signal and timeoutMs stop the statement at the server", () => withDatabase(async (db) => {
  const slow = sql`select pg_sleep(60), ${"weft-slow"}::text`;
  const controller = new AbortController();
  setTimeout(() => controller.abort(new RangeError("enough")), 50);
  await assertRejects(() => db.query(slow, { signal: controller.signal }), RangeError);
  const late = await assertRejects(() => db.query(slow, { timeoutMs: 50 }), DatabaseError);
  assertEquals(late.code, "WEFT_E_DATA_TIMED_OUT");
  const left = await db.queryOne("select count(*) as n from pg_stat_activity " +
    "where state = 'active' and query like '%weft-slow%' and pid <> pg_backend_pid()");
  assertEquals(left, { n: 0 });
}));

test("DAT_5 more callers than connections wait for their turn", () => withDatabase(async (db) => {
  const answers = await Promise.all(
    Array.from({ length: 64 }, (_, i) => db.queryOne(sql`select ${i}::int as i`)));
  assertEquals(answers.map(({ i }) => i), Array.from({ length: 64 }, (_, i) => i));
  assert(db.stats().connections <= 2);
}, { maxConnections: 2 }));

test("DAT_5 idle connections that were killed fail no statement", () => withDatabase(async (db) => {
  // Each has a connection of its own, since none ends before all have begun.
  const all = Promise.withResolvers();
  let begun = 0;
  await Promise.all(Array.from({ length: 4 }, () => db.transaction(async (tx) => {
    await tx.query("select 1");
    if (++begun === 4) all.resolve();
    await all.promise;
  })));
  const idle = await db.query("select pid from pg_stat_activity where application_name = 'killed'");
  await withDatabase(async (other) => {
    await other.query("select pg_terminate_backend(pid) from pg_stat_activity " +
      "where application_name = 'killed'");
    for (let left = 1; left > 0;) {
      ({ n: left } = await other.queryOne("select count(*)::int as n from pg_stat_activity " +
        "where application_name = 'killed'"));
    }
  });
  assert(idle.length > 1);
  const answers = await Promise.all(Array.from({ length: 4 }, () => db.queryOne("select 1 as n")));
  assertEquals(answers.map(({ n }) => n), [1, 1, 1, 1]);
}, { maxConnections: 4, connectionString: `${connectionString} application_name=killed` }));

test("DAT_10 errors have a code and show no secret", async () => {
  await withDatabase(async (db) => {
    await db.exec("create temporary table u (n int unique)");
    const syntax = await assertRejects(() => db.query("selec 1"), DatabaseError);
    assertEquals([syntax.code, syntax.sqlState], ["WEFT_E_DATA_WRONG_STATEMENT", "42601"]);
  }, { maxConnections: 1 });
  const secret = "postgres://weft:hunter2@127.0.0.1:1/postgres";
  const db = await postgres.open({ connectionString: secret });
  const refused = await assertRejects(() => db.query("select 1"), DatabaseError);
  assertEquals(refused.code, "WEFT_E_DATA_CONNECTION_LOST");
  assert(!`${refused.message}${refused.stack}`.includes("hunter2"));
  await db.close();
  for (const options of [undefined, {}, { connectionString: "" }, { connectionString: 7 },
    { connectionString: "a\0b" }, { connectionString, maxConnections: 0 },
    { connectionString, acces: "read" }]) {
    await assertRejects(() => postgres.open(options), TypeError);
  }
});

// Of an address with several "@", libpq takes a part of the password for the host.
test("DAT_10 no spelling of a password is in an error", async () => {
  const nowhere = "host=127.0.0.1 port=1 sslmode=disable";
  const spellings = [
    "postgres://u:hunter2@127.0.0.1:1/x", "postgresql://u:hunter2@127.0.0.1:1/x",
    "postgres://:hunter2@127.0.0.1:1/x", "postgres://u:a@hunter2@127.0.0.1:1/x",
    "postgres://u:a@hunter2!/b@127.0.0.1:1/x", "postgres://u:a@hunter2!?b@127.0.0.1:1/x",
    "postgres://u:a@hunter2!#b@127.0.0.1:1/x",
    "postgres://u:a/hunter2@127.0.0.1:1/x", "postgres://u:a?hunter2@127.0.0.1:1/x",
    "postgres://u:a#hunter2@127.0.0.1:1/x", "postgres://u:hunter2%zz@127.0.0.1:1/x",
    "postgres://u:hunter2%00@127.0.0.1:1/x", "postgres://u:hunter2@[::1/x",
    "postgres://u:hunter2@127.0.0.1:none/x", "postgres://u:hunter2@127.0.0.1:99999/x",
    "postgres://u@127.0.0.1:hunter2/x", "postgres://127.0.0.1:1/x?password=hunter2",
    "postgres://127.0.0.1:1/x?user=u&password=hunter2", "postgres://127.0.0.1:1/x?PASSWORD=hunter2",
    "postgres://127.0.0.1:1/x?pass%77ord=hunter2", "postgres://u:hunter2@127.0.0.1:1,127.0.0.1:2/x",
    "postgres:hunter2", "hunter2", "password=hunter2 host", "port=1 password=hunter2;host=127.0.0.1",
    `${nowhere} password=hunter2`, `${nowhere} password='hunter2'`, `${nowhere} password = hunter2`,
    `${nowhere} PASSWORD=hunter2`, `${nowhere} pasword=hunter2`, `${nowhere} password=a hunter2`,
    `${nowhere} password='a hunter2`, `${nowhere} password='a' hunter2=b`,
    `${nowhere} password='a'hunter2`, `${nowhere} password=a=hunter2`,
    `${nowhere} password=\\hunter2`, `${nowhere}\tpassword=hunter2`, `${nowhere}\npassword=hunter2`,
    `${nowhere} sslpassword=hunter2`, `${nowhere} passfile=/hunter2`,
    `${nowhere} options='-c x=hunter2'`, `${nowhere} keepalives=hunter2`,
    `${nowhere} connect_timeout=hunter2`, `${nowhere} target_session_attrs=hunter2`,
    `${nowhere} channel_binding=hunter2`, `${nowhere} dbname='postgres://u:hunter2@127.0.0.1:1/x'`,
    "host=127.0.0.1 port=1 sslmode=hunter2", "host=127.0.0.1 port=hunter2", "service=hunter2",
    "jdbc:postgresql://127.0.0.1/x?user=u&password=hunter2",
    `${connectionString} options='-c hunter2=1'`, `${connectionString} options='-c work_mem=hunter2'`,
  ];
  for (const spelling of spellings) {
    const attempt = async () => {
      const db = await postgres.open({ connectionString: spelling });
      try {
        await db.query("select 1");
      } finally {
        await db.close();
      }
    };
    const error = await assertRejects(attempt, DatabaseError, undefined, spelling);
    const told = [`${error}`, error.stack, `${error.cause}`, JSON.stringify(error),
      ...Object.getOwnPropertyNames(error).map((name) => `${error[name]}`), redact(spelling)];
    assert(!told.join().includes("hunter2"), spelling);
  }
});

test("DAT_11 a handle that may only read cannot write", () => withDatabase(async (db) => {
  const refused = await assertRejects(
    () => db.query("create table wrong (n int)"), DatabaseError);
  assert(["WEFT_E_DATA_READ_ONLY", "WEFT_E_DATA_PERMISSION"].includes(refused.code), refused.code);
}, { access: "read" }));
