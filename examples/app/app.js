// The example application of `make run`: weft serve --config weft.json
import { open, sql } from "weft:data";
import { Results, files, router } from "weft:http";
import { delay } from "weft:time";

const begun = Date.now();
const counts = { requests: 0, watching: 0, stopped: 0, hungUp: 0 };
const app = router();

// A SQLite database in memory, as weft.json says; it has a thread of its own.
const db = await open("data.notes");
await db.batch([
  "create table if not exists notes (id integer primary key, text text not null, at instant not null)",
  sql`insert into notes (text, at) values
        (${"Fibers park, threads do not block"}, ${sql.instant(new Date().toISOString())})`,
]);

app.use((ctx, next) => {
  counts.requests += 1;
  return next();
});

// One event each 250 ms for everybody who watches. `late` is by how much the timer was late: it
// shows when the isolate was kept from its work.
app.sse("/events", async (ctx, events) => {
  counts.watching += 1;
  try {
    for (let next = Date.now(); ; next += 250) {
      const late = Math.max(0, Date.now() - next);
      if (late > 1000) next = Date.now();
      const upMs = Date.now() - begun;
      if (!(await events.send({ event: "tick", data: { ...counts, late, upMs } }))) return;
      await delay(Math.max(1, next + 250 - Date.now()), { signal: events.signal });
    }
  } finally {
    counts.watching -= 1;
  }
});

// An upstream that takes its time.
app.get("/api/slow", async (ctx) => {
  const ms = Math.min(2000, Number(ctx.query.ms) || 100);
  await delay(ms, { signal: ctx.signal });
  return { ms };
});

// Asks that upstream many times at once, and says when each answer came.
app.get("/api/fan-out", async (ctx) => {
  const { origin } = new URL(ctx.request.url);
  const start = performance.now();
  const answers = await Promise.all(Array.from({ length: 12 }, async (_, index) => {
    const begin = performance.now() - start;
    const wanted = 60 + ((index * 7919) % 400);
    const response = await fetch(`${origin}/api/slow?ms=${wanted}`, { signal: ctx.signal });
    const { ms } = await response.json();
    return { ms, begin, end: performance.now() - start };
  }));
  return { answers, totalMs: performance.now() - start };
});

// Never ends by itself: the limit on processor time ends it, and only it.
app.get("/api/burn", () => {
  counts.stopped += 1;
  for (;;);
});

// Waits until the client has had enough.
app.get("/api/patience", async (ctx) => {
  try {
    await delay(10_000, { signal: ctx.signal });
  } catch {
    counts.hungUp += 1;
  }
  return Results.noContent();
});

// The rows go from SQLite to the client without becoming objects.
app.get("/api/notes", async (ctx) =>
  Results.rows(await db.queryCursor(sql`select id, text, at from notes order by id desc limit 20`,
    { signal: ctx.signal }), { format: "json" }));

app.post("/api/notes", async (ctx) => {
  const { text } = await ctx.request.json();
  if (typeof text !== "string" || text.trim() === "" || text.length > 200) {
    return Results.badRequest({ problem: "a note has 1 to 200 characters" });
  }
  const note = await db.queryOne(sql`insert into notes (text, at)
    values (${text.trim()}, ${sql.instant(new Date().toISOString())}) returning id, text, at`);
  return Results.created(`/api/notes/${note.id}`, note);
});

app.get("/api/counts", () => counts);
app.get("/{path:*}", files(new URL("./page/", import.meta.url)));

export default app;
