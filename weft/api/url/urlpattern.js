// URLPattern. https://urlpattern.spec.whatwg.org/

const { urlHost, urlPercentEncode } = native;
const { url: urls, urlPattern, webidl } = realm;
const { brandCheck, isObject } = webidl;
const {
  RegExpPrototypeExec, RegExpPrototypeSymbolReplace, StringPrototypeLastIndexOf,
  StringPrototypeSlice, StringPrototypeStartsWith, StringPrototypeToLowerCase, TypeError,
} = realm.primordials;
const { compile, escapePattern, tokenize } = urlPattern;
const { converters } = webidl;
const { URL } = urls;

const componentNames =
  ["protocol", "username", "password", "hostname", "port", "pathname", "search", "hash"];
const specialPorts = {
  __proto__: null, ftp: "21", file: "", http: "80", https: "443", ws: "80", wss: "443",
};

const toInit = webidl.dictionaryConverter("URLPatternInit", [
  { key: "baseURL", converter: converters.USVString },
  { key: "hash", converter: converters.USVString },
  { key: "hostname", converter: converters.USVString },
  { key: "password", converter: converters.USVString },
  { key: "pathname", converter: converters.USVString },
  { key: "port", converter: converters.USVString },
  { key: "protocol", converter: converters.USVString },
  { key: "search", converter: converters.USVString },
  { key: "username", converter: converters.USVString },
]);
const toOptions = webidl.dictionaryConverter("URLPatternOptions", [
  { key: "ignoreCase", converter: converters.boolean, defaultValue: false },
]);

function toInput(value, prefix) {
  return value === undefined || value === null || isObject(value)
    ? toInit(value, prefix, "Argument 1") : converters.USVString(value, prefix, "Argument 1");
}

// ---- canonicalization: https://urlpattern.spec.whatwg.org/#canon-encoding-callbacks

function invalid(part, value) {
  return new TypeError(`Invalid pattern: '${value}' is not a valid ${part}`);
}

function withoutNewlines(value) {
  return RegExpPrototypeSymbolReplace(/[\t\n\r]/g, value, "");
}

function dummyURL() {
  return new URL("https://dummy.invalid/");
}

function canonicalProtocol(value) {
  if (value === "") return value;
  const parsed = URL.parse(`${value}://dummy.invalid`);
  if (parsed === null) throw invalid("protocol", value);
  return StringPrototypeSlice(parsed.protocol, 0, -1);
}

function canonicalUsername(value) {
  const url = dummyURL();
  url.username = value;
  return url.username;
}

function canonicalPassword(value) {
  const url = dummyURL();
  url.password = value;
  return url.password;
}

function canonicalHostname(value, protocol) {
  if (value === "") return value;
  const opaque = protocol !== undefined && protocol !== "" && !(protocol in specialPorts);
  // The hostname state stops before these characters, which are not part of the host; a port is an
  // error.
  const host = RegExpPrototypeExec(opaque ? /^[^/?#]*/ : /^[^/?#\\]*/, withoutNewlines(value))[0];
  const bracketed = host[0] === "[";
  if (!bracketed && RegExpPrototypeExec(/:/, host) !== null) throw invalid("hostname", value);
  const parsed = host === "" ? undefined : urlHost(host, opaque);
  if (parsed === undefined) throw invalid("hostname", value);
  return parsed;
}

function canonicalIPv6(value) {
  if (RegExpPrototypeExec(/^[0-9A-Fa-f[\]:]*$/, value) === null) throw invalid("hostname", value);
  return StringPrototypeToLowerCase(value);
}

function canonicalPort(value, protocol) {
  if (value === "") return value;
  const digits = RegExpPrototypeExec(/^[0-9]+/, withoutNewlines(value));
  if (digits === null || +digits[0] > 65535) throw invalid("port", value);
  const port = `${+digits[0]}`;
  return protocol !== undefined && specialPorts[protocol] === port ? "" : port;
}

function canonicalPathname(value) {
  if (value === "") return value;
  const leading = value[0] === "/";
  const url = dummyURL();
  url.pathname = leading ? value : `/-${value}`;
  return leading ? url.pathname : StringPrototypeSlice(url.pathname, 2);
}

function canonicalOpaquePathname(value) {
  return urlPercentEncode(withoutNewlines(value), 0);
}

function canonicalSearch(value) {
  if (value === "") return value;
  const url = dummyURL();
  url.search = `?${value}`;
  return StringPrototypeSlice(url.search, 1);
}

function canonicalHash(value) {
  if (value === "") return value;
  return urlPercentEncode(withoutNewlines(value), 1);
}

// ---- https://urlpattern.spec.whatwg.org/#process-a-urlpatterninit

function isAbsolutePathname(input, isPattern) {
  if (input === "") return false;
  if (input[0] === "/") return true;
  if (!isPattern) return false;
  return StringPrototypeStartsWith(input, "\\/") || StringPrototypeStartsWith(input, "{/");
}

function stripped(value, character, atEnd) {
  if (atEnd) {
    return value[value.length - 1] === character ? StringPrototypeSlice(value, 0, -1) : value;
  }
  return value[0] === character ? StringPrototypeSlice(value, 1) : value;
}

function hasOpaquePath(base) {
  return RegExpPrototypeExec(/^[^:]*:\//, base.href) === null;
}

// Copies the components of the base URL into `result`.
function inherit(result, init, base, isPattern) {
  const given = (value) => (isPattern ? escapePattern(value) : value);
  const has = (name) => init[name] !== undefined;
  const origin = has("protocol") || has("hostname") || has("port");
  if (!has("protocol")) result.protocol = given(StringPrototypeSlice(base.protocol, 0, -1));
  if (!isPattern && !origin && !has("username")) {
    result.username = base.username;
    if (!has("password")) result.password = base.password;
  }
  if (!has("protocol") && !has("hostname")) result.hostname = given(base.hostname);
  if (origin) return;
  result.port = given(base.port);
  if (has("pathname")) return;
  result.pathname = given(base.pathname);
  if (has("search")) return;
  result.search = given(StringPrototypeSlice(base.search, 1));
  if (has("hash")) return;
  result.hash = given(StringPrototypeSlice(base.hash, 1));
}

// `isPattern` is the standard's type "pattern", otherwise the type is "url".
function processInit(init, isPattern, result) {
  let base = null;
  if (init.baseURL !== undefined) {
    base = URL.parse(init.baseURL);
    if (base === null) throw invalid("base URL", init.baseURL);
    inherit(result, init, base, isPattern);
  }
  if (init.protocol !== undefined) {
    const protocol = stripped(init.protocol, ":", true);
    result.protocol = isPattern ? protocol : canonicalProtocol(protocol);
  }
  if (init.username !== undefined) {
    result.username = isPattern ? init.username : canonicalUsername(init.username);
  }
  if (init.password !== undefined) {
    result.password = isPattern ? init.password : canonicalPassword(init.password);
  }
  if (init.hostname !== undefined) {
    result.hostname = isPattern ? init.hostname : canonicalHostname(init.hostname, result.protocol);
  }
  if (init.port !== undefined) {
    result.port = isPattern ? init.port : canonicalPort(init.port, result.protocol);
  }
  if (init.pathname !== undefined) processPathname(init.pathname, base, isPattern, result);
  if (init.search !== undefined) {
    const search = stripped(init.search, "?", false);
    result.search = isPattern ? search : canonicalSearch(search);
  }
  if (init.hash !== undefined) {
    const hash = stripped(init.hash, "#", false);
    result.hash = isPattern ? hash : canonicalHash(hash);
  }
  return result;
}

function processPathname(given, base, isPattern, result) {
  let pathname = given;
  if (base !== null && !hasOpaquePath(base) && !isAbsolutePathname(pathname, isPattern)) {
    const path = isPattern ? escapePattern(base.pathname) : base.pathname;
    const slash = StringPrototypeLastIndexOf(path, "/");
    if (slash !== -1) pathname = StringPrototypeSlice(path, 0, slash + 1) + pathname;
  }
  if (!isPattern) {
    const { protocol } = result;
    pathname = protocol === undefined || protocol === "" || protocol in specialPorts
      ? canonicalPathname(pathname) : canonicalOpaquePathname(pathname);
  }
  result.pathname = pathname;
}

// ---- https://urlpattern.spec.whatwg.org/#constructor-string-parsing

const plain = { __proto__: null, delimiter: "", prefix: "", ignoreCase: false };

function matchesSpecialScheme(protocol) {
  for (const scheme in specialPorts) {
    if (RegExpPrototypeExec(protocol.regexp, scheme) !== null) return true;
  }
  return false;
}

class ConstructorStringParser {
  constructor(input) {
    const tokenizer = tokenize(input);
    this.tokenizer = tokenizer;
    this.tokens = tokenizer.tokens;
    this.result = { __proto__: null };
    this.start = 0;
    this.index = 0;
    this.increment = 1;
    this.depth = 0;
    this.bracketDepth = 0;
    this.special = false;
    this.state = "init";
  }

  is(index, value) {
    const token = this.tokens[index] ?? this.tokens[this.tokens.length - 1];
    return token.value === value &&
      (token.type === "char" || token.type === "escaped-char" || token.type === "invalid-char");
  }

  isSearchPrefix() {
    if (this.is(this.index, "?")) return true;
    if (this.tokens[this.index].value !== "?") return false;
    if (this.index === 0) return true;
    const { type } = this.tokens[this.index - 1];
    return type !== "name" && type !== "regexp" && type !== "close" && type !== "asterisk";
  }

  text() {
    return this.tokenizer.text(this.tokens[this.start].index, this.tokens[this.index].index);
  }

  rewind(state) {
    this.index = this.start;
    this.increment = 0;
    this.state = state;
  }

  // https://urlpattern.spec.whatwg.org/#change-state
  change(state, skip) {
    const old = this.state;
    const { result } = this;
    if (old !== "init" && old !== "authority" && old !== "done") result[old] = this.text();
    if (old !== "init" && state !== "done") {
      const order = before(old, "hostname");
      if (order && (state === "port" || state === "pathname" || state === "search" ||
          state === "hash")) result.hostname ??= "";
      if (before(old, "pathname") && (state === "search" || state === "hash")) {
        result.pathname ??= this.special ? "/" : "";
      }
      if (before(old, "search") && state === "hash") result.search ??= "";
    }
    this.state = state;
    this.index += skip;
    this.start = this.index;
    this.increment = 0;
  }

  run() {
    while (this.index < this.tokens.length) {
      this.increment = 1;
      const { type } = this.tokens[this.index];
      if (type === "end") {
        if (this.state === "init") {
          this.rewind("init");
          if (this.is(this.index, "#")) this.change("hash", 1);
          else if (this.isSearchPrefix()) this.change("search", 1);
          else this.change("pathname", 0);
          this.index += this.increment;
          continue;
        }
        if (this.state === "authority") {
          this.rewind("hostname");
          this.index += this.increment;
          continue;
        }
        this.change("done", 0);
        break;
      }
      if (type === "open") {
        this.depth++;
      } else if (this.depth > 0) {
        if (type === "close") this.depth--;
      } else {
        this.step();
      }
      this.index += this.increment;
    }
    const { result } = this;
    if (result.hostname !== undefined) result.port ??= "";
    return result;
  }

  step() {
    switch (this.state) {
      case "init":
        if (this.is(this.index, ":")) this.rewind("protocol");
        break;
      case "protocol":
        if (this.is(this.index, ":")) this.endProtocol();
        break;
      case "authority":
        if (this.is(this.index, "@")) this.rewind("username");
        else if (this.is(this.index, "/") || this.isSearchPrefix() || this.is(this.index, "#")) {
          this.rewind("hostname");
        }
        break;
      case "username":
        if (this.is(this.index, ":")) this.change("password", 1);
        else if (this.is(this.index, "@")) this.change("hostname", 1);
        break;
      case "password":
        if (this.is(this.index, "@")) this.change("hostname", 1);
        break;
      case "hostname":
        if (this.is(this.index, "[")) this.bracketDepth++;
        else if (this.is(this.index, "]")) this.bracketDepth--;
        else if (this.is(this.index, ":") && this.bracketDepth === 0) this.change("port", 1);
        else this.endAuthority();
        break;
      case "port":
        this.endAuthority();
        break;
      case "pathname":
        if (this.isSearchPrefix()) this.change("search", 1);
        else if (this.is(this.index, "#")) this.change("hash", 1);
        break;
      case "search":
        if (this.is(this.index, "#")) this.change("hash", 1);
        break;
    }
  }

  endAuthority() {
    if (this.is(this.index, "/")) this.change("pathname", 0);
    else if (this.isSearchPrefix()) this.change("search", 1);
    else if (this.is(this.index, "#")) this.change("hash", 1);
  }

  endProtocol() {
    this.special = matchesSpecialScheme(compile(this.text(), canonicalProtocol, plain));
    if (this.is(this.index + 1, "/") && this.is(this.index + 2, "/")) this.change("authority", 3);
    else this.change(this.special ? "authority" : "pathname", 1);
  }
}

// Whether the state precedes the component `name` in a URL.
function before(state, name) {
  switch (state) {
    case "protocol": case "authority": case "username": case "password": return true;
    case "hostname": case "port": return name !== "hostname";
    case "pathname": return name === "search";
    default: return false;
  }
}

// ---- the class

function isIPv6Pattern(hostname) {
  return hostname.length >= 2 && (hostname[0] === "[" ||
    StringPrototypeStartsWith(hostname, "{[") || StringPrototypeStartsWith(hostname, "\\["));
}

class URLPattern {
  #components = { __proto__: null };

  // https://urlpattern.spec.whatwg.org/#dom-urlpattern-urlpattern
  constructor(input = undefined, baseURL = undefined, options = undefined) {
    const prefix = "Failed to construct 'URLPattern'";
    input = toInput(input, prefix);
    // In the overload without a base URL the options are the second argument.
    const short = arguments.length < 2 || (arguments.length < 3 &&
      (baseURL === undefined || baseURL === null || isObject(baseURL)));
    const base = short ? undefined : converters.USVString(baseURL, prefix, "Argument 2");
    options = toOptions(short ? baseURL : options, prefix, short ? "Argument 2" : "Argument 3");
    this.#create(input, base, options, prefix);
  }

  // https://urlpattern.spec.whatwg.org/#url-pattern-create
  #create(input, base, { ignoreCase }, prefix) {
    let init = input;
    if (typeof input === "string") {
      init = new ConstructorStringParser(input).run();
      if (base === undefined && init.protocol === undefined) {
        throw new TypeError(`${prefix}: a pattern without a protocol needs a base URL`);
      }
      if (base !== undefined) init.baseURL = base;
    } else if (base !== undefined) {
      throw new TypeError(`${prefix}: a base URL is a member of the first argument here`);
    }
    const processed = processInit(init, true, { __proto__: null });
    for (let i = 0; i < componentNames.length; i++) processed[componentNames[i]] ??= "*";
    if (processed.protocol in specialPorts &&
        processed.port === specialPorts[processed.protocol]) processed.port = "";
    this.#compileAll(processed, ignoreCase);
  }

  #compileAll(processed, ignoreCase) {
    const components = this.#components;
    const loose = { __proto__: null, delimiter: "", prefix: "", ignoreCase };
    const host = { __proto__: null, delimiter: ".", prefix: "", ignoreCase: false };
    components.protocol = compile(processed.protocol, canonicalProtocol, plain);
    components.username = compile(processed.username, canonicalUsername, plain);
    components.password = compile(processed.password, canonicalPassword, plain);
    const special = matchesSpecialScheme(components.protocol);
    components.hostname = compile(processed.hostname, isIPv6Pattern(processed.hostname)
      ? canonicalIPv6 : (value) => canonicalHostname(value, special ? "https" : "x"), host);
    components.port = compile(processed.port, (value) => canonicalPort(value), plain);
    components.pathname = special
      ? compile(processed.pathname, canonicalPathname,
        { __proto__: null, delimiter: "/", prefix: "/", ignoreCase })
      : compile(processed.pathname, canonicalOpaquePathname, loose);
    components.search = compile(processed.search, canonicalSearch, loose);
    components.hash = compile(processed.hash, canonicalHash, loose);
  }

  test(input = undefined, baseURL = undefined) {
    const prefix = "Failed to execute 'test' on 'URLPattern'";
    brandCheck(isObject(this) && #components in this, "URLPattern");
    input = toInput(input, prefix);
    if (baseURL !== undefined) baseURL = converters.USVString(baseURL, prefix, "Argument 2");
    const values = valuesOf(input, baseURL, prefix);
    if (values === null) return false;
    for (let i = 0; i < componentNames.length; i++) {
      const name = componentNames[i];
      if (RegExpPrototypeExec(this.#components[name].regexp, values[name]) === null) return false;
    }
    return true;
  }

  // https://urlpattern.spec.whatwg.org/#url-pattern-match
  exec(input = undefined, baseURL = undefined) {
    const prefix = "Failed to execute 'exec' on 'URLPattern'";
    brandCheck(isObject(this) && #components in this, "URLPattern");
    input = toInput(input, prefix);
    if (baseURL !== undefined) baseURL = converters.USVString(baseURL, prefix, "Argument 2");
    const values = valuesOf(input, baseURL, prefix);
    if (values === null) return null;
    const result = { inputs: baseURL === undefined ? [shown(input)] : [shown(input), baseURL] };
    for (let i = 0; i < componentNames.length; i++) {
      const name = componentNames[i];
      const component = this.#components[name];
      const match = RegExpPrototypeExec(component.regexp, values[name]);
      if (match === null) return null;
      const groups = {};
      for (let j = 0; j < component.names.length; j++) groups[component.names[j]] = match[j + 1];
      result[name] = { input: values[name], groups };
    }
    return result;
  }

  get protocol() { return this.#components.protocol.pattern; }
  get username() { return this.#components.username.pattern; }
  get password() { return this.#components.password.pattern; }
  get hostname() { return this.#components.hostname.pattern; }
  get port() { return this.#components.port.pattern; }
  get pathname() { return this.#components.pathname.pattern; }
  get search() { return this.#components.search.pattern; }
  get hash() { return this.#components.hash.pattern; }

  get hasRegExpGroups() {
    const components = this.#components;
    for (let i = 0; i < componentNames.length; i++) {
      if (components[componentNames[i]].hasRegExpGroups) return true;
    }
    return false;
  }
}
webidl.configureInterface(URLPattern);

// The input in the result of exec(): a dictionary becomes an ordinary object.
function shown(input) {
  if (typeof input === "string") return input;
  const object = {};
  for (const key in input) object[key] = input[key];
  return object;
}

// The components of the input, or null.
function valuesOf(input, base, prefix) {
  if (typeof input !== "string") {
    if (base !== undefined) {
      throw new TypeError(`${prefix}: a base URL is a member of the first argument here`);
    }
    const empty = { __proto__: null };
    for (let i = 0; i < componentNames.length; i++) empty[componentNames[i]] = "";
    try {
      return processInit(input, false, empty);
    } catch {
      return null;
    }
  }
  const url = URL.parse(input, base);
  if (url === null) return null;
  return {
    __proto__: null,
    protocol: StringPrototypeSlice(url.protocol, 0, -1),
    username: url.username,
    password: url.password,
    hostname: url.hostname,
    port: url.port,
    pathname: url.pathname,
    search: StringPrototypeSlice(url.search, 1),
    hash: StringPrototypeSlice(url.hash, 1),
  };
}

realm.url.URLPattern = URLPattern;
realm.expose({ URLPattern });
