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
// @ts-expect-error: there is no such matcher
expect(1).toBeOne();
// @ts-expect-error: the mock takes a number
fn((n: number) => n)("x");
// @ts-expect-error: a test has a name
test(() => {});
// @ts-expect-error: there is no such module
import "weft:none";
