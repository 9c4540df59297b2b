"""How a test is run by Weft, and by others whose results are its measure."""
import json
import os

# What a test finds in a browser and not in these: `self`, a location that URLs are relative to, and
# an event target; an error that the harness has seen does not end the program.
NODE = """
globalThis.self = globalThis;
globalThis.location = new URL(%(location)s);
globalThis[Symbol.for("undici.globalOrigin.1")] = new URL(%(location)s);
process.on("uncaughtException", () => {}).on("unhandledRejection", () => {});
"""
BUN = """
globalThis.self = globalThis;
globalThis.location = new URL(%(location)s);
process.on("uncaughtException", () => {}).on("unhandledRejection", () => {});
{
  const own = fetch;
  const absolute = (url) => typeof url === "string" || url instanceof URL
    ? (URL.parse(url, %(location)s)?.href ?? url) : url;
  globalThis.fetch = function fetch(url, ...rest) { return own(absolute(url), ...rest); };
  globalThis.Request = new Proxy(Request, {
    construct: (target, [url, ...rest], self) =>
      Reflect.construct(target, [absolute(url), ...rest], self),
  });
}
"""
EVENTS = """
if (globalThis.addEventListener === undefined) {
  const target = new EventTarget();
  for (const name of ["addEventListener", "removeEventListener", "dispatchEvent"]) {
    globalThis[name] = target[name].bind(target);
  }
}
"""
PRELUDES = {"weft": "", "deno": "", "node": NODE + EVENTS, "bun": BUN + EVENTS}
# Each is told by one of these whom the test server has its certificate from.
AUTHORITIES = ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "DENO_CERT"]


def prelude(runtime, location):
    """What goes before the script of a test."""
    return PRELUDES[runtime].replace("%(location)s", json.dumps(location))


def command(runtime, program, location, script):
    if runtime == "node":
        return [program, "--experimental-eventsource", "--expose-gc", script]
    if runtime == "deno":
        return [program, "run", "--allow-all", "--no-lock", "--location", location, script]
    if runtime == "bun":
        return [program, "run", script]
    return [program, "run", "--location", location, "--allow-fetch", "127.0.0.0/8",
            "--allow-fetch", "::1/128", script]


def environment(authority):
    return os.environ | {name: str(authority) for name in AUTHORITIES} | {"WEFT_CACHE_DIR": ""}
