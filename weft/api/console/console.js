// console: https://console.spec.whatwg.org/
//
// Nothing here throws except the conversion of labels, which Web IDL performs before the method
// begins. realm.format(args, options) is the formatter alone.
const { consoleIsTty, consoleWrite, monotonicNow, valueKind } = native;
const { inspect, inspecting } = realm;
const { constructorName, isPrimitive, kinds, tryGet } = inspecting;
const {
  ArrayPrototypeIndexOf, ArrayPrototypeJoin, ArrayPrototypePush, ArrayPrototypeSlice,
  ErrorCaptureStackTrace, FunctionPrototypeToString, JSONStringify, MapPrototypeEntries, MathFloor,
  MathMax, Number, NumberPrototypeToFixed, ObjectCreate, ObjectDefineProperty, ObjectPrototype,
  ReflectGetOwnPropertyDescriptor, ReflectGetPrototypeOf, ReflectOwnKeys, SetPrototypeValues,
  String, StringPrototypeCharCodeAt, StringPrototypeEndsWith, StringPrototypeIncludes,
  StringPrototypeIndexOf, StringPrototypeRepeat, StringPrototypeSlice, StringPrototypeSplit,
  SymbolPrototypeToString, SymbolToStringTag, parseFloat, parseInt,
} = realm.primordials;

const kOut = 1;
const kError = 2;

// ---- format specifiers
// https://console.spec.whatwg.org/#formatter

// Whether an object has a string conversion of the application or of the platform; the engine's own
// give "[object Object]" and the like. Proxies are not examined.
function hasStringConversion(value) {
  let holder = value;
  for (let depth = 0; holder !== null && depth < 1000; depth++) {
    if (valueKind(holder) === kinds.kProxy) return false;
    const method = ReflectGetOwnPropertyDescriptor(holder, "toString")?.value;
    if (typeof method === "function") {
      return valueKind(method) !== kinds.kProxy &&
        !StringPrototypeEndsWith(FunctionPrototypeToString(method), "{ [native code] }");
    }
    holder = ReflectGetPrototypeOf(holder);
  }
  return false;
}

function asString(value, options) {
  switch (typeof value) {
    case "string": return value;
    case "symbol": return SymbolPrototypeToString(value);
    case "bigint": return `${value}n`;
    case "number": return inspect(value);
    case "object":
    case "function":
      if (value !== null && hasStringConversion(value)) {
        try {
          return String(value);
        } catch {
          // It is shown as an object.
        }
      }
      return inspect(value, { ...options, depth: 0, colors: false });
    default: return `${value}`;
  }
}

function asInteger(value) {
  if (typeof value === "bigint") return `${value}n`;
  if (!isPrimitive(value) || typeof value === "symbol") return "NaN";
  return inspect(parseInt(value, 10));
}

function asNumber(value) {
  if (typeof value === "bigint") return `${value}n`;
  if (!isPrimitive(value) || typeof value === "symbol") return "NaN";
  return inspect(Number(value));
}

function asFloat(value) {
  if (!isPrimitive(value) || typeof value === "symbol") return "NaN";
  return inspect(parseFloat(value));
}

function asJson(value) {
  try {
    return `${JSONStringify(value)}`;
  } catch {
    return "[Circular]";
  }
}

function specified(letter, value, options) {
  switch (letter) {
    case 115: return asString(value, options);                                        // %s
    case 100: return asNumber(value);                                                 // %d
    case 105: return asInteger(value);                                                // %i
    case 102: return asFloat(value);                                                  // %f
    case 106: return asJson(value);                                                   // %j
    case 111: return inspect(value, { ...options, showHidden: true, showProxy: true, depth: 4 });
    case 79: return inspect(value, options);                                          // %O
    case 99: return "";                                                               // %c
    default: return undefined;
  }
}

function format(args, options) {
  if (args.length === 1 && typeof args[0] === "string") return args[0];
  let at = 0;
  let text = "";
  if (args.length > 1 && typeof args[0] === "string") {
    const pattern = args[0];
    at = 1;
    let from = 0;
    let percent = StringPrototypeIndexOf(pattern, "%");
    while (percent >= 0 && percent < pattern.length - 1) {
      const letter = StringPrototypeCharCodeAt(pattern, percent + 1);
      let made;
      if (letter === 37) made = "%";
      else if (at < args.length) {
        made = specified(letter, args[at], options);
        if (made !== undefined) at++;
      }
      if (made !== undefined) {
        text += StringPrototypeSlice(pattern, from, percent) + made;
        from = percent + 2;
      }
      percent = StringPrototypeIndexOf(
        pattern, "%", percent + (made === undefined && letter !== 37 ? 1 : 2));
    }
    text += StringPrototypeSlice(pattern, from);
  }
  for (let i = at; i < args.length; i++) {
    if (i > 0) text += " ";
    text += typeof args[i] === "string" ? args[i] : inspect(args[i], options);
  }
  return text;
}

// ---- printing

let indent = "";
const counts = { __proto__: null };
const times = { __proto__: null };

function optionsFor(fd) {
  return { __proto__: null, colors: consoleIsTty(fd) };
}

function write(fd, text) {
  if (indent !== "" && text !== "") {
    text = StringPrototypeIncludes(text, "\n")
      ? indent + ArrayPrototypeJoin(StringPrototypeSplit(text, "\n"), `\n${indent}`)
      : indent + text;
  }
  consoleWrite(fd, `${text}\n`);
}

function print(fd, args) {
  let text;
  try {
    text = args.length === 1 && typeof args[0] === "string" ? args[0]
      : format(args, optionsFor(fd));
  } catch {
    text = "[uninspectable value]";
  }
  write(fd, text);
}

function labelOf(label) {
  return String(label);
}

// "1.234ms", "12.345s", "1:02.500 (m:ss.mmm)"
function elapsed(ms) {
  if (ms < 1000) return `${NumberPrototypeToFixed(ms, 3)}ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${NumberPrototypeToFixed(seconds, 3)}s`;
  const minutes = MathFloor(seconds / 60);
  const rest = NumberPrototypeToFixed(seconds - minutes * 60, 3);
  return `${minutes}:${rest.length < 6 ? "0" : ""}${rest} (m:ss.mmm)`;
}

function stackBelow(caller) {
  const holder = {};
  try {
    ErrorCaptureStackTrace(holder, caller);
    const { stack } = holder;
    if (typeof stack !== "string") return "";
    const at = StringPrototypeIndexOf(stack, "\n");
    return at < 0 ? "" : StringPrototypeSlice(stack, at);
  } catch {
    return "";
  }
}

// ---- tables

// Characters that a terminal shows with double width are rare in tables, so every character counts
// as one column.
function renderTable(head, rows) {
  const widths = [];
  for (let i = 0; i < head.length; i++) {
    let width = head[i].length;
    for (let j = 0; j < rows.length; j++) width = MathMax(width, rows[j][i].length);
    widths[i] = width + 2;
  }
  const rule = (left, middle, right) => {
    let text = left;
    for (let i = 0; i < widths.length; i++) {
      text += StringPrototypeRepeat("\u2500", widths[i]) + (i === widths.length - 1 ? right : middle);
    }
    return text;
  };
  const line = (cells) => {
    let text = "\u2502";
    for (let i = 0; i < cells.length; i++) {
      const space = widths[i] - cells[i].length - 1;
      text += ` ${cells[i]}${StringPrototypeRepeat(" ", space)}\u2502`;
    }
    return text;
  };
  let text = `${rule("\u250c", "\u252c", "\u2510")}\n${line(head)}\n${rule("\u251c", "\u253c", "\u2524")}\n`;
  for (let i = 0; i < rows.length; i++) text += `${line(rows[i])}\n`;
  return text + rule("\u2514", "\u2534", "\u2518");
}

function cellText(value) {
  const depth = isPrimitive(value) ? 0 : -1;
  return inspect(value, { depth, maxArrayLength: 3, breakLength: Infinity });
}

// The rows of tabular data as [label, value] pairs; undefined if the data is not tabular.
function rowsOf(data) {
  const kind = valueKind(data);
  const rows = [];
  if (kind === kinds.kMap || kind === kinds.kSet) {
    const steps = kind === kinds.kMap ? MapPrototypeEntries(data) : SetPrototypeValues(data);
    let at = 0;
    for (const item of { __proto__: null, [Symbol.iterator]: () => steps }) {
      ArrayPrototypePush(rows, [`${at++}`, kind === kinds.kMap ? item[1] : item,
        kind === kinds.kMap ? item[0] : undefined]);
    }
    return { rows, keyed: kind === kinds.kMap };
  }
  const keys = ReflectOwnKeys(data);
  for (let i = 0; i < keys.length; i++) {
    const own = ReflectGetOwnPropertyDescriptor(data, keys[i]);
    if (own === undefined || !own.enumerable || typeof keys[i] === "symbol") continue;
    ArrayPrototypePush(rows, [keys[i], own.get === undefined ? own.value : tryGet(data, keys[i])]);
  }
  return { rows, keyed: false };
}

function tableText(data, wanted) {
  const { rows, keyed } = rowsOf(data);
  const columns = wanted === undefined ? [] : ArrayPrototypeSlice(wanted);
  let hasValues = false;
  for (let i = 0; i < rows.length; i++) {
    const value = rows[i][1];
    if (isPrimitive(value) || typeof value === "function") {
      hasValues = true;
      continue;
    }
    if (wanted !== undefined) continue;
    const keys = ReflectOwnKeys(value);
    for (let j = 0; j < keys.length; j++) {
      const own = ReflectGetOwnPropertyDescriptor(value, keys[j]);
      if (typeof keys[j] === "string" && own?.enumerable &&
          ArrayPrototypeIndexOf(columns, keys[j]) < 0) ArrayPrototypePush(columns, keys[j]);
    }
  }
  const head = ["(index)"];
  if (keyed) ArrayPrototypePush(head, "Key");
  for (let i = 0; i < columns.length; i++) ArrayPrototypePush(head, columns[i]);
  if (hasValues) ArrayPrototypePush(head, "Values");
  const cells = [];
  for (let i = 0; i < rows.length; i++) {
    const value = rows[i][1];
    const plain = isPrimitive(value) || typeof value === "function";
    const line = [rows[i][0]];
    if (keyed) ArrayPrototypePush(line, cellText(rows[i][2]));
    for (let j = 0; j < columns.length; j++) {
      const own = plain ? undefined : ReflectGetOwnPropertyDescriptor(value, columns[j]);
      ArrayPrototypePush(line, own === undefined ? ""
        : cellText(own.get === undefined ? own.value : tryGet(value, columns[j])));
    }
    if (hasValues) ArrayPrototypePush(line, plain ? cellText(value) : "");
    ArrayPrototypePush(cells, line);
  }
  return renderTable(head, cells);
}

// ---- the namespace

const console = ObjectCreate(ObjectCreate(ObjectPrototype));

const methods = {
  assert(condition = false, ...data) {
    if (condition) return;
    if (typeof data[0] === "string") data[0] = `Assertion failed: ${data[0]}`;
    else data = ["Assertion failed", ...data];
    print(kError, data);
  },
  clear() {
    indent = "";
    if (consoleIsTty(kOut)) consoleWrite(kOut, "\u001b[1;1H\u001b[0J");
  },
  debug(...data) {
    print(kOut, data);
  },
  error(...data) {
    print(kError, data);
  },
  info(...data) {
    print(kOut, data);
  },
  log(...data) {
    print(kOut, data);
  },
  table(tabularData = undefined, properties = undefined) {
    if (isPrimitive(tabularData)) return print(kOut, [tabularData]);
    if (properties !== undefined) {
      properties = realm.webidl.converters["sequence<DOMString>"](
        properties, "Failed to execute 'table' on 'console'", "Argument 2");
    }
    let text;
    try {
      text = tableText(tabularData, properties);
    } catch {
      return print(kOut, [tabularData]);
    }
    write(kOut, text);
  },
  trace(...data) {
    let text;
    try {
      text = data.length === 0 ? "Trace" : `Trace: ${format(data, optionsFor(kError))}`;
    } catch {
      text = "Trace";
    }
    write(kError, text + stackBelow(methods.trace));
  },
  warn(...data) {
    print(kError, data);
  },
  dir(item = undefined, options = undefined) {
    write(kOut, inspect(item,
      { ...optionsFor(kOut), customInspect: false, ...plainOptions(options) }));
  },
  dirxml(...data) {
    print(kOut, data);
  },
  count(label = "default") {
    label = labelOf(label);
    const count = (counts[label] ?? 0) + 1;
    counts[label] = count;
    write(kOut, `${label}: ${count}`);
  },
  countReset(label = "default") {
    label = labelOf(label);
    if (counts[label] === undefined) write(kError, `Count for '${label}' does not exist`);
    else delete counts[label];
  },
  group(...data) {
    if (data.length > 0) print(kOut, data);
    indent += "  ";
  },
  groupCollapsed(...data) {
    if (data.length > 0) print(kOut, data);
    indent += "  ";
  },
  groupEnd() {
    indent = StringPrototypeSlice(indent, 2);
  },
  time(label = "default") {
    label = labelOf(label);
    if (times[label] !== undefined) write(kError, `Timer '${label}' already exists`);
    else times[label] = monotonicNow();
  },
  timeLog(label = "default", ...data) {
    label = labelOf(label);
    const start = times[label];
    if (start === undefined) return write(kError, `Timer '${label}' does not exist`);
    print(kOut, ["%s: %s", label, elapsed(monotonicNow() - start), ...data]);
  },
  timeEnd(label = "default") {
    label = labelOf(label);
    const start = times[label];
    if (start === undefined) return write(kError, `Timer '${label}' does not exist`);
    delete times[label];
    write(kOut, `${label}: ${elapsed(monotonicNow() - start)}`);
  },
};

function plainOptions(options) {
  try {
    return { ...options };
  } catch {
    return {};
  }
}

const names = ReflectOwnKeys(methods);
for (let i = 0; i < names.length; i++) {
  ObjectDefineProperty(console, names[i], {
    __proto__: null, value: methods[names[i]], writable: true, enumerable: true,
    configurable: true,
  });
}
ObjectDefineProperty(console, SymbolToStringTag, {
  __proto__: null, value: "console", writable: false, enumerable: false, configurable: true,
});

realm.format = format;
realm.console = console;
// The engine's own console, which reports to the debugger; js/inspector.cpp calls it.
realm.engineConsole = globalThis.console;
realm.expose({ console });
