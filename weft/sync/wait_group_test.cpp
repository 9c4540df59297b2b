#include "weft/sync/wait_group.h"

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

TEST(WaitGroup, SYN_3_times_out_while_something_is_not_done) {
    WaitGroup group(1);
    auto time_out = [&] { EXPECT_EQ(kind_of(group.wait_for(kShort)), ErrorKind::TimedOut); };
    time_out();
    on_workers(1, time_out);
    group.done();
    EXPECT_TRUE(group.wait());
}

TEST(WaitGroup, SYN_3_a_wait_is_cancelled) {
    on_workers(1, [] {
        WaitGroup group(1);
        CancelSource source;
        auto ambient = spawn([&] {
            CancelScope scope(source.token());
            return group.wait();
        });
        auto by_token = spawn([&] { return group.wait(source.token()); });
        settle();
        source.cancel();
        EXPECT_EQ(kind_of(ambient.join()), ErrorKind::Cancelled);
        EXPECT_EQ(kind_of(by_token.join()), ErrorKind::Cancelled);
        group.done();
    });
}

TEST(WaitGroup, SYN_3_wakes_everybody_at_zero_and_can_be_used_again) {
    Atomic<int> done{0};
    WaitGroup group;
    std::vector<std::thread> threads;
    on_workers(2, [&] {
        for (int round = 1; round <= 3; ++round) {
            group.add(100);
            std::vector<Future<void>> waiters;
            for (int i = 0; i < 5; ++i) {
                waiters.push_back(spawn([&, round] {
                    EXPECT_TRUE(group.wait());
                    EXPECT_EQ(done.load(std::memory_order_relaxed), 100 * round);
                }));
            }
            for (int i = 0; i < 100; ++i) {
                spawn([&] {
                    done.fetch_add(1, std::memory_order_relaxed);
                    group.done();
                }).detach();
            }
            std::thread([&] { EXPECT_TRUE(group.wait()); }).join();
            for (auto& waiter : waiters) EXPECT_TRUE(waiter.join());
            EXPECT_EQ(group.count(), 0U);
        }
    });
}

TEST(WaitGroup, SYN_3_may_be_destroyed_as_soon_as_wait_has_returned) {
    for (int round = 0; round < 500; ++round) {
        auto group = std::make_unique<WaitGroup>(1);
        std::thread thread([shared = group.get()] { shared->done(); });
        EXPECT_TRUE(group->wait());
        group.reset();  // done() may not have returned yet
        thread.join();
    }
}

TEST(WaitGroupDeathTest, SYN_3_more_done_than_added_is_an_error) {
    EXPECT_DEATH(
        {
            WaitGroup group;
            group.done();
        },
        "more often");
}

}  // namespace
}  // namespace weft
