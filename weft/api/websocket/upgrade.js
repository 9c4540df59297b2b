// How a server's request becomes a WebSocket: upgradeWebSocket() of weft:http, with the interface
// of Deno, and WebSocketPair, with that of Cloudflare.
//
//     const { socket, response } = upgradeWebSocket(request);
//     socket.onmessage = ({ data }) => socket.send(data);
//     return response;
//
// The request is over when the socket is closed; what was started for it lives until then.
//
// For other scripts, in realm.websocket:
//     accept(id, response, headerList)    answers the request `id`; false if the response has no
//                                         socket

const { websocketAccept } = native;
const { http, websocket, webidl } = realm;
const { attachServerSocket, newServerSocket, queueUntilOpen } = websocket;
const { converters } = webidl;
const {
  ObjectDefineProperty, StringPrototypeReplace, StringPrototypeSplit,
  StringPrototypeToLowerCase, StringPrototypeTrim, TypeError,
} = realm.primordials;

// Whether a list of tokens contains this one.
function hasToken(list, token) {
  const names = StringPrototypeSplit(list ?? "", ",");
  for (let i = 0; i < names.length; i++) {
    if (StringPrototypeToLowerCase(StringPrototypeTrim(names[i])) === token) return true;
  }
  return false;
}

function checkProtocol(offered, protocol) {
  const names = StringPrototypeSplit(offered ?? "", ",");
  for (let i = 0; i < names.length; i++) {
    if (StringPrototypeTrim(names[i]) === protocol) return;
  }
  throw new TypeError(`The subprotocol '${protocol}' is none that the request offers`);
}

const handlers = ["onopen", "onmessage", "onerror", "onclose"];

function upgradeWebSocket(request, options = undefined) {
  if (!http.isRequest(request)) throw new TypeError("upgradeWebSocket() takes a Request");
  const { headers } = request;
  if (!hasToken(headers.get("upgrade"), "websocket") ||
      !hasToken(headers.get("connection"), "upgrade")) {
    throw new TypeError("The request asks for no WebSocket: 'Upgrade: websocket' is missing");
  }
  if (request.method !== "GET") throw new TypeError("A WebSocket is opened by GET");
  let protocol = options?.protocol ?? "";
  if (protocol !== "") {
    protocol = converters.ByteString(protocol, "upgradeWebSocket", "'protocol'");
    checkProtocol(headers.get("sec-websocket-protocol"), protocol);
  }
  const url = StringPrototypeReplace(request.url, /^http/, "ws");
  // The request must remain readable later.
  http.materialize(request);
  const socket = newServerSocket(url, protocol);
  for (let i = 0; i < handlers.length; i++) {
    const handler = options?.[handlers[i]];
    if (handler !== undefined) socket[handlers[i]] = handler;
  }
  return { socket, response: http.newUpgradeResponse(socket) };
}

function accept(id, response, headerList) {
  const socket = http.socketOf(response);
  if (socket === null) return false;
  attachServerSocket(socket, websocketAccept(id, headerList, socket.protocol));
  return true;
}

// ---- WebSocketPair

let serverOf;

// The client's end, which is put into the response; it has no other function.
class ClientEnd {
  #server;
  constructor(server) {
    this.#server = server;
  }
  static {
    serverOf = (end) => {
      if (!webidl.isObject(end) || !(#server in end)) {
        throw new TypeError("'webSocket' of 'ResponseInit' is the first of a WebSocketPair");
      }
      return end.#server;
    };
  }
}

class WebSocketPair {
  constructor() {
    const server = newServerSocket("", "");
    ObjectDefineProperty(server, "accept", {
      __proto__: null,
      value: function accept() { queueUntilOpen(server); },
      writable: true,
      configurable: true,
    });
    this[0] = new ClientEnd(server);
    this[1] = server;
  }
}

websocket.accept = accept;
websocket.serverOf = (end) => serverOf(end);
websocket.upgradeWebSocket = upgradeWebSocket;
realm.expose({ WebSocketPair });
