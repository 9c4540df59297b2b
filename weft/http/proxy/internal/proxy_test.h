// What the tests of the proxy have in common.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>  // tidy: allow foreign: a test that chooses its own address

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/http/proxy/reverse_proxy.h"
#include "weft/http/server/server.h"
#include "weft/testing/eventually.h"
#include "weft/testing/scripted_server.h"
#include "weft/testing/sockets.h"

namespace weft::http::testing {

using weft::testing::Address;
using weft::testing::eventually;
using weft::testing::in_runtime;
using weft::testing::in_ten_seconds;
using weft::testing::kind_of;
using weft::testing::Listener;
using weft::testing::Peer;
using weft::testing::Socket;
using weft::testing::with_server;

inline std::string url_of(const Address& address) { return "http://" + address.to_string(); }

// A client that sends and receives raw bytes.
class RawPeer : public Peer {
public:
    static Result<RawPeer> connect(const Address& address) {
        return RawPeer(WEFT_TRY(Socket::connect(address, in_ten_seconds())));
    }
    explicit RawPeer(Socket socket) : Peer(std::move(socket), 0) {}
    // Connects from the address 127.0.0.`last`.
    static RawPeer connect_from(std::uint8_t last, const Address& address) {
        int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_storage name{};
        Address from(net::IpAddress::v4({127, 0, 0, last}), 0);
        auto bytes = static_cast<socklen_t>(from.to_native(&name));
        EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&name), bytes), 0);
        bytes = static_cast<socklen_t>(address.to_native(&name));
        EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&name), bytes), 0);
        EXPECT_EQ(::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
        return RawPeer(Socket::adopt_nonblocking(fd));
    }

    // A response with a body of known length, a chunked body, or none.
    std::string read_response() { return read_request(); }
    std::string ask(std::string_view request) {
        say(request);
        return read_response();
    }
};

// Sends the request on a new connection, and returns the response.
inline std::string ask(const Address& address, std::string_view request) {
    auto peer = RawPeer::connect(address);
    return peer ? peer->ask(request) : peer.error().message();
}
inline std::string get(const Address& address, std::string_view target = "/") {
    return ask(address, "GET " + std::string(target) + " HTTP/1.1\r\nHost: example.test\r\n\r\n");
}

inline std::string body_of(const std::string& message) {
    std::size_t end = message.find("\r\n\r\n");
    return end == std::string::npos ? "(no head) " + message : message.substr(end + 4);
}
inline int status_of(const std::string& response) {
    return response.starts_with("HTTP/1.1 ") ? std::atoi(response.c_str() + 9) : 0;
}
inline bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

// Runs a server with such a proxy while `body(address, proxy)` runs.
template <class Body>
Result<void> with_proxy(ProxyOptions options, Body body, ServerOptions server_options = {}) {
    ReverseProxy proxy = WEFT_TRY(ReverseProxy::create(std::move(options)));
    Server server(proxy.handler(), std::move(server_options));
    Address address = WEFT_TRY(server.listen(Address::loopback(0)));
    auto serving = server.start();
    Result<void> outcome = body(address, proxy);
    server.close();
    WEFT_TRY(serving.join());
    return outcome;
}

// Runs a scripted upstream with a proxy in front of it.
template <class Serve, class Body>
Result<void> with_upstream(Serve serve, Body body, ProxyOptions options = {},
                           ServerOptions server_options = {}) {
    return with_server(std::move(serve), [&](const Address& upstream) {
        options.upstreams = {url_of(upstream)};
        return with_proxy(std::move(options), std::move(body), std::move(server_options));
    });
}

}  // namespace weft::http::testing
