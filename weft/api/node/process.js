// node:process, and the global of that name. https://nodejs.org/api/process.html
"use strict";

const {
  consoleWrite, monotonicNow, processArchitecture, processArguments, processEnv, processExit,
  processFolder, processMemory, processNumber, version,
} = native;
const EventEmitter = load("events")["node:events"];

// The version of Node.js whose interfaces these modules follow.
const kNode = "22.14.0";

// Values are strings, as in every environment.
function makeEnv() {
  const texts = processEnv();
  const env = Object.create(Object.prototype);
  for (let i = 0; i < texts.length; i += 2) env[texts[i]] = texts[i + 1];
  return new Proxy(env, {
    set: (target, name, value) => typeof name === "string" && Reflect.set(target, name, `${value}`),
    defineProperty(target, name, descriptor) {
      const value = "value" in descriptor ? { value: `${descriptor.value}` } : {};
      return Reflect.defineProperty(target, name, { ...descriptor, ...value });
    },
  });
}

function makeStream(fd) {
  let stream;
  return () => {
    if (stream !== undefined) return stream;
    const { Writable } = load("stream")["node:stream"];
    const decoder = new TextDecoder();
    stream = new Writable({
      decodeStrings: false,
      write(chunk, encoding, done) {
        const text = typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true });
        consoleWrite(fd, text);
        done();
      },
    });
    return Object.assign(stream, {
      fd,
      isTTY: native.consoleIsTty(fd),
      columns: 80,
      rows: 24,
      getColorDepth: () => 1,
      hasColors: () => false,
    });
  };
}

function makeStdin() {
  const { Readable } = load("stream")["node:stream"];
  const stdin = Readable.from([]);
  return Object.assign(stdin, { fd: 0, isTTY: false });
}

function hrtime(before = undefined) {
  const now = hrtime.bigint();
  let seconds = Number(now / 1_000_000_000n);
  let nanoseconds = Number(now % 1_000_000_000n);
  if (before !== undefined) {
    seconds -= before[0];
    nanoseconds -= before[1];
    if (nanoseconds < 0) {
      seconds--;
      nanoseconds += 1_000_000_000;
    }
  }
  return [seconds, nanoseconds];
}
hrtime.bigint = () => BigInt(Math.round(monotonicNow() * 1e6)) + 1_000_000_000n;

// ---- nextTick: runs before the reactions of promises that are queued after it

const ticks = [];
function runTicks() {
  while (ticks.length > 0) {
    const [callback, args] = ticks.shift();
    try {
      callback(...args);
    } catch (error) {
      reportError(error);
    }
  }
}

function nextTick(callback, ...args) {
  if (typeof callback !== "function") {
    throw load("events").invalid('The "callback" argument must be of type function.');
  }
  const { bind } = realm.modules["node:async_hooks"].AsyncResource;
  ticks.push([bind(callback), args]);
  if (ticks.length === 1) queueMicrotask(runTicks);
}

function memoryUsage() {
  const [heapTotal, heapUsed, external] = processMemory();
  return { rss: heapTotal + external, heapTotal, heapUsed, external, arrayBuffers: external };
}
memoryUsage.rss = () => memoryUsage().rss;

// ---- the end of the process

let exitCode = undefined;
let exiting = false;

// Accepts a whole number, also as text.
function checkedStatus(code) {
  if (code === undefined || code === null) return undefined;
  const number = typeof code === "string" && code.trim() !== "" ? Number(code) : code;
  if (Number.isInteger(number)) return number;
  throw load("events").invalid('The "code" argument must be an integer.');
}

// The kernel keeps the lowest eight bits.
const status = () => Number(exitCode ?? 0) & 0xff;

// A listener may choose another status; the work that it starts is not awaited.
function emitExit() {
  if (exiting) return;
  exiting = true;
  process.emit("exit", exitCode ?? 0);
}

function exit(code = undefined) {
  if (code !== undefined) process.exitCode = code;
  emitExit();
  if (processExit(status()) === false) {
    exiting = false;
    throw new Error("process.exit() is not there for an application that is served");
  }
}

// Called by the host when nothing is pending any more.
const ending = {
  beforeExit() {
    process.emit("beforeExit", exitCode ?? 0);
  },
  // `failed`: the status for an error that nobody caught, or 0.
  exit(failed) {
    if (failed !== 0) exitCode = failed;
    emitExit();
    return status();
  },
};

function emitWarning(warning, type = "Warning") {
  const name = typeof type === "object" ? type?.type ?? "Warning" : type;
  const text = warning instanceof Error ? `${warning.name}: ${warning.message}`
    : `${name}: ${warning}`;
  realm.console.warn(`(weft) ${text}`);
}

const process = Object.create(Object.create(EventEmitter.prototype, {
  constructor: { value: { process() {} }.process, writable: true, configurable: true },
  [Symbol.toStringTag]: { value: "process", configurable: true },
}));
EventEmitter.call(process);

const args = processArguments();
const started = monotonicNow();
Object.assign(process, {
  title: "weft",
  version: `v${kNode}`,
  versions: { node: kNode, weft: version(), v8: "", modules: "127", uv: "0", openssl: "3" },
  arch: processArchitecture()[0],
  platform: "linux",
  release: { name: "node", lts: "Jod" },
  argv: args,
  argv0: "weft",
  execArgv: [],
  execPath: args[0],
  env: makeEnv(),
  pid: processNumber(),
  ppid: 0,
  features: { inspector: false, debug: false, uv: false, ipv6: true, tls_alpn: true, tls_sni: true,
    tls_ocsp: false, tls: true, typescript: "strip", require_module: true },
  config: { target_defaults: {}, variables: {} },
  cwd: processFolder,
  chdir() {
    throw new Error("process.chdir() is not there: the folder belongs to the whole process");
  },
  umask: () => 0o22,
  uptime: () => (monotonicNow() - started) / 1000,
  hrtime,
  nextTick,
  memoryUsage,
  cpuUsage: () => ({ user: Math.round(monotonicNow() * 1000), system: 0 }),
  resourceUsage: () => ({ maxRSS: memoryUsage().rss / 1024 }),
  availableMemory: () => 0,
  constrainedMemory: () => 0,
  exit,
  reallyExit: exit,
  abort: () => exit(134),
  kill() {
    throw new Error("process.kill() is not there");
  },
  emitWarning,
  getuid: () => 0,
  geteuid: () => 0,
  getgid: () => 0,
  getegid: () => 0,
  binding() {
    throw new Error("process.binding() is not there");
  },
  getBuiltinModule(name) {
    const key = `node:${String(name).replace(/^node:/, "")}`;
    return key in realm.modules ? realm.modules[key].default : undefined;
  },
  hasUncaughtExceptionCaptureCallback: () => false,
  setUncaughtExceptionCaptureCallback() {},
  setSourceMapsEnabled() {},
  allowedNodeEnvironmentFlags: new Set(),
  report: undefined,
});
Object.defineProperty(process, "exitCode", {
  configurable: false,
  enumerable: true,
  get: () => exitCode,
  set(code) {
    exitCode = code === undefined ? code : checkedStatus(code);
  },
});
const lazily = {
  stdout: makeStream(1), stderr: makeStream(2), stdin: makeStdin,
};
for (const name of Object.keys(lazily)) {
  Object.defineProperty(process, name, {
    configurable: true, enumerable: true, get: lazily[name],
  });
}

return { "node:process": process, ending };
