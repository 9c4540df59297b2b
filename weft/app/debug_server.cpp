#include "weft/app/debug_server.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "weft/app/config.h"
#include "weft/app/debug_outbox.h"
#include "weft/app/debug_protocol.h"
#include "weft/app/version.h"
#include "weft/async/group.h"
#include "weft/base/env.h"
#include "weft/base/format.h"
#include "weft/http/headers.h"
#include "weft/http/request.h"
#include "weft/http/websocket/upgrade.h"

namespace weft::app {
namespace {

// The limit on a client's message: a script that it edits live is sent whole.
constexpr std::size_t kMessageBytesMax = std::size_t{64} * 1024 * 1024;

// How long close() waits for clients to receive their last messages.
constexpr std::chrono::seconds kCloseTimeout{2};

// A UUID of version 4, RFC 9562 §5.4: 122 random bits.
std::string make_id() {
    constexpr std::uint64_t kVersionMask = 0xFFFF'FFFF'FFFF'0FFF;
    constexpr std::uint64_t kVersion = 0x4000;
    constexpr std::uint64_t kVariantMask = 0x3FFF'FFFF'FFFF'FFFF;
    constexpr std::uint64_t kVariant = 0x8000'0000'0000'0000;
    constexpr std::uint64_t kLast = 0xFFFF'FFFF'FFFF;
    std::uint64_t high = (env::random(RandomStream::Secret) & kVersionMask) | kVersion;
    std::uint64_t low = (env::random(RandomStream::Secret) & kVariantMask) | kVariant;
    return format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, high >> 16 & 0xFFFF,
                  high & 0xFFFF, low >> 48, low & kLast);
}

// Whether the request is from a page other than the developer tools. Programs that are not browsers
// send no Origin.
bool is_of_a_page(const http::Request& request) {
    std::optional<std::string_view> origin = request.header("origin");
    return origin && !origin->starts_with("devtools://") &&
           !origin->starts_with("chrome-devtools://");
}

// The session of one client, from its first message to its last.
void serve_client(http::WebSocket& socket, api::DebugDoor& door) {
    // Shared with the session, which may send its last message after the client has disconnected.
    auto outbox = std::make_shared<DebugOutbox>();
    std::unique_ptr<api::DebugSession> session = door.connect(
        [outbox](std::string_view json) { outbox->add(json); }, [outbox] { outbox->end(); });
    constexpr std::uint16_t kGoingAway = http::wire::websocket::close_code::kGoingAway;
    if (!session) {
        static_cast<void>(socket.close(kGoingAway, "the isolate has ended"));
        return;
    }
    async::Group writing;  // ends with this function
    Result<void> started = writing.go([&] {
        while (std::optional<std::string> json = outbox->next()) {
            Result<void> sent = socket.send_text(*json);
            if (!sent && sent.error().kind() != ErrorKind::Misuse) return;
        }
        static_cast<void>(socket.close(kGoingAway));
    });
    while (started) {
        Result<http::WebSocket::Message> message = socket.receive();
        if (!message) break;
        session->send(std::move(message->payload));
    }
    session.reset();
    outbox->end();
}

}  // namespace

bool is_address_or_localhost(std::string_view host) {
    std::string_view name = without_port(host);
    if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
    return http::equal_without_case(name, "localhost") || net::IpAddress::parse(name).has_value();
}

DebugServer::DebugServer(OnTarget on_target) : on_target_(std::move(on_target)) {}

Result<std::unique_ptr<DebugServer>> DebugServer::open(const net::Address& address,
                                                       OnTarget on_target) {
    // tidy: allow new: its constructor is private
    std::unique_ptr<DebugServer> made(new DebugServer(std::move(on_target)));
    made->server_ = std::make_unique<http::Server>(
        [self = made.get()](http::Request& request, async::Context&) -> Result<http::Response> {
            return self->answer(request);
        });
    Result<net::Address> opened = made->server_->listen(address);
    if (!opened)
        return opened.error().with_context("open the debugger's port", address.to_string());
    made->address_ = *opened;
    static_cast<void>(made->server_->start());
    return made;
}

DebugServer::~DebugServer() { close(); }

void DebugServer::close() {
    {
        std::lock_guard lock(lock_);
        closed_ = true;
        for (Entry& entry : entries_) entry.target.door->close();
    }
    static_cast<void>(clients_.wait_for(kCloseTimeout));
    server_->close();
}

void DebugServer::offer(std::string_view place, Target target) {
    std::string id;
    {
        std::lock_guard lock(lock_);
        if (closed_) return target.door->close();
        auto known = std::ranges::find(entries_, place, &Entry::place);
        if (known != entries_.end()) {
            known->target.door->close();
            known->target = std::move(target);
            return;
        }
        id = make_id();
        entries_.push_back({std::string(place), id, std::move(target)});
    }
    on_target_(format("ws://{}/{}", address_.to_string(), id));
}

// ---------------------------------------------------------------- requests

Result<http::Response> DebugServer::answer(http::Request& request) {
    constexpr std::uint16_t kForbidden = 403;
    constexpr std::uint16_t kNotFound = 404;
    constexpr std::uint16_t kNotAllowed = 405;
    if (!is_address_or_localhost(request.host()))
        return http::Response::text("Host is neither an address nor localhost\n", kForbidden);
    if (request.method() != "GET") return http::Response::plain(kNotAllowed).with("allow", "GET");
    std::string_view path = request.path();
    if (path == "/json" || path == "/json/list")
        return http::Response::json(list(request.host())).with("cache-control", "no-cache");
    if (path == "/json/version") {
        nlohmann::json version = {{"Browser", std::string("weft/") + kVersion},
                                  {"Protocol-Version", "1.3"}};
        return http::Response::json(version.dump(2)).with("cache-control", "no-cache");
    }
    if (path == "/json/protocol") return http::Response::json(debug_protocol());
    if (request.upgrades()) return connect(request);
    return http::Response::plain(kNotFound);
}

http::Response DebugServer::connect(const http::Request& request) {
    constexpr std::uint16_t kForbidden = 403;
    constexpr std::uint16_t kNotFound = 404;
    if (is_of_a_page(request))
        return http::Response::text("Origin is none of developer tools\n", kForbidden);
    std::shared_ptr<api::DebugDoor> door = door_of(request.path().substr(1));
    if (!door) return http::Response::plain(kNotFound);
    http::WebSocketAccept options;
    options.connection.limits.frame_bytes = kMessageBytesMax;
    options.connection.limits.message_bytes = kMessageBytesMax;
    auto serve = [this, door](http::WebSocket& socket) {
        clients_.add();
        serve_client(socket, *door);
        clients_.done();
    };
    return http::accept_websocket(request, serve, options);
}

// The URLs name the host that the client has used, because its connection may be forwarded.
std::string DebugServer::list(std::string_view host) {
    nlohmann::json all = nlohmann::json::array();
    std::lock_guard lock(lock_);
    for (const Entry& entry : entries_) {
        std::string place = format("{}/{}", host, entry.id);
        all.push_back({
            {"description", "weft"},
            {"devtoolsFrontendUrl",
             "devtools://devtools/bundled/js_app.html?experiments=true&v8only=true&ws=" + place},
            {"id", entry.id},
            {"title", entry.target.title},
            {"type", "node"},
            {"url",
             "file://" + http::wire::percent_encode(entry.target.path, http::wire::Slashes::Keep)},
            {"webSocketDebuggerUrl", "ws://" + place},
        });
    }
    return all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::shared_ptr<api::DebugDoor> DebugServer::door_of(std::string_view id) {
    std::lock_guard lock(lock_);
    auto found = std::ranges::find(entries_, id, &Entry::id);
    return found == entries_.end() ? nullptr : found->target.door;
}

}  // namespace weft::app
