#include "weft/sync/condition.h"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/sync/internal/sync_test.h"
#include "weft/sync/mutex.h"

namespace weft {
namespace {

using sync_test::kind_of;
using sync_test::kShort;
using sync_test::kTooLong;
using sync_test::on_workers;
using sync_test::settle;
using sync_test::Watched;

TEST(Condition, SYN_3_times_out_holding_the_lock) {
    Mutex mutex;
    Condition condition;
    auto time_out = [&] {
        std::unique_lock lock(mutex);
        EXPECT_EQ(kind_of(condition.wait_for(lock, kShort)), ErrorKind::TimedOut);
        EXPECT_TRUE(lock.owns_lock());
        EXPECT_FALSE(mutex.try_lock());
        EXPECT_EQ(kind_of(condition.wait_for(lock, kShort, [] { return false; })),
                  ErrorKind::TimedOut);
    };
    time_out();
    on_workers(1, time_out);
}

TEST(Condition, SYN_3_is_cancelled_and_takes_the_lock_again_all_the_same) {
    on_workers(1, [] {
        Mutex mutex;
        Condition condition;
        CancelSource source;
        auto waiter = spawn([&] {
            CancelScope scope(source.token());
            std::unique_lock lock(mutex);
            Result<void> waited = condition.wait(lock);
            EXPECT_TRUE(lock.owns_lock());
            return waited;
        });
        auto by_token = spawn([&] {
            std::unique_lock lock(mutex);
            return condition.wait(lock, source.token());
        });
        settle();
        mutex.lock();
        source.cancel();
        settle();
        EXPECT_FALSE(waiter.is_done());
        mutex.unlock();
        EXPECT_EQ(kind_of(waiter.join()), ErrorKind::Cancelled);
        EXPECT_EQ(kind_of(by_token.join()), ErrorKind::Cancelled);
    });
}

TEST(Condition, SYN_3_a_predicate_that_holds_is_no_failure) {
    on_workers(1, [] {
        Mutex mutex;
        Condition condition;
        CancelSource source;
        source.cancel();
        CancelScope scope(source.token());
        std::unique_lock lock(mutex);
        int asked = 0;
        // Holds when it is asked again after the wait was cancelled.
        EXPECT_TRUE(condition.wait(lock, [&] { return ++asked == 2; }));
        EXPECT_EQ(kind_of(condition.wait(lock, [] { return false; })), ErrorKind::Cancelled);
    });
}

TEST(Condition, SYN_3_notify_one_wakes_one_in_order) {
    on_workers(1, [] {
        Mutex mutex;
        Condition condition;
        std::vector<int> woken;
        std::vector<Future<void>> waiters;
        for (int i = 0; i < 3; ++i) {
            waiters.push_back(spawn([&, i] {
                std::unique_lock lock(mutex);
                EXPECT_TRUE(condition.wait(lock));
                woken.push_back(i);
            }));
            settle();
        }
        for (int i = 0; i < 3; ++i) {
            condition.notify_one();
            settle();
            EXPECT_EQ(woken.size(), static_cast<std::size_t>(i) + 1);
        }
        EXPECT_EQ(woken, (std::vector<int>{0, 1, 2}));
        for (auto& waiter : waiters) EXPECT_TRUE(waiter.join());
        condition.notify_one();  // nobody waits: nothing happens
    });
}

TEST(Condition, SYN_3_notify_all_wakes_fibers_and_threads) {
    Mutex mutex;
    Condition condition;
    bool ready = false;
    Watched thread_waits;
    std::thread thread([&] {
        thread_waits.here();
        std::unique_lock lock(mutex);
        EXPECT_TRUE(condition.wait(lock, [&] { return ready; }));
    });
    on_workers(2, [&] {
        std::vector<Future<void>> waiters;
        for (int i = 0; i < 20; ++i) {
            waiters.push_back(spawn([&] {
                std::unique_lock lock(mutex);
                EXPECT_TRUE(condition.wait_for(lock, kTooLong, [&] { return ready; }));
            }));
        }
        thread_waits.await_waiting();
        {
            std::lock_guard guard(mutex);
            ready = true;
        }
        condition.notify_all();
        for (auto& waiter : waiters) EXPECT_TRUE(waiter.join());
    });
    thread.join();
}

TEST(Condition, SYN_3_a_notification_is_not_lost_to_one_that_times_out) {
    // As many notifications as items; consumers whose waits time out must not swallow one.
    constexpr int items = 3000;
    Mutex mutex;
    Condition condition;
    int stored = 0;
    int taken = 0;
    on_workers(2, [&] {
        std::vector<Future<void>> consumers;
        for (int i = 0; i < 6; ++i) {
            consumers.push_back(spawn([&, i] {
                std::unique_lock lock(mutex);
                while (taken < items) {
                    if (stored == 0) {
                        auto patience = std::chrono::microseconds(i % 2 == 0 ? 1 : 100);
                        static_cast<void>(condition.wait_for(lock, patience));
                        continue;
                    }
                    --stored;
                    ++taken;
                }
                condition.notify_all();
            }));
        }
        for (int i = 0; i < items; ++i) {
            {
                std::lock_guard guard(mutex);
                ++stored;
            }
            condition.notify_one();
        }
        for (auto& consumer : consumers) EXPECT_TRUE(consumer.join());
    });
    EXPECT_EQ(taken, items);
    EXPECT_EQ(stored, 0);
}

TEST(Condition, SYN_3_no_change_is_missed_between_the_look_and_the_wait) {
    // Two fibers notify each other in turn: after one lost notification both would wait for ever.
    constexpr int rounds = 3000;
    Mutex mutex;
    Condition condition;
    int turn = 0;
    auto play = [&](int me) {
        for (int i = 0; i < rounds; ++i) {
            std::unique_lock lock(mutex);
            ASSERT_TRUE(condition.wait_for(lock, kTooLong, [&] { return turn == me; }));
            turn = 1 - me;
            condition.notify_one();
        }
    };
    std::thread thread([&] { play(0); });
    on_workers(1, [&] { play(1); });
    thread.join();
}

}  // namespace
}  // namespace weft
