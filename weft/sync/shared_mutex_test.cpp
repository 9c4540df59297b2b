#include "weft/sync/shared_mutex.h"

#include <gtest/gtest.h>

#include <mutex>
#include <shared_mutex>
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

TEST(SharedMutex, SYN_3_readers_share_and_a_writer_excludes) {
    SharedMutex mutex;
    EXPECT_TRUE(mutex.try_lock_shared());
    EXPECT_TRUE(mutex.try_lock_shared());
    EXPECT_FALSE(mutex.try_lock());
    mutex.unlock_shared();
    mutex.unlock_shared();
    EXPECT_TRUE(mutex.try_lock());
    EXPECT_FALSE(mutex.try_lock());
    EXPECT_FALSE(mutex.try_lock_shared());
    mutex.unlock();
}

TEST(SharedMutex, SYN_3_times_out_on_fibers_and_threads) {
    SharedMutex mutex;
    mutex.lock();
    auto time_out = [&] {
        EXPECT_FALSE(mutex.try_lock_for(kShort));
        EXPECT_FALSE(mutex.try_lock_shared_for(kShort));
        EXPECT_EQ(kind_of(mutex.lock_cancellable(Deadline::after(kShort))), ErrorKind::TimedOut);
        EXPECT_EQ(kind_of(mutex.lock_shared_cancellable(Deadline::after(kShort))),
                  ErrorKind::TimedOut);
    };
    time_out();
    on_workers(1, time_out);
    mutex.unlock();
    EXPECT_TRUE(mutex.try_lock_until(Deadline::after(kShort)));
    mutex.unlock();
}

TEST(SharedMutex, SYN_3_only_the_cancellable_locks_are_cancelled) {
    on_workers(1, [] {
        SharedMutex mutex;
        CancelSource source;
        mutex.lock();
        auto in_scope = [&](auto lock) {
            return spawn([&, lock] {
                CancelScope scope(source.token());
                return lock();
            });
        };
        auto writer = in_scope([&] { return mutex.lock_cancellable(); });
        auto reader = in_scope([&] { return mutex.lock_shared_cancellable(); });
        auto patient = in_scope([&] {
            std::shared_lock guard(mutex);
            return Result<void>();
        });
        settle();
        source.cancel();
        EXPECT_EQ(kind_of(writer.join()), ErrorKind::Cancelled);
        EXPECT_EQ(kind_of(reader.join()), ErrorKind::Cancelled);
        settle();
        EXPECT_FALSE(patient.is_done());
        mutex.unlock();
        EXPECT_TRUE(patient.join());
    });
}

TEST(SharedMutex, SYN_3_a_waiting_writer_is_not_starved_by_readers) {
    on_workers(1, [] {
        SharedMutex mutex;
        mutex.lock_shared();
        auto writer = spawn([&] { std::lock_guard guard(mutex); });
        settle();
        EXPECT_FALSE(mutex.try_lock_shared());
        auto reader = spawn([&] { std::shared_lock guard(mutex); });
        settle();
        EXPECT_FALSE(reader.is_done());
        mutex.unlock_shared();
        EXPECT_TRUE(writer.join());
        EXPECT_TRUE(reader.join());
    });
}

TEST(SharedMutex, SYN_3_a_writer_that_gives_up_lets_the_readers_behind_it_in) {
    on_workers(1, [] {
        SharedMutex mutex;
        mutex.lock_shared();
        auto writer = spawn([&] { EXPECT_FALSE(mutex.try_lock_for(kShort)); });
        settle();
        auto reader = spawn([&] { std::shared_lock guard(mutex); });
        EXPECT_TRUE(writer.join());
        EXPECT_TRUE(reader.join());
        mutex.unlock_shared();
    });
}

TEST(SharedMutex, SYN_3_neighbouring_readers_are_let_in_together) {
    on_workers(1, [] {
        SharedMutex mutex;
        mutex.lock();
        int inside = 0;
        int most = 0;
        std::vector<Future<void>> readers;
        for (int i = 0; i < 4; ++i) {
            readers.push_back(spawn([&] {
                std::shared_lock guard(mutex);
                most = std::max(most, ++inside);
                yield();
                yield();
                --inside;
            }));
        }
        settle();
        mutex.unlock();
        for (auto& reader : readers) EXPECT_TRUE(reader.join());
        EXPECT_EQ(most, 4);
    });
}

TEST(SharedMutex, SYN_3_fibers_and_threads_see_whole_values) {
    constexpr int rounds = 3000;
    SharedMutex mutex;
    int a = 0;
    int b = 0;
    auto work = [&](int index) {
        for (int i = 0; i < rounds; ++i) {
            if (index % 2 == 0) {
                std::shared_lock guard(mutex);
                ASSERT_EQ(a, b);
            } else {
                std::lock_guard guard(mutex);
                ++a;
                if (i % 100 == 0) yield();
                ++b;
            }
        }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) threads.emplace_back([&, i] { work(i); });
    on_workers(2, [&] {
        std::vector<Future<void>> fibers;
        for (int i = 0; i < 6; ++i) fibers.push_back(spawn([&, i] { work(i); }));
        for (auto& fiber : fibers) EXPECT_TRUE(fiber.join());
    });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(a, 4 * rounds);
    EXPECT_EQ(b, 4 * rounds);
}

TEST(SharedMutexDeathTest, FIB_16d_a_writer_that_locks_again_is_told) {
    auto lock_twice = [] {
        SharedMutex mutex;
        mutex.lock();
        mutex.lock();
    };
    auto read_after = [] {
        SharedMutex mutex;
        mutex.lock();
        mutex.lock_shared();
    };
    EXPECT_DEATH(lock_twice(), "this thread locks a SharedMutex that it holds for writing");
    EXPECT_DEATH(on_workers(1, [&] { return spawn(read_after, {.name = "reader"}).join(); }),
                 "fiber 'reader' locks a SharedMutex that it holds for writing");
}

}  // namespace
}  // namespace weft
