#include "weft/http/server/internal/permits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"
#include "weft/testing/eventually.h"

namespace weft::http {
namespace {

using namespace std::chrono_literals;
using weft::testing::eventually;

TEST(Permits, HTTP_11h_any_shard_may_have_all_of_them) {
    for (std::size_t permits : {1U, 3U, 64U, 1000U}) {
        Permits shared;
        shared.configure(permits, 0, 4);
        // Another one has had some in hand.
        EXPECT_TRUE(shared.take(1, 0s));
        shared.give_back(1);
        for (std::size_t count = 0; count < permits; ++count)
            EXPECT_TRUE(shared.take(2, 0s)) << count << " of " << permits;
        for (std::size_t shard = 0; shard < 4; ++shard) EXPECT_FALSE(shared.take(shard, 0s));
        shared.give_back(2);
        EXPECT_TRUE(shared.take(3, 0s));
        EXPECT_EQ(shared.available(), 0U);
    }
}

TEST(Permits, HTTP_11h_who_waits_gets_what_another_shard_gives_back) {
    Runtime runtime({.workers = 2});
    Permits shared;
    shared.configure(1, 1, 2);
    ASSERT_TRUE(shared.take(0, 0s));
    Future<bool> waits = runtime.spawn([&] { return shared.take(1, 10s); });
    ASSERT_TRUE(eventually([&] { return shared.waiting() == 1; }));
    // Only one may wait.
    EXPECT_FALSE(shared.take(0, 10s));
    shared.give_back(0);
    EXPECT_EQ(waits.join(), true);
    EXPECT_EQ(shared.available(), 0U);
}

TEST(Permits, HTTP_11h_one_that_comes_too_late_is_there_for_the_next) {
    Permits shared;
    shared.configure(1, 10, 2);
    ASSERT_TRUE(shared.take(0, 0s));
    EXPECT_FALSE(shared.take(1, 1ms));
    EXPECT_EQ(shared.waiting(), 0U);
    shared.give_back(0);
    EXPECT_TRUE(shared.take(1, 0s));
}

TEST(Permits, HTTP_11h_there_are_never_more_and_none_is_lost) {
    constexpr std::size_t kPermits = 5;
    constexpr unsigned kWorkers = 4;
    Runtime runtime({.workers = kWorkers});
    Permits shared;
    shared.configure(kPermits, 1000, kWorkers);
    Atomic<std::size_t> inside{0};
    Atomic<bool> too_many{false};
    std::vector<Future<void>> fibers;
    for (unsigned index = 0; index < 64; ++index) {
        fibers.push_back(runtime.spawn([&, shard = index % kWorkers] {
            for (int round = 0; round < 200; ++round) {
                if (!shared.take(shard, 10s)) continue;
                // Relaxed: a number; the permits themselves are what is tested.
                if (inside.fetch_add(1, std::memory_order_relaxed) >= kPermits)
                    too_many.store(true, std::memory_order_relaxed);
                yield();
                inside.fetch_sub(1, std::memory_order_relaxed);
                shared.give_back(shard);
            }
        }));
    }
    for (Future<void>& fiber : fibers) EXPECT_TRUE(fiber.join());
    EXPECT_FALSE(too_many.load(std::memory_order_relaxed));
    EXPECT_EQ(shared.available(), kPermits);
}

}  // namespace
}  // namespace weft::http
