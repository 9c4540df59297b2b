#include "weft/http/websocket/upgrade.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/fiber/cancel.h"
#include "weft/http/internal/drain_scope.h"
#include "weft/http/limits.h"
#include "weft/http/request.h"
#include "weft/http/wire/format.h"
#include "weft/http/wire/head.h"
#include "weft/http/wire/list_field.h"
#include "weft/http/wire/websocket_handshake.h"

namespace weft::http {
namespace {

namespace websocket = wire::websocket;

constexpr std::string_view kVersion = "13";

bool contains(const std::vector<std::string>& names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
}

std::string joined(const std::vector<std::string>& names) {
    std::string list;
    for (const std::string& name : names) {
        if (!list.empty()) list += ", ";
        list += name;
    }
    return list;
}

bool is_allowed(const Request& request, const std::vector<std::string>& origins) {
    auto origin = request.header("origin");
    if (origins.empty() || !origin) return true;
    return request.headers().count("origin") == 1 && contains(origins, *origin);
}

// The chosen subprotocol, or an empty text. RFC 6455 §4.2.2 lets a server go on without one, so
// that even a malformed field is no error.
std::string choose_protocol(std::string_view asked, const std::vector<std::string>& spoken) {
    auto members = wire::parse_list_field(asked);
    if (!members) return {};
    for (const std::string& protocol : spoken) {
        auto found = std::ranges::find(*members, protocol, &wire::ListMember::name);
        if (found != members->end()) return protocol;
    }
    return {};
}

}  // namespace

Response accept_websocket(const Request& request, WebSocketHandler serve,
                          const WebSocketAccept& options) {
    const Headers& headers = request.headers();
    if (!request.upgrades() || !headers.has_token("upgrade", "websocket")) {
        return Response::plain(426).with("upgrade", "websocket");
    }
    if (headers.get("sec-websocket-version") != kVersion) {
        return Response::plain(426)
            .with("upgrade", "websocket")
            .with("sec-websocket-version", kVersion);
    }
    auto key = headers.get("sec-websocket-key");
    bool valid = request.method() == "GET" && key && websocket::is_key(*key) &&
                 headers.count("sec-websocket-key") == 1 &&
                 headers.count("sec-websocket-version") == 1;
    if (!valid)
        return Response::text(
            "a WebSocket is opened by GET, with one Sec-WebSocket-Key of 16 bytes in base64 and "
            "one "
            "Sec-WebSocket-Version\n",
            400);
    if (!is_allowed(request, options.origins)) return Response::plain(403);

    Result<std::string> accept = websocket::accept_of(*key);
    if (!accept) return Response::text(accept.error().message() + "\n", 500);

    Response response;
    response.status = 101;
    response.headers.set("upgrade", "websocket");
    response.headers.set("sec-websocket-accept", *accept);
    WebSocketOptions connection = options.connection;
    connection.deflate = {};
    auto wish = options.deflate.value_or(websocket::DeflateParameters());
    auto agreement = websocket::accept_deflate(headers.joined("sec-websocket-extensions"), wish);
    if (!agreement) return Response::text("a Sec-WebSocket-Extensions that is malformed\n", 400);
    if (options.deflate && *agreement) {
        connection.deflate = (*agreement)->parameters;
        response.headers.set("sec-websocket-extensions", (*agreement)->answer);
    }
    connection.protocol =
        choose_protocol(headers.joined("sec-websocket-protocol"), options.protocols);
    if (!connection.protocol.empty()) {
        response.headers.set("sec-websocket-protocol", connection.protocol);
    }
    response.upgrade = [serve = std::move(serve), connection](Upgraded& upgraded) mutable {
        WebSocket socket(upgraded.stream, upgraded.early, WebSocketRole::Server, connection);
        bool stopped = false;
        {
            DrainScope scope(upgraded.drain);
            serve(socket);
            stopped = CancelToken::current().is_cancelled();
        }
        shield(Deadline::after(connection.close_time), [&] {
            // Does nothing if the socket is closed already. An error is dropped, since the
            // connection ends here anyway.
            static_cast<void>(socket.close(stopped ? websocket::close_code::kGoingAway
                                                   : websocket::close_code::kNormal));
        });
    };
    return response;
}

namespace {

std::string make_random_key() {
    std::array<std::byte, 16> nonce;
    std::array<std::uint64_t, 2> words = {env::random(RandomStream::Secret),
                                          env::random(RandomStream::Secret)};
    static_assert(sizeof words == sizeof nonce);
    std::memcpy(nonce.data(), words.data(), nonce.size());
    return websocket::make_key(nonce);
}

std::string format_request(const wire::Url& url, std::string_view key,
                           const WebSocketUpgrade& options, const Headers& headers) {
    std::string text;
    wire::append_request_line(text, "GET", url.target());
    wire::append_field(text, "Host", url.authority());
    wire::append_field(text, "Connection", "Upgrade");
    wire::append_field(text, "Upgrade", "websocket");
    wire::append_field(text, "Sec-WebSocket-Version", kVersion);
    wire::append_field(text, "Sec-WebSocket-Key", key);
    if (options.deflate) {
        wire::append_field(text, "Sec-WebSocket-Extensions",
                           websocket::deflate_offer(*options.deflate));
    }
    if (!options.protocols.empty()) {
        wire::append_field(text, "Sec-WebSocket-Protocol", joined(options.protocols));
    }
    wire::append_fields(text, headers);
    return text += wire::kHeadEnd;
}

// RFC 6455 §4.1: what a client must check in the response.
Result<WebSocketOptions> check_response(const wire::ResponseHead& head, std::string_view key,
                                        const WebSocketUpgrade& options) {
    auto refused = [](std::string_view why) { return Error(ErrorKind::Refused, why); };
    if (head.status != 101) {
        return refused("the server answers " + std::to_string(head.status) +
                       " instead of a WebSocket");
    }
    const Headers& headers = head.headers;
    auto upgrade = headers.get("upgrade");
    if (!upgrade || !equal_without_case(*upgrade, "websocket") ||
        !headers.has_token("connection", "upgrade")) {
        return refused("the server switches to another protocol");
    }
    std::string accept = WEFT_TRY(websocket::accept_of(key));
    if (headers.joined("sec-websocket-accept") != accept) {
        return refused("the server has not understood the key");
    }
    WebSocketOptions connection = options.connection;
    connection.deflate = WEFT_TRY(websocket::check_deflate_answer(
        headers.joined("sec-websocket-extensions"), options.deflate));
    connection.protocol = headers.joined("sec-websocket-protocol");
    if (!connection.protocol.empty() && !contains(options.protocols, connection.protocol)) {
        return refused("the server chooses a subprotocol that was not offered");
    }
    return connection;
}

// Reads until the parser has the first response that is 101 or final (RFC 9110 §15.2). `received`
// then begins with that response.
Result<void> read_head(net::Stream& stream, wire::ResponseParser& parser, std::string& received,
                       Deadline deadline) {
    std::array<std::byte, 4096> space;
    for (unsigned informational = 0; informational <= kInformationalMax;) {
        wire::Progress progress =
            received.empty() ? wire::Progress::NeedMore : parser.parse(received, "GET");
        if (progress == wire::Progress::Failed) {
            Error error = parser.error().to_error("the response is malformed");
            // A server that does not send proper HTTP offers no WebSocket.
            return error.kind() == ErrorKind::Limit ? error
                                                    : Error(ErrorKind::Refused, error.message());
        }
        if (progress == wire::Progress::Done) {
            WEFT_ASSERT(parser.consumed() <= received.size(), "the parser was given no more");
            if (parser.head().status >= 200 || parser.head().status == 101) return {};
            received.erase(0, parser.consumed());
            parser.reset();
            ++informational;
            continue;
        }
        std::size_t count = WEFT_TRY(stream.read(space, deadline));
        if (count == 0) return Error(ErrorKind::Closed, "the server has gone without an answer");
        WEFT_ASSERT(count <= space.size(), "a read fills its space at most");
        received += as_text(Bytes(space).first(count));
    }
    return Error::limit("the server sends more informational responses than", kInformationalMax,
                        "kInformationalMax");
}

Result<std::unique_ptr<WebSocket>> handshake(std::unique_ptr<net::Stream> stream,
                                             const wire::Url& url, const WebSocketUpgrade& options,
                                             const Headers& headers, Deadline deadline) {
    if (!headers.is_valid() || !std::ranges::all_of(options.protocols, is_token)) {
        return Error(ErrorKind::Misuse, "a header or a subprotocol that cannot be sent");
    }
    std::string key = make_random_key();
    WEFT_TRY(stream->write_all(as_bytes(format_request(url, key, options, headers)), deadline));

    wire::ResponseParser parser;
    std::string received;
    WEFT_TRY(read_head(*stream, parser, received, deadline));
    auto connection = WEFT_TRY(check_response(parser.head(), key, options));
    WEFT_ASSERT(!connection.deflate || options.deflate, "a server may only accept what is offered");
    return std::make_unique<WebSocket>(std::move(stream),
                                       as_bytes(received).subspan(parser.consumed()),
                                       WebSocketRole::Client, connection);
}

}  // namespace

Result<std::unique_ptr<WebSocket>> open_websocket(std::unique_ptr<net::Stream> stream,
                                                  const wire::Url& url,
                                                  const WebSocketUpgrade& options,
                                                  const Headers& headers, Deadline deadline) {
    return in_context(handshake(std::move(stream), url, options, headers, deadline), "open",
                      url.without_query());
}

}  // namespace weft::http
