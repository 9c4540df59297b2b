// Handshakes must not starve other fibers: what they may cost, and when they are computed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "weft/fiber/cancel.h"
#include "weft/net/tls/tls_stream.h"
#include "weft/testing/tls_peers.h"

namespace weft::net::tls {
namespace {

using namespace weft::testing;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

// Whether the two agree when the client offers nothing but `groups`.
Result<void> agree_with(const std::string& groups, ServerConfig server = {}) {
    Contexts contexts =
        WEFT_TRY(Contexts::create(std::move(server), {.algorithms = {.groups = groups}}));
    Handshake handshake = shake_hands(contexts.server, contexts.client);
    static_cast<void>(WEFT_TRY(std::move(handshake.server)));
    return {};
}

TEST(TlsLoad, NET_6_only_groups_that_are_strong_and_cheap_are_taken_by_default) {
    in_runtime(2, []() -> Result<void> {
        for (const char* group : {"X25519", "P-256", "P-384"}) EXPECT_TRUE(agree_with(group));
        for (const char* group : {"ffdhe2048", "ffdhe8192", "P-521", "X448"})
            EXPECT_EQ(kind_of(agree_with(group)), ErrorKind::Tls) << group;
        return {};
    });
}

TEST(TlsLoad, NET_6_groups_and_ciphers_are_the_users_choice) {
    in_runtime(2, []() -> Result<void> {
        EXPECT_TRUE(agree_with("P-521", {.algorithms = {.groups = "P-521"}}));
        Algorithms chosen{.cipher_suites = "TLS_CHACHA20_POLY1305_SHA256"};
        Contexts contexts = WEFT_TRY(Contexts::create({.algorithms = chosen}));
        Peers peers = WEFT_TRY(connect_peers(contexts.server, contexts.client));
        EXPECT_EQ(peers.client->tls()->cipher, "TLS_CHACHA20_POLY1305_SHA256");
        Algorithms old{.ciphers = "ECDHE-ECDSA-AES256-GCM-SHA384"};
        Contexts older =
            WEFT_TRY(Contexts::create({.maximum = Protocol::Tls12, .algorithms = old}));
        Peers old_peers = WEFT_TRY(connect_peers(older.server, older.client));
        EXPECT_EQ(old_peers.client->tls()->cipher, "ECDHE-ECDSA-AES256-GCM-SHA384");
        return {};
    });
}

TEST(TlsLoad, NET_6_a_name_that_nobody_knows_is_refused_and_named) {
    EXPECT_THAT(message_of(ClientContext::create({.algorithms = {.groups = "X25519:best"}})),
                HasSubstr("'X25519:best' is no list of groups"));
    EXPECT_THAT(message_of(ClientContext::create({.algorithms = {.ciphers = "none-such"}})),
                HasSubstr("'none-such' is no list of ciphers"));
    EXPECT_THAT(message_of(ClientContext::create({.algorithms = {.cipher_suites = "TLS_A"}})),
                HasSubstr("'TLS_A' is no list of cipher suites"));
}

// What the server has sent to a client that has sent a ClientHello; empty: it has computed nothing.
Result<std::string> reply_to(RawClient& client) {
    static_cast<void>(client.server.join(in_ten_seconds()));
    return read_text(client.socket, 1);
}

TEST(TlsLoad, NET_6_for_one_who_has_left_nothing_is_computed) {
    in_runtime(1, []() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create());
        std::string hello = WEFT_TRY(client_hello(contexts.client));
        RawClient client = WEFT_TRY(raw_client(contexts.server, in_ten_seconds()));
        WEFT_TRY(client.socket.write_all(as_bytes(hello)));
        WEFT_TRY(client.socket.shutdown_write());
        EXPECT_EQ(WEFT_TRY(reply_to(client)), "");
        return {};
    });
}

TEST(TlsLoad, NET_6_for_one_whose_time_is_over_nothing_is_computed) {
    in_runtime(1, []() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create());
        std::string hello = WEFT_TRY(client_hello(contexts.client));
        auto sockets = WEFT_TRY(Socket::make_pair());
        WEFT_TRY(sockets.second.write_all(as_bytes(hello)));
        Result<std::unique_ptr<TlsStream>> server =
            TlsStream::accept(std::make_unique<Socket>(std::move(sockets.first)), contexts.server,
                              Deadline::at(Clock::now() - milliseconds(1)));
        EXPECT_EQ(kind_of(server), ErrorKind::TimedOut);
        EXPECT_EQ(WEFT_TRY(read_text(sockets.second, 1)), "");
        return {};
    });
}

// Between two turns of a fiber that is always ready, one handshake is computed and not a burst.
TEST(TlsLoad, NET_6_a_burst_of_handshakes_leaves_turns_to_others) {
    in_runtime(1, []() -> Result<void> {
        constexpr std::size_t kClients = 40;
        Contexts contexts = WEFT_TRY(Contexts::create());
        std::string hello = WEFT_TRY(client_hello(contexts.client));
        std::vector<RawClient> clients;
        for (std::size_t i = 0; i < kClients; ++i) {
            clients.push_back(WEFT_TRY(raw_client(contexts.server, in_ten_seconds())));
            WEFT_TRY(clients.back().socket.write_all(as_bytes(hello)));
        }
        std::size_t answered = 0;
        std::size_t most_in_a_turn = 0;
        std::vector<bool> has_answer(kClients);
        while (answered < kClients) {
            yield();
            std::size_t before = answered;
            for (std::size_t i = 0; i < kClients; ++i) {
                std::array<std::byte, 64> space;
                if (has_answer[i]) continue;
                auto count = WEFT_TRY(clients[i].socket.try_read(space));
                if (count) has_answer[i] = true, ++answered;
            }
            most_in_a_turn = std::max(most_in_a_turn, answered - before);
        }
        EXPECT_EQ(most_in_a_turn, 1U);
        for (RawClient& client : clients) {
            client.socket.close();
            EXPECT_FALSE(client.server.join(in_ten_seconds()));
        }
        return {};
    });
}

TEST(TlsLoad, NET_6_a_handshake_that_waits_for_its_turn_can_be_cancelled) {
    in_runtime(1, []() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create());
        std::string hello = WEFT_TRY(client_hello(contexts.client));
        CancelSource source;
        std::vector<RawClient> clients;
        {
            CancelScope scope(source.token());
            for (int i = 0; i < 3; ++i) {
                clients.push_back(WEFT_TRY(raw_client(contexts.server, in_ten_seconds())));
                WEFT_TRY(clients.back().socket.write_all(as_bytes(hello)));
            }
        }
        yield();
        source.cancel();
        for (RawClient& client : clients)
            EXPECT_EQ(kind_of(client.server.join(in_ten_seconds())), ErrorKind::Cancelled);
        Peers peers = WEFT_TRY(connect_peers(contexts.server, contexts.client));
        return exchange(peers);
    });
}

}  // namespace
}  // namespace weft::net::tls
