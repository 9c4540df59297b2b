// The global object: `self`, `navigator`, and the end of the prelude. It must be its last script.
const { webidl } = realm;

// https://html.spec.whatwg.org/#the-navigator-object, the part that WinterTC requires.
class Navigator {
  #brand;

  constructor() {
    if (arguments[0] !== webidl.internal) throw webidl.illegalConstructor();
  }
  get userAgent() {
    this.#brand;
    return `Weft/${native.version()}`;
  }
  get hardwareConcurrency() {
    this.#brand;
    return native.hardwareConcurrency();
  }
  get language() {
    this.#brand;
    return "en-US";
  }
  get languages() {
    this.#brand;
    return languages;
  }
  get platform() {
    this.#brand;
    return "Linux x86_64";
  }
  get appCodeName() {
    this.#brand;
    return "Mozilla";
  }
  get appName() {
    this.#brand;
    return "Netscape";
  }
  get appVersion() {
    this.#brand;
    return "5.0 (Linux)";
  }
  get product() {
    this.#brand;
    return "Gecko";
  }
  get onLine() {
    this.#brand;
    return true;
  }
}
webidl.configureInterface(Navigator);
const languages = realm.primordials.ObjectFreeze(["en-US"]);

realm.expose({ Navigator });
realm.attribute("self", globalThis);
realm.attribute("navigator", new Navigator(webidl.internal));

realm.events.installGlobalEventTarget(globalThis);
realm.clone.close();
