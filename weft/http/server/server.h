// Server: HTTP/1.1 over TCP, Unix sockets and TLS.
//
//     weft::run([] {
//         http::Server server([](http::Request&, async::Context&) {
//             return http::Response::text("hello");
//         });
//         auto address = WEFT_TRY(server.listen(net::Address::loopback(8080)));
//         return server.serve();            // until drain() or close()
//     });
//
// Each worker of the runtime has a listener of its own (SO_REUSEPORT), and a connection stays with
// the worker that accepted it. An idle connection owns neither a fiber nor a buffer: it sleeps in
// the reactor, and its next bytes start a fiber that reads, calls the handler and writes. A fiber
// waits in the handler as long as it likes; its context ends when the client goes away.
//
// drain() stops accepting, closes idle connections at once and lets the others finish the request
// they are in, with Connection: close; serve() returns when the last is gone. Wire it to SIGTERM
// with GracefulStop::on_drain.
//
// The constructor: anywhere. listen() and serve(): a fiber of the runtime that serves. drain(),
// close() and counters(): any thread. It must not end before serve() has returned.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "weft/base/metrics.h"
#include "weft/base/result.h"
#include "weft/http/limits.h"
#include "weft/http/response.h"
#include "weft/net/address.h"
#include "weft/net/socket.h"

namespace weft::net {
class TlsServerContext;
}

namespace weft::http {

// What became of a request; for the access log.
struct AccessRecord {
    const Request* request = nullptr;  // null when there was none to be read
    const net::Address& peer;
    std::uint16_t status = 0;  // 0: the client was gone before
    std::uint64_t body_bytes = 0;
    Nanoseconds duration{};
    bool complete = false;  // the whole response was handed to the kernel
};

// What a client that half-closes is to the server.
enum class HalfClose : bool { IsGone, IsAllowed };

struct ServerOptions {
    ServerLimits limits;
    std::string server_name;  // the Server field; empty: none
    HalfClose half_close = HalfClose::IsGone;
    // Called after each response, on the fiber of the connection.
    std::function<void(const AccessRecord&)> on_access;
    // Only on the calling worker, instead of on all: for pinned ones.
    bool this_worker_only = false;
};

struct ServerCounters {
    Counter accepted;
    Counter refused;        // by a limit on connections
    Counter requests;       // whose head was read
    Counter responses;      // completely written
    Counter bad;            // refused by the parser
    Counter shed;           // 503 because of overload
    Counter timeouts;       // header, body, write, idle
    Counter gone;           // the client went away during a request
    Counter accept_pauses;  // out of descriptors or memory
};

class Server {
public:
    explicit Server(Handler handler, ServerOptions options = {});
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    // May be called several times; connections wait in the backlog until serve(). Gives the address
    // with the port that the kernel chose.
    Result<net::Address> listen(const net::Address& address, net::ListenOptions options = {});
    // The same with TLS; the context is shared with whoever reloads its certificates.
    Result<net::Address> listen_tls(const net::Address& address,
                                    std::shared_ptr<net::TlsServerContext> context,
                                    net::ListenOptions options = {});

    // Accepts and serves until drain() or close() and the end of the last connection. When the
    // ambient context ends, so do all requests.
    Result<void> serve();

    void drain();
    // The same, and ends the requests that are under way.
    void close();

    const ServerCounters& counters() const;
    std::size_t connections() const;

private:
    class Core;
    std::shared_ptr<Core> core_;  // of the server and its connections
};

}  // namespace weft::http
