#!/usr/bin/env python3
"""JavaScript under mixed load for a while: 20 s, 30 minutes with WEFT_TEST_LONG=1, or as many as
WEFT_SOAK_SECONDS says (JS-5, JS-7, SCP-4). Every answer is the expected one; memory and descriptors
stay level."""
import json
import os
import random
import statistics
import time
import unittest
from pathlib import Path

from served import LONG, MIB, SANITIZED, Weft, in_threads, main

SECONDS = int(os.environ.get("WEFT_SOAK_SECONDS") or (1800 if LONG else 20))
CLIENTS = 6
SEED = 20_250
# V8 lets the heap of a busy isolate grow in its first minute, and takes 60 MiB then.
GROWTH_MIB_MAX = 16 if SECONDS >= 300 else 48
ROUNDS_MIN = 8

STEADY = """
import { AsyncLocalStorage } from "weft:async";
const sleep = (ms) => new Promise((go) => setTimeout(go, ms));
const storage = new AsyncLocalStorage();
let begun = 0;
let ended = 0;
let ticks = 0;
setInterval(() => { ticks++; }, 10);
const paths = {
  ok: () => new Response("ok"),
  facts: () => Response.json({ begun, ended, ticks }),
  json: (_, values) => Response.json({ n: +values.get("n"), list: new Array(100).fill("x") }),
  async echo(request) { return new Response(await request.arrayBuffer()); },
  piped: (request) => new Response(request.body.pipeThrough(new TransformStream())),
  async timers(_, values) {
    const fired = [];
    setInterval(() => {}, 1);  // ends with its request
    // The deadline of each lies between these two; who loses the processor has other distances.
    await Promise.all([9, 3, 6].map(async (ms) => {
      const earliest = performance.now() + ms;
      const slept = sleep(ms);
      const latest = performance.now() + ms;
      await slept;
      fired.push({ earliest, latest });
    }));
    const late = fired.filter(({ latest }, at) =>
      fired.slice(0, at).some(({ earliest }) => latest < earliest));
    return Response.json([fired.length, late.length]);
  },
  async fetched(_, values) {
    return storage.run(values.get("n"), async () => {
      const all = await Promise.all(["json", "json", "stream"].map(async (path) => {
        const got = await fetch(`${values.get("base")}/${path}?n=${storage.getStore()}`);
        return (await got.arrayBuffer()).byteLength;
      }));
      return Response.json([storage.getStore(), ...all]);
    });
  },
  passedOn: (_, values) => fetch(`${values.get("base")}/stream`),
  async givenUp(_, values) {
    try {
      await fetch(`${values.get("base")}/slow`, { signal: AbortSignal.timeout(5) });
    } catch (error) {
      return new Response(error.name);
    }
  },
  async slow(request) {
    begun++;
    const note = () => { ended++; };
    if (request.signal.aborted) note();
    else request.signal.addEventListener("abort", note);
    await sleep(20_000);
    return new Response("late");
  },
  stream: () => new Response(new ReadableStream({
    async pull(controller) {
      this.count = (this.count ?? 0) + 1;
      if (this.count % 8 === 0) await sleep(1);
      controller.enqueue(new Uint8Array(4096).fill(97));
      if (this.count === 32) controller.close();
    },
  })),
  endless() {
    begun++;
    return new Response(new ReadableStream({
      async pull(controller) { await sleep(1); controller.enqueue(new Uint8Array(1000)); },
      cancel() { ended++; },
    }));
  },
  held(_, values, ctx) { ctx.waitUntil(sleep(20)); return new Response("held"); },
  async throws() { await null; throw new Error("on purpose"); },
  loop() { for (;;); },
};
export default { fetch(request, env, ctx) {
  const { pathname, searchParams } = new URL(request.url);
  return paths[pathname.slice(1)](request, searchParams, ctx);
} };
"""
# In the same process: the isolate of the one is replaced again and again, the other is ended by its
# watchdog and its deadline.
DOOMED = """
const paths = {
  ok: () => new Response("ok"),
  heap() { for (const kept = []; ;) kept.push(new Array(100).fill(Math.random())); },
  buffers() { for (const kept = []; ;) kept.push(new Uint8Array(1 << 20).fill(1)); },
};
export default { fetch(request) { return paths[new URL(request.url).pathname.slice(1)](); } };
"""
LIMITED = """
const paths = {
  ok: () => new Response("ok"),
  flood() { const again = () => queueMicrotask(again); again(); return new Promise(() => {}); },
  recursion() { const deeper = () => deeper() + 1; return new Response(String(deeper())); },
  pending() { return new Promise((go) => setTimeout(go, 60_000)); },
  regex() { return new Response(String(/^(a+)+$/.test("a".repeat(40) + "b"))); },
};
export default { fetch(request) { return paths[new URL(request.url).pathname.slice(1)](); } };
"""
CODES = {
    "doomed": {"heap": ["HeapLimit"], "buffers": ["HandlerThrew", "HeapLimit"]},
    "limited": {"flood": ["CpuLimit"], "recursion": ["HandlerThrew"],
                "pending": ["HandlerDeadline"], "regex": ["CpuLimit"]},
}
CONFIG = {
    "listeners": [{"address": "127.0.0.1:0"}],
    "apps": [
        {"name": "steady", "hosts": ["127.0.0.1", "test"], "entry": "app.js",
         "allowFetch": ["127.0.0.1"], "limits": {"cpuMs": 100, "handlerDeadlineMs": 60_000}},
        {"name": "doomed", "hosts": ["doomed"], "entry": "doomed.js",
         "limits": {"cpuMs": 20_000, "handlerDeadlineMs": 60_000, "heapMiB": 32}},
        {"name": "limited", "hosts": ["limited"], "entry": "limited.js",
         "limits": {"cpuMs": 100, "handlerDeadlineMs": 3000}},
    ],
}


class Load:
    """One round of one client: each kind of request, in an order of its own."""

    def __init__(self, test, weft, client, number):
        self.test, self.weft = test, weft
        self.random = random.Random(f"{SEED} {client} {number}")
        self.base = f"http://127.0.0.1:{weft.port}"

    def run(self):
        kinds = [self.plain, self.bodies, self.timers, self.fetches, self.given_up, self.streams,
                 self.goes_away, self.fails] * 2
        self.random.shuffle(kinds)
        for kind in kinds:
            kind()

    def expect(self, target, expected, **options):
        answer = self.weft.ask(target, timeout=60, **options)
        self.test.assertEqual(answer.status, 200, (target, answer))
        found = json.loads(answer.text) if not isinstance(expected, bytes) else answer.body
        self.test.assertEqual(found, expected, target)

    def plain(self):
        for n in range(10):
            self.expect(f"/json?n={n}", {"n": n, "list": ["x"] * 100})
        self.expect("/held", b"held")

    def bodies(self):
        body = self.random.randbytes(self.random.choice([10, 5_000, 300_000]))
        for target in ["/echo", "/piped"]:
            self.expect(target, body, method="POST", body=body)

    def timers(self):
        self.expect("/timers", [3, 0])

    def fetches(self):
        n = self.random.randrange(100, 1000)
        size = len(json.dumps({"n": n, "list": ["x"] * 100}, separators=(",", ":")))
        self.expect(f"/fetched?n={n}&base={self.base}", [str(n), size, size, 32 * 4096])
        self.expect(f"/passedOn?base={self.base}", b"a" * (32 * 4096))

    def given_up(self):
        self.expect(f"/givenUp?base={self.base}", b"TimeoutError")

    def streams(self):
        self.expect("/stream", b"a" * (32 * 4096))

    def goes_away(self):
        for target in ["/endless", "/slow"]:
            client = self.weft.send(target)
            if target == "/endless":
                self.test.assertIn(b" 200 ", client.recv(100))
            client.close()

    def fails(self):
        self.test.assert_failed(self.weft.ask("/throws", timeout=60), "HandlerThrew")
        if self.random.random() < 0.3:
            self.test.assert_failed(self.weft.ask("/loop", timeout=60), "CpuLimit")


class Soak(unittest.TestCase):
    def assert_failed(self, answer, *codes):
        self.assertEqual(answer.status, 500, answer)
        self.assertIn(answer.code, codes, answer)

    def doom(self, weft):
        for name, kinds in CODES.items():
            for kind, codes in kinds.items():
                answer = weft.ask("/" + kind, headers={"host": name}, timeout=60)
                self.assertEqual((kind, answer.status), (kind, 500), answer)
                self.assertIn((kind, answer.code), [(kind, code) for code in codes])
                answer = weft.ask("/ok", headers={"host": name}, timeout=60)
                self.assertEqual((kind, answer.text), (kind, "ok"))

    def descriptors(self, weft):
        return len(list(Path(f"/proc/{weft.process.pid}/fd").iterdir()))

    def round(self, weft, number):
        def one(client):
            return self.doom(weft) if client == CLIENTS else \
                Load(self, weft, client, number).run()

        begun = weft.json("/facts")["begun"]
        in_threads(CLIENTS + 1, one)
        # What a client left behind, or gave up, has ended. Whether the script has seen those that
        # went before they were read is a matter of time; but each client has read of two.
        self.assertGreaterEqual(weft.json("/facts")["begun"], begun + 2 * CLIENTS)

        def is_over():
            facts = weft.json("/facts")
            return facts["ended"] == facts["begun"]

        weft.until(is_over, "the end of the abandoned")
        return weft.rss(), self.descriptors(weft)

    def test_JS_7_memory_and_descriptors_stay_level_under_every_kind_of_load(self):
        weft = Weft(STEADY, config=CONFIG, files={"doomed.js": DOOMED,
                                                   "limited.js": LIMITED})
        try:
            rounds, end = [], time.monotonic() + SECONDS
            while time.monotonic() < end or len(rounds) < ROUNDS_MIN:
                rounds.append(self.round(weft, len(rounds)))
                self.assertTrue(weft.alive(), weft.log()[-3000:])
            first, second = weft.json("/facts"), weft.json("/facts")
            weft.until(lambda: weft.json("/facts")["ticks"] > second["ticks"], "more ticks")
            self.assertGreater(first["ticks"], 0)
        finally:
            status, log = weft.close()
        self.assertEqual(status, 0, log[-3000:])
        self.assertGreaterEqual(log.count("the isolate is replaced"), len(rounds))
        # The first quarter fills caches and pools.
        quarter = len(rounds) // 4
        before, after = rounds[quarter:2 * quarter], rounds[-quarter:]
        growth = (statistics.median(rss for rss, _ in after) -
                  statistics.median(rss for rss, _ in before)) / MIB
        more = max(count for _, count in after) - max(count for _, count in before)
        figures = f"{len(rounds)} rounds; {growth:+.1f} MiB; {more:+d} descriptors"
        print(figures)
        self.assertLess(growth, 1 if SANITIZED else GROWTH_MIB_MAX, figures)
        self.assertLessEqual(more, 16, figures)


if __name__ == "__main__":
    main()
