#!/usr/bin/env python3
"""A request's signal, timers and context: when they end, and in which order things happen
(JS-3, JS-8, JS-17, SCP-4, SCP-6)."""
import json
import time

from served import LONG, ServeTest, main

LIFE = """
import { AsyncLocalStorage } from "weft:async";

const seen = {
  late: [], aborted: [], fetched: [], timers: [], intervals: 0, cancelled: [], ticks: 0,
};
setInterval(() => { seen.ticks++; }, 10);
const sleep = (ms, signal) => new Promise((go, fail) => {
  const timer = setTimeout(go, ms);
  signal?.addEventListener("abort", () => { clearTimeout(timer); fail(signal.reason); });
});
const storage = new AsyncLocalStorage();
let lateRequest = null;
let begun = 0;

async function readLate(request) {
  seen.late.push(await request.text().catch((error) => error.message));
}

function watch(request, name) {
  begun++;
  request.signal.addEventListener("abort", () => {
    seen.aborted.push([name, request.signal.reason.name]);
  });
}

const paths = {
  ok: () => new Response("ok"),
  seen: () => Response.json(seen),
  begun: () => Response.json(begun),
  async wait(request) {
    watch(request, "wait");
    await sleep(30_000, request.signal);
    return new Response("late");
  },
  async body(request) {
    await request.text();
    watch(request, "body");
    await sleep(30_000, request.signal);
    return new Response("late");
  },
  stream(request) {
    watch(request, "stream");
    return new Response(new ReadableStream({
      async pull(controller) { await sleep(5); controller.enqueue(new Uint8Array(100)); },
      cancel(reason) { seen.cancelled.push(String(reason?.name)); },
    }));
  },
  done(request) { watch(request, "done"); lateRequest = request; return new Response("done"); },
  async doneLater(request) { watch(request, "doneLater"); await sleep(5);
    return new Response("x"); },
  doneStream(request) {
    watch(request, "doneStream");
    return new Response(new ReadableStream({
      async start(controller) {
        await sleep(5);
        controller.enqueue(new Uint8Array(70_000));
        controller.close();
      },
    }));
  },
  heldBody(request, env, ctx) {
    ctx.waitUntil((async () => { await sleep(1); await readLate(request); })());
    return new Response("ok");
  },
  keptBody(request) { lateRequest = request; return new Response(request.method); },
  async lateBody() { await readLate(lateRequest); return new Response("ok"); },
  lateAborted: () => Response.json(lateRequest.signal.aborted),
  async deadline(request, env, ctx) {
    watch(request, "deadline");
    const { deadline } = ctx;
    const isSame = deadline === ctx.deadline;
    seen.timers.push(`${deadline.remainingMs() > 0} ${deadline.expired} ${isSame}`);
    await sleep(30_000, ctx.signal).catch(() => {});
    seen.timers.push(`${deadline.expired}`);
    return new Response("too late");
  },
  timers() {
    setTimeout(() => seen.timers.push("after the response"), 300);
    setInterval(() => { seen.intervals++; }, 100);
    return new Response("ok");
  },
  held(request, env, ctx) {
    ctx.waitUntil((async () => { await sleep(50); seen.timers.push("held"); })());
    return new Response("ok");
  },
  heldFails(request, env, ctx) {
    ctx.waitUntil(Promise.reject(new Error("rejected behind the response")));
    return new Response("ok");
  },
  badStatus() {
    return new Response("", { status: 101 });
  },
  unhandled() { Promise.reject(new Error("nobody handles this")); return new Response("ok"); },
  uncaught() {
    return new Promise((go) => setTimeout(() => {
      setTimeout(go, 5, new Response("ok"));
      throw new Error("thrown in a timer");
    }, 1));
  },
  async loopInTimer() {
    setTimeout(() => { for (;;); }, 1);
    await sleep(1000);
    return new Response("came back");
  },
  async order() {
    const list = [];
    const add = (name) => () => list.push(name);
    await new Promise((go) => {
      setTimeout(() => { list.push("t600"); go(); }, 600);
      setTimeout(add("t300 first"), 300);
      setTimeout(() => { list.push("t0"); queueMicrotask(add("micro of t0")); }, 0);
      setTimeout(() => { list.push("t0 second"); Promise.resolve().then(add("then of t0")); }, 0);
      setTimeout(add("t300 second"), 300);
      setImmediate(add("immediate"));
      queueMicrotask(add("micro"));
      Promise.resolve().then(add("then"));
      clearTimeout(setTimeout(add("never"), 5));
      list.push("sync");
    });
    return Response.json(list);
  },
  async early() {
    let worst = Infinity;
    for (let i = 0; i < 30; i++) {
      const begun = performance.now();
      await sleep(i % 7);
      worst = Math.min(worst, performance.now() - begun - (i % 7));
    }
    // Whoever loses the processor between two looks at the clocks looks again.
    const clocks = () => {
      for (;;) {
        const [before, wall, after] = [performance.now(), Date.now(), performance.now()];
        if (after - before < 1) return [wall, after];
      }
    };
    const [wall, monotonic] = clocks();
    await sleep(100);
    const [wallAfter, monotonicAfter] = clocks();
    return Response.json({ worst, wall: wallAfter - wall, mono: monotonicAfter - monotonic });
  },
  async drift() {
    let count = 0;
    const begun = performance.now();
    await new Promise((go) => {
      const interval = setInterval(() => {
        if (++count === 50) { clearInterval(interval); go(); }
      }, 10);
    });
    return Response.json(performance.now() - begun);
  },
  async context(request) {
    const name = new URL(request.url).searchParams.get("name");
    const found = {};
    const look = (place) => { found[place] = storage.getStore(); };
    await storage.run(name, async () => {
      await null; look("await");
      await { then(go) { look("thenable"); setTimeout(go, 2); } }; look("after thenable");
      await new Promise((go) => setTimeout(() => { look("timer"); go(); }, 3));
      await new Promise((go) => setImmediate(() => { look("immediate"); go(); }));
      await new Promise((go) => queueMicrotask(() => { look("microtask"); go(); }));
      await new Promise((go) => {
        const controller = new AbortController();
        controller.signal.addEventListener("abort", () => { look("abort"); go(); });
        controller.abort();
      });
      const stream = new ReadableStream({
        async pull(controller) {
          await sleep(1); look("pull"); controller.enqueue("x"); controller.close();
        },
      });
      for await (const chunk of stream.pipeThrough(new TransformStream({
        transform(part, controller) { look("transform"); controller.enqueue(part); },
      }))) look("chunk");
      await request.text(); look("body");
      await fetch("data:text/plain,x").catch(() => {}); look("fetch");
    });
    found.outside = storage.getStore() ?? null;
    return Response.json(found);
  },
  anyPlain() {
    const app = globalThis.appSignal ??= new AbortController().signal;
    for (let i = 0; i < 50_000; i++) AbortSignal.any([app]);
    return new Response("ok");
  },
};

export default {
  fetch(request, env, ctx) {
    const { pathname } = new URL(request.url);
    return paths[pathname.slice(1)](request, env, ctx);
  },
};
"""


class Requests(ServeTest):
    SOURCE = LIFE
    # Far above what fifty ticks of 10 ms take, also where each comes late.
    OPTIONS = {"limits": {"handlerDeadlineMs": 6000, "cpuMs": 2000}}

    def seen(self):
        return self.weft.json("/seen")

    def until_aborted(self, name, reason="AbortError"):
        self.weft.until(lambda: [name, reason] in self.seen()["aborted"], f"the abort of {name}")

    def test_SCP_4_the_signal_fires_when_the_client_goes(self):
        client = self.weft.begin("/wait")
        client.close()
        self.until_aborted("wait")

    def test_SCP_4_the_signal_fires_after_the_body_was_read(self):
        client = self.weft.begin("/body", method="POST", headers="content-length: 5\r\n",
                                 body=b"hello")
        client.close()
        self.until_aborted("body")

    def test_SCP_4_the_signal_fires_after_a_body_that_came_late(self):
        client = self.weft.send("/body", "POST", "content-length: 5\r\n", b"he")
        time.sleep(0.05)  # so that the handler waits for the rest
        begun = self.weft.json("/begun")
        client.sendall(b"llo")
        self.weft.until(lambda: self.weft.json("/begun") > begun, "the whole body")
        before = self.seen()["aborted"].count(["body", "AbortError"])
        client.close()
        self.weft.until(
            lambda: self.seen()["aborted"].count(["body", "AbortError"]) > before, "abort")

    def test_SCP_4_the_signal_fires_in_the_middle_of_a_stream(self):
        before = len(self.seen()["cancelled"])
        client = self.weft.send("/stream")
        client.recv(1000)
        time.sleep(0.05)
        client.close()
        self.until_aborted("stream")
        self.weft.until(lambda: len(self.seen()["cancelled"]) > before, "cancel() of the stream")

    def test_SCP_4_the_signal_never_fires_after_success(self):
        for name, end in [("done", b"\r\n\r\ndone"), ("doneLater", b"\r\n\r\nx"),
                          ("doneStream", b"\r\n0\r\n\r\n")]:
            self.assertEqual(self.weft.ask("/" + name).status, 200)
            client = self.weft.send("/" + name)
            text = client.recv(100_000)
            self.assertIn(b" 200 ", text)
            while not text.endswith(end):
                part = client.recv(100_000)
                self.assertNotEqual(part, b"", f"the response to /{name} was cut off")
                text += part
            time.sleep(0.05)
            client.close()
        time.sleep(0.2)
        names = [name for name, _ in self.seen()["aborted"]]
        self.assertFalse({"done", "doneLater", "doneStream"} & set(names), names)
        self.assertEqual(self.weft.json("/lateAborted"), False)

    def test_SCP_4_the_signal_fires_at_the_deadline(self):
        answer = self.weft.ask("/deadline")
        self.assert_failed(answer, "HandlerDeadline")
        self.weft.until(lambda: any(name == "deadline" for name, _ in self.seen()["aborted"]),
                        "the abort at the deadline")

    def test_JS_3_the_deadline_of_the_context_is_one_of_weft_time(self):
        self.assert_failed(self.weft.ask("/deadline"), "HandlerDeadline")
        self.weft.until(lambda: {"true false true", "true"} <= set(self.seen()["timers"]),
                        "what the deadline says")

    def test_SCP_6_timers_of_the_module_live_across_requests(self):
        first = self.seen()["ticks"]
        self.weft.until(lambda: self.seen()["ticks"] > first + 5, "more ticks")

    def test_SCP_6_timers_of_a_request_end_with_it(self):
        self.weft.ask("/timers")
        time.sleep(0.6)
        seen = self.seen()
        self.assertNotIn("after the response", seen["timers"])
        self.assertLessEqual(seen["intervals"], 1)

    def test_SCP_6_waitUntil_holds_the_timers_of_a_request(self):
        self.assertEqual(self.weft.ask("/held").text, "ok")
        self.weft.until(lambda: "held" in self.seen()["timers"], "what was held")

    def test_JS_3_a_body_that_is_read_behind_the_response_is_not_taken_for_an_empty_one(self):
        self.weft.ask("/heldBody", method="POST", body="hello")
        self.weft.until(lambda: self.seen()["late"], "what was read")
        self.assertEqual(self.weft.ask("/keptBody", method="POST", body="hello").text, "POST")
        self.weft.ask("/lateBody")
        held, kept = self.seen()["late"]
        self.assertIn("the request is over", held)
        self.assertIn("The request is over", kept)

    def test_JS_3_a_rejection_given_to_waitUntil_is_reported(self):
        self.assertEqual(self.weft.ask("/heldFails").text, "ok")
        self.weft.until(lambda: "rejected behind the response" in self.weft.log(), "the report")
        self.assert_answers()

    def test_JS_16_an_unhandled_rejection_is_reported_and_ends_nothing(self):
        self.assertEqual(self.weft.ask("/unhandled").text, "ok")
        self.weft.until(lambda: "nobody handles this" in self.weft.log(), "the report")
        self.assertEqual(self.weft.ask("/uncaught").text, "ok")
        self.assertIn("thrown in a timer", self.weft.log())
        self.assert_answers()

    def test_JS_16_a_report_shows_the_line_of_the_application(self):
        self.assertEqual(self.weft.ask("/badStatus").status, 500)
        # The error was thrown in a class of the runtime; its caller is shown.
        frame = 'app.js:%d:12\n    return new Response("", { status: 101 });\n           ^\n'
        line = 1 + LIFE[:LIFE.index("status: 101")].count("\n")
        self.weft.until(lambda: frame % line in self.weft.log(), "the frame")

    def test_JS_17_order_of_timers_and_microtasks(self):
        order = self.weft.json("/order")
        self.assertEqual(order[:3], ["sync", "micro", "then"])
        timers = [name for name in order[3:] if name != "immediate"]
        self.assertEqual(timers, ["t0", "micro of t0", "t0 second", "then of t0", "t300 first",
                                  "t300 second", "t600"])
        self.assertIn("immediate", order)

    def test_JS_8_timers_are_never_early_and_do_not_drift(self):
        early = self.weft.json("/early")
        self.assertGreaterEqual(early["worst"], 0)
        self.assertGreaterEqual(early["mono"], 100)
        self.assertAlmostEqual(early["wall"], early["mono"], delta=5)
        self.assertGreaterEqual(self.weft.json("/drift"), 500)

    def test_JS_5_timers_go_on_after_one_that_was_ended_by_force(self):
        self.weft.ask("/loopInTimer")
        first = self.seen()["ticks"]
        self.weft.until(lambda: self.seen()["ticks"] > first + 3, "more ticks")

    def test_JS_9_async_context_follows_everything_that_waits(self):
        for name in ["one", "two"]:
            found = self.weft.json(f"/context?name={name}", method="POST", body="text")
            self.assertEqual(found.pop("outside"), None)
            lost = [place for place, store in found.items() if store != name]
            self.assertEqual(lost, [], json.dumps(found))

    def test_JS_9_AbortSignal_any_on_a_long_lived_signal_leaks_nothing(self):
        self.weft.ask("/anyPlain")
        before = self.weft.rss()
        for _ in range(19 if LONG else 5):
            self.assertEqual(self.weft.ask("/anyPlain").text, "ok")
        self.assertLess(self.weft.rss() - before, 40 * 2 ** 20)


OVERSTAYING = """
const seen = [];
const sleep = (ms) => new Promise((go) => setTimeout(go, ms));
export default { fetch(request, env, ctx) {
  const { pathname } = new URL(request.url);
  if (pathname === "/held") {
    request.signal.addEventListener("abort", () => seen.push(request.signal.reason.name));
    ctx.waitUntil((async () => { await sleep(60_000); seen.push("never"); })());
    ctx.waitUntil(new Promise(() => {}));
  }
  if (pathname === "/short") {
    request.signal.addEventListener("abort", () => seen.push("wrong"));
    ctx.waitUntil((async () => { await sleep(50); seen.push("short"); })());
  }
  return Response.json(seen);
} };
"""


class Overstaying(ServeTest):
    SOURCE = OVERSTAYING
    OPTIONS = {"limits": {"waitUntilMs": 2000}, "drain_ms": 20_000}

    def test_JS_3_what_waitUntil_holds_is_ended_after_its_time(self):
        for _ in range(3):
            self.weft.ask("/held")
        self.weft.ask("/short")
        expected = ["TimeoutError"] * 3 + ["short"]
        self.weft.until(lambda: sorted(self.weft.json("/")) == expected, "the end of what is held")
        self.assertIn("held a request for more than 2000 ms", self.weft.log())


REPORTS = """
import { router } from "weft:http";
const sleep = (ms) => new Promise((go) => setTimeout(go, ms));
const aborted = [];
const app = router();
const pending = async (ctx) => {
  ctx.signal.addEventListener("abort", () => aborted.push(ctx.routePattern));
  await sleep(60_000);
};
app.get("/ok", () => "ok");
app.get("/throws", async () => { await null; throw new Error("on purpose"); });
app.get("/later", async () => {
  await new Promise((go) => setTimeout(() => { setTimeout(go, 1); throw new Error("late"); }, 1));
  return "ok";
});
app.get("/loop", () => { for (;;); });
app.get("/aborted", () => aborted);
app.get("/pending", pending);
app.get("/short", pending).deadline(200);
app.get("/long", pending).deadline(60_000);
app.get("/left", async (ctx) => {
  await sleep(20);
  return ctx.deadline.remainingMs();
}).deadline(2500);
let wrong;
try { app.get("/wrong", () => "").deadline("1s"); } catch (error) { wrong = error.message; }
app.get("/told", () => wrong);
export default app;
"""


class Reports(ServeTest):
    SOURCE = REPORTS
    OPTIONS = {"limits": {"handlerDeadlineMs": 3000, "cpuMs": 200}}

    def test_JS_16_reports_name_the_request_and_are_counted(self):
        answer = self.weft.ask("/throws?key=secret", headers={"x-request-id": "abc-1"})
        self.assert_failed(answer, "HandlerThrew")
        self.assertEqual(answer.headers["x-request-id"], "abc-1")
        self.assertRegex(
            self.weft.log(),
            r": GET /throws \(request abc-1\): uncaught error, number \d+\n"
            r"(.*\n){3}Error: on purpose")
        self.assertIn("warn: GET /throws (request abc-1): The handler threw an error\n",
                      self.weft.log())
        made = self.weft.ask("/throws").headers["x-request-id"]
        self.assertRegex(made, "^[0-9a-f]{16}$")
        self.assertEqual(self.weft.log().count(f"GET /throws (request {made}): "), 2)
        # Also what nobody awaits, in a timer of the request.
        self.assertEqual(self.weft.ask("/later", headers={"x-request-id": "abc-2"}).text, "ok")
        self.assertRegex(self.weft.log(), r"GET /later \(request abc-2\): uncaught error, number")
        self.assertNotIn("secret", self.weft.log())
        numbers = [int(line.rpartition(" ")[2]) for line in self.weft.log().splitlines()
                   if "uncaught error, number" in line]
        self.assertEqual(numbers, list(range(1, len(numbers) + 1)))

    def test_JS_5_the_log_names_the_limit_that_was_reached(self):
        self.assert_failed(self.weft.ask("/pending", headers={"x-request-id": "p"}),
                           "HandlerDeadline")
        self.assertIn("GET /pending (request p): Promise did not resolve in time: "
                      "limits.handlerDeadlineMs\n", self.weft.log())
        self.assert_failed(self.weft.ask("/loop", headers={"x-request-id": "l"}), "CpuLimit")
        self.assertIn("GET /loop (request l): The handler computed too long and was ended: "
                      "limits.cpuMs\n", self.weft.log())

    def test_JS_5_a_route_may_have_a_deadline_of_its_own(self):
        self.assert_failed(self.weft.ask("/short"), "HandlerDeadline",
                           "Promise did not resolve in time")
        self.assertIn("Promise did not resolve in time: the deadline of its route",
                      self.weft.log())
        self.weft.until(lambda: "/short" in self.weft.json("/aborted"), "the signal")
        left = self.weft.json("/left")
        self.assertLessEqual(left, 2480)
        # A later one than that of all requests changes nothing.
        begun = time.monotonic()
        self.assertIn("takes milliseconds, not 1s", self.weft.ask("/told").text)
        self.assert_failed(self.weft.ask("/long"), "HandlerDeadline")
        self.assertGreaterEqual(time.monotonic() - begun, 2.9)
        self.assertLess(time.monotonic() - begun, 20)
        self.assert_answers()


if __name__ == "__main__":
    main()
