#include "weft/async/timeout.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

#include "weft/async/group.h"
#include "weft/async/internal/async_test.h"
#include "weft/async/task.h"
#include "weft/base/atomic.h"
#include "weft/fiber/fiber.h"
#include "weft/sync/event.h"
#include "weft/testing/captured_log.h"
#include "weft/testing/eventually.h"

namespace weft::async {
namespace {

using namespace async_test;
using namespace std::chrono_literals;

// Computes until the deadline has passed, without checking its context.
void pass(Deadline deadline) {
    while (!deadline.expired(Clock::now())) {}
}

TEST(Timeout, SC_5a_a_job_in_time_succeeds) {
    everywhere([] {
        int seen = 0;
        EXPECT_TRUE(with_timeout(kTooLong, [&](Context& context) {
            EXPECT_EQ(context, Context::current());
            seen = 7;
        }));
        EXPECT_EQ(seen, 7);
    });
}

TEST(Timeout, SC_5a_the_error_of_a_job_in_time_is_unchanged) {
    everywhere([] {
        for (const char* text : {"job failed", "context deadline exceeded", "async: timeout"}) {
            EXPECT_EQ(text_of(with_timeout(
                          kTooLong, [&](Context&) -> Result<void> { return failure(text); })),
                      text);
        }
    });
}

TEST(Timeout, SC_5a_refuses_a_nil_job_before_all_else) {
    everywhere([] {
        std::function<void(Context&)> empty;
        auto [ended, source] = Context::current().with_cancel();
        source.cancel();
        EXPECT_EQ(text_of(with_timeout(1s, empty)), "async: job function is nil");
        EXPECT_EQ(text_of(with_timeout_context(ended, 0s, empty)), "async: job function is nil");
    });
}

TEST(Timeout, SC_5a_the_context_ends_with_the_call) {
    everywhere([] {
        Context seen;
        EXPECT_TRUE(with_timeout(kTooLong, [&](Context& context) { seen = context; }));
        EXPECT_EQ(text_of(seen.check()), "context canceled");
    });
}

TEST(Timeout, SC_5b_a_job_that_heeds_its_context_times_out) {
    everywhere([] {
        EXPECT_EQ(text_of(with_timeout(kShort, wait_for_end)), "async: timeout");
        EXPECT_EQ(with_timeout(kShort, wait_for_end).error().kind(), ErrorKind::TimedOut);
    });
}

TEST(Timeout, SC_5b_the_call_returns_while_the_job_goes_on) {
    everywhere([] {
        auto release = std::make_shared<Event>();
        EXPECT_EQ(text_of(with_timeout(kShort, [release] { ignore_context_until(*release); })),
                  "async: timeout");
        release->set();
    });
}

TEST(Timeout, SC_5b_a_job_that_ends_after_its_deadline_has_timed_out) {
    // It never waits, so on one worker its result is stored before the timer is checked.
    on_workers(1, [] {
        for (bool fails : {false, true}) {
            EXPECT_EQ(text_of(with_timeout(kShort,
                                           [&](Context& context) -> Result<void> {
                                               pass(context.deadline());
                                               if (fails) return failure("too late");
                                               return {};
                                           })),
                      "async: timeout");
        }
    });
}

TEST(Timeout, SC_5b_an_own_deadline_before_the_parents_is_a_timeout) {
    everywhere([] {
        Context parent = Context::current().with_timeout(kTooLong).context;
        EXPECT_EQ(text_of(with_timeout_context(parent, kShort, wait_for_end)), "async: timeout");
    });
}

TEST(Timeout, SC_5c_a_deadline_of_the_parent_that_comes_first_is_the_parents_error) {
    everywhere([] {
        Context parent = Context::current().with_timeout(kShort).context;
        EXPECT_EQ(text_of(with_timeout_context(
                      parent, kTooLong, [](Context& context) { return wait_for_end(context); })),
                  "context deadline exceeded");
    });
}

TEST(Timeout, SC_5c_a_result_after_the_parents_deadline_is_the_parents_error) {
    testing::CapturedLog log;
    // It never waits, so on one worker its result is stored before the timer is checked.
    on_workers(1, [] {
        for (bool fails : {false, true}) {
            Context parent = Context::current().with_timeout(kShort).context;
            EXPECT_EQ(text_of(with_timeout_context(parent, kTooLong,
                                                   [&](Context& context) -> Result<int> {
                                                       pass(context.deadline());
                                                       if (fails) return failure("not seen");
                                                       return 1;
                                                   })),
                      "context deadline exceeded");
        }
    });
    EXPECT_TRUE(log.contains("not seen"));
}

TEST(Timeout, SC_5c_a_result_after_the_parents_cancellation_is_the_parents_error) {
    on_workers(1, [] {
        auto [parent, source] = Context::current().with_cancel();
        EXPECT_EQ(text_of(with_timeout_context(parent, kTooLong,
                                               [&source] {
                                                   source.cancel();
                                                   return 1;
                                               })),
                  "context canceled");
    });
}

TEST(Timeout, SC_5c_the_end_of_the_parent_is_the_parents_error) {
    everywhere([] {
        auto [parent, source] = Context::current().with_cancel();
        Event started;
        auto caller = async::run_task([&] {
            return with_timeout_context(parent, kTooLong, [&](Context& context) {
                started.set();
                return wait_for_end(context);
            });
        });
        ASSERT_TRUE(caller);
        EXPECT_TRUE(started.wait());
        source.cancel();
        EXPECT_EQ(text_of(caller->wait()), "context canceled");
    });
}

TEST(Timeout, SC_5c_the_end_of_the_callers_context_ends_the_call) {
    everywhere([] {
        auto [ambient, source] = Context::current().with_cancel();
        Context elsewhere = Context::current();
        Event started;
        auto caller = run_with_context(ambient, [&] {
            return with_timeout_context(elsewhere, kTooLong, [&](Context& context) {
                started.set();
                return wait_for_end(context);
            });
        });
        ASSERT_TRUE(caller);
        EXPECT_TRUE(started.wait());
        source.cancel();
        EXPECT_EQ(text_of(caller->wait()), "context canceled");
    });
}

TEST(Timeout, SC_5d_zero_and_past_timeouts_do_not_start_the_job) {
    everywhere([] {
        for (auto timeout : {0ms, -1ms})
            EXPECT_EQ(text_of(with_timeout(timeout, [] { ADD_FAILURE(); })), "async: timeout");
    });
}

TEST(Timeout, SC_5d_an_ended_parent_does_not_start_the_job) {
    everywhere([] {
        auto [cancelled, source] = Context::current().with_cancel();
        source.cancel();
        Context expired = Context::current().with_timeout(-1ms).context;
        for (auto timeout : {1000ms, 0ms}) {
            EXPECT_EQ(text_of(with_timeout_context(cancelled, timeout, [] { ADD_FAILURE(); })),
                      "context canceled");
            EXPECT_EQ(text_of(with_timeout_context(expired, timeout, [] { ADD_FAILURE(); })),
                      "context deadline exceeded");
        }
    });
}

TEST(Timeout, SC_5e_the_runtime_waits_for_a_job_that_goes_on_and_reports_its_end) {
    testing::CapturedLog log;
    Runtime runtime(workers(1));
    auto release = std::make_shared<Event>();
    Atomic<bool> ended{false};
    EXPECT_EQ(text_of(with_timeout_context(Context::background(runtime), kShort,
                                           [release, &ended]() -> Result<void> {
                                               ignore_context_until(*release);
                                               ended.store(true, std::memory_order_relaxed);
                                               return failure("late error");
                                           })),
              "async: timeout");
    EXPECT_FALSE(ended.load(std::memory_order_relaxed));
    release->set();
    runtime.run();
    EXPECT_TRUE(ended.load(std::memory_order_relaxed));
    EXPECT_EQ(runtime.counters().late_outcomes.value(), 1U);
    EXPECT_TRUE(log.contains("late error"));
}

TEST(Timeout, SC_5e_a_job_that_heeds_its_context_late_is_counted_but_not_logged) {
    testing::CapturedLog log;
    Runtime runtime(workers(1));
    auto returned = std::make_shared<Event>();
    EXPECT_EQ(text_of(with_timeout_context(Context::background(runtime), kShort,
                                           [returned](Context& context) -> Result<void> {
                                               ignore_context_until(*returned);
                                               return context.check();
                                           })),
              "async: timeout");
    returned->set();
    runtime.run();
    EXPECT_EQ(runtime.counters().late_outcomes.value(), 1U);
    EXPECT_TRUE(log.lines().empty());
}

TEST(Timeout, SC_6a_what_a_job_throws_is_the_error) {
    everywhere([] {
        EXPECT_EQ(
            text_of(with_timeout(kTooLong, [](Context&) { throw std::runtime_error("thrown"); })),
            "thrown");
    });
}

TEST(Timeout, SC_5b_many_at_once_end_each_as_they_should) {
    on_workers(2, [] {
        Group group;
        Atomic<int> in_time{0};
        Atomic<int> timed_out{0};
        for (int i = 0; i < 500; ++i) {
            ASSERT_TRUE(group.go([&, i] {
                bool slow = i % 2 == 1;
                Result<void> outcome = with_timeout(
                    slow ? std::chrono::nanoseconds(kShort) : std::chrono::nanoseconds(kTooLong),
                    [slow](Context& context) -> Result<void> {
                        if (slow) return wait_for_end(context);
                        return {};
                    });
                auto& count = outcome ? in_time : timed_out;
                if (!outcome) {
                    EXPECT_EQ(text_of(outcome), "async: timeout");
                }
                count.fetch_add(1, std::memory_order_relaxed);
            }));
        }
        EXPECT_TRUE(group.wait());
        EXPECT_EQ(in_time.load(std::memory_order_relaxed), 250);
        EXPECT_EQ(timed_out.load(std::memory_order_relaxed), 250);
    });
}

}  // namespace
}  // namespace weft::async
