// JS-9: AbortController and AbortSignal.

test("JS_9 AbortSignal: abort sets the reason once and fires once", () => {
  const controller = new AbortController();
  const { signal } = controller;
  let count = 0;
  signal.onabort = () => count++;
  controller.abort("first");
  controller.abort("second");
  assertEquals([signal.aborted, signal.reason, count], [true, "first", 1]);
  const error = assertThrows(() => AbortSignal.abort().throwIfAborted(), DOMException);
  assertEquals(error.name, "AbortError");
});

test("JS_9 AbortSignal: cannot be constructed", () => {
  assertThrows(() => new AbortSignal(), TypeError);
});

test("JS_9 AbortSignal.timeout: aborts with a TimeoutError", async () => {
  const signal = AbortSignal.timeout(1);
  assertEquals(signal.aborted, false);
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
  assertEquals(signal.reason.name, "TimeoutError");
  assertThrows(() => AbortSignal.timeout(-1), TypeError);
});

test("JS_9 AbortSignal.any: follows the first source that aborts", () => {
  const a = new AbortController();
  const b = new AbortController();
  const watched = AbortSignal.any([a.signal, b.signal]);
  const unwatched = AbortSignal.any([a.signal, b.signal]);
  let count = 0;
  watched.addEventListener("abort", () => count++);
  b.abort("b");
  a.abort("a");
  assertEquals([watched.reason, count], ["b", 1]);
  assertEquals([unwatched.aborted, unwatched.reason], [true, "b"]);
});

test("JS_9 AbortSignal.any: of signals made by any, aborted in the order of their making", () => {
  const controller = new AbortController();
  const seen = [];
  const first = AbortSignal.any([controller.signal]);
  const second = AbortSignal.any([first]);
  second.addEventListener("abort", () => seen.push("second"));
  first.addEventListener("abort", () => seen.push("first"));
  controller.signal.addEventListener("abort", () => {
    seen.push("source");
    assert(first.aborted && second.aborted);
  });
  controller.abort();
  assertEquals(seen, ["source", "first", "second"]);
});

test("JS_9 AbortSignal.any: an aborted source aborts it at once, none never", () => {
  assertEquals(AbortSignal.any([AbortSignal.abort(1), AbortSignal.abort(2)]).reason, 1);
  assertEquals(AbortSignal.any([]).aborted, false);
  assertThrows(() => AbortSignal.any([{}]), TypeError);
});

// A signal that lives as long as the application must not hold what is combined with it.
test("JS_9 AbortSignal.any: signals of requests do not stay with the application's", () => {
  const application = new AbortController();
  let fired = 0;
  for (let i = 0; i < 200_000; i++) {
    const request = AbortSignal.any([application.signal]);
    const listener = () => fired++;
    request.addEventListener("abort", listener);
    request.removeEventListener("abort", listener);
  }
  application.abort();
  assertEquals(fired, 0);
});

test("JS_9 AbortSignal: a listener that throws does not stop the others", () => {
  const controller = new AbortController();
  const reported = [];
  const onError = (event) => {
    reported.push(event.error);
    event.preventDefault();
  };
  addEventListener("error", onError);
  let ran = false;
  controller.signal.addEventListener("abort", () => { throw "thrown"; });
  controller.signal.addEventListener("abort", () => { ran = true; });
  controller.abort();
  removeEventListener("error", onError);
  assertEquals(reported, ["thrown"]);
  assert(ran);
});
