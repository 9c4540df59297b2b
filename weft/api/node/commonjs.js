// CommonJS: require(), module, and node:module.
// https://nodejs.org/api/modules.html, https://nodejs.org/api/module.html
"use strict";

const { processIsScript, requireCompile, requireModule, requireResolve, requireSource } = native;

const cache = Object.create(null);
const builtinNames = Object.keys(realm.modules)
  .filter((name) => name.startsWith("node:")).map((name) => name.slice(5));

function folderOf(path) {
  const slash = path.lastIndexOf("/");
  return slash <= 0 ? "/" : path.slice(0, slash);
}

class Module {
  constructor(id = "", parent = undefined) {
    this.id = id;
    this.path = folderOf(id);
    this.exports = {};
    this.filename = null;
    this.loaded = false;
    this.children = [];
    this.paths = nodeModulePaths(this.path);
    Object.defineProperty(this, "parent", {
      value: parent, writable: true, configurable: true, enumerable: false,
    });
    parent?.children.push(this);
  }

  require(specifier) {
    return requireFrom(specifier, this.filename ?? this.id, this);
  }

  // For packages that make modules from texts.
  _compile(source, path) {
    const body = source.startsWith("#!") ? `//${source}` : source;
    const given = [this.exports, makeRequire(path, this), this, path, folderOf(path)];
    return Reflect.apply(requireCompile(body, path), this.exports, given);
  }
}

function nodeModulePaths(folder) {
  const paths = [];
  for (let at = folder; ; at = folderOf(at)) {
    if (!at.endsWith("/node_modules")) {
      paths.push(at === "/" ? "/node_modules" : `${at}/node_modules`);
    }
    if (at === "/") return paths;
  }
}

const ours = Object.create(null);

// The default export of a module of Node.js holds all its exports. A module of Weft is given as a
// namespace, of which every isolate has one.
function builtin(name) {
  const module = realm.modules[name];
  if (name.startsWith("node:") && "default" in module) return module.default;
  return ours[name] ??= Object.assign({}, module);
}

function failure(message, code, specifier) {
  const error = new Error(message);
  error.code = code;
  if (code === "MODULE_NOT_FOUND") error.requireStack = [specifier];
  return error;
}

function find(specifier, referrer) {
  if (typeof specifier !== "string") {
    const error = new TypeError(`The "id" argument must be of type string. Received ${specifier}`);
    error.code = "ERR_INVALID_ARG_TYPE";
    throw error;
  }
  const found = requireResolve(specifier, referrer);
  if (found[0] === null) throw failure(found[1], found[2], referrer);
  return found;
}

function requireFrom(specifier, referrer, parent) {
  const [kind, path] = find(specifier, referrer);
  if (kind === "builtin") return builtin(path);
  return loadFile(path, kind, parent).exports;
}

const extensions = {
  __proto__: null,
  ".js"(module, path) {
    module._compile(requireSource(path), path);
  },
  ".json"(module, path) {
    const text = requireSource(path);
    try {
      module.exports = JSON.parse(text.charCodeAt(0) === 0xFEFF ? text.slice(1) : text);
    } catch (error) {
      error.message = `${path}: ${error.message}`;
      throw error;
    }
  },
};

// The file that a script was started with, if it is CommonJS. A served application has none, so
// that a file which is both script and application does not also listen itself.
let mainModule;

function loadFile(path, kind, parent, isEntry = false) {
  const known = cache[path];
  // A module that is still running gives its exports so far; this is how cycles end.
  if (known !== undefined) {
    if (parent !== undefined && !parent.children.includes(known)) parent.children.push(known);
    return known;
  }
  const module = new Module(path, parent);
  module.filename = path;
  if (isEntry && processIsScript()) {
    mainModule = module;
    module.id = ".";
  }
  cache[path] = module;
  let whole = false;
  try {
    if (kind === "module") {
      const namespace = requireModule(path);
      module.exports = Object.hasOwn(namespace, "module.exports")
        ? namespace["module.exports"] : namespace;
    } else {
      extensions[kind === "json" ? ".json" : ".js"](module, path);
    }
    whole = true;
  } finally {
    if (!whole) delete cache[path];
  }
  module.loaded = true;
  return module;
}

function makeRequire(path, module) {
  function require(specifier) {
    return requireFrom(specifier, path, module);
  }
  require.resolve = function resolve(specifier, options = undefined) {
    const places = options?.paths ?? [undefined];
    let lastError;
    for (const place of places) {
      try {
        return find(specifier, place === undefined ? path : `${place}/-`)[1];
      } catch (error) {
        lastError = error;
      }
    }
    throw lastError;
  };
  require.resolve.paths = (specifier) =>
    builtinNames.includes(specifier) ? null : nodeModulePaths(folderOf(path));
  require.cache = cache;
  require.extensions = extensions;
  require.main = mainModule;
  return require;
}

function createRequire(from) {
  let path = from;
  if (from instanceof URL || (typeof from === "string" && from.startsWith("file:"))) {
    path = load("url")["node:url"].fileURLToPath(from);
  } else if (typeof from !== "string" || !from.startsWith("/")) {
    const error = new TypeError("The argument 'filename' must be a file URL object, file URL " +
      `string, or absolute path string. Received ${String(from)}`);
    error.code = "ERR_INVALID_ARG_VALUE";
    throw error;
  }
  return makeRequire(path, new Module(path));
}

Object.assign(Module, {
  Module,
  _cache: cache,
  _extensions: extensions,
  _nodeModulePaths: nodeModulePaths,
  _resolveFilename: (specifier, parent) => find(specifier, parent?.filename ?? "/")[1],
  _load: (specifier, parent) => requireFrom(specifier, parent?.filename ?? "/", parent),
  builtinModules: builtinNames,
  createRequire,
  isBuiltin: (name) => builtinNames.includes(String(name).replace(/^node:/, "")),
  findSourceMap: () => undefined,
  syncBuiltinESMExports() {},
  register() {
    throw new Error("module.register() is not there: Weft has no hooks for loaders");
  },
});
Object.defineProperty(Module, "_loadForImport", {
  value: (path, isEntry) => loadFile(path, "commonjs", undefined, isEntry).exports,
});

return { "node:module": Module };
