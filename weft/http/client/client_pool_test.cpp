// Idle connections: reuse, closing, limits, repeated requests, cancellation.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "weft/async/group.h"
#include "weft/http/client/client.h"
#include "weft/sync/event.h"
#include "weft/testing/eventually.h"
#include "weft/testing/scripted_server.h"
#include "weft/testing/sockets.h"

namespace weft::http {
namespace {

using namespace testing;
using std::chrono::milliseconds;
using std::chrono::seconds;

Url url_of(const net::Address& address, std::string_view target = "/") {
    return *Url::parse("http://" + address.to_string() + std::string(target));
}

Result<std::string> fetch(Client& client, const Address& address, std::string method = "GET") {
    ClientResponse response =
        WEFT_TRY(client.send({.method = std::move(method), .url = url_of(address)}));
    return response.read_all();
}

void answer_all(Peer& peer) {
    while (!peer.read_request().empty()) peer.respond(std::to_string(peer.number()));
}

TEST(ClientPool, HTTP_5_a_connection_is_used_again) {
    in_runtime(2, [] {
        return with_server(answer_all, [](const Address& address) -> Result<void> {
            Client client;
            for (int i = 0; i < 10; ++i) EXPECT_EQ(fetch(client, address), "0");
            EXPECT_EQ(client.counters().connected, 1U);
            EXPECT_EQ(client.counters().reused, 9U);
            EXPECT_EQ(client.counters().idle, 1U);
            return {};
        });
    });
}

TEST(ClientPool, HTTP_5_a_connection_is_free_when_the_body_was_read_though_the_response_lives) {
    in_runtime(1, [] {
        return with_server(answer_all, [](const Address& address) -> Result<void> {
            Client client;
            ClientResponse first = WEFT_TRY(client.send({.url = url_of(address)}));
            EXPECT_EQ(first.read_all(), "0");
            EXPECT_EQ(fetch(client, address), "0");
            EXPECT_EQ(first.headers.get("content-length"), "1");
            return {};
        });
    });
}

TEST(ClientPool, HTTP_5_a_response_dropped_with_its_body_unread_ends_the_connection) {
    in_runtime(1, [] {
        return with_server(
            [](Peer& peer) {
                peer.read_request();
                peer.say("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nsome");
                EXPECT_TRUE(peer.wait_for_close());
            },
            [](const Address& address) -> Result<void> {
                Client client;
                WEFT_TRY(client.send({.url = url_of(address)}));
                EXPECT_EQ(client.counters().idle, 0U);
                return {};
            });
    });
}

TEST(ClientPool, HTTP_5_a_response_dropped_when_all_of_it_has_come_keeps_the_connection) {
    in_runtime(1, [] {
        return with_server(answer_all, [](const Address& address) -> Result<void> {
            Client client;
            WEFT_TRY(client.send({.url = url_of(address)}));
            EXPECT_EQ(client.counters().idle, 1U);
            EXPECT_EQ(fetch(client, address), "0");
            return {};
        });
    });
}

TEST(ClientPool, HTTP_5_a_connection_that_its_server_closes_is_dropped_at_once) {
    in_runtime(1, [] {
        Event close;
        return with_server(
            [&](Peer& peer) {
                peer.read_request();
                peer.respond(std::to_string(peer.number()));
                static_cast<void>(close.wait_for(seconds(10)));
            },
            [&](const Address& address) -> Result<void> {
                Client client;
                EXPECT_EQ(fetch(client, address), "0");
                EXPECT_EQ(client.counters().idle, 1U);
                close.set();
                EXPECT_TRUE(eventually([&] { return client.counters().idle == 0; }));
                EXPECT_EQ(client.counters().dropped, 1U);
                EXPECT_EQ(fetch(client, address, "POST"), "1");
                EXPECT_EQ(client.counters().retried, 0U);
                return {};
            });
    });
}

TEST(ClientPool, HTTP_5_a_connection_on_which_the_server_speaks_unasked_is_not_used_again) {
    in_runtime(1, [] {
        return with_server(
            [&](Peer& peer) {
                peer.read_request();
                peer.respond("0");
                if (peer.number() == 0) peer.respond("for nobody");
                peer.wait_for_close();
            },
            [&](const Address& address) -> Result<void> {
                Client client;
                EXPECT_EQ(fetch(client, address), "0");
                EXPECT_TRUE(eventually([&] { return client.counters().idle == 0; }));
                EXPECT_EQ(fetch(client, address), "0");
                EXPECT_EQ(client.counters().connected, 2U);
                return {};
            });
    });
}

TEST(ClientPool, HTTP_5_close_and_the_end_of_HTTP_1_0_are_heeded) {
    in_runtime(1, [] {
        return with_server(
            [&](Peer& peer) {
                peer.read_request();
                if (peer.number() == 0) peer.respond("0", "Connection: close\r\n");
                if (peer.number() == 1) peer.say("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n1");
                if (peer.number() == 2) peer.respond("2", "Keep-Alive: timeout=1\r\n");
                peer.wait_for_close();
            },
            [&](const Address& address) -> Result<void> {
                Client client;
                for (const char* number : {"0", "1", "2"}) {
                    EXPECT_EQ(fetch(client, address), number);
                    EXPECT_EQ(client.counters().idle, 0U);
                }
                return {};
            });
    });
}

TEST(ClientPool, HTTP_5_idle_connections_end_after_their_time_without_a_request) {
    in_runtime(1, [] {
        return with_server(
            [&](Peer& peer) {
                peer.read_request();
                peer.respond("0");
                EXPECT_TRUE(peer.wait_for_close());
            },
            [&](const Address& address) -> Result<void> {
                Client client({.limits = {.idle_time = milliseconds(20)}});
                EXPECT_EQ(fetch(client, address), "0");
                EXPECT_EQ(client.counters().idle, 1U);
                EXPECT_TRUE(eventually([&] { return client.counters().idle == 0; }));
                return {};
            });
    });
}

TEST(ClientPool, HTTP_5_an_old_connection_is_not_used_again) {
    in_runtime(1, [] {
        return with_server(answer_all, [&](const Address& address) -> Result<void> {
            Client client({.limits = {.connection_age = Nanoseconds(1)}});
            EXPECT_EQ(fetch(client, address), "0");
            EXPECT_EQ(fetch(client, address), "1");
            return {};
        });
    });
}

TEST(ClientPool, HTTP_5_no_more_connections_than_allowed_and_the_others_wait_in_line) {
    in_runtime(2, [] {
        Atomic<unsigned> now{0};
        Atomic<unsigned> most{0};
        auto serve = [&](Peer& peer) {
            while (!peer.read_request().empty()) {
                unsigned count = now.fetch_add(1, std::memory_order_relaxed) + 1;
                unsigned before = most.load(std::memory_order_relaxed);
                while (before < count &&
                       !most.compare_exchange_weak(before, count, std::memory_order_relaxed,
                                                   std::memory_order_relaxed)) {}
                for (int i = 0; i < 20; ++i) yield();
                now.fetch_sub(1, std::memory_order_relaxed);
                peer.respond("ok");
            }
        };
        return with_server(serve, [&](const Address& address) -> Result<void> {
            Client client({.limits = {.connections_per_origin = 3}});
            async::Group group;
            for (int i = 0; i < 40; ++i) {
                WEFT_TRY(group.go([&]() -> Result<void> {
                    EXPECT_EQ(fetch(client, address), "ok");
                    return {};
                }));
            }
            WEFT_TRY(group.wait());
            EXPECT_LE(most.load(std::memory_order_relaxed), 3U);
            EXPECT_LE(client.counters().connected, 3U);
            return {};
        });
    });
}

TEST(ClientPool, HTTP_5_waiting_for_a_connection_is_bounded_in_time_and_number) {
    in_runtime(1, [] {
        return with_server(
            [](Peer& peer) {
                peer.read_request();
                peer.say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nx");
                peer.wait_for_close();
            },
            [&](const Address& address) -> Result<void> {
                Client client({.timeouts = {.queue = milliseconds(20)},
                               .limits = {.connections_per_origin = 1, .waiting_per_origin = 1}});
                ClientResponse holder = WEFT_TRY(client.send({.url = url_of(address)}));
                auto waiter = spawn([&] { return fetch(client, address); });
                yield();
                EXPECT_EQ(kind_of(fetch(client, address)), ErrorKind::Limit);
                auto waited = waiter.join();
                EXPECT_EQ(kind_of(waited), ErrorKind::TimedOut);
                EXPECT_NE(waited.error().message().find("free connection"), std::string::npos);
                return {};
            });
    });
}

TEST(ClientPool, HTTP_5_no_more_idle_connections_than_allowed) {
    in_runtime(1, [] {
        return with_server(answer_all, [&](const Address& address) -> Result<void> {
            for (ClientLimits limits :
                 {ClientLimits{.idle_per_origin = 2}, ClientLimits{.idle = 2}}) {
                Client client({.limits = limits});
                std::vector<ClientResponse> responses;
                for (int i = 0; i < 5; ++i)
                    responses.push_back(WEFT_TRY(client.send({.url = url_of(address)})));
                EXPECT_EQ(client.counters().connected, 5U);
                for (ClientResponse& response : responses) EXPECT_TRUE(response.read_all());
                EXPECT_EQ(client.counters().idle, 2U);
            }
            return {};
        });
    });
}

// ---------------------------------------------------------------- repeats

// The first connection answers once and closes when it has the second request.
void close_at_the_second_request(Peer& peer) {
    if (peer.read_request().empty()) return;
    peer.respond(std::to_string(peer.number()));
    if (peer.read_request().empty() || peer.number() == 0) return;
    peer.respond(std::to_string(peer.number()));
    peer.wait_for_close();
}

TEST(ClientPool, HTTP_5_a_request_that_may_be_repeated_is_once_on_a_new_connection) {
    for (const char* method : {"GET", "HEAD", "PUT", "DELETE", "OPTIONS"}) {
        in_runtime(1, [&] {
            return with_server(close_at_the_second_request,
                               [&](const Address& address) -> Result<void> {
                                   Client client;
                                   EXPECT_EQ(fetch(client, address), "0");
                                   ClientRequest request{.method = method, .url = url_of(address)};
                                   if (request.method == "PUT") request.body = "text";
                                   ClientResponse response = WEFT_TRY(client.send(request));
                                   EXPECT_EQ(response.status, 200) << method;
                                   EXPECT_EQ(client.counters().retried, 1U) << method;
                                   return {};
                               });
        });
    }
}

TEST(ClientPool, HTTP_5_a_request_that_may_not_be_repeated_is_not) {
    in_runtime(1, [] {
        return with_server(close_at_the_second_request, [](const Address& address) -> Result<void> {
            Client client;
            EXPECT_EQ(fetch(client, address), "0");
            auto response = client.send({.method = "POST", .url = url_of(address), .body = "x"});
            EXPECT_FALSE(response);
            EXPECT_EQ(client.counters().retried, 0U);
            return {};
        });
    });
    in_runtime(1, [] {
        return with_server(close_at_the_second_request, [](const Address& address) -> Result<void> {
            Client client;
            EXPECT_EQ(fetch(client, address), "0");
            // A body that can be produced only once.
            ClientRequest request{.method = "PUT", .url = url_of(address)};
            request.body = Body::produced([](BodyWriter& writer) { return writer.write("x"); });
            EXPECT_FALSE(client.send(request));
            EXPECT_EQ(client.counters().retried, 0U);
            return {};
        });
    });
}

TEST(ClientPool, HTTP_5_nothing_is_repeated_after_a_byte_of_the_response_or_on_a_new_connection) {
    in_runtime(1, [] {
        return with_server(
            [](Peer& peer) {
                if (peer.read_request().empty()) return;
                if (peer.number() == 1) return;
                peer.respond("0");
                peer.read_request();
                peer.say("HTTP/1.1 2");
            },
            [](const Address& address) -> Result<void> {
                Client client;
                EXPECT_EQ(fetch(client, address), "0");
                EXPECT_EQ(kind_of(fetch(client, address)), ErrorKind::Closed);
                EXPECT_EQ(kind_of(fetch(client, address)), ErrorKind::Closed);
                EXPECT_EQ(client.counters().retried, 0U);
                EXPECT_EQ(client.counters().connected, 2U);
                return {};
            });
    });
}

// ---------------------------------------------------------------- cancellation

TEST(ClientPool, HTTP_5_a_cancelled_request_closes_its_connection_and_frees_its_place) {
    in_runtime(1, [] {
        Event half_read;
        return with_server(
            [&](Peer& peer) {
                peer.read_request();
                if (peer.number() == 0) {
                    peer.say("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
                    EXPECT_TRUE(peer.wait_for_close());
                    return;
                }
                peer.respond("whole");
            },
            [&](const Address& address) -> Result<void> {
                Client client({.limits = {.connections_per_origin = 1}});
                CancelSource source;
                auto victim = spawn(
                    [&]() -> Result<std::string> {
                        ClientResponse response = WEFT_TRY(client.send({.url = url_of(address)}));
                        std::byte space[4];
                        WEFT_TRY(response.body().read(space));
                        half_read.set();
                        return response.read_all();
                    },
                    {.token = source.token().state()});
                WEFT_TRY(half_read.wait_for(seconds(10)));
                source.cancel();
                EXPECT_EQ(kind_of(victim.join()), ErrorKind::Cancelled);
                EXPECT_EQ(client.counters().idle, 0U);
                EXPECT_EQ(fetch(client, address), "whole");
                return {};
            });
    });
}

TEST(ClientPool, HTTP_5_many_fibers_share_a_client_while_connections_come_and_go) {
    in_runtime(2, [] {
        auto serve = [](Peer& peer) {
            for (unsigned left = 1 + peer.number() % 7; left > 0; --left) {
                if (peer.read_request().empty()) return;
                peer.respond("ok");
            }
        };
        return with_server(serve, [](const Address& address) -> Result<void> {
            Client client({.limits = {.connections_per_origin = 8}});
            async::Group group;
            for (int i = 0; i < 32; ++i) {
                WEFT_TRY(group.go([&]() -> Result<void> {
                    for (int k = 0; k < 30; ++k) {
                        EXPECT_EQ(WEFT_TRY(fetch(client, address)), "ok");
                    }
                    return {};
                }));
            }
            // A request that fails because its connection was closed is repeated on a new one,
            // which answers at least one request.
            return group.wait();
        });
    });
}

TEST(ClientPool, HTTP_5_a_client_may_end_before_its_responses) {
    in_runtime(1, [] {
        return with_server(answer_all, [](const Address& address) -> Result<void> {
            auto client = std::make_unique<Client>();
            ClientResponse response = WEFT_TRY(client->send({.url = url_of(address)}));
            client.reset();
            EXPECT_EQ(response.read_all(), "0");
            return {};
        });
    });
}

TEST(ClientPool, HTTP_5_a_client_with_idle_connections_may_outlive_its_runtime) {
    Client client;
    in_runtime(1, [&] {
        return with_server(answer_all, [&](const Address& address) -> Result<void> {
            EXPECT_EQ(fetch(client, address), "0");
            return {};
        });
    });
    EXPECT_EQ(client.counters().idle, 0U);
}

}  // namespace
}  // namespace weft::http
