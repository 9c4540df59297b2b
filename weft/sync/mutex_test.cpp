#include "weft/sync/mutex.h"

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/sync/event.h"
#include "weft/sync/internal/sync_test.h"
#include "weft/sync/limits.h"

namespace weft {
namespace {

using sync_test::kind_of;
using sync_test::kShort;
using sync_test::kTooLong;
using sync_test::on_workers;
using sync_test::settle;
using sync_test::Watched;

TEST(Mutex, SYN_3_a_held_mutex_cannot_be_taken) {
    Mutex mutex;
    mutex.lock();
    EXPECT_FALSE(mutex.try_lock());
    mutex.unlock();
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
}

TEST(Mutex, SYN_3_lock_times_out_on_fibers_and_threads) {
    Mutex mutex;
    mutex.lock();
    auto time_out = [&] {
        EXPECT_FALSE(mutex.try_lock_for(kShort));
        EXPECT_FALSE(mutex.try_lock_until(Clock::now() + kShort));
        EXPECT_EQ(kind_of(mutex.lock_cancellable(Deadline::after(kShort))), ErrorKind::TimedOut);
    };
    time_out();
    on_workers(1, time_out);
    mutex.unlock();
    EXPECT_TRUE(mutex.try_lock_for(kShort));
    mutex.unlock();
}

TEST(Mutex, SYN_3_only_the_cancellable_lock_is_cancelled) {
    on_workers(1, [] {
        Mutex mutex;
        CancelSource source;
        std::lock_guard held(mutex);
        auto cancellable = spawn([&] {
            CancelScope scope(source.token());
            return mutex.lock_cancellable();
        });
        auto by_token =
            spawn([&] { return mutex.lock_cancellable(Deadline::never(), source.token()); });
        settle();
        source.cancel();
        EXPECT_EQ(kind_of(cancellable.join()), ErrorKind::Cancelled);
        EXPECT_EQ(kind_of(by_token.join()), ErrorKind::Cancelled);
    });
}

TEST(Mutex, SYN_3_lock_waits_in_spite_of_cancellation) {
    on_workers(1, [] {
        Mutex mutex;
        CancelSource source;
        mutex.lock();
        auto locking = spawn([&] {
            CancelScope scope(source.token());
            std::lock_guard guard(mutex);
        });
        settle();
        source.cancel();
        settle();
        EXPECT_FALSE(locking.is_done());
        mutex.unlock();
        EXPECT_TRUE(locking.join());
    });
}

TEST(Mutex, SYN_3_one_that_gave_up_does_not_hold_up_those_behind) {
    on_workers(1, [] {
        Mutex mutex;
        mutex.lock();
        auto first = spawn([&] { EXPECT_FALSE(mutex.try_lock_for(kShort)); });
        settle();
        auto second = spawn([&] { std::lock_guard guard(mutex); });
        EXPECT_TRUE(first.join());
        mutex.unlock();
        EXPECT_TRUE(second.join());
        EXPECT_TRUE(mutex.try_lock());
        mutex.unlock();
    });
}

TEST(Mutex, SYN_3_every_waiter_gets_its_turn_after_one_unlock) {
    on_workers(1, [] {
        Mutex mutex;
        mutex.lock();
        std::vector<int> order;
        std::vector<Future<void>> waiters;
        for (int i = 0; i < 10; ++i) {
            waiters.push_back(spawn([&, i] {
                std::lock_guard guard(mutex);
                order.push_back(i);
            }));
            settle();
        }
        mutex.unlock();
        for (auto& waiter : waiters) EXPECT_TRUE(waiter.join());
        EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
    });
}

TEST(Mutex, SYN_3_a_waiter_is_not_starved_by_newcomers) {
    on_workers(1, [] {
        Mutex mutex;
        bool served = false;
        mutex.lock();
        auto waiter = spawn([&] {
            std::lock_guard guard(mutex);
            served = true;
        });
        settle();
        // Whenever the woken waiter tries to lock, the mutex has been taken again.
        unsigned rounds = 0;
        while (!served && rounds < 100) {
            mutex.unlock();
            mutex.lock();
            settle();
            ++rounds;
        }
        EXPECT_TRUE(served);
        EXPECT_LE(rounds, kMutexLossesMax + 2);
        mutex.unlock();
        EXPECT_TRUE(waiter.join());
    });
}

TEST(Mutex, SYN_3_a_starved_waiter_that_gives_up_leaves_the_mutex_usable) {
    on_workers(1, [] {
        Mutex mutex;
        CancelSource source;
        mutex.lock();
        auto waiter = spawn([&] {
            CancelScope scope(source.token());
            return mutex.lock_cancellable();
        });
        settle();
        for (unsigned i = 0; i < kMutexLossesMax; ++i) {
            mutex.unlock();
            mutex.lock();
            settle();
        }
        source.cancel();
        EXPECT_EQ(kind_of(waiter.join()), ErrorKind::Cancelled);
        mutex.unlock();
        EXPECT_TRUE(mutex.try_lock());
        mutex.unlock();
    });
}

TEST(Mutex, SYN_3_may_be_held_over_a_wait) {
    on_workers(2, [] {
        Mutex mutex;
        Event go_on;
        int guarded = 0;
        auto holder = spawn([&] {
            std::lock_guard guard(mutex);
            EXPECT_TRUE(go_on.wait());
            guarded = 1;
        });
        auto waiter = spawn([&] {
            std::lock_guard guard(mutex);
            guarded = guarded * 10 + 2;
        });
        settle();
        go_on.set();
        EXPECT_TRUE(holder.join());
        EXPECT_TRUE(waiter.join());
        EXPECT_TRUE(guarded == 12 || guarded == 1);
    });
}

TEST(Mutex, SYN_3_a_waiting_thread_gets_it) {
    Mutex mutex;
    Watched waits;
    mutex.lock();
    std::thread thread([&] {
        waits.here();
        std::lock_guard guard(mutex);
    });
    waits.await_waiting();
    mutex.unlock();
    thread.join();
}

TEST(Mutex, SYN_3_fibers_and_threads_exclude_each_other) {
    constexpr int rounds = 5000;
    Mutex mutex;
    std::int64_t guarded = 0;
    auto work = [&](int index) {
        for (int i = 0; i < rounds; ++i) {
            if (index % 3 == 2) {
                // This wait times out often, which must not disturb the others.
                if (!mutex.try_lock_for(std::chrono::nanoseconds(i % 500))) continue;
                mutex.unlock();
                continue;
            }
            std::lock_guard guard(mutex);
            ++guarded;
            if (i % 64 == 0) yield();
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
    EXPECT_EQ(guarded, (2 + 6) * rounds);
}

TEST(Mutex, SYN_3_may_be_destroyed_by_the_last_holder) {
    // The shape of a counted object: whoever counts down to zero destroys the mutex.
    struct Shared {
        Mutex mutex;
        int references = 3;
    };
    for (int round = 0; round < 300; ++round) {
        auto* shared = new Shared;
        auto release = [shared] {
            shared->mutex.lock();
            bool last = --shared->references == 0;
            shared->mutex.unlock();
            if (last) delete shared;
        };
        std::thread one(release), two(release), three(release);
        one.join();
        two.join();
        three.join();
    }
}

TEST(MutexDeathTest, FIB_16d_unlocking_one_that_nobody_holds_is_an_error_in_every_build) {
    auto unlock_first = [] {
        Mutex mutex;
        mutex.unlock();
    };
    EXPECT_DEATH(unlock_first(), "unlock.. of a Mutex that nobody holds");
}

TEST(MutexDeathTest, FIB_16d_a_holder_that_locks_again_is_told) {
    auto lock_twice = [] {
        Mutex mutex;
        mutex.lock();
        mutex.lock();
    };
    EXPECT_DEATH(lock_twice(), "this thread locks a Mutex that it holds.*unlock it first");
    EXPECT_DEATH(on_workers(2, [&] { return spawn(lock_twice, {.name = "greedy"}).join(); }),
                 "fiber 'greedy' locks a Mutex that it holds.*unlock it first");
}

// Unlocks far down the stack, so on another page than the one where the mutex was locked.
[[gnu::noinline]] void call_far_below(int pages, void (*function)(Mutex&), Mutex& mutex) {
    char page[4096];
    asm volatile("" ::"r"(page) : "memory");
    if (pages == 0) return function(mutex);
    call_far_below(pages - 1, function, mutex);
    asm volatile("" ::"r"(page) : "memory");
}

TEST(Mutex, FIB_16d_a_holder_that_locks_again_is_told_wherever_it_is_on_its_stack) {
    on_workers(2, [] {
        Mutex mutex;
        call_far_below(8, [](Mutex& held) { held.lock(); }, mutex);
        Result<void> again = mutex.lock_cancellable();
        ASSERT_FALSE(again);
        EXPECT_EQ(again.error().kind(), ErrorKind::Misuse);
        // A wait with a deadline ends by itself, so it is no misuse.
        EXPECT_FALSE(mutex.try_lock_for(kShort));
        call_far_below(3, [](Mutex& held) { held.unlock(); }, mutex);
        EXPECT_TRUE(mutex.try_lock());
        mutex.unlock();
    });
}

TEST(Mutex, FIB_16d_one_to_whom_it_was_passed_on_is_told_too) {
    on_workers(1, [] {
        // The waiter is woken in vain until the mutex is handed over to it.
        Mutex mutex;
        mutex.lock();
        auto waiter = spawn([&] {
            mutex.lock();
            Result<void> again = mutex.lock_cancellable();
            mutex.unlock();
            return again;
        });
        for (unsigned round = 0; round < 2 * kMutexLossesMax; ++round) {
            yield();
            mutex.unlock();
            mutex.lock();
        }
        mutex.unlock();
        Result<void> again = waiter.join();
        ASSERT_FALSE(again);
        EXPECT_EQ(again.error().kind(), ErrorKind::Misuse);
        // Earlier holders leave no mark behind that would make another one a recursive locker.
        auto next = spawn([&] {
            std::lock_guard guard(mutex);
            yield();
        });
        yield();
        EXPECT_TRUE(mutex.lock_cancellable());
        mutex.unlock();
        EXPECT_TRUE(next.join());
    });
}

}  // namespace
}  // namespace weft
