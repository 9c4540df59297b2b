#include "weft/async/periodic.h"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>

#include "weft/async/internal/async_test.h"
#include "weft/async/task.h"
#include "weft/base/atomic.h"
#include "weft/fiber/fiber.h"
#include "weft/sync/channel.h"
#include "weft/sync/event.h"
#include "weft/testing/captured_log.h"

namespace weft::async {
namespace {

using namespace async_test;
using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kTick{1};

TEST(Periodic, SC_4a_every_checks_the_interval_then_nil_then_the_context) {
    everywhere([] {
        std::function<void(Context&)> empty;
        auto [ended, source] = Context::current().with_cancel();
        source.cancel();
        auto job = [] { ADD_FAILURE(); };
        for (auto interval : {0ms, -1ms}) {
            EXPECT_EQ(text_of(every(ended, interval, empty)), "async: interval must be positive");
            EXPECT_EQ(text_of(start_every(ended, interval, empty)),
                      "async: interval must be positive");
        }
        EXPECT_EQ(text_of(every(ended, 1s, empty)), "async: job function is nil");
        EXPECT_EQ(text_of(start_every(ended, 1s, empty)), "async: job function is nil");
        EXPECT_EQ(text_of(every(ended, 1s, job)), "context canceled");
        EXPECT_EQ(text_of(start_every(ended, 1s, job)), "context canceled");
    });
}

TEST(Periodic, SC_4b_every_runs_in_the_caller_first_after_one_interval) {
    everywhere([] {
        WaitCell* caller = &current_cell();
        Instant begun = Clock::now();
        int runs = 0;
        Result<void> ended = every(Context::current(), kTick, [&](Context&) -> Result<void> {
            EXPECT_EQ(&current_cell(), caller);
            EXPECT_GE(Clock::now() - begun, kTick * (runs + 1));
            if (++runs == 3) return failure("enough");
            return {};
        });
        EXPECT_EQ(text_of(ended), "enough");
        EXPECT_EQ(runs, 3);
    });
}

TEST(Periodic, SC_4b_a_slow_run_delays_the_next) {
    everywhere([] {
        Instant ended{};
        int runs = 0;
        Result<void> outcome = every(Context::current(), kTick, [&](Context&) -> Result<void> {
            if (runs != 0) {
                EXPECT_GE(Clock::now() - ended, kTick);
            }
            EXPECT_TRUE(weft::sleep_for(2 * kTick));
            ended = Clock::now();
            if (++runs == 3) return failure("enough");
            return {};
        });
        EXPECT_EQ(text_of(outcome), "enough");
    });
}

TEST(Periodic, SC_4b_the_context_is_the_ambient_one_of_a_run) {
    everywhere([] {
        auto [parent, source] = Context::current().with_cancel();
        EXPECT_EQ(text_of(every(parent, kTick,
                                [&](Context& context) -> Result<void> {
                                    EXPECT_EQ(context, Context::current());
                                    EXPECT_EQ(context, parent);
                                    return failure("enough");
                                })),
                  "enough");
    });
}

TEST(Periodic, SC_4c_the_end_of_the_context_stops_every_between_runs) {
    everywhere([] {
        auto [context, source] = Context::current().with_cancel();
        Event entered;
        auto loop = async::run_task([&] {
            entered.set();
            return every(context, kTooLong, [] { ADD_FAILURE(); });
        });
        ASSERT_TRUE(loop);
        EXPECT_TRUE(entered.wait());
        source.cancel();
        EXPECT_EQ(text_of(loop->wait()), "context canceled");
    });
}

TEST(Periodic, SC_4c_the_end_of_the_context_during_a_run_stops_every_after_it) {
    everywhere([] {
        auto [context, source] = Context::current().with_cancel();
        int runs = 0;
        EXPECT_EQ(text_of(every(context, kTick,
                                [&] {
                                    ++runs;
                                    source.cancel();
                                })),
                  "context canceled");
        EXPECT_EQ(runs, 1);
    });
}

TEST(Periodic, SC_4c_a_deadline_stops_every) {
    everywhere([] {
        Context context = Context::current().with_timeout(5 * kTick).context;
        int runs = 0;
        EXPECT_EQ(text_of(every(context, kTick, [&] { ++runs; })), "context deadline exceeded");
        EXPECT_LE(runs, 5);
    });
}

TEST(Periodic, SC_4c_every_honours_the_ambient_context_as_well) {
    everywhere([] {
        auto [ambient, source] = Context::current().with_cancel();
        auto loop = run_with_context(
            ambient, [] { return every(Context::background(), kTooLong, [] { ADD_FAILURE(); }); });
        ASSERT_TRUE(loop);
        source.cancel();
        EXPECT_EQ(text_of(loop->wait()), "context canceled");
    });
}

TEST(Periodic, SC_4c_the_error_of_a_job_is_unchanged) {
    everywhere([] {
        auto [context, source] = Context::current().with_cancel();
        EXPECT_EQ(text_of(every(context, kTick,
                                [&](Context&) -> Result<void> {
                                    source.cancel();
                                    return failure("periodic failed");
                                })),
                  "periodic failed");
    });
}

TEST(Periodic, SC_4d_stop_before_the_first_run) {
    everywhere([] {
        auto handle = start_every(Context::current(), kTooLong, [] { ADD_FAILURE(); });
        ASSERT_TRUE(handle);
        handle->stop();
        EXPECT_TRUE(handle->wait());
    });
}

TEST(Periodic, SC_4d_stop_between_runs) {
    everywhere([] {
        Atomic<int> runs{0};
        Event ran;
        auto handle = start_every(Context::current(), kTick, [&] {
            runs.fetch_add(1, std::memory_order_relaxed);
            ran.set();
        });
        ASSERT_TRUE(handle);
        EXPECT_TRUE(ran.wait());
        handle->stop();
        EXPECT_TRUE(handle->wait());
        int at_end = runs.load(std::memory_order_relaxed);
        EXPECT_TRUE(weft::sleep_for(3 * kTick));
        EXPECT_EQ(runs.load(std::memory_order_relaxed), at_end);
    });
}

TEST(Periodic, SC_4d_wait_waits_for_a_run_under_way) {
    everywhere([] {
        Event entered;
        Event release;
        bool finished = false;
        auto handle = start_every(Context::current(), kTick, [&](Context& context) {
            entered.set();
            ignore_context_until(release);
            EXPECT_TRUE(context.is_done());
            finished = true;
        });
        ASSERT_TRUE(handle);
        EXPECT_TRUE(entered.wait());
        handle->stop();
        release.set();
        EXPECT_TRUE(handle->wait());
        EXPECT_TRUE(finished);
    });
}

TEST(Periodic, SC_4d_runs_never_overlap) {
    everywhere([] {
        Atomic<int> active{0};
        Channel<int> entered(0);
        auto handle = start_every(Context::current(), kTick, [&]() -> Result<void> {
            EXPECT_EQ(active.fetch_add(1, std::memory_order_relaxed), 0);
            Result<void> sent = entered.send(1);
            active.fetch_sub(1, std::memory_order_relaxed);
            return sent;
        });
        ASSERT_TRUE(handle);
        for (int i = 0; i < 5; ++i) EXPECT_TRUE(entered.receive());
        handle->stop();
        entered.close();
        static_cast<void>(handle->wait());
    });
}

TEST(Periodic, SC_4d_wait_gives_the_error_of_the_job) {
    everywhere([] {
        auto handle = start_every(Context::current(), kTick, [](Context&) -> Result<void> {
            return failure("periodic handle failed");
        });
        ASSERT_TRUE(handle);
        EXPECT_EQ(text_of(handle->wait()), "periodic handle failed");
    });
}

TEST(Periodic, SC_4d_an_error_of_the_job_counts_after_stop_whatever_its_text) {
    everywhere([] {
        Event entered;
        auto handle = start_every(Context::current(), kTick, [&](Context& context) -> Result<void> {
            entered.set();
            static_cast<void>(wait_for_end(context));
            return context.check();
        });
        ASSERT_TRUE(handle);
        EXPECT_TRUE(entered.wait());
        handle->stop();
        EXPECT_EQ(text_of(handle->wait()), "context canceled");
    });
}

TEST(Periodic, SC_4d_the_end_of_the_parent_counts_unless_stop_came_first) {
    everywhere([] {
        auto start = [](const Context& parent) {
            return *start_every(parent, kTooLong, [] { ADD_FAILURE(); });
        };
        auto [parent, source] = Context::current().with_cancel();
        PeriodicHandle alone = start(parent);
        PeriodicHandle stopped_before = start(parent);
        PeriodicHandle stopped_after = start(parent);
        stopped_before.stop();
        source.cancel();
        stopped_after.stop();
        EXPECT_EQ(text_of(alone.wait()), "context canceled");
        EXPECT_TRUE(stopped_before.wait());
        EXPECT_EQ(text_of(stopped_after.wait()), "context canceled");
    });
}

TEST(Periodic, SC_4d_stop_is_idempotent_and_wait_one_shot) {
    everywhere([] {
        auto handle = start_every(Context::current(), kTooLong, [] {});
        ASSERT_TRUE(handle);
        handle->stop();
        handle->stop();
        EXPECT_TRUE(handle->wait());
        EXPECT_EQ(text_of(handle->wait()), "async: periodic wait was already called");
        handle->stop();
    });
}

TEST(Periodic, SC_6a_what_a_job_throws_is_the_error) {
    everywhere([] {
        auto job = [](Context&) { throw std::runtime_error("thrown"); };
        EXPECT_EQ(text_of(every(Context::current(), kTick, job)), "thrown");
        auto handle = start_every(Context::current(), kTick, job);
        ASSERT_TRUE(handle);
        EXPECT_EQ(text_of(handle->wait()), "thrown");
    });
}

TEST(Periodic, SC_6b_a_dropped_handle_stops_its_job_and_reports_its_error) {
    testing::CapturedLog log;
    Runtime runtime(workers(1));
    {
        Event entered;
        auto handle =
            start_every(Context::background(runtime), kTick, [&](Context& context) -> Result<void> {
                entered.set();
                static_cast<void>(wait_for_end(context));
                return failure("unseen");
            });
        ASSERT_TRUE(handle);
        EXPECT_TRUE(entered.wait());
        auto quiet = start_every(Context::background(runtime), kTooLong, [] {});
        ASSERT_TRUE(quiet);
    }
    runtime.run();
    EXPECT_EQ(runtime.counters().dropped_errors.value(), 1U);
    EXPECT_TRUE(log.contains("unseen"));
}

}  // namespace
}  // namespace weft::async
