// Sockets: the WebSockets of one isolate, known to scripts by numbers, which are tickets.
//
// Owning worker only: its loop and its fibers.
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

// A client's socket owns its connection; a server's connection belongs to its request.
struct OpenSocket {
    std::shared_ptr<SocketLink> link;  // shared with the fibers that send and receive
    std::shared_ptr<http::WebSocket> connection;
};

class Sockets {
public:
    static constexpr std::size_t kSocketsMax = 64 * 1024;

    // The policy must outlive this object.
    explicit Sockets(const net::EgressPolicy& egress) : egress_(egress) {}

    Result<double> keep(OpenSocket socket);
    OpenSocket* find(double number);
    void drop(double number);
    // Closes all connections with the code "going away".
    void go_away();
    // The same, when no script remains that could be told.
    void forget_script();

    // Call on a fiber.
    Result<std::unique_ptr<http::WebSocket>> connect(const std::string& url,
                                                     std::vector<std::string> protocols,
                                                     http::Headers headers);

private:
    const net::EgressPolicy& egress_;
    TicketTable<OpenSocket> sockets_{kSocketsMax};
    // Shared with connections that are being opened.
    std::shared_ptr<net::Resolver> resolver_ = std::make_shared<net::Resolver>();
    std::shared_ptr<net::tls::ClientContext> tls_;  // created for the first wss URL
};

// The sockets of the calling isolate.
Sockets& sockets_of(js::Call& call);

}  // namespace weft::api
