// The pattern strings of URLPattern: tokens, parts, regular expressions.
// https://urlpattern.spec.whatwg.org/#patterns
//
// For urlpattern.js, realm.urlPattern:
//     tokenize(input, strict)      [{ type, index, value }]
//     compile(input, encode, options)     { pattern, regexp, names, hasRegExpGroups }
//     options: { delimiter, prefix, ignoreCase }

const {
  ArrayPrototypePush, RegExp, RegExpPrototypeExec, RegExpPrototypeSymbolReplace,
  StringFromCodePoint, StringPrototypeCodePointAt, TypeError,
} = realm.primordials;

// ---- tokens: https://urlpattern.spec.whatwg.org/#tokenizers

// "A valid name code point" at the start of a name, and after it: an identifier's.
function isNameCodePoint(character, first) {
  return RegExpPrototypeExec(first ? /^[$_\p{IDS}]$/u : /^[$_\u200c\u200d\p{IDC}]$/u,
    character) !== null;
}

function codePoints(text) {
  const points = [];
  for (let at = 0; at < text.length;) {
    const character = StringFromCodePoint(StringPrototypeCodePointAt(text, at));
    ArrayPrototypePush(points, character);
    at += character.length;
  }
  return points;
}

class Tokenizer {
  constructor(input, strict) {
    this.points = codePoints(input);
    this.strict = strict;
    this.tokens = [];
    this.index = 0;
  }

  text(start, end) {
    let text = "";
    for (let i = start; i < end; i++) text += this.points[i];
    return text;
  }

  // Adds a token whose value is from valueStart to valueEnd, and continues at `next`.
  add(type, next, valueStart, valueEnd) {
    ArrayPrototypePush(this.tokens,
      { __proto__: null, type, index: this.index, value: this.text(valueStart, valueEnd) });
    this.index = next;
  }

  // https://urlpattern.spec.whatwg.org/#process-a-tokenizing-error
  fail(next, valueStart) {
    if (this.strict) throw new TypeError(`Invalid pattern at position ${this.index}`);
    this.add("invalid-char", next, valueStart, next);
  }

  run() {
    const { points } = this;
    while (this.index < points.length) this.step(points[this.index]);
    this.add("end", this.index, this.index, this.index);
    return this;
  }

  step(c) {
    const at = this.index;
    const next = at + 1;
    if (c === "*") this.add("asterisk", next, at, next);
    else if (c === "+" || c === "?") this.add("other-modifier", next, at, next);
    else if (c === "{") this.add("open", next, at, next);
    else if (c === "}") this.add("close", next, at, next);
    else if (c === "\\") this.escaped(next);
    else if (c === ":") this.name(next);
    else if (c === "(") this.regexp(next);
    else this.add("char", next, at, next);
  }

  escaped(next) {
    if (next === this.points.length) this.fail(next, this.index);
    else this.add("escaped-char", next + 1, next, next + 1);
  }

  name(start) {
    const { points } = this;
    let end = start;
    while (end < points.length && isNameCodePoint(points[end], end === start)) end++;
    if (end <= start) this.fail(start, this.index);
    else this.add("name", end, start, end);
  }

  // The position after the ")" that ends a regular expression, or -1.
  regexpEnd(start) {
    const { points } = this;
    let depth = 1;
    for (let at = start; at < points.length; at++) {
      const c = points[at];
      if (c > "\x7f" || (at === start && c === "?")) return -1;
      if (c === "\\") {
        at++;
        if (at === points.length || points[at] > "\x7f") return -1;
      } else if (c === ")") {
        if (--depth === 0) return at + 1;
      } else if (c === "(") {
        depth++;
        // Groups inside must be non-capturing.
        if (points[at + 1] !== "?") return -1;
      }
    }
    return -1;
  }

  regexp(start) {
    const end = this.regexpEnd(start);
    if (end === -1 || end - 1 === start) this.fail(start, this.index);
    else this.add("regexp", end, start, end - 1);
  }
}

// ---- parts: https://urlpattern.spec.whatwg.org/#parts

function escapeRegExp(text) {
  return RegExpPrototypeSymbolReplace(/[.+*?^${}()[\]|/\\]/g, text, "\\$&");
}

function escapePattern(text) {
  return RegExpPrototypeSymbolReplace(/[+*?:{}()\\]/g, text, "\\$&");
}

function segmentWildcard(options) {
  return `[^${escapeRegExp(options.delimiter)}]+?`;
}

// https://urlpattern.spec.whatwg.org/#pattern-parser
class PatternParser {
  constructor(input, encode, options) {
    this.tokens = new Tokenizer(input, true).run().tokens;
    this.encode = encode;
    this.options = options;
    this.segment = segmentWildcard(options);
    this.parts = [];
    this.pending = "";
    this.index = 0;
    this.nextName = 0;
  }

  take(type) {
    const token = this.tokens[this.index];
    if (token.type !== type) return null;
    this.index++;
    return token;
  }

  require(type) {
    const token = this.take(type);
    if (token === null) throw new TypeError(`Invalid pattern: a ${type} is missing`);
    return token;
  }

  takeWildcard(name) {
    return this.take("regexp") ?? (name === null ? this.take("asterisk") : null);
  }

  takeModifier() {
    return this.take("other-modifier") ?? this.take("asterisk");
  }

  takeText() {
    let text = "";
    for (;;) {
      const token = this.take("char") ?? this.take("escaped-char");
      if (token === null) return text;
      text += token.value;
    }
  }

  flush() {
    if (this.pending === "") return;
    const value = this.encode(this.pending);
    this.pending = "";
    this.push("fixed-text", value, "", "", "", "");
  }

  push(type, value, modifier, name, prefix, suffix) {
    ArrayPrototypePush(this.parts,
      { __proto__: null, type, value, modifier, name, prefix, suffix });
  }

  // https://urlpattern.spec.whatwg.org/#add-a-part
  add(prefix, name, wildcard, suffix, modifierToken) {
    const modifier = modifierToken === null ? "" : modifierToken.value;
    if (name === null && wildcard === null && modifier === "") {
      this.pending += prefix;
      return;
    }
    this.flush();
    if (name === null && wildcard === null) {
      if (prefix !== "") this.push("fixed-text", this.encode(prefix), modifier, "", "", "");
      return;
    }
    let value = wildcard === null ? this.segment
      : wildcard.type === "asterisk" ? ".*" : wildcard.value;
    let type = "regexp";
    if (value === this.segment) type = "segment-wildcard";
    else if (value === ".*") type = "full-wildcard";
    if (type !== "regexp") value = "";
    const label = name !== null ? name.value : `${this.nextName++}`;
    for (let i = 0; i < this.parts.length; i++) {
      if (this.parts[i].name === label) {
        throw new TypeError(`Invalid pattern: the name '${label}' comes twice`);
      }
    }
    this.push(type, value, modifier, label, this.encode(prefix), this.encode(suffix));
  }

  run() {
    while (this.index < this.tokens.length) this.step();
    return this.parts;
  }

  step() {
    const character = this.take("char");
    let name = this.take("name");
    let wildcard = this.takeWildcard(name);
    if (name !== null || wildcard !== null) {
      let prefix = character === null ? "" : character.value;
      if (prefix !== "" && prefix !== this.options.prefix) {
        this.pending += prefix;
        prefix = "";
      }
      this.flush();
      this.add(prefix, name, wildcard, "", this.takeModifier());
      return;
    }
    const fixed = character ?? this.take("escaped-char");
    if (fixed !== null) {
      this.pending += fixed.value;
      return;
    }
    if (this.take("open") !== null) {
      const prefix = this.takeText();
      name = this.take("name");
      wildcard = this.takeWildcard(name);
      const suffix = this.takeText();
      this.require("close");
      this.add(prefix, name, wildcard, suffix, this.takeModifier());
      return;
    }
    this.flush();
    this.require("end");
  }
}

// https://urlpattern.spec.whatwg.org/#generate-a-regular-expression-and-name-list
function regexpOfPart(part, options) {
  const { modifier } = part;
  if (part.type === "fixed-text") {
    const text = escapeRegExp(part.value);
    return modifier === "" ? text : `(?:${text})${modifier}`;
  }
  // NB: V8 11.3 treats [^] as an empty set under the flag "v".
  const segment = options.delimiter === "" ? "[\\s\\S]+?" : segmentWildcard(options);
  const value = part.type === "segment-wildcard" ? segment
    : part.type === "full-wildcard" ? ".*" : part.value;
  const repeats = modifier === "*" || modifier === "+";
  if (part.prefix === "" && part.suffix === "") {
    return repeats ? `((?:${value})${modifier})` : `(${value})${modifier}`;
  }
  const prefix = escapeRegExp(part.prefix);
  const suffix = escapeRegExp(part.suffix);
  if (!repeats) return `(?:${prefix}(${value})${suffix})${modifier}`;
  return `(?:${prefix}((?:${value})(?:${suffix}${prefix}(?:${value}))*)${suffix})` +
    (modifier === "*" ? "?" : "");
}

function isDigit(character) {
  return character >= "0" && character <= "9";
}

// Whether a part needs braces in a pattern string.
function needsGrouping(part, previous, next, options) {
  if (part.suffix !== "" || (part.prefix !== "" && part.prefix !== options.prefix)) return true;
  if (!isDigit(part.name[0]) && part.type === "segment-wildcard" && part.modifier === "" &&
      next !== undefined && next.prefix === "" && next.suffix === "") {
    const grouped = next.type === "fixed-text"
      ? isNameCodePoint(codePoints(next.value)[0], false) : isDigit(next.name[0]);
    if (grouped) return true;
  }
  return part.prefix === "" && previous !== undefined && previous.type === "fixed-text" &&
    options.prefix !== "" && previous.value[previous.value.length - 1] === options.prefix;
}

// https://urlpattern.spec.whatwg.org/#generate-a-pattern-string
function textOfPart(part, previous, next, options) {
  const { modifier } = part;
  if (part.type === "fixed-text") {
    const text = escapePattern(part.value);
    return modifier === "" ? text : `{${text}}${modifier}`;
  }
  const custom = !isDigit(part.name[0]);
  const grouped = needsGrouping(part, previous, next, options);
  let text = escapePattern(part.prefix);
  if (custom) text += `:${part.name}`;
  if (part.type === "regexp") {
    text += `(${part.value})`;
  } else if (part.type === "segment-wildcard" && !custom) {
    text += `(${segmentWildcard(options)})`;
  } else if (part.type === "full-wildcard") {
    text += !custom && (previous === undefined || previous.type === "fixed-text" ||
      previous.modifier !== "" || grouped || part.prefix !== "") ? "*" : "(.*)";
  }
  if (part.type === "segment-wildcard" && custom && part.suffix !== "" &&
      isNameCodePoint(codePoints(part.suffix)[0], false)) text += "\\";
  text += escapePattern(part.suffix);
  return grouped ? `{${text}}${modifier}` : text + modifier;
}

// The standard uses the flag "v", which V8 supports since version 11.2; "u" differs only for nested
// character sets. NB: Tested on first use, because the snapshot may be made by another version.
let knownFlag;

function unicodeFlag() {
  if (knownFlag !== undefined) return knownFlag;
  try {
    new RegExp("", "v");
    knownFlag = "v";
  } catch {
    knownFlag = "u";
  }
  return knownFlag;
}

// https://urlpattern.spec.whatwg.org/#compile-a-component
function compile(input, encode, options) {
  const parts = new PatternParser(input, encode, options).run();
  const names = [];
  let source = "^";
  let pattern = "";
  let hasRegExpGroups = false;
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i];
    if (part.type !== "fixed-text") ArrayPrototypePush(names, part.name);
    if (part.type === "regexp") hasRegExpGroups = true;
    source += regexpOfPart(part, options);
    pattern += textOfPart(part, parts[i - 1], parts[i + 1], options);
  }
  let regexp;
  try {
    regexp = new RegExp(`${source}$`, options.ignoreCase ? `${unicodeFlag()}i` : unicodeFlag());
  } catch (error) {
    throw new TypeError(`Invalid pattern: ${error.message}`);
  }
  return { __proto__: null, pattern, regexp, names, hasRegExpGroups };
}

realm.urlPattern = {
  __proto__: null,
  codePoints,
  compile,
  escapePattern,
  tokenize: (input) => new Tokenizer(input, false).run(),
};
