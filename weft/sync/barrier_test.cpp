#include "weft/sync/barrier.h"

#include <gtest/gtest.h>

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

TEST(Barrier, SYN_3_an_arrival_that_times_out_is_taken_back) {
    Barrier barrier(2);
    auto time_out = [&] {
        EXPECT_EQ(kind_of(barrier.arrive_and_wait_for(kShort)), ErrorKind::TimedOut);
    };
    time_out();
    on_workers(1, [&] {
        time_out();
        auto other = spawn([&] { return barrier.arrive_and_wait(); });
        settle();
        EXPECT_FALSE(other.is_done());
        EXPECT_EQ(barrier.arrive_and_wait(), true);
        EXPECT_EQ(other.join(), false);
    });
}

TEST(Barrier, SYN_3_a_cancelled_arrival_is_taken_back) {
    on_workers(1, [] {
        Barrier barrier(3);
        CancelSource source;
        auto ambient = spawn([&] {
            CancelScope scope(source.token());
            return barrier.arrive_and_wait();
        });
        auto by_token = spawn([&] { return barrier.arrive_and_wait(source.token()); });
        settle();
        source.cancel();
        EXPECT_EQ(kind_of(ambient.join()), ErrorKind::Cancelled);
        EXPECT_EQ(kind_of(by_token.join()), ErrorKind::Cancelled);
        EXPECT_EQ(kind_of(barrier.arrive_and_wait_for(kShort)), ErrorKind::TimedOut);
    });
}

TEST(Barrier, SYN_3_a_party_that_drops_out_lets_the_others_go) {
    on_workers(1, [] {
        Barrier barrier(2);
        auto waiting = spawn([&] { return barrier.arrive_and_wait(); });
        settle();
        barrier.arrive_and_drop();
        EXPECT_EQ(waiting.join(), false);
        // One party is left, and need not wait.
        EXPECT_EQ(barrier.arrive_and_wait(), true);
    });
}

TEST(Barrier, SYN_3_fibers_and_threads_go_in_step) {
    constexpr int parties = 6;
    constexpr int rounds = 300;
    Barrier barrier(parties);
    Atomic<int> arrived{0};
    Atomic<int> leaders{0};
    auto work = [&] {
        for (int round = 1; round <= rounds; ++round) {
            arrived.fetch_add(1, std::memory_order_relaxed);
            Result<bool> last = barrier.arrive_and_wait();
            ASSERT_TRUE(last);
            if (*last) leaders.fetch_add(1, std::memory_order_relaxed);
            // All of this round have arrived, and nobody can be two rounds ahead.
            int now = arrived.load(std::memory_order_relaxed);
            ASSERT_GE(now, round * parties);
            ASSERT_LT(now, (round + 1) * parties);
        }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) threads.emplace_back(work);
    on_workers(2, [&] {
        std::vector<Future<void>> fibers;
        for (int i = 0; i < parties - 2; ++i) fibers.push_back(spawn(work));
        for (auto& fiber : fibers) EXPECT_TRUE(fiber.join());
    });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(leaders.load(std::memory_order_relaxed), rounds);
}

TEST(Barrier, SYN_3_late_timeouts_do_not_unbalance_it) {
    constexpr int rounds = 2000;
    Barrier barrier(2);
    Atomic<int> passed[2] = {};
    auto work = [&](int me) {
        for (int i = 0; i < rounds;) {
            Result<bool> last = barrier.arrive_and_wait_for(std::chrono::microseconds(i % 20));
            if (!last) continue;
            passed[me].fetch_add(1, std::memory_order_relaxed);
            ++i;
        }
    };
    std::thread thread([&] { work(0); });
    on_workers(1, [&] { work(1); });
    thread.join();
    EXPECT_EQ(passed[0].load(std::memory_order_relaxed), rounds);
    EXPECT_EQ(passed[1].load(std::memory_order_relaxed), rounds);
}

}  // namespace
}  // namespace weft
