// What ends a cursor, for each provider (DAT-8).
import { DatabaseError } from "weft:data";

// `many` gives thousands of rows with a column x, from 1.
const ways = {
  break: async (cursor) => {
    for await (const { x } of cursor) if (x === 3) break;
  },
  throw: async (cursor) => {
    const read = async () => {
      for await (const { x } of cursor) if (x === 3) throw new RangeError("enough");
    };
    await assertRejects(read, RangeError, "enough");
  },
  "return()": async (cursor) => {
    await cursor.next();
    assertEquals(await cursor.return(7), { value: 7, done: true });
  },
  "throw()": async (cursor) => {
    await cursor.next();
    await assertRejects(cursor.throw(new RangeError("enough")), RangeError, "enough");
  },
  "close()": async (cursor) => {
    await cursor.next();
    await cursor.close();
    await cursor.close();
  },
  "return() at once": (cursor) => cursor.return(),
};

// Each gives the connection back, alone and in a transaction, which goes on.
export async function everyWayEnds(db, many) {
  for (const [name, leave] of Object.entries(ways)) {
    const cursor = await db.queryCursor(many);
    assertEquals(db.stats().inUse, 1, name);
    await leave(cursor);
    assert(cursor.closed, name);
    assertEquals(db.stats().inUse, 0, name);
    const late = await assertRejects(cursor.next(), DatabaseError);
    assertEquals(late.code, "WEFT_E_DATA_CLOSED", name);
    await db.transaction(async (tx) => {
      await leave(await tx.queryCursor(many));
      assertEquals(await tx.queryOne("select 1 as x"), { x: 1 }, name);
    });
    assertEquals(db.stats().inUse, 0, name);
  }
}

// The end of the database is theirs.
export async function theDatabaseEnds(db, many) {
  const cursor = await db.queryCursor(many);
  assertEquals((await cursor.next()).value, { x: 1 });
  await db.close();
  assert(cursor.closed);
  const closed = await assertRejects(cursor.next(), DatabaseError);
  assertEquals(closed.code, "WEFT_E_DATA_CLOSED");
  await cursor.close();
}

// In flight; `endless` is a query of one column that gives no row, `begun` one that gives one first.
export async function flightsEnd(db, insert, endless, begun) {
  const code = async (promise) => (await assertRejects(promise, DatabaseError)).code;
  const soon = () => {
    const controller = new AbortController();
    setTimeout(() => controller.abort("why"), 20);
    return controller.signal;
  };
  const left = async () => (await db.queryOne("select count(*) as n from flights")).n;
  const why = (promise) => promise.then(() => "nothing", (reason) => reason);
  assertEquals(await why(db.batch([insert, endless], { signal: soon() })), "why");
  assertEquals(await code(db.batch([insert, endless], { timeoutMs: 20 })),
    "WEFT_E_DATA_TIMED_OUT");
  assertEquals(await left(), 0);
  for (const options of [{ signal: soon(), batchSize: 1 }, { timeoutMs: 200, batchSize: 1 }]) {
    const read = async () => {
      for await (const row of db.queryCursor(begun, [], options)) assertEquals(row, { x: 1 });
    };
    const reason = await why(read());
    assert(reason === "why" || reason.code === "WEFT_E_DATA_TIMED_OUT", String(reason));
    assertEquals(db.stats().inUse, 0);
  }
  assertEquals(await left(), 0);
}

// Asked for without waiting in a transaction; the table `lines` has a column n that counts, and v.
export async function statementsAreInOrder(db, insert) {
  const wanted = Array.from({ length: 20 }, (_, index) => index);
  await db.transaction((tx) => Promise.all(wanted.map((v) => tx.exec(insert(v)))));
  assertEquals((await db.query("select v from lines order by n")).map(({ v }) => v), wanted);
}
