// file() and files() of weft:http: responses out of files.
//
//     return file(new URL("./page.html", import.meta.url), { request });
//     app.get("/static/{path:*}", files(new URL("./static/", import.meta.url)));
//
// With a request, what the client already has is not sent again (ETag, Last-Modified) and one
// range of bytes is understood. files() never leaves its folder, and shows no file whose name
// begins with a dot.

const {
  ArrayPrototypeSome, DateParse, DatePrototypeToUTCString, Date, Error, MathFloor, MathMin, NumberPrototypeToString,
  RegExpPrototypeExec, RegExpPrototypeTest, StringPrototypeEndsWith, StringPrototypeIncludes,
  StringPrototypeLastIndexOf, StringPrototypeSlice, StringPrototypeSplit,
  StringPrototypeStartsWith, StringPrototypeToLowerCase, TypeError, decodeURIComponent, isNaN,
} = realm.primordials;
const { httpFileRead, httpFileStatus } = native;
const { weftHttp } = realm;
const { ReadableStream, URL, Uint8Array } = globalThis;

const kSliceBytes = 256 * 1024;
const types = {
  __proto__: null,
  html: "text/html; charset=utf-8", htm: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8", js: "text/javascript; charset=utf-8",
  mjs: "text/javascript; charset=utf-8", json: "application/json; charset=utf-8",
  map: "application/json; charset=utf-8", txt: "text/plain; charset=utf-8",
  md: "text/markdown; charset=utf-8", xml: "application/xml", svg: "image/svg+xml",
  png: "image/png", jpg: "image/jpeg", jpeg: "image/jpeg", gif: "image/gif", webp: "image/webp",
  avif: "image/avif", ico: "image/x-icon", woff: "font/woff", woff2: "font/woff2",
  wasm: "application/wasm", pdf: "application/pdf", mp4: "video/mp4", webm: "video/webm",
  mp3: "audio/mpeg", zip: "application/zip",
};

function pathFrom(where) {
  if (typeof where === "string" && !StringPrototypeStartsWith(where, "file:")) return where;
  const url = where instanceof URL ? where : new URL(where);
  if (url.protocol !== "file:") throw new TypeError(`${url.href} is no file`);
  return decodeURIComponent(url.pathname);
}

function typeOf(path) {
  const dot = StringPrototypeLastIndexOf(path, ".");
  const extension = StringPrototypeToLowerCase(StringPrototypeSlice(path, dot + 1));
  return types[extension] ?? "application/octet-stream";
}

// https://www.rfc-editor.org/rfc/rfc9110#section-13.2.2: If-None-Match goes before the time.
function isUnchanged(headers, etag, modified) {
  const tags = headers.get("if-none-match");
  if (tags !== null) {
    return tags === "*" || ArrayPrototypeSome(StringPrototypeSplit(tags, ","),
      (tag) => StringPrototypeEndsWith(tag.trim(), etag));
  }
  const since = headers.get("if-modified-since");
  return since !== null && modified <= DateParse(since);
}

// [first, last] of the one range that is asked for; undefined: all; null: none of it is there.
function rangeOf(headers, size, etag, modified) {
  const text = headers.get("range");
  const found = text === null ? null : RegExpPrototypeExec(/^bytes=(\d*)-(\d*)$/, text);
  if (found === null || (found[1] === "" && found[2] === "")) return undefined;
  const condition = headers.get("if-range");
  if (condition !== null && condition !== etag && DateParse(condition) !== modified) return undefined;
  if (found[1] === "") {
    const count = MathMin(+found[2], size);
    return count === 0 ? null : [size - count, size - 1];
  }
  const last = found[2] === "" ? size - 1 : MathMin(+found[2], size - 1);
  if (+found[1] > last) return +found[1] >= size ? null : undefined;
  return [+found[1], last];
}

// From one offset to another, read as the client takes it.
function contentOf(path, begin, end) {
  let at = begin;
  return new ReadableStream({
    type: "bytes",
    async pull(controller) {
      if (at === end) {
        controller.close();
        controller.byobRequest?.respond(0);
        return;
      }
      const bytes = new Uint8Array(await httpFileRead(path, at, MathMin(kSliceBytes, end - at)));
      if (bytes.length === 0) throw new Error(`${path} has become shorter`);
      at += bytes.length;
      controller.enqueue(bytes);
    },
  });
}

async function file(where, options = {}) {
  const path = pathFrom(where);
  const status = await httpFileStatus(path);  // [size, milliseconds, is a file]
  if (!status[2]) throw new TypeError(`${path} is no file`);
  const size = status[0];
  const modified = MathFloor(status[1] / 1000) * 1000;
  const etag = `"${NumberPrototypeToString(size, 16)}-${NumberPrototypeToString(MathFloor(status[1]), 16)}"`;
  const respond = (body, code, extra) => {
    const response = weftHttp.respond(body, code, code === 304 ? null
      : options.contentType ?? typeOf(path), { headers: options.headers });
    response.headers.set("etag", etag);
    response.headers.set("last-modified", DatePrototypeToUTCString(new Date(modified)));
    response.headers.set("accept-ranges", "bytes");
    if (extra !== undefined) response.headers.set("content-range", extra);
    return response;
  };
  const headers = options.request?.headers;
  if (headers !== undefined && isUnchanged(headers, etag, modified)) return respond(null, 304);
  const range = headers === undefined ? undefined : rangeOf(headers, size, etag, modified);
  if (range === null) return respond(null, 416, `bytes */${size}`);
  const [first, last] = range ?? [0, size - 1];
  const code = range === undefined ? 200 : 206;
  const extra = range === undefined ? undefined : `bytes ${first}-${last}/${size}`;
  if (options.request?.method === "HEAD") return respond(null, code, extra);
  // What fits into one read leaves in one piece, with its length.
  const body = last - first < kSliceBytes
    ? (size === 0 ? "" : new Uint8Array(await httpFileRead(path, first, last - first + 1)))
    : contentOf(path, first, last + 1);
  return respond(body, code, extra);
}

// A handler for a route that ends in {path:*}.
function files(folder, options = {}) {
  let root = pathFrom(folder);
  if (!StringPrototypeEndsWith(root, "/")) root += "/";
  return async (ctx) => {
    let rest = ctx.route.path ?? "";
    if (rest === "" || StringPrototypeEndsWith(rest, "/")) rest += options.index ?? "index.html";
    const isHidden = ArrayPrototypeSome(StringPrototypeSplit(rest, "/"),
      (part) => part === "" || StringPrototypeStartsWith(part, "."));
    if (isHidden || StringPrototypeIncludes(rest, "\0") || StringPrototypeIncludes(rest, "\\")) {
      return weftHttp.Results.problem({ title: "Not Found", status: 404 });
    }
    try {
      return await file(root + rest, { ...options, request: ctx.request });
    } catch (error) {
      if (!(error instanceof TypeError) && error.code !== "NotFound") throw error;
      return weftHttp.Results.problem({ title: "Not Found", status: 404 });
    }
  };
}

weftHttp.file = file;
weftHttp.files = files;
realm.modules["weft:http"] = {
  __proto__: null,
  Results: weftHttp.Results,
  router: weftHttp.router,
  sse: weftHttp.sse,
  file,
  files,
  upgradeWebSocket: realm.websocket.upgradeWebSocket,
};
