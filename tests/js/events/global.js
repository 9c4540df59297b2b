// JS-9: the global object as an event target; reportError.

test("JS_9 the global object is an event target", () => {
  assert(globalThis instanceof EventTarget);
  let event;
  const listener = (given) => { event = given; };
  addEventListener("ping", listener);
  dispatchEvent(new Event("ping"));
  removeEventListener("ping", listener);
  assert(event.target === globalThis);
});

test("JS_9 reportError fires an ErrorEvent at the global object", () => {
  const error = new RangeError("reported");
  let event;
  const listener = (given) => {
    event = given;
    given.preventDefault();
  };
  addEventListener("error", listener);
  reportError(error);
  removeEventListener("error", listener);
  assert(event instanceof ErrorEvent && event.isTrusted && event.cancelable);
  assert(event.error === error);
  assert(event.message.includes("reported"));
});

test("JS_9 an exception of a listener is reported and the others still run", () => {
  const target = new EventTarget();
  const reported = [];
  const listener = (event) => {
    reported.push(event.error.message);
    event.preventDefault();
  };
  addEventListener("error", listener);
  let ran = false;
  target.addEventListener("x", () => { throw new Error("first"); });
  target.addEventListener("x", () => { ran = true; });
  target.dispatchEvent(new Event("x"));
  removeEventListener("error", listener);
  assertEquals(reported, ["first"]);
  assert(ran);
});

test("JS_9 onerror of the global object is given the parts of the error", () => {
  const error = new Error("parts");
  let given;
  globalThis.onerror = (...parts) => {
    given = parts;
    return true;
  };
  reportError(error);
  globalThis.onerror = null;
  assertEquals(given.length, 5);
  assert(given[4] === error);
});

test("JS_9 global: operations are enumerable, interfaces are not", () => {
  const isEnumerable = (name) => Object.getOwnPropertyDescriptor(globalThis, name).enumerable;
  for (const name of ["fetch", "atob", "structuredClone"]) assert(isEnumerable(name), name);
  for (const name of ["Request", "URL", "console"]) assert(!isEnumerable(name), name);
});
