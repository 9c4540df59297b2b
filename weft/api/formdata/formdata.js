// FormData. https://xhr.spec.whatwg.org/#interface-formdata
//
// For other scripts, realm.formData:
//     FormData, isFormData(value), newFormData(list)   list: [name, value, ...]; strings and Files
//     serialize(formData)          { chunks: Uint8Array[], boundary } as multipart/form-data
//     parseMultipart(bytes, boundary)     a list, or undefined for failure; throws a RangeError for
//                                  more than kPartsMax parts, or a head above kHeadBytesMax
//     isTooLarge(error)            whether the error is that RangeError

const { latin1Decode, utf8Decode, utf8Encode } = native;
const { blob, mime, webidl } = realm;
const { brandCheck, failure, internal, isObject, requiredArguments } = webidl;
const {
  ArrayPrototypePush, MathFloor, MathRandom, RangeError, RegExpPrototypeExec,
  RegExpPrototypeSymbolReplace, StringPrototypeCharCodeAt, StringPrototypeIndexOf,
  StringPrototypeSlice, StringPrototypeStartsWith, StringPrototypeToLowerCase, TypeError,
  Uint8Array, WeakMap, WeakMapPrototypeGet, WeakMapPrototypeSet,
} = realm.primordials;
const { USVString } = webidl.converters;

// https://xhr.spec.whatwg.org/#create-an-entry
function entryValue(value, filename, hasFilename) {
  if (typeof value === "string") return value;
  if (hasFilename) {
    return blob.asFile(value, filename, blob.isFile(value) ? value.lastModified : undefined);
  }
  return blob.isFile(value) ? value : blob.asFile(value, "blob");
}

// The value and the filename of append() and set(), each of which has two overloads.
function toValue(value, filename, count, prefix) {
  if (blob.isBlob(value)) {
    const has = count > 2 && filename !== undefined;
    return entryValue(value, has ? USVString(filename, prefix, "Argument 3") : undefined, has);
  }
  if (count > 2) throw failure("is not a Blob", prefix, "Argument 2");
  return USVString(value, prefix, "Argument 2");
}

let isFormData;
let listOf;
let newFormData;

class FormData {
  #list = [];  // [name, value, ...]

  constructor(form = undefined, submitter = undefined) {
    if (form === internal) return;
    if (form !== undefined) {
      throw failure("is not a form: there are none here", "Failed to construct 'FormData'",
        "Argument 1");
    }
  }

  static {
    isFormData = (value) => #list in value;
    listOf = (formData) => formData.#list;
    newFormData = (list) => {
      const formData = new FormData(internal);
      formData.#list = list;
      return formData;
    };
  }

  append(name, value, filename = undefined) {
    const prefix = "Failed to execute 'append' on 'FormData'";
    brandCheck(isObject(this) && #list in this, "FormData");
    requiredArguments(arguments.length, 2, prefix);
    name = USVString(name, prefix, "Argument 1");
    value = toValue(value, filename, arguments.length, prefix);
    ArrayPrototypePush(this.#list, name, value);
  }

  delete(name) {
    const prefix = "Failed to execute 'delete' on 'FormData'";
    brandCheck(isObject(this) && #list in this, "FormData");
    requiredArguments(arguments.length, 1, prefix);
    name = USVString(name, prefix, "Argument 1");
    const list = this.#list;
    const kept = [];
    for (let i = 0; i < list.length; i += 2) {
      if (list[i] !== name) ArrayPrototypePush(kept, list[i], list[i + 1]);
    }
    this.#list = kept;
  }

  get(name) {
    const prefix = "Failed to execute 'get' on 'FormData'";
    brandCheck(isObject(this) && #list in this, "FormData");
    requiredArguments(arguments.length, 1, prefix);
    name = USVString(name, prefix, "Argument 1");
    const list = this.#list;
    for (let i = 0; i < list.length; i += 2) {
      if (list[i] === name) return list[i + 1];
    }
    return null;
  }

  getAll(name) {
    const prefix = "Failed to execute 'getAll' on 'FormData'";
    brandCheck(isObject(this) && #list in this, "FormData");
    requiredArguments(arguments.length, 1, prefix);
    name = USVString(name, prefix, "Argument 1");
    const list = this.#list;
    const values = [];
    for (let i = 0; i < list.length; i += 2) {
      if (list[i] === name) ArrayPrototypePush(values, list[i + 1]);
    }
    return values;
  }

  has(name) {
    const prefix = "Failed to execute 'has' on 'FormData'";
    brandCheck(isObject(this) && #list in this, "FormData");
    requiredArguments(arguments.length, 1, prefix);
    name = USVString(name, prefix, "Argument 1");
    const list = this.#list;
    for (let i = 0; i < list.length; i += 2) {
      if (list[i] === name) return true;
    }
    return false;
  }

  set(name, value, filename = undefined) {
    const prefix = "Failed to execute 'set' on 'FormData'";
    brandCheck(isObject(this) && #list in this, "FormData");
    requiredArguments(arguments.length, 2, prefix);
    name = USVString(name, prefix, "Argument 1");
    value = toValue(value, filename, arguments.length, prefix);
    const list = this.#list;
    const kept = [];
    let found = false;
    for (let i = 0; i < list.length; i += 2) {
      if (list[i] !== name) {
        ArrayPrototypePush(kept, list[i], list[i + 1]);
      } else if (!found) {
        found = true;
        ArrayPrototypePush(kept, name, value);
      }
    }
    if (!found) ArrayPrototypePush(kept, name, value);
    this.#list = kept;
  }
}

webidl.definePairIterable(FormData, "FormData", {
  check: isFormData,
  size: (formData) => listOf(formData).length / 2,
  keyAt: (formData, index) => listOf(formData)[index * 2],
  valueAt: (formData, index) => listOf(formData)[index * 2 + 1],
});
webidl.configureInterface(FormData);

// ---- multipart/form-data
// https://html.spec.whatwg.org/#multipart-form-data

function normalizedNewlines(text) {
  return RegExpPrototypeExec(/[\r\n]/, text) === null ? text
    : RegExpPrototypeSymbolReplace(/\r\n|\r|\n/g, text, "\r\n");
}

function escaped(name) {
  if (RegExpPrototypeExec(/[\r\n"]/, name) === null) return name;
  return RegExpPrototypeSymbolReplace(/[\r\n"]/g, name,
    (character) => (character === "\r" ? "%0D" : character === "\n" ? "%0A" : "%22"));
}

function newBoundary() {
  let boundary = "----WeftFormBoundary";
  for (let i = 0; i < 16; i++) {
    boundary += "0123456789abcdefghijklmnopqrstuv"[MathFloor(MathRandom() * 32)];
  }
  return boundary;
}

function serialize(formData) {
  const list = listOf(formData);
  const boundary = newBoundary();
  const chunks = [];
  let text = "";
  for (let i = 0; i < list.length; i += 2) {
    const name = escaped(normalizedNewlines(list[i]));
    const value = list[i + 1];
    text += `--${boundary}\r\nContent-Disposition: form-data; name="${name}"`;
    if (typeof value === "string") {
      text += `\r\n\r\n${normalizedNewlines(value)}\r\n`;
      continue;
    }
    const type = blob.typeOf(value);
    text += `; filename="${escaped(fileName(value))}"\r\nContent-Type: ` +
      `${type === "" ? "application/octet-stream" : type}\r\n\r\n`;
    ArrayPrototypePush(chunks, new Uint8Array(utf8Encode(text)));
    const parts = blob.chunksOf(value);
    for (let j = 0; j < parts.length; j++) ArrayPrototypePush(chunks, parts[j]);
    text = "\r\n";
  }
  ArrayPrototypePush(chunks, new Uint8Array(utf8Encode(`${text}--${boundary}--\r\n`)));
  return { chunks, boundary };
}

const fileName = realm.primordials.uncurryThis(
  realm.primordials.ObjectGetOwnPropertyDescriptor(blob.File.prototype, "name").get);

// The parser represents bytes as the characters U+0000 to U+00FF.
function decoded(latin1, bytes, start, end) {
  return RegExpPrototypeExec(/[\x80-\xff]/, latin1) === null ? latin1
    : utf8Decode(new Uint8Array(bytes.buffer, bytes.byteOffset + start, end - start), false, true);
}

// https://andreubotella.github.io/multipart-form-data/#parse-a-multipart-form-data-name
function parseName(text, at, bytes) {
  const end = StringPrototypeIndexOf(text, '"', at);
  if (end === -1) return undefined;
  const raw = StringPrototypeSlice(text, at, end);
  const name = RegExpPrototypeSymbolReplace(/%0A|%0D|%22/gi, decoded(raw, bytes, at, end),
    (code) => (code === "%22" ? '"' : code[2] === "A" || code[2] === "a" ? "\n" : "\r"));
  return { name, end: end + 1 };
}

// https://andreubotella.github.io/multipart-form-data/#parse-multipart-form-data-headers
// Returns { name, filename, contentType, at }, or undefined for failure.
function parseHeaders(text, at, bytes) {
  const part = { name: null, filename: null, contentType: null, at };
  for (;;) {
    if (StringPrototypeStartsWith(text, "\r\n", part.at)) {
      return part.name === null ? undefined : part;
    }
    const line = StringPrototypeIndexOf(text, "\r\n", part.at);
    const colon = StringPrototypeIndexOf(text, ":", part.at);
    if (line === -1 || colon === -1 || colon > line) return undefined;
    const field = StringPrototypeSlice(text, part.at, colon);
    const trimmed = RegExpPrototypeSymbolReplace(/^[\t ]+|[\t ]+$/g, field, "");
    if (!mime.isToken(trimmed)) return undefined;
    let value = colon + 1;
    while (text[value] === " " || text[value] === "\t") value++;
    const name = StringPrototypeToLowerCase(trimmed);
    if (name === "content-disposition") {
      const end = parseDisposition(text, value, bytes, part);
      if (end === undefined) return undefined;
      part.at = end;
    } else if (name === "content-type") {
      part.contentType = RegExpPrototypeSymbolReplace(
        /[\t ]+$/, StringPrototypeSlice(text, value, line), "");
      part.at = line;
    } else {
      part.at = line;
    }
    if (!StringPrototypeStartsWith(text, "\r\n", part.at)) return undefined;
    part.at += 2;
  }
}

function parseDisposition(text, at, bytes, part) {
  if (!StringPrototypeStartsWith(text, "form-data", at)) return undefined;
  at += 9;
  part.name = null;
  part.filename = null;
  for (;;) {
    const match = RegExpPrototypeExec(/^;[\t ]*(name|filename)="/i,
      StringPrototypeSlice(text, at, at + 64));
    if (match === null) break;
    const parsed = parseName(text, at + match[0].length, bytes);
    if (parsed === undefined) return undefined;
    if (StringPrototypeToLowerCase(match[1]) === "name") part.name = parsed.name;
    else part.filename = parsed.name;
    at = parsed.end;
  }
  // Other parameters, such as filename*, are skipped.
  while (text[at] === ";" || text[at] === " " || text[at] === "\t") {
    const end = StringPrototypeIndexOf(text, "\r\n", at);
    if (end === -1) return undefined;
    at = end;
  }
  return at;
}

// Limits on the memory for a small body: a part needs much more memory than its bytes.
const kPartsMax = 1000;
const kHeadBytesMax = 8 * 1024;
let tooLarge = null;  // made on first use

function refuse(text) {
  const error = new RangeError(text);
  tooLarge ??= new WeakMap();
  WeakMapPrototypeSet(tooLarge, error, true);
  throw error;
}

function checkHead(text, at) {
  const end = StringPrototypeIndexOf(text, "\r\n\r\n", at);
  if (end === -1 ? text.length - at > kHeadBytesMax : end - at > kHeadBytesMax) {
    refuse(`The head of a part of the form has more than ${kHeadBytesMax} bytes`);
  }
}

// https://andreubotella.github.io/multipart-form-data/#multipart-form-data-parser
function parseMultipart(bytes, boundary) {
  const text = latin1Decode(bytes);
  const delimiter = `--${boundary}`;
  const list = [];
  // Text before the first delimiter is not part of the form.
  let at = 0;
  if (StringPrototypeStartsWith(text, "\r\n", at)) at += 2;
  for (;;) {
    if (!StringPrototypeStartsWith(text, delimiter, at)) return undefined;
    at += delimiter.length;
    if (StringPrototypeStartsWith(text, "--", at)) {
      const rest = StringPrototypeSlice(text, at + 2);
      return rest === "" || rest === "\r\n" || StringPrototypeStartsWith(rest, "\r\n")
        ? list : undefined;
    }
    if (!StringPrototypeStartsWith(text, "\r\n", at)) return undefined;
    if (list.length === 2 * kPartsMax) refuse(`The form has more than ${kPartsMax} parts`);
    checkHead(text, at + 2);
    const part = parseHeaders(text, at + 2, bytes);
    if (part === undefined) return undefined;
    const start = part.at + 2;
    const end = StringPrototypeIndexOf(text, `\r\n${delimiter}`, start);
    if (end === -1) return undefined;
    ArrayPrototypePush(list, part.name, partValue(text, bytes, start, end, part));
    at = end + 2;
  }
}

function partValue(text, bytes, start, end, part) {
  if (part.filename === null) {
    return decoded(StringPrototypeSlice(text, start, end), bytes, start, end);
  }
  const copy = new Uint8Array(end - start);
  realm.primordials.TypedArrayPrototypeSet(
    copy, new Uint8Array(bytes.buffer, bytes.byteOffset + start, end - start));
  const type = part.contentType ?? "text/plain";
  return blob.newFile(copy.length === 0 ? [] : [copy], part.filename,
    RegExpPrototypeExec(/[^\x20-\x7e]/, type) === null ? StringPrototypeToLowerCase(type) : "");
}

realm.formData = {
  __proto__: null,
  FormData,
  isFormData: (value) => isObject(value) && isFormData(value),
  newFormData: (list) => newFormData(list),
  isTooLarge: (error) => tooLarge !== null && isObject(error) &&
    WeakMapPrototypeGet(tooLarge, error) === true,
  parseMultipart,
  serialize,
};
realm.expose({ FormData });
