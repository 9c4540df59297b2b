#!/usr/bin/env python3
"""What a request gets whose handler fails, and that nobody else notices
(JS-4, JS-5, JS-16)."""
import select
import time

from served import LONG, PATIENCE_S, ServeTest, in_threads, main, read_to_end

FAILURES = """
const { promise: never } = { promise: () => new Promise(() => {}) };
const held = [];
const failures = {
  throw() { throw new TypeError("thrown on purpose"); },
  async reject() { await null; throw new RangeError("rejected on purpose"); },
  rejectUndefined() { return Promise.reject(); },
  throwNull() { throw null; },
  thrower() { return { get then() { throw new Error("from a getter"); } }; },
  nothing() {},
  text() { return "no response"; },
  async object() { return { status: 200 }; },
  error() { return Response.error(); },
  used() { const response = new Response("x"); response.text(); return response; },
  hung() { return never(); },
  async hungLater() { await new Promise((go) => setTimeout(go, 20)); await never(); },
  pending() { return new Promise((go) => held.push(go)); },
  async slow() { await new Promise((go) => setTimeout(go, 60_000)); return new Response(); },
  loop() { for (;;); },
  async loopLater() { await null; for (;;); },
  async loopInTimer() {
    await new Promise((go) => setTimeout(() => { for (;;); go(); }, 1));
    return new Response();
  },
  catching() { for (;;) { try { for (;;); } catch {} finally { continue; } } },
  regex() { return new Response(String(/^(a+)+$/.test("a".repeat(40) + "b"))); },
  microtasks() { const again = () => Promise.resolve().then(again); again(); return never(); },
  queued() { const again = () => queueMicrotask(again); again(); return never(); },
  async awaiting() { for (;;) await null; },
  async some() { for (let i = 0; i < 900; i++) await null; return new Response("some"); },
  async floodInTimer() {
    await new Promise(() => setTimeout(() => failures.microtasks(), 1));
  },
  floodOfThenables() {
    const endless = { then(resolve) { resolve(endless); } };
    return Promise.resolve(endless);
  },
  recursion() { const deeper = () => deeper() + 1; return new Response(String(deeper())); },
  recursionJson() {
    let nested = []; for (let i = 0; i < 1e5; i++) nested = [nested];
    return new Response(JSON.stringify(nested));
  },
};

export default {
  fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === "/ok") return new Response("ok");
    if (pathname === "/work") return new Response(String([1, 2, 3].map((x) => x * 2)));
    return failures[pathname.slice(1)]();
  },
};
"""


class Failures(ServeTest):
    SOURCE = FAILURES

    def check(self, name, code, text=""):
        answer = self.weft.ask("/" + name)
        self.assert_failed(answer, code, text)
        self.assert_answers()


class Deadlines(Failures):
    OPTIONS = {"limits": {"handlerDeadlineMs": 1500, "cpuMs": 40}}

    def test_JS_5_a_handler_still_pending_at_its_deadline(self):
        for name in ["pending", "slow"]:
            with self.subTest(name):
                begun = time.monotonic()
                self.check(name, "HandlerDeadline", "Promise did not resolve in time")
                took = time.monotonic() - begun
                self.assertGreaterEqual(took, 1.4)
                self.assertLess(took, 15)  # by itself the slow one ends after sixty

    def test_JS_5_a_timer_that_computes_for_ever_ends_its_request(self):
        answer = self.weft.ask("/loopInTimer")
        self.assertEqual(answer.status, 500, answer)
        self.assertIn(answer.code, ["CpuLimit", "HandlerDeadline", "HandlerHung"])
        self.assert_answers()


class Outcomes(Failures):
    # A deadline of the wall is nothing that these reach, on however busy a machine.
    OPTIONS = {"limits": {"handlerDeadlineMs": 60_000, "cpuMs": 40}}

    def test_JS_16_a_handler_that_throws(self):
        for name in ["throw", "reject", "rejectUndefined", "throwNull", "thrower"]:
            with self.subTest(name):
                self.check(name, "HandlerThrew")
        self.assertIn("thrown on purpose", self.weft.log())
        self.assertIn("rejected on purpose", self.weft.log())

    def test_JS_16_a_handler_that_gives_no_response(self):
        for name in ["nothing", "text", "object"]:
            with self.subTest(name):
                self.check(name, "NotAResponse")

    def test_JS_16_a_response_that_cannot_be_sent(self):
        self.check("error", "UnsendableResponse", "cannot be sent")

    def test_JS_16_a_response_whose_body_was_used(self):
        self.check("used", "HandlerThrew")

    def test_JS_16_a_handler_that_can_never_settle_is_told_at_once(self):
        for name in ["hung", "hungLater"]:
            with self.subTest(name):
                time.sleep(1.1)  # such looks are at least a second apart
                begun = time.monotonic()
                self.check(name, "HandlerHung", "nothing is pending")
                self.assertLess(time.monotonic() - begun, 10)  # the deadline is sixty

    def test_JS_5_a_handler_that_computes_for_ever(self):
        for name in ["loop", "loopLater", "catching", "regex"]:
            with self.subTest(name):
                self.check(name, "CpuLimit")

    def test_JS_4_endless_microtasks(self):
        for name in ["microtasks", "queued", "awaiting"]:
            with self.subTest(name):
                self.check(name, "CpuLimit")

    def test_JS_16_deep_recursion(self):
        for name in ["recursion", "recursionJson"]:
            with self.subTest(name):
                self.check(name, "HandlerThrew")
        self.assertIn("Maximum call stack size exceeded", self.weft.log())

    def test_JS_5_endless_loops_in_a_row_each_with_the_next_request_answered(self):
        for _ in range(1000 if LONG else 100):
            self.check("loop", "CpuLimit")

    def test_JS_5_endless_loops_side_by_side(self):
        def one(index):
            return self.weft.ask("/loop" if index % 2 else "/work")

        for index, answer in enumerate(in_threads(16, one)):
            if index % 2:
                self.assert_failed(answer, "CpuLimit")
            else:
                self.assertEqual((answer.status, answer.text), (200, "2,4,6"))


class ErrorEvents(ServeTest):
    SOURCE = """
const seen = [];
addEventListener("error", (event) => {
  seen.push(event.error.message);
  if (event.error.message !== "told") event.preventDefault();
});
export default { fetch(request) {
  const { pathname } = new URL(request.url);
  if (pathname === "/seen") return Response.json(seen);
  throw new Error(pathname.slice(1));
} };
"""

    def test_JS_16_what_a_handler_throws_is_an_event_that_can_be_prevented(self):
        for name in ["kept", "told"]:
            self.assert_failed(self.weft.ask("/" + name), "HandlerThrew")
        self.assertEqual(self.weft.json("/seen"), ["kept", "told"])
        self.assertIn("Error: told", self.weft.log())
        self.assertNotIn("Error: kept", self.weft.log())


class MicrotaskLimit(ServeTest):
    SOURCE = FAILURES
    OPTIONS = {"limits": {"microtasks": 1024, "cpuMs": 10_000}}

    def test_JS_4_more_microtasks_than_the_limit_fail_their_dispatch_alone(self):
        for _ in range(20):
            for name in ["microtasks", "queued", "awaiting", "floodInTimer", "floodOfThenables"]:
                with self.subTest(name):
                    begun = time.monotonic()
                    self.assert_failed(self.weft.ask("/" + name), "MicrotaskLimit",
                                       "too many microtasks")
                    # The limit on time is ten seconds.
                    self.assertLess(time.monotonic() - begun, 8)
                    self.assert_answers()

    def test_JS_4_fewer_microtasks_than_the_limit_are_run(self):
        for answer in in_threads(8, lambda _: self.weft.ask("/some")):
            self.assertEqual((answer.status, answer.text), (200, "some"))


class Bystanders(ServeTest):
    SOURCE = """
let begun = 0;
let goOn = null;
let shared = Promise.withResolvers();
setInterval(() => {}, 5);  // the isolate is never idle
const paths = {
  begun: () => Response.json(begun),
  async waits() {
    begun++;
    await new Promise((go) => { goOn = go; });
    return new Response("on time");
  },
  sharing() {
    begun++;
    return shared.promise;
  },
  // What it wakes would run in the drain that it takes with it.
  async takesAlong() {
    await null;
    goOn();
    shared.resolve(new Response("on time"));
    for (;;);
  },
};
export default { fetch: (request) => paths[new URL(request.url).pathname.slice(1)]() };
"""
    OPTIONS = {"limits": {"handlerDeadlineMs": 100_000, "cpuMs": 40}}

    def test_JS_16_who_lost_what_it_waited_for_to_another_is_told_before_its_deadline(self):
        clients = [self.weft.begin(path, headers="connection: close\r\n")
                   for path in ["/waits", "/sharing"]]
        self.assert_failed(self.weft.ask("/takesAlong"), "CpuLimit")
        for client in clients:
            answer = read_to_end(client)
            self.assertTrue(answer.startswith(b"HTTP/1.1 500 "), answer)
            self.assertIn(b"weft-error: HandlerHung", answer)


class OtherIsolates(ServeTest):
    SOURCE = FAILURES
    OPTIONS = {"limits": {"cpuMs": 5000}, "arguments": ["--isolates", "2"]}

    def test_JS_4_one_isolate_answers_while_the_other_computes(self):
        # Which of the two takes a connection is the kernel's choice; so ask until both are known.
        clients = [self.weft.connect() for _ in range(16)]
        loop = self.weft.send("/loop")
        time.sleep(0.1)  # so that it computes
        for client in clients:
            client.sendall(b"GET /ok HTTP/1.1\r\nhost: test\r\n\r\n")
        answered, _, _ = select.select([*clients, loop], [], [], PATIENCE_S)
        self.assertNotIn(loop, answered)
        self.assertTrue(answered[0].recv(4096).startswith(b"HTTP/1.1 200"))
        self.assertIn(b" 500 ", loop.recv(4096))
        for client in [*clients, loop]:
            client.close()


if __name__ == "__main__":
    main()
