#include "weft/api/websocket/sockets.h"

#include <utility>

#include "weft/fiber/blocking.h"
#include "weft/http/websocket/connect.h"
#include "weft/js/tasks.h"

namespace weft::api {

Result<double> Sockets::keep(OpenSocket socket) {
    return js::TaskTable::to_number(WEFT_TRY(sockets_.insert(std::move(socket))));
}

OpenSocket* Sockets::find(double number) { return sockets_.find(js::TaskTable::to_ticket(number)); }

void Sockets::drop(double number) {
    std::optional<OpenSocket> dropped = sockets_.take(js::TaskTable::to_ticket(number));
    if (dropped) dropped->link->forget_script();
}

void Sockets::go_away() {
    sockets_.for_each([](Ticket, OpenSocket& socket) { socket.link->go_away(); });
}

void Sockets::forget_script() {
    sockets_.for_each([](Ticket, OpenSocket& socket) { socket.link->forget_script(); });
}

Result<std::unique_ptr<http::WebSocket>> Sockets::connect(const std::string& url,
                                                          std::vector<std::string> protocols,
                                                          http::Headers headers) {
    if (!tls_ && url.starts_with("wss:")) {
        auto create = [] { return net::tls::ClientContext::create({.alpn = {"http/1.1"}}); };
        auto context = WEFT_TRY(blocking(create));
        tls_ = std::make_shared<net::tls::ClientContext>(std::move(context));
    }
    http::WebSocketConnect options;
    options.protocols = std::move(protocols);
    options.headers = std::move(headers);
    options.tls = tls_;
    options.resolver = resolver_;
    options.check_address = [this](std::string_view host, const net::Address& address) {
        return egress_.check(host, address);
    };
    return http::connect_websocket(url, options);
}

}  // namespace weft::api
