// What one function of the language may ask of V8 in one piece.
//
// Within such a function V8 looks neither at the limit of the heap nor whether it is to end: when it
// gets no memory there, the process ends. So what certainly does not fit is refused before, with a
// RangeError. What is small is passed on by a comparison or two.
//
// The functions look like those of the engine, to Function.prototype.toString() as well.
//
// NB: The length of an array that is large is read once more than the language says, which a Proxy
// of an array can see.

const {
  ArrayIsArray, ArrayPrototype, ArrayPrototypeFill, ArrayPrototypePush, FunctionPrototype,
  FunctionPrototypeToString, MathMax, MathMin, ObjectDefineProperty, ObjectKeys, RangeError,
  StringPrototype, StringPrototypeSplit,
} = realm.primordials;
const { heapLimit } = native;

const kLarge = 1 << 20;
// Of an element of an array.
const kSlotBytes = 8;
// V8 ends the process when it is asked for a longer list.
const kSlotsMax = 2 ** 27 - 3;

function refuse(name) {
  throw new RangeError(`${name}: the result needs more memory than the limit (limits.heapMiB)`);
}

// ToIntegerOrInfinity and clamping, of what has no code of its own.
function position(value, length, missing) {
  if (value === undefined) return missing;
  return value < 0 ? MathMax(length + value, 0) : MathMin(value, length);
}

function checkFill(length, start, end) {
  if (start !== undefined && typeof start !== "number") return;
  if (end !== undefined && typeof end !== "number") return;
  const slots = position(end, length, length) - position(start, length, 0);
  if (slots * kSlotBytes > heapLimit()) refuse("Array.prototype.fill");
}

const bounded = [];

function replace(holder, methods) {
  const names = ObjectKeys(methods);
  for (let i = 0; i < names.length; i++) {
    const method = methods[names[i]];
    ArrayPrototypePush(bounded, method);
    ObjectDefineProperty(holder, names[i], {
      __proto__: null, value: method, writable: true, enumerable: false, configurable: true,
    });
  }
}

replace(ArrayPrototype, {
  fill(value, start = undefined, end = undefined) {
    if (ArrayIsArray(this) && this.length > kLarge) checkFill(this.length, start, end);
    return ArrayPrototypeFill(this, value, start, end);
  },
});

replace(StringPrototype, {
  split(separator, limit) {
    if (separator === "" && typeof this === "string" && this.length > kLarge &&
        limit === undefined &&
        (this.length > kSlotsMax || this.length * kSlotBytes > heapLimit())) {
      refuse("String.prototype.split");
    }
    return StringPrototypeSplit(this, separator, limit);
  },
});

const names = ["fill", "split", "toString"];

replace(FunctionPrototype, {
  toString() {
    for (let i = 0; i < bounded.length; i++) {
      if (this === bounded[i]) return `function ${names[i]}() { [native code] }`;
    }
    return FunctionPrototypeToString(this);
  },
});
