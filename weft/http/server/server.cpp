#include "weft/http/server/server.h"

#include <utility>

#include "weft/base/assert.h"
#include "weft/http/server/internal/core.h"

namespace weft::http {

Server::Server(Handler handler, ServerOptions options)
    : core_(std::make_unique<ServerCore>(std::move(handler), std::move(options))) {}

// Volatile: otherwise the compiler would drop the store, since nothing may read an ended object.
Server::~Server() { alive_ = 0; }

Result<net::Address> Server::listen(const net::Address& address, net::ListenOptions options) {
    return core_->listen(address, nullptr, options);
}

Result<net::Address> Server::listen_tls(const net::Address& address,
                                        std::shared_ptr<net::tls::ServerContext> context,
                                        net::ListenOptions options) {
    return core_->listen(address, std::move(context), options);
}

Result<void> Server::serve() {
    WEFT_ASSERT(alive_ == kAlive,
                "serve() begins after its server has ended: a fiber that was spawned to call it "
                "came too late; Server::start() counts from the call on");
    return core_->serve();
}

Future<void> Server::start() {
    WEFT_ASSERT(alive_ == kAlive, "start() is called after its server has ended");
    return core_->start();
}

void Server::drain() { core_->drain(); }
void Server::close() { core_->close(); }
ServerCounters Server::counters() const { return core_->counters(); }
std::vector<ServerCounters> Server::worker_counters() const { return core_->worker_counters(); }
std::size_t Server::connections() const { return core_->connections(); }

}  // namespace weft::http
