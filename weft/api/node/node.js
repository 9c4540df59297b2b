// The node: modules as the prelude knows them: their names, and how a module is created.
//
// The other scripts in this folder are not run with the prelude. A script is compiled and run when
// one of its modules is first imported. It is the body of a function (native, realm, load) and
// returns an object of modules by their names: `return { "node:path": path };`. load("path") gives
// the result of another script.
//
// For the host:
//   realm.commonjs.load(path)   runs a CommonJS file and gives its module.exports
//   realm.node.beforeExit()     called when nothing is pending any more
//   realm.node.exit(status)     called when the script ends; gives the status that it asks for

const { nodeScript } = native;
const { ObjectDefineProperty, ObjectKeys } = realm.primordials;

const scripts = {
  __proto__: null,
  assert: ["assert", "assert/strict"],
  buffer: ["buffer"],
  commonjs: ["module"],
  crypto: ["crypto"],
  events: ["events"],
  fs: ["fs", "fs/promises"],
  misc: ["diagnostics_channel", "os", "perf_hooks", "punycode", "string_decoder", "constants",
    "tty", "v8", "vm", "worker_threads", "console"],
  net: ["child_process", "cluster", "dgram", "dns", "dns/promises", "http", "http2", "https",
    "inspector", "net", "readline", "readline/promises", "repl", "tls", "zlib"],
  path: ["path", "path/posix", "path/win32"],
  process: ["process"],
  querystring: ["querystring"],
  stream: ["stream", "stream/promises", "stream/web", "stream/consumers"],
  timers: ["timers", "timers/promises"],
  url: ["url"],
  util: ["util", "util/types"],
};

const loaded = { __proto__: null };

function load(name) {
  const known = loaded[name];
  if (known !== undefined) return known;
  const script = nodeScript(name);
  return loaded[name] = script(native, realm, load);
}

function defineModule(name, script) {
  ObjectDefineProperty(realm.modules, name, {
    __proto__: null,
    enumerable: true,
    configurable: true,
    get() {
      const module = load(script)[name];
      const names = { __proto__: null, default: module };
      const keys = ObjectKeys(module);
      for (let i = 0; i < keys.length; i++) {
        if (keys[i] !== "default") names[keys[i]] = module[keys[i]];
      }
      ObjectDefineProperty(realm.modules, name, { __proto__: null, value: names });
      return names;
    },
  });
}

const files = ObjectKeys(scripts);
for (let i = 0; i < files.length; i++) {
  const modules = scripts[files[i]];
  for (let j = 0; j < modules.length; j++) defineModule(`node:${modules[j]}`, files[i]);
}

// Globals that packages rely on. Each is made when it is first read.
function lazyGlobal(name, make) {
  const define = (value) => ObjectDefineProperty(globalThis, name, {
    __proto__: null, value, writable: true, enumerable: false, configurable: true,
  });
  ObjectDefineProperty(globalThis, name, {
    __proto__: null,
    enumerable: false,
    configurable: true,
    get() {
      const value = make();
      define(value);
      return value;
    },
    set: define,
  });
}

lazyGlobal("process", () => load("process")["node:process"]);
lazyGlobal("Buffer", () => load("buffer")["node:buffer"].Buffer);
lazyGlobal("global", () => globalThis);

realm.node = {
  __proto__: null,
  load,
  // A script that has never used `process` has no listeners there.
  beforeExit: () => loaded.process?.ending.beforeExit(),
  exit: (status) => loaded.process?.ending.exit(status) ?? status,
};
realm.commonjs = {
  __proto__: null,
  load: (path, isEntry) => load("commonjs")["node:module"]._loadForImport(path, isEntry),
};
