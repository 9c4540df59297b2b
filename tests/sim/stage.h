// What the scenarios of HTTP share: time, servers, and peers that speak raw bytes.
#pragma once

#include <array>
#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tests/sim/floor/crew.h"
#include "weft/base/bytes.h"
#include "weft/http/client/client.h"
#include "weft/http/server/server.h"
#include "weft/net/socket.h"

namespace weft::sim::scenarios {

using namespace std::chrono_literals;

inline constexpr std::string_view kHeadEnd = "\r\n\r\n";
// Whoever waits for one of them waits for ever: see Promptness.
inline constexpr Nanoseconds kForEver = 24h;

// Of virtual time.
inline void pause_for(Nanoseconds time) {
    static_cast<void>(sleep_for(time));  // tidy: allow sleep: as long as a schedule needs
}
inline void pause_up_to_us(std::uint64_t most) { pause_for(up_to_us(most)); }

// That nobody was saved by a timeout: all timeouts are longer than the whole scenario may take.
class Promptness {
public:
    Promptness() : begun_(Clock::now()) {}
    ~Promptness() {
        require(Clock::now() - begun_ < kForEver / 2, "somebody waited for a timeout");
    }
    Promptness(const Promptness&) = delete;
    Promptness& operator=(const Promptness&) = delete;

    // After await_interrupt(): it may come only when everybody else has nothing left but timeouts.
    void begin_anew() { begun_ = Clock::now(); }

private:
    Instant begun_;
};

inline http::ServerOptions patient_server() {
    http::ServerOptions options;
    http::ServerLimits& limits = options.limits;
    limits.header_time = limits.body_idle = limits.body_grace = kForEver;
    limits.idle = limits.write_time = limits.linger_time = limits.queue_delay = kForEver;
    limits.connection_age = 10 * kForEver;
    return options;
}
inline http::ClientTimeouts patient_client() {
    return {.queue = kForEver,
            .connect = kForEver,
            .handshake = kForEver,
            .head = kForEver,
            .idle = kForEver,
            .total = kForEver};
}

inline http::Url url_of(const net::Address& address, std::string_view target = "/") {
    Result<http::Url> url = http::Url::parse("http://" + address.to_string() + std::string(target));
    require(url.has_value(), "an address makes no URL");
    return std::move(*url);
}

inline net::Listener some_listener() {
    Result<net::Listener> listener = net::Listener::open(net::Address::loopback(0));
    require(listener.has_value(), "no listener could be opened");
    return std::move(*listener);
}

// A connection whose bytes are read and written by hand. Owned by one fiber.
class Peer {
public:
    explicit Peer(net::Socket socket) : socket_(std::move(socket)) {}
    static Peer connect(const net::Address& address) {
        Result<net::Socket> socket = net::Socket::connect(address);
        require(socket.has_value(), "a connect failed");
        return Peer(std::move(*socket));
    }

    net::Socket& socket() { return socket_; }
    bool say(std::string_view text) { return socket_.write_all(as_bytes(text)).has_value(); }
    // Up to the mark and with it; empty when the connection has ended before.
    std::string hear_until(std::string_view mark) {
        for (;;) {
            std::size_t at = heard_.find(mark);
            if (at != std::string::npos) return take(at + mark.size());
            if (!hear_more()) return {};
        }
    }
    std::string hear(std::size_t count) {
        while (heard_.size() < count) {
            if (!hear_more()) return {};
        }
        return take(count);
    }
    // What came and was not taken; after the end, all that is left.
    const std::string& rest() const { return heard_; }
    bool has_ended() const { return ended_; }

private:
    bool hear_more() {
        std::array<std::byte, 512> space;
        Result<std::size_t> count = socket_.read(space);
        ended_ = !count || *count == 0;
        if (!ended_) heard_.append(as_text(Bytes(space).first(*count)));
        return !ended_;
    }
    std::string take(std::size_t count) {
        std::string taken = heard_.substr(0, count);
        heard_.erase(0, count);
        return taken;
    }

    net::Socket socket_;
    std::string heard_;
    bool ended_ = false;
};

// Serves each connection on a fiber of its own, until the listener is closed and all have ended.
template <class Serve>
void serve_by_hand(net::Listener& listener, Serve serve) {
    std::deque<Future<void>> served;
    for (;;) {
        Result<net::Socket> socket = listener.accept();
        if (is_error(socket, ErrorKind::Closed)) break;
        require(socket.has_value(), "an accept failed");
        served.push_back(spawn([serve, socket = std::move(*socket)]() mutable {
            Peer peer(std::move(socket));
            serve(peer);
        }));
    }
    for (Future<void>& one : served) require(one.join().has_value(), "a server failed");
}

inline std::string response_with(std::string_view body) {
    return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
           std::string(body);
}

// A server in a runtime. Whoever made it ends it, in plain code: serve() must have returned.
class Site {
public:
    Site(Runtime& runtime, http::Handler handler, http::ServerOptions options = patient_server())
        : server_(std::move(handler), std::move(options)) {
        Result<net::Address> bound =
            runtime.spawn([this] { return server_.listen(net::Address::loopback(0)); }).join();
        require(bound.has_value(), "a server does not listen");
        address_ = *bound;
        serving_ = runtime.spawn([this] { return server_.serve(); });
    }
    Site(const Site&) = delete;
    Site& operator=(const Site&) = delete;

    http::Server& server() { return server_; }
    const net::Address& address() const { return address_; }
    void await_end() {
        require(serving_.join().has_value(), "serving gave an error");
        require(server_.connections() == 0, "a connection outlived its server");
    }
    void drain() {
        server_.drain();
        await_end();
    }

private:
    http::Server server_;
    net::Address address_;
    Future<void> serving_;
};

// A response that was read by hand; nothing if the connection ended before its end.
struct Heard {
    std::string head;
    std::string body;
    bool is_last() const { return head.find("Connection: close") != std::string::npos; }
};
inline std::optional<Heard> hear_response(Peer& peer) {
    Heard heard;
    heard.head = peer.hear_until(kHeadEnd);
    if (heard.head.empty()) return std::nullopt;
    require(heard.head.starts_with("HTTP/1.1 200 "), "another status than 200");
    std::size_t at = heard.head.find("Content-Length: ");
    require(at != std::string::npos, "a response without a length");
    std::size_t count = std::stoul(heard.head.substr(at + 16));
    heard.body = peer.hear(count);
    if (heard.body.size() < count) return std::nullopt;
    return heard;
}

// The target of a request whose head this is: "/name".
inline std::string target_of(std::string_view head) {
    std::size_t begin = head.find(' ') + 1;
    return std::string(head.substr(begin, head.find(' ', begin) - begin));
}

}  // namespace weft::sim::scenarios
