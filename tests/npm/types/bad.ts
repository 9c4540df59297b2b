// Each line below must be refused: tsc says so where nothing is wrong.
import { Group, Task } from "weft:async";
import { sqlite } from "weft:data";
import { Results, router } from "weft:http";
import { expect, fn, test } from "weft:test";
import { Time } from "weft:time";

// @ts-expect-error: no duration
Time.delay("5 seconds");
// @ts-expect-error: a pattern without such a value
router().get("/users/{id}", (ctx) => ctx.route.name);
// @ts-expect-error: a status is a number
Results.status("404");
// @ts-expect-error: a job is a function
new Group().go(5);
// @ts-expect-error: the value is a number
export const text: Promise<string> = Task.run(() => 4).wait();
// @ts-expect-error: a path is needed
sqlite.open({});
export async function data(): Promise<void> {
  const db = await sqlite.open({ path: ":memory:" });
  // @ts-expect-error: a promise of a cursor
  await db.queryCursor("select 1").next();
  // @ts-expect-error: there is no such mode
  await db.query("select 1", [], { mode: "rows" });
  // @ts-expect-error: null when it is closed
  console.log(db.stats().inUse);
  // @ts-expect-error: a cursor has no mode to choose
  await db.queryRaw("select 1", [], { mode: "object" });
}
// @ts-expect-error: there is no such matcher
expect(1).toBeOne();
// @ts-expect-error: the mock takes a number
fn((n: number) => n)("x");
// @ts-expect-error: a test has a name
test(() => {});
// @ts-expect-error: there is no such module
import "weft:none";
