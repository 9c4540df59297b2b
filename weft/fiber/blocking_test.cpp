#include "weft/fiber/blocking.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"
#include "weft/fiber/schedule/scheduler.h"
#include "weft/fiber/schedule/worker.h"
#include "weft/testing/scale.h"

namespace weft {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

template <class Body>
void in_runtime(const RuntimeOptions& options, Body body) {
    Result<void> result = run(body, options);
    EXPECT_TRUE(result) << result.error().message();
}

// A door that a thread waits at.
class Door {
public:
    void open() {
        open_.store(1, std::memory_order_release);
        env::futex_wake(open_.futex_address(), UINT32_MAX);
    }
    void pass() {
        while (open_.load(std::memory_order_acquire) == 0)
            env::futex_wait(open_.futex_address(), 0, kNeverNs);
    }

private:
    Atomic<std::uint32_t> open_{0};
};

BlockingPool& pool() { return this_worker()->scheduler().blocking(); }

// A process of its own; it exits with 0 when all is well.
[[noreturn]] void block_where_no_thread_can_be_had() {
    Result<void> result = run(
        []() -> Result<void> {
            // No room for another stack.
            rlimit before{};
            ::getrlimit(RLIMIT_AS, &before);
            rlimit none = before;
            none.rlim_cur = 1;
            ::setrlimit(RLIMIT_AS, &none);
            bool ran = false;
            Result<void> refused = blocking([&] { ran = true; });
            ::setrlimit(RLIMIT_AS, &before);
            return !ran && !refused && refused.error().kind() == ErrorKind::OutOfMemory
                       ? Result<void>()
                       : Result<void>(ErrorKind::Other);
        },
        {.workers = 1});
    std::_Exit(result ? 0 : 1);
}

TEST(Blocking, FIB_10_the_function_runs_on_a_thread_of_its_own) {
    in_runtime({.workers = 1}, []() -> Result<void> {
        auto worker = ::gettid();
        EXPECT_NE(WEFT_TRY(blocking([] { return ::gettid(); })), worker);
        EXPECT_EQ(::gettid(), worker);  // there is one worker
        return {};
    });
}

TEST(Blocking, FIB_10_results_of_all_kinds_come_back) {
    in_runtime({.workers = 2}, []() -> Result<void> {
        EXPECT_EQ(WEFT_TRY(blocking([] { return 42; })), 42);
        bool ran = false;
        WEFT_TRY(blocking([&] { ran = true; }));
        EXPECT_TRUE(ran);
        auto owned = WEFT_TRY(blocking([] { return std::make_unique<int>(7); }));
        EXPECT_EQ(*owned, 7);
        Result<int> failed = blocking([]() -> Result<int> { return ErrorKind::Refused; });
        EXPECT_EQ(failed.error().kind(), ErrorKind::Refused);
        return {};
    });
}

TEST(Blocking, FIB_10_what_it_throws_is_the_error) {
    in_runtime({.workers = 1}, []() -> Result<void> {
        Result<int> thrown = blocking([]() -> int { throw std::runtime_error("out of paper"); });
        EXPECT_EQ(thrown.error().kind(), ErrorKind::Exception);
        EXPECT_EQ(thrown.error().message(), "out of paper");
        EXPECT_THROW(thrown.error().rethrow(), std::runtime_error);
        return {};
    });
}

TEST(Blocking, FIB_10_a_plain_thread_runs_it_itself) {
    auto thread = ::gettid();
    EXPECT_EQ(blocking([] { return ::gettid(); }), thread);
    Result<int> thrown = blocking([]() -> int { throw 1; });
    EXPECT_EQ(thrown.error().kind(), ErrorKind::Exception);
}

TEST(Blocking, FIB_10_the_worker_goes_on_meanwhile) {
    in_runtime({.workers = 1}, []() -> Result<void> {
        Door door;
        auto blocked = spawn([&] { return blocking([&] { door.pass(); }); });
        bool ran = false;
        auto other = spawn([&] { ran = true; });
        WEFT_TRY(other.join());
        EXPECT_TRUE(ran);
        EXPECT_FALSE(blocked.is_done());
        door.open();
        return blocked.join();
    });
}

TEST(Blocking, FIB_10_threads_are_bounded_and_the_queue_wait_is_measured) {
    in_runtime({.workers = 1, .blocking_threads = 3}, []() -> Result<void> {
        Door door;
        Atomic<unsigned> inside{0};
        Atomic<unsigned> inside_max{0};
        std::vector<Future<void>> jobs;
        for (int i = 0; i < 10; ++i) {
            jobs.push_back(spawn([&] {
                return blocking([&] {
                    unsigned now = inside.fetch_add(1, std::memory_order_relaxed) + 1;
                    unsigned most = inside_max.load(std::memory_order_relaxed);
                    while (most < now &&
                           !inside_max.compare_exchange_weak(most, now, std::memory_order_relaxed,
                                                             std::memory_order_relaxed)) {}
                    door.pass();
                    inside.fetch_sub(1, std::memory_order_relaxed);
                });
            }));
        }
        while (pool().queued() != 7 || inside.load(std::memory_order_relaxed) != 3)
            WEFT_TRY(checkpoint());
        EXPECT_EQ(pool().threads(), 3U);
        Instant before = Clock::now();
        WEFT_TRY(weft::sleep_for(milliseconds(2)));  // so long the seven wait at least
        door.open();
        for (Future<void>& job : jobs) WEFT_TRY(job.join());
        EXPECT_EQ(inside_max.load(std::memory_order_relaxed), 3U);
        EXPECT_EQ(pool().counters().jobs.value(), 10U);
        EXPECT_EQ(pool().counters().threads_started.value(), 3U);
        EXPECT_GE(pool().counters().queue_wait_ns.value(), 7U * 2'000'000U);
        EXPECT_GE(Clock::now() - before, milliseconds(2));
        return {};
    });
}

TEST(Blocking, FIB_10b_the_environment_bounds_the_threads) {
    ASSERT_EQ(::setenv("WEFT_BLOCKING_THREADS", "2", 1), 0);
    RuntimeOptions options;
    ::unsetenv("WEFT_BLOCKING_THREADS");
    options.workers = 1;
    EXPECT_EQ(options.blocking_threads, 2U);
    in_runtime(options, []() -> Result<void> {
        Door door;
        Atomic<unsigned> inside{0};
        std::vector<Future<void>> jobs;
        for (int i = 0; i < 6; ++i) {
            jobs.push_back(spawn([&] {
                return blocking([&] {
                    inside.fetch_add(1, std::memory_order_relaxed);
                    door.pass();
                });
            }));
        }
        while (pool().queued() != 4 || inside.load(std::memory_order_relaxed) != 2)
            WEFT_TRY(checkpoint());
        // Also after a while: nobody else takes one up.
        WEFT_TRY(weft::sleep_for(milliseconds(5)));
        EXPECT_EQ(pool().threads(), 2U);
        EXPECT_EQ(pool().queued(), 4U);
        EXPECT_EQ(inside.load(std::memory_order_relaxed), 2U);
        door.open();
        for (Future<void>& job : jobs) WEFT_TRY(job.join());
        EXPECT_EQ(pool().counters().threads_started.value(), 2U);
        return {};
    });
}

TEST(Blocking, FIB_10_an_idle_thread_is_used_again) {
    in_runtime({.workers = 1}, []() -> Result<void> {
        for (int i = 0; i < 200; ++i) {
            WEFT_TRY(blocking([] {}));
            // The thread tells us before it is idle; a second one may be started in between.
            EXPECT_LE(pool().threads(), 64U);
        }
        EXPECT_LT(pool().counters().threads_started.value(), 200U);
        return {};
    });
}

TEST(Blocking, FIB_10_idle_threads_end_and_new_ones_take_their_place) {
    in_runtime({.workers = 1}, []() -> Result<void> {
        BlockingPool impatient(this_worker()->scheduler(), 2, milliseconds(1));
        for (int round = 0; round < 5; ++round) {
            BlockingJob job([](BlockingJob&) {});
            WEFT_TRY(impatient.run(job));
            while (impatient.threads() != 0) WEFT_TRY(checkpoint());
        }
        EXPECT_EQ(impatient.counters().threads_started.value(), 5U);
        EXPECT_EQ(impatient.counters().jobs.value(), 5U);
        return {};
    });
}

TEST(Blocking, FIB_10_after_its_end_the_pool_takes_nothing) {
    in_runtime({.workers = 1}, []() -> Result<void> {
        BlockingPool ended(this_worker()->scheduler(), 1);
        ended.stop();
        BlockingJob job([](BlockingJob&) {});
        Result<void> refused = ended.run(job);
        EXPECT_EQ(refused.error().kind(), ErrorKind::Closed);
        bool ran = false;
        ended.run_detached([&] { ran = true; });
        EXPECT_TRUE(ran);  // here
        return {};
    });
}

TEST(BlockingDeathTest, FIB_10_without_a_thread_it_is_an_error) {
    if (testing::kSanitizer) GTEST_SKIP() << "the sanitizer itself needs the memory";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(block_where_no_thread_can_be_had(), ::testing::ExitedWithCode(0), "");
}

TEST(Blocking, FIB_10_cancelled_in_the_queue_it_never_runs) {
    in_runtime({.workers = 1, .blocking_threads = 1}, []() -> Result<void> {
        Door door;
        auto first = spawn([&] { return blocking([&] { door.pass(); }); });
        while (pool().counters().jobs.value() != 1) WEFT_TRY(checkpoint());
        bool ran = false;
        CancelSource source;
        auto second = spawn([&] {
            CancelScope scope(source.token());
            return blocking([&] { ran = true; });
        });
        auto third = spawn([&] {
            return blocking([&] { ran = true; }, {.start_by = Deadline::after(milliseconds(50))});
        });
        while (pool().queued() != 2) WEFT_TRY(checkpoint());
        source.cancel();
        Result<void> cancelled = second.join();
        EXPECT_EQ(cancelled.error().kind(), ErrorKind::Cancelled);
        Result<void> late = third.join();
        EXPECT_EQ(late.error().kind(), ErrorKind::TimedOut);
        door.open();
        WEFT_TRY(first.join());
        EXPECT_FALSE(ran);
        EXPECT_EQ(pool().counters().withdrawn.value(), 2U);
        return {};
    });
}

TEST(Blocking, FIB_10_cancelled_before_the_call_it_is_not_queued) {
    in_runtime({.workers = 1}, []() -> Result<void> {
        CancelSource source;
        source.cancel();
        CancelScope scope(source.token());
        bool ran = false;
        Result<void> refused = blocking([&] { ran = true; });
        EXPECT_EQ(refused.error().kind(), ErrorKind::Cancelled);
        EXPECT_FALSE(ran);
        return {};
    });
}

TEST(Blocking, FIB_10_once_taken_up_it_is_awaited) {
    in_runtime({.workers = 1}, []() -> Result<void> {
        Door door;
        Door begun;
        CancelSource source;
        auto job = spawn([&]() -> Result<int> {
            CancelScope scope(source.token());
            int local = 1;  // the function works on this frame
            WEFT_TRY(blocking([&] {
                begun.open();
                door.pass();
                local = 2;
            }));
            return local;
        });
        yield();
        begun.pass();
        source.cancel();
        for (int i = 0; i < 100; ++i) yield();
        EXPECT_FALSE(job.is_done());
        door.open();
        EXPECT_EQ(WEFT_TRY(job.join()), 2);  // what ran counts
        return {};
    });
}

TEST(Blocking, FIB_10_the_function_carries_the_fibers_token) {
    in_runtime({.workers = 1}, []() -> Result<void> {
        CancelSource source;
        auto job = spawn([&] {
            CancelScope scope(source.token());
            return blocking([]() -> Result<void> {
                Waiter waiter(WaitReason::Other);  // a thread waits like a fiber does
                return waiter.to_result(waiter.wait());
            });
        });
        while (pool().counters().jobs.value() == 0) WEFT_TRY(checkpoint());
        source.cancel();
        Result<void> ended = job.join();
        EXPECT_EQ(ended.error().kind(), ErrorKind::Cancelled);
        return {};
    });
}

TEST(Blocking, FIB_10_shutdown_reaches_a_function_that_waits) {
    Runtime runtime({.workers = 1});
    Door begun;
    auto job = runtime.spawn([&] {
        return blocking([&]() -> Result<void> {
            begun.open();
            Waiter waiter(WaitReason::Other);
            return waiter.to_result(waiter.wait());
        });
    });
    begun.pass();
    EXPECT_TRUE(runtime.shutdown(Deadline::after(seconds(10))));
    EXPECT_EQ(job.join().error().kind(), ErrorKind::Cancelled);
}

TEST(Blocking, FIB_10_what_nobody_waits_for_still_runs) {
    Atomic<int> ran{0};
    in_runtime({.workers = 1, .blocking_threads = 1}, [&]() -> Result<void> {
        for (int i = 0; i < 10; ++i)
            pool().run_detached([&] { ran.fetch_add(1, std::memory_order_relaxed); });
        return {};
    });
    EXPECT_EQ(ran.load(std::memory_order_relaxed), 10);
}

TEST(Blocking, FIB_10_many_fibers_share_few_threads) {
    in_runtime({.workers = 2, .blocking_threads = 4}, []() -> Result<void> {
        std::vector<Future<int>> jobs;
        for (int i = 0; i < 500; ++i)
            jobs.push_back(spawn([i] { return blocking([i] { return i; }); }));
        int sum = 0;
        for (Future<int>& job : jobs) sum += WEFT_TRY(job.join());
        EXPECT_EQ(sum, 499 * 500 / 2);
        EXPECT_LE(pool().counters().threads_started.value(), 4U);
        return {};
    });
}

TEST(Blocking, FIB_10_cancelling_at_any_moment_is_safe) {
    in_runtime({.workers = 2, .blocking_threads = 2}, []() -> Result<void> {
        unsigned ran = 0;
        unsigned cancelled = 0;
        for (int round = 0; round < 500; ++round) {
            CancelSource source;
            auto job = spawn([&] {
                CancelScope scope(source.token());
                return blocking([] { return 1; });
            });
            for (int i = round % 16; i > 0; --i) yield();
            source.cancel();
            Result<int> result = job.join();
            EXPECT_TRUE(result || result.error().kind() == ErrorKind::Cancelled);
            ++(result ? ran : cancelled);
        }
        EXPECT_EQ(ran + cancelled, 500U);
        return {};
    });
}

}  // namespace
}  // namespace weft
