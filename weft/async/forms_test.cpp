// Every owner takes a job in every form: with its context or without, returning a Result<T>, a
// plain value or nothing.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "weft/async/combine.h"
#include "weft/async/context.h"
#include "weft/async/group.h"
#include "weft/async/internal/async_test.h"
#include "weft/async/periodic.h"
#include "weft/async/pool.h"
#include "weft/async/retry.h"
#include "weft/async/scope.h"
#include "weft/async/shared_task.h"
#include "weft/async/supervisor.h"
#include "weft/async/task.h"
#include "weft/async/timeout.h"
#include "weft/base/atomic.h"

namespace weft::async {
namespace {

using namespace std::chrono_literals;
using namespace async_test;

constexpr auto kRelaxed = std::memory_order_relaxed;

// Calls `check` with a job in each of the forms that succeed; each counts its calls.
template <class Check>
void in_every_form(Atomic<int>& calls, Check check) {
    auto count = [&calls] { calls.fetch_add(1, kRelaxed); };
    check([count]() { count(); });
    check([count](Context&) { count(); });
    check([count]() -> Result<void> { return count(), Result<void>(); });
    check([count](Context&) -> Result<void> { return count(), Result<void>(); });
    check([count]() { return count(), 7; });
    check([count](Context&) { return count(), 7; });
    check([count]() -> Result<int> { return count(), 7; });
    check([count](Context&) -> Result<int> { return count(), 7; });
    check([count]() -> Result<std::unique_ptr<int>> { return count(), std::make_unique<int>(7); });
}
constexpr int kForms = 9;

// The same for jobs that fail.
template <class Check>
void in_every_failing_form(Check check) {
    check([]() -> Result<void> { return failure("no"); });
    check([](Context&) -> Result<int> { return failure("no"); });
    check([]() -> int { throw std::runtime_error("no"); });
}

TEST(Forms, SC_1a_a_group_takes_a_job_in_every_form) {
    everywhere([] {
        Atomic<int> calls{0};
        Group group;
        in_every_form(calls, [&](auto job) { EXPECT_TRUE(group.go(std::move(job))); });
        EXPECT_TRUE(group.wait());
        EXPECT_EQ(calls.load(kRelaxed), kForms);
    });
}

TEST(Forms, SC_1e_a_job_with_a_value_fails_a_group_as_any_other) {
    everywhere([] {
        Group group;
        EXPECT_TRUE(group.go([]() -> Result<int> { return failure("no"); }));
        EXPECT_EQ(text_of(group.wait()), "no");
    });
}

TEST(Forms, SC_2a_a_task_takes_a_job_in_every_form) {
    everywhere([] {
        Atomic<int> calls{0};
        in_every_form(calls, [&](auto job) {
            EXPECT_TRUE(async::run_task(job)->wait());
            EXPECT_TRUE(run_with_context(Context::current(), job)->wait());
        });
        EXPECT_EQ(calls.load(kRelaxed), 2 * kForms);
    });
}

TEST(Forms, SC_3d_a_pool_takes_a_job_in_every_form) {
    everywhere([] {
        Atomic<int> calls{0};
        Pool pool = *Pool::create({.workers = 1, .queue_size = 64});
        in_every_form(calls, [&](auto job) {
            EXPECT_TRUE(pool.try_submit(job));
            EXPECT_TRUE(pool.submit(job));
            EXPECT_TRUE(pool.submit(Context::current(), job));
            EXPECT_TRUE(pool.submit_for(kTooLong, job));
        });
        EXPECT_TRUE(pool.submit([]() -> Result<int> { return failure("no"); }));
        EXPECT_EQ(text_of(pool.close()), "no");
        EXPECT_EQ(calls.load(kRelaxed), 4 * kForms);
    });
}

TEST(Forms, SC_4b_periodic_jobs_have_every_form) {
    everywhere([] {
        Atomic<int> calls{0};
        in_every_form(calls, [&](auto job) {
            auto [context, source] = Context::current().with_cancel();
            Event ran;
            auto handle = start_every(context, 1ns, [&, job](Context& own) mutable {
                ran.set();
                return async_internal::call_job(job, own);
            });
            ASSERT_TRUE(handle);
            EXPECT_TRUE(ran.wait_for(kTooLong));
            handle->stop();
            EXPECT_TRUE(handle->wait());
            auto once = start_every(context, 1ns, job);
            ASSERT_TRUE(once);
        });
        EXPECT_GE(calls.load(kRelaxed), kForms);
        EXPECT_EQ(
            text_of(every(Context::current(), 1ns, []() -> Result<int> { return failure("no"); })),
            "no");
    });
}

TEST(Forms, SC_5a_a_timeout_takes_a_job_in_every_form) {
    everywhere([] {
        Atomic<int> calls{0};
        in_every_form(calls, [&](auto job) {
            EXPECT_TRUE(with_timeout(kTooLong, job));
            EXPECT_TRUE(with_timeout_context(Context::current(), kTooLong, job));
        });
        EXPECT_EQ(calls.load(kRelaxed), 2 * kForms);
    });
}

TEST(Forms, SC_5a_a_timeout_gives_the_value_of_its_job) {
    everywhere([] {
        EXPECT_EQ(with_timeout(kTooLong, []() -> Result<int> { return 5; }), 5);
        EXPECT_EQ(with_timeout(kTooLong, [] { return std::string("five"); }), "five");
        Result<std::unique_ptr<int>> moved =
            with_timeout(kTooLong, [] { return std::make_unique<int>(5); });
        ASSERT_TRUE(moved);
        EXPECT_EQ(**moved, 5);
        EXPECT_EQ(text_of(with_timeout(kTooLong, []() -> Result<int> { return failure("no"); })),
                  "no");
        EXPECT_EQ(text_of(with_timeout(0s, [] { return 5; })), "async: timeout");
    });
}

TEST(Forms, SC_8a_combinations_take_a_job_in_every_form) {
    everywhere([] {
        Atomic<int> calls{0};
        in_every_form(calls, [&](auto job) {
            EXPECT_TRUE(any(job));
            EXPECT_TRUE(race(job));
            EXPECT_TRUE(std::get<0>(all_settled(job)));
            EXPECT_TRUE(retry({.attempts_max = 1}, job));
            EXPECT_TRUE(hedge({.delay = kTooLong}, job));
        });
        EXPECT_EQ(calls.load(kRelaxed), 5 * kForms);
        EXPECT_EQ(any([] { return 7; }, [](Context&) -> Result<int> { return 7; }), 7);
    });
}

TEST(Forms, SC_8f_a_shared_task_takes_a_job_in_every_form_that_can_be_copied) {
    everywhere([] {
        EXPECT_TRUE(run_shared([] {})->wait());
        EXPECT_EQ(run_shared([](Context&) { return 7; })->wait(), 7);
        EXPECT_EQ(run_shared([]() -> Result<int> { return 7; })->wait(), 7);
    });
}

TEST(Forms, SC_8i_a_supervisor_takes_a_job_in_every_form) {
    everywhere([] {
        Atomic<int> calls{0};
        Supervisor supervisor;
        in_every_form(calls, [&](auto job) { EXPECT_TRUE(supervisor.add("job", job)); });
        EXPECT_TRUE(supervisor.run());
        EXPECT_EQ(calls.load(kRelaxed), kForms);
    });
}

TEST(Forms, SCP_1a_a_scope_takes_a_job_in_every_form) {
    everywhere([] {
        Atomic<int> calls{0};
        EXPECT_TRUE(run_scope(ScopeKind::Request, [&](Scope& scope) {
            in_every_form(calls, [&](auto job) {
                EXPECT_TRUE(scope.spawn("job", job));
                scope.defer(job);
            });
        }));
        EXPECT_EQ(calls.load(kRelaxed), 2 * kForms);
        EXPECT_EQ(text_of(run_scope(ScopeKind::Request,
                                    [](Scope& scope) {
                                        return scope.spawn(
                                            "fails", []() -> Result<int> { return failure("no"); });
                                    })),
                  "no");
    });
}

TEST(Forms, SC_6a_a_failing_job_in_every_form_is_an_error) {
    everywhere([] {
        in_every_failing_form([](auto job) {
            EXPECT_EQ(text_of(with_timeout(kTooLong, job)), "no");
            EXPECT_EQ(text_of(async::run_task(job)->wait()), "no");
        });
    });
}

}  // namespace
}  // namespace weft::async
