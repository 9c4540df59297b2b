// The exports of `weft:test`.
"use strict";

const { api, state } = load("test/suite");
const { expect } = load("test/expect");
const { fn, spyOn } = load("test/mock");

// A clock of weft:time that is disposed of at the end of the test.
function fakeClock(options = undefined) {
  if (state.running === undefined) throw new Error("fakeClock() is for the inside of a test");
  const clock = realm.modules["weft:time"].fakeClock(options);
  state.running.after.push(() => clock.dispose());
  return clock;
}

const mock = { fn, spyOn };

return {
  __proto__: null,
  ...api,
  expect,
  fakeClock,
  fn,
  mock,
  spyOn,
  default: api.test,
};
