// inspect(): converts any value to text for people, in the format that users of Node.js know.
//
// It reads values without running their code: getters are named but not called, and proxies are
// examined natively without their traps. The exceptions are the method
// [Symbol.for("nodejs.util.inspect.custom")], Symbol.toStringTag and the `stack` of errors; an
// error thrown by these is ignored. inspect() itself never throws.
//
// For other scripts: realm.inspect(value, options), options as in `defaults` below.
const { ownNonIndexKeys, promiseState, previewEntries, valueKind } = native;
const {
  ArrayPrototypeJoin, ArrayPrototypePush, BigIntPrototypeToString, MapPrototypeEntries,
  MapPrototypeGetSize, MathFloor, MathMax, MathMin, MathRound, MathSqrt, NumberPrototypeToString,
  ObjectIs, ObjectPrototypePropertyIsEnumerable, ReflectGetOwnPropertyDescriptor,
  ReflectGetPrototypeOf, ReflectOwnKeys, RegExpPrototypeExec, SetPrototypeGetSize,
  SetPrototypeValues, String, StringPrototypeCharCodeAt, StringPrototypeIncludes,
  StringPrototypeIndexOf, StringPrototypePadEnd, StringPrototypePadStart, StringPrototypeRepeat,
  StringPrototypeSlice, StringPrototypeToUpperCase, SymbolFor, SymbolPrototypeToString,
  SymbolToStringTag, uncurryThis,
} = realm.primordials;

const mapIteratorNext = uncurryThis(ReflectGetPrototypeOf(new Map().entries()).next);
const setIteratorNext = uncurryThis(ReflectGetPrototypeOf(new Set().values()).next);
const kCustom = SymbolFor("nodejs.util.inspect.custom");

const defaults = {
  __proto__: null,
  depth: 2,
  colors: false,
  showHidden: false,
  showProxy: false,
  customInspect: true,
  maxArrayLength: 100,
  maxStringLength: 10_000,
  breakLength: 80,
  compact: 3,
  sorted: false,
};

// Beyond this many characters only the shapes of further objects are shown.
const kTextLengthMax = 1 << 24;

const styles = {
  __proto__: null,
  bigint: [33, 39],
  boolean: [33, 39],
  date: [35, 39],
  module: [4, 24],
  null: [1, 22],
  number: [33, 39],
  regexp: [31, 39],
  special: [36, 39],
  string: [32, 39],
  symbol: [32, 39],
  undefined: [90, 39],
};

// In the order of ValueKind in console.cpp.
const kPlain = 0, kMap = 1, kSet = 2, kWeakMap = 3, kWeakSet = 4, kPromise = 5, kProxy = 6,
  kDate = 7, kRegExp = 8, kError = 9, kArrayBuffer = 10, kSharedArrayBuffer = 11,
  kTypedArray = 12, kDataView = 13, kMapIterator = 14, kSetIterator = 15, kGenerator = 16,
  kArguments = 17, kNumberObject = 18, kStringObject = 19, kBooleanObject = 20,
  kBigIntObject = 21, kSymbolObject = 22, kModule = 23, kExternal = 24, kArray = 25,
  kFunction = 26, kAsyncFunction = 27, kGeneratorFunction = 28, kAsyncGeneratorFunction = 29;

// The state of one call of inspect().
class Inspection {
  constructor(options) {
    this.options = options;
    this.depth = options.depth ?? Infinity;
    this.seen = [];
    this.circular = undefined;   // object -> number, for objects that contain themselves
    this.circularCount = 0;
    this.indentation = 0;
    this.currentDepth = 0;
    this.textLength = 0;
  }

  style(text, name) {
    if (!this.options.colors) return text;
    const codes = styles[name];
    return `\u001b[${codes[0]}m${text}\u001b[${codes[1]}m`;
  }
}

function tryGet(object, key) {
  try {
    return object[key];
  } catch {
    return undefined;
  }
}

function withoutColors(text) {
  let plain = "";
  let from = 0;
  for (;;) {
    const at = StringPrototypeIndexOf(text, "\u001b[", from);
    if (at < 0) return plain + StringPrototypeSlice(text, from);
    plain += StringPrototypeSlice(text, from, at);
    const end = StringPrototypeIndexOf(text, "m", at);
    if (end < 0) return plain;
    from = end + 1;
  }
}

function lengthOf(inspection, text) {
  return inspection.options.colors ? withoutColors(text).length : text.length;
}

// ---- primitives

const escapes = {
  __proto__: null, 8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 92: "\\\\",
};

function hex(code, digits) {
  return StringPrototypePadStart(NumberPrototypeToString(code, 16), digits, "0");
}

// Quotes with single quotes, or with double quotes or backticks if that needs fewer escapes.
function quote(text) {
  let mark = 39;
  if (StringPrototypeIncludes(text, "'")) {
    if (!StringPrototypeIncludes(text, '"')) mark = 34;
    else if (!StringPrototypeIncludes(text, "`") && !StringPrototypeIncludes(text, "${")) mark = 96;
  }
  const edge = mark === 39 ? "'" : mark === 34 ? '"' : "`";
  let quoted = edge;
  let from = 0;
  for (let i = 0; i < text.length; i++) {
    const code = StringPrototypeCharCodeAt(text, i);
    let escaped;
    if (code === mark) {
      escaped = `\\${edge}`;
    } else if (code < 32 || code === 92 || (code >= 127 && code < 160)) {
      escaped = escapes[code] ?? `\\x${StringPrototypeToUpperCase(hex(code, 2))}`;
    } else if (code >= 0xd800 && code < 0xe000) {
      const next = code < 0xdc00 && i + 1 < text.length
        ? StringPrototypeCharCodeAt(text, i + 1) : 0;
      if (next >= 0xdc00 && next < 0xe000) {
        i++;
        continue;
      }
      escaped = `\\u${hex(code, 4)}`;
    } else {
      continue;
    }
    quoted += StringPrototypeSlice(text, from, i) + escaped;
    from = i + 1;
  }
  return quoted + StringPrototypeSlice(text, from) + edge;
}

// The lines of a text, each with its line feed.
function linesOf(text) {
  const lines = [];
  let from = 0;
  for (;;) {
    const at = StringPrototypeIndexOf(text, "\n", from);
    if (at < 0 || at === text.length - 1) break;
    ArrayPrototypePush(lines, StringPrototypeSlice(text, from, at + 1));
    from = at + 1;
  }
  ArrayPrototypePush(lines, StringPrototypeSlice(text, from));
  return lines;
}

function formatString(inspection, text) {
  const { maxStringLength, breakLength } = inspection.options;
  let trailer = "";
  const most = maxStringLength ?? Infinity;
  if (text.length > most) {
    const more = text.length - most;
    text = StringPrototypeSlice(text, 0, most);
    trailer = `... ${more} more character${more === 1 ? "" : "s"}`;
  }
  if (text.length > 16 && text.length > breakLength - inspection.indentation - 4 &&
      StringPrototypeIncludes(text, "\n")) {
    const lines = linesOf(text);
    for (let i = 0; i < lines.length; i++) lines[i] = inspection.style(quote(lines[i]), "string");
    const indent = StringPrototypeRepeat(" ", inspection.indentation + 2);
    return ArrayPrototypeJoin(lines, ` +\n${indent}`) + trailer;
  }
  return inspection.style(quote(text), "string") + trailer;
}

function formatPrimitive(inspection, value) {
  switch (typeof value) {
    case "string": return formatString(inspection, value);
    case "number": return inspection.style(ObjectIs(value, -0) ? "-0" : `${value}`, "number");
    case "bigint": return inspection.style(`${BigIntPrototypeToString(value)}n`, "bigint");
    case "boolean": return inspection.style(`${value}`, "boolean");
    case "symbol": return inspection.style(symbolText(value), "symbol");
    case "undefined": return inspection.style("undefined", "undefined");
    default: return inspection.style("null", "null");
  }
}

function symbolText(symbol) {
  const text = SymbolPrototypeToString(symbol);
  const quoted = quote(text);
  return StringPrototypeIncludes(quoted, "\\") ? StringPrototypeSlice(quoted, 1, -1) : text;
}

// ---- names

function isPrimitive(value) {
  return value === null || (typeof value !== "object" && typeof value !== "function");
}

// The name of the first constructor on the prototype chain, or null if there is none.
function constructorName(object) {
  let holder = object;
  for (let depth = 0; holder !== null && depth < 1000; depth++) {
    if (valueKind(holder) === kProxy) return null;
    const descriptor = ReflectGetOwnPropertyDescriptor(holder, "constructor");
    const constructor = descriptor?.value;
    if (typeof constructor === "function" && valueKind(constructor) !== kProxy) {
      const name = ReflectGetOwnPropertyDescriptor(constructor, "name")?.value;
      // An object that merely has a property with that name is not an instance.
      if (typeof name === "string" && name !== "" && holder !== object) return name;
      if (typeof name === "string" && name !== "" &&
          ReflectGetOwnPropertyDescriptor(constructor, "prototype")?.value === object) {
        const parent = ReflectGetPrototypeOf(object);
        return parent === null ? name : constructorName(parent) ?? name;
      }
    }
    holder = ReflectGetPrototypeOf(holder);
  }
  return null;
}

function toStringTag(object, name) {
  const tag = tryGet(object, SymbolToStringTag);
  return typeof tag === "string" && tag !== "" && tag !== name ? tag : "";
}

// "Name ", "Name(size) ", "Name(size) [Tag] ", "[Name: null prototype] ".
function prefixOf(name, tag, fallback, size = "") {
  const suffix = tag === "" ? "" : ` [${tag}]`;
  if (name !== null) return `${name}${size}${suffix} `;
  return `[${fallback}${size}: null prototype]${tag === fallback ? "" : suffix} `;
}

// ---- properties

function ownKeys(inspection, object, skipIndices) {
  const all = skipIndices ? ownNonIndexKeys(object) : ReflectOwnKeys(object);
  if (inspection.options.showHidden) return all;
  const keys = [];
  for (let i = 0; i < all.length; i++) {
    if (ObjectPrototypePropertyIsEnumerable(object, all[i])) ArrayPrototypePush(keys, all[i]);
  }
  return keys;
}

function keyText(inspection, key, enumerable) {
  if (typeof key === "symbol") return `[${inspection.style(symbolText(key), "symbol")}]`;
  if (key === "__proto__") return "['__proto__']";
  if (!enumerable) return `[${key}]`;
  if (RegExpPrototypeExec(/^[a-zA-Z_][a-zA-Z_0-9]*$/, key) !== null) return key;
  return inspection.style(quote(key), "string");
}

function formatDescriptor(inspection, descriptor, level) {
  if (descriptor === undefined) return inspection.style("undefined", "undefined");
  if (descriptor.get !== undefined) {
    const word = descriptor.set === undefined ? "[Getter]" : "[Getter/Setter]";
    return inspection.style(word, "special");
  }
  if (descriptor.set !== undefined) return inspection.style("[Setter]", "special");
  inspection.indentation += 2;
  const text = formatValue(inspection, descriptor.value, level);
  inspection.indentation -= 2;
  return text;
}

function formatProperty(inspection, object, key, level) {
  let descriptor;
  try {
    descriptor = ReflectGetOwnPropertyDescriptor(object, key);
  } catch {
    // A binding of a module that has not been evaluated.
    return `${keyText(inspection, key, true)}: ${inspection.style("<uninitialized>", "special")}`;
  }
  const enumerable = descriptor === undefined || descriptor.enumerable;
  const text = formatDescriptor(inspection, descriptor, level);
  return `${keyText(inspection, key, enumerable)}: ${text}`;
}

// ---- layout

// Arranges many short entries of an array in columns.
function inColumns(inspection, output, extra, values) {
  const { breakLength, compact } = inspection.options;
  const count = extra ? output.length - 1 : output.length;
  const lengths = [];
  let total = 0;
  let longest = 0;
  for (let i = 0; i < count; i++) {
    const length = lengthOf(inspection, output[i]);
    lengths[i] = length;
    total += length + 2;
    if (length > longest) longest = length;
  }
  const widest = longest + 2;
  if (widest * 3 + inspection.indentation >= breakLength ||
      !(total / widest > 5 || longest <= 6)) return output;
  const bias = MathSqrt(widest - total / output.length);
  const width = MathMax(widest - 3 - bias, 1);
  const columns = MathMin(
    MathRound(MathSqrt(2.5 * width * count) / width),
    MathFloor((breakLength - inspection.indentation) / widest), compact * 4, 15);
  if (columns <= 1) return output;
  const widths = [];
  for (let i = 0; i < columns; i++) {
    let most = 0;
    for (let j = i; j < count; j += columns) if (lengths[j] > most) most = lengths[j];
    widths[i] = most + 2;
  }
  let numeric = values !== undefined;
  for (let i = 0; numeric && i < count; i++) {
    numeric = typeof values[i] === "number" || typeof values[i] === "bigint";
  }
  const pad = numeric ? StringPrototypePadStart : StringPrototypePadEnd;
  const rows = [];
  for (let i = 0; i < count; i += columns) {
    const last = MathMin(i + columns, count);
    let row = "";
    for (let j = i; j < last; j++) {
      const isLast = j === last - 1;
      const entry = isLast ? output[j] : `${output[j]}, `;
      const hidden = output[j].length - lengths[j];
      if (!isLast) row += pad(entry, widths[j - i] + hidden, " ");
      else row += numeric ? pad(entry, widths[j - i] + hidden - 2, " ") : entry;
    }
    ArrayPrototypePush(rows, row);
  }
  if (extra) ArrayPrototypePush(rows, output[count]);
  return rows;
}

function fitsOneLine(inspection, output, start, base) {
  const { breakLength } = inspection.options;
  let total = output.length + start;
  if (total + output.length > breakLength) return false;
  for (let i = 0; i < output.length; i++) {
    total += lengthOf(inspection, output[i]);
    if (total > breakLength) return false;
  }
  return base === "" || !StringPrototypeIncludes(base, "\n");
}

// `shape`: { base, open, close, list, extra, values }
function layOut(inspection, output, shape, level) {
  const { compact } = inspection.options;
  const { base, open, close } = shape;
  const lead = base === "" ? "" : `${base} `;
  let entries = output;
  if (shape.list && output.length > 6) {
    entries = inColumns(inspection, output, shape.extra, shape.values);
  }
  if (inspection.currentDepth - level < compact && entries === output) {
    const start = output.length + inspection.indentation + open.length + base.length + 10;
    if (fitsOneLine(inspection, output, start, base)) {
      const joined = ArrayPrototypeJoin(output, ", ");
      if (!StringPrototypeIncludes(joined, "\n")) return `${lead}${open} ${joined} ${close}`;
    }
  }
  const indent = `\n${StringPrototypeRepeat(" ", inspection.indentation)}`;
  return `${lead}${open}${indent}  ${ArrayPrototypeJoin(entries, `,${indent}  `)}${indent}${close}`;
}

// ---- entries of containers

function moreItems(count) {
  return `... ${count} more item${count === 1 ? "" : "s"}`;
}

function itemsMax(inspection) {
  return MathMax(0, inspection.options.maxArrayLength ?? Infinity);
}

function listArray(inspection, array, level, shape) {
  const output = [];
  const { length } = array;
  const most = MathMin(itemsMax(inspection), length);
  shape.values = [];
  let at = 0;
  while (at < length && output.length < most) {
    const descriptor = ReflectGetOwnPropertyDescriptor(array, at);
    if (descriptor === undefined) {
      const from = at;
      // The holes of a sparse array are skipped, not visited index by index.
      at = nextIndex(array, at, length);
      const holes = at - from;
      ArrayPrototypePush(output, inspection.style(
        `<${holes} empty item${holes === 1 ? "" : "s"}>`, "undefined"));
      ArrayPrototypePush(shape.values, undefined);
      continue;
    }
    ArrayPrototypePush(output, formatDescriptor(inspection, descriptor, level));
    ArrayPrototypePush(shape.values, descriptor.value);
    at++;
  }
  if (at < length) {
    shape.extra = true;
    ArrayPrototypePush(output, moreItems(length - at));
  }
  return output;
}

function nextIndex(array, from, length) {
  for (let at = from + 1, looks = 0; at < length; at++, looks++) {
    if (ReflectGetOwnPropertyDescriptor(array, at) !== undefined) return at;
    if (looks < 1000) continue;
    const keys = ReflectOwnKeys(array);
    for (let i = 0; i < keys.length; i++) {
      const index = +String(keys[i]);
      if (typeof keys[i] === "string" && index > from && index < length) return index;
    }
    return length;
  }
  return length;
}

function listTypedArray(inspection, array, level, shape) {
  const length = shape.size;
  const most = MathMin(itemsMax(inspection), length);
  const output = [];
  shape.values = [];
  for (let i = 0; i < most; i++) {
    shape.values[i] = array[i];
    output[i] = formatPrimitive(inspection, array[i]);
  }
  if (most < length) {
    shape.extra = true;
    output[most] = moreItems(length - most);
  }
  return output;
}

function listSet(inspection, set, level) {
  const output = [];
  const most = itemsMax(inspection);
  const size = SetPrototypeGetSize(set);
  inspection.indentation += 2;
  const values = SetPrototypeValues(set);
  for (let step = setIteratorNext(values); !step.done; step = setIteratorNext(values)) {
    if (output.length >= most) {
      ArrayPrototypePush(output, moreItems(size - most));
      break;
    }
    ArrayPrototypePush(output, formatValue(inspection, step.value, level));
  }
  inspection.indentation -= 2;
  return output;
}

function listMap(inspection, map, level) {
  const output = [];
  const most = itemsMax(inspection);
  const size = MapPrototypeGetSize(map);
  inspection.indentation += 2;
  const entries = MapPrototypeEntries(map);
  for (let step = mapIteratorNext(entries); !step.done; step = mapIteratorNext(entries)) {
    if (output.length >= most) {
      ArrayPrototypePush(output, moreItems(size - most));
      break;
    }
    const key = formatValue(inspection, step.value[0], level);
    ArrayPrototypePush(output, `${key} => ${formatValue(inspection, step.value[1], level)}`);
  }
  inspection.indentation -= 2;
  return output;
}

function listIterator(inspection, iterator, level, shape) {
  const preview = previewEntries(iterator);  // [entries, isKeyValue]
  const entries = preview[0];
  const pairs = preview[1];
  if (pairs) shape.open = "[Map Entries] {";
  const step = pairs ? 2 : 1;
  const count = entries.length / step;
  const most = MathMin(itemsMax(inspection), count);
  const output = [];
  inspection.indentation += 2;
  for (let i = 0; i < most; i++) {
    const first = formatValue(inspection, entries[i * step], level);
    ArrayPrototypePush(output, pairs
      ? `[ ${first}, ${formatValue(inspection, entries[i * 2 + 1], level)} ]` : first);
  }
  inspection.indentation -= 2;
  if (most < count) ArrayPrototypePush(output, moreItems(count - most));
  return output;
}

function listPromise(inspection, promise, level) {
  const state = promiseState(promise);  // [0 pending | 1 fulfilled | 2 rejected, result]
  if (state[0] === 0) return [inspection.style("<pending>", "special")];
  inspection.indentation += 2;
  const text = formatValue(inspection, state[1], level);
  inspection.indentation -= 2;
  return [state[0] === 2 ? `${inspection.style("<rejected>", "special")} ${text}` : text];
}

realm.inspecting = {
  __proto__: null,
  Inspection, constructorName, defaults, formatPrimitive, formatProperty, isPrimitive, itemsMax,
  kCustom, keyText, layOut, listArray, listIterator, listMap, listPromise, listSet, listTypedArray,
  moreItems, ownKeys, prefixOf, quote, toStringTag, tryGet,
  kinds: {
    __proto__: null,
    kPlain, kMap, kSet, kWeakMap, kWeakSet, kPromise, kProxy, kDate, kRegExp, kError, kArrayBuffer,
    kSharedArrayBuffer, kTypedArray, kDataView, kMapIterator, kSetIterator, kGenerator, kArguments,
    kNumberObject, kStringObject, kBooleanObject, kBigIntObject, kSymbolObject, kModule, kExternal,
    kArray, kFunction, kAsyncFunction, kGeneratorFunction, kAsyncGeneratorFunction,
  },
};

// Assigned by inspect_objects.js, which knows the kinds of objects.
function formatValue(inspection, value, level) {
  return isPrimitive(value) ? formatPrimitive(inspection, value)
    : realm.inspecting.formatObject(inspection, value, level);
}
realm.inspecting.formatValue = formatValue;
