// file() and files() of weft:http: responses with the content of files.
//
//     return file(new URL("./page.html", import.meta.url), { request });
//     app.get("/static/{path:*}", files(new URL("./static/", import.meta.url)));
//
// With a request, content that the client already has is not sent again (ETag, Last-Modified), byte
// ranges are supported, and a precompressed file (.br, .zst, .gz) is sent to a client that accepts
// it. The bytes go from the file to the socket without a script, unless a script reads them.
// files() never leaves its folder and serves no file whose name begins with a dot.

const {
  ArrayPrototypePush, ArrayPrototypeSome, ReflectApply, StringPrototypeEndsWith,
  StringPrototypeIncludes, StringPrototypeSlice, StringPrototypeSplit, StringPrototypeStartsWith,
  StringPrototypeToLowerCase, TypeError, decodeURIComponent,
} = realm.primordials;
const { httpFileFind, httpFileLoad } = native;
const { body: bodies, http, weftHttp } = realm;
const { URL } = globalThis;

// The fields that determine which bytes of a file are sent, and whether any are.
const kConditionalFields = [
  "if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range", "range",
  "accept-encoding",
];
const noOptions = { __proto__: null };

function pathFrom(where) {
  if (typeof where === "string" && !StringPrototypeStartsWith(where, "file:")) return where;
  const url = where instanceof URL ? where : new URL(where);
  if (url.protocol !== "file:") throw new TypeError(`${url.href} is no file`);
  return decodeURIComponent(url.pathname);
}

// [root, path, number of the native request, method, name, value, ...]: for a request of the server
// the native side reads the fields itself.
function fileQueryOf(root, path, request) {
  const query = [root, path, 0, "GET"];
  if (request === undefined || request === null) return query;
  const id = http.isRequest(request) ? http.serverIdOf(request) : -1;
  if (id > 0 && native.requestMethod(id) !== undefined) {
    query[2] = id;
    return query;
  }
  query[3] = request.method;
  for (let at = 0; at < kConditionalFields.length; at++) {
    const value = request.headers.get(kConditionalFields[at]);
    if (value !== null) ArrayPrototypePush(query, kConditionalFields[at], value);
  }
  return query;
}

// answer: [content, status, size, name, value, ...]
function responseOf(answer, options) {
  const status = answer[1];
  const response = weftHttp.respond(null, status, null,
    options.headers === undefined ? undefined : { headers: options.headers });
  const isWhole = status === 200 || status === 206;
  for (let at = 3; at < answer.length; at += 2) {
    const name = StringPrototypeToLowerCase(answer[at]);
    const isOwn = isWhole && name === "content-type" && options.contentType !== undefined &&
      !StringPrototypeStartsWith(answer[at + 1], "multipart/byteranges");
    response.headers.set(name, isOwn ? options.contentType : answer[at + 1]);
  }
  if (!http.isNullBodyStatus(status)) {
    http.setResponseBody(response, bodies.fileBody(answer[0], answer[2]));
  }
  return response;
}

async function answerOf(root, path, options) {
  const query = fileQueryOf(root, path, options.request);
  const answer = ReflectApply(httpFileFind, undefined, query) ??
    await ReflectApply(httpFileLoad, undefined, query);
  return responseOf(answer, options);
}

async function file(where, options = noOptions) {
  return answerOf("", pathFrom(where), options);
}

// A handler for a route that ends with {path:*}.
function files(folder, options = noOptions) {
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
      return await answerOf(root, `/${rest}`, { ...options, request: ctx.request });
    } catch (error) {
      if (!isMissing(error)) throw error;
      return weftHttp.Results.problem({ title: "Not Found", status: 404 });
    }
  };
}

// Includes paths that must not be reached from the folder.
function isMissing(error) {
  return error.code === "NotFound" || error.code === "PermissionDenied";
}

weftHttp.file = file;
weftHttp.files = files;
weftHttp.pathFrom = pathFrom;
realm.modules["weft:http"] = {
  __proto__: null,
  Results: weftHttp.Results,
  router: weftHttp.router,
  sse: weftHttp.sse,
  file,
  files,
  upgradeWebSocket: realm.websocket.upgradeWebSocket,
};
