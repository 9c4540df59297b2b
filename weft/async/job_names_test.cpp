// Jobs of every owner have a name in dumps: the given one, or else the kind of job.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "weft/async/combine.h"
#include "weft/async/context.h"
#include "weft/async/group.h"
#include "weft/async/internal/async_test.h"
#include "weft/async/periodic.h"
#include "weft/async/pool.h"
#include "weft/async/scope.h"
#include "weft/async/shared_task.h"
#include "weft/async/supervisor.h"
#include "weft/async/task.h"
#include "weft/async/timeout.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/report/dump.h"
#include "weft/sync/event.h"
#include "weft/testing/eventually.h"
#include "weft/testing/recurse.h"

namespace weft::async {
namespace {

using namespace std::chrono_literals;
using namespace async_test;
using Names = std::vector<std::string>;

// Jobs that park until their test has read the dump.
class Parked {
public:
    auto job() {
        return [this] { ignore_context_until(go_on_); };
    }
    // The sorted names that a dump shows once this many jobs are parked. Then lets the jobs end.
    Names names(std::size_t count) {
        Names names;
        EXPECT_TRUE(testing::eventually([&] {
            names.clear();
            for (const FiberReport& fiber : list_fibers(Backtraces::No)) {
                if (fiber.object == &go_on_) names.push_back(fiber.name);
            }
            return names.size() == count;
        }));
        go_on_.set();
        std::ranges::sort(names);
        return names;
    }

private:
    Event go_on_;
};

TEST(JobNames, FIB_16f_a_job_of_a_group) {
    everywhere([] {
        Parked parked;
        Group group;
        EXPECT_TRUE(group.go("load prices", parked.job()));
        EXPECT_TRUE(group.go(parked.job()));
        EXPECT_EQ(parked.names(2), Names({"group job", "load prices"}));
        EXPECT_TRUE(group.wait());
    });
}

TEST(JobNames, FIB_16f_a_task) {
    everywhere([] {
        Parked parked;
        auto context = Context::current();
        auto named = *run_task("load", parked.job());
        auto below = *run_with_context("load below", context, parked.job());
        auto stated = *Task<void>::run("stated", parked.job());
        auto stated_below = *Task<void>::run_with_context("stated below", context, parked.job());
        auto unnamed = *run_task(parked.job());
        EXPECT_EQ(parked.names(5), Names({"load", "load below", "stated", "stated below", "task"}));
        for (Task<void>* task : {&named, &below, &stated, &stated_below, &unnamed})
            EXPECT_TRUE(task->wait());
    });
}

TEST(JobNames, FIB_16f_a_job_of_a_pool) {
    everywhere([] {
        Parked parked;
        Pool pool = *Pool::create({.workers = 5, .queue_size = 1});
        EXPECT_TRUE(pool.submit("resize", parked.job()));
        EXPECT_TRUE(pool.submit("resize within", Context::current(), parked.job()));
        EXPECT_TRUE(pool.submit_for("resize soon", kTooLong, parked.job()));
        EXPECT_TRUE(pool.try_submit("resize at once", parked.job()));
        EXPECT_TRUE(pool.submit(parked.job()));
        EXPECT_EQ(parked.names(5), Names({"pool worker", "resize", "resize at once", "resize soon",
                                          "resize within"}));
        EXPECT_TRUE(pool.close());
    });
}

TEST(JobNames, FIB_16f_the_name_of_a_job_of_a_pool_does_not_pass_to_the_next) {
    everywhere([] {
        Names names;  // one worker, so one job after the other
        Pool pool = *Pool::create({.workers = 1, .queue_size = 16});
        auto remember = [&names] { names.emplace_back(current_name()); };
        Event begin;
        EXPECT_TRUE(pool.submit([&] { ignore_context_until(begin); }));
        for (int round = 0; round < 2; ++round) {
            EXPECT_TRUE(pool.submit("a name that does not fit into the string itself", remember));
            EXPECT_TRUE(pool.submit(remember));
        }
        begin.set();
        EXPECT_TRUE(pool.close());
        EXPECT_EQ(names, Names({"a name that does not fit into the string itself", "pool worker",
                                "a name that does not fit into the string itself", "pool worker"}));
    });
}

TEST(JobNames, FIB_16f_a_periodic_job) {
    everywhere([] {
        Parked parked;
        Context context = Context::current();
        PeriodicHandle named = *start_every("sweep", context, 1ms, parked.job());
        PeriodicHandle unnamed = *start_every(context, 1ms, parked.job());
        EXPECT_EQ(parked.names(2), Names({"periodic job", "sweep"}));
    });
}

TEST(JobNames, FIB_16f_a_job_of_a_supervisor_has_the_name_it_was_added_with) {
    on_workers(2, [] {
        Parked parked;
        Supervisor supervisor;
        EXPECT_TRUE(supervisor.add("reader", parked.job()));
        EXPECT_TRUE(supervisor.add("writer", parked.job()));
        Task<void> running = *run_task([&] { return supervisor.run(); });
        EXPECT_EQ(parked.names(2), Names({"reader", "writer"}));
        EXPECT_TRUE(running.wait());
    });
}

TEST(JobNames, FIB_16f_a_job_of_a_scope) {
    everywhere([] {
        Parked parked;
        Result<void> outcome = run_scope(ScopeKind::Request, [&](Scope& scope) -> Result<void> {
            WEFT_TRY(scope.spawn("audit", parked.job()));
            WEFT_TRY(scope.spawn("", parked.job()));
            EXPECT_EQ(parked.names(2), Names({"audit", "scope job"}));
            return {};
        });
        EXPECT_TRUE(outcome);
    });
}

TEST(JobNames, FIB_16f_a_job_with_a_timeout) {
    on_workers(2, [] {
        Parked parked;
        Context context = Context::current();
        Group group;
        EXPECT_TRUE(group.go([&] { return with_timeout("ask", kTooLong, parked.job()); }));
        EXPECT_TRUE(group.go(
            [&] { return with_timeout_context("ask below", context, kTooLong, parked.job()); }));
        EXPECT_TRUE(group.go([&] { return with_timeout(kTooLong, parked.job()); }));
        EXPECT_EQ(parked.names(3), Names({"ask", "ask below", "job with a timeout"}));
        EXPECT_TRUE(group.wait());
    });
}

TEST(JobNames, FIB_16f_a_shared_task_and_those_of_a_race) {
    on_workers(2, [] {
        Parked parked;
        Group group;
        auto named = *run_shared("config", parked.job());
        auto unnamed = *run_shared(parked.job());
        EXPECT_TRUE(group.go([&] { return race(parked.job(), parked.job()); }));
        EXPECT_EQ(parked.names(4), Names({"config", "race job", "race job", "shared task"}));
        EXPECT_TRUE(named.wait());
        EXPECT_TRUE(unnamed.wait());
        EXPECT_TRUE(group.wait());
    });
}

TEST(JobNamesDeathTest, FIB_16f_an_overflow_names_the_job) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    auto overflow = [](std::string_view name) {
        on_workers(1, [name] {
            Group group;
            static_cast<void>(group.go(name, [] { return weft::testing::recurse(10'000'000); }));
            static_cast<void>(group.wait());
        });
    };
    EXPECT_EXIT(overflow("bottomless"), ::testing::KilledBySignal(SIGABRT),
                "overflow in fiber 'bottomless'");
    EXPECT_EXIT(overflow(""), ::testing::KilledBySignal(SIGABRT), "overflow in fiber 'group job'");
}

}  // namespace
}  // namespace weft::async
