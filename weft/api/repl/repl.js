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

// Declarations of imports stand before all else, as far as they are seen here.
const kSpace = /(?:^#![^\n]*)?(?:\s|;|\/\/[^\n]*|\/\*[^]*?\*\/)*/y;
const kImport =
  /import\b\s*(?:([^"'().;=]*?)\bfrom\s*)?("[^"\n]*"|'[^'\n]*')[ \t]*(?:;|(?=$|\n|\/\/|\/\*))/y;

// A declaration of an import is one of a module; here it is what comes to the same.
function importOf(clause, specifier) {
  if (clause === undefined) return `await import(${specifier})`;
  const [, first, all] = /^\s*(?:([\w$]+)\s*,\s*)?\*\s+as\s+([\w$]+)\s*$/.exec(clause) ?? [];
  if (all === undefined) return `let ${bindingsOf(clause)} = await import(${specifier})`;
  const named = first === undefined ? "" : `; let ${first} = ${all}.default`;
  return `let ${all} = await import(${specifier})${named}`;
}

// The text with what its imports come to, on the same lines.
function withoutImports(text) {
  let result = "";
  let at = 0;
  for (;;) {
    kSpace.lastIndex = at;
    kSpace.exec(text);
    kImport.lastIndex = kSpace.lastIndex;
    const found = kImport.exec(text);
    if (found === null) return result + text.slice(at);
    const [declaration, clause, specifier] = found;
    const lines = "\n".repeat(declaration.split("\n").length - 1);
    result += `${text.slice(at, found.index)}${importOf(clause, specifier)};${lines}`;
    at = kImport.lastIndex;
  }
}

// The texts to be tried, in order: what begins with a brace is rather an object than a block.
function prepare(typed) {
  const text = withoutImports(typed);
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
