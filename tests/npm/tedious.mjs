// A client of TDS by other people, against tests/data/tds/server:  node tedious.mjs PORT
// The double is written for FreeTDS; what both are content with is no habit of one of them.
import assert from "node:assert/strict";
import { Connection, ISOLATION_LEVEL, Request, TYPES } from "tedious";

const port = Number(process.argv[2]);

function connect(password = "weft-test-password") {
  const connection = new Connection({
    server: "127.0.0.1",
    authentication: { type: "default", options: { userName: "weft", password } },
    options: { port, database: "tedious", encrypt: false, trustServerCertificate: true,
      tdsVersion: "7_4", cancelTimeout: 5000, useUTC: true },
  });
  return new Promise((resolve, reject) => {
    connection.connect((error) => (error ? reject(error) : resolve(connection)));
  });
}

// { rows, count }, by the way of `send`.
function ask(connection, text, send = "execSqlBatch", prepare = () => {}) {
  return new Promise((resolve, reject) => {
    const rows = [];
    const request = new Request(text, (error, count) =>
      (error ? reject(error) : resolve({ rows, count })));
    request.on("row", (columns) => rows.push(columns.map(({ value }) => value)));
    prepare(request);
    connection[send](request);
  });
}

const failing = (promise, number) => assert.rejects(promise, (error) => error.number === number);

await assert.rejects(connect("wrong"), (error) => error.code === "ELOGIN");
const db = await connect();
assert.deepEqual((await ask(db, "select 1")).rows, [["1"]]);

await ask(db, "drop table if exists t");
await ask(db, `create table t (big bigint primary key, n int, small smallint, tiny tinyint, ok bit,
  r float, f real, m money, d decimal(18, 3), u uniqueidentifier, day date, t time(7),
  at datetime2(7), zoned datetimeoffset(7), old datetime, s nvarchar(max), b varbinary(max))`);
const id = "6BA7B810-9DAD-11D1-80B4-00C04FD430C8";
const inserted = await ask(db, `insert into t values (
  @big, @n, -3, 200, @ok, @r, 0.5, 12.3456, @d, @u,
  '2024-02-29', '23:59:59.1234567', '2026-11-18T08:00:00.5', '2026-11-18T08:00:00.25+02:00',
  '2026-11-18T08:00:00', @s, @b)`, "execSql", (request) => {
  request.addParameter("big", TYPES.BigInt, "9007199254740993");
  request.addParameter("n", TYPES.Int, -7);
  request.addParameter("ok", TYPES.Bit, true);
  request.addParameter("r", TYPES.Float, 0.1);
  request.addParameter("d", TYPES.Decimal, -12.5, { precision: 18, scale: 3 });
  request.addParameter("u", TYPES.UniqueIdentifier, id);
  request.addParameter("s", TYPES.NVarChar, "naïve 🌱");
  request.addParameter("b", TYPES.VarBinary, Buffer.from([0, 255]));
});
assert.equal(inserted.count, 1);
const [row] = (await ask(db, "select * from t")).rows;
assert.deepEqual(row.slice(0, 9),
  ["9007199254740993", -7, -3, 200, true, 0.1, 0.5, 12.3456, -12.5]);
assert.equal(row[9].toUpperCase(), id);
assert.equal(row[10].toISOString(), "2024-02-29T00:00:00.000Z");
assert.equal(row[11].toISOString(), "1970-01-01T23:59:59.123Z");
assert.equal(row[12].toISOString(), "2026-11-18T08:00:00.500Z");
assert.equal(row[13].toISOString(), "2026-11-18T06:00:00.250Z");
assert.equal(row[14].toISOString(), "2026-11-18T08:00:00.000Z");
assert.equal(row[15], "naïve 🌱");
assert.deepEqual(row[16], Buffer.from([0, 255]));

await failing(ask(db, "selec 1"), 102);
await failing(ask(db, "select * from nowhere"), 208);
await failing(ask(db, "insert into t (big) values (9007199254740993)"), 2627);

// Prepared, run twice, given up; and the connection goes on.
await new Promise((resolve, reject) => {
  const found = [];
  let runs = 0;
  const request = new Request("select @a as a", (error) => {
    if (error) return reject(error);
    if (++runs === 1) return db.execute(request, { a: 2 });
    if (runs === 2) return db.unprepare(request);
    assert.deepEqual(found, ["1", "2"]);
    resolve();
  });
  request.addParameter("a", TYPES.Int);
  request.on("row", ([{ value }]) => found.push(String(value)));
  request.on("prepared", () => db.execute(request, { a: 1 }));
  db.prepare(request);
});

const step = (name, ...rest) => new Promise((resolve, reject) => {
  db[name]((error) => (error ? reject(error) : resolve()), ...rest);
});
for (const [end, left] of [["rollbackTransaction", "1"], ["commitTransaction", "0"]]) {
  await step("beginTransaction", "", ISOLATION_LEVEL.READ_COMMITTED);
  await ask(db, "delete from t");
  await step(end);
  assert.deepEqual((await ask(db, "select count(*) from t")).rows, [[left]]);
}

// An attention is answered, and the next statement is whole.
for (let turn = 0; turn < 5; turn++) {
  const slow = ask(db, "waitfor delay '01:00:00'");
  setTimeout(() => db.cancel(), 20 * turn);
  await assert.rejects(slow, (error) => error.code === "ECANCEL");
  assert.deepEqual((await ask(db, "select 7")).rows, [["7"]]);
}
const many = ask(db,
  "with recursive n(x) as (select 1 union all select x + 1 from n) select x from n");
setTimeout(() => db.cancel(), 50);
await assert.rejects(many, (error) => error.code === "ECANCEL");
assert.deepEqual((await ask(db, "select 8")).rows, [["8"]]);
await new Promise((resolve) => { db.on("end", resolve); db.close(); });
console.log("tedious is content");
