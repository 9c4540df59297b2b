// toMatchSnapshot(): the first run stores texts, and later runs compare with them. The host reads
// and writes the file, __snapshots__/<file>.snap, whose entries are
//
//     === name of the test 1
//     the text
//
// followed by a blank line each. A line of a text that begins with the mark is preceded by a
// backslash.
"use strict";

const { diffLines, showLong } = load("test/diff");

const kMark = "=== ";

class Snapshots {
  written = 0;
  #stored = new Map();
  #seen = new Set();
  #counts = new Map();
  #changed = false;
  #settings;

  constructor(text, settings) {
    this.#settings = settings;
    let name;
    let lines = [];
    const end = () => {
      if (lines.at(-1) === "") lines.pop();
      if (name !== undefined) this.#stored.set(name, lines.join("\n"));
    };
    for (const line of text.split("\n")) {
      if (line.startsWith(kMark)) {
        end();
        name = line.slice(kMark.length);
        lines = [];
      } else {
        lines.push(line.startsWith(`\\${kMark}`) ? line.slice(1) : line);
      }
    }
    if (lines.at(-1) === "") lines.pop();
    end();
  }

  // Returns the failure, or undefined.
  compare(test, value, hint) {
    const named = hint === undefined ? test : `${test}: ${hint}`;
    const count = (this.#counts.get(named) ?? 0) + 1;
    this.#counts.set(named, count);
    const name = `${named} ${count}`.replaceAll("\n", "\\n");
    this.#seen.add(name);
    const text = showLong(value);
    const stored = this.#stored.get(name);
    if (stored === text) return undefined;
    if (stored !== undefined && !this.#settings.update) {
      return `The snapshot "${name}" is another; --update writes it anew.\n\n` +
        diffLines(stored, text);
    }
    if (stored === undefined && this.#settings.frozen) {
      return `There is no snapshot "${name}", and with CI set none is written.`;
    }
    this.#stored.set(name, text);
    this.#changed = true;
    ++this.written;
    return undefined;
  }

  // Removes snapshots that a completed test no longer uses.
  drop(whole) {
    if (!whole || !this.#settings.update) return;
    for (const name of this.#stored.keys()) {
      if (this.#seen.has(name)) continue;
      this.#stored.delete(name);
      this.#changed = true;
    }
  }

  // The number of snapshots that no test has used.
  get obsolete() {
    return [...this.#stored.keys()].filter((name) => !this.#seen.has(name)).length;
  }

  // The new text of the file; undefined if it is unchanged.
  text() {
    if (!this.#changed) return undefined;
    const parts = [...this.#stored].sort(([a], [b]) => a < b ? -1 : 1).map(([name, text]) => {
      const lines = text.split("\n").map((line) => line.startsWith(kMark) ? `\\${line}` : line);
      return `${kMark}${name}\n${lines.join("\n")}\n`;
    });
    return parts.join("\n");
  }
}

// The common indentation in the source is not part of the text.
function unindented(text) {
  const lines = text.split("\n");
  if (lines.length > 1 && lines[0].trim() === "") lines.shift();
  if (lines.length > 1 && lines.at(-1).trim() === "") lines.pop();
  const indents = lines.filter((line) => line.trim() !== "").map((line) => line.search(/\S/));
  const common = Math.min(...indents);
  return Number.isFinite(common) ? lines.map((line) => line.slice(common)).join("\n") : text;
}

function compareInline(value, expected) {
  const text = showLong(value);
  if (expected === undefined) {
    return `toMatchInlineSnapshot() is given no text. This is what the value looks like:\n${text}`;
  }
  return text === expected || text === unindented(expected) ? undefined
    : diffLines(unindented(expected), text);
}

return { Snapshots, compareInline };
