// A thread for each connection: what the same handlers cost without fibers.
//
// No server to be used: a thin loop that parses with http/wire, calls the handler on the thread of
// the connection and writes its answer. Only requests without a body and answers that are a text or
// a file; the rest is 501. No limits of time, no TLS, no upgrades.
//
// listen() and serve(): one plain thread. close(): any thread. It outlives serve().
#pragma once

#include <list>
#include <optional>
#include <thread>

#include "weft/base/result.h"
#include "weft/fiber/cancel.h"
#include "weft/http/response.h"
#include "weft/net/address.h"
#include "weft/net/socket.h"

namespace bench {

class HttpThreads {
public:
    explicit HttpThreads(weft::http::Handler handler) : handler_(std::move(handler)) {}

    weft::Result<weft::net::Address> listen(const weft::net::Address& address);
    // Until close() and the end of the last connection.
    weft::Result<void> serve();
    void close() { source_.cancel(); }

private:
    void serve_one(weft::net::Socket socket) const;

    const weft::http::Handler handler_;
    weft::CancelSource source_ = weft::CancelSource::detached();
    std::optional<weft::net::Listener> listener_;
    std::list<std::jthread> threads_;
};

}  // namespace bench
