// node:fs and node:fs/promises, read-only, and only what --allow-read permits.
// https://nodejs.org/api/fs.html
"use strict";

const {
  fileAllowed, fileLinkStatus, fileList, fileRead, fileReadLater, fileRealPath, fileStatus,
} = native;
const { Buffer } = load("buffer")["node:buffer"];
const { invalid } = load("events");
const { nextTick } = load("process")["node:process"];

const constants = {
  __proto__: null, F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1, O_RDONLY: 0, O_WRONLY: 1, O_RDWR: 2,
  S_IFMT: 0o170000, S_IFREG: 0o100000, S_IFDIR: 0o040000, S_IFLNK: 0o120000,
};
const kModes = [constants.S_IFREG, constants.S_IFDIR, constants.S_IFLNK, 0];

function toPath(path) {
  if (typeof path === "string") return load("path")["node:path"].resolve(path);
  if (path instanceof URL) return load("url")["node:url"].fileURLToPath(path);
  if (ArrayBuffer.isView(path)) return toPath(Buffer.from(path).toString());
  throw invalid('The "path" argument must be of type string or an instance of Buffer or URL.');
}

function failure([number, message], syscall, path) {
  if (number === 0 && !fileAllowed(path)) {
    const error = new Error(`${syscall} "${path}" is not allowed: --allow-read ${path}, or ` +
      "allowRead in weft.json, allows it");
    return Object.assign(error, { code: "ERR_ACCESS_DENIED", syscall, path });
  }
  const code = number === 0 ? "EIO" : load("util")["node:util"].getSystemErrorName(number);
  const error = new Error(`${code}: ${message}, ${syscall} '${path}'`);
  return Object.assign(error, { errno: -number, code, syscall, path });
}

class Stats {
  constructor([kind, size, permissions, changed, inode]) {
    this.dev = 0;
    this.mode = kModes[kind] | permissions;
    this.nlink = 1;
    this.uid = this.gid = this.rdev = 0;
    this.blksize = 4096;
    this.ino = inode;
    this.size = size;
    this.blocks = Math.ceil(size / 512);
    for (const name of ["atime", "mtime", "ctime", "birthtime"]) {
      this[`${name}Ms`] = changed;
      this[name] = new Date(changed);
    }
  }
  #is(kind) {
    return (this.mode & constants.S_IFMT) === kind;
  }
  isFile() {
    return this.#is(constants.S_IFREG);
  }
  isDirectory() {
    return this.#is(constants.S_IFDIR);
  }
  isSymbolicLink() {
    return this.#is(constants.S_IFLNK);
  }
  isBlockDevice() {
    return false;
  }
  isCharacterDevice() {
    return false;
  }
  isFIFO() {
    return false;
  }
  isSocket() {
    return false;
  }
}

class Dirent {
  #kind;
  constructor(name, kind, path) {
    this.name = name;
    this.parentPath = path;
    this.path = path;
    this.#kind = kind;
  }
  isFile() {
    return this.#kind === 0;
  }
  isDirectory() {
    return this.#kind === 1;
  }
  isSymbolicLink() {
    return this.#kind === 2;
  }
}

const encodingOf = (options) => typeof options === "string" ? options : options?.encoding;

function asWanted(bytes, options) {
  const encoding = encodingOf(options);
  const buffer = Buffer.from(bytes);
  return encoding === undefined || encoding === null || encoding === "buffer" ? buffer
    : buffer.toString(encoding);
}

function statBy(native, syscall) {
  return (path, options = undefined) => {
    const file = toPath(path);
    const status = native(file);
    if (status.length === 1) return new Stats(status[0]);
    if (options?.throwIfNoEntry === false && status[0] === 2) return undefined;
    throw failure(status, syscall, file);
  };
}

const reading = {
  readFileSync(path, options = undefined) {
    const file = toPath(path);
    const bytes = fileRead(file);
    if (Array.isArray(bytes)) throw failure(bytes, "open", file);
    return asWanted(bytes, options);
  },
  statSync: statBy(fileStatus, "stat"),
  lstatSync: statBy(fileLinkStatus, "lstat"),
  readdirSync(path, options = undefined) {
    const folder = toPath(path);
    const list = fileList(folder);
    if (list.length !== 1) throw failure(list, "scandir", folder);
    const entries = [];
    for (let i = 0; i < list[0].length; i += 2) {
      entries.push(new Dirent(list[0][i], list[0][i + 1], folder));
      if (options?.recursive && list[0][i + 1] === 1) {
        for (const inner of reading.readdirSync(`${folder}/${list[0][i]}`,
          { recursive: true, withFileTypes: true })) entries.push(inner);
      }
    }
    if (options?.withFileTypes) return entries;
    return entries.map((entry) => entry.path === folder ? entry.name
      : `${entry.path.slice(folder.length + 1)}/${entry.name}`);
  },
  realpathSync(path) {
    const file = toPath(path);
    const real = fileRealPath(file);
    if (Array.isArray(real)) throw failure(real, "realpath", file);
    return real;
  },
  accessSync(path, mode = 0) {
    reading.statSync(path);
    if (mode & constants.W_OK) throw readOnly("access")(path);
  },
};
reading.realpathSync.native = reading.realpathSync;

function readOnly(name) {
  return (path) => Object.assign(
    new Error(`EROFS: read-only file system, ${name} '${String(path)}': ` +
      "node:fs of Weft only reads"),
    { errno: -30, code: "EROFS", syscall: name, path });
}

// The functions of fs.promises do the same work synchronously, except that a fiber reads the bytes
// of a file.
const promises = { constants };
for (const name of Object.keys(reading)) {
  promises[name.slice(0, -4)] = async (...args) => reading[name](...args);
}
promises.readFile = async (path, options = undefined) => {
  const file = toPath(path);
  const bytes = await fileReadLater(file);
  if (Array.isArray(bytes)) throw failure(bytes, "open", file);
  return asWanted(bytes, options);
};
promises.open = async (path, flags = "r") => {
  if (flags !== "r") throw readOnly("open")(path);
  return {
    readFile: (options) => promises.readFile(path, options),
    stat: () => promises.stat(path),
    close: async () => {},
    async [Symbol.asyncDispose ?? Symbol("asyncDispose")]() {},
  };
};

const changes = ["appendFile", "chmod", "chown", "copyFile", "cp", "link", "mkdir", "mkdtemp",
  "rename", "rm", "rmdir", "symlink", "truncate", "unlink", "utimes", "writeFile"];
const fs = {
  ...reading, constants, promises, Stats, Dirent,
  F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1,
  existsSync(path) {
    try {
      return fileStatus(toPath(path)).length === 1;
    } catch {
      return false;
    }
  },
};
for (const name of changes) {
  const fail = readOnly(name);
  promises[name] = async (path) => {
    throw fail(path);
  };
  fs[`${name}Sync`] = (path) => {
    throw fail(path);
  };
}

for (const name of Object.keys(promises)) {
  if (typeof promises[name] !== "function") continue;
  fs[name] = (...args) => {
    const callback = args.pop();
    if (typeof callback !== "function") {
      throw invalid('The "cb" argument must be of type function.');
    }
    promises[name](...args).then((value) => nextTick(callback, null, value),
      (error) => nextTick(callback, error));
  };
}
fs.realpath.native = fs.realpath;
fs.exists = (path, callback) => nextTick(callback, fs.existsSync(path));

fs.createReadStream = (path, options = undefined) => {
  const { Readable } = load("stream")["node:stream"];
  const { start = 0, end = Infinity } = typeof options === "object" ? options ?? {} : {};
  const stream = new Readable({
    encoding: encodingOf(options),
    read() {
      promises.readFile(path).then((bytes) => {
        const part = bytes.subarray(start, end === Infinity ? undefined : end + 1);
        for (let at = 0; at < part.length; at += 65536) this.push(part.subarray(at, at + 65536));
        this.push(null);
      }, (error) => this.destroy(error));
    },
  });
  stream.path = path;
  nextTick(() => stream.emit("open", 3));
  return stream;
};
for (const name of ["createWriteStream", "watch", "watchFile", "openSync", "writeSync"]) {
  fs[name] = (path) => {
    throw readOnly(name)(path);
  };
}
fs.unwatchFile = () => {};

return { "node:fs": fs, "node:fs/promises": promises };
