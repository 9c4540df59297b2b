// What `weft repl` asks of the isolate: what an input means, how a value looks, what a name could
// be continued by. The debugger evaluates the inputs themselves.
"use strict";

const { errorText } = native;

// "a, { b as c }" -> "{ default: a, b: c }"
function bindingsOf(clause) {
  const names = [];
  const [, first = "", rest = ""] = /^\s*([\w$]*)\s*,?\s*(?:\{([^}]*)\})?\s*$/.exec(clause) ?? [];
  if (first !== "") names.push(`default: ${first}`);
  for (const part of rest.split(",")) {
    const [name, local = name] = part.trim().split(/\s+as\s+/);
    if (name !== "") names.push(name === local ? name : `${name}: ${local}`);
  }
  return `{ ${names.join(", ")} }`;
}

const kImport = /^\s*import\s+(?:([^"']*?)\s*\bfrom\s+)?("[^"]*"|'[^']*')\s*;?\s*$/;

// A declaration of an import is one of a module; here it is what comes to the same.
function importOf(text) {
  const [, clause, specifier] = kImport.exec(text);
  if (clause === undefined) return `await import(${specifier})`;
  const [, first, all] = /^\s*(?:([\w$]+)\s*,\s*)?\*\s+as\s+([\w$]+)\s*$/.exec(clause) ?? [];
  if (all === undefined) return `let ${bindingsOf(clause)} = await import(${specifier})`;
  const named = first === undefined ? "" : `; let ${first} = ${all}.default`;
  return `let ${all} = await import(${specifier})${named}`;
}

// The texts to be tried, in order: what begins with a brace is rather an object than a block.
function prepare(text) {
  if (kImport.test(text)) return [importOf(text)];
  const trimmed = text.trim();
  return trimmed.startsWith("{") && trimmed.endsWith("}") ? [`(${text}\n)`, text] : [text];
}

function keep(value) {
  Object.defineProperty(globalThis, "_", {
    value, writable: true, enumerable: false, configurable: true,
  });
}

function show(value, colors) {
  keep(value);
  return realm.inspect(value, { colors });
}

// Frames of ours tell nothing.
function fail(error) {
  return errorText(error).split("\n")
    .filter((line) => !/^\s+at .*\(?(weft:|<anonymous>:\d)/.test(line)).join("\n");
}

const kName = /^[A-Za-z_$][\w$]*$/;

// The names that a value has by itself or by its prototypes, as far as they can follow a dot.
function namesOf(value, prefix) {
  const names = new Set();
  for (let at = Object(value); at !== null; at = Object.getPrototypeOf(at)) {
    for (const name of Object.getOwnPropertyNames(at)) {
      if (name.startsWith(prefix) && kName.test(name)) names.add(name);
    }
  }
  return [...names].sort();
}

const complete = (value, prefix) =>
  value === undefined || value === null ? [] : namesOf(value, prefix);

const kWords = ("async await break case catch class const continue debugger default delete do else " +
  "export extends false finally for function if import in instanceof let new null of return static " +
  "super switch this throw true try typeof undefined var void while with yield").split(" ");

function completeGlobal(lexical, prefix) {
  const words = [...kWords, ...lexical].filter((name) => name.startsWith(prefix));
  return [...new Set([...namesOf(globalThis, prefix), ...words])].sort();
}

return { complete, completeGlobal, fail, prepare, show };
