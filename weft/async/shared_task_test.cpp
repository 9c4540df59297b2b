#include "weft/async/shared_task.h"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "weft/async/internal/async_test.h"
#include "weft/base/atomic.h"
#include "weft/testing/captured_log.h"
#include "weft/testing/eventually.h"

namespace weft::async {
namespace {

using async_test::everywhere;
using async_test::failure;
using async_test::text_of;
using async_test::workers;

TEST(SharedTask, SC_8f_many_wait_and_all_get_the_value_of_one_run) {
    everywhere([] {
        Event go;
        Atomic<int> runs{0};
        auto shared = *run_shared([&]() -> Result<std::string> {
            runs.fetch_add(1, std::memory_order_relaxed);
            WEFT_TRY(go.wait());
            return std::string("value");
        });
        EXPECT_FALSE(shared.is_done());
        std::vector<Task<std::string>> waiting;
        for (int i = 0; i < 5; ++i)
            waiting.push_back(*async::run_task([shared] { return shared.wait(); }));
        go.set();
        for (auto& task : waiting) EXPECT_EQ(task.wait(), std::string("value"));
        EXPECT_EQ(shared.wait(), std::string("value"));  // as often as one likes
        EXPECT_TRUE(shared.is_done());
        EXPECT_EQ(runs.load(std::memory_order_relaxed), 1);
    });
}

TEST(SharedTask, SC_8f_errors_and_exceptions_reach_everybody) {
    everywhere([] {
        auto failed = *run_shared([]() -> Result<void> { return failure("broken"); });
        EXPECT_EQ(text_of(failed.wait()), "broken");
        EXPECT_EQ(text_of(failed.wait()), "broken");
        auto thrown = *run_shared([]() -> int { throw std::runtime_error("thrown"); });
        EXPECT_EQ(text_of(thrown.wait()), "thrown");
        EXPECT_EQ(text_of(run_shared(std::function<int()>())), kNilJob.text);
    });
}

TEST(SharedTask, SC_8f_a_cancelled_wait_ends_alone) {
    everywhere([] {
        Event go;
        auto shared = *run_shared([&]() -> Result<int> {
            WEFT_TRY(go.wait());
            return 1;
        });
        {
            auto [context, source] = Context::current().with_cancel();
            source.cancel();
            CancelScope scope(context.token());
            EXPECT_EQ(text_of(shared.wait()), "context canceled");
        }
        go.set();
        EXPECT_EQ(shared.wait(), 1);
    });
}

TEST(SharedTask, SC_8f_cancel_ends_the_job) {
    everywhere([] {
        auto shared =
            *run_shared([](Context& context) { return async_test::wait_for_end(context); });
        shared.cancel();
        EXPECT_EQ(shared.wait().error().kind(), ErrorKind::Cancelled);
    });
}

TEST(SharedTask, SC_6b_an_error_that_nobody_has_seen_is_logged_and_counted) {
    testing::CapturedLog log;
    Runtime runtime(workers(1));
    {
        CancelScope scope(Context::background(runtime).token());
        EXPECT_TRUE(run_shared([]() -> Result<void> { return failure("unseen"); }));
    }
    runtime.run();
    EXPECT_TRUE(testing::eventually([&] { return log.contains("unseen"); }));
    EXPECT_EQ(runtime.counters().dropped_errors.value(), 1u);
}

TEST(SharedTask, SC_8f_a_task_can_be_shared_later) {
    everywhere([] {
        auto shared = *share(*async::run_task([] { return 4; }));
        EXPECT_EQ(shared.wait(), 4);
        EXPECT_EQ(shared.wait(), 4);
    });
}

TEST(Then, SC_8g_what_follows_gets_the_value) {
    everywhere([] {
        auto shared = *run_shared([] { return 20; });
        auto doubled = *shared.then([](int value) { return value * 2; });
        auto text =
            *doubled.then([](int value) -> Result<std::string> { return std::to_string(value); });
        EXPECT_EQ(text.wait(), std::string("40"));
        EXPECT_EQ(shared.wait(), 20);

        auto nothing = *then(*async::run_task([] {}), [] {});
        EXPECT_TRUE(nothing.wait());
        auto moved = *then(*async::run_task([] { return std::make_unique<int>(6); }),
                           [](std::unique_ptr<int> number) { return *number; });
        EXPECT_EQ(moved.wait(), 6);
    });
}

TEST(Then, SC_8g_an_error_passes_by) {
    everywhere([] {
        auto failed = *run_shared([]() -> Result<int> { return failure("before"); });
        auto after = *failed.then([](int) { ADD_FAILURE(); });
        EXPECT_EQ(text_of(after.wait()), "before");
        auto next = *then(*async::run_task([]() -> Result<int> { return failure("earlier"); }),
                          [](int value) { return value; });
        EXPECT_EQ(text_of(next.wait()), "earlier");
        auto throwing = *then(*async::run_task([] { return 1; }),
                              [](int) -> int { throw std::runtime_error("after"); });
        EXPECT_EQ(text_of(throwing.wait()), "after");
    });
}

}  // namespace
}  // namespace weft::async
