// node:events. https://nodejs.org/api/events.html
"use strict";

const kCapture = Symbol("kCapture");
const errorMonitor = Symbol("events.errorMonitor");
const kRejection = Symbol.for("nodejs.rejection");
let defaultMaxListeners = 10;

function invalid(message, code = "ERR_INVALID_ARG_TYPE", Kind = TypeError) {
  const error = new Kind(message);
  error.code = code;
  return error;
}

function checkListener(listener) {
  if (typeof listener === "function") return;
  throw invalid('The "listener" argument must be of type function. Received ' +
    (listener === null ? "null" : typeof listener));
}

// A function and not a class, because older packages call it on objects of their own.
function EventEmitter(options) {
  EventEmitter.init.call(this, options);
}

EventEmitter.prototype._events = undefined;
EventEmitter.prototype._eventsCount = 0;
EventEmitter.prototype._maxListeners = undefined;

EventEmitter.init = function init(options) {
  if (this._events === undefined || this._events === Object.getPrototypeOf(this)._events) {
    this._events = Object.create(null);
    this._eventsCount = 0;
  }
  this._maxListeners = this._maxListeners || undefined;
  if (options?.captureRejections) this[kCapture] = true;
};

function add(emitter, type, listener, first) {
  checkListener(listener);
  emitter._events ??= Object.create(null);
  const events = emitter._events;
  if (events.newListener !== undefined) {
    emitter.emit("newListener", type, listener.listener ?? listener);
  }
  const existing = emitter._events[type];
  if (existing === undefined) {
    emitter._events[type] = listener;
    emitter._eventsCount++;
    return emitter;
  }
  const list = typeof existing === "function" ? [existing] : existing.slice();
  if (first) list.unshift(listener);
  else list.push(listener);
  list.warned = existing.warned;
  emitter._events[type] = list;
  const most = emitter.getMaxListeners();
  if (most > 0 && list.length > most && !list.warned) {
    list.warned = true;
    realm.console.warn(`MaxListenersExceededWarning: possible EventEmitter memory leak: ` +
      `${list.length} ${String(type)} listeners added. Use emitter.setMaxListeners() to raise ` +
      "the limit.");
  }
  return emitter;
}

function onceWrapper(emitter, type, listener) {
  checkListener(listener);
  let fired = false;
  function wrapped(...args) {
    if (fired) return undefined;
    fired = true;
    emitter.removeListener(type, wrapped);
    return Reflect.apply(listener, emitter, args);
  }
  wrapped.listener = listener;
  return wrapped;
}

function listOf(emitter, type) {
  const found = emitter._events?.[type];
  if (found === undefined) return [];
  return typeof found === "function" ? [found] : found;
}

function caught(emitter, promise, type, args) {
  promise.then(undefined, (error) => {
    queueMicrotask(() => {
      if (typeof emitter[kRejection] === "function") emitter[kRejection](error, type, ...args);
      else emitter.emit("error", error);
    });
  });
}

const methods = {
  setMaxListeners(n) {
    if (typeof n !== "number" || n < 0 || Number.isNaN(n)) {
      throw invalid(`The value of "n" is out of range. It must be a non-negative number. ` +
        `Received ${n}`, "ERR_OUT_OF_RANGE", RangeError);
    }
    this._maxListeners = n;
    return this;
  },

  getMaxListeners() {
    return this._maxListeners ?? defaultMaxListeners;
  },

  emit(type, ...args) {
    const events = this._events;
    if (type === "error") {
      if (events?.[errorMonitor] !== undefined) this.emit(errorMonitor, ...args);
      if (events?.error === undefined) {
        if (args[0] instanceof Error) throw args[0];
        const error = invalid(`Unhandled error. (${realm.inspect(args[0])})`,
          "ERR_UNHANDLED_ERROR", Error);
        error.context = args[0];
        throw error;
      }
    }
    const found = events?.[type];
    if (found === undefined) return false;
    // The list is never modified in place, so listeners may be added and removed meanwhile.
    const list = typeof found === "function" ? [found] : found;
    for (let i = 0; i < list.length; i++) {
      const result = Reflect.apply(list[i], this, args);
      if (this[kCapture] && result !== null && typeof result?.then === "function") {
        caught(this, result, type, args);
      }
    }
    return true;
  },

  addListener(type, listener) {
    return add(this, type, listener, false);
  },
  on(type, listener) {
    return add(this, type, listener, false);
  },
  prependListener(type, listener) {
    return add(this, type, listener, true);
  },
  once(type, listener) {
    return this.on(type, onceWrapper(this, type, listener));
  },
  prependOnceListener(type, listener) {
    return this.prependListener(type, onceWrapper(this, type, listener));
  },

  removeListener(type, listener) {
    checkListener(listener);
    const list = listOf(this, type);
    let place = list.length - 1;
    while (place >= 0 && list[place] !== listener && list[place].listener !== listener) place--;
    if (place < 0) return this;
    const removed = list[place];
    const rest = list.filter((_, i) => i !== place);
    if (rest.length === 0) {
      delete this._events[type];
      this._eventsCount--;
    } else {
      this._events[type] = rest.length === 1 ? rest[0] : rest;
    }
    if (this._events.removeListener !== undefined) {
      this.emit("removeListener", type, removed.listener ?? listener);
    }
    return this;
  },

  removeAllListeners(type) {
    if (this._events === undefined) return this;
    if (this._events.removeListener !== undefined) {
      const types = arguments.length > 0 ? [type]
        : Reflect.ownKeys(this._events).filter((key) => key !== "removeListener");
      for (const one of types) {
        for (const listener of listOf(this, one).slice().reverse()) {
          this.removeListener(one, listener);
        }
      }
    }
    if (arguments.length === 0) {
      this._events = Object.create(null);
      this._eventsCount = 0;
    } else if (this._events[type] !== undefined) {
      delete this._events[type];
      this._eventsCount--;
    }
    return this;
  },

  listeners(type) {
    return listOf(this, type).map((listener) => listener.listener ?? listener);
  },
  rawListeners(type) {
    return listOf(this, type).slice();
  },
  listenerCount(type, listener = undefined) {
    const list = listOf(this, type);
    if (listener === undefined) return list.length;
    return list.filter((one) => one === listener || one.listener === listener).length;
  },
  eventNames() {
    return this._events === undefined ? [] : Reflect.ownKeys(this._events);
  },
};
methods.off = methods.removeListener;
for (const name of Object.keys(methods)) {
  // As on a class written by hand: writable and enumerable, which mixins rely on.
  EventEmitter.prototype[name] = methods[name];
}

function abortError(signal) {
  const error = new Error("The operation was aborted", { cause: signal.reason });
  error.name = "AbortError";
  error.code = "ABORT_ERR";
  return error;
}

function addTo(emitter, name, listener, options) {
  if (typeof emitter.on === "function") {
    if (options?.once) emitter.once(name, listener);
    else emitter.on(name, listener);
  } else if (typeof emitter.addEventListener === "function") {
    emitter.addEventListener(name, listener, options);
  } else {
    throw invalid('The "emitter" argument must be an instance of EventEmitter or EventTarget.');
  }
}

function removeFrom(emitter, name, listener) {
  if (typeof emitter.removeListener === "function") emitter.removeListener(name, listener);
  else emitter.removeEventListener(name, listener);
}

function once(emitter, name, options = undefined) {
  const signal = options?.signal;
  if (signal?.aborted) return Promise.reject(abortError(signal));
  return new Promise((resolve, reject) => {
    const done = (act) => (value) => {
      removeFrom(emitter, name, onEvent);
      if (typeof emitter.on === "function" && name !== "error") {
        removeFrom(emitter, "error", onError);
      }
      signal?.removeEventListener("abort", onAbort);
      act(value);
    };
    const onError = done(reject);
    const finish = done(resolve);
    const onEvent = (...args) => finish(args);
    const onAbort = () => done(reject)(abortError(signal));
    addTo(emitter, name, onEvent, { once: true });
    if (typeof emitter.on === "function" && name !== "error") emitter.once("error", onError);
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

function on(emitter, name, options = undefined) {
  const { signal, close = [] } = options ?? {};
  if (signal?.aborted) throw abortError(signal);
  const events = [];
  const waiting = [];
  let failed;
  let ended = false;
  const onEvent = (...args) => {
    if (waiting.length > 0) waiting.shift().resolve({ value: args, done: false });
    else events.push(args);
  };
  const onError = (error) => {
    if (waiting.length > 0) waiting.shift().reject(error);
    else failed = { error };
    iterator.return();
  };
  const iterator = {
    next() {
      if (events.length > 0) return Promise.resolve({ value: events.shift(), done: false });
      if (failed !== undefined) {
        const { error } = failed;
        failed = undefined;
        return Promise.reject(error);
      }
      if (ended) return Promise.resolve({ value: undefined, done: true });
      return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
    },
    return() {
      ended = true;
      removeFrom(emitter, name, onEvent);
      if (typeof emitter.on === "function") removeFrom(emitter, "error", onError);
      signal?.removeEventListener("abort", onAbort);
      for (const one of waiting.splice(0)) one.resolve({ value: undefined, done: true });
      return Promise.resolve({ value: undefined, done: true });
    },
    throw(error) {
      onError(error);
      return Promise.resolve({ value: undefined, done: true });
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
  const onAbort = () => onError(abortError(signal));
  addTo(emitter, name, onEvent);
  if (typeof emitter.on === "function" && name !== "error") emitter.on("error", onError);
  for (const type of close) addTo(emitter, type, () => iterator.return());
  signal?.addEventListener("abort", onAbort, { once: true });
  return iterator;
}

class EventEmitterAsyncResource extends EventEmitter {
  #resource;
  constructor(options = undefined) {
    super(options);
    const { AsyncResource } = realm.modules["node:async_hooks"];
    this.#resource = new AsyncResource(options?.name ?? new.target.name);
  }
  emit(...args) {
    return this.#resource.runInAsyncScope(() => super.emit(...args));
  }
  get asyncResource() {
    return this.#resource;
  }
}

Object.assign(EventEmitter, {
  EventEmitter,
  EventEmitterAsyncResource,
  once,
  on,
  errorMonitor,
  captureRejectionSymbol: kRejection,
  captureRejections: false,
  usingDomains: false,
  listenerCount: (emitter, type) => emitter.listenerCount(type),
  getEventListeners: (emitter, type) =>
    typeof emitter.listeners === "function" ? emitter.listeners(type) : [],
  getMaxListeners: (emitter) =>
    typeof emitter.getMaxListeners === "function" ? emitter.getMaxListeners() : defaultMaxListeners,
  setMaxListeners(n, ...emitters) {
    if (emitters.length === 0) defaultMaxListeners = n;
    for (const emitter of emitters) emitter.setMaxListeners?.(n);
  },
  addAbortListener(signal, listener) {
    if (signal.aborted) queueMicrotask(() => listener());
    else signal.addEventListener("abort", listener, { once: true });
    const remove = () => signal.removeEventListener("abort", listener);
    return Symbol.dispose === undefined ? { dispose: remove } : { [Symbol.dispose]: remove };
  },
});
Object.defineProperty(EventEmitter, "defaultMaxListeners", {
  enumerable: true,
  get: () => defaultMaxListeners,
  set(n) {
    defaultMaxListeners = n;
  },
});

return { "node:events": EventEmitter, abortError, invalid };
