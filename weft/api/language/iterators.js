// Iterator and its helpers: https://tc39.es/ecma262/#sec-iterator-objects

const {
  ArrayPrototypePush, FunctionPrototypeCall, IteratorPrototype, NumberIsNaN, ObjectCreate,
  ObjectDefineProperty, ObjectPrototypeHasOwnProperty, ObjectPrototypeIsPrototypeOf,
  ObjectSetPrototypeOf, RangeError, Symbol, SymbolIterator, SymbolToStringTag, TypeError, globalThis,
} = realm.primordials;
const { isObject } = realm.webidl;
const { defineMissing } = realm.language;

// ---- walking

class IteratorRecord {
  constructor(iterator, next) {
    this.iterator = iterator;
    this.next = next;
    this.value = undefined;
  }

  // Returns whether there is another value, which is in `value` then.
  step() {
    const result = FunctionPrototypeCall(this.next, this.iterator);
    if (!isObject(result)) throw new TypeError("The result of an iterator is no object");
    if (result.done) return false;
    this.value = result.value;
    return true;
  }

  close() {
    const { return: close } = this.iterator;
    if (close === undefined || close === null) return;
    const result = FunctionPrototypeCall(close, this.iterator);
    if (!isObject(result)) throw new TypeError("The result of an iterator's return is no object");
  }

  // Closes because of an error; that error is the one that is thrown.
  closeQuietly() {
    try {
      this.close();
    } catch {
      // The first error is reported.
    }
  }
}

function checkObject(iterator) {
  if (!isObject(iterator)) throw new TypeError("An iterator's method was called on no object");
}

function directRecord(iterator) {
  checkObject(iterator);
  return new IteratorRecord(iterator, iterator.next);
}

// Arguments are checked before next() is read; an invalid one closes the iterator.
function checkFunction(iterator, callback) {
  checkObject(iterator);
  if (typeof callback === "function") return;
  new IteratorRecord(iterator, undefined).closeQuietly();
  throw new TypeError("The callback is not a function");
}

function countOf(iterator, value) {
  checkObject(iterator);
  let number;
  try {
    number = +value;
    if (NumberIsNaN(number)) throw new RangeError("The limit is not a number");
    number -= number % 1 || 0;
    if (number < 0) throw new RangeError("The limit is negative");
  } catch (error) {
    new IteratorRecord(iterator, undefined).closeQuietly();
    throw error;
  }
  return number;
}

// https://tc39.es/ecma262/#sec-getiteratorflattenable
function flattenable(value) {
  const method = value[SymbolIterator];
  return directRecord(method === undefined || method === null
    ? value : FunctionPrototypeCall(method, value));
}

// Calls the callback; an error closes the iterator and is thrown on.
function called(record, callback, value, index) {
  try {
    return callback(value, index);
  } catch (error) {
    record.closeQuietly();
    throw error;
  }
}

// ---- helper objects

const SKIP = Symbol("skip");

class Helper {
  #record;
  #step;       // (value, index): returns the result for the value, or SKIP
  #remaining;  // how many more values are taken
  #inner = null;  // of flatMap: the iterator whose values are being returned
  #index = 0;
  #done = false;
  #running = false;

  constructor(record, step, remaining = Infinity) {
    this.#record = record;
    this.#step = step;
    this.#remaining = remaining;
    ObjectSetPrototypeOf(this, HelperPrototype);
  }

  static check(helper) {
    if (!(isObject(helper) && #record in helper)) throw new TypeError("Illegal invocation");
    if (helper.#running) throw new TypeError("The iterator helper is running already");
  }

  static next(helper) {
    Helper.check(helper);
    if (helper.#done) return { value: undefined, done: true };
    helper.#running = true;
    let isOver = true;
    try {
      const value = helper.#advance();
      isOver = value === SKIP;
      return { value: isOver ? undefined : value, done: isOver };
    } finally {
      helper.#done = isOver;
      helper.#running = false;
    }
  }

  // Returns SKIP at the end.
  #advance() {
    while (true) {
      if (this.#inner !== null) {
        if (called(this.#record, stepOf, this.#inner)) return this.#inner.value;
        this.#inner = null;
      }
      if (this.#remaining === 0) {
        this.#record.close();
        return SKIP;
      }
      this.#remaining--;
      if (!this.#record.step()) return SKIP;
      const made = called(this.#record, this.#step, this.#record.value, this.#index++);
      if (made instanceof IteratorRecord) this.#inner = made;
      else if (made !== SKIP) return made;
    }
  }

  static return(helper) {
    Helper.check(helper);
    if (!helper.#done) {
      helper.#done = true;
      if (helper.#inner !== null) called(helper.#record, closeOf, helper.#inner);
      helper.#record.close();
    }
    return { value: undefined, done: true };
  }
}

const stepOf = (record) => record.step();
const closeOf = (record) => record.close();

const HelperPrototype = ObjectCreate(IteratorPrototype);
defineMissing(HelperPrototype, {
  next() { return Helper.next(this); },
});
ObjectDefineProperty(HelperPrototype, "return", {
  __proto__: null,
  value: { return() { return Helper.return(this); } }.return,
  writable: true, enumerable: false, configurable: true,
});
ObjectDefineProperty(HelperPrototype, SymbolToStringTag, {
  __proto__: null, value: "Iterator Helper", writable: false, enumerable: false, configurable: true,
});

// ---- the methods

// Calls `use` for each value until it returns true; then closes the iterator.
function someValue(record, use) {
  for (let index = 0; record.step(); index++) {
    if (!called(record, use, record.value, index)) continue;
    record.close();
    return true;
  }
  return false;
}

defineMissing(IteratorPrototype, {
  map(callback) {
    checkFunction(this, callback);
    return new Helper(directRecord(this), (value, index) => callback(value, index));
  },

  filter(callback) {
    checkFunction(this, callback);
    return new Helper(directRecord(this),
                      (value, index) => (callback(value, index) ? value : SKIP));
  },

  take(limit) {
    const count = countOf(this, limit);
    return new Helper(directRecord(this), (value) => value, count);
  },

  drop(limit) {
    const count = countOf(this, limit);
    return new Helper(directRecord(this), (value, index) => (index < count ? SKIP : value));
  },

  flatMap(callback) {
    checkFunction(this, callback);
    return new Helper(directRecord(this), (value, index) => {
      const mapped = callback(value, index);
      if (!isObject(mapped)) throw new TypeError("The callback gave nothing that is iterable");
      return flattenable(mapped);
    });
  },

  reduce(callback, initial) {
    checkFunction(this, callback);
    const record = directRecord(this);
    let index = 0;
    let total = initial;
    if (arguments.length < 2) {
      if (!record.step()) throw new TypeError("An iterator without values has no first one");
      total = record.value;
      index = 1;
    }
    for (; record.step(); index++) {
      const at = index;
      const before = total;
      total = called(record, (value) => callback(before, value, at), record.value);
    }
    return total;
  },

  toArray() {
    const record = directRecord(this);
    const values = [];
    while (record.step()) ArrayPrototypePush(values, record.value);
    return values;
  },

  forEach(callback) {
    checkFunction(this, callback);
    someValue(directRecord(this), (value, index) => { callback(value, index); });
  },

  some(callback) {
    checkFunction(this, callback);
    return someValue(directRecord(this), (value, index) => callback(value, index));
  },

  every(callback) {
    checkFunction(this, callback);
    return !someValue(directRecord(this), (value, index) => !callback(value, index));
  },

  find(callback) {
    checkFunction(this, callback);
    let found;
    someValue(directRecord(this), (value, index) => {
      if (!callback(value, index)) return false;
      found = value;
      return true;
    });
    return found;
  },
});

// ---- the class

// https://tc39.es/ecma262/#sec-iterator-constructor
// A class could not have the existing prototype of iterators.
function Iterator() {
  if (new.target === undefined || new.target === Iterator) {
    throw new TypeError("Iterator is an abstract class");
  }
}

// https://tc39.es/ecma262/#sec-wrapforvaliditeratorprototype-object
class Wrapper {
  #record;

  constructor(record) {
    this.#record = record;
    ObjectSetPrototypeOf(this, WrapperPrototype);
  }

  static next(wrapper) {
    const record = wrapper.#record;
    return FunctionPrototypeCall(record.next, record.iterator);
  }

  static return(wrapper) {
    const { iterator } = wrapper.#record;
    const { return: close } = iterator;
    if (close === undefined || close === null) return { value: undefined, done: true };
    return FunctionPrototypeCall(close, iterator);
  }
}

const WrapperPrototype = ObjectCreate(IteratorPrototype);
defineMissing(WrapperPrototype, { next() { return Wrapper.next(this); } });
ObjectDefineProperty(WrapperPrototype, "return", {
  __proto__: null,
  value: { return() { return Wrapper.return(this); } }.return,
  writable: true, enumerable: false, configurable: true,
});

// These two are accessors on the prototype that behave like data properties, because older code
// assigns to them: https://tc39.es/ecma262/#sec-setterthatignoresprototypeproperties
function defineWeirdAccessor(key, value) {
  const accessor = {
    get() { return value; },
    set(assigned) {
      if (!isObject(this)) throw new TypeError("Iterator.prototype's setter has no object");
      if (this === IteratorPrototype) throw new TypeError("Iterator.prototype cannot be changed");
      if (ObjectPrototypeHasOwnProperty(this, key)) this[key] = assigned;
      else {
        ObjectDefineProperty(this, key, {
          __proto__: null, value: assigned, writable: true, enumerable: true, configurable: true,
        });
      }
    },
  };
  ObjectDefineProperty(IteratorPrototype, key, {
    __proto__: null, get: accessor.get, set: accessor.set, enumerable: false, configurable: true,
  });
}

if (globalThis.Iterator === undefined) {
  ObjectDefineProperty(Iterator, "prototype", {
    __proto__: null, value: IteratorPrototype, writable: false, enumerable: false,
    configurable: false,
  });
  defineMissing(Iterator, {
    from(value) {
      if (!isObject(value) && typeof value !== "string") {
        throw new TypeError("The value is not iterable");
      }
      const record = flattenable(value);
      if (ObjectPrototypeIsPrototypeOf(IteratorPrototype, record.iterator)) return record.iterator;
      return new Wrapper(record);
    },
  });
  defineWeirdAccessor(SymbolToStringTag, "Iterator");
  defineWeirdAccessor("constructor", Iterator);
  realm.expose({ Iterator });
}
