// connect_websocket: a WebSocket to a URL, in one call.
//
//     auto socket = WEFT_TRY(http::connect_websocket("wss://example.org/chat"));
//     WEFT_TRY(socket->send_text("hello"));
//
// Looks the name up, connects, shakes hands of TLS for wss and of WebSocket, all within
// `timeout`. A proxy is not asked. Whoever connects often shares the context of TLS and the
// resolver: each makes its own otherwise. Any fiber.
#pragma once

#include <memory>
#include <string_view>

#include "weft/base/function.h"
#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/http/headers.h"
#include "weft/http/websocket/upgrade.h"

namespace weft::net {
class Address;
class Resolver;
}  // namespace weft::net
namespace weft::net::tls {
class ClientContext;
}

namespace weft::http {

struct WebSocketConnect : WebSocketUpgrade {
    Headers headers = {};  // sent as well, such as Origin, Cookie or Authorization
    Nanoseconds timeout = std::chrono::seconds(30);  // for everything together
    // Null: one that trusts the system's authorities.
    std::shared_ptr<net::tls::ClientContext> tls = {};
    std::shared_ptr<net::Resolver> resolver = {};  // null: a new one
    // Asked for each address before it is tried, as the client's; see net/egress.h.
    std::function<Result<void>(std::string_view host, const net::Address&)> check_address = {};
};

// Misuse for a URL that is none of ws or wss. The errors of dial(), of TLS and of
// open_websocket(); each says which URL it was.
Result<std::unique_ptr<WebSocket>> connect_websocket(std::string_view url,
                                                     const WebSocketConnect& options = {});

}  // namespace weft::http
