// How inspect() shows each kind of object. The shared functions are in inspect.js.
const { proxyDetails, valueKind } = native;
const {
  Inspection, constructorName, defaults, formatPrimitive, formatProperty, formatValue, kCustom,
  kinds, layOut, listArray, listIterator, listMap, listPromise, listSet, listTypedArray, ownKeys,
  prefixOf, toStringTag, tryGet,
} = realm.inspecting;
const {
  kArguments, kArray, kArrayBuffer, kAsyncFunction, kAsyncGeneratorFunction, kBigIntObject,
  kBooleanObject, kDataView, kDate, kError, kExternal, kFunction, kGenerator, kGeneratorFunction,
  kMap, kMapIterator, kModule, kNumberObject, kPlain, kPromise, kProxy, kRegExp, kSet, kSetIterator,
  kSharedArrayBuffer, kStringObject, kSymbolObject, kTypedArray, kWeakMap, kWeakSet,
} = kinds;
const {
  ArrayBufferPrototypeGetByteLength, ArrayPrototypeIndexOf, ArrayPrototypeJoin, ArrayPrototypePop,
  ArrayPrototypePush, ArrayPrototypeSort, BigIntPrototypeValueOf, BooleanPrototypeValueOf,
  DataViewPrototypeGetBuffer, DataViewPrototypeGetByteLength, DataViewPrototypeGetByteOffset,
  DatePrototypeGetTime, DatePrototypeToISOString, FunctionPrototypeCall, FunctionPrototypeToString,
  MapPrototypeGetSize, MathMin, NumberIsNaN, NumberPrototypeToString, NumberPrototypeValueOf,
  ReflectGetOwnPropertyDescriptor, ReflectGetPrototypeOf, ReflectOwnKeys, RegExpPrototypeExec,
  RegExpPrototypeToString, SetPrototypeGetSize, SharedArrayBufferPrototypeGetByteLength, String,
  StringPrototypeEndsWith, StringPrototypeIncludes, StringPrototypePadStart, StringPrototypeRepeat,
  StringPrototypeSlice, StringPrototypeSplit, StringPrototypeStartsWith, StringPrototypeValueOf,
  SymbolPrototypeValueOf, TypedArrayPrototypeGetLength, TypedArrayPrototypeGetSymbolToStringTag,
  Uint8Array, WeakMap, WeakMapPrototypeGet, WeakMapPrototypeSet,
} = realm.primordials;

// ---- functions

function functionBase(inspection, fn, name, tag, kind) {
  const source = FunctionPrototypeToString(fn);
  if (StringPrototypeStartsWith(source, "class") && StringPrototypeEndsWith(source, "}")) {
    return classBase(fn, name, tag);
  }
  const word = kind === kAsyncFunction ? "AsyncFunction"
    : kind === kGeneratorFunction ? "GeneratorFunction"
    : kind === kAsyncGeneratorFunction ? "AsyncGeneratorFunction" : "Function";
  const own = ReflectGetOwnPropertyDescriptor(fn, "name")?.value;
  let base = `[${word}`;
  if (name === null) base += " (null prototype)";
  base += typeof own === "string" && own !== "" ? `: ${own}]` : " (anonymous)]";
  if (name !== null && name !== word && name !== "Function") base += ` ${name}`;
  return tag !== "" && tag !== name && tag !== word ? `${base} [${tag}]` : base;
}

function classBase(fn, name, tag) {
  const own = ReflectGetOwnPropertyDescriptor(fn, "name")?.value;
  let base = `[class ${typeof own === "string" && own !== "" ? own : "(anonymous)"}`;
  if (name !== "Function" && name !== null) base += ` [${name}]`;
  if (tag !== "" && tag !== name) base += ` [${tag}]`;
  const parent = ReflectGetPrototypeOf(fn);
  const parentName = parent === null || valueKind(parent) === kProxy
    ? undefined : ReflectGetOwnPropertyDescriptor(parent, "name")?.value;
  if (parent === null) base += " extends null";
  else if (typeof parentName === "string" && parentName !== "") base += ` extends ${parentName}`;
  return `${base}]`;
}

// ---- errors

function errorHead(error, name) {
  const own = tryGet(error, "name");
  const message = tryGet(error, "message");
  const title = typeof own === "string" && own !== "" ? own : name ?? "Error";
  return typeof message === "string" && message !== "" ? `${title}: ${message}` : title;
}

// The stack, if there is one, with the name of the class in its first line.
function stackOf(error, name) {
  const stack = tryGet(error, "stack");
  if (typeof stack !== "string" || stack === "") return `[${errorHead(error, name)}]`;
  if (name === null || name === "Error") return stack;
  const found = RegExpPrototypeExec(/^[A-Za-z]*Error(?=[:\n]|$)/, stack);
  if (found === null ||
      StringPrototypeIncludes(StringPrototypeSplit(stack, "\n", 1)[0], name)) return stack;
  // "Error" adds nothing to the name of the class; "TypeError" tells what the class inherits from.
  const kind = found[0] === "Error" ? "" : ` [${found[0]}]`;
  return `${name}${kind}${StringPrototypeSlice(stack, found[0].length)}`;
}

function dropKey(keys, key) {
  const kept = [];
  for (let i = 0; i < keys.length; i++) if (keys[i] !== key) ArrayPrototypePush(kept, keys[i]);
  return kept;
}

function errorBase(inspection, error, name, keys) {
  let text = stackOf(error, name);
  // Own properties that the text shows already are left out.
  const shown = ["name", "message", "stack"];
  for (let i = 0; i < shown.length; i++) {
    const value = ArrayPrototypeIndexOf(keys, shown[i]) < 0 ? undefined : tryGet(error, shown[i]);
    if (typeof value === "string" && StringPrototypeIncludes(text, value)) {
      keys = dropKey(keys, shown[i]);
    }
  }
  const hidden = ["cause", "errors"];
  for (let i = 0; i < hidden.length; i++) {
    const own = ReflectGetOwnPropertyDescriptor(error, hidden[i]);
    if (own !== undefined && ArrayPrototypeIndexOf(keys, hidden[i]) < 0) {
      ArrayPrototypePush(keys, hidden[i]);
    }
  }
  if (!StringPrototypeIncludes(text, "\n    at") && !StringPrototypeStartsWith(text, "[")) {
    text = `[${text}]`;
  }
  if (inspection.indentation > 0) {
    const indent = StringPrototypeRepeat(" ", inspection.indentation);
    text = ArrayPrototypeJoin(StringPrototypeSplit(text, "\n"), `\n${indent}`);
  }
  return { text, keys };
}

// ---- buffers

function bytesText(inspection, buffer, length) {
  const most = MathMin(50, length);
  const bytes = new Uint8Array(buffer, 0, most);
  const parts = [];
  for (let i = 0; i < most; i++) {
    parts[i] = StringPrototypePadStart(NumberPrototypeToString(bytes[i], 16), 2, "0");
  }
  const more = length - most;
  const trailer = more > 0 ? ` ... ${more} more byte${more === 1 ? "" : "s"}` : "";
  return `<${ArrayPrototypeJoin(parts, " ")}${trailer}>`;
}

function listBuffer(inspection, buffer, kind) {
  const length = kind === kArrayBuffer ? ArrayBufferPrototypeGetByteLength(buffer)
    : SharedArrayBufferPrototypeGetByteLength(buffer);
  if (kind === kArrayBuffer && realm.webidl.isDetached(buffer)) {
    return [inspection.style("(detached)", "special"),
      `byteLength: ${formatPrimitive(inspection, 0)}`];
  }
  return [
    `[${inspection.style("Uint8Contents", "special")}]: ${bytesText(inspection, buffer, length)}`,
    `byteLength: ${formatPrimitive(inspection, length)}`,
  ];
}

function listDataView(inspection, view, level) {
  const output = [];
  const add = (name, value) => {
    inspection.indentation += 2;
    ArrayPrototypePush(output, `${name}: ${formatValue(inspection, value, level)}`);
    inspection.indentation -= 2;
  };
  try {
    add("byteLength", DataViewPrototypeGetByteLength(view));
    add("byteOffset", DataViewPrototypeGetByteOffset(view));
    add("buffer", DataViewPrototypeGetBuffer(view));
  } catch {
    ArrayPrototypePush(output, inspection.style("(detached)", "special"));
  }
  return output;
}

// ---- boxed primitives

const boxes = {
  __proto__: null,
  [kNumberObject]: ["Number", NumberPrototypeValueOf],
  [kStringObject]: ["String", StringPrototypeValueOf],
  [kBooleanObject]: ["Boolean", BooleanPrototypeValueOf],
  [kBigIntObject]: ["BigInt", BigIntPrototypeValueOf],
  [kSymbolObject]: ["Symbol", SymbolPrototypeValueOf],
};

function boxBase(inspection, box, kind, name) {
  const [word, valueOf] = [boxes[kind][0], boxes[kind][1]];
  const plain = new Inspection({ __proto__: null, ...inspection.options, colors: false });
  let base = `[${word}`;
  if (name === null) base += " (null prototype)";
  else if (name !== word) base += ` (${name})`;
  base += `: ${formatPrimitive(plain, valueOf(box))}]`;
  return inspection.style(base, kind === kStringObject ? "string"
    : kind === kSymbolObject ? "symbol" : kind === kBooleanObject ? "boolean" : "number");
}

// ---- the shape of each kind

// { base, open, close, list, entries(), skipIndices, keys }: `entries` are shown before the
// properties. An object that has a base and nothing else is shown as its base.
function shapeOf(inspection, object, kind, name, tag, level) {
  const braces = (prefix, entries) => ({ base: "", open: `${prefix}{`, close: "}", entries });
  switch (kind) {
    case kArray: {
      const plain = name === "Array" && tag === "";
      const prefix = plain ? "" : prefixOf(name, tag, "Array", `(${object.length})`);
      return listShape(prefix, (shape) => listArray(inspection, object, level, shape));
    }
    case kArguments:
      return listShape("[Arguments] ", (shape) => listArray(inspection, object, level, shape));
    case kTypedArray: {
      const word = TypedArrayPrototypeGetSymbolToStringTag(object);
      const size = TypedArrayPrototypeGetLength(object);
      const shape = listShape(prefixOf(name, tag, word, `(${size})`),
        (self) => listTypedArray(inspection, object, level, self));
      shape.size = size;
      return shape;
    }
    case kSet:
      return braces(prefixOf(name, tag, "Set", `(${SetPrototypeGetSize(object)})`),
        () => listSet(inspection, object, level));
    case kMap:
      return braces(prefixOf(name, tag, "Map", `(${MapPrototypeGetSize(object)})`),
        () => listMap(inspection, object, level));
    case kMapIterator:
      return braces(`[${tag || "Map Iterator"}] `,
        (shape) => listIterator(inspection, object, level, shape));
    case kSetIterator:
      return braces(`[${tag || "Set Iterator"}] `,
        (shape) => listIterator(inspection, object, level, shape));
    case kWeakSet:
    case kWeakMap:
      return braces(prefixOf(name, tag, kind === kWeakSet ? "WeakSet" : "WeakMap"),
        () => [inspection.style("<items unknown>", "special")]);
    case kPromise:
      return braces(prefixOf(name, tag, "Promise"), () => listPromise(inspection, object, level));
    case kArrayBuffer:
    case kSharedArrayBuffer:
      return braces(
        prefixOf(name, tag, kind === kArrayBuffer ? "ArrayBuffer" : "SharedArrayBuffer"),
        () => listBuffer(inspection, object, kind));
    case kDataView:
      return braces(prefixOf(name, tag, "DataView"),
        () => listDataView(inspection, object, level));
    case kModule:
      return braces("[Module: null prototype] ");
    case kGenerator:
      return braces(prefixOf(name ?? "Object", tag, "Object"));
    default:
      return plainShape(name, tag);
  }
}

function listShape(prefix, entries) {
  return { base: "", open: `${prefix}[`, close: "]", list: true, skipIndices: true, entries };
}

function plainShape(name, tag) {
  const prefix = name === "Object" && tag === "" ? "" : prefixOf(name, tag, "Object");
  return { base: "", open: `${prefix}{`, close: "}" };
}

// For kinds that are shown as one text, followed by their properties if they have any.
function baseOf(inspection, object, kind, name, tag) {
  switch (kind) {
    case kFunction:
    case kAsyncFunction:
    case kGeneratorFunction:
    case kAsyncGeneratorFunction:
      return inspection.style(functionBase(inspection, object, name, tag, kind), "special");
    case kRegExp: {
      let text;
      try {
        text = RegExpPrototypeToString(object);
      } catch {
        text = "/(?:)/";
      }
      return inspection.style(text, "regexp");
    }
    case kDate: {
      const text = NumberIsNaN(DatePrototypeGetTime(object)) ? "Invalid Date"
        : DatePrototypeToISOString(object);
      return inspection.style(name === "Date" ? text : `${prefixOf(name, tag, "Date")}${text}`,
        "date");
    }
    case kNumberObject:
    case kStringObject:
    case kBooleanObject:
    case kBigIntObject:
    case kSymbolObject:
      return boxBase(inspection, object, kind, name);
    case kExternal:
      return inspection.style("[External]", "special");
    default:
      return undefined;
  }
}

// ---- objects

function formatObject(inspection, object, level) {
  const original = object;
  for (let depth = 0; valueKind(object) === kProxy; depth++) {
    const details = proxyDetails(object);  // [target, handler], both null when revoked
    if (details[0] === null || depth > 1000) return inspection.style("<Revoked Proxy>", "special");
    if (inspection.options.showProxy) return formatProxy(inspection, details, level);
    object = details[0];
  }
  if (inspection.options.customInspect) {
    const custom = formatCustom(inspection, object, original, level);
    if (custom !== undefined) return custom;
  }
  if (ArrayPrototypeIndexOf(inspection.seen, object) >= 0) return circular(inspection, object);
  return formatRaw(inspection, object, level);
}

function formatProxy(inspection, details, level) {
  if (level > inspection.depth) return inspection.style("Proxy [Array]", "special");
  inspection.indentation += 2;
  const output = [formatValue(inspection, details[0], level + 1),
    formatValue(inspection, details[1], level + 1)];
  inspection.indentation -= 2;
  inspection.currentDepth = level;
  return layOut(inspection, output, { base: "", open: "Proxy [", close: "]" }, level);
}

function formatCustom(inspection, object, original, level) {
  const method = tryGet(object, kCustom);
  if (typeof method !== "function" || method === realm.inspect) return undefined;
  const constructor = ReflectGetOwnPropertyDescriptor(object, "constructor")?.value;
  if (typeof constructor === "function" && tryGet(constructor, "prototype") === object) {
    return undefined;
  }
  const depth = inspection.depth === Infinity ? Infinity : inspection.depth - level;
  const options = {
    ...inspection.options,
    depth,
    stylize: (text, name) => inspection.style(`${text}`, name),
  };
  let made;
  try {
    made = FunctionPrototypeCall(method, original, depth, options, inspect);
  } catch {
    return undefined;
  }
  if (made === original || made === object) return undefined;
  if (typeof made !== "string") return formatValue(inspection, made, level);
  const indent = StringPrototypeRepeat(" ", inspection.indentation);
  return ArrayPrototypeJoin(StringPrototypeSplit(made, "\n"), `\n${indent}`);
}

function circular(inspection, object) {
  inspection.circular ??= new WeakMap();
  let index = WeakMapPrototypeGet(inspection.circular, object);
  if (index === undefined) {
    index = ++inspection.circularCount;
    WeakMapPrototypeSet(inspection.circular, object, index);
  }
  return inspection.style(`[Circular *${index}]`, "special");
}

function formatRaw(inspection, object, level) {
  const kind = valueKind(object);
  const name = constructorName(object);
  const tag = toStringTag(object, name);
  let base = baseOf(inspection, object, kind, name, tag);
  let shape;
  let keys;
  const lister = kind === kPlain ? realm.inspecting.listerOf(object) : undefined;
  if (kind === kError || (kind === kPlain && realm.isDOMException(object))) {
    const shown = errorBase(inspection, object, name, ownKeys(inspection, object, false));
    base = shown.text;
    keys = shown.keys;
  }
  if (base !== undefined) {
    keys ??= ownKeys(inspection, object, kind === kStringObject);
    if (keys.length === 0 && lister === undefined) return base;
    shape = { base, open: "{", close: "}" };
  } else {
    shape = shapeOf(inspection, object, kind, name, tag, level + 1);
    keys = kind === kModule ? ReflectOwnKeys(object)
      : ownKeys(inspection, object, shape.skipIndices === true);
    if (kind === kModule) keys = dropSymbols(keys);
    // Every event has an own accessor of this name, which is not worth showing.
    if (lister !== undefined) keys = dropKey(keys, "isTrusted");
    if (lister === undefined && keys.length === 0 && isEmpty(shape, object, kind)) {
      return `${shape.open}${shape.close}`;
    }
  }
  if (lister !== undefined) shape.entries = () => lister(inspection, level + 1);
  if (level > inspection.depth) {
    const word = kind === kArray ? "Array" : name ?? (tag || "Object: null prototype");
    return base !== undefined && kind !== kError ? base : inspection.style(`[${word}]`, "special");
  }
  return formatMembers(inspection, object, shape, keys, level + 1);
}

function isEmpty(shape, object, kind) {
  if (shape.entries === undefined) return true;
  if (kind === kArray || kind === kArguments) return object.length === 0;
  if (kind === kTypedArray) return shape.size === 0;
  if (kind === kMap) return MapPrototypeGetSize(object) === 0;
  return kind === kSet && SetPrototypeGetSize(object) === 0;
}

function dropSymbols(keys) {
  const kept = [];
  for (let i = 0; i < keys.length; i++) {
    if (typeof keys[i] === "string") ArrayPrototypePush(kept, keys[i]);
  }
  return kept;
}

function formatMembers(inspection, object, shape, keys, level) {
  ArrayPrototypePush(inspection.seen, object);
  inspection.currentDepth = level;
  const output = shape.entries === undefined ? [] : shape.entries(shape);
  const entries = output.length;
  if (inspection.options.sorted && !shape.list) ArrayPrototypeSort(keys, byText);
  for (let i = 0; i < keys.length; i++) {
    ArrayPrototypePush(output, formatProperty(inspection, object, keys[i], level));
  }
  ArrayPrototypePop(inspection.seen);
  if (output.length === 0) return shape.base === "" ? `${shape.open}${shape.close}` : shape.base;
  if (entries !== output.length) shape.list = false;
  if (inspection.circular !== undefined) {
    const index = WeakMapPrototypeGet(inspection.circular, object);
    if (index !== undefined) {
      const mark = inspection.style(`<ref *${index}>`, "special");
      if (shape.base === "") shape.open = `${mark} ${shape.open}`;
      else shape.base = `${mark} ${shape.base}`;
    }
  }
  const text = layOut(inspection, output, shape, level);
  inspection.textLength += text.length;
  // Text beyond this length would not be read.
  if (inspection.textLength > 1 << 24) inspection.depth = -1;
  return text;
}

function byText(a, b) {
  const first = String(a);
  const second = String(b);
  return first < second ? -1 : first > second ? 1 : 0;
}

realm.inspecting.formatObject = formatObject;

function inspect(value, options = undefined) {
  try {
    const all = { __proto__: null, ...defaults };
    if (typeof options === "object" && options !== null) {
      const keys = ReflectOwnKeys(defaults);
      for (let i = 0; i < keys.length; i++) {
        const given = tryGet(options, keys[i]);
        if (given !== undefined) all[keys[i]] = given;
      }
    }
    return formatValue(new Inspection(all), value, 0);
  } catch {
    // The stack or the memory is exhausted.
    return "[uninspectable value]";
  }
}
inspect.custom = kCustom;
realm.inspect = inspect;
