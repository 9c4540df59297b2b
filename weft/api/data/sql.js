// The template `sql` of weft:data, and wrappers for values for which JavaScript has no type.
//
//     sql`select name from users where id = ${id} and price < ${sql.decimal("9.90")}`
//
// A value in ${} becomes a parameter, never a part of the text. There are two exceptions: a name
// made by sql.identifier(), which is quoted, and another sql`...`, whose text and parameters are
// inserted.
const {
  ArrayBufferIsView, ArrayIsArray, ArrayPrototypePush, ArrayPrototypeSlice, Date,
  JSONStringify, ObjectFreeze, RegExp, RegExpPrototypeSymbolReplace, RegExpPrototypeTest,
  StringPrototypeIncludes, TypeError, Uint8Array,
} = realm.primordials;
const { internal, isArrayBuffer } = realm.webidl;

// The limit on nested arrays in PostgreSQL.
const kArraysDeepMax = 6;

// The numbers of weft::data::Type.
const types = {
  __proto__: null,
  decimal: 4, json: 7, uuid: 8, date: 9, time: 10, timestamp: 11, instant: 12,
  offsetDateTime: 13,
};

// Applications can reach these classes through their instances. So the constructors require a token
// that only the prelude has, and functions that nobody can replace read the contents.
let isValue;
let partsOfValue;  // { text, type }
let quotedOf;      // undefined for a value that is not an identifier
let isQuery;
let partsOfQuery;  // { pieces, values }

class SqlValue {
  #text;
  #type;
  constructor(word, type, text) {
    if (word !== internal) throw new TypeError("A value is made by sql.decimal() and the like");
    this.#type = type;
    this.#text = text;
  }
  get type() {
    return this.#type;
  }
  toString() {
    return this.#text;
  }
  toJSON() {
    return this.#text;
  }
  static {
    isValue = (value) => typeof value === "object" && value !== null && #text in value;
    partsOfValue = (value) => ({ text: value.#text, type: value.#type });
  }
}

class SqlIdentifier {
  #quoted;
  constructor(word, quoted) {
    if (word !== internal) throw new TypeError("A name is made by sql.identifier()");
    this.#quoted = quoted;
  }
  static {
    quotedOf = (value) => (typeof value === "object" && value !== null && #quoted in value
      ? value.#quoted : undefined);
  }
}

// A text in pieces, with a parameter between each two pieces.
class SqlQuery {
  #pieces;
  #values;
  constructor(word, pieces, values) {
    if (word !== internal) throw new TypeError("A statement is made by sql`...`");
    this.#pieces = pieces;
    this.#values = values;
  }
  get parameterCount() {
    return this.#values.length;
  }
  // With numbered placeholders, for people; a database gets its own style.
  get text() {
    return textOf(this.#pieces, 1);
  }
  get parameters() {
    return ArrayPrototypeSlice(this.#values);
  }
  static {
    isQuery = (value) => typeof value === "object" && value !== null && #pieces in value;
    partsOfQuery = (query) => ({ pieces: query.#pieces, values: query.#values });
  }
}

// For ?, $1 or @p1.
function textOf(pieces, placeholders) {
  let text = pieces[0];
  for (let i = 1; i < pieces.length; i++) {
    text += placeholders === 0 ? "?" : placeholders === 1 ? `$${i}` : `@p${i}`;
    text += pieces[i];
  }
  return text;
}

function checkTemplate(strings, count) {
  let isTemplate = ArrayIsArray(strings) && ArrayIsArray(strings.raw) &&
    strings.length === count + 1;
  for (let i = 0; isTemplate && i <= count; i++) isTemplate = typeof strings[i] === "string";
  if (!isTemplate) throw new TypeError("sql is a template: sql`select ...`");
}

function sql(strings, ...values) {
  checkTemplate(strings, values.length);
  const pieces = [strings[0]];
  const parameters = [];
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    const quoted = quotedOf(value);
    if (quoted !== undefined) {
      pieces[pieces.length - 1] += quoted + strings[i + 1];
    } else if (isQuery(value)) {
      const inner = partsOfQuery(value);
      pieces[pieces.length - 1] += inner.pieces[0];
      for (let j = 1; j < inner.pieces.length; j++) {
        ArrayPrototypePush(parameters, inner.values[j - 1]);
        ArrayPrototypePush(pieces, inner.pieces[j]);
      }
      pieces[pieces.length - 1] += strings[i + 1];
    } else {
      ArrayPrototypePush(parameters, value);
      ArrayPrototypePush(pieces, strings[i + 1]);
    }
  }
  return new SqlQuery(internal, pieces, parameters);
}

function textual(name, form, wanted) {
  return (value) => {
    if (typeof value !== "string" || !RegExpPrototypeTest(form(), value)) {
      throw new TypeError(`sql.${name}: the value must be ${wanted}`);
    }
    return new SqlValue(internal, types[name], value);
  };
}

const date = "\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\\d|3[01])";
const time = "(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,9})?";
// A RegExp is stateful, so each test makes its own.
const form = (source) => () => new RegExp(`^(?:${source})$`);

sql.decimal = textual("decimal", form("[+-]?(?:\\d+\\.?\\d*|\\.\\d+)(?:[eE][+-]?\\d+)?"),
  "the text of a decimal number");
sql.uuid = textual("uuid", form("[\\da-fA-F]{8}-(?:[\\da-fA-F]{4}-){3}[\\da-fA-F]{12}"),
  "a canonical UUID");
sql.date = textual("date", form(date), "a date, YYYY-MM-DD");
sql.time = textual("time", form(time), "a time, HH:MM:SS[.fraction]");
sql.timestamp = textual("timestamp", form(`${date}[T ]${time}`),
  "a local date and time, YYYY-MM-DDTHH:MM:SS[.fraction]");
sql.instant = textual("instant", form(`${date}[T ]${time}Z`),
  "a point in time, YYYY-MM-DDTHH:MM:SS[.fraction]Z");
sql.offsetDateTime = textual("offsetDateTime", form(`${date}[T ]${time}[+-]\\d{2}:\\d{2}`),
  "a point in time with an offset, YYYY-MM-DDTHH:MM:SS[.fraction]+HH:MM");
sql.json = (value) => {
  const text = JSONStringify(value);
  if (text === undefined) throw new TypeError("sql.json: the value cannot be JSON");
  return new SqlValue(internal, types.json, text);
};
sql.rawJson = (text) => {
  if (typeof text !== "string") throw new TypeError("sql.rawJson: the value must be a JSON text");
  return new SqlValue(internal, types.json, text);
};
sql.bytes = (value) => {
  if (!ArrayBufferIsView(value) && !isArrayBuffer(value)) {
    throw new TypeError("sql.bytes: the value must be a Uint8Array or an ArrayBuffer");
  }
  return new Uint8Array(value.buffer ?? value, value.byteOffset ?? 0, value.byteLength);
};
sql.identifier = (name) => {
  if (typeof name !== "string" || name === "" || StringPrototypeIncludes(name, "\0")) {
    throw new TypeError("sql.identifier: the name must be a text that is not empty, without NUL");
  }
  return new SqlIdentifier(internal, `"${RegExpPrototypeSymbolReplace(/"/g, name, '""')}"`);
};
ObjectFreeze(sql);

// Converts to the text, the values and their types as the native functions take them. The types are
// undefined if no value has one of its own. An array among the values is a new one, and its type is
// the array of the types of its items.
function lowered(statement, parameters, placeholders) {
  let text = statement;
  let given = parameters ?? [];
  if (isQuery(statement)) {
    const parts = partsOfQuery(statement);
    text = textOf(parts.pieces, placeholders);
    given = parts.values;
  } else if (typeof statement !== "string") {
    throw new TypeError("A statement is sql`...` or a string");
  }
  if (!ArrayIsArray(given)) throw new TypeError("Parameters are an array");
  if (StringPrototypeIncludes(text, "\0")) throw new TypeError("A statement has no NUL");
  const values = [];
  let kinds;
  for (let i = 0; i < given.length; i++) {
    const value = given[i];
    if (isPlain(value)) {
      ArrayPrototypePush(values, value);
      if (kinds !== undefined) ArrayPrototypePush(kinds, undefined);
    } else {
      if (kinds === undefined) {
        kinds = [];
        for (let before = 0; before < i; before++) ArrayPrototypePush(kinds, undefined);
      }
      lower(value, `Parameter ${i + 1}`, 0, values, kinds);
    }
  }
  return { text, values, kinds };
}

// Whether the value is a parameter as it is, whatever else it may be.
function isPlain(value) {
  const kind = typeof value;
  return kind === "string" || kind === "number" || kind === "bigint" || kind === "boolean" ||
    value === null;
}

// Reads each item once, because an array may be a proxy or have getters.
function lower(value, place, depth, values, kinds) {
  if (isValue(value)) {
    const { text, type } = partsOfValue(value);
    ArrayPrototypePush(values, text);
    ArrayPrototypePush(kinds, type);
    return;
  }
  if (!ArrayIsArray(value)) {
    check(value, place);
    ArrayPrototypePush(values, value);
    ArrayPrototypePush(kinds, undefined);
    return;
  }
  if (depth === kArraysDeepMax) {
    throw new TypeError(`${place}: arrays are nested deeper than ${kArraysDeepMax}`);
  }
  const items = [];
  const itemKinds = [];
  for (let i = 0; i < value.length; i++) {
    lower(value[i], `${place}[${i}]`, depth + 1, items, itemKinds);
  }
  ArrayPrototypePush(values, items);
  ArrayPrototypePush(kinds, itemKinds);
}

// NB: The error names the position of the parameter and never shows its value.
function check(value, place) {
  if (isPlain(value) || ArrayBufferIsView(value) || isArrayBuffer(value)) return;
  const kind = typeof value;
  const what = value === undefined ? "undefined; null stands for NULL"
    : value instanceof Date ? "a Date; use sql.instant(date.toISOString())"
    : `of type ${kind}; use sql.json() or another wrapper`;
  throw new TypeError(`${place} is ${what}`);
}

realm.sql = { isQuery, lowered, sql };
