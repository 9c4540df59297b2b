#!/usr/bin/env python3
"""Databases of applications, as their clients see them (DAT-5, DAT-8, DAT-9, DAT-11, DAT-14)."""
import contextlib
import json
import os
import sqlite3
import subprocess
import time
import unittest
from pathlib import Path

from served import LONG, MIB, WEFT, ServeTest, Weft, in_threads, main

APP = """
import { AsyncLocalStorage } from "weft:async";
import { open, sql } from "weft:data";
import { Results, router } from "weft:http";

const db = await open("data.main");
const readers = await open("data.reader");
await db.exec("create table if not exists notes (id integer primary key, text text)");
const endless =
  "with recursive n(x) as (select 1 union all select x + 1 from n) select count(*) from n";
const numbers = (count) =>
  sql`with recursive n(x) as (select 1 union all select x + 1 from n limit ${count})
      select x, 'some text of a row' as text from n`;
// A promise that nothing can settle is told of at once; this one ends with its request.
const forever = () => new Promise((settle) => setTimeout(settle, 3_600_000));

const storage = new AsyncLocalStorage();
const app = router();
app.get("/context", (ctx) => storage.run(ctx.query.name, async () => {
  const found = {};
  const look = (place) => { found[place] = storage.getStore(); };
  await db.query(numbers(3)); look("query");
  await db.exec(sql`insert into notes (text) values (${"x"})`).then(() => look("then"));
  await db.transaction(async (tx) => {
    look("transaction");
    await tx.queryOne("select 1 as one");
    look("in the transaction");
  });
  for await (const row of await db.queryCursor(numbers(3))) look(`row ${row.x}`);
  await db.query("no statement").catch(() => look("failure"));
  const controller = new AbortController();
  setTimeout(() => controller.abort(), 5);
  await db.query(endless, [], { signal: controller.signal }).catch(() => look("abort"));
  return found;
}));
app.get("/ok", () => "ok");
app.get("/facts", async () =>
  ({ ...db.stats(), notes: (await readers.queryOne("select count(*) as n from notes")).n }));
app.get("/abandoned", () => db.transaction(async (tx) => {
  await tx.exec("insert into notes (text) values ('never')");
  await forever();
}));
app.get("/cursor", async () => {
  const cursor = await db.queryCursor(numbers(1000));
  await cursor.next();
  await forever();
});
app.get("/endless", async (ctx) => db.query(endless, [], { signal: ctx.signal }));
app.get("/unheeding", () => db.query(endless));
app.get("/insert", async (ctx) =>
  db.exec(sql`insert into notes (text) values (${ctx.query.text ?? "x"})`, { timeoutMs: 20000 }));
app.get("/refused", async () => {
  try {
    await readers.exec("delete from notes");
  } catch (error) {
    return { code: error.code };
  }
});
app.get("/elsewhere", async () => {
  const { sqlite } = await import("weft:data");
  try {
    await sqlite.open({ path: "/tmp/elsewhere.db" });
  } catch (error) {
    return { code: error.code };
  }
});
app.get("/close", async () => {
  const own = await open("data.main");
  const cursor = await own.queryCursor(numbers(1000));
  await cursor.next();
  await own.close();
  const codes = [];
  const uses =
    [() => own.query("select 1"), () => cursor.next(), () => own.transaction(() => {})];
  for (const use of uses) await use().catch((error) => codes.push(error.code));
  const anew = await open("data.main");
  const { one } = await anew.queryOne("select 1 as one");
  return { codes, stats: own.stats(), anew: one, provider: anew.provider };
});
app.get("/rows", async (ctx) => Results.rows(await db.queryCursor(numbers(+ctx.query.count))));
export default app;
"""
MAIN = {"token": "data.main", "kind": "database", "provider": "main"}
CONFIG = {
    "listeners": [{"address": "127.0.0.1:0"}],
    "data": {"main": {"provider": "sqlite", "path": "notes.db", "maxConnections": 4}},
    "apps": [{"entry": "app.js", "limits": {"handlerDeadlineMs": 30000},
              "capabilities": [MAIN, {**MAIN, "token": "data.reader", "access": "read"}]}],
}


class Data(ServeTest):
    SOURCE = APP
    OPTIONS = {"config": CONFIG}

    def assert_free(self, what):
        self.weft.until(lambda: self.weft.json("/facts")["inUse"] == 0, what)

    def leave(self, target):
        """A client that goes away when its request is under way."""
        client = self.weft.send(target)
        self.weft.until(lambda: self.weft.json("/facts")["inUse"] == 1, "the request begins")
        client.close()

    def test_DAT_5_a_transaction_is_rolled_back_when_its_client_goes_away(self):
        before = self.weft.json("/facts")["notes"]
        for _ in range(5):
            self.leave("/abandoned")
            self.assert_free("the connection comes back")
        self.assertEqual(self.weft.json("/facts")["notes"], before)

    def test_DAT_5_closing_a_configured_database_closes_it_for_nobody_else(self):
        for _ in range(3):
            self.assertEqual(self.weft.json("/close"), {
                "codes": ["WEFT_E_DATA_CLOSED"] * 3, "stats": None, "anew": 1,
                "provider": "sqlite"})
            self.assert_free("its cursor is closed")

    def test_DAT_8_a_cursor_is_closed_when_its_client_goes_away(self):
        self.leave("/cursor")
        self.assert_free("the connection comes back")

    def test_DAT_9_a_statement_is_stopped_when_its_client_goes_away(self):
        for target in ("/endless", "/unheeding"):
            self.leave(target)
            self.assert_free("the statement is stopped")

    def test_JS_9_async_context_follows_what_waits_for_a_database(self):
        names = [f"request {number}" for number in range(4)]
        found = in_threads(4, lambda at: self.weft.json(f"/context?name=request%20{at}"))
        places = ["query", "then", "transaction", "in the transaction", "row 1", "row 2", "row 3",
                  "failure", "abort"]
        for name, seen in zip(names, found):
            self.assertEqual(seen, {place: name for place in places})

    def test_DAT_2_a_foreign_lock_stops_nobody_else(self):
        other = sqlite3.connect(self.weft.path / "notes.db", isolation_level=None)
        other.execute("begin immediate")
        client = self.weft.send("/insert?text=late")
        self.weft.until(lambda: self.weft.json("/facts")["inUse"] == 1, "it waits for the lock")
        # Whoever waited for the lock would wait for the commit below until the insert gives up.
        for _ in range(10):
            self.assert_answers()
        other.execute("commit")
        other.close()
        self.assertIn(b" 200 ", client.recv(4096).split(b"\r\n")[0] + b" ")
        client.close()

    def test_DAT_11_access_and_places_are_those_of_the_configuration(self):
        self.assertEqual(self.weft.json("/refused")["code"], "WEFT_E_DATA_PERMISSION_DENIED")
        self.assertEqual(self.weft.json("/elsewhere")["code"], "WEFT_E_DATA_PERMISSION_DENIED")
        self.assertFalse(Path("/tmp/elsewhere.db").exists())

    def test_DAT_14_rows_leave_as_they_are_fetched_and_memory_stays_flat(self):
        # More than the system's buffers of a connection hold.
        count = 1_000_000 if LONG else 400_000
        rows = self.weft.ask("/rows?count=1000").text.splitlines()
        self.assertEqual(json.loads(rows[999]), {"x": 1000, "text": "some text of a row"})
        before = self.weft.rss()
        client = self.weft.send(f"/rows?count={count}")
        received = b""
        while b'{"x":1,' not in received:
            part = client.recv(65536)
            self.assertTrue(part, "the server broke off before the first row")
            received += part
        # It does not take any more for now: the rest stays in the database.
        facts = self.weft.json("/facts")
        self.assertEqual(facts["inUse"], 1)
        tail = received
        while b"\r\n0\r\n\r\n" not in tail:
            received = client.recv(1 << 20)
            self.assertTrue(received, "the server broke off")
            tail = tail[-100:] + received
        self.assertIn(f'"x":{count},'.encode(), tail[-300:])
        client.close()
        self.assertLess(self.weft.rss() - before, 32 * MIB)
        self.assert_free("the cursor ends")


# What it may be said of, in all the places that words of an application go to.
SECRET_APP = """
import { open, postgres } from "weft:data";
const db = await open("data.main");
const ask = () => db.query("select 1");
export default { async fetch(request) {
  const { pathname } = new URL(request.url);
  if (pathname === "/ok") return new Response("ok");
  if (pathname === "/thrown") await ask();
  if (pathname === "/detached") void ask();
  if (pathname === "/transaction") await db.transaction(ask);
  try {
    await ask();
  } catch (error) {
    console.log(error, db, [error], { error });
    console.error("%o %s %j", error, error, error);
    console.table([error]);
    const own = Object.getOwnPropertyNames(error).map((name) => `${error[name]}`);
    return new Response(`${error} ${error.stack} ${error.cause} ${JSON.stringify(error)} ${own} ` +
      `${JSON.stringify(db)} ${JSON.stringify(db.stats())}`);
  }
} };
"""
# The "@" of the password is not encoded: libpq reads "hunter2!@127.0.0.1" as the host.
SECRET = "postgres://shop:p@hunter2!@127.0.0.1:1/shop"


class Secret(ServeTest):
    SOURCE = SECRET_APP
    OPTIONS = {"config": {
        "listeners": [{"address": "127.0.0.1:0"}],
        "data": {"main": {"provider": "postgres", "connectionString": SECRET}},
        "apps": [{"entry": "app.js", "capabilities": [MAIN]}]}}

    def test_DAT_10_a_password_is_in_no_answer_and_no_line_of_the_log(self):
        for target in ("/told", "/thrown", "/transaction", "/detached"):
            answer = self.weft.ask(target)
            self.assertNotIn("hunter2", f"{answer.text} {answer.headers}", target)
        self.weft.until(lambda: "connection lost (08001)" in self.weft.log(), "the log tells of it")
        self.assert_answers()
        os.set_blocking(self.weft.process.stdout.fileno(), False)
        written = self.weft.process.stdout.read() or b""
        self.assertNotIn("hunter2", self.weft.log() + written.decode())

    def test_DAT_10_a_password_is_in_no_word_of_weft_migrate(self):
        (self.weft.path / "1_first.sql").write_text("select 1;")
        for place in (["--database", SECRET], ["--config", self.weft.path / "weft.json"]):
            for action in ("up", "status"):
                done = subprocess.run(
                    [WEFT, "migrate", action, *place, "--folder", self.weft.path],
                    stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertIn("08001", done.stderr)
                self.assertNotIn("hunter2", done.stdout + done.stderr)


class Shutdown(unittest.TestCase):
    def test_DAT_8_a_drain_ends_cursors_and_undoes_transactions(self):
        weft = Weft(APP, config=json.loads(json.dumps(CONFIG)), drain_ms=200)
        weft.json("/insert")
        clients = [weft.send(target) for target in ("/cursor", "/abandoned")]
        weft.until(lambda: weft.json("/facts")["inUse"] == 2, "both are under way")
        # By itself, whatever it says of requests that were cut short.
        self.assertIn(weft.stop(), (0, 3), weft.log()[-2000:])
        for client in clients:
            client.close()
        with contextlib.closing(sqlite3.connect(weft.path / "notes.db", timeout=0)) as other:
            # Nobody holds a lock of it, and what was not committed is not there.
            other.execute("begin exclusive")
            self.assertEqual(other.execute("select count(*) from notes").fetchone(), (1,))
        # Whoever closes last takes the log of writes along.
        self.assertFalse((weft.path / "notes.db-wal").exists())
        weft.close()


class Start(ServeTest):
    SOURCE = "export default { fetch: () => new Response('ok') };"

    def test_DAT_11_a_mismatch_ends_the_program_before_it_listens(self):
        config = json.loads(json.dumps(CONFIG))
        config["apps"][0]["capabilities"][0]["provider"] = "other"
        path = self.weft.path / "wrong.json"
        path.write_text(json.dumps(config))
        done = subprocess.run([WEFT, "serve", "--config", path], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("WEFT_E_DATA_UNKNOWN_PROVIDER", done.stderr)
        self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    main()
