// The methods of Buffer.prototype that read and write numbers.
"use strict";

function outOfRange(name, range, value) {
  const error = new RangeError(
    `The value of "${name}" is out of range. It must be ${range}. Received ${value}`);
  error.code = "ERR_OUT_OF_RANGE";
  return error;
}

function checkOffset(buffer, offset, bytes) {
  if (typeof offset !== "number") {
    const error = new TypeError(
      `The "offset" argument must be of type number. Received ${typeof offset}`);
    error.code = "ERR_INVALID_ARG_TYPE";
    throw error;
  }
  if (!Number.isInteger(offset)) throw outOfRange("offset", "an integer", offset);
  if (offset >= 0 && offset + bytes <= buffer.length) return;
  if (buffer.length < bytes) {
    const error = new RangeError("Attempt to access memory outside buffer bounds");
    error.code = "ERR_BUFFER_OUT_OF_BOUNDS";
    throw error;
  }
  throw outOfRange("offset", `>= 0 and <= ${buffer.length - bytes}`, offset);
}

function viewOf(buffer) {
  return new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength);
}

// Numbers that a DataView can read and write: [name, method, bytes, minimum, maximum].
const fixed = [
  ["UInt8", "Uint8", 1, 0, 0xFF], ["Int8", "Int8", 1, -0x80, 0x7F],
  ["UInt16", "Uint16", 2, 0, 0xFFFF], ["Int16", "Int16", 2, -0x8000, 0x7FFF],
  ["UInt32", "Uint32", 4, 0, 0xFFFFFFFF], ["Int32", "Int32", 4, -0x80000000, 0x7FFFFFFF],
  ["BigUInt64", "BigUint64", 8, 0n, 0xFFFFFFFFFFFFFFFFn],
  ["BigInt64", "BigInt64", 8, -0x8000000000000000n, 0x7FFFFFFFFFFFFFFFn],
  ["Float", "Float32", 4], ["Double", "Float64", 8],
];

function define(prototype, name, value) {
  Object.defineProperty(prototype, name, {
    value, writable: true, enumerable: true, configurable: true,
  });
  // Node.js has both spellings.
  if (name.includes("UInt")) {
    Object.defineProperty(prototype, name.replace("UInt", "Uint"), {
      value, writable: true, enumerable: true, configurable: true,
    });
  }
}

function defineFixed(prototype, [name, method, bytes, least, most], suffix, isLittle) {
  const get = DataView.prototype[`get${method}`];
  const set = DataView.prototype[`set${method}`];
  define(prototype, `read${name}${suffix}`, function (offset = 0) {
    checkOffset(this, offset, bytes);
    return get.call(viewOf(this), offset, isLittle);
  });
  define(prototype, `write${name}${suffix}`, function (value, offset = 0) {
    const number = typeof least === "bigint" ? value : +value;
    if (least !== undefined && (number < least || number > most)) {
      throw outOfRange("value", `>= ${least} and <= ${most}`, value);
    }
    checkOffset(this, offset, bytes);
    set.call(viewOf(this), offset, number, isLittle);
    return offset + bytes;
  });
}

function checkLength(bytes) {
  if (!(bytes >= 1 && bytes <= 6)) throw outOfRange("byteLength", ">= 1 and <= 6", bytes);
}

function readUnsigned(buffer, offset, bytes, isLittle) {
  checkLength(bytes);
  checkOffset(buffer, offset, bytes);
  let value = 0;
  for (let i = 0; i < bytes; i++) {
    value = value * 256 + buffer[offset + (isLittle ? bytes - 1 - i : i)];
  }
  return value;
}

function writeBytes(buffer, value, offset, bytes, isLittle, least, most) {
  checkLength(bytes);
  if (value < least || value > most) throw outOfRange("value", `>= ${least} and <= ${most}`, value);
  checkOffset(buffer, offset, bytes);
  let rest = value < 0 ? value + 256 ** bytes : value;
  for (let i = 0; i < bytes; i++) {
    buffer[offset + (isLittle ? i : bytes - 1 - i)] = rest % 256;
    rest = Math.floor(rest / 256);
  }
  return offset + bytes;
}

function defineVariable(prototype, suffix, isLittle) {
  define(prototype, `readUInt${suffix}`, function (offset, bytes) {
    return readUnsigned(this, offset, bytes, isLittle);
  });
  define(prototype, `readInt${suffix}`, function (offset, bytes) {
    const value = readUnsigned(this, offset, bytes, isLittle);
    return value >= 256 ** bytes / 2 ? value - 256 ** bytes : value;
  });
  define(prototype, `writeUInt${suffix}`, function (value, offset, bytes) {
    return writeBytes(this, +value, offset, bytes, isLittle, 0, 256 ** bytes - 1);
  });
  define(prototype, `writeInt${suffix}`, function (value, offset, bytes) {
    const half = 256 ** bytes / 2;
    return writeBytes(this, +value, offset, bytes, isLittle, -half, half - 1);
  });
}

function defineNumbers(prototype) {
  for (const one of fixed) {
    if (one[2] === 1) {
      defineFixed(prototype, one, "", false);
      continue;
    }
    defineFixed(prototype, one, "LE", true);
    defineFixed(prototype, one, "BE", false);
  }
  defineVariable(prototype, "LE", true);
  defineVariable(prototype, "BE", false);
}

return { defineNumbers, outOfRange };
