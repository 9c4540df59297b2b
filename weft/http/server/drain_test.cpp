// A server in the frame of the fiber that serves, drained by signals.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/graceful_stop.h"
#include "weft/fiber/runtime.h"
#include "weft/http/internal/server_test.h"
#include "weft/http/request.h"
#include "weft/http/server/server.h"
#include "weft/http/sse/event_stream.h"
#include "weft/http/websocket/upgrade.h"
#include "weft/sync/event.h"
#include "weft/testing/scale.h"

namespace weft::http {
namespace {

Result<Response> answer(Request&, async::Context&) { return Response::text("x"); }

// Many at once, because each of them has a moment for those who have just connected.
TEST(Drain, FIB_14e_servers_may_end_while_the_drain_is_in_them) {
    constexpr int kServers = 100;
    for (std::size_t i = 0; i < weft::testing::repeats(30); ++i) {
        Runtime runtime({.workers = 2});
        GracefulStop stop = GracefulStop::on_signals(runtime).value();
        Atomic<int> up{0};
        std::vector<Future<void>> serving;
        for (int index = 0; index < kServers; ++index) {
            serving.push_back(runtime.spawn([&]() -> Result<void> {
                Server server(answer);
                WEFT_TRY(server.listen(net::Address::loopback(0)));
                DrainHook drain = stop.on_drain([&] { server.drain(); });
                up.fetch_add(1, std::memory_order_relaxed);
                return server.serve();
            }));
        }
        // Every other time they all serve when the drain begins. Relaxed: a number.
        while (up.load(std::memory_order_relaxed) < (i % 2 == 0 ? 1 : kServers)) sched_yield();
        stop.begin();
        for (Future<void>& server : serving) ASSERT_TRUE(server.join());
    }
}

TEST(Drain, FIB_14e_a_server_ends_after_the_function_that_drains_it) {
    Result<void> served = run([]() -> Result<void> {
        Event over;
        Event reached;
        {
            Server server(answer);
            WEFT_TRY(server.listen(net::Address::loopback(0)));
            DrainHook drain = WEFT_TRY(on_drain([&] {
                server.drain();
                EXPECT_TRUE(reached.wait());
                for (int turn = 0; turn < 100; ++turn) yield();
                EXPECT_EQ(server.connections(), 0U);
                over.set();
            }));
            WEFT_TRY(GracefulStop::current())
            .begin();
            WEFT_TRY(server.serve());
            reached.set();
        }
        EXPECT_TRUE(over.is_set());
        return {};
    });
    EXPECT_TRUE(served);
}

TEST(Drain, FIB_14e_a_signal_ends_a_server_under_run) {
    Result<void> served = run([]() -> Result<void> {
        Server server(answer);
        WEFT_TRY(server.listen(net::Address::loopback(0)));
        DrainHook drain = WEFT_TRY(on_drain([&] { server.drain(); }));
        EXPECT_EQ(kill(getpid(), SIGTERM), 0);
        return server.serve();
    });
    EXPECT_TRUE(served);
}

// ---------------------------------------------------------------- streams without an end

constexpr std::string_view kAskForWebSocket =
    "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

TEST(Drain, HTTP_4g_a_websocket_is_told_at_once_that_the_server_goes_away) {
    testing::TestServer server([](Request& request, async::Context&) {
        return accept_websocket(request, [](WebSocket& socket) {
            while (socket.receive()) {}
        });
    });
    testing::RawClient client = server.connect();
    client.send(kAskForWebSocket);
    EXPECT_TRUE(client.read_until("\r\n\r\n").starts_with("HTTP/1.1 101 "));
    server.server().drain();
    EXPECT_EQ(client.read_count(4), std::string("\x88\x02\x03\xE9", 4));  // Close, 1001
    client.send(std::string_view("\x88\x82\0\0\0\0\x03\xE9", 8));
    EXPECT_TRUE(client.is_ended());
    EXPECT_TRUE(server.drain());
}

TEST(Drain, HTTP_4g_an_event_stream_ends_whole_when_the_server_drains) {
    Event never;
    testing::TestServer server([&](Request&, async::Context&) {
        return event_stream([&](EventStream& stream) -> Result<void> {
            WEFT_TRY(stream.send({.data = "here"}));
            return never.wait();
        });
    });
    testing::RawClient client = server.connect();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_FALSE(client.read_until("data: here\n\n\r\n").starts_with("(ended)"));
    EXPECT_TRUE(server.drain());
    EXPECT_EQ(client.read_to_end(), "0\r\n\r\n");
}

TEST(Drain, HTTP_4g_a_stream_that_begins_in_the_drain_ends_as_well) {
    Event reached;
    Event drained;
    Event never;
    testing::TestServer server([&](Request&, async::Context&) -> Result<Response> {
        reached.set();
        WEFT_TRY(drained.wait());
        return event_stream([&](EventStream& stream) -> Result<void> {
            WEFT_TRY(stream.send({.data = "here"}));
            return never.wait();
        });
    });
    testing::RawClient client = server.connect();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_TRUE(reached.wait());
    server.server().drain();
    drained.set();
    EXPECT_TRUE(client.read_to_end().ends_with("data: here\n\n\r\n0\r\n\r\n"));
    EXPECT_TRUE(server.drain());
}

// A producer that does not care whether it was heard must not make a whole of a part.
TEST(Drain, HTTP_4g_a_stream_that_was_cut_in_the_middle_of_a_piece_is_not_ended) {
    testing::TestServer server([&](Request&, async::Context&) {
        return event_stream([](EventStream& stream) -> Result<void> {
            std::string large(1 << 20, 'x');
            while (stream.send({.data = large})) {}
            return {};
        });
    });
    testing::RawClient client = server.connect();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_FALSE(client.read_until("data: x").starts_with("(ended)"));
    EXPECT_TRUE(server.drain());  // while the client does not read
    EXPECT_FALSE(client.read_to_end().ends_with("0\r\n\r\n"));
}

}  // namespace
}  // namespace weft::http
