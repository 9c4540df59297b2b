// DAT-1: the cases of cases.json in JavaScript. Needs the globals of tests/js/harness.js.
import { DatabaseError, sql } from "weft:data";
import conformance from "./cases.json";

const wrappers = {
  integer: (text) => BigInt(text),
  bytes: (digits) => Uint8Array.from(digits.match(/../g), (digit) => parseInt(digit, 16)),
  decimal: sql.decimal, uuid: sql.uuid, date: sql.date, timestamp: sql.timestamp,
  json: sql.rawJson,
};
const outcomes = { ...wrappers, json: JSON.parse };
for (const name of ["decimal", "uuid", "date", "timestamp"]) outcomes[name] = (text) => text;

function valueOf(value, by) {
  if (value === null || typeof value !== "object") return value;
  const [[type, text]] = Object.entries(value);
  return by[type](text);
}

function spelled(text, types) {
  for (const [word, type] of Object.entries(types)) text = text.replaceAll(word, type);
  return text;
}

function statementOf(text, values, types) {
  text = spelled(text, types);
  const pieces = [];
  for (let i = 0; i < values.length; i++) {
    const gap = text.indexOf("{}");
    pieces.push(text.slice(0, gap));
    text = text.slice(gap + 2);
  }
  pieces.push(text);
  return sql(Object.assign(pieces, { raw: pieces }),
    ...values.map((value) => valueOf(value, wrappers)));
}

async function act(owner, step, types) {
  const [operation] = Object.keys(step);
  if (operation === "batch") {
    const outcomes = await owner.batch(step.batch.map((text) => spelled(text, types)));
    return { affectedRows: outcomes.reduce((sum, { affectedRows }) => sum + affectedRows, 0) };
  }
  const statement = statementOf(step[operation], step.values ?? [], types);
  const options = step.maxRows === undefined ? {} : { maxRows: step.maxRows };
  if (operation === "exec") return owner.exec(statement);
  if (operation === "query") return owner.queryRaw(statement, options);
  if (operation === "cursor" || operation === "leave") {
    return readCursor(owner, statement, options, operation === "leave");
  }
  const row = await owner.queryOne(statement);
  return { rows: row === null ? [] : [Object.values(row)], columnNames: Object.keys(row ?? {}) };
}

// Two rows at a time, to the end; or one, behind which it is left.
async function readCursor(owner, statement, options, leaves) {
  const cursor = await owner.queryRawCursor(statement, { ...options, batchSize: leaves ? 1 : 2 });
  const rows = [];
  for await (const row of cursor) {
    rows.push(row);
    if (leaves) break;
  }
  assert(!leaves || cursor.closed);
  return { rows, columnNames: cursor.columnNames };
}

async function compare(owner, step, types, outcomes) {
  const what = JSON.stringify(step);
  // What a program does wrong is refused before the database is asked.
  if (step.error === "misuse") return assertRejects(() => act(owner, step, types), TypeError);
  if (step.error !== undefined) {
    const error = await assertRejects(() => act(owner, step, types), DatabaseError);
    const code = `WEFT_E_DATA_${step.error.toUpperCase().replaceAll(/[^A-Z]/g, "_")}`;
    return assertEquals(error.code, code, what);
  }
  const outcome = await act(owner, step, types);
  if (step.affected !== undefined) assertEquals(outcome.affectedRows, step.affected, what);
  if (step.columns !== undefined) assertEquals(outcome.columnNames, step.columns, what);
  if (step.rows !== undefined) {
    assertEquals(outcome.rows,
      step.rows.map((row) => row.map((value) => valueOf(value, outcomes))), what);
  }
}

// The steps up to the end of the transaction that was begun; the index behind it.
async function runSteps(owner, steps, at, types, outcomes) {
  for (; at < steps.length; at++) {
    const step = steps[at];
    if ("commit" in step) return { at, commits: true };
    if ("rollback" in step) return { at, commits: false };
    if (!("begin" in step)) {
      await compare(owner, step, types, outcomes);
      continue;
    }
    let inner;
    const undo = new Error("as the case says");
    await owner.transaction(async (tx) => {
      inner = await runSteps(tx, steps, at + 1, types, outcomes);
      if (!inner.commits) throw undo;
    }).catch((error) => { if (error !== undo) throw error; });
    at = inner.at;
  }
  return { at, commits: true };
}

// What is over before it begins reaches no database, and what is closed takes nothing.
async function end(db) {
  const code = async (promise) => (await assertRejects(promise, DatabaseError)).code;
  const aborted = db.query("select 1", [], { signal: AbortSignal.abort("why") });
  assertEquals(await aborted.catch((reason) => reason), "why");
  assertEquals(await code(db.query("select 1", [], { timeoutMs: 0 })), "WEFT_E_DATA_TIMED_OUT");
  await db.close();
  for (const use of [db.query("select 1"), db.queryCursor("select 1"), db.transaction(() => {})]) {
    assertEquals(await code(use), "WEFT_E_DATA_CLOSED");
  }
}

// Each case with a database of its own, which open(number) gives.
export async function runCases(provider, open) {
  // What a driver gives as text because it does not tell the type.
  const returns = { ...outcomes };
  for (const type of Object.keys(conformance.returns[provider] ?? {})) returns[type] = (text) => text;
  for (let i = 0; i < conformance.cases.length; i++) {
    const db = await open(i);
    await runSteps(db, conformance.cases[i].steps, 0, conformance.types[provider], returns);
    assertEquals(db.stats().inUse, 0);
    await end(db);
  }
  assert(conformance.cases.length >= 8);
}
