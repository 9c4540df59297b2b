// `location`, for scripts to which the host gives one: the program's option --location.
//
// realm.location.set(href)   defines the global attribute and the base of relative URLs;
//                            returns false if the text is not a URL
const { webidl } = realm;
const { URL } = realm.url;

// https://html.spec.whatwg.org/#worker-locations
class WorkerLocation {
  #url;

  constructor() {
    if (arguments[0] !== webidl.internal) throw webidl.illegalConstructor();
    this.#url = arguments[1];
  }
  toString() {
    return this.#url.href;
  }
  get href() {
    return this.#url.href;
  }
  get origin() {
    return this.#url.origin;
  }
  get protocol() {
    return this.#url.protocol;
  }
  get host() {
    return this.#url.host;
  }
  get hostname() {
    return this.#url.hostname;
  }
  get port() {
    return this.#url.port;
  }
  get pathname() {
    return this.#url.pathname;
  }
  get search() {
    return this.#url.search;
  }
  get hash() {
    return this.#url.hash;
  }
}
webidl.configureInterface(WorkerLocation);

realm.location = {
  __proto__: null,
  set(href) {
    const url = URL.parse(href);
    if (url === null) return false;
    realm.http.baseURL = url.href;
    realm.expose({ WorkerLocation });
    realm.attribute("location", new WorkerLocation(webidl.internal, url));
    return true;
  },
};
