// node:path, as on POSIX systems. https://nodejs.org/api/path.html
"use strict";

function check(value, name = "path") {
  if (typeof value === "string") return;
  const received = value === null ? "null" : typeof value;
  const error = new TypeError(
    `The "${name}" argument must be of type string. Received ${received}`);
  error.code = "ERR_INVALID_ARG_TYPE";
  throw error;
}

// Removes ".", ".." and empty parts; a ".." at the front stays if the path may leave its start.
function parts(path, mayClimb) {
  const kept = [];
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") kept.push(part);
    else if (kept.length > 0 && kept[kept.length - 1] !== "..") kept.pop();
    else if (mayClimb) kept.push("..");
  }
  return kept.join("/");
}

function normalize(path) {
  check(path);
  if (path === "") return ".";
  const absolute = path[0] === "/";
  let normal = parts(path, !absolute);
  if (normal === "" && !absolute) normal = ".";
  if (normal !== "" && path.endsWith("/")) normal += "/";
  return absolute ? `/${normal}` : normal;
}

function join(...paths) {
  let joined;
  for (const path of paths) {
    check(path);
    if (path !== "") joined = joined === undefined ? path : `${joined}/${path}`;
  }
  return joined === undefined ? "." : normalize(joined);
}

function resolve(...paths) {
  let resolved = "";
  for (let i = paths.length - 1; i >= -1 && resolved[0] !== "/"; i--) {
    const path = i >= 0 ? paths[i] : native.processFolder();
    check(path, `paths[${i}]`);
    if (path !== "") resolved = resolved === "" ? path : `${path}/${resolved}`;
  }
  const absolute = resolved[0] === "/";
  const normal = parts(resolved, !absolute);
  if (absolute) return `/${normal}`;
  return normal === "" ? "." : normal;
}

function isAbsolute(path) {
  check(path);
  return path[0] === "/";
}

function relative(from, to) {
  check(from, "from");
  check(to, "to");
  const there = resolve(to).split("/").filter(Boolean);
  const here = resolve(from).split("/").filter(Boolean);
  let same = 0;
  while (same < here.length && same < there.length && here[same] === there[same]) same++;
  return [...here.slice(same).map(() => ".."), ...there.slice(same)].join("/");
}

function withoutSlashes(path) {
  let end = path.length;
  while (end > 1 && path[end - 1] === "/") end--;
  return path.slice(0, end);
}

function dirname(path) {
  check(path);
  if (path === "") return ".";
  const plain = withoutSlashes(path);
  const slash = plain.lastIndexOf("/");
  if (slash < 0) return ".";
  if (slash === 1 && plain[0] === "/") return "//";
  return slash === 0 ? "/" : plain.slice(0, slash);
}

function basename(path, suffix = undefined) {
  if (suffix !== undefined) check(suffix, "suffix");
  check(path);
  const plain = withoutSlashes(path);
  const base = plain === "/" ? "" : plain.slice(plain.lastIndexOf("/") + 1);
  return suffix !== undefined && base !== suffix && base.endsWith(suffix)
    ? base.slice(0, base.length - suffix.length) : base;
}

function extname(path) {
  const base = basename(path);
  const dot = base.lastIndexOf(".");
  return dot <= 0 || base === ".." ? "" : base.slice(dot);
}

function parse(path) {
  check(path);
  const root = path[0] === "/" ? "/" : "";
  const base = basename(path);
  const ext = extname(path);
  const folder = withoutSlashes(path);
  const slash = folder.lastIndexOf("/");
  const dir = slash < 0 ? "" : slash === 0 ? "/" : folder.slice(0, slash);
  return { root, dir, base, ext, name: ext === "" ? base : base.slice(0, -ext.length) };
}

function format(object) {
  if (object === null || typeof object !== "object") {
    throw new TypeError('The "pathObject" argument must be of type object.');
  }
  const dir = object.dir || object.root;
  const ext = object.ext ? `${object.ext[0] === "." ? "" : "."}${object.ext}` : "";
  const base = object.base || `${object.name || ""}${ext}`;
  if (!dir) return base;
  return dir === object.root ? `${dir}${base}` : `${dir}/${base}`;
}

function matchesGlob(path, pattern) {
  const source = pattern.replace(/[.+^${}()|[\]\\]/g, "\\$&")
    .replace(/\*\*\/?|\*|\?/g, (glob) =>
      glob === "?" ? "[^/]" : glob === "*" ? "[^/]*" : glob === "**" ? ".*" : "(?:.*/)?");
  return new RegExp(`^${source}$`).test(path);
}

const path = {
  sep: "/", delimiter: ":", normalize, join, resolve, isAbsolute, relative, dirname, basename,
  extname, parse, format, matchesGlob, toNamespacedPath: (value) => value,
};
path.posix = path;
// The systems that Weft runs on have only POSIX paths.
path.win32 = path;

return { "node:path": path, "node:path/posix": path, "node:path/win32": path };
