// https, directly and through a proxy; and the client against Weft's own server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "weft/async/group.h"
#include "weft/http/client/client.h"
#include "weft/http/request.h"
#include "weft/http/server/server.h"
#include "weft/testing/scripted_server.h"
#include "weft/testing/tls_peers.h"

namespace weft::http {
namespace {

using namespace testing;
using std::chrono::milliseconds;
using ::testing::StartsWith;

Result<Response> echo(Request& request, async::Context&) {
    std::string body = WEFT_TRY(request.body().read_all());
    return Response::text(std::string(request.method()) + " " + std::string(request.host()) + " " +
                          body);
}

// Serves `echo` over TLS for "example.test" while `body(address, client_context)` runs.
template <class Body>
Result<void> with_https(Body body) {
    Contexts contexts = WEFT_TRY(Contexts::create());
    Server server(echo);
    Address address = WEFT_TRY(server.listen_tls(
        Address::loopback(0), std::make_shared<ServerContext>(std::move(contexts.server))));
    auto serving = spawn([&] { return server.serve(); });
    Result<void> outcome =
        body(address, std::make_shared<ClientContext>(std::move(contexts.client)));
    server.close();
    WEFT_TRY(serving.join());
    return outcome;
}

std::string https(const Address& address) {
    return "https://127.0.0.1:" + std::to_string(address.port()) + "/";
}

TEST(ClientTls, HTTP_5_https_is_spoken_and_connections_are_kept) {
    in_runtime(2, [] {
        return with_https([](const Address& address, auto tls) -> Result<void> {
            Client client({.tls = tls});
            for (int i = 0; i < 5; ++i) {
                ClientResponse response = WEFT_TRY(client.get(https(address)));
                EXPECT_EQ(response.read_all(),
                          "GET 127.0.0.1:" + std::to_string(address.port()) + " ");
            }
            EXPECT_EQ(client.counters().connected, 1U);
            return {};
        });
    });
}

TEST(ClientTls, HTTP_5_a_large_body_goes_both_ways) {
    in_runtime(2, [] {
        return with_https([](const Address& address, auto tls) -> Result<void> {
            Client client({.tls = tls});
            std::string body(900'000, 'x');
            ClientResponse response = WEFT_TRY(client.send({
                .method = "POST", .url = WEFT_TRY(Url::parse(https(address)))
                , .body = body
            }));
            EXPECT_TRUE(WEFT_TRY(response.read_all()).ends_with(body));
            return {};
        });
    });
}

TEST(ClientTls, HTTP_5_a_certificate_that_is_not_trusted_or_for_another_name_is_refused) {
    in_runtime(2, [] {
        return with_https([](const Address& address, auto tls) -> Result<void> {
            Client distrustful;
            auto response = distrustful.get(https(address));
            EXPECT_EQ(kind_of(response), ErrorKind::Tls);
            EXPECT_THAT(response.error().message(),
                        StartsWith("GET " + https(address) + ": tls handshake with " +
                                   address.to_string() + ": the server's certificate was refused"));
            Client client({.tls = tls});
            auto other = client.get("https://localhost:" + std::to_string(address.port()) + "/");
            EXPECT_EQ(kind_of(other), ErrorKind::Tls);
            return {};
        });
    });
}

TEST(ClientTls, HTTP_5_a_server_that_does_not_shake_hands_times_out) {
    in_runtime(1, [] {
        return with_server([](Peer& peer) { EXPECT_TRUE(peer.wait_for_close()); },
                           [](const Address& address) -> Result<void> {
                               Client client({.timeouts = {.handshake = milliseconds(30)}});
                               auto response = client.get(https(address));
                               EXPECT_EQ(kind_of(response), ErrorKind::TimedOut);
                               EXPECT_EQ(response.error().message(),
                                         "GET " + https(address) + ": tls handshake with " +
                                             address.to_string() +
                                             ": timed out after 30 ms (ClientTimeouts::handshake)");
                               return {};
                           });
    });
}

// A proxy that supports CONNECT only, and always connects to `target`.
auto tunnel_to(const Address& target, Atomic<unsigned>& tunnels) {
    return [target, &tunnels](Peer& peer) {
        if (!peer.read_head().starts_with("CONNECT example.test:443 HTTP/1.1\r\n")) return;
        auto onward = Socket::connect(target, in_ten_seconds());
        if (!onward) return;
        tunnels.fetch_add(1, std::memory_order_relaxed);
        peer.say("HTTP/1.1 200 Connection established\r\n\r\n");
        auto pump = [](Socket& from, Socket& to) {
            std::byte buffer[4096];
            for (;;) {
                auto count = from.read(buffer);
                if (!count || *count == 0) break;
                if (!to.write_all(Bytes(buffer).first(*count))) break;
            }
            from.close();
            to.close();
        };
        async::Group group;
        static_cast<void>(group.go([&] { pump(peer.socket(), *onward); }));
        static_cast<void>(group.go([&] { pump(*onward, peer.socket()); }));
        static_cast<void>(group.wait());
    };
}

TEST(ClientTls, HTTP_5_https_goes_through_the_tunnel_of_a_proxy) {
    in_runtime(2, [] {
        return with_https([](const Address& server, auto tls) -> Result<void> {
            Atomic<unsigned> tunnels{0};
            return with_server(
                tunnel_to(server, tunnels), [&](const Address& proxy) -> Result<void> {
                    Client client({.proxy = ForwardProxy{.host = "127.0.0.1", .port = proxy.port()},
                                   .tls = tls});
                    for (int i = 0; i < 3; ++i) {
                        ClientResponse response = WEFT_TRY(client.get("https://example.test/"));
                        EXPECT_EQ(response.read_all(), "GET example.test ");
                    }
                    EXPECT_EQ(tunnels.load(std::memory_order_relaxed), 1U);
                    return {};
                });
        });
    });
}

TEST(ClientServer, HTTP_5_many_fibers_and_the_own_server) {
    in_runtime(2, []() -> Result<void> {
        Server server(echo);
        Address address = WEFT_TRY(server.listen(Address::loopback(0)));
        auto serving = spawn([&] { return server.serve(); });
        Client client({.limits = {.connections_per_origin = 16}});
        async::Group group;
        for (int i = 0; i < 50; ++i) {
            WEFT_TRY(group.go([&, i]() -> Result<void> {
                for (int k = 0; k < 20; ++k) {
                    std::string text = std::to_string(i) + "/" + std::to_string(k);
                    Url url = WEFT_TRY(Url::parse("http://" + address.to_string() + "/"));
                    ClientResponse response =
                        WEFT_TRY(client.send({.method = "POST", .url = url, .body = text}));
                    EXPECT_TRUE(WEFT_TRY(response.read_all()).ends_with(" " + text));
                }
                return {};
            }));
        }
        WEFT_TRY(group.wait());
        EXPECT_LE(client.counters().connected, 16U);
        server.close();
        return serving.join();
    });
}

}  // namespace
}  // namespace weft::http
