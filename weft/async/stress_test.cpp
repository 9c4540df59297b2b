// All building blocks at once on real threads, cancelled at any moment; mainly for the thread
// sanitizer. Every accepted job must end once, and every wait must have one outcome.
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "weft/async/context.h"
#include "weft/async/group.h"
#include "weft/async/internal/async_test.h"
#include "weft/async/periodic.h"
#include "weft/async/pool.h"
#include "weft/async/task.h"
#include "weft/async/timeout.h"
#include "weft/base/atomic.h"
#include "weft/base/env.h"
#include "weft/fiber/fiber.h"
#include "weft/testing/captured_log.h"
#include "weft/testing/scale.h"

namespace weft::async {
namespace {

using namespace async_test;

struct Tally {
    Atomic<int> accepted{0};
    Atomic<int> ended{0};

    // A job that does one of the things that jobs do.
    auto job() {
        return [this](Context& context) -> Result<void> {
            Result<void> outcome;
            switch (env::random(RandomStream::Workload) % 4) {
            case 0: break;
            case 1: yield(); break;
            case 2: outcome = wait_for_end(context); break;
            case 3: outcome = failure("one of many"); break;
            }
            ended.fetch_add(1, std::memory_order_relaxed);
            return outcome;
        };
    }
    void count(const Result<void>& started) {
        if (started) accepted.fetch_add(1, std::memory_order_relaxed);
    }
};

// One of each building block below a context that another fiber cancels at some moment.
void round(Tally& tally) {
    auto [context, source] = Context::current().with_cancel();
    auto canceller = async::run_task([&] {
        for (auto turns = env::random(RandomStream::Workload) % 8; turns != 0; --turns) yield();
        source.cancel();
    });
    Group group(context);
    for (int i = 0; i < 3; ++i) tally.count(group.go(tally.job()));
    Pool pool = *Pool::create(context, {.workers = 1, .queue_size = 1});
    for (int i = 0; i < 3; ++i) tally.count(pool.try_submit(tally.job()));
    tally.count(pool.submit(context, tally.job()));
    auto task = run_with_context(context, tally.job());
    if (task) tally.count({});
    auto periodic = start_every(context, std::chrono::microseconds(10), [] { yield(); });
    auto counted_at_start = [&, job = tally.job()](Context& mine) mutable {
        tally.count({});
        return job(mine);
    };
    static_cast<void>(
        with_timeout_context(context, std::chrono::microseconds(50), counted_at_start));
    static_cast<void>(group.wait());
    static_cast<void>(pool.close());
    if (task) static_cast<void>(task->wait());
    if (periodic) static_cast<void>(periodic->wait());
    static_cast<void>(canceller->wait());
}

TEST(AsyncStress, SC_6b_every_accepted_job_ends_once_whatever_is_cancelled) {
    testing::CapturedLog log;  // of errors that are not the first
    Tally tally;
    constexpr std::size_t kRounds = testing::repeats(2000);
    on_workers(2, [&] {
        Group rounds;
        for (int fiber = 0; fiber < 4; ++fiber) {
            ASSERT_TRUE(rounds.go([&] {
                for (auto left = kRounds; left != 0; --left) round(tally);
            }));
        }
        EXPECT_TRUE(rounds.wait());
    });
    EXPECT_EQ(tally.accepted.load(std::memory_order_relaxed),
              tally.ended.load(std::memory_order_relaxed));
    // At least the group's jobs were accepted in every round of the four fibers.
    EXPECT_GE(tally.accepted.load(std::memory_order_relaxed), static_cast<int>(4 * 3 * kRounds));
}

// Some tasks are waited for, some are dropped; at some moment their context is cancelled.
void batch_of_tasks(Tally& tally, int count) {
    auto [context, source] = Context::current().with_cancel();
    auto canceller = async::run_task([&] {
        for (auto turns = env::random(RandomStream::Workload) % 32; turns != 0; --turns) yield();
        source.cancel();
    });
    std::vector<Task<void>> tasks;
    for (int i = 0; i < count; ++i) {
        auto task = run_with_context(context, tally.job());
        if (!task) continue;
        tally.count({});
        if (env::random(RandomStream::Workload) % 8 != 0) tasks.push_back(std::move(*task));
    }
    for (Task<void>& task : tasks) static_cast<void>(task.wait());
    static_cast<void>(canceller->wait());
}

// Many in all, but few at the same time, so that the thread sanitizer can track them all.
TEST(AsyncStress, SC_2b_each_of_100000_tasks_ends_once_whatever_is_cancelled) {
    testing::CapturedLog log;  // of tasks that were dropped
    Tally tally;
    constexpr int kTasks = 100'000;
    constexpr int kFibers = 4;
    constexpr int kBatch = 25;
    on_workers(2, [&] {
        Group batches;
        for (int fiber = 0; fiber < kFibers; ++fiber) {
            ASSERT_TRUE(batches.go([&] {
                for (int left = kTasks / kFibers; left > 0; left -= kBatch)
                    batch_of_tasks(tally, kBatch);
            }));
        }
        EXPECT_TRUE(batches.wait());
    });
    EXPECT_EQ(tally.accepted.load(std::memory_order_relaxed), kTasks);
    EXPECT_EQ(tally.ended.load(std::memory_order_relaxed), kTasks);
}

}  // namespace
}  // namespace weft::async
