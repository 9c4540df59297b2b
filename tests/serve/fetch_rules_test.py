#!/usr/bin/env python3
"""What fetch() sends, and what it takes for a response, by the Fetch standard (JS-9, JS-11)."""
import base64
import gzip
import hashlib
import json
import subprocess
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from served import MIB, PATIENCE_S, WEFT, main

TEXT = b"what was asked for"
CODED_BYTES = 32 * MIB
CODED = gzip.compress(bytes(CODED_BYTES))


class Upstream(BaseHTTPRequestHandler):
    """/seen tells the request; /to redirects; the others are what they are called."""
    protocol_version = "HTTP/1.1"
    misdirected = 0

    def answer(self):
        url = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query, True).items()}
        if url.path == "/early":
            self.close_connection = True
            self.send(303, b"moved", [("location", "/seen"), ("connection", "close")])
            return
        body = self.read_body()
        if url.path == "/to":
            fields = [("location", query["location"])] if "location" in query else []
            if "policy" in query:
                fields.append(("referrer-policy", query["policy"]))
            self.send(int(query.get("status", 302)), b"moved", fields)
        elif url.path == "/coded":
            self.send(200, CODED, [("content-encoding", "gzip")])
        elif url.path == "/misdirected":
            Upstream.misdirected += 1
            self.send(421 if Upstream.misdirected == 1 else 200, TEXT)
        elif url.path == "/events":
            fields = [self.headers.get(name) for name in ("accept", "cache-control", "pragma")]
            self.send(200, f"data: {json.dumps(fields)}\n\n".encode(),
                      [("content-type", "text/event-stream")])
        elif url.path == "/seen":
            seen = {"method": self.command, "path": self.path, "body": body.decode(),
                    "fields": [[name, value] for name, value in self.headers.items()]}
            self.send(200, json.dumps(seen).encode())
        else:
            self.send(200, TEXT)

    def read_body(self):
        if "transfer-encoding" not in self.headers:
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def send(self, status, body, fields=()):
        self.send_response(status)
        for name, value in fields:
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_HEAD = answer

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    def handle_error(self, *_):
        """A client that goes away is none."""


def serve():
    server = Server(("127.0.0.1", 0), Upstream)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


PRELUDE = """
const { here, other } = %s;
const seen = async (url, init) => {
  const response = await fetch(url, init);
  const { method, path, body, fields } = await response.json();
  const all = {};
  for (const [name, value] of fields) all[name.toLowerCase()] = value;
  return { method, path, body, fields: all, names: fields.map(([name]) => name),
    type: response.type, url: response.url, redirected: response.redirected };
};
const to = (location, more = "") => `/to?location=${encodeURIComponent(location)}${more}`;
const failure = (url, init) => fetch(url, init).then(() => "no failure", (error) => error.name);
"""


class FetchRules(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.servers = [serve(), serve()]
        # Both are loopback; 127.0.0.1 and localhost are different origins, and so are the ports.
        cls.here = f"http://localhost:{cls.servers[0].server_port}"
        cls.other = f"http://127.0.0.1:{cls.servers[1].server_port}"

    @classmethod
    def tearDownClass(cls):
        for server in cls.servers:
            server.shutdown()
            server.server_close()

    def run_script(self, text, location=None):
        """What the script gives back by `return`."""
        places = json.dumps({"here": self.here, "other": self.other})
        program = (PRELUDE % places) + (
            f"console.log(JSON.stringify(await (async () => {{{text}}})()));")
        with tempfile.TemporaryDirectory(prefix="weft-fetch.") as folder:
            file = Path(folder) / "main.mjs"
            file.write_text(program)
            arguments = ["--location", location] if location else []
            done = subprocess.run(
                [WEFT, "run", *arguments, "--allow-fetch", "127.0.0.0/8", "--allow-fetch",
                 "::1/128", file],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def from_page(self, text):
        return self.run_script(text, self.here + "/dir/page?query#fragment")

    # ---- redirects

    def test_JS_11_the_method_and_the_body_after_a_redirect(self):
        found = self.run_script("""
          const all = [];
          for (const status of [301, 302, 303, 307, 308]) for (const method of ["POST", "PUT"]) {
            const got = await seen(here + to("/seen", `&status=${status}`), {
              method, body: "text", headers: { "content-language": "en", "x-own": "1" } });
            all.push([status, method, got.method, got.body, got.fields["content-type"] ?? null,
              got.fields["content-language"] ?? null, got.fields["x-own"]]);
          }
          return all;""")
        for status, method, then, *rest in found:
            with self.subTest(f"{status} {method}"):
                drops = status == 303 or (status in (301, 302) and method == "POST")
                self.assertEqual(then, "GET" if drops else method)
                self.assertEqual(rest, ["", None, None, "1"] if drops else
                                 ["text", "text/plain;charset=UTF-8", "en", "1"])

    def test_JS_11_a_stream_is_sent_once(self):
        self.assertEqual(self.run_script("""
          const body = () => new Blob(["text"]).stream();
          const all = [];
          for (const status of [301, 307]) {
            all.push(await failure(here + to("/seen", `&status=${status}`),
              { method: "POST", body: body(), duplex: "half" }));
          }
          const other = await seen(here + to("/seen", "&status=303"),
            { method: "POST", body: body(), duplex: "half" });
          return [...all, other.method];"""), ["TypeError", "TypeError", "GET"])

    def test_JS_11_a_redirect_may_come_before_the_end_of_the_body(self):
        self.assertEqual(self.run_script("""
          let end;
          const ended = new Promise((go) => { end = go; });
          const body = new ReadableStream({
            pull(controller) {
              controller.enqueue(new Uint8Array(65536));
              return new Promise((go) => setTimeout(go, 1));
            },
            cancel: end,
          });
          const { method } = await seen(here + "/early", { method: "POST", body, duplex: "half" });
          await ended;
          return method;"""), "GET")

    def test_JS_11_secrets_stay_with_the_origin_that_they_were_given_for(self):
        found = self.run_script("""
          const headers = { authorization: "a", cookie: "c=1", "x-own": "1" };
          const pick = ({ fields }) => [fields.authorization, fields.cookie, fields["x-own"]]
            .map((value) => value ?? null);
          return [pick(await seen(here + to("/seen"), { headers })),
            pick(await seen(here + to(other + "/seen"), { headers })),
            pick(await seen(here + to(other + to(here + "/seen")), { headers }))];""")
        self.assertEqual(found, [["a", "c=1", "1"], [None, None, "1"], [None, None, "1"]])

    def test_JS_11_the_url_after_redirects(self):
        found = self.run_script("""
          const got = async (url) => {
            const { path, url: last, redirected } = await seen(url);
            return [path, last.slice(here.length), redirected];
          };
          return [await got(here + "/seen#f"), await got(here + to("seen?a b#f")),
            await got(here + to("/seen?\u00e4|{}")), await got(here + to(to("/seen")))];""")
        self.assertEqual(found, [
            ["/seen", "/seen", False], ["/seen?a%20b", "/seen?a%20b", True],
            ["/seen?%E4|{}", "/seen?%E4|{}", True], ["/seen", "/seen", True]])

    def test_JS_11_redirects_that_lead_nowhere_fail(self):
        self.assertEqual(self.run_script("""
          const all = [];
          for (const location of ["data:,x", "ftp://h/", "http://", "http://a:b@localhost/",
            "http://localhost:25/", ""]) all.push(await failure(here + to(location)));
          return [...all, await failure(here + to("/seen"), { redirect: "error" })];"""),
                         ["TypeError"] * 7)

    def test_JS_11_a_redirect_that_is_not_followed_is_the_response(self):
        self.assertEqual(self.run_script("""
          const manual = await fetch(here + to("/seen"), { redirect: "manual" });
          const without = await fetch(here + "/to");
          return [manual.status, manual.headers.get("location"), manual.redirected,
            await manual.text(), without.status, await without.text()];"""),
                         [302, "/seen", False, "moved", 302, "moved"])

    def test_JS_11_a_misdirected_request_is_sent_again(self):
        Upstream.misdirected = 0
        self.assertEqual(self.run_script("""
          const response = await fetch(here + "/misdirected", { method: "POST", body: "x" });
          return [response.status, await response.text()];"""), [200, TEXT.decode()])
        self.assertEqual(Upstream.misdirected, 2)

    # ---- header fields

    def test_JS_9_fields_of_one_name_are_one_field(self):
        found = self.run_script("""
          const headers = new Headers([["X-Two", "1"], ["x-two", "2"], ["Cookie", "a=1"],
            ["cookie", "b=2"]]);
          const { fields, names } = await seen(here + "/seen", { headers });
          const two = names.filter((name) => name.toLowerCase() === "x-two");
          return [fields["x-two"], fields.cookie, two];""")
        self.assertEqual(found, ["1, 2", "a=1; b=2", ["X-Two"]])

    def test_JS_9_the_mode_of_the_cache_is_told_to_the_caches_of_others(self):
        found = self.run_script("""
          const all = [];
          for (const cache of ["default", "no-cache", "no-store", "reload"]) {
            const { fields } = await seen(here + "/seen", { cache });
            all.push([fields["cache-control"] ?? null, fields.pragma ?? null]);
          }
          const { fields } = await seen(here + "/seen",
            { cache: "no-store", headers: { "cache-control": "own" } });
          return [...all, [fields["cache-control"], fields.pragma]];""")
        self.assertEqual(found, [[None, None], ["max-age=0", None], ["no-cache", "no-cache"],
                                 ["no-cache", "no-cache"], ["own", "no-cache"]])

    def test_JS_9_EventSource_asks_for_events_that_no_cache_has(self):
        self.assertEqual(self.run_script("""
          const source = new EventSource(here + "/events");
          const event = await new Promise((go) => { source.onmessage = go; });
          source.close();
          return JSON.parse(event.data);"""), ["text/event-stream", "no-cache", "no-cache"])

    # ---- what is read of the response

    def test_JS_9_the_integrity_of_a_response_is_checked(self):
        def digest(name, data=TEXT):
            return f"{name}-{base64.b64encode(hashlib.new(name, data).digest()).decode()}"

        good = [digest("sha256"), digest("sha384"), digest("sha512"),
                digest("sha512").rstrip("=").replace("+", "-").replace("/", "_"),
                digest("sha512", b"x") + " " + digest("sha512"),
                digest("sha256", b"x") + " " + digest("sha384"), "md5-abc", "",
                digest("sha256") + "?option"]
        bad = [digest("sha256", b"x"), digest("sha256") + " " + digest("sha512", b"x"), "sha256-"]
        found = self.run_script(f"""
          const all = [];
          for (const integrity of {json.dumps(good + bad)}) {{
            all.push(await fetch(here + "/text", {{ integrity }})
              .then((response) => response.text(), (error) => error.name));
          }}
          all.push(await failure(here + "/text", {{ method: "HEAD", integrity: "sha256-" }}));
          const data = (integrity) => failure("data:,what was asked for", {{ integrity }});
          return [...all, await data({json.dumps(good[0])}), await data({json.dumps(bad[0])})];""")
        self.assertEqual(found, [TEXT.decode()] * len(good) + ["TypeError"] * (len(bad) + 1) +
                         ["no failure", "TypeError"])

    def test_JS_9_content_that_repeats_itself_is_read_whole(self):
        self.assertEqual(self.run_script("""
          const response = await fetch(here + "/coded");
          let size = 0;
          for await (const chunk of response.body) size += chunk.length;
          const text = await (await fetch(here + "/coded")).text();
          return [size, text.length];"""), [CODED_BYTES, CODED_BYTES])

    # ---- pages

    def test_JS_9_a_script_without_a_location_has_no_origin(self):
        found = self.run_script("""
          const all = [];
          for (const mode of ["cors", "no-cors", "same-origin"]) {
            const { fields, type } = await seen(here + to(other + "/seen", "&status=307"),
              { method: "POST", mode, body: "x" });
            all.push([fields.origin ?? null, fields.referer ?? null, type]);
          }
          const { fields } = await seen(here + "/seen",
            { headers: { origin: "http://o", referer: "http://r/" } });
          return [...all, [fields.origin, fields.referer]];""")
        self.assertEqual(found, [[None, None, "basic"]] * 3 + [["http://o", "http://r/"]])

    def test_JS_9_a_page_tells_its_origin(self):
        found = self.from_page("""
          const origin = async (url, init) => (await seen(url, init)).fields.origin ?? null;
          return [await origin("/seen"), await origin("/seen", { method: "POST" }),
            await origin(other + "/seen"), await origin(to(other + "/seen")),
            await origin(other + to(here + "/seen")),
            await origin(other + to(other + "/seen")),
            await origin("/seen", { method: "POST", mode: "no-cors",
              referrerPolicy: "no-referrer" })];""")
        here = self.here
        self.assertEqual(found, [None, here, here, here, "null", here, "null"])

    def test_JS_9_a_page_is_the_referrer_as_far_as_the_policy_lets(self):
        found = self.from_page("""
          const all = [];
          for (const referrerPolicy of ["", "no-referrer", "no-referrer-when-downgrade",
            "same-origin", "origin", "strict-origin", "origin-when-cross-origin",
            "strict-origin-when-cross-origin", "unsafe-url"]) for (const origin of [here, other]) {
            all.push((await seen(origin + "/seen", { referrerPolicy })).fields.referer ?? null);
          }
          return all;""")
        whole, origin = self.here + "/dir/page?query", self.here + "/"
        self.assertEqual(found, [
            whole, origin, None, None, whole, whole, whole, None, origin, origin, origin, origin,
            whole, origin, whole, origin, whole, whole])

    def test_JS_9_a_redirect_may_change_the_policy_of_the_referrer(self):
        found = self.from_page("""
          const referrer = async (url, init) => (await seen(url, init)).fields.referer ?? null;
          return [await referrer(to("/seen", "&policy=no-referrer")),
            await referrer(to("/seen", "&policy=origin,unheard-of")),
            await referrer(to(other + "/seen", "&policy=unsafe-url")),
            await referrer(other + to(here + "/seen", "&policy=unsafe-url")),
            await referrer("/seen", { referrer: "/dir/else#f" }),
            await referrer("/seen", { referrer: "" })];""")
        whole, origin = self.here + "/dir/page?query", self.here + "/"
        self.assertEqual(found, [None, origin, whole, origin, self.here + "/dir/else", None])

    def test_JS_9_the_type_of_a_response_says_whose_it_is(self):
        found = self.from_page("""
          const type = async (url, mode) => {
            const response = await fetch(url, { mode });
            return [response.type, response.status, response.url === "", response.body === null];
          };
          return [await type("/text", "cors"), await type(other + "/text", "cors"),
            await type(other + "/text", "no-cors"), await type("/text", "same-origin"),
            await type(to(other + "/text"), "no-cors"),
            await failure(other + "/text", { mode: "same-origin" }),
            await failure(to(other + "/text"), { mode: "same-origin" }),
            await failure(other + "/text", { mode: "no-cors", redirect: "manual" })];""")
        self.assertEqual(found, [
            ["basic", 200, False, False], ["cors", 200, False, False], ["opaque", 0, True, True],
            ["basic", 200, False, False], ["opaque", 0, True, True],
            "TypeError", "TypeError", "TypeError"])


if __name__ == "__main__":
    main()
