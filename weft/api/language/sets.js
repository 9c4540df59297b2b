// The methods of sets that take another set: https://tc39.es/ecma262/#sec-set-objects

const {
  FunctionPrototypeCall, NumberIsNaN, RangeError, Set, SetPrototype, SetPrototypeAdd,
  SetPrototypeDelete, SetPrototypeGetSize, SetPrototypeHas, SetPrototypeValues, TypeError,
} = realm.primordials;
const { isObject } = realm.webidl;
const { defineMissing } = realm.language;

// https://tc39.es/ecma262/#sec-getsetrecord
class SetRecord {
  constructor(other) {
    if (!isObject(other)) throw new TypeError("The other set is no object");
    const size = +other.size;
    if (NumberIsNaN(size)) throw new TypeError("The size of the other set is not a number");
    this.size = size - (size % 1 || 0);
    if (this.size < 0) throw new RangeError("The size of the other set is negative");
    this.other = other;
    this.hasMethod = other.has;
    if (typeof this.hasMethod !== "function") {
      throw new TypeError("The other set has no method has()");
    }
    this.keysMethod = other.keys;
    if (typeof this.keysMethod !== "function") {
      throw new TypeError("The other set has no method keys()");
    }
  }

  has(value) { return !!FunctionPrototypeCall(this.hasMethod, this.other, value); }

  // Calls `use` for each key until it returns true; then closes the iterator.
  someKey(use) {
    const keys = FunctionPrototypeCall(this.keysMethod, this.other);
    if (!isObject(keys)) throw new TypeError("The keys of the other set are no iterator");
    const { next } = keys;
    while (true) {
      const result = FunctionPrototypeCall(next, keys);
      if (!isObject(result)) throw new TypeError("The result of an iterator is no object");
      if (result.done) return false;
      const key = result.value;
      if (!use(key === 0 ? 0 : key)) continue;
      const { return: close } = keys;
      if (close !== undefined && close !== null) FunctionPrototypeCall(close, keys);
      return true;
    }
  }
}

// Visits the elements one by one, including those that the visitor appends, as the specification
// does when it iterates over [[SetData]].
const { next: nextOfSet } = SetPrototypeValues(new Set()).__proto__;

function someElement(set, use) {
  const values = SetPrototypeValues(set);
  while (true) {
    const { done, value } = FunctionPrototypeCall(nextOfSet, values);
    if (done) return false;
    if (use(value)) return true;
  }
}

function copyOf(set) {
  const copy = new Set();
  someElement(set, (value) => { SetPrototypeAdd(copy, value); });
  return copy;
}

defineMissing(SetPrototype, {
  union(other) {
    SetPrototypeGetSize(this);  // throws if it is not a set
    const record = new SetRecord(other);
    const result = copyOf(this);
    record.someKey((key) => { SetPrototypeAdd(result, key); });
    return result;
  },

  intersection(other) {
    const size = SetPrototypeGetSize(this);
    const record = new SetRecord(other);
    const result = new Set();
    if (size <= record.size) {
      someElement(this, (value) => { if (record.has(value)) SetPrototypeAdd(result, value); });
    } else {
      record.someKey((key) => { if (SetPrototypeHas(this, key)) SetPrototypeAdd(result, key); });
    }
    return result;
  },

  difference(other) {
    const size = SetPrototypeGetSize(this);
    const record = new SetRecord(other);
    const result = copyOf(this);
    if (size <= record.size) {
      someElement(this, (value) => { if (record.has(value)) SetPrototypeDelete(result, value); });
    } else {
      record.someKey((key) => { SetPrototypeDelete(result, key); });
    }
    return result;
  },

  symmetricDifference(other) {
    SetPrototypeGetSize(this);
    const record = new SetRecord(other);
    const result = copyOf(this);
    record.someKey((key) => {
      if (SetPrototypeHas(this, key)) SetPrototypeDelete(result, key);
      else SetPrototypeAdd(result, key);
    });
    return result;
  },

  isSubsetOf(other) {
    const size = SetPrototypeGetSize(this);
    const record = new SetRecord(other);
    if (size > record.size) return false;
    return !someElement(this, (value) => !record.has(value));
  },

  isSupersetOf(other) {
    const size = SetPrototypeGetSize(this);
    const record = new SetRecord(other);
    if (size < record.size) return false;
    return !record.someKey((key) => !SetPrototypeHas(this, key));
  },

  isDisjointFrom(other) {
    const size = SetPrototypeGetSize(this);
    const record = new SetRecord(other);
    if (size <= record.size) return !someElement(this, (value) => record.has(value));
    return !record.someKey((key) => SetPrototypeHas(this, key));
  },
});
