// ReverseProxy: a handler that forwards requests to upstream servers.
//
//     auto proxy = WEFT_TRY(http::ReverseProxy::create({.upstreams = {"http://127.0.0.1:9000"}}));
//     http::Server server(proxy.handler());
//
// Both bodies are streamed at the pace of the slower side: events are forwarded as they arrive, and
// an upgraded connection (WebSocket) is passed through. Both messages are framed anew, and
// hop-by-hop fields are removed. The size of a request's body is limited by the server. A response
// that comes before the end of an upload is forwarded while the upload goes on, as long as the
// upstream takes it. Informational (1xx) responses are forwarded as they arrive, and a client that
// waits for 100 (Continue) waits for that of the upstream.
//
// Slow clients do not occupy connections that others need. Within limits, the beginning of a
// request body is read before a connection is taken, and the rest of a response is read ahead so
// that the connection can be given back. Streams are counted apart, and no client gets more
// connections than are free for others.
//
// A request goes to another upstream only if nothing of it has been sent, or if its method is
// idempotent, it has no body, and no byte of a response has come. A failure is answered with 502
// (unreachable, or a malformed response), 503 (all upstreams fail their check, or all connections
// are in use) or 504 (too slow). A response that is truncated on its way is truncated for the
// client too.
//
// create() and handler(): any thread. The handler: any fiber. check_health(): a fiber, one at a
// time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/http/client/client.h"
#include "weft/http/response.h"

namespace weft::http {

class ProxyCore;

enum class Balance : std::uint8_t {
    RoundRobin,
    LeastRequests,  // the one with the fewest requests in progress
    ClientAddress,  // the same one for the same client, as long as it is healthy
};

struct ProxyHealth {
    // After this many failures in a row an upstream gets no requests for out_for, as long as others
    // are healthy. 0: failures do not count.
    unsigned failures = 3;
    Nanoseconds out_for = std::chrono::seconds(10);
    // check_health() requests this path; every status below 400 is good. Empty: no check.
    std::string check_path = {};
    Nanoseconds check_interval = std::chrono::seconds(5);
    Nanoseconds check_timeout = std::chrono::seconds(2);
};

enum class HostField : std::uint8_t { Keep, Replace };  // with the upstream's name
// What to do with a client's X-Forwarded-* and Forwarded fields: replace them, or trust and extend
// them.
enum class EarlierHops : std::uint8_t { Replace, Extend };
// How many connections to an upstream one client may use: as many as are free for others, or any
// number.
enum class ClientShare : std::uint8_t { Fair, Any };
enum class UnderscoreNames : std::uint8_t { Drop, Pass };

struct ProxyOptions {
    // "http://127.0.0.1:9000", "https://example.org", "unix:/run/app.sock"
    std::vector<std::string> upstreams;
    Balance balance = Balance::RoundRobin;
    ProxyHealth health = {};
    unsigned retries = 2;  // on other upstreams
    // `idle` does not apply to event streams; `total` is not used.
    ClientTimeouts timeouts = {};
    ClientLimits limits = {};
    std::shared_ptr<net::tls::ClientContext> tls = {};  // as in ClientOptions
    // As in ClientOptions; empty: every address of an upstream is allowed.
    using CheckAddress =
        std::function<Result<void>(std::string_view host, const net::Address& address)>;
    CheckAddress check_address = {};
    // An upgraded connection that carries no bytes for this time is closed.
    Nanoseconds tunnel_idle = std::chrono::hours(1);

    // The limit on upgraded connections and event streams of each upstream, which do not count
    // towards limits.connections_per_origin. Further ones get 503.
    std::size_t streams_per_upstream = 4096;
    // A client is an address; of IPv6 the first 64 bits. Use `Any` where many users share one.
    ClientShare client_share = ClientShare::Fair;
    // How many bytes of a request body are read before a connection is taken, and how many bytes of
    // a response are read ahead of a slow client. 0: none.
    std::size_t request_buffer_bytes = 64 * 1024;
    std::size_t response_buffer_bytes = 64 * 1024;

    HostField host = HostField::Keep;
    EarlierHops earlier_hops = EarlierHops::Replace;
    bool x_forwarded = true;   // X-Forwarded-For, -Proto and -Host
    bool forwarded = false;    // Forwarded (RFC 7239)
    std::string via = "weft";  // the Via field's name; empty: none
    UnderscoreNames underscore_names = UnderscoreNames::Drop;
};

struct UpstreamStatus {
    std::string name;
    bool is_well = true;          // whether it gets requests
    std::uint32_t under_way = 0;  // requests in progress
    std::uint64_t requests = 0;
    std::uint64_t failures = 0;
};

class ReverseProxy {
public:
    // Misuse for no upstreams or more than 64, or one that is neither a URL without a path nor a
    // Unix socket.
    static Result<ReverseProxy> create(ProxyOptions options);
    ReverseProxy(ReverseProxy&&) noexcept;
    ReverseProxy& operator=(ReverseProxy&&) noexcept;
    ~ReverseProxy();

    // Shares the upstreams with this object. The handler may outlive it, and a response both.
    Handler handler() const;
    // Checks the health of each upstream periodically until the context ends; returns its error.
    Result<void> check_health();
    std::vector<UpstreamStatus> upstreams() const;

private:
    explicit ReverseProxy(std::shared_ptr<ProxyCore> core);

    std::shared_ptr<ProxyCore> core_;  // shared with the handlers
};

}  // namespace weft::http
