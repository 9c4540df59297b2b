// AsyncLocalStorage: a value that follows the flow of calls, promises and timers.
//
// V8 carries one value from where a reaction is registered to where it runs. This value is a
// Continuation: the request in which the code runs, and the values of the storages. Continuations
// and their stores are immutable: a change makes new ones, so code that kept one still sees its
// values.
//
// For other scripts and for the host, realm.asyncContext:
//   Continuation            the host makes one for each request: new Continuation(id, undefined)
//   capture()               the current continuation, to be given to runIn() later
//   runIn(continuation, fn, self, args)
const { continuationGet, continuationSet, promiseHooksSet } = native;
const {
  ArrayPrototypeSlice, ReflectApply, TypeError,
} = realm.primordials;

class Continuation {
  constructor(request, store) {
    this.request = request;  // the number of the request; 0: the application
    this.store = store;      // undefined, or a list: storage, value, storage, value, ...
  }
}

function placeOf(store, storage) {
  for (let i = 0; i < store.length; i += 2) {
    if (store[i] === storage) return i;
  }
  return -1;
}

function withStore(continuation, store) {
  return new Continuation(continuation === undefined ? 0 : continuation.request, store);
}

function withValue(continuation, storage, value) {
  const old = continuation?.store;
  if (old === undefined) return withStore(continuation, [storage, value]);
  const store = ArrayPrototypeSlice(old);
  const place = placeOf(store, storage);
  if (place >= 0) {
    store[place + 1] = value;
  } else {
    store[store.length] = storage;
    store[store.length] = value;
  }
  return withStore(continuation, store);
}

function without(continuation, storage) {
  const old = continuation?.store;
  if (old === undefined || placeOf(old, storage) < 0) return continuation;
  const store = [];
  for (let i = 0; i < old.length; i += 2) {
    if (old[i] === storage) continue;
    store[store.length] = old[i];
    store[store.length] = old[i + 1];
  }
  return withStore(continuation, store.length === 0 ? undefined : store);
}

function runIn(continuation, fn, self, args) {
  const outer = continuationGet();
  continuationSet(continuation);
  try {
    return ReflectApply(fn, self, args);
  } finally {
    continuationSet(outer);
  }
}

// ---- thenables
//
// V8 carries the continuation to reactions of promises, but not to the job that calls the method
// `then` of a foreign thenable. So once a storage is in use, each promise remembers the
// continuation in which it was made, and that job runs in it.

// A private field on objects of other classes; much cheaper than a WeakMap.
class Given {
  constructor(object) {
    return object;
  }
}
class Mark extends Given {
  #continuation;
  constructor(promise, continuation) {
    super(promise);
    this.#continuation = continuation;
  }
  static of(promise) {
    return #continuation in promise ? promise.#continuation : undefined;
  }
}
const madeIn = Mark.of;
let watched = false;
let lent = false;

function onMade(promise) {
  const continuation = continuationGet();
  if (continuation !== undefined) new Mark(promise, continuation);
}

function beforeJob(promise) {
  if (continuationGet() !== undefined) return;
  const continuation = madeIn(promise);
  if (continuation === undefined) return;
  lent = true;
  continuationSet(continuation);
}

function afterJob() {
  if (!lent) return;
  lent = false;
  continuationSet(undefined);
}

function watchThenables() {
  if (watched) return;
  watched = true;
  promiseHooksSet(onMade, beforeJob, afterJob);
}

function requireFunction(fn, operation) {
  if (typeof fn !== "function") throw new TypeError(`${operation} requires a function`);
}

// Keeps the store only: a function that is called later by another request acts for that request.
function bound(fn, self) {
  const kept = continuationGet()?.store;
  return function (...args) {
    return runIn(withStore(continuationGet(), kept), fn, self === undefined ? this : self, args);
  };
}

class AsyncLocalStorage {
  #name;
  #defaultValue;

  constructor(options = undefined) {
    this.#name = options?.name === undefined ? "" : `${options.name}`;
    this.#defaultValue = options?.defaultValue;
  }

  get name() {
    return this.#name;
  }

  getStore() {
    const store = continuationGet()?.store;
    if (store !== undefined) {
      const place = placeOf(store, this);
      if (place >= 0) return store[place + 1];
    }
    return this.#defaultValue;
  }

  run(value, fn, ...args) {
    requireFunction(fn, "AsyncLocalStorage.run");
    watchThenables();
    return runIn(withValue(continuationGet(), this, value), fn, undefined, args);
  }

  exit(fn, ...args) {
    requireFunction(fn, "AsyncLocalStorage.exit");
    return runIn(without(continuationGet(), this), fn, undefined, args);
  }

  enterWith(value) {
    watchThenables();
    continuationSet(withValue(continuationGet(), this, value));
  }

  disable() {
    continuationSet(without(continuationGet(), this));
  }

  static bind(fn) {
    requireFunction(fn, "AsyncLocalStorage.bind");
    return bound(fn, undefined);
  }

  static snapshot() {
    return bound((fn, ...args) => fn(...args), null);
  }
}

// The part of Node's AsyncResource that carries the context; there are no hooks.
class AsyncResource {
  #type;
  #kept = continuationGet()?.store;

  constructor(type, options = undefined) {
    if (typeof type !== "string") throw new TypeError("AsyncResource requires a type");
    this.#type = type;
  }

  get type() {
    return this.#type;
  }

  runInAsyncScope(fn, self = undefined, ...args) {
    return runIn(withStore(continuationGet(), this.#kept), fn, self, args);
  }

  bind(fn, self = undefined) {
    requireFunction(fn, "AsyncResource.bind");
    const resource = this;
    return function (...args) {
      const receiver = self === undefined ? this : self;
      return runIn(withStore(continuationGet(), resource.#kept), fn, receiver, args);
    };
  }

  static bind(fn, type = undefined, self = undefined) {
    requireFunction(fn, "AsyncResource.bind");
    return bound(fn, self);
  }

  emitDestroy() {
    return this;
  }
  asyncId() {
    return 1;
  }
  triggerAsyncId() {
    return 0;
  }
}

const hooks = {
  enable() {
    return hooks;
  },
  disable() {
    return hooks;
  },
};

realm.asyncContext = {
  __proto__: null,
  AsyncLocalStorage,
  Continuation,
  capture: continuationGet,
  runIn,
};

const asyncHooks = {
  AsyncLocalStorage,
  AsyncResource,
  createHook: () => hooks,
  executionAsyncId: () => 1,
  executionAsyncResource: () => ({}),
  triggerAsyncId: () => 0,
};
realm.modules["node:async_hooks"] = { __proto__: null, ...asyncHooks, default: asyncHooks };
