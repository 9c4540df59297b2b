#include "weft/async/combine.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "weft/async/internal/async_test.h"
#include "weft/base/atomic.h"
#include "weft/fiber/runtime.h"
#include "weft/testing/captured_log.h"

namespace weft::async {
namespace {

using async_test::everywhere;
using async_test::failure;
using async_test::text_of;
using async_test::wait_for_end;

Result<int> fails_with(std::string_view text) { return failure(text); }
Result<int> waits(Context& context) {
    WEFT_TRY(wait_for_end(context));
    return 0;
}
std::vector<Task<int>> tasks_of(std::vector<std::function<Result<int>(Context&)>> functions) {
    std::vector<Task<int>> tasks;
    for (auto& function : functions) tasks.push_back(*async::run_task(std::move(function)));
    return tasks;
}

TEST(Any, SC_8a_the_first_success_wins_and_the_others_end) {
    testing::CapturedLog log;
    everywhere([] {
        Atomic<bool> heeded{false};
        Result<int> winner = any([] { return fails_with("first"); },
                                 [&](Context& context) -> Result<int> {
                                     Result<int> ended = waits(context);
                                     heeded.store(true, std::memory_order_relaxed);
                                     return ended;
                                 },
                                 [] { return 3; });
        EXPECT_EQ(winner, 3);
        EXPECT_TRUE(heeded.load(std::memory_order_relaxed));  // all were waited for
    });
    EXPECT_TRUE(log.contains("first"));  // SC-6: not returned, so logged
}

TEST(Any, SC_8a_without_a_success_the_first_error_is_given) {
    testing::CapturedLog log;
    everywhere([] {
        EXPECT_EQ(text_of(any([] { return fails_with("only"); })), "only");
        Result<int> thrown = any([]() -> int { throw std::runtime_error("thrown"); });
        EXPECT_EQ(thrown.error().kind(), ErrorKind::Exception);
        Result<int> both = any([] { return fails_with("one"); }, [] { return fails_with("two"); });
        EXPECT_TRUE(text_of(both) == "one" || text_of(both) == "two");
        EXPECT_EQ(text_of(any(std::function<int()>())), kNilJob.text);
    });
    EXPECT_TRUE(log.contains("one") || log.contains("two"));
}

TEST(Any, SC_8a_a_function_that_throws_when_it_is_moved_is_no_job) {
    testing::CapturedLog log;
    everywhere([] {
        async_test::ThrowsOnCopy job;
        EXPECT_THROW(static_cast<void>(any([] { return 1; }, job)), std::runtime_error);
    });
}

TEST(Any, SC_8a_it_takes_tasks_that_run) {
    testing::CapturedLog log;
    everywhere([] {
        EXPECT_EQ(any(tasks_of({[](Context&) { return fails_with("no"); }, waits,
                                [](Context&) { return Result<int>(5); }})),
                  5);
        EXPECT_EQ(text_of(any(std::vector<Task<int>>())), kNoJobs.text);
    });
}

TEST(Race, SC_8b_the_first_that_ends_wins_also_with_an_error) {
    everywhere([] {
        EXPECT_EQ(race(waits, [](Context&) { return 1; }), 1);
        EXPECT_EQ(text_of(race(waits, [](Context&) { return fails_with("fast"); })), "fast");
        Result<void> nothing = race([](Context& context) { return wait_for_end(context); }, [] {});
        EXPECT_TRUE(nothing);
        auto moved = race([] { return std::make_unique<int>(9); });
        EXPECT_EQ(**moved, 9);
    });
}

TEST(Race, SC_8b_it_takes_tasks_that_run) {
    everywhere([] {
        EXPECT_EQ(text_of(race(tasks_of({waits, [](Context&) { return fails_with("fast"); }}))),
                  "fast");
        EXPECT_EQ(text_of(race(std::vector<Task<int>>())), kNoJobs.text);
    });
}

TEST(Race, SC_8b_the_end_of_the_context_ends_all) {
    everywhere([] {
        auto [context, source] = Context::current().with_cancel();
        CancelScope scope(context.token());
        Result<int> ended = race(waits, waits, [&](Context& own) {
            source.cancel();
            return waits(own);
        });
        EXPECT_EQ(ended.error().kind(), ErrorKind::Cancelled);
    });
}

TEST(Race, SC_6b_the_errors_of_losers_are_logged_and_counted) {
    testing::CapturedLog log;
    Runtime runtime({.workers = 2});
    Result<int> winner = runtime
                             .spawn([] {
                                 return race([] { return 1; },
                                             [](Context& context) -> Result<int> {
                                                 static_cast<void>(wait_for_end(context));
                                                 return failure("lost for another reason");
                                             });
                             })
                             .join();
    EXPECT_EQ(winner, 1);
    runtime.run();
    EXPECT_TRUE(log.contains("lost for another reason"));
    EXPECT_EQ(runtime.counters().dropped_errors.value(), 1U);
}

TEST(AllSettled, SC_8c_every_outcome_is_given_and_nobody_is_cancelled) {
    everywhere([] {
        auto [number, text, nothing, nil] =
            all_settled([] { return fails_with("no number"); },
                        [](Context& context) -> Result<std::string> {
                            WEFT_TRY(context.check());
                            return std::string("text");
                        },
                        [] { throw std::runtime_error("thrown"); }, std::function<int()>());
        EXPECT_EQ(text_of(number), "no number");
        EXPECT_EQ(text, std::string("text"));
        EXPECT_EQ(nothing.error().kind(), ErrorKind::Exception);
        EXPECT_EQ(text_of(nil), kNilJob.text);
    });
}

TEST(AllSettled, SC_8c_tasks_keep_their_order) {
    everywhere([] {
        auto outcomes = all_settled(tasks_of({[](Context&) { return Result<int>(1); },
                                              [](Context&) { return fails_with("two"); },
                                              [](Context&) { return Result<int>(3); }}));
        ASSERT_EQ(outcomes.size(), 3u);
        EXPECT_EQ(outcomes[0], 1);
        EXPECT_EQ(text_of(outcomes[1]), "two");
        EXPECT_EQ(outcomes[2], 3);
        EXPECT_TRUE(all_settled(std::vector<Task<int>>()).empty());
    });
}

TEST(Combine, SC_8b_without_a_runtime_the_result_says_so) {
    EXPECT_EQ(race([] { return 1; }).error().kind(), ErrorKind::NoRuntime);
    EXPECT_EQ(std::get<0>(all_settled([] { return 1; })).error().kind(), ErrorKind::NoRuntime);
}

}  // namespace
}  // namespace weft::async
