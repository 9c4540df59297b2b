// Limits on the memory that one function of the language may request from V8 at once.
//
// Within such a function V8 checks neither the heap limit nor whether it should terminate; if it
// gets no memory there, the process ends. So arguments that certainly need too much memory are
// refused before, with a RangeError. Small arguments cost only a comparison or two.
//
// The functions look like those of the engine, also to Function.prototype.toString().
//
// NB: The length of a large array is read one more time than the language specifies, which a Proxy
// of an array can observe.

const {
  ArrayIsArray, ArrayPrototype, ArrayPrototypeFill, ArrayPrototypePush, FunctionPrototype,
  FunctionPrototypeToString, MathMax, MathMin, ObjectDefineProperty, ObjectKeys, RangeError,
  StringPrototype, StringPrototypeSplit,
} = realm.primordials;
const { heapLimit } = native;

const kLarge = 1 << 20;
// The size of an element of an array.
const kSlotBytes = 8;
// V8 ends the process when a longer list is requested.
const kSlotsMax = 2 ** 27 - 3;

function refuse(name) {
  throw new RangeError(`${name}: the result needs more memory than the limit (limits.heapMiB)`);
}

// ToIntegerOrInfinity and clamping, for values whose conversion runs no code.
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
