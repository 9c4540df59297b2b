// What `weft repl` asks of the isolate: how to evaluate an input, how to show a value, and how a
// name can be completed. The debugger evaluates the inputs themselves.
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

// Import declarations are recognized only at the beginning of the input.
const kSpace = /(?:^#![^\n]*)?(?:\s|;|\/\/[^\n]*|\/\*[^]*?\*\/)*/y;
const kImport =
  /import\b\s*(?:([^"'().;=]*?)\bfrom\s*)?("[^"\n]*"|'[^'\n]*')[ \t]*(?:;|(?=$|\n|\/\/|\/\*))/y;

// An import declaration is valid only in a module; this gives an equivalent statement.
function importOf(clause, specifier) {
  if (clause === undefined) return `await import(${specifier})`;
  const [, first, all] = /^\s*(?:([\w$]+)\s*,\s*)?\*\s+as\s+([\w$]+)\s*$/.exec(clause) ?? [];
  if (all === undefined) return `let ${bindingsOf(clause)} = await import(${specifier})`;
  const named = first === undefined ? "" : `; let ${first} = ${all}.default`;
  return `let ${all} = await import(${specifier})${named}`;
}

// The text with its imports replaced by equivalent statements, on the same lines.
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

// The texts to try, in order: an input that begins with a brace is tried as an object first, then
// as a block.
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

// Leaves out the stack frames of Weft, which mean nothing to the user.
function fail(error) {
  return errorText(error).split("\n")
    .filter((line) => !/^\s+at .*\(?(weft:|<anonymous>:\d)/.test(line)).join("\n");
}

const kName = /^[A-Za-z_$][\w$]*$/;

// The property names of a value, own and inherited, that can follow a dot.
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
