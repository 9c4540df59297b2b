// WebSocket. https://websockets.spec.whatwg.org/
//
// The same class implements both ends: `new WebSocket(url)` connects, and upgradeWebSocket() of
// upgrade.js returns the server's end. The host implements connections, frames, pings and the
// policy of which hosts may be reached; it knows a socket by a number. Messages are requested one
// at a time, so a script that takes them slowly slows its peer down.
//
// For other scripts, realm.websocket:
//     WebSocket, isWebSocket(value)
//     newServerSocket(url, protocol)        a socket in the state CONNECTING
//     attachServerSocket(socket, number)    its connection is open; undefined: it has failed
//     queueUntilOpen(socket)                from now on send() is allowed, and queues, before that

const {
  base64EncodeBytes, percentDecode, taskCancel, taskLast, utf8Encode, websocketBuffered,
  websocketClose, websocketConnect, websocketDrop, websocketOpened, websocketReceive, websocketRun,
  websocketSend,
} = native;
const { blob: blobs, events, messaging, url: urls, webidl } = realm;
const { CloseEvent, ErrorEvent, Event, EventTarget, MessageEvent } = events;
const { brandCheck, converters, internal, isBufferSource, isObject, requiredArguments } = webidl;
const {
  ArrayIsArray, ArrayPrototypeIndexOf, ArrayPrototypePush, PromisePrototypeThen,
  RegExpPrototypeExec, RegExpPrototypeTest, StringPrototypeIndexOf, StringPrototypeSlice,
  StringPrototypeToLowerCase, SymbolIterator, Uint8Array, markHandled,
} = realm.primordials;

const CONNECTING = 0;
const OPEN = 1;
const CLOSING = 2;
const CLOSED = 3;

const kAbnormal = 1006;
const kNoStatus = 1005;
const kReasonBytesMax = 123;

const toSequence = webidl.sequenceConverter(converters.DOMString);

// (DOMString or sequence<DOMString>)
function toProtocols(value, prefix, context) {
  if (isObject(value) && value[SymbolIterator] !== undefined && value[SymbolIterator] !== null) {
    return toSequence(value, prefix, context);
  }
  return [converters.DOMString(value, prefix, context)];
}

const toWebSocketInit = webidl.dictionaryConverter("WebSocketInit", [
  { key: "protocols", converter: toProtocols },
]);

// (DOMString or sequence<DOMString> or WebSocketInit)
function toInit(value, prefix, context) {
  if (value === undefined || value === null) return [];
  if (isObject(value) && (value[SymbolIterator] === undefined || value[SymbolIterator] === null)) {
    return toWebSocketInit(value, prefix, context).protocols ?? [];
  }
  return toProtocols(value, prefix, context);
}

// https://websockets.spec.whatwg.org/#dom-websocket-websocket, steps 2 to 7
function checkedUrl(url, prefix) {
  let href = urls.parseHref(url, realm.http.baseURL);
  if (href === undefined) {
    throw new realm.DOMException(`${prefix}: '${url}' is not a valid URL`, "SyntaxError");
  }
  // If urlRecord's scheme is "http", then set it to "ws"; if it is "https", to "wss".
  const web = RegExpPrototypeExec(/^http(s?):/, href);
  if (web !== null) href = `ws${web[1]}${StringPrototypeSlice(href, web[0].length - 1)}`;
  if (!RegExpPrototypeTest(/^wss?:/, href)) {
    throw new realm.DOMException(`${prefix}: the scheme of '${url}' is neither ws nor wss`,
      "SyntaxError");
  }
  if (StringPrototypeIndexOf(href, "#") >= 0) {
    throw new realm.DOMException(`${prefix}: '${url}' has a fragment`, "SyntaxError");
  }
  return href;
}

// If any of the values occur more than once or are no tokens, then throw a "SyntaxError".
// NB: Values that differ only in case are duplicates, as in the tests of the standard and in all
// other implementations.
function checkedProtocols(protocols, prefix) {
  const seen = [];
  for (let i = 0; i < protocols.length; i++) {
    const protocol = protocols[i];
    const lowered = StringPrototypeToLowerCase(protocol);
    if (ArrayPrototypeIndexOf(seen, lowered) >= 0) {
      throw new realm.DOMException(`${prefix}: the subprotocol '${protocol}' is there twice`,
        "SyntaxError");
    }
    if (!RegExpPrototypeTest(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/, protocol)) {
      throw new realm.DOMException(`${prefix}: the subprotocol '${protocol}' is no token`,
        "SyntaxError");
    }
    ArrayPrototypePush(seen, lowered);
  }
  return protocols;
}

// The URL to connect to, and the header fields of the handshake.
function handshakeOf(url) {
  const base = realm.http.baseURL;
  const fields = base === undefined ? [] : ["Origin", realm.fetching.originOf(base)];
  const match = RegExpPrototypeExec(/^(wss?:\/\/)([^/?]*)@/, url);
  if (match === null) return { href: url, fields };
  const colon = StringPrototypeIndexOf(match[2], ":");
  const credentials = percentDecode(colon === -1 ? `${match[2]}:` : match[2]);
  ArrayPrototypePush(fields, "Authorization", `Basic ${base64EncodeBytes(credentials)}`);
  return { href: match[1] + StringPrototypeSlice(url, match[0].length), fields };
}

let isWebSocket;
let newServerSocket;
let attachServerSocket;
let queueUntilOpen;

class WebSocket extends EventTarget {
  #url;
  #origin = null;
  #state = CONNECTING;
  #number = undefined;   // the host's number, while there is a connection
  #task = 0;             // the task that connects
  #protocol = "";
  #binaryType = "blob";
  #unsent = 0;           // bytes given to send() that will never be sent
  #receive = null;
  #early = null;         // messages sent before the connection was open, where that is allowed

  constructor(url, protocols = undefined) {
    if (url === internal) {
      super();
      return;
    }
    const prefix = "Failed to construct 'WebSocket'";
    requiredArguments(arguments.length, 1, prefix);
    url = converters.USVString(url, prefix, "Argument 1");
    protocols = toInit(protocols, prefix, "Argument 2");
    const href = checkedUrl(url, prefix);
    protocols = checkedProtocols(protocols, prefix);
    super();
    this.#url = href;
    this.#connect(protocols);
  }

  // https://websockets.spec.whatwg.org/#concept-websocket-establish
  #connect(protocols) {
    const port = RegExpPrototypeExec(/^wss?:\/\/[^/?]*:(\d+)(?:[/?]|$)/, this.#url);
    if (port !== null && realm.badPorts[port[1]]) {
      messaging.postTask(() => this.#finish(kAbnormal, "", `The port ${port[1]} is not allowed`));
      return;
    }
    const { href, fields } = handshakeOf(this.#url);
    const opening = websocketConnect(href, protocols, fields);
    this.#task = taskLast();
    PromisePrototypeThen(opening, ({ socket, protocol }) => {
      this.#task = 0;
      if (this.#state !== CONNECTING) {
        // close() was called before the connection was open, so it is not needed any more.
        this.#number = socket;
        websocketClose(socket, kNoStatus, "");
        markHandled(websocketRun(socket));
        this.#finish(kAbnormal, "", "It was closed before the connection was established");
        return;
      }
      this.#protocol = protocol;
      this.#number = socket;
      markHandled(websocketRun(socket));
      this.#open();
    }, (error) => {
      this.#task = 0;
      this.#finish(kAbnormal, "", `Connecting to '${this.#url}' failed: ${error.message}`);
    });
  }

  // https://websockets.spec.whatwg.org/#feedback-from-the-protocol
  #open() {
    this.#receive = (message) => this.#take(message);
    this.#next();
    this.#state = OPEN;
    events.fireEvent(this, new Event("open"));
  }

  #next() {
    PromisePrototypeThen(websocketReceive(this.#number), this.#receive,
      (error) => this.#finish(kAbnormal, "", error.message));
  }

  #take(message) {
    if (ArrayIsArray(message)) {
      this.#finish(message[0], message[1], message[2]);
      return;
    }
    // Before the event, because its listeners may be ended by the time limit.
    this.#next();
    // 1. If ready state is not OPEN (1), then return.
    if (this.#state !== OPEN || !events.hasListeners(this, "message")) return;
    let data = message;
    if (typeof message !== "string" && this.#binaryType === "blob") {
      data = blobs.newBlob([new Uint8Array(message)], "");
    }
    this.#origin ??= this.#url === "" ? "" : new urls.URL(this.#url).origin;
    events.fireEvent(this, new MessageEvent("message", {
      __proto__: null, data, origin: this.#origin,
    }));
  }

  // The connection was closed, or failed to open.
  #finish(code, reason, failure) {
    if (this.#state === CLOSED) return;
    this.#state = CLOSED;
    const number = this.#number;
    if (number !== undefined) {
      this.#unsent += websocketBuffered(number);
      this.#number = undefined;
      websocketDrop(number);
    }
    if (failure !== "") {
      events.fireEvent(this, new ErrorEvent("error", { __proto__: null, message: failure }));
    }
    events.fireEvent(this, new CloseEvent("close", {
      __proto__: null, wasClean: code !== kAbnormal, code, reason,
    }));
  }

  get url() { return this.#url; }
  get readyState() { return this.#state; }
  get protocol() { return this.#protocol; }

  get extensions() {
    this.#url;
    return "";
  }

  get bufferedAmount() {
    const number = this.#number;
    return number === undefined ? this.#unsent : this.#unsent + websocketBuffered(number);
  }

  get binaryType() { return this.#binaryType; }
  set binaryType(value) {
    this.#url;
    value = converters.DOMString(value);
    if (value === "blob" || value === "arraybuffer") this.#binaryType = value;
  }

  // https://websockets.spec.whatwg.org/#dom-websocket-send
  send(data) {
    brandCheck(isObject(this) && #url in this, "WebSocket");
    const prefix = "Failed to execute 'send' on 'WebSocket'";
    requiredArguments(arguments.length, 1, prefix);
    if (isObject(data) && blobs.isBlob(data)) data = blobs.bytesOf(data);
    else if (!isBufferSource(data)) data = converters.USVString(data, prefix, "Argument 1");
    if (this.#early !== null && this.#state === CONNECTING) {
      ArrayPrototypePush(this.#early, typeof data === "string" ? data : webidl.copyBytes(data));
      return;
    }
    if (this.#state === CONNECTING) {
      throw new realm.DOMException(`${prefix}: it is still connecting`, "InvalidStateError");
    }
    if (this.#state === OPEN) {
      // NB: Too much buffered data closes the connection, as the standard requires for a full
      // buffer.
      if (!websocketSend(this.#number, data)) this.#state = CLOSING;
      return;
    }
    this.#unsent += typeof data === "string" ? utf8Encode(data).byteLength : data.byteLength;
  }

  // https://websockets.spec.whatwg.org/#dom-websocket-close
  close(code = undefined, reason = undefined) {
    brandCheck(isObject(this) && #url in this, "WebSocket");
    const prefix = "Failed to execute 'close' on 'WebSocket'";
    if (code !== undefined) {
      code = converters["unsigned short"](code, prefix, "Argument 1", { clamp: true });
    }
    if (reason !== undefined) reason = converters.USVString(reason, prefix, "Argument 2");
    if (code !== undefined && code !== 1000 && (code < 3000 || code > 4999)) {
      throw new realm.DOMException(`${prefix}: the code ${code} is neither 1000 nor from 3000 ` +
        "to 4999", "InvalidAccessError");
    }
    if (reason !== undefined && utf8Encode(reason).byteLength > kReasonBytesMax) {
      throw new realm.DOMException(`${prefix}: the reason is longer than ${kReasonBytesMax} bytes`,
        "SyntaxError");
    }
    if (this.#state === CLOSING || this.#state === CLOSED) return;
    if (this.#state === CONNECTING) {
      // NB: A server's socket has nothing to close yet: it is closed when it opens.
      this.#state = CLOSING;
      if (this.#task !== 0) taskCancel(this.#task);
      return;
    }
    this.#state = CLOSING;
    // NB: A reason requires a code before it; 1000 is the neutral one.
    websocketClose(this.#number, code ?? (reason ? 1000 : kNoStatus), reason ?? "");
  }

  static {
    isWebSocket = (value) => #url in value;

    newServerSocket = (url, protocol) => {
      const socket = new WebSocket(internal);
      socket.#url = url;
      socket.#protocol = protocol;
      return socket;
    };

    queueUntilOpen = (socket) => { socket.#early ??= []; };

    attachServerSocket = (socket, number) => {
      if (number === undefined) {
        socket.#finish(kAbnormal, "", "The request asks for no WebSocket, or is over");
        return;
      }
      socket.#number = number;
      PromisePrototypeThen(websocketOpened(number), (opened) => {
        if (opened !== 1) {
          socket.#finish(kAbnormal, "", "The client went away");
        } else if (socket.#state === CONNECTING) {
          const early = socket.#early ?? [];
          for (let i = 0; i < early.length; i++) websocketSend(number, early[i]);
          socket.#early = null;
          socket.#open();
        } else {
          websocketClose(number, kNoStatus, "");
          socket.#receive = (message) => socket.#take(message);
          socket.#next();
        }
      }, (error) => socket.#finish(kAbnormal, "", error.message));
    };
  }
}
webidl.configureInterface(WebSocket);
webidl.defineConstants(WebSocket, { CONNECTING, OPEN, CLOSING, CLOSED });
events.defineEventHandler(WebSocket, "open");
events.defineEventHandler(WebSocket, "error");
events.defineEventHandler(WebSocket, "close");
events.defineEventHandler(WebSocket, "message");

realm.websocket = {
  __proto__: null,
  WebSocket,
  attachServerSocket,
  isWebSocket: (value) => isObject(value) && isWebSocket(value),
  newServerSocket,
  queueUntilOpen,
};
realm.expose({ WebSocket });
