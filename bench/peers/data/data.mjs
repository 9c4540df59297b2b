// The rows of `make bench-data` in JavaScript, for all clients:
//     RUNTIME data.mjs ADAPTER PEER METRIC COUNT
// ADAPTER.mjs beside this file gives open(connections) for PostgreSQL and openFile(path) for SQLite.
// Prints a line `peer metric value unit`; what an adapter does not have is an error.
import process from "node:process";

const kRowsOfPage = 10_000;
const kRowsOfTable = 1_000_000;
const kWorld = 10_000;
const [adapter, peer, metric, countText] = process.argv.slice(2);
const count = Number(countText);
const client = await import(`./${adapter}.mjs`);

let sink = 0;
// Every column of every row is read, so that a client which decodes lazily pays for it.
function touch(row) {
  sink += row.id + row.name.length + Number(row.n) + (typeof row.ts === "string" ? row.ts.length : row.ts.getTime());
}
function check(good, what) {
  if (!good) throw new Error(`${metric}: ${what}`);
}
const anyId = () => 1 + Math.floor(Math.random() * kWorld);

function report(value, unit, row = metric) {
  console.log(`${peer} ${row} ${value.toFixed(4)} ${unit}`);
}

// So many calls by so many callers, each beginning the next when the last has ended.
async function callers(number, calls, call) {
  let left = calls;
  await Promise.all(Array.from({ length: number }, async () => {
    while (left-- > 0) await call();
  }));
}

// Microseconds for each of `count` calls.
async function timed(number, call) {
  await callers(number, Math.ceil(count / 10), call);
  const begun = performance.now();
  await callers(number, count, call);
  return (performance.now() - begun) * 1000 / count;
}

function median(values) {
  return values.sort((a, b) => a - b)[values.length >> 1];
}

const metrics = {
  async pg_select(db) {
    report(await timed(64, async () => {
      const row = await db.select(anyId());
      check(row.randomnumber >= 0, "no row");
    }), "us/query");
  },
  async pg_batch20(db) {
    report(await timed(16, async () => {
      const rows = await db.batch(Array.from({ length: 20 }, anyId));
      check(rows.length === 20 && rows.every((row) => row.randomnumber >= 0), "no rows");
    }), "us/batch");
  },
  async pg_tx3(db) {
    report(await timed(16, () => db.transaction(anyId(), anyId())), "us/tx");
  },
  async pg_rows10k(db) {
    const each = await timed(1, async () => {
      const rows = await db.rows(kRowsOfPage);
      check(rows.length === kRowsOfPage, "other rows");
      for (const row of rows) touch(row);
    });
    report(each * 1000 / kRowsOfPage, "ns/row");
  },
  async pg_stream1m(db) {
    const begun = performance.now();
    let rows = 0;
    for await (const row of db.stream()) {
      touch(row);
      rows++;
    }
    check(rows === kRowsOfTable, "other rows");
    report((performance.now() - begun) * 1e6 / rows, "ns/row");
  },
  async cursor_ndjson(db) {
    const begun = performance.now();
    const bytes = await db.ndjson();
    check(bytes > kRowsOfTable * 40, "too few bytes");
    report((performance.now() - begun) * 1e6 / kRowsOfTable, "ns/row");
  },
  async cancel_ms(db) {
    const took = [];
    for (let i = 0; i < count; i++) {
      const { settled, cancel } = db.sleep();
      await new Promise((resolve) => setTimeout(resolve, 50));
      const begun = performance.now();
      cancel();
      await settled;
      took.push(performance.now() - begun);
    }
    report(median(took), "ms");
  },
  async sqlite_select(db) {
    report(await timed(db.callers ?? 64, async () => {
      const row = await db.get(anyId() * 10);
      check(row.name.length > 0, "no row");
    }), "us/query");
  },
  async sqlite_scan(db) {
    const begun = performance.now();
    let rows = 0;
    for await (const batch of db.scan()) {
      for (const row of batch) {
        sink += row.id + row.n + row.name.length + row.r;
        rows++;
      }
    }
    check(rows === kRowsOfTable, "other rows");
    report((performance.now() - begun) * 1e6 / rows, "ns/row");
  },
  async sqlite_insert(db) {
    await db.prepareInserts();
    const begun = performance.now();
    await db.insert(count);
    report((performance.now() - begun) * 1e6 / count, "ns/row");
  },
};

const connections = { pg_batch20: 4, pg_tx3: 16, pg_rows10k: 1, pg_stream1m: 1, cursor_ndjson: 1 };
const db = metric.startsWith("sqlite")
  ? await client.openFile(process.env.WEFT_BENCH_SQLITE)
  : await client.open(connections[metric] ?? 4);
await metrics[metric](db);
check(sink !== 42, "");
await db.close();
process.exit(0);
