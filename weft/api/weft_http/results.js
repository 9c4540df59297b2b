// Results of weft:http: responses named by their meaning.
//
//     return Results.ok({ id: 7 });
//     return Results.created("/users/7", user).cookie("seen", "1", { httpOnly: true });
//     return Results.problem({ title: "Out of stock", status: 409 });
//
// Every result is a Response. The last argument of each may be { status, headers, contentType, json
// }; `json` is the policy of json.js. Fields that the server sets itself cannot be set.

const {
  ArrayIsArray, DatePrototypeToUTCString, ObjectFreeze, ObjectKeys, PromisePrototypeThen,
  PromiseResolve, RegExpPrototypeTest, String, StringPrototypeReplace, StringPrototypeToLowerCase,
  TypeError, Uint8Array, encodeURIComponent, Date,
} = realm.primordials;
const { resultJson, webidl } = realm;
const { Headers, ReadableStream, Response, TextEncoder } = globalThis;
const appendHeader = realm.primordials.uncurryThis(Headers.prototype.append);
const setHeader = realm.primordials.uncurryThis(Headers.prototype.set);

const kJson = "application/json; charset=utf-8";
const kProblem = "application/problem+json; charset=utf-8";
const kText = "text/plain; charset=utf-8";
const kHtml = "text/html; charset=utf-8";
const kBytes = "application/octet-stream";
const kLines = "application/x-ndjson";

const managed = {
  __proto__: null,
  "content-type": "use the option contentType",
  "content-length": "it is counted",
  connection: "the server decides",
  "transfer-encoding": "the server decides",
  "keep-alive": "the server decides",
};
const noOptions = { __proto__: null };

function refuseManaged(name) {
  const why = managed[StringPrototypeToLowerCase(name)];
  if (why !== undefined) throw new TypeError(`Results cannot set the header ${name}: ${why}`);
}

function fieldsOf(given, contentType) {
  const headers = new Headers(given ?? undefined);
  if (given !== undefined && given !== null) {
    const names = ArrayIsArray(given) || given instanceof Headers ? [...headers.keys()]
      : ObjectKeys(given);
    for (let at = 0; at < names.length; at++) refuseManaged(names[at]);
  }
  if (contentType !== null) setHeader(headers, "content-type", contentType);
  return headers;
}

const sameSites = { __proto__: null, strict: "Strict", lax: "Lax", none: "None" };

// https://www.rfc-editor.org/rfc/rfc6265#section-4.1
function cookieText(name, value, options) {
  if (!RegExpPrototypeTest(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/, name)) {
    throw new TypeError(`'${name}' cannot be the name of a cookie`);
  }
  let text = `${name}=${encodeURIComponent(String(value))}`;
  const attribute = (label, given) => {
    if (RegExpPrototypeTest(/[\u0000-\u001f;\u007f]/, String(given))) {
      throw new TypeError(`'${given}' cannot be the ${label} of a cookie`);
    }
    text += `; ${label}=${given}`;
  };
  if (options.domain !== undefined) attribute("Domain", options.domain);
  attribute("Path", options.path ?? "/");
  if (options.maxAge !== undefined) {
    attribute("Max-Age", webidl.converters["long long"](options.maxAge, "cookie", "maxAge"));
  }
  if (options.expires !== undefined) {
    attribute("Expires", DatePrototypeToUTCString(new Date(options.expires)));
  }
  if (options.sameSite !== undefined) {
    const policy = sameSites[StringPrototypeToLowerCase(String(options.sameSite))];
    if (policy === undefined) throw new TypeError("sameSite is strict, lax or none");
    attribute("SameSite", policy);
  }
  if (options.httpOnly) text += "; HttpOnly";
  if (options.secure || sameSites[options.sameSite] === "None") text += "; Secure";
  return text;
}

class Result extends Response {
  cookie(name, value, options = noOptions) {
    appendHeader(this.headers, "set-cookie", cookieText(String(name), value, options));
    return this;
  }

  cacheControl(value) {
    setHeader(this.headers, "cache-control", value);
    return this;
  }

  cacheHeaders({ cacheControl, vary, etag, lastModified } = noOptions) {
    if (cacheControl !== undefined) setHeader(this.headers, "cache-control", cacheControl);
    if (vary !== undefined) setHeader(this.headers, "vary", ArrayIsArray(vary) ? vary.join(", ") : vary);
    if (etag !== undefined) {
      const isQuoted = RegExpPrototypeTest(/^(W\/)?".*"$/, String(etag));
      setHeader(this.headers, "etag", isQuoted ? etag : `"${etag}"`);
    }
    if (lastModified !== undefined) {
      setHeader(this.headers, "last-modified", DatePrototypeToUTCString(new Date(lastModified)));
    }
    return this;
  }
}

function respond(body, status, contentType, options) {
  if (options === undefined) {
    return new Result(body, {
      status,
      headers: contentType === null ? undefined : [["content-type", contentType]],
    });
  }
  return new Result(body, {
    status: options.status ?? status,
    headers: fieldsOf(options.headers, contentType === null ? null
      : options.contentType ?? contentType),
  });
}

function json(value, options) {
  return respond(resultJson(value, options?.json), 200, kJson, options);
}

function jsonWith(status, value, options) {
  if (value === undefined) return respond(null, status, null, options);
  return respond(resultJson(value, options?.json), status, kJson, options);
}

function problem(details, options) {
  let record = { title: "Internal Server Error", status: 500 };
  if (typeof details === "string") record = { title: details, status: 500 };
  else if (details !== undefined && details !== null) record = { title: "Problem", status: 500, ...details };
  if (options?.status !== undefined) record.status = options.status;
  return respond(resultJson(record, options?.json), record.status, kProblem, options);
}

// The writer that the function of Results.stream() receives. A write waits while the client is
// slow, and tells whether the client takes more.
class StreamWriter {
  #controller;
  #wanted;
  #encoder = new TextEncoder();

  constructor(controller, signal) {
    this.#controller = controller;
    this.signal = signal;
  }

  writeText(text) {
    return this.writeBytes(this.#encoder.encode(String(text)));
  }

  writeBytes(bytes) {
    if (this.signal.aborted) throw this.signal.reason;
    this.#controller.enqueue(webidl.copyBytes(bytes));
    if (this.#controller.desiredSize > 0) return PromiseResolve(true);
    this.#wanted ??= realm.primordials.newPromise();
    return this.#wanted.promise;
  }

  // The client takes more, or is gone.
  wake() {
    this.#wanted?.resolve(!this.signal.aborted);
    this.#wanted = undefined;
  }
}

function stream(write, options) {
  if (typeof write !== "function") throw new TypeError("Results.stream() takes a function");
  const gone = new globalThis.AbortController();
  let writer;
  const body = new ReadableStream({
    start(controller) {
      writer = new StreamWriter(controller, gone.signal);
      PromisePrototypeThen((async () => write(writer))(), () => {
        if (!gone.signal.aborted) controller.close();
      }, (error) => {
        if (!gone.signal.aborted) controller.error(error);
      });
    },
    pull() { writer.wake(); },
    cancel(reason) {
      gone.abort(reason);
      writer.wake();
    },
  }, { highWaterMark: 16 });
  return respond(body, 200, kBytes, options);
}

// The rows of a cursor of weft:data as they arrive: one line of JSON per row, or with { format:
// "json" } one array. A row goes from the driver to the client without becoming an object, and the
// client's speed limits the driver.
function rows(cursor, options) {
  const { Cursor } = realm.data;
  const asLines = (options?.format ?? "ndjson") === "ndjson";
  if (!asLines && options.format !== "json") {
    throw new TypeError('Results.rows(): the format is "ndjson" or "json"');
  }
  Cursor.claim(cursor);
  let begun = false;
  const encoder = new TextEncoder();
  const body = new ReadableStream({
    async pull(controller) {
      const bytes = await Cursor.nextJson(cursor, asLines);
      if (!asLines) {
        const mark = begun ? (bytes === undefined ? "]" : ",") : (bytes === undefined ? "[]" : "[");
        controller.enqueue(encoder.encode(mark));
      }
      begun = true;
      if (bytes === undefined) controller.close();
      else controller.enqueue(new Uint8Array(bytes));
    },
    cancel() { return cursor.close(); },
  }, { highWaterMark: 1 });
  return respond(body, 200, asLines ? kLines : kJson, options);
}

const Results = ObjectFreeze({
  __proto__: null,
  ok: (value, options) => jsonWith(200, value, options),
  created(location, value, options) {
    const result = jsonWith(201, value, options);
    setHeader(result.headers, "location", String(location));
    return result;
  },
  accepted: (value, options) => jsonWith(202, value, options),
  noContent: (options) => respond(null, 204, null, options),
  badRequest: (value, options) => jsonWith(400, value, options),
  unauthorized: (value, options) => jsonWith(401, value, options),
  forbidden: (value, options) => jsonWith(403, value, options),
  notFound: (value, options) => jsonWith(404, value, options),
  conflict: (value, options) => jsonWith(409, value, options),
  status: (code, value, options) => jsonWith(code, value, options),
  redirect(location, status = 302) {
    const result = respond(null, status, null, undefined);
    setHeader(result.headers, "location", String(location));
    return result;
  },
  text: (value, options) => respond(String(value), 200, kText, options),
  html: (value, options) => respond(String(value), 200, kHtml, options),
  bytes: (value, options) => respond(webidl.copyBytes(value), 200, kBytes, options),
  json,
  problem,
  rows,
  stream,
});

// A handler may return a plain value instead of a Response.
function resultOf(value, what) {
  if (value instanceof Response) return value;
  if (value === undefined) throw new TypeError(`${what} returned nothing: it must return a Response or a value`);
  if (typeof value === "string") return respond(value, 200, kText, undefined);
  return json(value);
}

realm.weftHttp = { __proto__: null, Results, Result, resultOf, respond };
