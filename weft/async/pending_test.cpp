#include "weft/async/pending.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/async/internal/async_test.h"
#include "weft/async/scope.h"
#include "weft/fiber/runtime.h"
#include "weft/testing/scale.h"

namespace weft::async {
namespace {

using namespace std::chrono_literals;
using async_test::everywhere;
using async_test::kShort;
using async_test::text_of;
using async_test::workers;

TEST(Pending, SCP_1f_the_completion_may_come_before_the_wait_and_after) {
    everywhere([] {
        EXPECT_TRUE(run_scope(ScopeKind::Request, [](Scope& scope) {
            Pending<int> before(scope);
            EXPECT_TRUE(before.completer().complete(1));
            EXPECT_EQ(before.wait(), 1);

            Pending<std::string> after(scope);
            EXPECT_TRUE(scope.spawn("driver", [completer = after.completer()]() mutable {
                EXPECT_TRUE(completer.complete(std::string("found")));
            }));
            EXPECT_EQ(after.wait(), std::string("found"));
            EXPECT_EQ(text_of(after.wait()), kPendingWaited.text);

            Pending<void> failed(scope);
            EXPECT_TRUE(failed.completer().complete(async_test::failure("broken")));
            EXPECT_EQ(text_of(failed.wait()), "broken");
        }));
    });
}

TEST(Pending, SCP_1f_a_second_completion_finds_a_stale_ticket) {
    everywhere([] {
        auto value = std::make_shared<int>(1);
        EXPECT_TRUE(run_scope(ScopeKind::Request, [&](Scope& scope) {
            Pending<std::shared_ptr<int>> first(scope);
            auto completer = first.completer();
            EXPECT_TRUE(completer.complete(nullptr));
            Pending<std::shared_ptr<int>> next(scope);  // in the same slot of the table
            EXPECT_FALSE(completer.complete(value));
            EXPECT_EQ(value.use_count(), 1);  // freed
            EXPECT_TRUE(next.completer().complete(value));
            EXPECT_EQ(*next.wait(), value);
        }));
    });
}

TEST(Pending, SCP_1f_a_wait_ends_with_its_deadline_its_scope_and_its_context) {
    everywhere([] {
        std::optional<Completer<int>> late;
        EXPECT_TRUE(run_scope(ScopeKind::Request, [&](Scope& scope) {
            Pending<int> slow(scope);
            late = slow.completer();
            EXPECT_EQ(slow.wait(Deadline::after(kShort)).error().kind(), ErrorKind::TimedOut);
            EXPECT_FALSE(late->complete(1));

            Pending<int> cancelled(scope);
            scope.cancel();
            EXPECT_EQ(cancelled.wait().error().kind(), ErrorKind::Cancelled);
        }));
    });
}

TEST(Pending, SCP_1f_a_completion_after_the_scope_is_counted_and_touches_nobody) {
    Runtime runtime(workers(1));
    std::optional<Completer<std::string>> completer;
    EXPECT_TRUE(run_scope(ScopeKind::Request, Context::background(runtime), [&](Scope& scope) {
        Pending<std::string> given_up(scope);
        completer = given_up.completer();
    }));
    EXPECT_FALSE(completer->complete(std::string("nobody wants it")));
    EXPECT_EQ(runtime.counters().late_outcomes.value(), 1u);
    EXPECT_TRUE(runtime.shutdown());
}

// Completion and giving up race: exactly one of the two settles the operation.
TEST(Pending, SCP_1f_of_completion_and_cancellation_one_wins) {
    for (std::size_t i = 0; i < testing::repeats(300); ++i) {
        int completed = 0;
        int received = 0;
        async_test::on_workers(2, [&] {
            EXPECT_TRUE(run_scope(ScopeKind::Request, [&](Scope& scope) {
                Pending<int> pending(scope);
                auto driver = weft::spawn([&completed, completer = pending.completer()]() mutable {
                    completed += completer.complete(7) ? 1 : 0;
                });
                auto canceller = weft::spawn([&scope] { scope.cancel(); });
                received += pending.wait() == 7 ? 1 : 0;
                CancelScope outside{CancelToken()};
                EXPECT_TRUE(driver.join());
                EXPECT_TRUE(canceller.join());
            }));
        });
        EXPECT_EQ(completed, received);
    }
}

TEST(PendingDeathTest, SCP_1f_an_operation_that_outlives_its_scope_ends_the_process) {
    EXPECT_DEATH(
        {
            std::optional<Pending<int>> pending;
            static_cast<void>(
                run_scope(ScopeKind::Request, [&](Scope& scope) { pending.emplace(scope); }));
        },
        "an operation is still open when its scope ends");
}

}  // namespace
}  // namespace weft::async
