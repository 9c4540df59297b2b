// ReverseProxy: a handler that passes requests on to upstream servers.
//
//     auto proxy = WEFT_TRY(http::ReverseProxy::create({.upstreams = {"http://127.0.0.1:9000"}}));
//     http::Server server(proxy.handler());
//
// Everything is streamed, both ways, at the pace of the slower side: events leave as they come, and
// an upgraded connection (WebSocket) is passed through. Both messages are framed anew, and fields
// that are meant for one connection go no further. How large a request's body may be is a limit of
// the server. A response that comes before the end of an upload is passed on while the upload goes
// on, as long as the upstream takes it. Responses of the 1xx kind are passed on as they come, and a
// client that waits for 100 (Continue) waits for the upstream's.
//
// Slow clients hold no connection that others need: the beginning of a body is read before a
// connection is taken, the end of a response before it is given back, within limits; streams are
// counted apart; and no client gets more connections than are free for others.
//
// A request goes to another upstream only if nothing of it has been sent, or if it may be repeated,
// has no body and no byte of a response has come. What fails is answered with 502 (unreachable or
// garbage), 503 (all upstreams fail their check, or all connections are in use), or 504 (too slow);
// a response that is cut off on its way is cut off for the client as well.
//
// create() and handler(): anywhere. The handler: any fiber. check_health(): a fiber, one at a time.
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
    LeastRequests,  // the one with the fewest under way
    ClientAddress,  // the same one for the same client, as long as it is well
};

struct ProxyHealth {
    // In a row; then no requests for a while, as long as there are others. 0: never.
    unsigned failures = 3;
    Nanoseconds out_for = std::chrono::seconds(10);
    // check_health() asks for this path; every status below 400 is good. Empty: it is not asked.
    std::string check_path = {};
    Nanoseconds check_interval = std::chrono::seconds(5);
    Nanoseconds check_timeout = std::chrono::seconds(2);
};

enum class HostField : std::uint8_t { Keep, Replace };  // by the upstream's
// What a client says about who was before it: believed and extended, or replaced.
enum class EarlierHops : std::uint8_t { Replace, Extend };
// Of the connections to an upstream a client has at most as many as are free for others, or any.
enum class ClientShare : std::uint8_t { Fair, Any };
enum class UnderscoreNames : std::uint8_t { Drop, Pass };

struct ProxyOptions {
    // "http://127.0.0.1:9000", "https://example.org", "unix:/run/app.sock"
    std::vector<std::string> upstreams;
    Balance balance = Balance::RoundRobin;
    ProxyHealth health = {};
    unsigned retries = 2;  // on other upstreams
    // `idle` does not count for event streams, `total` for nothing.
    ClientTimeouts timeouts = {};
    ClientLimits limits = {};
    std::shared_ptr<net::tls::ClientContext> tls = {};  // as in ClientOptions
    // The same; null: every upstream that is named may be reached.
    using CheckAddress =
        std::function<Result<void>(std::string_view host, const net::Address& address)>;
    CheckAddress check_address = {};
    // An upgraded connection through which nothing comes for so long is closed.
    Nanoseconds tunnel_idle = std::chrono::hours(1);

    // Upgraded connections and event streams of each upstream: they do not count among
    // limits.connections_per_origin. More get 503.
    std::size_t streams_per_upstream = 4096;
    // A client is an address, of IPv6 the first 64 bits. `Any` where one address is many people.
    ClientShare client_share = ClientShare::Fair;
    // So much of a request's body is read before a connection is taken for it, and so much of a
    // response ahead of a client that is slow to take it. 0: nothing.
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
    bool is_well = true;
    std::uint32_t under_way = 0;
    std::uint64_t requests = 0;
    std::uint64_t failures = 0;
};

class ReverseProxy {
public:
    // Misuse for no upstreams, or one that is no URL.
    static Result<ReverseProxy> create(ProxyOptions options);
    ReverseProxy(ReverseProxy&&) noexcept;
    ReverseProxy& operator=(ReverseProxy&&) noexcept;
    ~ReverseProxy();

    // Shares the upstreams with this object, and may outlive it.
    Handler handler() const;
    // Asks each upstream again and again how it is, until the context ends; gives its error.
    Result<void> check_health();
    std::vector<UpstreamStatus> upstreams() const;

private:
    explicit ReverseProxy(std::shared_ptr<ProxyCore> core);

    std::shared_ptr<ProxyCore> core_;  // with the handlers
};

}  // namespace weft::http
