#include "weft/base/spin_lock.h"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

namespace weft {
namespace {

TEST(SpinLock, a_held_lock_cannot_be_taken) {
    SpinLock lock;
    EXPECT_FALSE(lock.is_locked());
    lock.lock();
    EXPECT_TRUE(lock.is_locked());
    EXPECT_FALSE(lock.try_lock());
    lock.unlock();
    EXPECT_TRUE(lock.try_lock());
    lock.unlock();
}

TEST(SpinLock, threads_exclude_each_other) {
    constexpr int threads_count = 4;
    constexpr int rounds = 5000;
    SpinLock lock;
    int guarded = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < threads_count; ++i) {
        threads.emplace_back([&] {
            for (int round = 0; round < rounds; ++round) {
                std::lock_guard guard(lock);
                guarded++;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(guarded, threads_count * rounds);
}

TEST(SpinLock, a_waiting_thread_gets_the_lock_when_it_is_released) {
    SpinLock lock;
    int value = 0;
    lock.lock();
    std::thread waiter([&] {
        std::lock_guard guard(lock);
        value = 2;
    });
    value = 1;
    lock.unlock();
    waiter.join();
    EXPECT_EQ(value, 2);
}

}  // namespace
}  // namespace weft
