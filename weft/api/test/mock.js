// Functions that record their calls: fn() and spyOn().
"use strict";

const mocks = new Set();  // mocks of spyOn() that replace a method
const kMock = Symbol("weft.test.mock");

function fn(implementation = undefined, name = "fn") {
  let present = implementation;
  const once = [];
  const state = { calls: [], results: [], contexts: [] };
  const mock = function (...args) {
    state.calls.push(args);
    state.contexts.push(this);
    const result = { type: "incomplete", value: undefined };
    state.results.push(result);
    const act = once.length > 0 ? once.shift() : present;
    try {
      result.value = new.target !== undefined && act !== undefined && act.prototype !== undefined
        ? Reflect.construct(act, args, new.target) : act?.apply(this, args);
      result.type = "return";
      return result.value;
    } catch (error) {
      result.type = "throw";
      result.value = error;
      throw error;
    }
  };
  const chained = (act) => (...args) => {
    act(...args);
    return mock;
  };
  Object.defineProperty(mock, "name", { value: name, configurable: true });
  return Object.assign(mock, {
    [kMock]: true,
    mock: Object.defineProperty(state, "lastCall", { get: () => state.calls.at(-1) }),
    mockImplementation: chained((act) => { present = act; }),
    mockImplementationOnce: chained((act) => { once.push(act); }),
    mockReturnValue: chained((value) => { present = () => value; }),
    mockReturnValueOnce: chained((value) => { once.push(() => value); }),
    mockResolvedValue: chained((value) => { present = async () => value; }),
    mockResolvedValueOnce: chained((value) => { once.push(async () => value); }),
    mockRejectedValue: chained((error) => { present = async () => { throw error; }; }),
    mockRejectedValueOnce: chained((error) => { once.push(async () => { throw error; }); }),
    mockClear: chained(() => {
      state.calls.length = state.results.length = state.contexts.length = 0;
    }),
    mockReset: chained(() => {
      mock.mockClear();
      once.length = 0;
      present = undefined;
    }),
  });
}

// The method keeps its behaviour unless the mock is given another one. restore() is called
// automatically at the end of the test.
function spyOn(object, name) {
  const original = object[name];
  if (typeof original !== "function") throw new TypeError(`spyOn: there is no method ${String(name)}`);
  const own = Object.getOwnPropertyDescriptor(object, name);
  const spy = fn(original, String(name));
  spy.mockRestore = () => {
    if (!mocks.delete(spy)) return;
    if (own === undefined) delete object[name];
    else Object.defineProperty(object, name, own);
  };
  object[name] = spy;
  mocks.add(spy);
  return spy;
}

function restoreAll() {
  for (const spy of [...mocks].reverse()) spy.mockRestore();
}

const isMock = (value) => typeof value === "function" && value[kMock] === true;

return { fn, isMock, restoreAll, spyOn };
