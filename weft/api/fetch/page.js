// The part of fetch that depends on the page of the script: Origin, Referer, and which responses
// may be read.
//
// A script has a page only if the host gave it a location (the program's option --location). All
// other scripts have no origin, send no referrer, and may read every response.
//
// NB: The CORS protocol protects what the cookies of a user give access to. There is no user here,
// so a page may also read the responses of other origins; their type is "cors", as if those origins
// had allowed it.
//
// For other scripts, realm.fetching:
//     pageOf(request)     a Page, or null if the script has no location
//     originOf(href)      the origin of a URL as text

const { urlOrigin } = native;
const { fetching, headers: headerLists } = realm;
const {
  ObjectSetPrototypeOf, RegExpPrototypeSymbolReplace, RegExpPrototypeTest,
  StringPrototypeSplit, StringPrototypeToLowerCase, StringPrototypeTrim,
} = realm.primordials;

const kReferrerCharsMax = 4096;

const policies = {
  __proto__: null,
  "no-referrer": true,
  "no-referrer-when-downgrade": true,
  "same-origin": true,
  "origin": true,
  "strict-origin": true,
  "origin-when-cross-origin": true,
  "strict-origin-when-cross-origin": true,
  "unsafe-url": true,
};

function isHttps(href) {
  return RegExpPrototypeTest(/^https:/, href);
}

// https://w3c.github.io/webappsec-secure-contexts/#is-url-trustworthy
function isTrustworthy(href) {
  return RegExpPrototypeTest(
    /^(?:(?:https|wss|file|data):|(?:http|ws):\/\/(?:127(?:\.\d+){3}|\[::1\]|(?:[^/?#@]*\.)?localhost)(?:[:/?#]|$))/,
    href);
}

// https://w3c.github.io/webappsec-referrer-policy/#strip-url
function stripped(href) {
  if (!RegExpPrototypeTest(/^https?:/, href)) return null;
  const withoutFragment = RegExpPrototypeSymbolReplace(/#.*$/s, href, "");
  return RegExpPrototypeSymbolReplace(/^([a-z]+:\/\/)[^/?]*@/, withoutFragment, "$1");
}

// https://w3c.github.io/webappsec-referrer-policy/#determine-requests-referrer; null if there is
// none
function referrerFor(source, policy, url) {
  let whole = stripped(source);
  if (whole === null) return null;
  const origin = `${urlOrigin(whole)}/`;
  if (whole.length > kReferrerCharsMax) whole = origin;
  const isSameOrigin = `${urlOrigin(url)}/` === origin;
  const isDowngrade = isTrustworthy(whole) && !isTrustworthy(url);
  switch (policy) {
    case "no-referrer": return null;
    case "origin": return origin;
    case "unsafe-url": return whole;
    case "strict-origin": return isDowngrade ? null : origin;
    case "same-origin": return isSameOrigin ? whole : null;
    case "origin-when-cross-origin": return isSameOrigin ? whole : origin;
    case "no-referrer-when-downgrade": return isDowngrade ? null : whole;
    default:
      if (isSameOrigin) return whole;
      return isDowngrade ? null : origin;
  }
}

// https://w3c.github.io/webappsec-referrer-policy/#parse-referrer-policy-from-header; "" if there
// is none
function policyOf(field) {
  const tokens = StringPrototypeSplit(field, ",");
  let policy = "";
  for (let i = 0; i < tokens.length; i++) {
    const token = StringPrototypeToLowerCase(StringPrototypeTrim(tokens[i]));
    if (policies[token]) policy = token;
  }
  return policy;
}

class Page {
  constructor(request, href) {
    const { mode, redirect, referrer, referrerPolicy } = request.settings;
    this.mode = mode;
    this.redirect = redirect;
    this.origin = urlOrigin(href);
    // "about:client" means the page itself; null: no referrer is sent.
    this.referrer = referrer === "about:client" ? href : referrer;
    if (referrer === "no-referrer") this.referrer = null;
    this.policy = referrerPolicy === "" ? "strict-origin-when-cross-origin" : referrerPolicy;
    this.type = "basic";             // of the response
    this.serializedOrigin = this.origin;
  }

  // https://fetch.spec.whatwg.org/#concept-main-fetch, steps 8, 9 and 12
  enter(url) {
    if (this.referrer !== null) this.referrer = referrerFor(this.referrer, this.policy, url);
    if (urlOrigin(url) === this.origin && this.type === "basic") return;
    if (this.mode === "same-origin") {
      throw fetching.networkError(`'${url}' is of another origin, which the request does not allow`);
    }
    if (this.mode !== "no-cors") {
      this.type = "cors";
      return;
    }
    if (this.redirect !== "follow") {
      throw fetching.networkError(
        `'${url}' is of another origin, so its redirects could only be followed`);
    }
    this.type = "opaque";
  }

  // https://fetch.spec.whatwg.org/#concept-http-network-or-cache-fetch, the referrer and the origin
  setHeaders(list, method, url) {
    if (this.referrer !== null) headerLists.set(list, "Referer", this.referrer);
    const origin = this.originHeader(method, url);
    if (origin !== null) headerLists.set(list, "Origin", origin);
  }

  // https://fetch.spec.whatwg.org/#append-a-request-origin-header; null if there is none
  originHeader(method, url) {
    if (this.type === "cors") return this.serializedOrigin;
    if (method === "GET" || method === "HEAD") return null;
    if (this.mode === "cors") return this.serializedOrigin;
    switch (this.policy) {
      case "no-referrer":
        return "null";
      case "no-referrer-when-downgrade":
      case "strict-origin":
      case "strict-origin-when-cross-origin":
        return isHttps(this.origin) && !isHttps(url) ? "null" : this.serializedOrigin;
      case "same-origin":
        return urlOrigin(url) === this.origin ? this.serializedOrigin : "null";
      default:
        return this.serializedOrigin;
    }
  }

  // Follows a redirect; `list` is the header list of the response.
  redirected(from, to, list) {
    // https://fetch.spec.whatwg.org/#concept-request-redirect-taint
    const left = urlOrigin(from);
    if (left !== urlOrigin(to) && left !== this.origin) this.serializedOrigin = "null";
    const policy = policyOf(headerLists.get(list, "referrer-policy") ?? "");
    if (policy !== "") this.policy = policy;
  }
}

// NB: Applications may have put accessors with these names on Object.prototype.
ObjectSetPrototypeOf(Page.prototype, null);

fetching.pageOf = (request) => {
  const href = realm.http.baseURL;
  return href === undefined ? null : new Page(request, href);
};
fetching.originOf = (href) => urlOrigin(href);
