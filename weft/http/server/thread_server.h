// ThreadServer: a server without fibers, for comparison: one plain thread for each connection.
//
//     http::ThreadServer server(handler);
//     auto address = WEFT_TRY(server.listen(net::Address::loopback(0)));
//     return server.serve();                    // until close()
//
// It runs the handlers of Server, with the same parser and the same writer of responses; a wait in
// a handler blocks the thread of its connection. Of the limits it knows those of heads and bodies,
// header_time, idle, write_time, connections and requests_per_connection. It does not notice a
// client that goes away during a request, does not shed load, and has neither TLS nor upgrades.
//
// listen() and serve(): one plain thread. close() and connections(): any thread. It must not end
// before serve() has returned.
#pragma once

#include <cstddef>
#include <list>
#include <optional>

#include "weft/base/atomic.h"
#include "weft/base/env.h"
#include "weft/base/result.h"
#include "weft/base/spin_lock.h"
#include "weft/fiber/cancel.h"
#include "weft/http/response.h"
#include "weft/http/server/server.h"
#include "weft/net/address.h"
#include "weft/net/socket.h"

namespace weft::http {

class ThreadServer {
public:
    explicit ThreadServer(Handler handler, ServerOptions options = {});
    ThreadServer(const ThreadServer&) = delete;
    ThreadServer& operator=(const ThreadServer&) = delete;

    // Once. Gives the address with the port that the kernel chose.
    Result<net::Address> listen(const net::Address& address, net::ListenOptions options = {});
    // Accepts and serves until close() and the end of the last connection. Misuse on a fiber.
    Result<void> serve();
    // Ends the contexts of all requests, and every wait for a client.
    void close() { source_.cancel(); }

    std::size_t connections() const;

private:
    // A connection and its thread.
    struct Seat {
        ThreadServer* server = nullptr;
        net::Socket socket;
        net::Address peer;
        EnvThread thread;  // of the one in serve() alone
        std::list<Seat>::iterator place;
    };
    using Seats = std::list<Seat>;

    Result<void> accept_all();
    void begin(net::Socket socket);
    static void thread_main(void* seat);
    void join_ended();
    bool join_one();

    const Handler handler_;
    const ServerOptions options_;
    CancelSource source_ = CancelSource::detached();
    std::optional<net::Listener> listener_;
    mutable SpinLock lock_;  // the lists, each thread moves its seat from one to the other
    Seats seats_;
    Seats ended_;
};

}  // namespace weft::http
