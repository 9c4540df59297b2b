// Sockets: the WebSockets of one isolate, by numbers that script can hold.
//
// Owner's thread only: its loop and its fibers.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "weft/api/websocket/socket_link.h"
#include "weft/base/result.h"
#include "weft/base/ticket.h"
#include "weft/http/headers.h"
#include "weft/http/websocket/websocket.h"
#include "weft/js/binding.h"
#include "weft/net/egress.h"
#include "weft/net/resolver.h"
#include "weft/net/tls/tls_config.h"

namespace weft::api {

// One of a client has a connection of its own; that of a server is its request's.
struct OpenSocket {
    std::shared_ptr<SocketLink>
        link;  // of the script's number, and of the fibers that speak for it
    std::shared_ptr<http::WebSocket> connection;
};

class Sockets {
public:
    static constexpr std::size_t kSocketsMax = 64 * 1024;

    // The policy outlives it.
    explicit Sockets(const net::EgressPolicy& egress) : egress_(egress) {}

    Result<double> keep(OpenSocket socket);
    OpenSocket* find(double number);
    void drop(double number);
    // Tells all peers that we go away.
    void go_away();
    // The same, and no script is left that could be told.
    void forget_script();

    // A fiber.
    Result<std::unique_ptr<http::WebSocket>> connect(const std::string& url,
                                                     std::vector<std::string> protocols,
                                                     http::Headers headers);

private:
    const net::EgressPolicy& egress_;
    TicketTable<OpenSocket> sockets_{kSocketsMax};
    // Shared with connections that are being opened.
    std::shared_ptr<net::Resolver> resolver_ = std::make_shared<net::Resolver>();
    std::shared_ptr<net::tls::ClientContext> tls_;  // made with the first wss
};

// Of the isolate that calls.
Sockets& sockets_of(js::Call& call);

}  // namespace weft::api
