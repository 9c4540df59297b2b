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
// Each worker of the runtime has a listener of its own (SO_REUSEPORT; only its own worker for a
// pinned fiber), and hands a new connection to the worker that has the fewest. An idle connection
// owns neither a fiber nor a buffer: it waits in the reactor, and its next bytes start a fiber that
// reads, calls the handler and writes. A handler may wait as long as it needs; its context ends
// when the client goes away. Requests that are answered without waiting need no fiber: see
// loop_handler.h.
//
// drain() stops accepting, closes idle connections at once and lets the others finish the request
// they are in, with Connection: close; serve() returns when the last is gone. Wire it to SIGTERM
// with weft::on_drain (fiber/graceful_stop.h), whose hook is declared after the server.
//
// The destructor of a server closes it, and waits until serve() has returned and the last request
// has ended. It waits for a serve() that was called; so to serve beside the caller use start(),
// which counts from the call on, and not spawn(), whose fiber might call serve() after the server
// has ended. A handler must not destroy its own server.
//
// The constructor: anywhere. listen(), serve() and start(): a fiber of the runtime that serves.
// drain(), close() and counters(): any thread. The destructor: a fiber, or a plain thread that may
// block.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/function.h"
#include "weft/base/result.h"
#include "weft/fiber/fiber.h"
#include "weft/http/limits.h"
#include "weft/http/response.h"
#include "weft/http/server/loop_handler.h"
#include "weft/net/address.h"
#include "weft/net/socket.h"

namespace weft::net::tls {
class ServerContext;
}

namespace weft::http {

class Request;
class ServerCore;

// One request and its response, for the access log.
struct AccessRecord {
    const Request* request = nullptr;  // null when there was none to be read
    const net::Address& peer;
    std::uint16_t status = 0;  // 0: the client was gone before
    std::uint64_t body_bytes = 0;
    Nanoseconds duration{};
    bool complete = false;  // the whole response was handed to the kernel
};

// Whether a client that closes its sending side counts as gone, or still gets its response.
enum class HalfClose : bool { IsGone, IsAllowed };

struct ServerOptions {
    ServerLimits limits;
    std::string server_name;  // the Server field; empty: none
    HalfClose half_close = HalfClose::IsGone;
    // The stack of the fiber that calls the handler; 0: the runtime's default. It is as large as
    // that of a usual thread, so that a handler may call any library: std::regex takes 3 MiB for 4
    // KiB of text. It is address space, of which only touched pages cost memory (and 4 KiB of page
    // tables); an idle connection has no stack at all.
    std::size_t stack_bytes = 4 * 1024 * 1024;
    // Called after each response by the fiber of the connection, or in the loop of its worker,
    // where it must not wait.
    std::function<void(const AccessRecord&)> on_access;
    // Called in the loop of the connection's worker, in place of the handler where it answers; see
    // loop_handler.h. None: every request has a fiber.
    LoopHandler loop_handler;
};

struct ServerCounters {
    std::uint64_t connections = 0;  // open now
    std::uint64_t accepted = 0;
    std::uint64_t refused = 0;        // by a limit on connections
    std::uint64_t requests = 0;       // whose head was read
    std::uint64_t responses = 0;      // completely written
    std::uint64_t bad = 0;            // refused by the parser
    std::uint64_t shed = 0;           // 503 because of overload
    std::uint64_t timeouts = 0;       // header, body, handler
    std::uint64_t gone = 0;           // the client went away during a request
    std::uint64_t accept_pauses = 0;  // out of descriptors or memory
    std::uint64_t evicted = 0;        // idle ones that were closed to make room for new ones
    // How often there was no memory for the fiber of a connection. It is tried again until
    // queue_delay has passed, then the connection is closed.
    std::uint64_t stranded = 0;
};

class Server {
public:
    explicit Server(Handler handler, ServerOptions options = {});
    ~Server();  // closes and waits
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    // May be called several times; connections wait in the backlog until serve(). Gives the address
    // with the port that the kernel chose. AddressInUse where another server listens, unless both
    // say ReusePort::Yes. Raises the process's limit on descriptors. The first call decides which
    // workers serve.
    Result<net::Address> listen(const net::Address& address, net::ListenOptions options = {});
    // The same with TLS; the context is shared with whoever reloads its certificates.
    Result<net::Address> listen_tls(const net::Address& address,
                                    std::shared_ptr<net::tls::ServerContext> context,
                                    net::ListenOptions options = {});

    // Accepts and serves until drain() or close() and the end of the last connection. When the
    // ambient context ends, so do all requests.
    Result<void> serve();
    // The same on a fiber of its own. The future may be dropped: the destructor waits.
    //     auto serving = server.start();
    //     ...
    //     server.close();
    //     WEFT_TRY(serving.join());
    Future<void> start();

    void drain();
    // The same, and ends the requests that are under way.
    void close();

    ServerCounters counters() const;
    // The same for each of the workers that serve; refused connections count where they came in.
    std::vector<ServerCounters> worker_counters() const;
    std::size_t connections() const;

private:
    // By it serve() recognizes that its server has ended, as far as the memory still shows that.
    static constexpr std::uint32_t kAlive = 0x5E27E2A1;
    volatile std::uint32_t alive_ = kAlive;
    std::unique_ptr<ServerCore> core_;
};

}  // namespace weft::http
