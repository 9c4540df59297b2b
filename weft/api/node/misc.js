// Small modules: string_decoder, os, perf_hooks, diagnostics_channel, punycode, tty, v8, vm,
// worker_threads, constants, console.
"use strict";

const { Buffer } = load("buffer")["node:buffer"];
const { toEncoding } = load("buffer_text");
const { invalid } = load("events");

// ---- string_decoder

class StringDecoder {
  #rest = Buffer.alloc(0);

  constructor(encoding = "utf8") {
    this.encoding = toEncoding(encoding);
  }

  // How many bytes at the end belong to an incomplete character.
  #incomplete(bytes) {
    if (this.encoding === "base64" || this.encoding === "base64url") return bytes.length % 3;
    if (this.encoding === "utf16le") {
      const odd = bytes.length % 2;
      const high = bytes.length - odd >= 2 ? bytes[bytes.length - odd - 1] : 0;
      return (high & 0xFC) === 0xD8 ? odd + 2 : odd;
    }
    if (this.encoding !== "utf8") return 0;
    for (let back = 1; back <= Math.min(3, bytes.length); back++) {
      const byte = bytes[bytes.length - back];
      if ((byte & 0xC0) === 0x80) continue;
      const size = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
      return size > back ? back : 0;
    }
    return 0;
  }

  write(chunk) {
    if (typeof chunk === "string") return chunk;
    if (!ArrayBuffer.isView(chunk)) {
      throw invalid('The "buf" argument must be an instance of Buffer, TypedArray, or DataView.');
    }
    const bytes = Buffer.concat([this.#rest, chunk]);
    const cut = bytes.length - this.#incomplete(bytes);
    this.#rest = bytes.subarray(cut);
    return bytes.toString(this.encoding, 0, cut);
  }
  end(chunk = undefined) {
    const text = chunk === undefined ? "" : this.write(chunk);
    const rest = this.#rest;
    this.#rest = Buffer.alloc(0);
    return text + rest.toString(this.encoding);
  }
  text(chunk, offset) {
    this.#rest = Buffer.alloc(0);
    return this.write(chunk.subarray(offset));
  }
  get lastNeed() {
    return this.#rest.length;
  }
}

// ---- diagnostics_channel

const channels = new Map();

class Channel {
  #subscribers = [];
  #stores = new Map();
  constructor(name) {
    this.name = name;
  }
  get hasSubscribers() {
    return this.#subscribers.length > 0 || this.#stores.size > 0;
  }
  subscribe(listener) {
    this.#subscribers = [...this.#subscribers, listener];
  }
  unsubscribe(listener) {
    const before = this.#subscribers.length;
    this.#subscribers = this.#subscribers.filter((one) => one !== listener);
    return this.#subscribers.length < before;
  }
  publish(message) {
    for (const listener of this.#subscribers) {
      try {
        listener(message, this.name);
      } catch (error) {
        reportError(error);
      }
    }
  }
  bindStore(store, transform = (value) => value) {
    this.#stores.set(store, transform);
  }
  unbindStore(store) {
    return this.#stores.delete(store);
  }
  runStores(message, act, self = undefined, ...args) {
    let run = () => {
      this.publish(message);
      return Reflect.apply(act, self, args);
    };
    for (const [store, transform] of this.#stores) {
      const inner = run;
      run = () => store.run(transform(message), inner);
    }
    return run();
  }
}

function channel(name) {
  if (!channels.has(name)) channels.set(name, new Channel(name));
  return channels.get(name);
}

class TracingChannel {
  constructor(name) {
    for (const part of ["start", "end", "asyncStart", "asyncEnd", "error"]) {
      this[part] = typeof name === "string" ? channel(`tracing:${name}:${part}`) : name[part];
    }
  }
  get hasSubscribers() {
    return ["start", "end", "asyncStart", "asyncEnd", "error"]
      .some((part) => this[part].hasSubscribers);
  }
  subscribe(handlers) {
    for (const part of Object.keys(handlers)) this[part].subscribe(handlers[part]);
  }
  unsubscribe(handlers) {
    return Object.keys(handlers).every((part) => this[part].unsubscribe(handlers[part]));
  }
  traceSync(act, context = {}, self = undefined, ...args) {
    return this.start.runStores(context, () => {
      try {
        return context.result = Reflect.apply(act, self, args);
      } catch (error) {
        context.error = error;
        this.error.publish(context);
        throw error;
      } finally {
        this.end.publish(context);
      }
    });
  }
  tracePromise(act, context = {}, self = undefined, ...args) {
    const settle = (name) => (value) => {
      context[name] = value;
      if (name === "error") this.error.publish(context);
      this.asyncStart.publish(context);
      this.asyncEnd.publish(context);
      if (name === "error") throw value;
      return value;
    };
    return this.traceSync(() => Promise.resolve(Reflect.apply(act, self, args))
      .then(settle("result"), settle("error")), context);
  }
}

const diagnostics = {
  channel,
  Channel,
  hasSubscribers: (name) => channels.get(name)?.hasSubscribers ?? false,
  subscribe: (name, listener) => channel(name).subscribe(listener),
  unsubscribe: (name, listener) => channel(name).unsubscribe(listener),
  tracingChannel: (name) => new TracingChannel(name),
};

// ---- os: without anything that distinguishes one machine from another

const cpus = () => Array.from({ length: native.hardwareConcurrency() }, () => ({
  model: "", speed: 0, times: { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 },
}));
const os = {
  EOL: "\n",
  arch: () => native.processArchitecture()[0],
  availableParallelism: () => native.hardwareConcurrency(),
  constants: { signals: { SIGINT: 2, SIGTERM: 15, SIGKILL: 9, SIGHUP: 1 }, errno: {} },
  cpus,
  devNull: "/dev/null",
  endianness: () => "LE",
  freemem: () => 0,
  getPriority: () => 0,
  homedir: () => load("process")["node:process"].env.HOME ?? "/",
  hostname: () => "localhost",
  loadavg: () => [0, 0, 0],
  machine: () => native.processArchitecture()[1],
  networkInterfaces: () => ({}),
  platform: () => "linux",
  release: () => "",
  tmpdir: () => load("process")["node:process"].env.TMPDIR ?? "/tmp",
  totalmem: () => 0,
  type: () => "Linux",
  uptime: () => native.monotonicNow() / 1000,
  userInfo: () => ({ username: "", uid: -1, gid: -1, shell: null, homedir: os.homedir() }),
  version: () => "",
};

// ---- other modules

const notSupported = (what) => () => {
  throw Object.assign(new Error(`${what} is not there on Weft`),
    { code: "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM" });
};

const punycode = {
  version: "2.1.0",
  toASCII: (domain) => native.urlDomainToAscii(domain),
  toUnicode: (domain) => native.urlDomainToUnicode(domain),
  ucs2: {
    decode: (text) => Array.from(text, (one) => one.codePointAt(0)),
    encode: (points) => String.fromCodePoint(...points),
  },
  encode: (text) => native.urlDomainToAscii(text).replace(/^xn--/, ""),
  decode: (text) => native.urlDomainToUnicode(`xn--${text}`),
};

const perfHooks = {
  performance: globalThis.performance,
  PerformanceObserver: globalThis.PerformanceObserver,
  PerformanceEntry: globalThis.PerformanceEntry,
  PerformanceMark: globalThis.PerformanceMark,
  PerformanceMeasure: globalThis.PerformanceMeasure,
  constants: {},
  createHistogram: notSupported("perf_hooks.createHistogram()"),
  monitorEventLoopDelay: notSupported("perf_hooks.monitorEventLoopDelay()"),
};

const vm = {
  Script: class Script {
    #run;
    constructor(code) {
      this.#run = () => (0, eval)(code);
    }
    runInThisContext() {
      return this.#run();
    }
  },
  runInThisContext: (code) => (0, eval)(code),
  createContext: notSupported("vm.createContext()"),
  runInContext: notSupported("vm.runInContext()"),
  runInNewContext: notSupported("vm.runInNewContext()"),
  isContext: () => false,
};

const v8 = {
  getHeapStatistics() {
    const [total, used, external] = native.processMemory();
    return { total_heap_size: total, used_heap_size: used, external_memory: external,
      heap_size_limit: total };
  },
  serialize: notSupported("v8.serialize()"),
  deserialize: notSupported("v8.deserialize()"),
  setFlagsFromString() {},
};

const workerThreads = {
  isMainThread: true,
  parentPort: null,
  workerData: null,
  threadId: 0,
  resourceLimits: {},
  SHARE_ENV: Symbol.for("nodejs.worker_threads.SHARE_ENV"),
  MessageChannel: globalThis.MessageChannel,
  MessagePort: globalThis.MessagePort,
  BroadcastChannel: globalThis.BroadcastChannel,
  Worker: class Worker {
    constructor() {
      notSupported("worker_threads.Worker")();
    }
  },
  markAsUntransferable() {},
  receiveMessageOnPort: notSupported("worker_threads.receiveMessageOnPort()"),
};

class NoTty {
  constructor() {
    notSupported("tty streams")();
  }
}

const { console } = globalThis;

return {
  "node:string_decoder": { StringDecoder },
  "node:diagnostics_channel": diagnostics,
  "node:os": os,
  "node:perf_hooks": perfHooks,
  "node:punycode": punycode,
  "node:constants": { ...os.constants.signals },
  "node:tty": { isatty: (fd) => native.consoleIsTty(fd), ReadStream: NoTty, WriteStream: NoTty },
  "node:v8": v8,
  "node:vm": vm,
  "node:worker_threads": workerThreads,
  "node:console": Object.assign(Object.create(console), console, { Console: class Console {
    constructor() {
      return console;
    }
  } }),
};
