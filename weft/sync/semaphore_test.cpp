#include "weft/sync/semaphore.h"

#include <gtest/gtest.h>

#include <algorithm>
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

TEST(Semaphore, SYN_3_without_permits_it_refuses_and_times_out) {
    Semaphore semaphore(1);
    EXPECT_TRUE(semaphore.try_acquire());
    auto refused = [&] {
        EXPECT_FALSE(semaphore.try_acquire());
        EXPECT_EQ(kind_of(semaphore.acquire_for(kShort)), ErrorKind::TimedOut);
    };
    refused();
    on_workers(1, refused);
    semaphore.release();
    EXPECT_EQ(semaphore.available(), 1U);
}

TEST(Semaphore, SYN_3_a_cancelled_acquire_has_taken_nothing) {
    on_workers(1, [] {
        Semaphore semaphore(1);
        CancelSource source;
        auto ambient = spawn([&] {
            CancelScope scope(source.token());
            return semaphore.acquire(2);
        });
        auto by_token = spawn([&] { return semaphore.acquire(source.token(), 2); });
        settle();
        source.cancel();
        EXPECT_EQ(kind_of(ambient.join()), ErrorKind::Cancelled);
        EXPECT_EQ(kind_of(by_token.join()), ErrorKind::Cancelled);
        EXPECT_EQ(semaphore.available(), 1U);
        EXPECT_TRUE(semaphore.try_acquire());
    });
}

TEST(Semaphore, SYN_3_one_that_wants_many_is_not_overtaken) {
    on_workers(1, [] {
        Semaphore semaphore(0);
        std::vector<int> order;
        auto many = spawn([&] {
            EXPECT_TRUE(semaphore.acquire(3));
            order.push_back(3);
        });
        settle();
        auto few = spawn([&] {
            EXPECT_TRUE(semaphore.acquire(1));
            order.push_back(1);
        });
        settle();
        semaphore.release(2);
        settle();
        EXPECT_TRUE(order.empty());
        EXPECT_FALSE(semaphore.try_acquire());
        semaphore.release(2);
        EXPECT_TRUE(many.join());
        EXPECT_TRUE(few.join());
        EXPECT_EQ(order, (std::vector<int>{3, 1}));
    });
}

TEST(Semaphore, SYN_3_one_that_gives_up_makes_way_for_those_behind) {
    on_workers(1, [] {
        Semaphore semaphore(2);
        auto many = spawn([&] { return semaphore.acquire_for(kShort, 3); });
        settle();
        auto few = spawn([&] { return semaphore.acquire(2); });
        settle();
        EXPECT_FALSE(few.is_done());
        EXPECT_EQ(kind_of(many.join()), ErrorKind::TimedOut);
        EXPECT_TRUE(few.join());
    });
}

TEST(Semaphore, SYN_3_a_waiting_thread_gets_a_permit) {
    Semaphore semaphore(0);
    Watched waits;
    std::thread thread([&] {
        waits.here();
        EXPECT_TRUE(semaphore.acquire());
    });
    waits.await_waiting();
    semaphore.release();
    thread.join();
}

TEST(Semaphore, SYN_3_never_more_holders_than_permits) {
    constexpr int permits = 3;
    constexpr int rounds = 1000;
    Semaphore semaphore(permits);
    Atomic<int> holders{0};
    Atomic<int> most{0};
    auto work = [&](int index) {
        for (int i = 0; i < rounds; ++i) {
            if (index % 3 == 0) {
                if (!semaphore.acquire_for(std::chrono::nanoseconds(i))) continue;
            } else {
                ASSERT_TRUE(semaphore.acquire());
            }
            int now = holders.fetch_add(1, std::memory_order_relaxed) + 1;
            sync_test::raise_to(most, now);
            if (i % 16 == 0) yield();
            holders.fetch_sub(1, std::memory_order_relaxed);
            semaphore.release();
        }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) threads.emplace_back([&, i] { work(i); });
    on_workers(2, [&] {
        std::vector<Future<void>> fibers;
        for (int i = 0; i < 9; ++i) fibers.push_back(spawn([&, i] { work(i); }));
        for (auto& fiber : fibers) EXPECT_TRUE(fiber.join());
    });
    for (auto& thread : threads) thread.join();
    EXPECT_LE(most.load(std::memory_order_relaxed), permits);
    // None is lost on the way either: so many can hold one at once.
    EXPECT_EQ(semaphore.available(), static_cast<std::uint64_t>(permits));
}

}  // namespace
}  // namespace weft
