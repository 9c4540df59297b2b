// Blob and File. https://w3c.github.io/FileAPI/
//
// A blob is a list of Uint8Arrays that nothing else can change. Slices and blobs made of blobs
// share them. They are concatenated when the blob is read.
//
// For other scripts, realm.blob:
//     Blob, File, isBlob(value), isFile(value)
//     chunksOf(blob)               its Uint8Arrays, not to be changed
//     bytesOf(blob)                one Uint8Array, a copy
//     newBlob(chunks, type)        chunks become the blob's own
//     newFile(chunks, name, type), asFile(blob, name)
//     resolve(href)                the blob of a blob URL, or undefined

const { utf8Decode, utf8Encode } = native;
const { streamAccess, webidl } = realm;
const {
  brandCheck, copyBytes, failure, illegalInvocation, internal, isBufferSource, isObject,
  isSharedArrayBuffer, requiredArguments,
} = webidl;
const {
  ArrayPrototypePush, DateNow, MathFloor, MathRandom, PromiseReject, PromiseResolve,
  RegExpPrototypeExec, RegExpPrototypeSymbolReplace, StringPrototypeIndexOf, StringPrototypeSlice,
  StringPrototypeToLowerCase, TypeError, TypedArrayPrototypeGetBuffer,
  TypedArrayPrototypeGetByteOffset, TypedArrayPrototypeSet, Uint8Array,
} = realm.primordials;
const { converters } = webidl;

const toBlobPart = webidl.unionConverter([
  [(value) => isObject(value) && isBlob(value), (value) => value],
  [(value) => isBufferSource(value) || isSharedArrayBuffer(value),
    converters.BufferSource],
], converters.USVString);
const toBlobParts = webidl.sequenceConverter(toBlobPart);
const toEndings = webidl.enumConverter("EndingType", ["transparent", "native"]);
const toBlobPropertyBag = webidl.dictionaryConverter("BlobPropertyBag", [
  { key: "endings", converter: toEndings, defaultValue: "transparent" },
  { key: "type", converter: converters.DOMString, defaultValue: "" },
]);
const toFilePropertyBag = webidl.dictionaryConverter("FilePropertyBag", [
  { key: "lastModified", converter: converters["long long"] },
], toBlobPropertyBag);

// "If type contains any characters outside the range U+0020 to U+007E, then set it to the empty
// string; convert every character to ASCII lowercase."
function checkedType(type) {
  return RegExpPrototypeExec(/[^\x20-\x7e]/, type) === null ? StringPrototypeToLowerCase(type) : "";
}

// https://w3c.github.io/FileAPI/#process-blob-parts
function chunksFromParts(parts, endings) {
  const chunks = [];
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i];
    if (typeof part === "string") {
      const text = endings === "native"
        ? RegExpPrototypeSymbolReplace(/\r\n?/g, part, "\n") : part;
      if (text !== "") ArrayPrototypePush(chunks, new Uint8Array(utf8Encode(text)));
    } else if (isBlob(part)) {
      const shared = chunksOf(part);
      for (let j = 0; j < shared.length; j++) ArrayPrototypePush(chunks, shared[j]);
    } else {
      const copy = copyBytes(part);
      if (copy.length > 0) ArrayPrototypePush(chunks, copy);
    }
  }
  return chunks;
}

function sizeOf(chunks) {
  let size = 0;
  for (let i = 0; i < chunks.length; i++) size += chunks[i].length;
  return size;
}

function copyOf(chunks, size) {
  const whole = new Uint8Array(size);
  for (let i = 0, at = 0; i < chunks.length; i++) {
    TypedArrayPrototypeSet(whole, chunks[i], at);
    at += chunks[i].length;
  }
  return whole;
}

function sliceChunks(chunks, start, end) {
  const slices = [];
  for (let i = 0, at = 0; i < chunks.length && at < end; i++) {
    const chunk = chunks[i];
    const first = start > at ? start - at : 0;
    const last = end - at < chunk.length ? end - at : chunk.length;
    if (first < last) {
      ArrayPrototypePush(slices, first === 0 && last === chunk.length ? chunk
        : new Uint8Array(TypedArrayPrototypeGetBuffer(chunk),
          TypedArrayPrototypeGetByteOffset(chunk) + first, last - first));
    }
    at += chunk.length;
  }
  return slices;
}

// Converts a relative position of slice() to an absolute one.
function absolute(position, size) {
  if (position < 0) return size + position > 0 ? size + position : 0;
  return position < size ? position : size;
}

let isBlob;
let isFile;
let chunksOf;
let bytesOf;
let typeOf;
let setBlob;
let newFile;

class Blob {
  #chunks;
  #size = 0;
  #type = "";

  constructor(blobParts = undefined, options = undefined) {
    if (blobParts === internal) return;
    const prefix = "Failed to construct 'Blob'";
    const parts = blobParts === undefined ? [] : toBlobParts(blobParts, prefix, "Argument 1");
    const bag = toBlobPropertyBag(options, prefix, "Argument 2");
    this.#chunks = chunksFromParts(parts, bag.endings);
    this.#size = sizeOf(this.#chunks);
    this.#type = checkedType(bag.type);
  }

  static {
    isBlob = (value) => #chunks in value;
    chunksOf = (blob) => blob.#chunks;
    typeOf = (blob) => blob.#type;
    bytesOf = (blob) => copyOf(blob.#chunks, blob.#size);
    setBlob = (blob, chunks, type) => {
      blob.#chunks = chunks;
      blob.#size = sizeOf(chunks);
      blob.#type = type;
      return blob;
    };
  }

  get size() {
    return this.#size;
  }

  get type() {
    return this.#type;
  }

  slice(start = undefined, end = undefined, contentType = undefined) {
    const prefix = "Failed to execute 'slice' on 'Blob'";
    brandCheck(isObject(this) && #chunks in this, "Blob");
    const size = this.#size;
    const clamp = { __proto__: null, clamp: true };
    const first = start === undefined ? 0
      : absolute(converters["long long"](start, prefix, "Argument 1", clamp), size);
    const last = end === undefined ? size
      : absolute(converters["long long"](end, prefix, "Argument 2", clamp), size);
    const type = contentType === undefined ? ""
      : checkedType(converters.DOMString(contentType, prefix, "Argument 3"));
    return newBlob(sliceChunks(this.#chunks, first, last), type);
  }

  stream() {
    brandCheck(isObject(this) && #chunks in this, "Blob");
    return streamAccess.fromChunks(this.#chunks);
  }

  textStream() {
    brandCheck(isObject(this) && #chunks in this, "Blob");
    return realm.encoding.textStream(streamAccess.fromChunks(this.#chunks));
  }

  text() {
    if (!isObject(this) || !(#chunks in this)) {
      return PromiseReject(illegalInvocation("Blob"));
    }
    const chunks = this.#chunks;
    return PromiseResolve(utf8Decode(
      chunks.length === 1 ? chunks[0] : copyOf(chunks, this.#size), false, false));
  }

  arrayBuffer() {
    if (!isObject(this) || !(#chunks in this)) {
      return PromiseReject(illegalInvocation("Blob"));
    }
    return PromiseResolve(TypedArrayPrototypeGetBuffer(copyOf(this.#chunks, this.#size)));
  }

  bytes() {
    if (!isObject(this) || !(#chunks in this)) {
      return PromiseReject(illegalInvocation("Blob"));
    }
    return PromiseResolve(copyOf(this.#chunks, this.#size));
  }
}
webidl.configureInterface(Blob);

class File extends Blob {
  #name;
  #lastModified = 0;

  constructor(fileBits, fileName, options = undefined) {
    if (fileBits === internal) {
      super(internal);
      return;
    }
    const prefix = "Failed to construct 'File'";
    requiredArguments(arguments.length, 2, prefix);
    const parts = toBlobParts(fileBits, prefix, "Argument 1");
    const name = converters.USVString(fileName, prefix, "Argument 2");
    const bag = toFilePropertyBag(options, prefix, "Argument 3");
    super(internal);
    setBlob(this, chunksFromParts(parts, bag.endings), checkedType(bag.type));
    this.#name = name;
    this.#lastModified = bag.lastModified ?? DateNow();
  }

  static {
    isFile = (value) => #name in value;
    newFile = (chunks, name, type, lastModified = DateNow()) => {
      const file = setBlob(new File(internal), chunks, type);
      file.#name = name;
      file.#lastModified = lastModified;
      return file;
    };
  }

  get name() {
    return this.#name;
  }

  get lastModified() {
    return this.#lastModified;
  }
}
webidl.configureInterface(File);

function newBlob(chunks, type) {
  return setBlob(new Blob(internal), chunks, type);
}

// ---- blob URLs: https://w3c.github.io/FileAPI/#url

const store = { __proto__: null };

// A UUID of version 4. It only has to be unique, because it has no meaning outside of this isolate.
function newToken() {
  let token = "";
  for (let i = 0; i < 32; i++) {
    if (i === 8 || i === 12 || i === 16 || i === 20) token += "-";
    const digit = i === 12 ? 4 : MathFloor(MathRandom() * 16);
    token += "0123456789abcdef"[i === 16 ? (digit & 3) | 8 : digit];
  }
  return token;
}

function withoutFragment(href) {
  const hash = StringPrototypeIndexOf(href, "#");
  return hash === -1 ? href : StringPrototypeSlice(href, 0, hash);
}

realm.url.blobStore = {
  __proto__: null,
  create(object, prefix) {
    if (!isObject(object) || !isBlob(object)) {
      throw failure("is not a Blob", prefix, "Argument 1");
    }
    const base = realm.http?.baseURL;
    const origin = base === undefined ? "null" : new realm.url.URL(base).origin;
    const href = `blob:${origin}/${newToken()}`;
    store[href] = object;
    return href;
  },
  revoke(url) {
    const href = realm.url.parseHref(url, undefined);
    if (href !== undefined && withoutFragment(href) === href) delete store[href];
  },
};

webidl.converters.Blob = webidl.interfaceConverter("Blob", isBlob);

realm.blob = {
  __proto__: null,
  Blob,
  File,
  asFile: (blob, name, lastModified) => newFile(chunksOf(blob), name, typeOf(blob), lastModified),
  bytesOf,
  chunksOf,
  isBlob: (value) => isObject(value) && isBlob(value),
  isFile: (value) => isObject(value) && isFile(value),
  newBlob,
  newFile: (chunks, name, type) => newFile(chunks, name, type),
  resolve: (href) => store[withoutFragment(href)],
  sizeOf: (blob) => sizeOf(chunksOf(blob)),
  typeOf,
};
realm.expose({ Blob, File });
