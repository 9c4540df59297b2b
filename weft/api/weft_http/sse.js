// sse() of weft:http: a response of server-sent events.
// https://html.spec.whatwg.org/multipage/server-sent-events.html
//
//     return sse(request, async (events) => {
//       while (!events.signal.aborted) {
//         await events.send({ event: "tick", id: n, data: { n } });     // waits for a slow client
//         await delay(1000, { signal: events.signal });
//       }
//     });
//     return sse(asyncIterable);
//
// The stream ends when the function returns. `data` that is not a string is sent as JSON. A comment
// is sent every `keepAliveMs` (15 s) so that no proxy closes the connection as idle.

const {
  ArrayPrototypeJoin, Error, PromisePrototypeThen, PromiseResolve, RegExpPrototypeTest, String,
  StringPrototypeSplit, SymbolAsyncIterator, SymbolIterator, TypeError, newPromise,
} = realm.primordials;
const { resultJson, weftHttp } = realm;
const { AbortController, ReadableStream, TextEncoder, clearInterval, setInterval } = globalThis;

const kKeepAliveMs = 15_000;
const kChunksWaiting = 16;
const noOptions = { __proto__: null };

function eventText(event) {
  if (typeof event !== "object" || event === null) event = { data: event };
  let text = "";
  if (event.comment !== undefined) text += `: ${oneLine(event.comment, "comment")}\n`;
  if (event.event !== undefined) text += `event: ${oneLine(event.event, "event")}\n`;
  if (event.id !== undefined) {
    const id = oneLine(event.id, "id");
    if (RegExpPrototypeTest(/\u0000/, id)) throw new TypeError("an event's id has no zero in it");
    text += `id: ${id}\n`;
  }
  if (event.retry !== undefined) {
    if (!RegExpPrototypeTest(/^[0-9]+$/, String(event.retry))) {
      throw new TypeError("an event's retry is a number of milliseconds");
    }
    text += `retry: ${event.retry}\n`;
  }
  if (event.data !== undefined) {
    const data = typeof event.data === "string" ? event.data : resultJson(event.data);
    const lines = StringPrototypeSplit(data, /\r\n|\r|\n/);
    text += `data: ${ArrayPrototypeJoin(lines, "\ndata: ")}\n`;
  }
  return `${text}\n`;
}

function oneLine(value, what) {
  const text = String(value);
  if (RegExpPrototypeTest(/[\r\n]/, text)) {
    throw new TypeError(`an event's ${what} is one line`);
  }
  return text;
}

class EventStream {
  #controller = null;
  #gone = new AbortController();
  #encoder = new TextEncoder();
  #wanted = null;
  #keepAlive = undefined;
  #isOpen = true;

  constructor(lastEventId) {
    // The last event that the client received before it connected again; or null.
    this.lastEventId = lastEventId;
  }

  // Aborted when the client is gone or the stream was closed.
  get signal() {
    return this.#gone.signal;
  }

  // A string is data; an object has event, data, id, retry and comment. Resolves when there is room
  // for the next event; to false when the client is gone.
  send(event) {
    if (!this.#isOpen) return PromiseResolve(false);
    this.#controller.enqueue(this.#encoder.encode(eventText(event)));
    if (this.#controller.desiredSize > 0) return PromiseResolve(true);
    this.#wanted ??= newPromise();
    return this.#wanted.promise;
  }

  close() {
    if (!this.#isOpen) return;
    this.#end(undefined);
    this.#controller.close();
  }

  #end(reason) {
    this.#isOpen = false;
    clearInterval(this.#keepAlive);
    this.#wanted?.resolve(false);
    this.#wanted = null;
    this.#gone.abort(reason);
  }

  static body(events, run, keepAliveMs) {
    return new ReadableStream({
      start(controller) {
        events.#controller = controller;
        if (keepAliveMs > 0) {
          events.#keepAlive = setInterval(() => {
            if (controller.desiredSize > 0) events.send({ comment: "" });
          }, keepAliveMs);
        }
        PromisePrototypeThen((async () => run(events))(), () => events.close(), (error) => {
          if (!events.#isOpen) return;  // its signal has told it
          events.#end(error);
          controller.error(error);
        });
      },
      pull() {
        events.#wanted?.resolve(true);
        events.#wanted = null;
      },
      cancel(reason) {
        events.#end(reason ?? new Error("the client has closed the stream"));
      },
    }, { highWaterMark: kChunksWaiting });
  }
}

function runnerOf(source) {
  if (typeof source === "function") return source;
  if (source?.[SymbolAsyncIterator] === undefined && source?.[SymbolIterator] === undefined) {
    throw new TypeError("sse() takes a function or an iterable of events");
  }
  return async (events) => {
    for await (const event of source) if (!await events.send(event)) return;
  };
}

// sse(request, source, options) or sse(source, options)
function sse(first, second, third) {
  const hasRequest = first instanceof globalThis.Request;
  const run = runnerOf(hasRequest ? second : first);
  const options = (hasRequest ? third : second) ?? noOptions;
  const events = new EventStream(hasRequest ? first.headers.get("last-event-id") : null);
  const body = EventStream.body(events, run, options.keepAliveMs ?? kKeepAliveMs);
  // When the server drains, the streams end; clients connect again to another server.
  if (hasRequest) first.signal.addEventListener("abort", () => events.close(), { once: true });
  const response = weftHttp.respond(body, 200, "text/event-stream", {
    status: options.status,
    headers: options.headers,
  });
  if (!response.headers.has("cache-control")) response.headers.set("cache-control", "no-store");
  return response;
}

weftHttp.sse = sse;
weftHttp.EventStream = EventStream;
