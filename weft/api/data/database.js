// The module `weft:data`: databases.
//
//     import { open, sql } from "weft:data";
//     const db = await open("data.main");            // as weft.json names it
//     const rows = await db.query(sql`select * from users where age > ${18}`);
//
// Every call accepts { signal, deadline, timeoutMs } and refuses unknown options.
const {
  dataBatch, dataBegin, dataClose, dataCloseDatabase, dataConfigured, dataCopy, dataCursor,
  dataDescribe, dataFinish, dataNext, dataNextJson, dataOpen, dataRedact, dataRowMaker, dataRun,
  dataStop, taskCancel, taskLast,
} = native;
const { isQuery, lowered, sql } = realm.sql;
const { budgetMs, signalOf } = realm.time;
const { internal } = realm.webidl;
const {
  ArrayIsArray, ArrayPrototypeIncludes, ArrayPrototypeMap, ArrayPrototypePush, ArrayPrototypeSlice,
  Error, Float64Array, JSONStringify, Map, MapPrototypeGet, MapPrototypeGetSize, MapPrototypeSet,
  NumberIsInteger, ObjectDefineProperty, ObjectFreeze, ObjectKeys, PromisePrototypeThen,
  PromiseResolve, StringPrototypeIncludes, StringPrototypeSplit, SymbolAsyncIterator, TypeError,
  Uint32Array, Uint8Array, noop,
} = realm.primordials;

const kRowsMaxDefault = 128;
const kRowsUnlimited = 0xffffffff;
const kBatchRowsDefault = 256;
const kBatchRowsMax = 4096;
const kQuery = 0;
const kQueryOne = 1;
const kExec = 2;
const accesses = { __proto__: null, read: 0, write: 1, readwrite: 2 };
const isolations = {
  __proto__: null, default: 0, readCommitted: 1, repeatableRead: 2, serializable: 3,
};

// code: "WEFT_E_DATA_..." for the cause; sqlState: five characters or ""; transient: whether a new
// attempt may succeed.
class DatabaseError extends Error {
  constructor(message, { code, sqlState = "", transient = false } = {}) {
    super(message);
    this.code = code;
    this.sqlState = sqlState;
    this.transient = transient;
  }
}
ObjectDefineProperty(DatabaseError.prototype, "name", {
  __proto__: null, value: "DatabaseError", writable: true, configurable: true,
});

function checkOptions(options, operation, known) {
  if (options === undefined) return {};
  if (typeof options !== "object" || options === null) {
    throw new TypeError(`${operation}: options are an object`);
  }
  const keys = ObjectKeys(options);
  for (let i = 0; i < keys.length; i++) {
    if (!ArrayPrototypeIncludes(known, keys[i])) {
      throw new TypeError(`${operation}: there is no option "${keys[i]}"`);
    }
  }
  return options;
}

function countOption(value, name, operation, most, otherwise) {
  if (value === undefined) return otherwise;
  if (!NumberIsInteger(value) || value < 1 || value > most) {
    throw new TypeError(`${operation}: ${name} must be an integer from 1 to ${most}`);
  }
  return value;
}

function closedError(what) {
  return new DatabaseError(`The ${what} is closed`, { code: "WEFT_E_DATA_CLOSED" });
}

// Starts the task of a native function and cancels it when the signal fires.
async function call(operation, options, start) {
  const signal = signalOf(options, operation);
  const budget = budgetMs(options, operation);
  if (signal?.aborted) throw signal.reason;
  if (budget <= 0) {
    throw new DatabaseError(`${operation}: timed out`, { code: "WEFT_E_DATA_TIMED_OUT" });
  }
  const promise = start(budget);
  if (signal !== undefined && signal !== null) return cancellable(promise, signal);
  try {
    return await promise;
  } catch (error) {
    throw databaseError(error);
  }
}

async function cancellable(promise, signal) {
  const task = taskLast();
  const onAbort = () => taskCancel(task);
  signal.addEventListener("abort", onAbort);
  try {
    return await promise;
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw databaseError(error);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

// An error of native code is made a DatabaseError unless it is of another kind.
function databaseError(error) {
  return error?.sqlState === undefined ? error : new DatabaseError(error.message, error);
}

// ---- rows

// Shapes by the names of their columns, each name followed by a NUL; see shapeOf().
let shapes;
const kShapesMax = 256;
// A shape that has made this many objects gets a function that makes them faster.
const kRowsUntilMaker = 64;
const kMakerColumnsMax = 64;

// What results with the same columns share: { names, columns, empty, made, maker, hasMaker }.
// `columns` are the names as native code gives them: the key of the shape, or an array of names
// that no key can hold.
function shapeOf(columns) {
  if (typeof columns !== "string") return newShape(columns);
  shapes ??= new Map();
  let shape = MapPrototypeGet(shapes, columns);
  if (shape === undefined) {
    const names = StringPrototypeSplit(columns, "\0");
    names.length--;
    shape = newShape(names);
    if (MapPrototypeGetSize(shapes) === kShapesMax) shapes = new Map();
    MapPrototypeSet(shapes, columns, shape);
  }
  return shape;
}

function newShape(names) {
  const columns =
    ObjectFreeze(ArrayPrototypeMap(names, (name, index) => ObjectFreeze({ name, index })));
  ObjectFreeze(names);
  // The kind of its elements is that of arrays of objects.
  const empty = [undefined];
  empty.length = 0;
  hidden(empty, "mode", "object");
  hidden(empty, "columnNames", names);
  hidden(empty, "columns", columns);
  const isOdd = ArrayPrototypeIncludes(names, "__proto__");
  return {
    __proto__: null, names, columns, empty, isOdd, made: 0, maker: undefined,
    hasMaker: !isOdd && names.length > 0 && names.length <= kMakerColumnsMax,
  };
}

function hidden(object, name, value) {
  ObjectDefineProperty(object, name, { __proto__: null, value });
}

// Appends an object for each row; `cells` has the values of all rows, this shape's from `at` on.
function addObjects(shape, rows, cells, at, count) {
  if (shape.hasMaker) {
    shape.made += count;
    if (shape.made > kRowsUntilMaker) {
      shape.maker ??= dataRowMaker(makerSource(shape.names));
      return shape.maker(rows, cells, at, at + count * shape.names.length);
    }
  }
  const { names, isOdd } = shape;
  for (let row = 0; row < count; row++) {
    const object = isOdd ? { __proto__: null } : {};
    for (let i = 0; i < names.length; i++) object[names[i]] = cells[at++];
    ArrayPrototypePush(rows, object);
  }
  return rows;
}

// The body of function (rows, cells, at, end). Its literal gives all objects of a shape their
// properties at once, which stores one after the other would not. A name is quoted as a string.
function makerSource(names) {
  let literal = "";
  for (let i = 0; i < names.length; i++) {
    literal += `${i > 0 ? ", " : ""}${JSONStringify(names[i])}: cells[at + ${i}]`;
  }
  return `let to = rows.length;
for (; at < end; at += ${names.length}) rows[to++] = {${literal}};
return rows;`;
}

function countRows(shape, cells) {
  return cells === undefined || shape.names.length === 0 ? 0 : cells.length / shape.names.length;
}

function toObjects(shape, cells) {
  return addObjects(shape, [], cells, 0, countRows(shape, cells));
}

function toArrays(shape, cells) {
  const rows = [];
  const width = shape.names.length;
  const count = countRows(shape, cells);
  for (let at = 0; at < count; at++) {
    ArrayPrototypePush(rows, ArrayPrototypeSlice(cells, at * width, at * width + width));
  }
  return rows;
}

function objectResult(result) {
  const shape = shapeOf(result[0]);
  const cells = result[1];
  return addObjects(shape, dataCopy(shape.empty), cells, 0, countRows(shape, cells));
}

function rawResult(result) {
  const shape = shapeOf(result[0]);
  return {
    mode: "raw", columnNames: shape.names, columns: shape.columns,
    rows: toArrays(shape, result[1]),
  };
}

// ---- batches

// The marks of values, as native code reads them.
const kNull = 0;
const kFalse = 1;
const kTrue = 2;
const kNumber = 3;
const kText = 4;   // part of the common text; its number is its length
const kOther = 5;  // by itself
// Longer texts are passed by themselves.
const kPackedTextMax = 1024;
// The space for the marks and numbers of a batch that is not too large for it. It is used for one
// batch after the other, because no script of the application runs while a batch is packed.
const kPackedValuesKept = 32768;
let keptMarks;
let keptNumbers;

// Packs statements, each as lowered() gives it, for dataBatch(): so many texts and values are
// passed faster together than one by one.
function packed(list) {
  let count = 0;
  for (let i = 0; i < list.length; i++) count += list[i].values.length;
  const isKept = count <= kPackedValuesKept;
  const marks = isKept ? keptMarks ??= new Uint8Array(kPackedValuesKept) : new Uint8Array(count);
  const numbers =
    isKept ? keptNumbers ??= new Float64Array(kPackedValuesKept) : new Float64Array(count);
  const texts = [];
  const heads = new Uint32Array(list.length * 2);
  const others = [];
  let text = "";
  let before;
  let at = 0;
  for (let i = 0; i < list.length; i++) {
    const statement = list[i];
    if (statement.text !== before) {
      before = statement.text;
      ArrayPrototypePush(texts, before);
    }
    heads[2 * i] = texts.length - 1;
    heads[2 * i + 1] = statement.values.length;
    for (let j = 0; j < statement.values.length; j++, at++) {
      const value = statement.values[j];
      const kind = statement.kinds?.[j];
      if (kind === undefined && typeof value === "number") {
        marks[at] = kNumber;
        numbers[at] = value;
      } else if (kind === undefined && typeof value === "string" &&
          value.length <= kPackedTextMax) {
        marks[at] = kText;
        numbers[at] = value.length;
        text += value;
      } else if (value === null) {
        marks[at] = kNull;
      } else if (typeof value === "boolean") {
        marks[at] = value ? kTrue : kFalse;
      } else {
        marks[at] = kOther;
        ArrayPrototypePush(others, value, kind);
      }
    }
  }
  return { texts, heads, marks, numbers, text, others };
}

// The result of dataBatch(): [columns, cells, facts, last]; see outcomes_of() in data_natives.cpp.
function batchResults(result) {
  const { 0: columns, 1: cells, 3: last } = result;
  const facts = new Float64Array(result[2]);
  const known = ArrayPrototypeMap(columns, shapeOf);
  const results = [];
  let at = 0;
  for (let i = 0; i < facts.length; i += 3) {
    const shape = known[facts[i]];
    const count = facts[i + 1];
    const affectedRows = facts[i + 2];
    const lastInsertId = last?.[i / 3];
    const rows = addObjects(shape, dataCopy(shape.empty), cells, at, count);
    at += count * shape.names.length;
    ArrayPrototypePush(results, lastInsertId === undefined ? { rows, affectedRows }
      : { rows, affectedRows, lastInsertId });
  }
  return results;
}

function execResult(result) {
  const affectedRows = result[2];
  const lastInsertId = result[3];
  return lastInsertId === undefined ? { affectedRows } : { affectedRows, lastInsertId };
}

// ---- cursors

// An asynchronous iterable that can be used once. It holds a connection until it has ended.
class Cursor {
  #handle;
  #shape;
  #mode;
  #opening;
  #options;
  #rows = [];
  #at = 0;
  #state = "open";  // then "ended" or "closed"
  #iterated = false;
  #last;  // the last call that has not ended; undefined if there is none

  constructor(word, handle, shape, mode, opening, options) {
    if (word !== internal) throw new TypeError("A cursor is opened by queryCursor() and the like");
    this.#handle = handle;
    this.#shape = shape;
    this.#mode = mode;
    this.#opening = opening;
    this.#options = options;
  }
  get closed() {
    return this.#state !== "open" || this.#opening.closed;
  }
  get mode() {
    return this.#mode;
  }
  get provider() {
    return this.#opening.provider;
  }
  get columnNames() {
    return this.#shape.names;
  }
  get columns() {
    return this.#shape.columns;
  }
  next() {
    // Not an async function: most rows have been fetched already, and a promise is enough for one.
    if (this.#last === undefined && this.#hasRow()) return PromiseResolve(this.#take());
    return this.#inTurn(() => this.#advance());
  }
  // Runs after the earlier calls, as with the iterator of an asynchronous generator.
  #inTurn(act) {
    const before = this.#last;
    const mine = before === undefined ? act() : PromisePrototypeThen(before, act, act);
    this.#last = mine;
    const end = () => {
      if (this.#last === mine) this.#last = undefined;
    };
    PromisePrototypeThen(mine, end, end);
    return mine;
  }
  #hasRow() {
    return this.#at < this.#rows.length && !this.#opening.closed;
  }
  #take() {
    return { value: this.#rows[this.#at++], done: false };
  }
  async #advance() {
    if (this.#opening.closed) await this.close();
    if (this.#state === "closed") throw closedError("cursor");
    if (!this.#hasRow() && this.#state === "open") await this.#fetch();
    return this.#hasRow() ? this.#take() : { value: undefined, done: true };
  }
  async #fetch() {
    let fetched;
    try {
      fetched = await call("next", this.#options, () => dataNext(this.#handle));
    } catch (error) {
      // close() has stopped the fetch.
      const reason = this.#state === "closed" ? closedError("cursor") : error;
      await this.close();
      throw reason;
    }
    if (this.#state === "closed") throw closedError("cursor");
    this.#at = 0;
    this.#rows = [];
    if (fetched === undefined) {
      this.#state = "ended";
    } else {
      this.#rows = this.#mode === "raw" ? toArrays(this.#shape, fetched)
        : toObjects(this.#shape, fetched);
    }
  }
  // For Results.rows(): takes over the remaining rows as JSON, without making objects of them.
  static claim(cursor) {
    if (typeof cursor !== "object" || cursor === null || !(#handle in cursor)) {
      throw new TypeError("Results.rows() takes a cursor of weft:data");
    }
    if (cursor.#iterated || cursor.#last !== undefined || cursor.#at < cursor.#rows.length) {
      throw new TypeError("A cursor is single-use");
    }
    cursor.#iterated = true;
  }
  static async nextJson(cursor, asLines) {
    if (cursor.#state !== "open") return undefined;
    let bytes;
    try {
      bytes = await call("rows", cursor.#options, () => dataNextJson(cursor.#handle, asLines));
    } catch (error) {
      await cursor.close();
      throw error;
    }
    if (bytes === undefined) cursor.#state = "ended";
    return bytes;
  }
  async return(value) {
    await this.#inTurn(() => this.close());
    return { value, done: true };
  }
  async throw(error) {
    await this.#inTurn(() => this.close());
    throw error;
  }
  // Does not wait for a running fetch: cancels it.
  async close() {
    if (this.#state === "closed") return;
    const wasOpen = this.#state === "open";
    this.#state = "closed";
    this.#rows = [];
    this.#at = 0;
    if (wasOpen) await dataClose(this.#handle);
  }
  [SymbolAsyncIterator]() {
    if (this.#iterated) throw new TypeError("A cursor is single-use");
    this.#iterated = true;
    return this;
  }
}

// `await` gives the cursor; `for await` opens it, reads it and closes it.
function iterable(opening) {
  ObjectDefineProperty(opening, SymbolAsyncIterator, {
    __proto__: null,
    value() {
      let cursor;
      const opened = PromisePrototypeThen(opening, (made) => {
        cursor = made[SymbolAsyncIterator]();
        return cursor;
      });
      PromisePrototypeThen(opened, undefined, noop);
      const act = (name, value) => (cursor !== undefined ? cursor[name](value)
        : PromisePrototypeThen(opened, (made) => made[name](value)));
      return {
        __proto__: null,
        next: () => act("next"),
        return: (value) => act("return", value),
        throw: (error) => act("throw", error),
      };
    },
  });
  return opening;
}

// ---- common to databases and transactions

const callOptions = ["signal", "deadline", "timeoutMs"];
const queryOptions = [...callOptions, "maxRows", "mode"];
const rawOptions = [...callOptions, "maxRows"];
const cursorOptions = [...callOptions, "maxRows", "batchSize"];
const batchOptions = [...callOptions, "maxRows", "atomic"];
const transactionOptions = [...callOptions, "readOnly", "isolation"];
const sqliteOptions = [...callOptions, "path", "database", "access", "maxConnections"];
const serverOptions = [...callOptions, "connectionString", "access", "maxConnections"];

// (statement, options) for sql`...`; (statement, parameters, options) for a string.
function argumentsOf(statement, second, third, operation, known) {
  if (isQuery(statement)) {
    return { parameters: undefined, options: checkOptions(second, operation, known) };
  }
  if (second !== undefined && !ArrayIsArray(second)) {
    throw new TypeError(`${operation}: the parameters of a text are an array, before the options`);
  }
  return { parameters: second, options: checkOptions(third, operation, known) };
}

// The result of an open(): { number, provider, placeholders, closed }, shared with everything that
// comes from it. Several may refer to the same database, each with a number of its own.
let openings = 0;
let openingOf;
let handleOf;

class Session {
  #handle;
  #opening;
  constructor(word, handle, opening) {
    if (word !== internal) throw new TypeError("A database is opened by open()");
    this.#handle = handle;
    this.#opening = opening;
  }
  static {
    openingOf = (session) => session.#opening;
    handleOf = (session) => session.#handle;
  }
  get provider() {
    return this.#opening.provider;
  }
  #lowered(statement, parameters) {
    if (this.#opening.closed) throw closedError("database");
    return lowered(statement, parameters, this.#opening.placeholders);
  }
  #run(kind, operation, statement, parameters, options, rowsMax) {
    const { text, values, kinds } = this.#lowered(statement, parameters);
    return call(operation, options, (budget) =>
      dataRun(this.#handle, kind, text, values, kinds, rowsMax, budget));
  }
  async query(statement, second, third) {
    const { parameters, options } = argumentsOf(statement, second, third, "query", queryOptions);
    const most = countOption(options.maxRows, "maxRows", "query", kRowsUnlimited, kRowsMaxDefault);
    if (options.mode !== undefined && options.mode !== "object" && options.mode !== "raw") {
      throw new TypeError('query: mode is "object" or "raw"');
    }
    const result = await this.#run(kQuery, "query", statement, parameters, options, most);
    return options.mode === "raw" ? rawResult(result) : objectResult(result);
  }
  async queryRaw(statement, second, third) {
    const { parameters, options } = argumentsOf(statement, second, third, "queryRaw", rawOptions);
    const most =
      countOption(options.maxRows, "maxRows", "queryRaw", kRowsUnlimited, kRowsMaxDefault);
    return rawResult(await this.#run(kQuery, "queryRaw", statement, parameters, options, most));
  }
  async queryOne(statement, second, third) {
    const { parameters, options } = argumentsOf(statement, second, third, "queryOne", callOptions);
    const result = await this.#run(kQueryOne, "queryOne", statement, parameters, options, 1);
    const cells = result[1];
    return cells === undefined ? null : toObjects(shapeOf(result[0]), cells)[0] ?? null;
  }
  async exec(statement, second, third) {
    const { parameters, options } = argumentsOf(statement, second, third, "exec", callOptions);
    return execResult(
      await this.#run(kExec, "exec", statement, parameters, options, kRowsMaxDefault));
  }
  // Runs statements, each sql`...`, a text or [text, parameters]. Gives [{ rows, affectedRows, ...
  // }].
  async batch(statements, options) {
    checkOptions(options, "batch", batchOptions);
    if (!ArrayIsArray(statements)) throw new TypeError("batch: the statements are an array");
    const most =
      countOption(options?.maxRows, "maxRows", "batch", kRowsUnlimited, kRowsMaxDefault);
    const list = ArrayPrototypeMap(statements, (entry) => (ArrayIsArray(entry)
      ? this.#lowered(entry[0], entry[1]) : this.#lowered(entry, undefined)));
    const atomic = options?.atomic !== false;
    return batchResults(await call("batch", options, (budget) => {
      const { texts, heads, marks, numbers, text, others } = packed(list);
      return dataBatch(
        this.#handle, texts, heads, marks, numbers, text, others, most, atomic, budget);
    }));
  }
  async #cursor(mode, operation, statement, second, third) {
    const { parameters, options } =
      argumentsOf(statement, second, third, operation, cursorOptions);
    const most =
      countOption(options.maxRows, "maxRows", operation, kRowsUnlimited, kRowsUnlimited);
    const step =
      countOption(options.batchSize, "batchSize", operation, kBatchRowsMax, kBatchRowsDefault);
    const { text, values, kinds } = this.#lowered(statement, parameters);
    const opening = this.#opening;
    const opened = await call(operation, options, (budget) =>
      dataCursor(this.#handle, opening.number, text, values, kinds, most, step, budget));
    const cursor =
      new Cursor(internal, opened[0], shapeOf(opened[1]), mode, opening, options);
    if (!opening.closed) return cursor;
    await cursor.close();
    throw closedError("database");
  }
  queryCursor(statement, second, third) {
    return iterable(this.#cursor("object", "queryCursor", statement, second, third));
  }
  queryRawCursor(statement, second, third) {
    return iterable(this.#cursor("raw", "queryRawCursor", statement, second, third));
  }
  stream(statement, second, third) {
    return iterable(this.#cursor("object", "stream", statement, second, third));
  }
  // Commits when the function has returned; rolls back when it has thrown. A transaction inside
  // another one is a savepoint.
  async transaction(work, options) {
    if (typeof work !== "function") throw new TypeError("transaction: the first is a function");
    checkOptions(options, "transaction", transactionOptions);
    const hasMode = options?.readOnly !== undefined || options?.isolation !== undefined;
    if (hasMode && this instanceof Transaction) {
      throw new TypeError(
        "transaction: readOnly and isolation are those of the outermost transaction");
    }
    const isolation = isolations[options?.isolation ?? "default"];
    if (isolation === undefined) {
      throw new TypeError(`transaction: there is no isolation "${options.isolation}"`);
    }
    const opening = this.#opening;
    if (opening.closed) throw closedError("database");
    const signal = signalOf(options, "transaction");
    const handle = await call("transaction", options, (budget) =>
      dataBegin(this.#handle, opening.number, options?.readOnly === true, isolation, budget));
    if (opening.closed) {
      await undo(handle);
      throw closedError("database");
    }
    // Frees the connection before the function has noticed.
    const onAbort = () => {
      dataStop(handle);
      undo(handle);
    };
    let result;
    try {
      signal?.addEventListener("abort", onAbort);
      if (signal?.aborted) throw signal.reason;
      result = await work(new Transaction(internal, handle, opening));
      if (signal?.aborted) throw signal.reason;
    } catch (error) {
      await undo(handle);
      throw signal?.aborted ? signal.reason : error;
    } finally {
      signal?.removeEventListener("abort", onAbort);
    }
    try {
      await finish(handle, true);
    } catch (error) {
      await undo(handle);
      throw error;
    }
    return result;
  }
}

// The error that caused the rollback is reported, not an error of the rollback.
function undo(handle) {
  return PromisePrototypeThen(finish(handle, false), undefined, noop);
}

function finish(handle, commit) {
  return call(commit ? "commit" : "rollback", undefined, () => dataFinish(handle, commit));
}

class Transaction extends Session {}

class Database extends Session {
  stats() {
    const facts = openingOf(this).closed ? undefined : dataDescribe(handleOf(this));
    if (facts === undefined) return null;
    return {
      provider: facts[0], mode: facts[1], maxConnections: facts[3], connections: facts[4],
      idle: facts[5], inUse: facts[6], waiting: facts[7],
    };
  }
  // Ends the cursors and transactions, and waits for the statements that are running.
  async close() {
    const opening = openingOf(this);
    opening.closed = true;
    await dataCloseDatabase(handleOf(this), opening.number);
  }
}

function databaseOf(handle) {
  const facts = dataDescribe(handle);
  return new Database(internal, handle, {
    __proto__: null, number: ++openings, provider: facts[0], placeholders: facts[2], closed: false,
  });
}

// Opens a database that the configuration of the application names, such as "data.main".
async function open(token, options) {
  if (typeof token !== "string") throw new TypeError("open: the name of a capability is a text");
  checkOptions(options, "open", callOptions);
  return databaseOf(await call("open", options, (budget) =>
    dataConfigured(token, budget)));
}

async function openBy(provider, place, placeRule, options) {
  const operation = `${provider}.open`;
  if (typeof place !== "string" || place === "" || StringPrototypeIncludes(place, "\0")) {
    throw new TypeError(`${operation}: ${placeRule}`);
  }
  const access = accesses[options.access ?? "readwrite"];
  if (access === undefined) {
    throw new TypeError(`${operation}: access is "read", "write" or "readwrite"`);
  }
  const most = countOption(options.maxConnections, "maxConnections", operation, 256, 0);
  return databaseOf(await call(operation, options, (budget) =>
    dataOpen(provider, place, access, most, budget)));
}

const sqlite = ObjectFreeze({
  // { path, access, maxConnections }: a file, or ":memory:".
  async open(options) {
    checkOptions(options, "sqlite.open", sqliteOptions);
    return openBy("sqlite", options?.path ?? options?.database,
      "path must be the name of a file or :memory:", options);
  },
});

const postgres = ObjectFreeze({
  // { connectionString, access, maxConnections }: an address or keywords, in the format of libpq.
  async open(options) {
    checkOptions(options, "postgres.open", serverOptions);
    return openBy("postgres", options?.connectionString,
      "connectionString must be an address such as postgres://user@host/database", options);
  },
});

const odbc = ObjectFreeze({
  // { connectionString, access, maxConnections }: in the format of the driver.
  async open(options) {
    checkOptions(options, "odbc.open", serverOptions);
    return openBy("odbc", options?.connectionString,
      "connectionString must be such as Driver=...;Server=...;UID=...;PWD=...", options);
  },
});

function redact(connectionString) {
  return dataRedact(`${connectionString}`);
}

realm.data = { Cursor };
realm.modules["weft:data"] = {
  DatabaseError, isQuery, odbc, open, postgres, redact, sql, sqlite,
  default: ObjectFreeze({ odbc, open, postgres, redact, sql, sqlite }),
};
