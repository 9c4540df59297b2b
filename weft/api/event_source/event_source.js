// EventSource. https://html.spec.whatwg.org/multipage/server-sent-events.html
//
// NB: There is no page whose origin could be protected, so there is no CORS protocol, and
// `withCredentials` is stored without an effect.

const { events, streamAccess, url: urls, webidl } = realm;
const { ErrorEvent, Event, EventTarget, MessageEvent } = events;
const { brandCheck, converters, isObject, requiredArguments } = webidl;
const {
  MathMin, PromisePrototypeThen, PromiseResolve, RegExpPrototypeExec, RegExpPrototypeTest,
  StringPrototypeCharCodeAt, StringPrototypeIndexOf, StringPrototypeSlice,
  StringPrototypeStartsWith, uncurryThis,
} = realm.primordials;
const { AbortController, TextDecoder, clearTimeout, setTimeout } = globalThis;
const decode = uncurryThis(TextDecoder.prototype.decode);

const CONNECTING = 0;
const OPEN = 1;
const CLOSED = 2;

const kReconnectMs = 3000;
const kReconnectMsMax = 60_000;
const kEventCharsMax = 16 * 1024 * 1024;

const toEventSourceInit = webidl.dictionaryConverter("EventSourceInit", [
  { key: "withCredentials", converter: converters.boolean, defaultValue: false },
]);

// https://html.spec.whatwg.org/#event-stream-interpretation
class Parser {
  constructor() {
    this.decoder = new TextDecoder();
    this.rest = "";          // of a line whose end has not arrived
    this.afterReturn = false;
    this.type = "";
    this.data = "";
    this.hasData = false;
    this.lastEventId = "";
    this.retry = undefined;  // the last value that the server has sent
    this.ready = [];
  }

  // Returns the events that are complete now: { type, data, lastEventId }.
  feed(bytes) {
    let text = decode(this.decoder, bytes, { stream: true });
    if (text === "") return [];
    if (this.afterReturn && StringPrototypeCharCodeAt(text, 0) === 10) {
      text = StringPrototypeSlice(text, 1);
    }
    this.afterReturn = false;
    this.ready = [];
    text = this.rest + text;
    let begin = 0;
    const ends = /\r\n|\n|\r/g;
    for (let end = RegExpPrototypeExec(ends, text); end !== null;
      end = RegExpPrototypeExec(ends, text)) {
      this.line(StringPrototypeSlice(text, begin, end.index));
      begin = end.index + end[0].length;
      // A line feed after this carriage return belongs to the same line end.
      if (begin === text.length && end[0] === "\r") this.afterReturn = true;
    }
    this.rest = StringPrototypeSlice(text, begin);
    return this.ready;
  }

  isTooLong() {
    return this.rest.length + this.data.length > kEventCharsMax;
  }

  line(line) {
    if (line === "") {
      this.dispatch();
      return;
    }
    const colon = StringPrototypeIndexOf(line, ":");
    if (colon === 0) return;
    const field = colon < 0 ? line : StringPrototypeSlice(line, 0, colon);
    let value = colon < 0 ? "" : StringPrototypeSlice(line, colon + 1);
    if (StringPrototypeStartsWith(value, " ")) value = StringPrototypeSlice(value, 1);
    this.field(field, value);
  }

  field(name, value) {
    if (name === "event") this.type = value;
    else if (name === "data") {
      this.data += `${value}\n`;
      this.hasData = true;
    } else if (name === "id") {
      if (StringPrototypeIndexOf(value, "\0") < 0) this.lastEventId = value;
    } else if (name === "retry") {
      if (RegExpPrototypeTest(/^[0-9]+$/, value)) this.retry = +value;
    }
  }

  dispatch() {
    if (this.hasData) {
      this.ready[this.ready.length] = {
        type: this.type === "" ? "message" : this.type,
        data: StringPrototypeSlice(this.data, 0, -1),
        lastEventId: this.lastEventId,
      };
    } else {
      // An id without data is remembered too, for the next connection.
      this.ready[this.ready.length] = { type: "", data: "", lastEventId: this.lastEventId };
    }
    this.type = "";
    this.data = "";
    this.hasData = false;
  }
}

let isEventSource;

class EventSource extends EventTarget {
  #url;
  #withCredentials;
  #state = CONNECTING;
  #origin = "";
  #lastEventId = "";
  #reconnectMs = kReconnectMs;
  #failures = 0;
  #abort = null;
  #timer = undefined;

  constructor(url, eventSourceInitDict = {}) {
    const prefix = "Failed to construct 'EventSource'";
    requiredArguments(arguments.length, 1, prefix);
    url = converters.USVString(url, prefix, "Argument 1");
    const init = toEventSourceInit(eventSourceInitDict, prefix, "Argument 2");
    const href = urls.parseHref(url, realm.http.baseURL);
    if (href === undefined) {
      throw new realm.DOMException(`${prefix}: '${url}' is not a valid URL`, "SyntaxError");
    }
    super();
    this.#url = href;
    this.#withCredentials = init.withCredentials;
    this.#connect();
  }

  get url() { return this.#url; }
  get withCredentials() { return this.#withCredentials; }
  get readyState() { return this.#state; }

  close() {
    brandCheck(isObject(this) && isEventSource(this), "EventSource");
    this.#state = CLOSED;
    this.#abort?.abort();
    this.#abort = null;
    clearTimeout(this.#timer);
  }

  #connect() {
    const headers = { __proto__: null, accept: "text/event-stream" };
    // NB: The header consists of bytes; ids that are not ASCII are sent as UTF-8.
    if (this.#lastEventId !== "") headers["last-event-id"] = utf8AsLatin1(this.#lastEventId);
    const abort = new AbortController();
    this.#abort = abort;
    PromisePrototypeThen(
      realm.fetch(this.#url, { __proto__: null, headers, signal: abort.signal, cache: "no-store" }),
      (response) => this.#read(response, abort),
      (error) => {
        if (this.#abort !== abort) return;
        // The policy will forbid it again, so there is no new attempt.
        if (error?.cause?.code === "BlockedHost" || error?.cause === undefined) {
          this.#fail(error.message);
        } else {
          this.#reestablish(error.message);
        }
      });
  }

  #read(response, abort) {
    if (this.#abort !== abort) return;
    const type = response.headers.get("content-type") ?? "";
    if (response.status !== 200 || !RegExpPrototypeTest(/^text\/event-stream[\t ]*(?:;|$)/i, type) ||
        response.body === null) {
      abort.abort();
      this.#fail(`The server answered ${response.status} with '${type}'`);
      return;
    }
    this.#origin = new urls.URL(response.url).origin;
    this.#failures = 0;
    this.#state = OPEN;
    const parser = new Parser();
    parser.lastEventId = this.#lastEventId;
    events.fireEvent(this, new Event("open"));
    streamAccess.readEach(response.body, (chunk) => this.#take(parser, chunk, abort),
      () => { if (this.#abort === abort) this.#reestablish("The stream ended"); },
      (error) => { if (this.#abort === abort) this.#reestablish(error?.message ?? ""); });
  }

  // Fires each event in a microtask of its own.
  #take(parser, chunk, abort) {
    const ready = parser.feed(chunk);
    if (parser.retry !== undefined) this.#reconnectMs = parser.retry;
    if (parser.isTooLong()) {
      abort.abort();
      this.#fail("An event is too long");
    }
    let next = 0;
    const step = () => {
      while (next < ready.length && this.#abort === abort) {
        const event = ready[next++];
        this.#lastEventId = event.lastEventId;
        if (event.type === "") continue;
        events.fireEvent(this, new MessageEvent(event.type, {
          __proto__: null,
          data: event.data,
          origin: this.#origin,
          lastEventId: event.lastEventId,
        }));
        return PromisePrototypeThen(PromiseResolve(undefined), step);
      }
      return undefined;
    };
    return PromisePrototypeThen(PromiseResolve(undefined), step);
  }

  // https://html.spec.whatwg.org/#reestablish-the-connection
  #reestablish(why) {
    if (this.#state === CLOSED) return;
    this.#abort = null;
    this.#state = CONNECTING;
    const wait = MathMin(this.#reconnectMs * 2 ** this.#failures, kReconnectMsMax);
    this.#failures = MathMin(this.#failures + 1, 10);
    this.#timer = setTimeout(() => {
      if (this.#state === CONNECTING) this.#connect();
    }, this.#reconnectMs > wait ? this.#reconnectMs : wait);
    events.fireEvent(this, new ErrorEvent("error", { __proto__: null, message: why }));
  }

  // https://html.spec.whatwg.org/#fail-the-connection
  #fail(why) {
    if (this.#state === CLOSED) return;
    this.#state = CLOSED;
    this.#abort = null;
    events.fireEvent(this, new ErrorEvent("error", { __proto__: null, message: why }));
  }

  static {
    isEventSource = (value) => #state in value;
  }
}
webidl.configureInterface(EventSource);
webidl.defineConstants(EventSource, { CONNECTING, OPEN, CLOSED });
events.defineEventHandler(EventSource, "open");
events.defineEventHandler(EventSource, "message");
events.defineEventHandler(EventSource, "error");

function utf8AsLatin1(text) {
  return native.latin1Decode(native.utf8Encode(text));
}

realm.expose({ EventSource });
