#include "weft/async/group.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "weft/async/internal/async_test.h"
#include "weft/base/atomic.h"
#include "weft/fiber/fiber.h"
#include "weft/sync/channel.h"
#include "weft/sync/event.h"
#include "weft/sync/select.h"
#include "weft/testing/captured_log.h"
#include "weft/testing/eventually.h"

namespace weft::async {
namespace {

using namespace async_test;

TEST(Group, SC_1a_jobs_run_and_wait_succeeds) {
    everywhere([] {
        Group group;
        Channel<int> done(2);
        EXPECT_TRUE(group.go([&](Context&) -> Result<void> { return done.send(1); }));
        EXPECT_TRUE(group.go([&](Context&) -> Result<void> { return done.send(2); }));
        EXPECT_TRUE(group.wait());
        EXPECT_EQ(*done.receive() + *done.receive(), 3);
    });
}

TEST(Group, SC_1a_refuses_a_nil_job) {
    everywhere([] {
        Group group;
        std::function<Result<void>(Context&)> empty;
        void (*null)(Context&) = nullptr;
        EXPECT_EQ(text_of(group.go(empty)), "async: job function is nil");
        EXPECT_EQ(text_of(group.go(null)), "async: job function is nil");
        EXPECT_TRUE(group.wait());
    });
}

TEST(Group, SC_1a_takes_functions_of_any_size_and_kind) {
    everywhere([] {
        Group group;
        Atomic<int> sum{0};
        struct {
            char bytes[200] = {7};
        } large;
        auto add = [&](int number) { sum.fetch_add(number, std::memory_order_relaxed); };
        auto only_moved = std::make_unique<int>(3);
        EXPECT_TRUE(group.go([&, large] { add(large.bytes[0]); }));
        EXPECT_TRUE(group.go([&, one = std::move(only_moved)](Context&) { add(*one); }));
        std::function<void()> wrapped = [&] { add(5); };
        EXPECT_TRUE(group.go(wrapped));
        EXPECT_TRUE(group.wait());
        EXPECT_EQ(sum.load(std::memory_order_relaxed), 15);
    });
}

TEST(Group, SC_1b_wait_returns_after_every_job) {
    everywhere([] {
        Group group;
        Event release;
        Atomic<int> ended{0};
        for (int i = 0; i < 8; ++i) {
            ASSERT_TRUE(group.go([&] {
                EXPECT_TRUE(release.wait());
                ended.fetch_add(1, std::memory_order_relaxed);
            }));
        }
        ASSERT_TRUE(group.go([&] { release.set(); }));
        EXPECT_TRUE(group.wait());
        EXPECT_EQ(ended.load(std::memory_order_relaxed), 8);
    });
}

TEST(Group, SC_1b_wait_is_fine_without_jobs) {
    everywhere([] { EXPECT_TRUE(Group().wait()); });
}

TEST(Group, SC_1b_what_a_job_captured_is_gone_when_wait_returns) {
    everywhere([] {
        auto captured = std::make_shared<int>(1);
        Group group;
        ASSERT_TRUE(group.go([captured] { EXPECT_EQ(*captured, 1); }));
        EXPECT_TRUE(group.wait());
        EXPECT_EQ(captured.use_count(), 1);
    });
}

TEST(Group, SC_1c_refuses_jobs_and_a_second_wait_after_wait) {
    everywhere([] {
        Group group;
        EXPECT_TRUE(group.wait());
        EXPECT_EQ(text_of(group.go([] {})),
                  "async: group does not accept new tasks after wait starts");
        EXPECT_EQ(text_of(group.wait()), "async: group wait was already called");
    });
}

TEST(Group, SC_1c_refuses_jobs_from_the_moment_wait_starts) {
    everywhere([] {
        Group group;
        Atomic<bool> refused{false};
        ASSERT_TRUE(group.go([&] {
            // The wait may begin at any moment: a job accepted before it is waited for as well.
            while (group.go([] {})) yield();
            refused.store(true, std::memory_order_relaxed);
        }));
        EXPECT_TRUE(group.wait());
        EXPECT_TRUE(refused.load(std::memory_order_relaxed));
    });
}

TEST(Group, SC_1d_wait_ends_the_context) {
    everywhere([] {
        Group group;
        Context context = group.context();
        EXPECT_TRUE(context.check());
        EXPECT_TRUE(group.wait());
        EXPECT_EQ(text_of(context.check()), "context canceled");
    });
}

TEST(Group, SC_1e_wait_gives_the_error) {
    everywhere([] {
        Group group;
        ASSERT_TRUE(group.go([](Context&) -> Result<void> { return failure("group failed"); }));
        EXPECT_EQ(text_of(group.wait()), "group failed");
        EXPECT_TRUE(group.errors().empty());
    });
}

TEST(Group, SC_1e_the_first_error_cancels_the_siblings) {
    everywhere([] {
        Group group;
        Atomic<int> cancelled{0};
        for (int i = 0; i < 4; ++i) {
            ASSERT_TRUE(group.go([&](Context& context) {
                EXPECT_EQ(text_of(wait_for_end(context)), "cancelled");
                if (context.is_done()) cancelled.fetch_add(1, std::memory_order_relaxed);
            }));
        }
        ASSERT_TRUE(group.go([](Context&) -> Result<void> { return failure("stop siblings"); }));
        EXPECT_EQ(text_of(group.wait()), "stop siblings");
        EXPECT_EQ(cancelled.load(std::memory_order_relaxed), 4);
    });
}

TEST(Group, SC_1e_the_first_error_stays_the_first) {
    testing::CapturedLog log;
    everywhere([] {
        Group group;
        for (int i = 0; i < 8; ++i) {
            ASSERT_TRUE(group.go([&](Context& context) -> Result<void> {
                static_cast<void>(wait_for_end(context));
                return failure("secondary error");
            }));
        }
        ASSERT_TRUE(group.go([](Context&) -> Result<void> { return failure("primary error"); }));
        EXPECT_EQ(text_of(group.wait()), "primary error");
    });
    // SC-6: the other errors are logged.
    EXPECT_TRUE(log.contains("secondary error"));
}

TEST(Group, SC_1e_many_short_jobs_all_run_beside_an_error) {
    everywhere([] {
        constexpr int kJobs = 64;
        Group group;
        Atomic<std::uint64_t> seen{0};
        for (int i = 0; i < kJobs; ++i) {
            ASSERT_TRUE(group.go(
                [&, i] { seen.fetch_or(std::uint64_t{1} << i, std::memory_order_relaxed); }));
        }
        ASSERT_TRUE(group.go([](Context&) -> Result<void> { return failure("stress failure"); }));
        EXPECT_EQ(text_of(group.wait()), "stress failure");
        EXPECT_EQ(seen.load(std::memory_order_relaxed), ~std::uint64_t{0});
    });
}

TEST(Group, SC_1e_the_end_of_the_parent_is_seen_by_jobs) {
    everywhere([] {
        auto [parent, source] = Context::current().with_cancel();
        Group group(parent);
        ASSERT_TRUE(group.go([](Context& context) -> Result<void> {
            static_cast<void>(wait_for_end(context));
            return context.check();
        }));
        source.cancel();
        EXPECT_EQ(text_of(group.wait()), "context canceled");
    });
}

TEST(Group, SC_1e_the_end_of_the_waiters_context_ends_the_jobs_of_a_group_elsewhere) {
    everywhere([] {
        Group group(Context::background());
        if (!current()) group = Group(Context(CancelToken::current()));  // a thread has no runtime
        auto [ambient, source] = Context::current().with_cancel();
        Event started;
        ASSERT_TRUE(group.go([&](Context& context) -> Result<void> {
            started.set();
            return wait_for_end(context);
        }));
        EXPECT_TRUE(started.wait());
        CancelScope scope(ambient.token());
        source.cancel();
        EXPECT_EQ(group.wait().error().kind(), ErrorKind::Cancelled);
    });
}

TEST(Group, SC_1f_errors_are_collected_beside_the_first) {
    everywhere([] {
        auto group = Group::create(Context::current(), {.collect_errors = true, .max_errors = 4});
        ASSERT_TRUE(group);
        for (int i = 0; i < 3; ++i) {
            ASSERT_TRUE(group->go([&](Context& context) -> Result<void> {
                static_cast<void>(wait_for_end(context));
                return failure("secondary error");
            }));
        }
        ASSERT_TRUE(group->go([](Context&) -> Result<void> { return failure("primary error"); }));
        EXPECT_EQ(text_of(group->wait()), "primary error");
        std::vector<Error> errors = group->errors();
        ASSERT_EQ(errors.size(), 4U);
        EXPECT_EQ(errors[0].message(), "primary error");
        EXPECT_EQ(errors[3].message(), "secondary error");
    });
}

TEST(Group, SC_1f_no_more_errors_are_collected_than_asked_for) {
    testing::CapturedLog log;
    everywhere([] {
        auto group = Group::create(Context::current(), {.collect_errors = true, .max_errors = 2});
        ASSERT_TRUE(group);
        for (int i = 0; i < 4; ++i) {
            ASSERT_TRUE(group->go([&](Context& context) -> Result<void> {
                static_cast<void>(wait_for_end(context));
                return failure("secondary error");
            }));
        }
        ASSERT_TRUE(group->go([](Context&) -> Result<void> { return failure("primary error"); }));
        EXPECT_EQ(text_of(group->wait()), "primary error");
        ASSERT_EQ(group->errors().size(), 2U);
        EXPECT_EQ(group->errors()[0].message(), "primary error");
    });
}

TEST(Group, SC_1f_errors_gives_a_copy) {
    everywhere([] {
        auto group = Group::create(Context::current(), {.collect_errors = true, .max_errors = 1});
        ASSERT_TRUE(group);
        ASSERT_TRUE(group->go([](Context&) -> Result<void> { return failure("source"); }));
        EXPECT_FALSE(group->wait());
        std::vector<Error> copy = group->errors();
        copy.clear();
        ASSERT_EQ(group->errors().size(), 1U);
        EXPECT_EQ(group->errors()[0].message(), "source");
    });
}

TEST(Group, SC_1f_max_errors_must_be_positive) {
    for (int max_errors : {0, -1}) {
        auto group =
            Group::create(Context::current(), {.collect_errors = true, .max_errors = max_errors});
        EXPECT_EQ(text_of(group), "async: group max_errors must be positive");
    }
    EXPECT_TRUE(Group::create(Context::current(), {.collect_errors = false, .max_errors = 0}));
}

TEST(Group, SC_6a_what_a_job_throws_is_the_error) {
    everywhere([] {
        Group group;
        ASSERT_TRUE(group.go([](Context&) { throw std::runtime_error("thrown"); }));
        Result<void> outcome = group.wait();
        EXPECT_EQ(text_of(outcome), "thrown");
        EXPECT_THROW(outcome.error().rethrow(), std::runtime_error);
    });
}

TEST(Group, SC_1a_a_function_that_throws_when_it_is_moved_is_no_job) {
    everywhere([] {
        Group group;
        async_test::ThrowsOnCopy job;
        for (int i = 0; i < 3; ++i)
            EXPECT_THROW(static_cast<void>(group.go(job)), std::runtime_error);
        EXPECT_TRUE(group.wait());
    });
}

TEST(Group, SC_6b_a_dropped_group_cancels_its_jobs_and_reports_their_errors) {
    testing::CapturedLog log;
    Runtime runtime(workers(1));
    {
        Group group(Context::background(runtime));
        ASSERT_TRUE(group.go([](Context& context) -> Result<void> {
            static_cast<void>(wait_for_end(context));
            return failure("unseen");
        }));
    }
    runtime.run();
    EXPECT_EQ(runtime.counters().dropped_errors.value(), 1U);
    EXPECT_TRUE(log.contains("unseen"));
}

TEST(Group, SC_6b_an_error_before_the_drop_is_reported_as_well) {
    testing::CapturedLog log;
    Runtime runtime(workers(1));
    {
        Group group(Context::background(runtime));
        ASSERT_TRUE(group.go([](Context&) -> Result<void> { return failure("early"); }));
        runtime.run();
    }
    EXPECT_EQ(runtime.counters().dropped_errors.value(), 1U);
    EXPECT_TRUE(log.contains("early"));
}

TEST(Group, SC_1a_a_thread_without_a_runtime_cannot_start_jobs) {
    Group group;
    Result<void> started = group.go([] {});
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().kind(), ErrorKind::NoRuntime);
    EXPECT_TRUE(group.wait());
}

TEST(Group, SC_1a_no_job_is_started_when_the_runtime_has_stopped) {
    Runtime runtime(workers(1));
    ASSERT_TRUE(runtime.start());
    Group group(Context::background(runtime));
    ASSERT_TRUE(runtime.shutdown());
    auto captured = std::make_shared<int>(1);
    EXPECT_FALSE(group.go([captured] {}));
    EXPECT_EQ(captured.use_count(), 1);
    EXPECT_TRUE(group.wait());
}

TEST(Group, SC_1e_shutdown_ends_jobs_of_every_group) {
    Runtime runtime(workers(2));
    Event started;
    auto outer = runtime.spawn([&]() -> Result<void> {
        Group group(Context{});  // without a runtime: the current runtime's root is its parent
        WEFT_TRY(group.go([&](Context& context) -> Result<void> {
            started.set();
            return wait_for_end(context);
        }));
        return group.wait();
    });
    EXPECT_TRUE(started.wait());
    EXPECT_TRUE(runtime.shutdown(Deadline::after(kTooLong)));
    EXPECT_EQ(outer.join().error().kind(), ErrorKind::Cancelled);
}

TEST(Group, SC_1b_many_groups_at_once) {
    on_workers(2, [] {
        Group outer;
        Atomic<int> ran{0};
        for (int i = 0; i < 100; ++i) {
            ASSERT_TRUE(outer.go([&]() -> Result<void> {
                Group inner;
                for (int j = 0; j < 16; ++j) {
                    WEFT_TRY(inner.go([&] { ran.fetch_add(1, std::memory_order_relaxed); }));
                }
                return inner.wait();
            }));
        }
        EXPECT_TRUE(outer.wait());
        EXPECT_EQ(ran.load(std::memory_order_relaxed), 1600);
    });
}

}  // namespace
}  // namespace weft::async
