// A listener in the frame of the fiber that serves, closed by the drain.
#include <gtest/gtest.h>
#include <sched.h>

#include "weft/base/atomic.h"
#include "weft/fiber/graceful_stop.h"
#include "weft/fiber/runtime.h"
#include "weft/net/socket.h"
#include "weft/testing/scale.h"

namespace weft::net {
namespace {

TEST(Drain, FIB_14e_a_listener_may_end_while_the_drain_closes_it) {
    for (std::size_t i = 0; i < testing::repeats(3000); ++i) {
        Runtime runtime({.workers = 2});
        GracefulStop stop = GracefulStop::on_signals(runtime).value();
        Atomic<bool> up{false};
        Future<void> serving = runtime.spawn([&]() -> Result<void> {
            Listener listener = WEFT_TRY(Listener::open(Address::loopback(0)));
            DrainHook drain = stop.on_drain([&] { listener.close(); });
            // Release: the drain may begin; pairs with the loop below.
            up.store(true, std::memory_order_release);
            EXPECT_EQ(listener.accept().error().kind(), ErrorKind::Closed);
            return {};
        });
        while (!up.load(std::memory_order_acquire)) sched_yield();
        // Sometimes the fiber is in accept() already, sometimes not.
        for (std::size_t turn = 0; turn < i % 20; ++turn) sched_yield();
        stop.begin();
        ASSERT_TRUE(serving.join());
    }
}

}  // namespace
}  // namespace weft::net
