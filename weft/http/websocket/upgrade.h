// The opening handshake of a WebSocket (RFC 6455 §4): the response of a server, and the request of
// a client.
//
//     Result<Response> handler(Request& request, async::Context&) {
//         return accept_websocket(request, [](WebSocket& socket) {
//             while (auto message = socket.receive()) ...
//         });
//     }
//
// accept_websocket(): a handler. open_websocket(): any fiber.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/function.h"
#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/http/headers.h"
#include "weft/http/response.h"
#include "weft/http/websocket/websocket.h"
#include "weft/http/wire/target.h"
#include "weft/net/stream.h"

namespace weft::http {

class Request;

struct WebSocketUpgrade {
    WebSocketOptions connection = {};  // its deflate and protocol are set by the handshake
    // Offers or accepts compression, which needs memory for each connection; see
    // wire/websocket_deflate.h. Nothing: no compression.
    std::optional<wire::websocket::DeflateParameters> deflate = {};
    std::vector<std::string> protocols = {};  // supported subprotocols, the preferred one first
};

struct WebSocketAccept : WebSocketUpgrade {
    // The origins whose pages may connect, in lower case ("https://example.com"); empty: all may.
    // A browser sends the page's origin, and leaves it to the server to refuse the connection. A
    // client that sends no origin is no browser, and is not refused.
    std::vector<std::string> origins = {};
};

// A response that turns the connection into a WebSocket: `serve` is called on the fiber of the
// connection, and its waits are cancelled when the server drains. When it returns, the peer is sent
// a Close unless one was sent before: kGoingAway if the context has ended, as it has after a drain,
// else kNormal. A request that asks for no WebSocket, or is malformed, gets 400, 403 or 426.
using WebSocketHandler = std::move_only_function<void(WebSocket& socket)>;
Response accept_websocket(const Request& request, WebSocketHandler serve,
                          const WebSocketAccept& options = {});

// Opens a WebSocket over a stream that is connected to the host of the URL. `headers` are further
// fields to send, such as Origin or Cookie. Refused when the server answers anything but a valid
// 101, with its status in the message. Misuse for a header or a subprotocol that cannot be sent.
Result<std::unique_ptr<WebSocket>> open_websocket(std::unique_ptr<net::Stream> stream,
                                                  const wire::Url& url,
                                                  const WebSocketUpgrade& options = {},
                                                  const Headers& headers = {},
                                                  Deadline deadline = Deadline::never());

}  // namespace weft::http
