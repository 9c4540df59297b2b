#include "weft/async/task.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "weft/async/internal/async_test.h"
#include "weft/fiber/fiber.h"
#include "weft/sync/event.h"
#include "weft/testing/captured_log.h"

namespace weft::async {
namespace {

using namespace async_test;

TEST(Task, SC_2a_gives_its_value) {
    everywhere([] {
        auto number = async::run_task([](Context&) -> Result<int> { return 42; });
        auto text = async::run_task([] { return std::string("whole"); });
        auto only_moved = async::run_task([] { return std::make_unique<int>(7); });
        auto nothing = async::run_task([](Context&) {});
        ASSERT_TRUE(number && text && only_moved && nothing);
        EXPECT_EQ(number->wait(), 42);
        EXPECT_EQ(text->wait(), std::string("whole"));
        EXPECT_EQ(**only_moved->wait(), 7);
        EXPECT_TRUE(nothing->wait());
    });
}

TEST(Task, SC_2a_gives_its_error) {
    everywhere([] {
        auto task = async::run_task([](Context&) -> Result<int> { return failure("task failed"); });
        ASSERT_TRUE(task);
        EXPECT_EQ(text_of(task->wait()), "task failed");
    });
}

TEST(Task, SC_2a_refuses_a_nil_function) {
    everywhere([] {
        std::function<Result<int>(Context&)> empty;
        int (*null)(Context&) = nullptr;
        EXPECT_EQ(text_of(async::run_task(empty)), "async: job function is nil");
        EXPECT_EQ(text_of(run_with_context(Context::current(), null)),
                  "async: job function is nil");
    });
}

TEST(Task, SC_2a_run_with_context_follows_its_parent) {
    everywhere([] {
        auto [parent, source] = Context::current().with_cancel();
        auto task = run_with_context(parent, [](Context& context) -> Result<int> {
            static_cast<void>(wait_for_end(context));
            WEFT_TRY(context.check());
            return 1;
        });
        ASSERT_TRUE(task);
        source.cancel();
        EXPECT_EQ(text_of(task->wait()), "context canceled");
    });
}

TEST(Task, SC_2a_a_job_below_an_ended_context_runs_and_sees_it) {
    everywhere([] {
        auto [parent, source] = Context::current().with_cancel();
        source.cancel();
        auto task = run_with_context(parent, [](Context& context) { return context.is_done(); });
        ASSERT_TRUE(task);
        EXPECT_EQ(task->wait(), true);
    });
}

TEST(Task, SC_2a_its_context_ends_with_it_and_leaves_the_parent_alone) {
    everywhere([] {
        auto [parent, source] = Context::current().with_cancel();
        Context seen;
        auto task = run_with_context(parent, [&](Context& context) { seen = context; });
        ASSERT_TRUE(task);
        EXPECT_TRUE(task->wait());
        EXPECT_TRUE(seen.is_done());
        EXPECT_FALSE(parent.is_done());
    });
}

TEST(Task, SC_2b_the_result_may_precede_wait) {
    everywhere([] {
        Event done;
        struct SetsAtEnd {  // destroyed after the function has run
            Event* event;
            explicit SetsAtEnd(Event& which) : event(&which) {}
            SetsAtEnd(SetsAtEnd&& other) noexcept : event(std::exchange(other.event, nullptr)) {}
            ~SetsAtEnd() {
                if (event) event->set();
            }
        };
        auto task = async::run_task([end = SetsAtEnd(done)] { return 5; });
        ASSERT_TRUE(task);
        EXPECT_TRUE(done.wait());
        EXPECT_EQ(task->wait(), 5);
    });
}

TEST(Task, SC_2c_wait_is_one_shot) {
    everywhere([] {
        auto task = async::run_task([] { return 1; });
        ASSERT_TRUE(task);
        EXPECT_EQ(task->wait(), 1);
        EXPECT_EQ(text_of(task->wait()), "async: task wait was already called");
        auto failed = async::run_task([](Context&) -> Result<int> { return failure("failed"); });
        ASSERT_TRUE(failed);
        EXPECT_EQ(text_of(failed->wait()), "failed");
        EXPECT_EQ(text_of(failed->wait()), "async: task wait was already called");
    });
}

TEST(Task, SC_2c_one_of_several_waiters_wins_and_none_hangs) {
    on_workers(2, [] {
        Event release;
        auto task = async::run_task([&] {
            EXPECT_TRUE(release.wait());
            return 9;
        });
        ASSERT_TRUE(task);
        std::vector<Future<int>> waiters;
        for (int i = 0; i < 8; ++i) waiters.push_back(spawn([&] { return task->wait(); }));
        release.set();
        int winners = 0;
        for (auto& waiter : waiters) {
            Result<int> outcome = waiter.join();
            if (outcome == 9) ++winners;
            if (!outcome) {
                EXPECT_EQ(text_of(outcome), "async: task wait was already called");
            }
        }
        EXPECT_EQ(winners, 1);
    });
}

TEST(Task, SC_2c_a_cancelled_waiter_cancels_the_task_and_waits_for_it) {
    everywhere([] {
        auto [ambient, source] = Context::current().with_cancel();
        Event started;
        auto task = async::run_task([&](Context& context) -> Result<int> {
            started.set();
            static_cast<void>(wait_for_end(context));
            return 3;
        });
        ASSERT_TRUE(task);
        EXPECT_TRUE(started.wait());
        CancelScope scope(ambient.token());
        source.cancel();
        EXPECT_EQ(task->wait(), 3);
    });
}

TEST(Task, SC_6a_what_the_job_throws_is_the_error) {
    everywhere([] {
        auto task = async::run_task([]() -> int { throw std::runtime_error("thrown"); });
        ASSERT_TRUE(task);
        Result<int> outcome = task->wait();
        EXPECT_EQ(text_of(outcome), "thrown");
        EXPECT_THROW(outcome.error().rethrow(), std::runtime_error);
    });
}

TEST(Task, SC_6b_a_dropped_task_is_cancelled_and_its_error_is_reported) {
    testing::CapturedLog log;
    Runtime runtime(workers(1));
    {
        auto task =
            run_with_context(Context::background(runtime), [&](Context& context) -> Result<int> {
                static_cast<void>(wait_for_end(context));
                return failure("late error");
            });
        ASSERT_TRUE(task);
    }
    EXPECT_EQ(runtime.counters().dropped_errors.value(), 1U);
    EXPECT_TRUE(log.contains("late error"));
}

TEST(Task, SC_6b_an_error_before_the_drop_is_reported) {
    testing::CapturedLog log;
    Runtime runtime(workers(1));
    {
        auto task = run_with_context(Context::background(runtime),
                                     [](Context&) -> Result<int> { return failure("early"); });
        ASSERT_TRUE(task);
        runtime.run();
    }
    EXPECT_EQ(runtime.counters().dropped_errors.value(), 1U);
    EXPECT_TRUE(log.contains("early"));
}

TEST(Task, SC_2b_a_dropped_value_is_destroyed) {
    auto value = std::make_shared<int>(1);
    on_workers(2, [&] {
        for (int i = 0; i < 100; ++i) {
            auto task = async::run_task([value] { return value; });
            ASSERT_TRUE(task);
        }
    });
    EXPECT_EQ(value.use_count(), 1);
}

}  // namespace
}  // namespace weft::async
