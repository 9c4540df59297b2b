// router() of weft:http.
//
//     const app = router();
//     app.get("/users/{id:int}", (ctx) => Results.ok({ id: ctx.route.id })).name("user");
//     app.group("/admin").use(auth).delete("/users/{id}", remove);
//     export default app;
//
// A pattern consists of literal parts and {name}, {name:str}, {name:int}, {name:float},
// {name:alpha}, {name:uuid}, and at its end {name:*} for everything that follows. Values are
// strings. If several patterns match, the most specific one is used: compared from left to right, a
// literal part precedes a constrained one, which precedes an unconstrained one. The order of the
// declarations does not matter. A trailing slash is significant. HEAD is answered by GET; another
// method by 405 with Allow.

const {
  ArrayIsArray, ArrayPrototypeIndexOf, ArrayPrototypeJoin, ArrayPrototypePush, ArrayPrototypeSlice,
  ArrayPrototypeSort, Error, ObjectKeys, ReflectApply, RegExpPrototypeExec, RegExpPrototypeTest,
  String, StringPrototypeIndexOf, StringPrototypeSlice, StringPrototypeSplit,
  StringPrototypeStartsWith, StringPrototypeTrim, SyntaxError, TypeError, WeakMap,
  WeakMapPrototypeGet, WeakMapPrototypeSet, decodeURIComponent, encodeURIComponent,
} = realm.primordials;
const { weftHttp } = realm;
const { Results, resultOf } = weftHttp;
const noOptions = { __proto__: null };
const { URL, URLSearchParams } = globalThis;

const constraints = {
  __proto__: null,
  str: /[^]/,
  int: /^-?[0-9]+$/,
  float: /^-?[0-9]+(\.[0-9]+)?$/,
  alpha: /^[A-Za-z]+$/,
  uuid: /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i,
};
const kLiteral = 3;
const kConstrained = 2;
const kAny = 1;
const kRest = 0;

function parsePart(part, pattern) {
  const found = RegExpPrototypeExec(/^\{([A-Za-z_]\w*)(?::(\w+|\*))?\}$/, part);
  if (found === null) {
    if (RegExpPrototypeTest(/[{}?#]/, part)) {
      throw new SyntaxError(`'${part}' in the route ${pattern} is no part such as users or {id:int}`);
    }
    return { rank: kLiteral, text: part, name: null, test: null };
  }
  const name = found[1];
  const kind = found[2] ?? "str";
  if (kind === "*") return { rank: kRest, text: null, name, test: null };
  if (!(kind in constraints)) {
    throw new SyntaxError(`there is no constraint '${kind}' (in the route ${pattern}); there are: ` +
      `${ArrayPrototypeJoin(ObjectKeys(constraints), ", ")}, *`);
  }
  const isAny = kind === "str";
  return { rank: isAny ? kAny : kConstrained, text: null, name, test: isAny ? null : constraints[kind] };
}

function parsePattern(pattern) {
  if (typeof pattern !== "string" || pattern[0] !== "/") {
    throw new SyntaxError(`a route begins with a slash: '${String(pattern)}'`);
  }
  const parts = [];
  const names = [];
  const texts = StringPrototypeSplit(StringPrototypeSlice(pattern, 1), "/");
  for (let at = 0; at < texts.length; at++) {
    const part = parsePart(texts[at], pattern);
    if (part.rank === kRest && at + 1 < texts.length) {
      throw new SyntaxError(`${texts[at]} stands at the end of a route: ${pattern}`);
    }
    if (part.name !== null) {
      if (ArrayPrototypeIndexOf(names, part.name) >= 0) {
        throw new SyntaxError(`the route ${pattern} has two parts of the name ${part.name}`);
      }
      ArrayPrototypePush(names, part.name);
    }
    ArrayPrototypePush(parts, part);
  }
  return parts;
}

function compareRoutes(a, b) {
  const shorter = a.parts.length < b.parts.length ? a.parts.length : b.parts.length;
  for (let at = 0; at < shorter; at++) {
    const difference = b.parts[at].rank - a.parts[at].rank;
    if (difference !== 0) return difference;
  }
  return b.parts.length - a.parts.length || a.order - b.order;
}

// The values of a pattern's names; null if the path does not match.
function matchParts(parts, texts) {
  const last = parts[parts.length - 1];
  const hasRest = last.rank === kRest;
  if (hasRest ? texts.length < parts.length : texts.length !== parts.length) return null;
  const count = hasRest ? parts.length - 1 : parts.length;
  for (let at = 0; at < count; at++) {
    const part = parts[at];
    const text = texts[at];
    if (part.rank === kLiteral ? part.text !== text
      : text === "" || (part.test !== null && !RegExpPrototypeTest(part.test, text))) return null;
  }
  const values = { __proto__: null };
  for (let at = 0; at < count; at++) {
    if (parts[at].name !== null) values[parts[at].name] = decodeURIComponent(texts[at]);
  }
  if (hasRest) {
    values[last.name] = decodeURIComponent(ArrayPrototypeJoin(
      ArrayPrototypeSlice(texts, count), "/"));
  }
  return values;
}

// The path of an absolute URL, without making an object for it.
function pathOf(url) {
  const begin = StringPrototypeIndexOf(url, "/", StringPrototypeIndexOf(url, "://") + 3);
  const query = StringPrototypeIndexOf(url, "?", begin);
  return query < 0 ? StringPrototypeSlice(url, begin) : StringPrototypeSlice(url, begin, query);
}

function queryOf(url) {
  const mark = StringPrototypeIndexOf(url, "?");
  const values = { __proto__: null };
  if (mark < 0) return values;
  const pairs = new URLSearchParams(StringPrototypeSlice(url, mark + 1));
  pairs.forEach((value, name) => { values[name] = value; });  // the last wins
  return values;
}

function cookiesOf(field) {
  const values = { __proto__: null };
  const pairs = StringPrototypeSplit(field ?? "", ";");
  for (let at = 0; at < pairs.length; at++) {
    const equals = StringPrototypeIndexOf(pairs[at], "=");
    if (equals < 0) continue;
    const name = StringPrototypeTrim(StringPrototypeSlice(pairs[at], 0, equals));
    const value = StringPrototypeTrim(StringPrototypeSlice(pairs[at], equals + 1));
    if (name in values) continue;  // the first one is of the longest path
    try {
      values[name] = decodeURIComponent(value);
    } catch {
      values[name] = value;
    }
  }
  return values;
}

// The argument of a handler.
class RouteContext {
  #router;
  #matched;
  #outer;
  #query = null;
  #cookies = null;

  constructor(router, request, env, outer, matched) {
    this.#router = router;
    this.#matched = matched;
    this.#outer = outer;
    this.request = request;
    this.env = env;
    this.route = matched === null ? { __proto__: null } : matched.values;
    this.state = { __proto__: null };  // for middleware and the handler to share
  }

  get path() { return pathOf(this.request.url); }
  get query() { return (this.#query ??= queryOf(this.request.url)); }
  get signal() { return this.#outer?.signal ?? this.request.signal; }
  get deadline() { return this.#outer?.deadline; }
  get routeName() { return this.#matched?.route.label ?? null; }
  get routePattern() { return this.#matched?.route.pattern ?? null; }
  get cookies() {
    this.#cookies ??= cookiesOf(this.request.headers.get("cookie"));
    const values = this.#cookies;
    return { get: (name) => values[name] ?? null, entries: () => ({ ...values }) };
  }

  waitUntil(promise) { this.#outer.waitUntil(promise); }
  urlFor(name, values, query) { return this.#router.urlFor(name, values, query); }
}

class Route {
  #names;

  constructor(names, pattern, parts, order, handler, middleware) {
    this.#names = names;
    this.pattern = pattern;
    this.parts = parts;
    this.order = order;
    this.handler = handler;
    this.middleware = middleware;
    this.label = null;
    this.deadlineMs = null;
  }

  // Requires an answer this many milliseconds after the request arrived; the limit of the
  // application applies too.
  deadline(ms) {
    if (typeof ms !== "number" || !(ms > 0)) {
      throw new TypeError(`deadline() takes milliseconds, not ${String(ms)}`);
    }
    this.deadlineMs = ms;
    return this;
  }

  name(label) {
    if (label in this.#names) throw new TypeError(`two routes have the name '${label}'`);
    this.#names[label] = this;
    this.label = label;
    return this;
  }
}

// Calls the first middleware, which calls the next one, and so on; the last one calls the handler.
async function call(middleware, at, ctx, handler, what) {
  if (at === middleware.length) return resultOf(await handler(ctx), what);
  let isCalled = false;
  const next = () => {
    if (isCalled) throw new Error("next() was called twice by one middleware");
    isCalled = true;
    return call(middleware, at + 1, ctx, handler, what);
  };
  return resultOf(await middleware[at](ctx, next), `a middleware of ${what}`);
}

class Table {
  constructor() {
    this.methods = { __proto__: null };  // routes by method, the most specific first
    this.native = [];   // arguments of httpDeclareStatic, from static()
    this.proxies = [];  // arguments of httpDeclareProxy, from proxy()
    this.names = { __proto__: null };
    this.count = 0;
  }

  add(method, pattern, handler, middleware) {
    if (typeof handler !== "function") {
      throw new TypeError(`the route ${method} ${pattern} has no function for a handler`);
    }
    const parts = parsePattern(pattern);
    const routes = (this.methods[method] ??= []);
    for (let at = 0; at < routes.length; at++) {
      if (routes[at].pattern === pattern) throw new TypeError(`two routes are ${method} ${pattern}`);
    }
    const route = new Route(this.names, pattern, parts, this.count++, handler, middleware);
    ArrayPrototypePush(routes, route);
    ArrayPrototypeSort(routes, compareRoutes);
    return route;
  }

  find(method, texts) {
    const routes = this.methods[method];
    if (routes === undefined) return null;
    for (let at = 0; at < routes.length; at++) {
      const values = matchParts(routes[at].parts, texts);
      if (values !== null) return { route: routes[at], values };
    }
    return null;
  }

  // The methods of a path; includes HEAD if there is GET.
  allowed(texts) {
    const found = [];
    const methods = ObjectKeys(this.methods);
    for (let at = 0; at < methods.length; at++) {
      if (methods[at] === "*" || this.find(methods[at], texts) === null) continue;
      ArrayPrototypePush(found, methods[at]);
      if (methods[at] === "GET" && !("HEAD" in this.methods)) ArrayPrototypePush(found, "HEAD");
    }
    return found;
  }
}

// Maps the fetch function of an application to its table. Made on first use, because a WeakMap
// cannot be part of the snapshot.
let tables = null;

// The messages are those of weft.json, where the same paths are refused.
function nativePath(prefix, path) {
  const whole = path === "/" && prefix !== "" ? prefix : `${prefix}${path}`;
  if (RegExpPrototypeExec(/^(\/|(\/[^/.:*?#%{}][^/?#%{}]*)+)$/, whole) === null) {
    throw new SyntaxError(`'${whole}' is no path such as /assets`);
  }
  return whole;
}

// The host declares the routes that it answers without the handler.
weftHttp.declareRoutes = (handler) => {
  const table = tables === null || handler === null ? undefined
    : WeakMapPrototypeGet(tables, handler);
  if (table === undefined) return;
  for (let at = 0; at < table.native.length; at++) {
    ReflectApply(native.httpDeclareStatic, undefined, table.native[at]);
  }
  for (let at = 0; at < table.proxies.length; at++) {
    ReflectApply(native.httpDeclareProxy, undefined, table.proxies[at]);
  }
};

class Router {
  #table;
  #prefix;
  #middleware;
  #onError = null;
  #notFound = null;

  constructor(table = new Table(), prefix = "", middleware = []) {
    this.#table = table;
    this.#prefix = prefix;
    this.#middleware = middleware;
    // A host may call it without its object.
    this.fetch = (request, env, ctx) => this.#fetch(request, env, ctx);
    tables ??= new WeakMap();
    WeakMapPrototypeSet(tables, this.fetch, table);
  }

  get(pattern, handler) { return this.#add("GET", pattern, handler); }
  head(pattern, handler) { return this.#add("HEAD", pattern, handler); }
  post(pattern, handler) { return this.#add("POST", pattern, handler); }
  put(pattern, handler) { return this.#add("PUT", pattern, handler); }
  patch(pattern, handler) { return this.#add("PATCH", pattern, handler); }
  delete(pattern, handler) { return this.#add("DELETE", pattern, handler); }
  options(pattern, handler) { return this.#add("OPTIONS", pattern, handler); }
  all(pattern, handler) { return this.#add("*", pattern, handler); }
  // Adds a stream of events: handler(ctx, events).
  sse(pattern, handler, options) {
    return this.get(pattern, (ctx) =>
      weftHttp.sse(ctx.request, (events) => handler(ctx, events), options));
  }

  // Files below a folder, and the answers of another server: weft serve sends both without entering
  // JavaScript, so no middleware sees them. A program that calls fetch() itself gets the files from
  // here.
  static(path, folder, options = noOptions) {
    const prefix = nativePath(this.#prefix, path);
    const root = weftHttp.pathFrom(folder);
    const index = options.index ?? "index.html";
    const cacheControl = options.cacheControl ?? "";
    ArrayPrototypePush(this.#table.native, [prefix, root, String(index), String(cacheControl)]);
    const handler = weftHttp.files(root, { index });
    const below = prefix === "/" ? "" : prefix;
    this.#table.add("GET", `${below}/{path:*}`, handler, this.#middleware);
    return this;
  }
  proxy(path, upstreams) {
    const prefix = nativePath(this.#prefix, path);
    const list = ArrayIsArray(upstreams) ? upstreams : [upstreams];
    if (list.length === 0) throw new TypeError(`the proxy at ${prefix} needs an upstream`);
    const route = [prefix];
    for (let at = 0; at < list.length; at++) ArrayPrototypePush(route, String(list[at]));
    ArrayPrototypePush(this.#table.proxies, route);
    return this;
  }

  // Applies to the routes that are added from now on.
  use(middleware) {
    if (typeof middleware !== "function") throw new TypeError("use() takes a function (ctx, next)");
    this.#middleware = [...this.#middleware, middleware];
    return this;
  }
  group(prefix, fill) {
    if (prefix !== "") parsePattern(prefix);
    const group = new Router(this.#table, this.#prefix + prefix, this.#middleware);
    fill?.(group);
    return group;
  }
  onError(handler) {
    this.#onError = handler;
    return this;
  }
  notFound(handler) {
    this.#notFound = handler;
    return this;
  }

  urlFor(name, values = {}, query = undefined) {
    const route = this.#table.names[name];
    if (route === undefined) throw new TypeError(`no route has the name '${name}'`);
    let url = "";
    for (let at = 0; at < route.parts.length; at++) {
      const part = route.parts[at];
      const value = part.rank === kLiteral ? part.text : values[part.name];
      if (value === undefined || value === null) {
        throw new TypeError(`the route '${name}' needs a value for ${part.name}`);
      }
      if (part.test !== null && !RegExpPrototypeTest(part.test, String(value))) {
        throw new TypeError(`'${value}' does not fit ${part.name} of the route '${name}'`);
      }
      url += part.rank === kLiteral || part.rank === kRest ? `/${value}`
        : `/${encodeURIComponent(String(value))}`;
    }
    const search = query === undefined ? "" : String(new URLSearchParams(query));
    return search === "" ? url : `${url}?${search}`;
  }

  #add(method, pattern, handler) {
    return this.#table.add(method, this.#prefix + pattern, handler, this.#middleware);
  }

  async #fetch(request, env, outer) {
    const texts = StringPrototypeSplit(StringPrototypeSlice(pathOf(request.url), 1), "/");
    const { method } = request;
    let matched;
    try {
      matched = this.#table.find(method, texts) ??
        (method === "HEAD" ? this.#table.find("GET", texts) : null) ?? this.#table.find("*", texts);
    } catch {
      return Results.badRequest({ title: "The path has an escape that stands for nothing" });
    }
    const ctx = new RouteContext(this, request, env, outer, matched);
    try {
      if (matched !== null) {
        const { route } = matched;
        if (route.deadlineMs !== null) realm.serve.limit(outer, route.deadlineMs);
        return await call(route.middleware, 0, ctx, route.handler, `${method} ${route.pattern}`);
      }
      return await this.#unmatched(ctx, texts);
    } catch (error) {
      if (this.#onError === null) {
        // Malformed JSON of the client is not an error of the handler.
        if (!realm.body.isMalformed(error)) throw error;
        return Results.problem({ title: "The body is not valid JSON", status: 400 });
      }
      return resultOf(await this.#onError(error, ctx), "onError");
    }
  }

  async #unmatched(ctx, texts) {
    const allowed = this.#table.allowed(texts);
    if (allowed.length > 0) {
      return Results.problem({ title: "Method Not Allowed", status: 405 },
        { headers: { allow: ArrayPrototypeJoin(allowed, ", ") } });
    }
    if (this.#notFound !== null) return resultOf(await this.#notFound(ctx), "notFound");
    return Results.problem({ title: "Not Found", status: 404 });
  }
}

weftHttp.router = () => new Router();
weftHttp.Router = Router;
