// How a connection becomes a WebSocket (RFC 6455 §4): the answer of a server, and the question of a
// client.
//
//     Result<Response> handler(Request& request, async::Context&) {
//         return accept_websocket(request, [](WebSocket& socket) {
//             while (auto message = socket.receive()) ...
//         });
//     }
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
    WebSocketOptions connection = {};  // its deflate and protocol come from the handshake
    // Compression, if both want it: costs memory for each connection, see wire/websocket_deflate.h.
    std::optional<wire::websocket::DeflateParameters> deflate = {};
    std::vector<std::string> protocols = {};  // subprotocols that we speak, the best first
};

struct WebSocketAccept : WebSocketUpgrade {
    // A browser says of which origin the page is that connects, and does not ask this server
    // whether the page may. Only these may, in lower case ("https://example.com"); empty: all may.
    // A client that names none is no browser.
    std::vector<std::string> origins = {};
};

// A response that hands the connection over: `serve` is called on the fiber of the connection, and
// its waits are cancelled when the server drains. When it returns, the peer is sent a Close if it
// was not before: kNormal, or kGoingAway if the context has ended, as it has then. A request that
// asks for no WebSocket, or not in the right way, gets 400, 403 or 426.
using WebSocketHandler = std::move_only_function<void(WebSocket& socket)>;
Response accept_websocket(const Request& request, WebSocketHandler serve,
                          const WebSocketAccept& options = {});

// Asks for a WebSocket over a stream that is connected to the host of the URL. `headers` are sent
// as well, such as Origin or Cookie. Refused when the server answers anything but a proper 101,
// with its status in the message.
Result<std::unique_ptr<WebSocket>> open_websocket(std::unique_ptr<net::Stream> stream,
                                                  const wire::Url& url,
                                                  const WebSocketUpgrade& options = {},
                                                  const Headers& headers = {},
                                                  Deadline deadline = Deadline::never());

}  // namespace weft::http
