#include "weft/http/client/internal/connect.h"

#include <string>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/format.h"
#include "weft/http/client/internal/phase.h"
#include "weft/http/client/internal/pool.h"
#include "weft/http/wire/format.h"
#include "weft/net/dial.h"
#include "weft/net/socket.h"
#include "weft/net/tls/tls_config.h"
#include "weft/net/tls/tls_stream.h"

namespace weft::http {
namespace {

Result<net::Socket> open_socket(ClientPool& pool, const std::string& host, std::uint16_t port,
                                Deadline deadline) {
    const auto& check = pool.options().check_address;
    if (host.starts_with(kUnixPrefix)) {
        net::Address address = WEFT_TRY(net::Address::parse(host));
        if (check) WEFT_TRY(check(host, address));
        return net::Socket::connect(address, deadline);
    }
    net::DialOptions options;
    if (check) options.allow = [&](const net::Address& address) { return check(host, address); };
    return net::dial(pool.resolver(), host, port, deadline, options);
}

// Asks the proxy for a connection to the origin. No byte may follow the proxy's answer: in TLS the
// client speaks first, so such bytes cannot come from the origin.
Result<void> ask_for_tunnel(net::Stream& stream, const Origin& origin, const ForwardProxy& proxy,
                            Deadline deadline) {
    std::string authority = origin.to_string();
    std::string request;
    wire::append_request_line(request, "CONNECT", authority);
    wire::append_field(request, "Host", authority);
    if (!proxy.authorization.empty())
        wire::append_field(request, "Proxy-Authorization", proxy.authorization);
    request.append(wire::kHeadEnd);
    WEFT_TRY(stream.write_all(as_bytes(request), deadline));
    ReadBuffer buffer;
    wire::ResponseParser parser(origin.pool().options().limits.head);
    for (unsigned informational = 0; informational <= kInformationalMax;) {
        wire::Progress progress =
            buffer.empty() ? wire::Progress::NeedMore : parser.parse(buffer.view(), "CONNECT");
        if (progress == wire::Progress::Failed)
            return parser.error().to_error("the proxy's response is malformed");
        if (progress == wire::Progress::Done) {
            std::uint16_t status = parser.head().status;
            WEFT_ASSERT(parser.consumed() <= buffer.view().size(), "the parser was given no more");
            buffer.consume(parser.consumed());
            parser.reset();
            if (status >= 200 && status < 300 && buffer.empty()) return {};
            if (status >= 200) return Error(ErrorKind::Refused, format("it answered {}", status));
            ++informational;
            continue;
        }
        ByteSpace space = buffer.space();
        if (space.empty()) return ErrorKind::OutOfMemory;
        std::size_t count = WEFT_TRY(stream.read(space, deadline));
        if (count == 0) return Error(ErrorKind::Closed, "it closed the connection");
        WEFT_ASSERT(count <= space.size(), "a read fills its space at most");
        buffer.filled(count);
    }
    return Error::limit("it sends more informational responses than", kInformationalMax,
                        "kInformationalMax");
}

}  // namespace

Result<std::unique_ptr<net::Stream>> open_connection(const Origin& origin,
                                                     const ClientTimeouts& timeouts,
                                                     Deadline total) {
    ClientPool& pool = origin.pool();
    const ClientOptions& options = pool.options();
    WholeTime whole{total, timeouts.total};
    OriginName name = origin.name();
    bool tunnel = name.route == Route::Tunnel;
    WEFT_ASSERT(!tunnel || options.proxy, "only a client with a proxy has tunnels");
    WEFT_ASSERT(!tunnel || name.is_secure, "plain requests use absolute targets instead");
    std::string host = tunnel ? options.proxy->host : std::string(name.host);
    std::uint16_t port = tunnel ? options.proxy->port : name.port;
    auto socket = open_socket(pool, host, port, earlier(total, Deadline::after(timeouts.connect)));
    if (!socket) {
        std::string doing =
            "connect " + (tunnel ? format("{}:{}", host, port) : origin.to_string());
        Error error = in_named_phase(socket.error(),
                                     {doing, timeouts.connect, "ClientTimeouts::connect"}, whole);
        return tunnel ? error.with_context("the proxy") : error;
    }
    std::unique_ptr<net::Stream> stream = std::make_unique<net::Socket>(std::move(*socket));
    Deadline deadline = earlier(total, Deadline::after(timeouts.handshake));
    if (tunnel) {
        auto asked = ask_for_tunnel(*stream, origin, *options.proxy, deadline);
        if (!asked) {
            std::string doing =
                format("ask the proxy {}:{} for {}", host, port, origin.to_string());
            return in_phase(asked.error(), {doing, timeouts.handshake, "ClientTimeouts::handshake"},
                            whole);
        }
    }
    if (!name.is_secure) return stream;
    std::shared_ptr<net::tls::ClientContext> context = WEFT_TRY(pool.tls());
    auto secured = net::TlsStream::connect(std::move(stream), *context, name.host, deadline);
    if (secured) return secured;
    std::string doing = format("tls handshake with {}", origin.to_string());
    return in_named_phase(secured.error(), {doing, timeouts.handshake, "ClientTimeouts::handshake"},
                          whole);
}

}  // namespace weft::http
