// node:querystring. https://nodejs.org/api/querystring.html
"use strict";

function escape(value) {
  const text = typeof value === "string" ? value
    : typeof value === "object" ? String(value) : `${value}`;
  return encodeURIComponent(text.replace(/[\uD800-\uDBFF](?![\uDC00-\uDFFF])/g, "\uFFFD"));
}

function unescape(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return native.utf8Decode(native.percentDecode(text), false, true);
  }
}

function toText(value) {
  if (typeof value === "string") return value;
  if (typeof value === "number") return Number.isFinite(value) ? `${value}` : "";
  if (typeof value === "bigint" || typeof value === "boolean") return `${value}`;
  return "";
}

// An empty separator counts as missing, like null.
function stringify(object, separator = "&", equals = "=", options = undefined) {
  separator ||= "&";
  equals ||= "=";
  if (object === null || typeof object !== "object") return "";
  const encode = options?.encodeURIComponent ?? querystring.escape;
  const pairs = [];
  for (const key of Object.keys(object)) {
    const name = `${encode(key)}${equals}`;
    const value = object[key];
    if (!Array.isArray(value)) pairs.push(`${name}${encode(toText(value))}`);
    else for (const one of value) pairs.push(`${name}${encode(toText(one))}`);
  }
  return pairs.join(separator);
}

function parse(text, separator = "&", equals = "=", options = undefined) {
  separator ||= "&";
  equals ||= "=";
  const parsed = Object.create(null);
  if (typeof text !== "string" || text === "") return parsed;
  const decode = options?.decodeURIComponent ?? querystring.unescape;
  const most = options?.maxKeys ?? 1000;
  let pairs = text.split(separator);
  if (most > 0) pairs = pairs.slice(0, most);
  for (const pair of pairs) {
    if (pair === "") continue;
    const at = pair.indexOf(equals);
    const plain = (part) => decode(part.replace(/\+/g, " "));
    const key = plain(at < 0 ? pair : pair.slice(0, at));
    const value = at < 0 ? "" : plain(pair.slice(at + equals.length));
    if (!(key in parsed)) parsed[key] = value;
    else if (Array.isArray(parsed[key])) parsed[key].push(value);
    else parsed[key] = [parsed[key], value];
  }
  return parsed;
}

const querystring = {
  escape, unescape, stringify, parse, encode: stringify, decode: parse,
};

return { "node:querystring": querystring };
