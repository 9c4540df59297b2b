// Uses of every module that must be accepted; checked by tsc --strict.
import { AsyncLocalStorage, Group, Pool, Task, withTimeout } from "weft:async";
import { odbc, sql, sqlite } from "weft:data";
import { type Handler, Results, files, router } from "weft:http";
import { expect, fakeClock, fn, spyOn, test } from "weft:test";
import { CancellationController, Deadline, Time, WorkerCancellationController } from "weft:time";

const app = router();
app.use(async (ctx, next) => {
  ctx.state["begun"] = Date.now();
  return next();
});
app.get("/users/{id:int}", (ctx) => Results.ok({ id: ctx.route.id.length })).name("user");
app.get("/static/{path:*}", files("static"));
app.get("/quick", () => "quick").name("quick").deadline(250);
app.static("/assets", new URL("file:///public/"), { cacheControl: "max-age=3600" })
  .proxy("/api", ["http://127.0.0.1:9000", "http://127.0.0.1:9001"]);
app.sse("/events", async (ctx, events) => {
  await events.send({ event: "tick", id: 1, data: { route: ctx.routeName } });
});
export default app;

export const plain: Handler = {
  async fetch(request, env, ctx) {
    ctx.waitUntil(Time.delay("1s", { signal: ctx.signal, deadline: ctx.deadline }));
    return new Response(`${request.url} ${env["MODE"]}`);
  },
};

export async function work(): Promise<number> {
  const group = new Group({ timeoutMs: "5s", collectErrors: true, maxErrors: 3 });
  group.go(({ signal, deadline }) => Time.delay(5, { signal, deadline }));
  await group.wait();
  const pool = new Pool({ workers: 2, queueSize: 4 });
  await pool.submitFor("1s", () => 1);
  await pool.close();
  const length: number = await Task.run(async () => "text".length).wait();
  const storage = new AsyncLocalStorage<string>();
  const stored: string | undefined = storage.run("x", () => storage.getStore());
  return length + (await withTimeout(50, () => 4)) + (stored?.length ?? 0);
}

export async function data(): Promise<string> {
  const other = await odbc.open({ connectionString: "Driver=SQLite3;Database=/tmp/notes" });
  await other.close();
  const db = await sqlite.open({ path: ":memory:", access: "readwrite" });
  const rows = await db.query<{ name: string }>(sql`select name from users where id = ${1}`);
  const one = await db.queryOne("select 1 as n", [], { deadline: Deadline.after(5) });
  await db.transaction(async (tx) => tx.exec(sql`delete from users`));
  for await (const row of db.queryCursor("select 1")) console.log(row["x"]);
  const cursor = await db.queryRawCursor("select 1", [], { batchSize: 10, maxRows: 100 });
  for await (const row of cursor) console.log(row[0], cursor.columnNames, cursor.mode);
  const raw = await db.query(sql`select 1`, { mode: "raw", maxRows: 1 });
  console.log(raw.rows[0]?.[0], (await db.query("select ?", [1], { mode: "raw" })).columns);
  const results = await db.batch(
    [sql`select 1`, "select 2", ["select ?", [3]], ["select 4"]], { maxRows: 5, atomic: false });
  console.log(results[0]?.rows[0]?.["x"], results[0]?.affectedRows, db.stats()?.inUse);
  return rows[0]?.name ?? String(one?.["n"]) + rows.columnNames.join();
}

test("types", async ({ signal }) => {
  const clock = fakeClock({ now: 0 });
  const double = fn((n: number) => n * 2).mockReturnValueOnce(3);
  expect(double(1)).toBe(3);
  expect(double.mock.calls[0]).toEqual([1]);
  spyOn({ greet: (name: string) => name }, "greet").mockReturnValue("x");
  await expect(Time.delay("1h", { clock, signal })).rejects.toThrow(Error);
  expect({ a: 1 }).toEqual({ a: expect.any(Number), b: expect.not.stringContaining("x") });
});
test.each([[1, "a"], [2, "b"]] as const)("%d %s", (n, s) => {
  expect(n).not.toBe(s.length);
});
new WorkerCancellationController().cancel("why");
CancellationController.linked(AbortSignal.timeout(5)).signal.throwIfCancelled();
