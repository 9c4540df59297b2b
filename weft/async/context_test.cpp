#include "weft/async/context.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "weft/async/group.h"
#include "weft/async/internal/async_test.h"
#include "weft/async/task.h"
#include "weft/base/sanitizer.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/sync/channel.h"
#include "weft/sync/event.h"
#include "weft/sync/select.h"

namespace weft::async {
namespace {

using namespace async_test;
using namespace std::chrono_literals;

struct RequestId {
    int number = 0;
};
constexpr ContextKey<RequestId> kRequest;
constexpr ContextKey<RequestId> kOtherRequest;
constexpr ContextKey<std::string> kUser;

TEST(Context, CTX_1a_background_goes_on) {
    everywhere([] {
        Context background = Context::background();
        EXPECT_TRUE(background.check());
        EXPECT_FALSE(background.is_done());
        EXPECT_TRUE(background.deadline().is_never());
        EXPECT_EQ(background.value(kRequest), nullptr);
    });
}

TEST(Context, CTX_1a_background_of_a_fiber_is_not_its_ambient_context) {
    on_workers(1, [] {
        auto [context, source] = Context::current().with_cancel();
        CancelScope scope(context.token());
        source.cancel();
        EXPECT_TRUE(Context::current().is_done());
        EXPECT_FALSE(Context::background().is_done());
    });
}

TEST(Context, CTX_1a_background_of_a_runtime_ends_with_its_shutdown) {
    Context background;
    {
        Runtime runtime(workers(1));
        background = Context::background(runtime);
        EXPECT_TRUE(background.check());
        ASSERT_TRUE(runtime.start());
        ASSERT_TRUE(runtime.shutdown());
        EXPECT_EQ(background.reason(), CancelReason::Shutdown);
    }
    // It may outlive the runtime, but nothing runs there any more.
    EXPECT_EQ(text_of(background.check()), "context canceled");
    auto late = run_with_context(background, [] { return 1; });
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().kind(), ErrorKind::NoRuntime);
}

TEST(Context, CTX_1a_with_cancel_ends_when_cancelled) {
    everywhere([] {
        auto [context, source] = Context::current().with_cancel();
        EXPECT_TRUE(context.check());
        source.cancel();
        EXPECT_EQ(text_of(context.check()), "context canceled");
        EXPECT_EQ(context.check().error().kind(), ErrorKind::Cancelled);
        EXPECT_EQ(context.reason(), CancelReason::Cancelled);
    });
}

TEST(Context, CTX_1a_with_timeout_ends_by_itself) {
    everywhere([] {
        auto [context, source] = Context::current().with_timeout(kShort);
        Result<std::size_t> chosen =
            select(on_cancel(context.done(), [] {}), on_timeout(kTooLong, [] { ADD_FAILURE(); }));
        EXPECT_EQ(chosen, 0U);
        EXPECT_EQ(text_of(context.check()), "context deadline exceeded");
        EXPECT_EQ(context.check().error().kind(), ErrorKind::TimedOut);
    });
}

TEST(Context, CTX_1a_with_timeout_that_is_over_has_ended) {
    everywhere([] {
        for (auto timeout : {0ms, -1ms}) {
            auto [context, source] = Context::current().with_timeout(timeout);
            EXPECT_EQ(text_of(context.check()), "context deadline exceeded");
        }
    });
}

TEST(Context, CTX_1a_with_value_finds_the_nearest) {
    everywhere([] {
        Context first = Context::current().with_value(kRequest, {1});
        Context second = first.with_value(kUser, "somebody").with_cancel().context;
        Context third = second.with_value(kRequest, {3});
        EXPECT_EQ(first.value(kRequest)->number, 1);
        EXPECT_EQ(second.value(kRequest)->number, 1);
        EXPECT_EQ(third.value(kRequest)->number, 3);
        EXPECT_EQ(*third.value(kUser), "somebody");
        EXPECT_EQ(first.value(kUser), nullptr);
        EXPECT_EQ(third.value(kOtherRequest), nullptr);
    });
}

TEST(Context, CTX_1a_a_value_lives_as_long_as_its_context) {
    static constexpr ContextKey<std::shared_ptr<int>> key;
    auto value = std::make_shared<int>(1);
    {
        Context copy;
        {
            Context context = Context::background().with_value(key, value);
            copy = context.with_cancel().context;
        }
        EXPECT_EQ(value.use_count(), 2);
        EXPECT_EQ(**copy.value(key), 1);
    }
    EXPECT_EQ(value.use_count(), 1);
}

TEST(Context, CTX_1b_done_in_select) {
    everywhere([] {
        auto [context, source] = Context::current().with_cancel();
        Channel<int> silent(1);
        auto look = [&, done = context.done()] {
            return select(on_cancel(done, [] {}), on_receive(silent, [](Result<int>) {}),
                          otherwise([] {}));
        };
        EXPECT_EQ(look(), 2U);
        source.cancel();
        EXPECT_EQ(look(), 0U);
    });
}

TEST(Context, CTX_1b_done_in_a_select_that_waits_also_when_it_is_the_ambient_context) {
    everywhere([] {
        auto [context, source] = Context::current().with_cancel();
        Channel<int> silent(0);
        Event ready;
        auto task = run_with_context(context, [&](Context& mine) -> Result<std::string> {
            ready.set();
            std::string seen;
            WEFT_TRY(select(on_cancel(mine.done(), [&] { seen = text_of(mine.check()); }),
                            on_receive(silent, [](Result<int>) {})));
            return seen;
        });
        ASSERT_TRUE(task);
        EXPECT_TRUE(ready.wait());
        source.cancel();
        EXPECT_EQ(task->wait(), std::string("context canceled"));
    });
}

TEST(Context, CTX_1c_check_sees_the_end_of_a_parent_before_it_arrives) {
    // A listener of the parent is called before the children are cancelled.
    auto [parent, source] = Context::background().with_cancel();
    struct Look : CancelListener {
        explicit Look(Context watched)
            : CancelListener([](CancelListener& self, CancelReason) {
                  auto& look = static_cast<Look&>(self);
                  look.arrived = look.child.token().is_cancelled();
                  look.text = text_of(look.child.check());
              }),
              child(std::move(watched)) {}
        Context child;
        bool arrived = true;
        std::string text;
    } look(parent.with_cancel().context);
    look.listen(parent.token().state());
    source.cancel();
    EXPECT_FALSE(look.arrived);
    EXPECT_EQ(look.text, "context canceled");
}

TEST(Context, CTX_1c_err_keeps_the_own_reason) {
    auto [parent, source] = Context::background().with_timeout(0ms);
    auto [child, child_source] = Context::background().with_cancel();
    child_source.cancel();
    EXPECT_EQ(text_of(parent.check()), "context deadline exceeded");
    EXPECT_EQ(text_of(child.check()), "context canceled");
}

TEST(Context, CTX_1c_every_reason_has_its_text) {
    EXPECT_EQ(to_string(CancelReason::Cancelled), "context canceled");
    EXPECT_EQ(to_string(CancelReason::DeadlineExceeded), "context deadline exceeded");
    EXPECT_EQ(to_string(CancelReason::Shutdown), "context canceled");
    EXPECT_EQ(to_string(CancelReason::None), "context not canceled");
}

TEST(Context, CTX_1d_deadline_is_the_earlier_one) {
    Deadline early = Deadline::after(1h);
    Deadline later = Deadline::after(2h);
    Context outer = Context::background().with_deadline(early).context;
    EXPECT_EQ(outer.with_deadline(later).context.deadline(), early);
    EXPECT_EQ(outer.with_cancel().context.deadline(), early);
    EXPECT_EQ(outer.with_value(kRequest, {1}).deadline(), early);
    Context inner = Context::background().with_deadline(later).context;
    EXPECT_EQ(inner.with_deadline(early).context.deadline(), early);
}

TEST(Context, CTX_1e_the_end_of_the_parent_reaches_all_below) {
    everywhere([] {
        auto [parent, source] = Context::current().with_cancel();
        Context child = parent.with_timeout(kTooLong).context;
        Context grandchild = child.with_value(kRequest, {1}).with_cancel().context;
        source.cancel();
        for (const Context& context : {child, grandchild}) {
            EXPECT_TRUE(context.token().is_cancelled());
            EXPECT_EQ(text_of(context.check()), "context canceled");
        }
        EXPECT_TRUE(parent.with_cancel().context.is_done());
    });
}

TEST(Context, CTX_1e_the_end_of_a_child_leaves_the_parent_alone) {
    auto [parent, source] = Context::background().with_cancel();
    parent.with_cancel().source.cancel();
    EXPECT_TRUE(parent.check());
}

TEST(Context, CTX_1f_the_first_reason_is_kept) {
    auto [context, source] = Context::background().with_cancel();
    source.cancel(CancelReason::DeadlineExceeded);
    source.cancel();
    source.cancel();
    EXPECT_EQ(text_of(context.check()), "context deadline exceeded");
}

#if !defined(WEFT_ASAN) && !defined(WEFT_TSAN)
TEST(Context, CTX_1g_a_live_context_takes_at_most_200_bytes) {
    constexpr std::size_t kContexts = 100'000;
    std::vector<Context> contexts;
    contexts.reserve(kContexts);
    Context parent = Context::background().with_timeout(1h).context;
    std::size_t before = mallinfo2().uordblks;
    for (std::size_t i = 0; i < kContexts; ++i) {
        bool deadline = i % 2 == 0;
        contexts.push_back(deadline ? parent.with_timeout(1s).context
                                    : parent.with_value(kRequest, {static_cast<int>(i)}));
    }
    EXPECT_LE((mallinfo2().uordblks - before) / kContexts, 200U);
}
#endif

TEST(Context, CTX_2a_the_context_of_a_job_is_the_ambient_one) {
    everywhere([] {
        Group group(Context::current().with_value(kRequest, {7}));
        ASSERT_TRUE(group.go([&](Context& context) {
            EXPECT_EQ(context, Context::current());
            EXPECT_EQ(context, group.context());
            EXPECT_EQ(Context::current().value(kRequest)->number, 7);
        }));
        EXPECT_TRUE(group.wait());
    });
}

TEST(Context, CTX_2a_a_spawned_fiber_inherits_it_with_its_values) {
    on_workers(1, [] {
        auto task = run_with_context(Context::current().with_value(kRequest, {8}), [] {
            return spawn([] { return Context::current().value(kRequest)->number; }).join();
        });
        ASSERT_TRUE(task);
        EXPECT_EQ(task->wait(), 8);
    });
}

TEST(Context, CTX_2b_waits_in_a_job_end_with_its_context_unasked) {
    everywhere([] {
        auto [context, source] = Context::current().with_cancel();
        Group group(context);
        Event never;
        Atomic<int> started{0};
        for (int i = 0; i < 3; ++i) {
            ASSERT_TRUE(group.go([&]() -> Result<void> {
                if (started.fetch_add(1, std::memory_order_relaxed) == 2) source.cancel();
                return never.wait();
            }));
        }
        EXPECT_EQ(group.wait().error().kind(), ErrorKind::Cancelled);
    });
}

TEST(Context, CTX_2b_waits_in_a_job_end_at_its_deadline_unasked) {
    everywhere([] {
        Event never;
        auto task = run_with_context(Context::current().with_timeout(kShort).context,
                                     [&] { return never.wait(); });
        ASSERT_TRUE(task);
        EXPECT_EQ(task->wait().error().kind(), ErrorKind::TimedOut);
    });
}

TEST(Context, CTX_3a_a_stop_request_cancels) {
    everywhere([] {
        std::stop_source stop;
        CancelSource adopted = CancelSource::from(stop.get_token());
        Context context(adopted.token());
        EXPECT_TRUE(context.check());
        stop.request_stop();
        EXPECT_EQ(text_of(context.check()), "context canceled");
    });
}

TEST(Context, CTX_3a_a_stop_request_that_came_before_counts) {
    std::stop_source stop;
    stop.request_stop();
    EXPECT_TRUE(CancelSource::from(stop.get_token()).token().is_cancelled());
}

TEST(Context, CTX_3a_an_adopted_source_hangs_below_the_ambient_token) {
    on_workers(1, [] {
        auto [context, source] = Context::current().with_cancel();
        CancelScope scope(context.token());
        std::stop_source stop;
        CancelSource adopted = CancelSource::from(stop.get_token());
        source.cancel();
        EXPECT_TRUE(adopted.token().is_cancelled());
    });
}

TEST(Context, CTX_3a_a_stop_request_may_meet_the_end_of_the_source) {
    for (int round = 0; round < 200; ++round) {
        std::stop_source stop;
        auto adopted = std::make_unique<CancelSource>(CancelSource::from(stop.get_token()));
        std::thread other([&] { stop.request_stop(); });
        adopted.reset();
        other.join();
    }
}

TEST(Context, CTX_3b_a_source_from_a_context_is_its_child) {
    auto [context, source] = Context::background().with_cancel();
    CancelSource adopted = CancelSource::from(context);
    CancelSource independent = CancelSource::from(context);
    independent.cancel();
    EXPECT_FALSE(context.is_done());
    EXPECT_FALSE(adopted.token().is_cancelled());
    source.cancel();
    EXPECT_TRUE(adopted.token().is_cancelled());
}

}  // namespace
}  // namespace weft::async
