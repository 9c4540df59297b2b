// node:buffer. https://nodejs.org/api/buffer.html
"use strict";

const { byteLength, bytesOf, encodingOf, textOf, toEncoding } = load("buffer_text");
const { defineNumbers, outOfRange } = load("buffer_numbers");

const kMaxLength = 2 ** 32;
const kStringMaxLength = 2 ** 29 - 24;

function invalid(message, code = "ERR_INVALID_ARG_TYPE") {
  const error = new TypeError(message);
  error.code = code;
  return error;
}

function describe(value) {
  if (value === null || value === undefined) return `Received ${value}`;
  if (typeof value === "function") return `Received function ${value.name}`;
  if (typeof value === "object") return `Received an instance of ${value.constructor?.name}`;
  return `Received type ${typeof value} (${realm.inspect(value)})`;
}

function checkSize(size) {
  if (typeof size !== "number") {
    throw invalid(`The "size" argument must be of type number. ${describe(size)}`);
  }
  if (!(size >= 0 && size <= kMaxLength)) {
    throw outOfRange("size", `>= 0 && <= ${kMaxLength}`, size);
  }
}

class FastBuffer extends Uint8Array {}

// As a plain Uint8Array, because the native functions and `map` would otherwise make Buffers.
function plain(buffer) {
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
}

function wrap(bytes) {
  return new FastBuffer(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function isView(value) {
  return ArrayBuffer.isView(value);
}

function viewBytes(value, name) {
  if (!isView(value)) {
    throw invalid(`The "${name}" argument must be an instance of Buffer or Uint8Array. ` +
      describe(value));
  }
  return plain(value);
}

// A function and not a class, because packages still call Buffer(8) without `new`.
function Buffer(value, encodingOrOffset, length) {
  if (typeof value === "number") return Buffer.alloc(value);
  return Buffer.from(value, encodingOrOffset, length);
}
Object.setPrototypeOf(Buffer, Uint8Array);
Buffer.prototype = FastBuffer.prototype;
Object.defineProperty(FastBuffer.prototype, "constructor", {
  value: Buffer, writable: true, configurable: true, enumerable: false,
});
Object.defineProperty(Buffer, Symbol.species, {
  configurable: true, enumerable: false, get: () => FastBuffer,
});

function fromObject(value, encodingOrOffset, length) {
  if (value instanceof ArrayBuffer ||
      (typeof SharedArrayBuffer === "function" && value instanceof SharedArrayBuffer)) {
    return new FastBuffer(value, encodingOrOffset, length);
  }
  const primitive = value.valueOf?.();
  if (primitive !== null && primitive !== undefined && primitive !== value &&
      (typeof primitive === "string" || typeof primitive === "object")) {
    return Buffer.from(primitive, encodingOrOffset, length);
  }
  if (value.type === "Buffer" && Array.isArray(value.data)) return Buffer.from(value.data);
  if (value.length !== undefined || isView(value)) {
    const made = new FastBuffer(typeof value.length === "number" ? Math.max(0, value.length) : 0);
    for (let i = 0; i < made.length; i++) made[i] = value[i];
    return made;
  }
  const toPrimitive = value[Symbol.toPrimitive];
  if (typeof toPrimitive === "function") {
    return Buffer.from(toPrimitive.call(value, "string"), encodingOrOffset);
  }
  return undefined;
}

const statics = {
  poolSize: 8192,

  from(value, encodingOrOffset = undefined, length = undefined) {
    if (typeof value === "string") return wrap(bytesOf(value, encodingOrOffset));
    const made = value !== null && typeof value === "object"
      ? fromObject(value, encodingOrOffset, length) : undefined;
    if (made !== undefined) return made;
    throw invalid("The first argument must be of type string or an instance of Buffer, " +
      `ArrayBuffer, or Array or an Array-like Object. ${describe(value)}`);
  },

  of: (...items) => Buffer.from(items),

  alloc(size, fill = undefined, encoding = undefined) {
    checkSize(size);
    const made = new FastBuffer(size);
    return fill === undefined || fill === 0 || size === 0 ? made : made.fill(fill, encoding);
  },
  allocUnsafe(size) {
    checkSize(size);
    return new FastBuffer(size);
  },
  allocUnsafeSlow(size) {
    checkSize(size);
    return new FastBuffer(size);
  },

  isBuffer: (value) => value instanceof FastBuffer,
  isEncoding: (name) => typeof name === "string" && name !== "" && encodingOf(name) !== undefined,

  byteLength(value, encoding = undefined) {
    if (typeof value === "string") return byteLength(value, encoding);
    if (isView(value) || value instanceof ArrayBuffer) return value.byteLength;
    throw invalid('The "string" argument must be of type string or an instance of Buffer or ' +
      `ArrayBuffer. ${describe(value)}`);
  },

  concat(list, total = undefined) {
    if (!Array.isArray(list)) {
      throw invalid(`The "list" argument must be an instance of Array. ${describe(list)}`);
    }
    const views = list.map((one, i) => viewBytes(one, `list[${i}]`));
    const size = total ?? views.reduce((sum, view) => sum + view.length, 0);
    const made = Buffer.alloc(size);
    let at = 0;
    for (const view of views) {
      if (at >= size) break;
      const part = at + view.length > size ? view.subarray(0, size - at) : view;
      made.set(part, at);
      at += part.length;
    }
    return made;
  },

  compare(a, b) {
    return compareBytes(viewBytes(a, "buf1"), viewBytes(b, "buf2"));
  },

  copyBytesFrom(view, offset = 0, length = undefined) {
    const end = length === undefined ? undefined : offset + length;
    return Buffer.from(plain(view.subarray(offset, end)));
  },
};
Object.assign(Buffer, statics);

function compareBytes(a, b) {
  const both = Math.min(a.length, b.length);
  for (let i = 0; i < both; i++) {
    if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1;
  }
  return Math.sign(a.length - b.length);
}

function clamp(value, fallback, most) {
  const number = value === undefined ? fallback : Math.trunc(+value) || 0;
  return Math.min(Math.max(number, 0), most);
}

function find(buffer, value, from, encoding, isBackward) {
  if (typeof from === "string") [from, encoding] = [undefined, from];
  const sought = typeof value === "number" ? Uint8Array.of(value)
    : typeof value === "string" ? bytesOf(value, encoding) : viewBytes(value, "value");
  const last = buffer.length - sought.length;
  // An empty value is found at every position, also at the end.
  if (sought.length === 0 && !isBackward && Math.trunc(+from) > last) return last;
  let at = Number.isNaN(+from) || from === undefined ? (isBackward ? last : 0) : Math.trunc(+from);
  if (at < 0) at = Math.max(isBackward ? -1 : 0, buffer.length + at);
  if (isBackward) at = Math.min(at, last);
  for (; at >= 0 && at <= last; at += isBackward ? -1 : 1) {
    let same = 0;
    while (same < sought.length && buffer[at + same] === sought[same]) same++;
    if (same === sought.length) return at;
  }
  return -1;
}

const methods = {
  toString(encoding = undefined, start = 0, end = this.length) {
    if (arguments.length === 0) return textOf(plain(this), "utf8");
    const from = clamp(start, 0, this.length);
    const to = clamp(end, this.length, this.length);
    return from >= to ? "" : textOf(plain(this).subarray(from, to), encoding);
  },
  toJSON() {
    return { type: "Buffer", data: Array.from(this) };
  },
  equals(other) {
    return compareBytes(this, viewBytes(other, "otherBuffer")) === 0;
  },
  compare(target, targetStart = 0, targetEnd = target.length, start = 0, end = this.length) {
    return compareBytes(plain(this).subarray(start, end),
      viewBytes(target, "target").subarray(targetStart, targetEnd));
  },
  copy(target, targetStart = 0, start = 0, end = this.length) {
    const into = viewBytes(target, "target");
    if (targetStart < 0) throw outOfRange("targetStart", ">= 0", targetStart);
    if (start < 0 || start > this.length) {
      throw outOfRange("sourceStart", `>= 0 && <= ${this.length}`, start);
    }
    if (end < 0) throw outOfRange("sourceEnd", ">= 0", end);
    const part = plain(this).subarray(start, Math.min(end, start + into.length - targetStart));
    if (targetStart >= into.length || part.length === 0) return 0;
    into.set(part, targetStart);
    return part.length;
  },
  slice(start, end) {
    return this.subarray(start, end);
  },
  subarray(start, end) {
    const part = plain(this).subarray(start, end);
    return wrap(part);
  },

  write(text, offset = 0, length = undefined, encoding = undefined) {
    if (typeof offset === "string") [offset, length, encoding] = [0, undefined, offset];
    if (typeof length === "string") [length, encoding] = [undefined, length];
    if (typeof text !== "string") throw invalid(`The "string" argument must be of type string.`);
    if (offset < 0 || offset > this.length) {
      throw outOfRange("offset", `>= 0 && <= ${this.length}`, offset);
    }
    const room = Math.min(length ?? Infinity, this.length - offset);
    let bytes = bytesOf(text, encoding);
    if (bytes.length > room) {
      let end = room;
      // An incomplete character is not written.
      if (toEncoding(encoding) === "utf8") while (end > 0 && (bytes[end] & 0xC0) === 0x80) end--;
      if (toEncoding(encoding) === "utf16le") end -= end % 2;
      bytes = bytes.subarray(0, end);
    }
    this.set(bytes, offset);
    return bytes.length;
  },

  fill(value, offset = 0, end = this.length, encoding = undefined) {
    if (typeof offset === "string") [offset, encoding] = [0, offset];
    else if (typeof end === "string") [end, encoding] = [this.length, end];
    const limits = `>= 0 && <= ${this.length}`;
    if (offset < 0 || offset > this.length) throw outOfRange("offset", limits, offset);
    if (end < 0 || end > this.length) throw outOfRange("end", limits, end);
    if (typeof value !== "string" && !isView(value)) {
      Uint8Array.prototype.fill.call(this, +value & 255, offset, end);
      return this;
    }
    const bytes = typeof value === "string" ? bytesOf(value, encoding) : plain(value);
    if (bytes.length === 0) {
      if (value.length > 0) {
        throw invalid(`The argument 'value' is invalid. Received '${value}'`,
          "ERR_INVALID_ARG_VALUE");
      }
      Uint8Array.prototype.fill.call(this, 0, offset, end);
      return this;
    }
    for (let i = offset; i < end; i++) this[i] = bytes[(i - offset) % bytes.length];
    return this;
  },

  indexOf(value, from = undefined, encoding = undefined) {
    return find(this, value, from, encoding, false);
  },
  lastIndexOf(value, from = undefined, encoding = undefined) {
    return find(this, value, from, encoding, true);
  },
  includes(value, from = undefined, encoding = undefined) {
    return find(this, value, from, encoding, false) >= 0;
  },

  swap16() {
    return swapped(this, 2);
  },
  swap32() {
    return swapped(this, 4);
  },
  swap64() {
    return swapped(this, 8);
  },
};
methods.toLocaleString = methods.toString;

function swapped(buffer, size) {
  if (buffer.length % size !== 0) {
    const error = new RangeError(`Buffer size must be a multiple of ${size * 8}-bits`);
    error.code = "ERR_INVALID_BUFFER_SIZE";
    throw error;
  }
  for (let at = 0; at < buffer.length; at += size) plain(buffer).subarray(at, at + size).reverse();
  return buffer;
}

for (const [suffix, encoding] of [["ascii", "ascii"], ["base64", "base64"],
  ["base64url", "base64url"], ["hex", "hex"], ["latin1", "latin1"], ["ucs2", "utf16le"],
  ["utf8", "utf8"]]) {
  methods[`${suffix}Slice`] = function (start, end) {
    return this.toString(encoding, start, end);
  };
  methods[`${suffix}Write`] = function (text, offset, length) {
    return this.write(text, offset, length, encoding);
  };
}

for (const name of Object.keys(methods)) {
  Object.defineProperty(Buffer.prototype, name, {
    value: methods[name], writable: true, enumerable: true, configurable: true,
  });
}
defineNumbers(Buffer.prototype);
Object.defineProperty(Buffer.prototype, "parent", {
  configurable: true,
  get() {
    return this instanceof FastBuffer ? this.buffer : undefined;
  },
});
Object.defineProperty(Buffer.prototype, "offset", {
  configurable: true,
  get() {
    return this instanceof FastBuffer ? this.byteOffset : undefined;
  },
});
Object.defineProperty(Buffer.prototype, Symbol.for("nodejs.util.inspect.custom"), {
  configurable: true,
  writable: true,
  value() {
    const shown = textOf(plain(this).subarray(0, 50), "hex").replace(/(.{2})(?=.)/g, "$1 ");
    const more = this.length > 50 ? ` ... ${this.length - 50} more bytes` : "";
    return `<Buffer${shown === "" ? "" : " "}${shown}${more}>`;
  },
});

function isUtf8(value) {
  return native.utf8Decode(plain(value), true, true) !== undefined;
}

const buffer = {
  Buffer,
  SlowBuffer: Buffer.allocUnsafeSlow,
  Blob: globalThis.Blob,
  File: globalThis.File,
  atob: globalThis.atob,
  btoa: globalThis.btoa,
  constants: { MAX_LENGTH: kMaxLength, MAX_STRING_LENGTH: kStringMaxLength },
  kMaxLength,
  kStringMaxLength,
  INSPECT_MAX_BYTES: 50,
  isUtf8,
  isAscii: (value) => plain(value).every((byte) => byte < 128),
  transcode: (source, from, to) => Buffer.from(Buffer.from(source).toString(from), to),
  resolveObjectURL: () => undefined,
};

return { "node:buffer": buffer, plain };
