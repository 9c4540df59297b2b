// The methods of arrays and typed arrays that return a changed copy.

const {
  Array, ArrayPrototype, ArrayPrototypeSort, BigIntAsIntN, MathMax, MathMin, NumberIsNaN,
  NumberMAX_SAFE_INTEGER, Object, RangeError, TypeError, TypedArrayPrototype,
  TypedArrayPrototypeGetLength, TypedArrayPrototypeGetSymbolToStringTag, TypedArrayPrototypeSort,
} = realm.primordials;
const { defineMissing } = realm.language;

const MAX_LENGTH = 4294967295;

// https://tc39.es/ecma262/#sec-tointegerorinfinity
function toInteger(value) {
  const number = +value;
  if (NumberIsNaN(number) || number === 0) return 0;
  return number - (number % 1 || 0);
}

// https://tc39.es/ecma262/#sec-lengthofarraylike
function lengthOf(list) {
  return MathMin(MathMax(toInteger(list.length), 0), NumberMAX_SAFE_INTEGER);
}

function toList(value, name) {
  if (value === undefined || value === null) {
    throw new TypeError(`Array.prototype.${name} was called on null or undefined`);
  }
  return Object(value);
}

function newArray(length) {
  if (length > MAX_LENGTH) throw new RangeError("Invalid array length");
  return new Array(length);
}

function checkComparator(comparator) {
  if (comparator !== undefined && typeof comparator !== "function") {
    throw new TypeError("The comparison function must be a function or undefined");
  }
}

// An index counted from the end if it is negative, within the length.
function clampedIndex(value, length) {
  const index = toInteger(value);
  return index < 0 ? MathMax(length + index, 0) : MathMin(index, length);
}

defineMissing(ArrayPrototype, {
  // https://tc39.es/ecma262/#sec-array.prototype.toreversed
  toReversed() {
    const list = toList(this, "toReversed");
    const length = lengthOf(list);
    const reversed = newArray(length);
    for (let i = 0; i < length; i++) reversed[i] = list[length - 1 - i];
    return reversed;
  },

  // https://tc39.es/ecma262/#sec-array.prototype.tosorted
  toSorted(comparator) {
    checkComparator(comparator);
    const list = toList(this, "toSorted");
    const length = lengthOf(list);
    const sorted = newArray(length);
    for (let i = 0; i < length; i++) sorted[i] = list[i];
    return ArrayPrototypeSort(sorted, comparator);
  },

  // https://tc39.es/ecma262/#sec-array.prototype.tospliced
  toSpliced(start, skipCount, ...items) {
    const list = toList(this, "toSpliced");
    const length = lengthOf(list);
    const from = clampedIndex(start, length);
    let skipped = 0;
    if (arguments.length === 1) skipped = length - from;
    else if (arguments.length > 1) {
      skipped = MathMin(MathMax(toInteger(skipCount), 0), length - from);
    }
    const newLength = length + items.length - skipped;
    if (newLength > NumberMAX_SAFE_INTEGER) throw new TypeError("The array would be too long");
    const spliced = newArray(newLength);
    let at = 0;
    for (let i = 0; i < from; i++) spliced[at++] = list[i];
    for (let i = 0; i < items.length; i++) spliced[at++] = items[i];
    for (let i = from + skipped; i < length; i++) spliced[at++] = list[i];
    return spliced;
  },

  // https://tc39.es/ecma262/#sec-array.prototype.with
  with(index, value) {
    const list = toList(this, "with");
    const length = lengthOf(list);
    const relative = toInteger(index);
    const actual = relative < 0 ? length + relative : relative;
    if (actual < 0 || actual >= length) throw new RangeError("Invalid index");
    const changed = newArray(length);
    for (let i = 0; i < length; i++) changed[i] = i === actual ? value : list[i];
    return changed;
  },
}, 110);

// A copy with the same element type, which no subclass can influence.
function copied(typedArray) {
  const length = TypedArrayPrototypeGetLength(typedArray);  // throws if it is not a typed array
  const constructor = realm.primordials[TypedArrayPrototypeGetSymbolToStringTag(typedArray)];
  const copy = new constructor(length);
  for (let i = 0; i < length; i++) copy[i] = typedArray[i];
  return copy;
}

defineMissing(TypedArrayPrototype, {
  toReversed() {
    const reversed = copied(this);
    const { length } = reversed;
    for (let i = 0; i < length; i++) reversed[i] = this[length - 1 - i];
    return reversed;
  },

  toSorted(comparator) {
    checkComparator(comparator);
    return TypedArrayPrototypeSort(copied(this), comparator);
  },

  // https://tc39.es/ecma262/#sec-%typedarray%.prototype.with
  with(index, value) {
    const length = TypedArrayPrototypeGetLength(this);
    const relative = toInteger(index);
    const actual = relative < 0 ? length + relative : relative;
    const tag = TypedArrayPrototypeGetSymbolToStringTag(this);
    const isBig = tag === "BigInt64Array" || tag === "BigUint64Array";
    const element = isBig ? BigIntAsIntN(64, value) : +value;
    if (!(actual >= 0 && actual < TypedArrayPrototypeGetLength(this))) {
      throw new RangeError("Invalid typed array index");
    }
    const changed = copied(this);
    changed[actual] = element;
    return changed;
  },
}, 110);
