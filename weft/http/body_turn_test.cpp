// Bodies and requests whose bytes are already there: others of that worker get their turns.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>

#include "weft/http/internal/incoming_body.h"
#include "weft/http/internal/server_test.h"
#include "weft/testing/sockets.h"
#include "weft/testing/turn_counter.h"

namespace weft::http {
namespace {

using namespace weft::testing;
using testing::RawClient;
using testing::TestServer;

constexpr std::size_t kBodyBytes = 8 * 1024;
constexpr std::size_t kTurnsWanted = kBodyBytes / kTurnOperationsMax;

// Reads a body that has come with its head, byte by byte.
void expect_turns_beside_body(wire::Framing framing, std::string_view received) {
    in_runtime(1, [&]() -> Result<void> {
        auto sockets = WEFT_TRY(Socket::make_pair());
        ReadBuffer buffer;
        while (!received.empty()) {
            ByteSpace space = buffer.space();
            std::size_t count = std::min(space.size(), received.size());
            std::memcpy(space.data(), received.data(), count);
            buffer.filled(count);
            received.remove_prefix(count);
        }
        IncomingBody body;
        body.begin(sockets.first, buffer, framing, kBodyBytes, {});
        TurnCounter another;
        std::byte byte[1];
        for (std::size_t i = 0; i < kBodyBytes; ++i) EXPECT_EQ(WEFT_TRY(body.read(byte)), 1U);
        EXPECT_GE(another.turns(), kTurnsWanted);
        return {};
    });
}

TEST(BodyTurn, FIB_15i_a_body_that_has_come_leaves_turns_to_others) {
    std::string text(kBodyBytes, 'a');
    expect_turns_beside_body(wire::Framing::Length, text);
    expect_turns_beside_body(wire::Framing::UntilClose, text);
}

TEST(BodyTurn, FIB_15i_so_do_chunks_that_have_come) {
    std::string chunks;
    for (std::size_t i = 0; i < kBodyBytes; ++i) chunks += "1\r\na\r\n";
    expect_turns_beside_body(wire::Framing::Chunked, chunks + "0\r\n\r\n");
}

TEST(BodyTurn, FIB_15i_so_does_a_body_that_has_ended) {
    in_runtime(1, []() -> Result<void> {
        IncomingBody body;
        TurnCounter another;
        std::byte byte[1];
        for (std::size_t i = 0; i < kBodyBytes; ++i) EXPECT_EQ(WEFT_TRY(body.read(byte)), 0U);
        EXPECT_GE(another.turns(), kTurnsWanted);
        return {};
    });
}

TEST(BodyTurn, FIB_15i_a_body_that_is_written_in_small_pieces_leaves_turns_to_others) {
    TestServer server(
        [](Request&, async::Context&) {
            return Response::stream("text/plain", [](BodyWriter& writer) -> Result<void> {
                TurnCounter another;
                for (std::size_t i = 0; i < kBodyBytes; ++i) WEFT_TRY(writer.write("a"));
                EXPECT_GE(another.turns(), kTurnsWanted);
                return {};
            });
        },
        {}, {.workers = 1});
    RawClient client = server.connect();
    client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    EXPECT_GE(client.read_to_end().size(), kBodyBytes);
}

// Those that have come together are answered one after the other, without a wait.
TEST(BodyTurn, FIB_15i_requests_that_have_come_together_leave_turns_to_others) {
    constexpr std::size_t requests = 400;  // all of them fit into one buffer
    std::size_t answered = 0;
    std::size_t turns = 0;
    bool stop = false;
    TestServer server(
        [&](Request&, async::Context&) {
            if (answered++ == 0) turns = 0;
            stop = answered == requests;
            return Response::plain(204);
        },
        {}, {.workers = 1});
    // Not of a request's own, whose end would wait for it.
    auto another = server.runtime().spawn([&] {
        for (; !stop; ++turns) yield();
    });
    std::string together;
    for (std::size_t i = 0; i < requests; ++i) together += "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    RawClient client = server.connect();
    client.send(together);
    for (std::size_t i = 0; i < requests; ++i)
        EXPECT_TRUE(client.read_response().starts_with("HTTP/1.1 204 "));
    EXPECT_TRUE(another.join(in_ten_seconds()));
    EXPECT_GE(turns, requests / kTurnOperationsMax - 1);
}

}  // namespace
}  // namespace weft::http
