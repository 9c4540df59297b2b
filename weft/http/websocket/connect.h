// connect_websocket: opens a WebSocket to a URL, in one call.
//
//     auto socket = WEFT_TRY(http::connect_websocket("wss://example.org/chat"));
//     WEFT_TRY(socket->send_text("hello"));
//
// Looks up the name, connects by TCP, and does the handshakes of TLS (for wss) and of WebSocket,
// all within `timeout`. No proxy is used. A program that connects often should give a TLS context
// and a resolver, because every call makes its own otherwise. Any fiber.
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
    Headers headers = {};  // further fields, such as Origin, Cookie or Authorization
    Nanoseconds timeout = std::chrono::seconds(30);  // for all steps together
    // May be shared with other users; null: one that trusts the system's authorities.
    std::shared_ptr<net::tls::ClientContext> tls = {};
    // May be shared with other users; null: a new one.
    std::shared_ptr<net::Resolver> resolver = {};
    // Called with each address before it is tried, as ClientOptions::check_address.
    std::function<Result<void>(std::string_view host, const net::Address&)> check_address = {};
};

// Misuse for a URL whose scheme is neither ws nor wss. Other errors are those of dial(), of TLS and
// of open_websocket(). Each names the URL, without its query.
Result<std::unique_ptr<WebSocket>> connect_websocket(std::string_view url,
                                                     const WebSocketConnect& options = {});

}  // namespace weft::http
