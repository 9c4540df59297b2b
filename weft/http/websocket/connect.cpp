#include "weft/http/websocket/connect.h"

#include <optional>
#include <utility>

#include "weft/fiber/blocking.h"
#include "weft/http/wire/target.h"
#include "weft/net/dial.h"
#include "weft/net/resolver.h"
#include "weft/net/socket.h"
#include "weft/net/tls/tls_config.h"
#include "weft/net/tls/tls_stream.h"

namespace weft::http {
namespace {

// A context that trusts the system's authorities. Their files are read on a blocking thread.
Result<std::shared_ptr<net::tls::ClientContext>> make_context() {
    auto create = [] { return net::tls::ClientContext::create({.alpn = {"http/1.1"}}); };
    auto context = WEFT_TRY(blocking(create));
    return std::make_shared<net::tls::ClientContext>(std::move(context));
}

Result<std::unique_ptr<net::Stream>> connect_to(const wire::Url& url,
                                                const WebSocketConnect& options,
                                                Deadline deadline) {
    std::shared_ptr<net::tls::ClientContext> context = options.tls;
    if (url.is_secure() && !context) context = WEFT_TRY(make_context());
    std::optional<net::Resolver> own;
    net::Resolver& resolver = options.resolver ? *options.resolver : own.emplace();
    net::DialOptions dialing;
    if (const auto& check = options.check_address)
        dialing.allow = [&](const net::Address& address) { return check(url.host(), address); };
    auto socket = WEFT_TRY(net::dial(resolver, url.host(), url.port(), deadline, dialing));
    std::unique_ptr<net::Stream> stream = std::make_unique<net::Socket>(std::move(socket));
    if (!url.is_secure()) return stream;
    return WEFT_TRY(net::TlsStream::connect(std::move(stream), *context, url.host(), deadline));
}

}  // namespace

Result<std::unique_ptr<WebSocket>> connect_websocket(std::string_view text,
                                                     const WebSocketConnect& options) {
    wire::Url url = WEFT_TRY(wire::Url::parse(text));
    if (url.scheme() != "ws" && url.scheme() != "wss")
        return Error(ErrorKind::Misuse, "it is none of ws and wss")
            .with_context("open", url.without_query());
    Deadline deadline = Deadline::after(options.timeout);
    auto stream =
        WEFT_TRY(in_context(connect_to(url, options, deadline), "open", url.without_query()));
    return open_websocket(std::move(stream), url, options, options.headers, deadline);
}

}  // namespace weft::http
