#include "weft/async/retry.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <stdexcept>

#include "weft/async/internal/async_test.h"
#include "weft/base/atomic.h"
#include "weft/testing/captured_log.h"

namespace weft::async {
namespace {

using namespace std::chrono_literals;
using async_test::everywhere;
using async_test::failure;
using async_test::kTooLong;
using async_test::text_of;
using async_test::wait_for_end;

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr RetryOptions kQuick{.attempts_max = 4, .delay_first = 1us};

TEST(Retry, SC_8d_it_calls_until_a_success) {
    everywhere([] {
        int calls = 0;
        Result<int> value = retry(kQuick, [&](Context& context) -> Result<int> {
            EXPECT_EQ(context, Context::current());
            if (++calls < 3) return failure("not yet");
            return calls;
        });
        EXPECT_EQ(value, 3);
    });
}

TEST(Retry, SC_8d_when_the_attempts_are_used_up_the_last_error_is_given) {
    everywhere([] {
        int calls = 0;
        Result<void> failed =
            retry(kQuick, [&]() -> Result<void> { return failure(std::to_string(++calls)); });
        EXPECT_EQ(text_of(failed), "4");
        Result<void> thrown = retry(kQuick, [&] {
            ++calls;
            throw std::runtime_error("thrown");
        });
        EXPECT_EQ(text_of(thrown), "thrown");
        EXPECT_EQ(calls, 8);
    });
}

TEST(Retry, SC_8d_an_error_that_is_not_worth_it_is_given_at_once) {
    everywhere([] {
        int calls = 0;
        auto misused = [&]() -> Result<void> {
            ++calls;
            return ErrorKind::Misuse;
        };
        EXPECT_EQ(retry(kQuick, misused).error().kind(), ErrorKind::Misuse);
        RetryOptions never = kQuick;
        never.is_worth = [](const Error&) { return false; };
        EXPECT_EQ(text_of(retry(never,
                                [&]() -> Result<void> {
                                    ++calls;
                                    return failure("final");
                                })),
                  "final");
        EXPECT_EQ(calls, 2);
    });
}

TEST(Retry, SC_8d_wrong_options_and_an_ended_context_call_nothing) {
    everywhere([] {
        auto fail = [] { ADD_FAILURE(); };
        EXPECT_EQ(text_of(retry({.attempts_max = 0}, fail)), kAttempts.text);
        EXPECT_EQ(text_of(retry(kQuick, std::function<void()>())), kNilJob.text);
        auto [context, source] = Context::current().with_cancel();
        source.cancel();
        CancelScope scope(context.token());
        EXPECT_EQ(text_of(retry(kQuick, fail)), "context canceled");
    });
}

TEST(Retry, SC_8d_the_end_of_the_context_ends_the_wait_and_the_error_is_logged) {
    testing::CapturedLog log;
    everywhere([] {
        auto [context, source] = Context::current().with_cancel();
        CancelScope scope(context.token());
        Result<void> ended = retry({.delay_first = kTooLong}, [&]() -> Result<void> {
            source.cancel();
            return failure("the last word");
        });
        EXPECT_EQ(text_of(ended), "context canceled");
    });
    EXPECT_TRUE(log.contains("the last word"));
}

TEST(Retry, NET_3b_an_attempt_that_timed_out_is_counted_and_not_logged) {
    testing::CapturedLog captured;
    Runtime runtime(async_test::workers(1));
    Result<void> outcome =
        runtime
            .spawn([]() -> Result<void> {
                auto limited = Context::current().with_timeout(async_test::kShort);
                CancelScope scope(limited.context.token());
                return retry({.attempts_max = 2, .delay_first = kTooLong, .jitter = 0},
                             [](Context&) -> Result<void> { return ErrorKind::TimedOut; });
            })
            .join();
    EXPECT_EQ(outcome.error().kind(), ErrorKind::TimedOut);
    EXPECT_EQ(runtime.counters().dropped_errors.value(), 1U);
    EXPECT_TRUE(captured.lines().empty());
}

TEST(Retry, SC_8d_delays_grow_up_to_a_limit) {
    RetryOptions options{.delay_first = 10ms, .growth = 3, .delay_max = 200ms, .jitter = 0};
    EXPECT_EQ(retry_delay(options, 1), 10ms);
    EXPECT_EQ(retry_delay(options, 2), 30ms);
    EXPECT_EQ(retry_delay(options, 3), 90ms);
    EXPECT_EQ(retry_delay(options, 4), 200ms);
    EXPECT_EQ(retry_delay(options, 1'000'000), 200ms);  // beyond what a double holds
}

TEST(Retry, SC_8d_jitter_takes_its_part_of_the_delay_by_chance) {
    RetryOptions options{.delay_first = 100ms, .jitter = 0.5};
    std::set<Nanoseconds> seen;
    for (int i = 0; i < 50; ++i) {
        Nanoseconds delay = retry_delay(options, 1);
        EXPECT_GE(delay, 50ms);
        EXPECT_LE(delay, 100ms);
        seen.insert(delay);
    }
    EXPECT_GT(seen.size(), 1u);
}

TEST(Hedge, SC_8e_a_quick_success_needs_no_second_attempt) {
    everywhere([] {
        Atomic<int> calls{0};
        Result<int> value = hedge({.delay = kTooLong}, [&] {
            calls.fetch_add(1, kRelaxed);
            return 1;
        });
        EXPECT_EQ(value, 1);
        EXPECT_EQ(calls.load(kRelaxed), 1);
    });
}

TEST(Hedge, SC_8e_a_slow_attempt_gets_a_rival_and_is_ended_by_it) {
    everywhere([] {
        Atomic<int> calls{0};
        Result<int> value = hedge({.delay = 1ms}, [&](Context& context) -> Result<int> {
            if (calls.fetch_add(1, kRelaxed) == 0) WEFT_TRY(wait_for_end(context));
            return 2;
        });
        EXPECT_EQ(value, 2);
        EXPECT_EQ(calls.load(kRelaxed), 2);
    });
}

TEST(Hedge, SC_8e_a_failed_attempt_is_followed_at_once) {
    testing::CapturedLog log;
    everywhere([] {
        Atomic<int> calls{0};
        Result<int> value = hedge({.delay = kTooLong, .attempts_max = 3}, [&]() -> Result<int> {
            int call = calls.fetch_add(1, kRelaxed);
            if (call < 2) return failure("early");
            return call;
        });
        EXPECT_EQ(value, 2);
    });
}

TEST(Hedge, SC_8e_when_all_fail_an_error_is_given) {
    testing::CapturedLog log;
    everywhere([] {
        auto failing = []() -> Result<int> { return failure("all"); };
        EXPECT_EQ(text_of(hedge({.delay = 1us, .attempts_max = 3}, failing)), "all");
        EXPECT_EQ(text_of(hedge({.delay = 1us, .attempts_max = 0}, failing)), kAttempts.text);
        EXPECT_EQ(text_of(hedge({.delay = 1us}, std::function<int()>())), kNilJob.text);
    });
}

TEST(Hedge, SC_8e_the_end_of_the_context_ends_it) {
    everywhere([] {
        auto [context, source] = Context::current().with_cancel();
        CancelScope scope(context.token());
        Atomic<int> calls{0};
        Result<void> ended = hedge({.delay = kTooLong}, [&](Context& own) {
            calls.fetch_add(1, kRelaxed);
            source.cancel();
            return wait_for_end(own);
        });
        EXPECT_EQ(ended.error().kind(), ErrorKind::Cancelled);
        EXPECT_EQ(calls.load(kRelaxed), 1);
    });
}

}  // namespace
}  // namespace weft::async
