// JS-9: Event and EventTarget.

test("JS_9 EventTarget: listeners run in the order in which they were added", () => {
  const target = new EventTarget();
  const seen = [];
  target.addEventListener("x", () => seen.push(1));
  target.addEventListener("x", () => seen.push(2));
  target.addEventListener("x", () => seen.push("capture"), true);
  assertEquals(target.dispatchEvent(new Event("x")), true);
  assertEquals(seen, ["capture", 1, 2]);
});

test("JS_9 EventTarget: the same listener is added once", () => {
  const target = new EventTarget();
  let count = 0;
  const listener = () => count++;
  target.addEventListener("x", listener);
  target.addEventListener("x", listener);
  target.dispatchEvent(new Event("x"));
  assertEquals(count, 1);
});

test("JS_9 EventTarget: once, removal within a dispatch, additions wait for the next", () => {
  const target = new EventTarget();
  const seen = [];
  const removed = () => seen.push("removed");
  target.addEventListener("x", () => {
    seen.push("once");
    target.removeEventListener("x", removed);
    target.addEventListener("x", () => seen.push("late"));
  }, { once: true });
  target.addEventListener("x", removed);
  target.dispatchEvent(new Event("x"));
  assertEquals(seen, ["once"]);
  target.dispatchEvent(new Event("x"));
  assertEquals(seen, ["once", "late"]);
});

test("JS_9 EventTarget: handleEvent is looked up at each dispatch and called on its object", () => {
  const target = new EventTarget();
  const seen = [];
  const listener = { name: "first", handleEvent() { seen.push(this.name); } };
  target.addEventListener("x", listener);
  target.dispatchEvent(new Event("x"));
  listener.name = "second";
  target.dispatchEvent(new Event("x"));
  assertEquals(seen, ["first", "second"]);
});

test("JS_9 EventTarget: a listener goes with its signal", () => {
  const target = new EventTarget();
  const controller = new AbortController();
  let count = 0;
  target.addEventListener("x", () => count++, { signal: controller.signal });
  target.dispatchEvent(new Event("x"));
  controller.abort();
  target.dispatchEvent(new Event("x"));
  assertEquals(count, 1);
});

test("JS_9 EventTarget: an event that is being dispatched cannot be dispatched again", () => {
  const target = new EventTarget();
  let error;
  target.addEventListener("x", (event) => {
    error = assertThrows(() => target.dispatchEvent(event), DOMException);
  });
  target.dispatchEvent(new Event("x"));
  assertEquals(error.name, "InvalidStateError");
  assertEquals(error.code, DOMException.INVALID_STATE_ERR);
});

test("JS_9 Event: only a cancelable event outside passive listeners can be prevented", () => {
  const target = new EventTarget();
  target.addEventListener("passive", (event) => event.preventDefault(), { passive: true });
  target.addEventListener("active", (event) => event.preventDefault());
  assertEquals(target.dispatchEvent(new Event("passive", { cancelable: true })), true);
  assertEquals(target.dispatchEvent(new Event("active", { cancelable: true })), false);
  assertEquals(target.dispatchEvent(new Event("active")), true);
});

test("JS_9 Event: stopImmediatePropagation stops the listeners that follow", () => {
  const target = new EventTarget();
  const seen = [];
  target.addEventListener("x", (event) => {
    seen.push(1);
    event.stopImmediatePropagation();
  });
  target.addEventListener("x", () => seen.push(2));
  target.dispatchEvent(new Event("x"));
  assertEquals(seen, [1]);
});

test("JS_9 Event: target, currentTarget and phase during and after a dispatch", () => {
  const target = new EventTarget();
  const event = new Event("x");
  target.addEventListener("x", (given) => {
    assert(given === event);
    assert(given.target === target && given.currentTarget === target);
    assertEquals(given.eventPhase, Event.AT_TARGET);
    assertEquals(given.composedPath().length, 1);
  });
  target.dispatchEvent(event);
  assert(event.target === target);
  assertEquals(event.currentTarget, null);
  assertEquals(event.eventPhase, Event.NONE);
  assertEquals(event.isTrusted, false);
});

test("JS_9 Event: its methods refuse foreign receivers", () => {
  assertThrows(() => Event.prototype.preventDefault.call({}), TypeError);
  assertThrows(() => EventTarget.prototype.dispatchEvent.call({}, new Event("x")), TypeError);
  assertThrows(() => new Event(), TypeError);
  assertThrows(() => Event("x"), TypeError);
});

test("JS_9 events carry their members", () => {
  assertEquals(new CustomEvent("x", { detail: 7 }).detail, 7);
  assertEquals(new CustomEvent("x").detail, null);
  const close = new CloseEvent("close", { wasClean: true, code: 1000, reason: "done" });
  assertEquals([close.wasClean, close.code, close.reason], [true, 1000, "done"]);
  const message = new MessageEvent("message", { data: [1], origin: "https://a.example" });
  assertEquals(message.data, [1]);
  assertEquals(message.origin, "https://a.example");
  assert(Object.isFrozen(message.ports));
  const error = new ErrorEvent("error", { message: "m", lineno: 3, error: "e" });
  assertEquals([error.message, error.filename, error.lineno, error.error], ["m", "", 3, "e"]);
  const progress = new ProgressEvent("progress", { lengthComputable: true, loaded: 1, total: 2 });
  assertEquals([progress.lengthComputable, progress.loaded, progress.total], [true, 1, 2]);
  const promise = Promise.resolve();
  assert(new PromiseRejectionEvent("x", { promise, reason: 1 }).promise === promise);
  assertThrows(() => new PromiseRejectionEvent("x", {}), TypeError);
});

test("JS_9 QuotaExceededError: what was asked and what there is", () => {
  const error = new QuotaExceededError("no", { quota: 1, requested: 2 });
  assert(error instanceof DOMException && error instanceof Error);
  assertEquals([error.name, error.code, error.message, error.quota, error.requested],
    ["QuotaExceededError", 22, "no", 1, 2]);
  assertEquals(new QuotaExceededError().quota, null);
  const copy = structuredClone(error);
  assert(copy instanceof QuotaExceededError && copy !== error);
  assertEquals([copy.quota, copy.requested], [1, 2]);
  assertThrows(() => new QuotaExceededError("", { quota: -1 }), RangeError);
  assertThrows(() => new QuotaExceededError("", { quota: 2, requested: 1 }), RangeError);
  assertThrows(() => new QuotaExceededError("", { quota: NaN }), TypeError);
});

test("JS_9 DOMException: name, code, message, stack and prototype", () => {
  const error = new DOMException("no", "AbortError");
  assertEquals([error.name, error.message, error.code], ["AbortError", "no", 20]);
  assert(error instanceof Error && error instanceof DOMException);
  assert(typeof error.stack === "string" && error.stack.includes("no"));
  assertEquals(`${error}`, "AbortError: no");
  assertEquals(new DOMException().name, "Error");
  assertEquals(new DOMException("", "NewName").code, 0);
  assertEquals(DOMException.DATA_CLONE_ERR, 25);
  assertEquals(Object.prototype.toString.call(error), "[object DOMException]");
});
