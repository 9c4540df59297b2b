// EventSource over streams that need no network. What needs a server is in
// tests/serve/websocket_test.py.

function collected(url, count) {
  const source = new EventSource(url);
  const seen = [];
  return new Promise((go) => {
    const note = (text) => {
      seen.push(text);
      if (seen.length === count) {
        source.close();
        go(seen);
      }
    };
    source.onopen = () => note("open");
    source.onerror = () => note(`error ${source.readyState}`);
    source.onmessage = ({ data, lastEventId }) => note([data, lastEventId]);
    source.addEventListener("tick", ({ data, lastEventId }) => note(["tick", data, lastEventId]));
  });
}

const stream = (text) => `data:text/event-stream,${encodeURIComponent(text)}`;

test("JS_9 EventSource: the constructor checks its URL", () => {
  assertThrows(() => new EventSource(), TypeError);
  assertEquals(assertThrows(() => new EventSource("/relative"), DOMException).name, "SyntaxError");
});

test("JS_9 EventSource: has its constants and defaults", () => {
  const source = new EventSource(stream("\n"), { withCredentials: true });
  assertEquals([source.readyState, source.withCredentials, source.onmessage], [0, true, null]);
  assertEquals([EventSource.CONNECTING, EventSource.OPEN, source.CLOSED], [0, 1, 2]);
  source.close();
  assertEquals(source.readyState, 2);
});

test("JS_9 EventSource: fields, comments and line ends", async () => {
  const text = "\uFEFF: a comment\ndata: one\n\ndata:two\rdata:  three\r\rdata\r\n\r\n" +
    "event: tick\nid: 5\ndata: x\n\nid\ndata: y\n\nid: a\0b\nnothing: 1\ndata: z\n\ndata: lost";
  assertEquals(await collected(stream(text), 8), [
    "open", ["one", ""], ["two\n three", ""], ["", ""], ["tick", "x", "5"], ["y", ""], ["z", ""],
    "error 0"]);
});

test("JS_9 EventSource: no data is no event, and an id alone is kept", async () => {
  const text = "event: tick\n\nid: 9\n\ndata: a\n\n";
  assertEquals(await collected(stream(text), 2), ["open", ["a", "9"]]);
});

test("JS_9 EventSource: another type of content is its end", async () => {
  assertEquals(await collected("data:text/plain,data: x%0a%0a", 1), ["error 2"]);
  assertEquals(await collected("http://127.0.0.1:1234/", 1), ["error 2"]);
});
