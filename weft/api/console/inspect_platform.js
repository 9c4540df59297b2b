// How inspect() shows platform objects: by their attributes, or by their pairs.
//
// An attribute is read with the getter that its class was defined with, even if an application has
// replaced it. Some attributes are left out: those whose getter changes the object (reading a body
// creates its stream), promises, and event handlers.
//
// For other scripts: realm.inspecting.listerOf(object) returns a function (inspection, level) that
// lists the attributes as texts, or undefined if the object has none of these classes.
const { valueKind } = native;
const {
  formatPrimitive, formatValue, itemsMax, keyText, kinds, moreItems,
} = realm.inspecting;
const {
  ArrayPrototypeIndexOf, ArrayPrototypePush, FunctionPrototypeCall,
  ReflectGetOwnPropertyDescriptor, ReflectGetPrototypeOf, ReflectOwnKeys,
} = realm.primordials;

const attributesOf = {
  __proto__: null,
  AbortController: ["signal"],
  AbortSignal: ["aborted", "reason"],
  Blob: ["size", "type"],
  BroadcastChannel: ["name"],
  ByteLengthQueuingStrategy: ["highWaterMark"],
  CloseEvent: ["wasClean", "code", "reason"],
  CompressionStream: ["readable", "writable"],
  CountQueuingStrategy: ["highWaterMark"],
  CryptoKey: ["type", "extractable", "algorithm", "usages"],
  CustomEvent: ["detail"],
  DecompressionStream: ["readable", "writable"],
  ErrorEvent: ["message", "filename", "lineno", "colno", "error"],
  Event: ["type", "bubbles", "cancelable", "defaultPrevented", "timeStamp"],
  EventSource: ["url", "withCredentials", "readyState"],
  File: ["name", "lastModified"],
  FileReader: ["readyState", "result", "error"],
  MessageChannel: ["port1", "port2"],
  MessageEvent: ["data", "origin", "lastEventId", "ports"],
  Navigator: ["userAgent", "hardwareConcurrency", "language", "languages", "platform"],
  Performance: ["timeOrigin"],
  PerformanceEntry: ["name", "entryType", "startTime", "duration"],
  PerformanceMark: ["detail"],
  PerformanceMeasure: ["detail"],
  ProgressEvent: ["lengthComputable", "loaded", "total"],
  PromiseRejectionEvent: ["reason"],
  QuotaExceededError: ["quota", "requested"],
  ReadableByteStreamController: ["desiredSize"],
  ReadableStream: ["locked"],
  ReadableStreamDefaultController: ["desiredSize"],
  Request: ["method", "url", "headers", "redirect", "credentials", "cache", "signal", "bodyUsed"],
  Response: ["status", "statusText", "ok", "headers", "bodyUsed", "redirected", "type", "url"],
  TextDecoder: ["encoding", "fatal", "ignoreBOM"],
  TextDecoderStream: ["encoding", "fatal", "ignoreBOM", "readable", "writable"],
  TextEncoder: ["encoding"],
  TextEncoderStream: ["encoding", "readable", "writable"],
  TransformStream: ["readable", "writable"],
  TransformStreamDefaultController: ["desiredSize"],
  URL: ["href", "origin", "protocol", "username", "password", "host", "hostname", "port",
    "pathname", "search", "searchParams", "hash"],
  URLPattern: ["protocol", "username", "password", "hostname", "port", "pathname", "search",
    "hash"],
  WebSocket: ["url", "readyState", "protocol", "extensions", "bufferedAmount", "binaryType"],
  WritableStream: ["locked"],
  WritableStreamDefaultWriter: ["desiredSize"],
};

// The prototype of each class and, at the same place, { names, getters, pairs }.
const prototypes = [];
const descriptions = [];

function describe(constructor, names, pairs) {
  const { prototype } = constructor;
  const getters = [];
  for (let i = 0; i < names.length; i++) {
    getters[i] = ReflectGetOwnPropertyDescriptor(prototype, names[i]).get;
  }
  ArrayPrototypePush(prototypes, prototype);
  ArrayPrototypePush(descriptions, { __proto__: null, names, getters, pairs });
}

const classes = ReflectOwnKeys(attributesOf);
for (let i = 0; i < classes.length; i++) {
  describe(globalThis[classes[i]], attributesOf[classes[i]], undefined);
}
const iterables = realm.webidl.pairIterables;
for (let i = 0; i < iterables.length; i++) describe(iterables[i].constructor, [], iterables[i]);

function listPairs(inspection, object, level, pairs, output) {
  const isMap = pairs.name === "URLSearchParams";
  const count = pairs.size(object);
  const most = itemsMax(inspection);
  for (let i = 0; i < count; i++) {
    if (i >= most) {
      ArrayPrototypePush(output, moreItems(count - i));
      return;
    }
    const key = pairs.keyAt(object, i);
    const value = formatValue(inspection, pairs.valueAt(object, i), level);
    ArrayPrototypePush(output, isMap ? `${formatPrimitive(inspection, key)} => ${value}`
      : `${keyText(inspection, key, true)}: ${value}`);
  }
}

function listAttributes(inspection, object, level, { names, getters }, output) {
  for (let i = 0; i < names.length; i++) {
    let value;
    try {
      value = FunctionPrototypeCall(getters[i], object);
    } catch {
      // It is not an instance but inherits from the prototype, or the attribute has no value now.
      continue;
    }
    if (value === undefined) continue;
    ArrayPrototypePush(output,
      `${keyText(inspection, names[i], true)}: ${formatValue(inspection, value, level)}`);
  }
}

function listerOf(object) {
  const found = [];
  let holder = ReflectGetPrototypeOf(object);
  for (let depth = 0; holder !== null && depth < 1000; depth++) {
    if (valueKind(holder) === kinds.kProxy) break;
    const at = ArrayPrototypeIndexOf(prototypes, holder);
    if (at >= 0) ArrayPrototypePush(found, descriptions[at]);
    holder = ReflectGetPrototypeOf(holder);
  }
  if (found.length === 0) return undefined;
  return (inspection, level) => {
    const output = [];
    inspection.indentation += 2;
    // Inherited attributes come first.
    for (let i = found.length - 1; i >= 0; i--) {
      const { pairs } = found[i];
      if (pairs === undefined) listAttributes(inspection, object, level, found[i], output);
      else if (pairs.check(object)) listPairs(inspection, object, level, pairs, output);
    }
    inspection.indentation -= 2;
    return output;
  };
}
realm.inspecting.listerOf = listerOf;
