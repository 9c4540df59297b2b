// MIME types. https://mimesniff.spec.whatwg.org/#understanding-mime-types
//
// For other scripts, realm.mime:
//     parse(text)          { type, subtype, essence, parameters: [name, value, ...] } or null
//     serialize(mimeType)
//     parameter(mimeType, name)       or undefined
//     fromHeader(value)               "extract a MIME type" of a Content-Type value, or null

const {
  ArrayPrototypePush, RegExpPrototypeExec, StringPrototypeCharCodeAt, StringPrototypeIndexOf,
  StringPrototypeSlice, StringPrototypeToLowerCase,
} = realm.primordials;

function isToken(text) {
  return RegExpPrototypeExec(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/, text) !== null;
}

function isQuotedStringText(text) {
  return RegExpPrototypeExec(/^[\t\x20-\x7e\x80-\xff]*$/, text) !== null;
}

function isWhitespace(code) {
  return code === 0x20 || code === 0x09 || code === 0x0a || code === 0x0d;
}

function trimEnd(text) {
  let end = text.length;
  while (end > 0 && isWhitespace(StringPrototypeCharCodeAt(text, end - 1))) end--;
  return StringPrototypeSlice(text, 0, end);
}

function trim(text) {
  let start = 0;
  while (start < text.length && isWhitespace(StringPrototypeCharCodeAt(text, start))) start++;
  return trimEnd(StringPrototypeSlice(text, start));
}

// Converts ASCII letters only: "K" (KELVIN SIGN) must not become "k".
function lower(text) {
  return RegExpPrototypeExec(/[^\x00-\x7f]/, text) === null
    ? StringPrototypeToLowerCase(text) : text;
}

function indexOrEnd(text, character, from) {
  const at = StringPrototypeIndexOf(text, character, from);
  return at === -1 ? text.length : at;
}

// https://fetch.spec.whatwg.org/#collect-an-http-quoted-string with extract-value; `at` is after
// the first quotation mark.
function quotedString(text, at) {
  let value = "";
  for (; at < text.length; at++) {
    const character = text[at];
    if (character === '"') return { value, end: at + 1 };
    if (character === "\\") {
      at++;
      value += at < text.length ? text[at] : "\\";
    } else {
      value += character;
    }
  }
  return { value, end: at };
}

function parameter(mimeType, name) {
  const { parameters } = mimeType;
  for (let i = 0; i < parameters.length; i += 2) {
    if (parameters[i] === name) return parameters[i + 1];
  }
  return undefined;
}

// https://mimesniff.spec.whatwg.org/#parse-a-mime-type
function parse(input) {
  const text = trim(input);
  // 3.-8. type and subtype
  const slash = StringPrototypeIndexOf(text, "/");
  if (slash === -1) return null;
  const type = StringPrototypeSlice(text, 0, slash);
  let at = indexOrEnd(text, ";", slash);
  const subtype = trimEnd(StringPrototypeSlice(text, slash + 1, at));
  if (!isToken(type) || !isToken(subtype)) return null;
  const mimeType = {
    __proto__: null,
    type: lower(type),
    subtype: lower(subtype),
    essence: `${lower(type)}/${lower(subtype)}`,
    parameters: [],
  };
  // 11. While position is not past the end of input:
  while (at < text.length) {
    at++;
    while (at < text.length && isWhitespace(StringPrototypeCharCodeAt(text, at))) at++;
    let end = at;
    while (end < text.length && text[end] !== ";" && text[end] !== "=") end++;
    const name = lower(StringPrototypeSlice(text, at, end));
    at = end;
    if (at >= text.length) break;
    if (text[at] === ";") continue;
    at++;
    if (at >= text.length) break;
    let value;
    if (text[at] === '"') {
      const quoted = quotedString(text, at + 1);
      value = quoted.value;
      at = indexOrEnd(text, ";", quoted.end);
    } else {
      end = indexOrEnd(text, ";", at);
      value = trimEnd(StringPrototypeSlice(text, at, end));
      at = end;
      if (value === "") continue;
    }
    if (isToken(name) && isQuotedStringText(value) && parameter(mimeType, name) === undefined) {
      ArrayPrototypePush(mimeType.parameters, name, value);
    }
  }
  return mimeType;
}

// https://mimesniff.spec.whatwg.org/#serialize-a-mime-type
function serialize(mimeType) {
  let text = mimeType.essence;
  const { parameters } = mimeType;
  for (let i = 0; i < parameters.length; i += 2) {
    const value = parameters[i + 1];
    text += `;${parameters[i]}=`;
    if (isToken(value)) {
      text += value;
      continue;
    }
    text += '"';
    for (let j = 0; j < value.length; j++) {
      if (value[j] === '"' || value[j] === "\\") text += "\\";
      text += value[j];
    }
    text += '"';
  }
  return text;
}

// https://fetch.spec.whatwg.org/#concept-header-list-get-decode-and-split
function splitValues(value) {
  const values = [];
  let start = 0;
  let quoted = false;
  for (let at = 0; at <= value.length; at++) {
    const character = value[at];
    if (quoted && character === "\\" && at + 1 < value.length) {
      at++;
    } else if (at < value.length && character === '"') {
      quoted = !quoted;
    } else if (at >= value.length || (character === "," && !quoted)) {
      ArrayPrototypePush(values, trim(StringPrototypeSlice(value, start, at)));
      start = at + 1;
    }
  }
  return values;
}

// https://fetch.spec.whatwg.org/#concept-header-extract-mime-type
function fromHeader(header) {
  if (header === null) return null;
  let charset = null;
  let essence = null;
  let mimeType = null;
  const values = splitValues(header);
  for (let i = 0; i < values.length; i++) {
    const candidate = parse(values[i]);
    if (candidate === null || candidate.essence === "*/*") continue;
    mimeType = candidate;
    if (mimeType.essence !== essence) {
      charset = parameter(mimeType, "charset") ?? null;
      essence = mimeType.essence;
    } else if (parameter(mimeType, "charset") === undefined && charset !== null) {
      ArrayPrototypePush(mimeType.parameters, "charset", charset);
    }
  }
  return mimeType;
}

realm.mime = { __proto__: null, fromHeader, isToken, parameter, parse, serialize };
