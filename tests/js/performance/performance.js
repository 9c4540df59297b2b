// JS-9: performance and navigator.

test("JS_9 performance: marks and measures", () => {
  performance.clearMarks();
  performance.clearMeasures();
  performance.mark("a", { startTime: 5, detail: { x: 1 } });
  performance.mark("b", { startTime: 9 });
  const measure = performance.measure("a to b", "a", "b");
  assertEquals([measure.startTime, measure.duration, measure.entryType], [5, 4, "measure"]);
  assertEquals(performance.getEntriesByType("mark").map(({ name }) => name), ["a", "b"]);
  assertEquals(performance.getEntriesByName("a")[0].detail, { x: 1 });
  assertThrows(() => performance.measure("m", "unknown"), "SyntaxError");
  assertThrows(() => performance.mark("m", { startTime: -1 }), TypeError);
  performance.clearMarks("a");
  assertEquals(performance.getEntriesByType("mark").length, 1);
  performance.clearMarks();
  performance.clearMeasures();
});

test("JS_9 PerformanceObserver: is told in a task", async () => {
  const seen = [];
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) seen.push(entry.name);
  });
  observer.observe({ entryTypes: ["mark"] });
  performance.mark("observed");
  assertEquals(seen, []);
  await new Promise((resolve) => setTimeout(resolve, 5));
  assertEquals(seen, ["observed"]);
  observer.disconnect();
  performance.clearMarks();
});

test("JS_9 navigator, self: what WinterTC asks for", () => {
  assert(navigator.userAgent.startsWith("Weft/"));
  assert(navigator.hardwareConcurrency >= 1);
  assert(self === globalThis);
  assertThrows(() => new Navigator(), TypeError);
});
