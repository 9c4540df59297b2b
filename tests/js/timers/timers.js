// JS-8 and JS-17: timers and microtasks.

const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

test("JS_17 timers: run by deadline, then by creation", async () => {
  const order = [];
  // A deadline counts from the call: what a machine may take between two calls must not matter.
  setTimeout(() => order.push("late"), 500);
  setTimeout(() => order.push("a"), 5);
  setTimeout(() => order.push("b"), 5);
  await later(500);
  assertEquals(order, ["a", "b", "late"]);
});

test("JS_17 timers: a microtask checkpoint follows every callback", async () => {
  const order = [];
  const task = (name) => () => {
    order.push(name);
    queueMicrotask(() => order.push(`${name} micro`));
  };
  setTimeout(task("one"), 1);
  setTimeout(task("two"), 1);
  await later(10);
  assertEquals(order, ["one", "one micro", "two", "two micro"]);
});

test("JS_8 setTimeout: never fires early", async () => {
  for (let round = 0; round < 20; round++) {
    const ms = round % 5;
    const start = performance.now();
    await later(ms);
    assert(performance.now() - start >= Math.max(1, ms), `after ${performance.now() - start} ms`);
  }
});

test("JS_8 setTimeout: passes its arguments, gives a positive integer", async () => {
  let seen;
  const id = setTimeout((...given) => { seen = given; }, 1, 1, "two");
  assert(Number.isInteger(id) && id > 0);
  await later(5);
  assertEquals(seen, [1, "two"]);
});

test("JS_8 setTimeout: refuses handlers that are no functions", () => {
  assertThrows(() => setTimeout("globalThis.evil = true", 0), TypeError);
  assertThrows(() => setInterval(undefined), TypeError);
  assertThrows(() => queueMicrotask({}), TypeError);
});

test("JS_8 clearTimeout: takes a timer away, also between callbacks of one turn", async () => {
  const order = [];
  const cleared = setTimeout(() => order.push("no"), 1);
  clearTimeout(cleared);
  let second;
  setTimeout(() => {
    order.push("first");
    clearTimeout(second);
  }, 2);
  second = setTimeout(() => order.push("no"), 2);
  clearTimeout(undefined);
  clearTimeout(123456);
  await later(10);
  assertEquals(order, ["first"]);
});

test("JS_8 setInterval: does not drift, leaves missed periods out", async () => {
  const at = [];
  await new Promise((resolve) => {
    let start, id;
    const run = () => {
      at.push(performance.now() - start);
      if (at.length === 2) while (performance.now() - start < 47) ;
      if (at.length < 5) return;
      clearInterval(id);
      resolve();
    };
    do {  // until no pause lies between the two clocks
      clearInterval(id);
      start = performance.now();
      id = setInterval(run, 10);
    } while (performance.now() - start > 2);
  });
  // The second run blocks until 47: the next ones are at 50 and 60, not at once.
  assert(at[2] >= 50, `the third run was at ${at[2]}`);
  assert(at[4] >= 70, `the fifth run was at ${at[4]}`);
});

test("JS_8 setInterval: can be ended from its own callback", async () => {
  let count = 0;
  const id = setInterval(() => {
    count++;
    clearInterval(id);
  }, 1);
  await later(10);
  assertEquals(count, 1);
});

test("JS_8 setImmediate: runs behind this turn, in order; one made in it waits", async () => {
  const order = [];
  const last = Promise.withResolvers();
  setImmediate((name) => {
    order.push(name);
    setImmediate(() => {
      order.push("third");
      last.resolve();
    });
  }, "first");
  setImmediate(() => order.push("second"));
  clearImmediate(setImmediate(() => order.push("no")));
  order.push("now");
  await last.promise;
  assertEquals(order, ["now", "first", "second", "third"]);
});

test("JS_8 queueMicrotask: runs before any timer, errors stop no other", async () => {
  const order = [];
  const seen = [];
  const listener = (event) => {
    seen.push(event.error);
    event.preventDefault();
  };
  addEventListener("error", listener);
  setTimeout(() => order.push("timer"), 0);
  queueMicrotask(() => { throw "thrown"; });
  queueMicrotask(() => order.push("micro"));
  setTimeout(() => { throw "thrown later"; }, 1);
  setTimeout(() => order.push("after"), 2);
  await later(10);
  removeEventListener("error", listener);
  assertEquals(order, ["micro", "timer", "after"]);
  assertEquals(seen, ["thrown", "thrown later"]);
});

test("JS_8 timers: many, in any order, each once", async () => {
  const delays = Array.from({ length: 2000 }, (_, i) => (i * 7919) % 20);
  const fired = [];
  const ids = delays.map((ms, i) => setTimeout(() => fired.push(i), ms));
  ids.forEach((id, i) => { if (i % 3 === 0) clearTimeout(id); });
  await later(60);
  assertEquals(fired.length, delays.filter((_, i) => i % 3 !== 0).length);
  assertEquals(new Set(fired).size, fired.length);
});

test("JS_9 performance: a true clock", () => {
  const first = performance.now();
  assert(performance.now() >= first);
  assert(Math.abs(performance.timeOrigin + performance.now() - Date.now()) < 1000);
});
