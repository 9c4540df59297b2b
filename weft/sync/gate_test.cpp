#include "weft/sync/gate.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/sync/internal/sync_test.h"

namespace weft {
namespace {

using sync_test::kind_of;
using sync_test::kShort;
using sync_test::on_workers;
using sync_test::settle;
using sync_test::Watched;

TEST(Gate, SYN_3_nobody_enters_a_closed_gate) {
    Gate gate;
    EXPECT_TRUE(gate.close());
    EXPECT_TRUE(gate.is_closed());
    EXPECT_EQ(kind_of(gate.enter()), ErrorKind::Closed);
    EXPECT_EQ(kind_of(gate.hold()), ErrorKind::Closed);
    EXPECT_TRUE(gate.close());
}

TEST(Gate, SYN_3_close_times_out_while_somebody_is_inside_and_stays_closed) {
    Gate gate;
    ASSERT_TRUE(gate.enter());
    auto time_out = [&] { EXPECT_EQ(kind_of(gate.close_for(kShort)), ErrorKind::TimedOut); };
    time_out();
    on_workers(1, time_out);
    EXPECT_EQ(kind_of(gate.enter()), ErrorKind::Closed);
    EXPECT_EQ(gate.inside(), 1U);
    gate.leave();
    EXPECT_TRUE(gate.close());
}

TEST(Gate, SYN_3_a_cancelled_close_stays_closed) {
    on_workers(1, [] {
        Gate gate;
        CancelSource source;
        ASSERT_TRUE(gate.enter());
        auto ambient = spawn([&] {
            CancelScope scope(source.token());
            return gate.close();
        });
        auto by_token = spawn([&] { return gate.close(source.token()); });
        settle();
        source.cancel();
        EXPECT_EQ(kind_of(ambient.join()), ErrorKind::Cancelled);
        EXPECT_EQ(kind_of(by_token.join()), ErrorKind::Cancelled);
        EXPECT_TRUE(gate.is_closed());
        gate.leave();
    });
}

TEST(Gate, SYN_3_a_hold_leaves_when_it_ends) {
    Gate gate;
    {
        auto hold = gate.hold();
        ASSERT_TRUE(hold);
        auto moved = std::move(*hold);
        EXPECT_EQ(gate.inside(), 1U);
    }
    EXPECT_EQ(gate.inside(), 0U);
}

TEST(Gate, SYN_3_every_closer_waits_until_the_last_has_left) {
    Gate gate;
    Atomic<int> inside{0};
    Watched closer_waits;
    ASSERT_TRUE(gate.enter());
    std::thread closer([&] {
        closer_waits.here();
        EXPECT_TRUE(gate.close());
        EXPECT_EQ(inside.load(std::memory_order_acquire), 0);
    });
    on_workers(2, [&] {
        std::vector<Future<void>> callers;
        for (int i = 0; i < 50; ++i) {
            callers.push_back(spawn([&] {
                for (;;) {
                    auto hold = gate.hold();
                    if (!hold) return;
                    inside.fetch_add(1, std::memory_order_relaxed);
                    yield();
                    inside.fetch_sub(1, std::memory_order_release);
                }
            }));
        }
        closer_waits.await_waiting();
        auto second = spawn([&] { return gate.close(); });
        gate.leave();
        EXPECT_TRUE(second.join());
        for (auto& caller : callers) EXPECT_TRUE(caller.join());
    });
    closer.join();
}

TEST(Gate, SYN_3_may_be_destroyed_as_soon_as_close_has_returned) {
    for (int round = 0; round < 500; ++round) {
        auto gate = std::make_unique<Gate>();
        ASSERT_TRUE(gate->enter());
        std::thread thread([shared = gate.get()] { shared->leave(); });
        EXPECT_TRUE(gate->close());
        gate.reset();  // leave() may not have returned yet
        thread.join();
    }
}

}  // namespace
}  // namespace weft
