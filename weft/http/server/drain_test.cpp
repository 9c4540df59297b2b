// A server in the frame of the fiber that serves, drained by signals.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <vector>

#include "weft/base/atomic.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/graceful_stop.h"
#include "weft/fiber/runtime.h"
#include "weft/http/request.h"
#include "weft/http/server/server.h"
#include "weft/sync/event.h"
#include "weft/testing/scale.h"

namespace weft::http {
namespace {

Result<Response> answer(Request&, async::Context&) { return Response::text("x"); }

// Many at once, because each of them has a moment for those who have just connected.
TEST(Drain, FIB_14e_servers_may_end_while_the_drain_is_in_them) {
    constexpr int kServers = 100;
    for (std::size_t i = 0; i < testing::repeats(30); ++i) {
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

}  // namespace
}  // namespace weft::http
