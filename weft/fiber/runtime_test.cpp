#include "weft/fiber/runtime.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/schedule/worker.h"
#include "weft/testing/captured_log.h"
#include "weft/testing/eventually.h"
#include "weft/testing/scale.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kRelease = std::memory_order_release;

RuntimeOptions with_workers(unsigned workers) {
    RuntimeOptions options;
    options.workers = workers;
    return options;
}

// Sets a variable of the environment, and puts the old value back.
class Variable {
public:
    Variable(const char* name, const char* value) : name_(name) {
        if (const char* text = std::getenv(name)) before_ = text;
        value ? setenv(name, value, 1) : unsetenv(name);
    }
    ~Variable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;

private:
    const char* name_;
    std::optional<std::string> before_;
};

// ---------------------------------------------------------------- how many workers

TEST(Runtime, FIB_5a_there_are_as_many_workers_as_usable_cpus_but_at_most_sixteen) {
    Variable unset("WEFT_WORKERS", nullptr);
    cpu_set_t cpus;
    ASSERT_EQ(sched_getaffinity(0, sizeof cpus, &cpus), 0);
    unsigned usable = static_cast<unsigned>(CPU_COUNT(&cpus));
    unsigned workers = RuntimeOptions::default_workers();
    EXPECT_GE(workers, 1u);
    EXPECT_LE(workers, std::min(usable, 16u));
    Runtime runtime;
    ASSERT_TRUE(runtime.start());
    EXPECT_EQ(runtime.worker_count(), workers);
}

TEST(Runtime, FIB_5a_a_process_that_may_use_one_cpu_gets_one_worker) {
    Variable unset("WEFT_WORKERS", nullptr);
    cpu_set_t before;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (unsigned cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu)
        if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(RuntimeOptions::default_workers(), 1u);
    EXPECT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

TEST(Runtime, FIB_5a_the_choice_is_logged_and_its_bound_said) {
    testing::CapturedLog log;
    set_log_level(LogLevel::Info);
    Variable unset("WEFT_WORKERS", nullptr);
    unsigned workers = RuntimeOptions::default_workers();
    EXPECT_TRUE(log.contains(std::to_string(workers) + " workers: the process may use "));
    EXPECT_TRUE(log.contains("at most 16 unless WEFT_WORKERS says more"));
}

TEST(Runtime, FIB_5a_the_environment_overrides_the_number_of_workers) {
    Variable three("WEFT_WORKERS", "3");
    EXPECT_EQ(RuntimeOptions::default_workers(), 3u);
    Runtime runtime;
    ASSERT_TRUE(runtime.start());
    EXPECT_EQ(runtime.worker_count(), 3u);
}

TEST(Runtime, FIB_5a_nonsense_in_the_environment_is_told_and_ignored) {
    unsigned usual = 0;
    {
        Variable unset("WEFT_WORKERS", nullptr);
        usual = RuntimeOptions::default_workers();
    }
    for (const char* text : {"0", "-1", "two", "3x", " 3", "65", "99999999999999999999"}) {
        testing::CapturedLog log;
        Variable nonsense("WEFT_WORKERS", text);
        EXPECT_EQ(RuntimeOptions::default_workers(), usual) << text;
        EXPECT_TRUE(log.contains("WEFT_WORKERS")) << text;
    }
    testing::CapturedLog log;
    Variable empty("WEFT_WORKERS", "");
    EXPECT_EQ(RuntimeOptions::default_workers(), usual);
    EXPECT_TRUE(log.lines().empty());
}

TEST(Runtime, FIB_5a_a_number_of_workers_that_cannot_be_is_refused) {
    for (unsigned workers : {0U, 65U}) {
        Runtime runtime(with_workers(workers));
        EXPECT_EQ(runtime.start().error().kind(), ErrorKind::Misuse);
        EXPECT_FALSE(runtime.spawn([] {}).join());
    }
}

TEST(Runtime, FIB_4a_the_environment_overrides_the_size_of_stacks) {
    {
        Variable unset("WEFT_FIBER_STACK_KB", nullptr);
        EXPECT_EQ(RuntimeOptions::default_stack_bytes(), 256u * 1024);
    }
    {
        Variable large("WEFT_FIBER_STACK_KB", "1024");
        EXPECT_EQ(RuntimeOptions::default_stack_bytes(), 1024u * 1024);
        Runtime runtime(with_workers(1));
        auto bytes = runtime.spawn([] {
            StackBounds stack = current()->stack->bounds();
            return static_cast<std::size_t>(stack.top - stack.bottom);
        });
        EXPECT_GE(bytes.join().value_or(0), 250u * 1024);
    }
    for (const char* text : {"0", "64k", "1000000"}) {
        testing::CapturedLog log;
        Variable nonsense("WEFT_FIBER_STACK_KB", text);
        EXPECT_EQ(RuntimeOptions::default_stack_bytes(), 256u * 1024) << text;
        EXPECT_TRUE(log.contains("WEFT_FIBER_STACK_KB")) << text;
    }
}

// ---------------------------------------------------------------- pinned workers

RuntimeOptions with_pinned(unsigned workers, unsigned pinned) {
    RuntimeOptions options = with_workers(workers);
    options.pinned_workers = pinned;
    return options;
}

unsigned here() { return this_worker()->index(); }

TEST(Runtime, FIB_9a_a_pinned_fiber_stays_on_its_worker_over_every_kind_of_wait) {
    Runtime runtime(with_pinned(2, 2));
    for (unsigned index = 0; index < 2; ++index) {
        Future<bool> pinned = runtime.spawn_pinned(index, [=]() -> Result<bool> {
            bool stayed = here() == 2 + index;
            for (int i = 0; i < 100; ++i) {
                yield();
                stayed &= here() == 2 + index;
            }
            WEFT_TRY(weft::sleep_for(1ms));
            stayed &= here() == 2 + index;
            return stayed;
        });
        EXPECT_EQ(pinned.join(), true);
    }
    Future<bool> woken = runtime.spawn_pinned(0, []() -> Result<bool> {
        WEFT_TRY(park());
        return here() == 2;
    });
    ASSERT_TRUE(runtime.spawn([id = woken.id()] { unpark(id); }).join());
    EXPECT_EQ(woken.join(), true);
}

TEST(Runtime, FIB_9a_nobody_steals_from_a_pinned_worker) {
    Runtime runtime(with_pinned(2, 1));
    // More than a local queue holds, so that its overflow stays as well.
    Future<unsigned> pinned = runtime.spawn_pinned(0, []() -> Result<unsigned> {
        std::vector<Future<unsigned>> children;
        for (int i = 0; i < 600; ++i) {
            children.push_back(spawn([] {
                unsigned elsewhere = here() == 2 ? 0 : 1;
                yield();
                return elsewhere + (here() == 2 ? 0U : 1U);
            }));
        }
        unsigned elsewhere = 0;
        for (Future<unsigned>& child : children) elsewhere += WEFT_TRY(child.join());
        return elsewhere;
    });
    EXPECT_EQ(pinned.join(), 0u);
}

TEST(Runtime, FIB_9a_a_pinned_worker_does_not_steal) {
    Runtime runtime(with_pinned(1, 1));
    Future<unsigned> parent = runtime.spawn([]() -> Result<unsigned> {
        std::vector<Future<unsigned>> children;
        for (int i = 0; i < 1'000; ++i) {
            children.push_back(spawn([] {
                for (int j = 0; j < 10; ++j) yield();
                return here() == 0 ? 0U : 1U;
            }));
        }
        unsigned elsewhere = 0;
        for (Future<unsigned>& child : children) elsewhere += WEFT_TRY(child.join());
        return elsewhere;
    });
    EXPECT_EQ(parent.join(), 0u);
}

TEST(Runtime, FIB_9a_a_fiber_woken_by_a_pinned_one_stays_on_the_common_workers) {
    Runtime runtime(with_pinned(1, 1));
    Future<bool> common = runtime.spawn([]() -> Result<bool> {
        WEFT_TRY(park());
        return here() == 0;
    });
    ASSERT_TRUE(runtime.spawn_pinned(0, [id = common.id()] { unpark(id); }).join());
    EXPECT_EQ(common.join(), true);
}

TEST(Runtime, FIB_9a_a_pinned_worker_that_is_not_there_is_refused) {
    Runtime runtime(with_pinned(1, 1));
    // The last would name a worker for all fibers, if indices wrapped around.
    for (unsigned index : {1U, 2U, UINT_MAX - 1, UINT_MAX})
        EXPECT_EQ(runtime.spawn_pinned(index, [] {}).join().error().kind(), ErrorKind::Misuse);
}

TEST(Runtime, FIB_9b_children_of_a_pinned_fiber_stay_pinned) {
    Runtime runtime(with_pinned(2, 1));
    Future<bool> pinned = runtime.spawn_pinned(0, []() -> Result<bool> {
        Future<bool> child = spawn([]() -> Result<bool> {
            Future<bool> grandchild = spawn([]() -> Result<bool> {
                WEFT_TRY(weft::sleep_for(1ms));
                return here() == 2;
            });
            yield();
            bool stayed = here() == 2;
            return WEFT_TRY(grandchild.join())
            &&stayed;
        });
        return child.join();
    });
    EXPECT_EQ(pinned.join(), true);
}

// ---------------------------------------------------------------- lifecycle

TEST(Runtime, FIB_14a_run_gives_the_result_of_main) {
    EXPECT_EQ(run([] { return 5; }), 5);
    EXPECT_TRUE(run([] {}));
    EXPECT_EQ(run([]() -> Result<int> { return ErrorKind::Limit; }).error().kind(),
              ErrorKind::Limit);
    EXPECT_EQ(run([]() -> int { throw std::runtime_error("no"); }).error().kind(),
              ErrorKind::Exception);
    Result<std::unique_ptr<int>> moved = run([] { return std::make_unique<int>(3); });
    ASSERT_TRUE(moved);
    EXPECT_EQ(**moved, 3);
}

TEST(Runtime, FIB_14a_run_waits_for_the_fibers_that_main_left_behind) {
    Atomic<int> ended{0};
    EXPECT_TRUE(run([&] {
        for (int i = 0; i < 10; ++i) {
            spawn([&] {
                static_cast<void>(weft::sleep_for(2ms));
                ended.fetch_add(1, kRelaxed);
            });
        }
    }));
    EXPECT_EQ(ended.load(kRelaxed), 10);
}

TEST(Runtime, FIB_14b_to_start_and_to_shut_down_twice_is_to_do_it_once) {
    Runtime runtime(with_workers(2));
    EXPECT_TRUE(runtime.start());
    EXPECT_TRUE(runtime.start());
    EXPECT_EQ(runtime.worker_count(), 2u);
    EXPECT_TRUE(runtime.spawn([] {}).join());
    EXPECT_TRUE(runtime.shutdown());
    EXPECT_TRUE(runtime.shutdown());
}

TEST(Runtime, FIB_14b_threads_that_use_a_fresh_runtime_at_once_start_it_once) {
    for (std::size_t i = 0; i < testing::repeats(100); ++i) {
        Runtime runtime(with_workers(2));
        Atomic<int> ran{0};
        std::vector<std::thread> threads;
        for (int t = 0; t < 3; ++t) {
            threads.emplace_back(
                [&] { EXPECT_TRUE(runtime.spawn([&] { ran.fetch_add(1, kRelaxed); }).join()); });
        }
        for (std::thread& thread : threads) thread.join();
        EXPECT_EQ(ran.load(kRelaxed), 3);
        EXPECT_EQ(runtime.worker_count(), 2u);
    }
}

TEST(Runtime, FIB_14b_a_runtime_that_never_started_ends_quietly) {
    Runtime runtime(with_workers(2));
    EXPECT_TRUE(runtime.shutdown());
}

TEST(Runtime, FIB_14c_current_is_null_off_a_fiber) {
    EXPECT_FALSE(current());
    EXPECT_FALSE(current_id());
    EXPECT_EQ(run([] { return current() != nullptr; }), true);
    EXPECT_FALSE(current());
}

TEST(Runtime, FIB_14d_spawn_off_a_worker_fails_with_no_runtime) {
    Future<void> future = spawn([] {});
    EXPECT_FALSE(future);
    EXPECT_FALSE(future.id());
    EXPECT_EQ(future.join().error().kind(), ErrorKind::NoRuntime);
    EXPECT_EQ(spawn_detached([] {}).error().kind(), ErrorKind::NoRuntime);
    Runtime runtime(with_workers(1));  // that one exists does not make this thread a worker
    ASSERT_TRUE(runtime.start());
    EXPECT_EQ(spawn([] {}).join().error().kind(), ErrorKind::NoRuntime);
}

TEST(Runtime, FIB_14f_use_after_shutdown_is_an_error) {
    Runtime runtime(with_pinned(1, 1));
    EXPECT_TRUE(runtime.spawn([] {}).join());
    EXPECT_TRUE(runtime.shutdown());
    EXPECT_EQ(runtime.spawn([] {}).join().error().kind(), ErrorKind::Closed);
    EXPECT_EQ(runtime.spawn_detached([] {}).error().kind(), ErrorKind::Closed);
    EXPECT_EQ(runtime.spawn_pinned(0, [] {}).join().error().kind(), ErrorKind::Closed);
    runtime.run();  // returns
}

TEST(Runtime, FIB_14f_a_runtime_that_was_shut_down_does_not_start) {
    Runtime runtime(with_workers(1));
    EXPECT_TRUE(runtime.shutdown());
    EXPECT_EQ(runtime.start().error().kind(), ErrorKind::Closed);
    EXPECT_EQ(runtime.spawn([] {}).join().error().kind(), ErrorKind::Closed);
}

TEST(Runtime, FIB_14f_a_fiber_of_a_runtime_that_shuts_down_spawns_no_more) {
    Runtime runtime(with_workers(1));
    Atomic<bool> parked{false};
    Future<void> last = runtime.spawn([&] {
        parked.store(true, kRelease);
        static_cast<void>(park());
        return spawn([] {}).join();
    });
    ASSERT_TRUE(testing::eventually([&] { return parked.load(kAcquire); }));
    EXPECT_TRUE(runtime.shutdown());
    EXPECT_EQ(last.join().error().kind(), ErrorKind::Closed);
}

// A spawn that races with the shutdown either runs or fails; it is never forgotten.
TEST(Runtime, FIB_14f_a_spawn_during_the_shutdown_runs_or_fails) {
    for (std::size_t i = 0; i < testing::repeats(300); ++i) {
        Runtime runtime(with_workers(1));
        ASSERT_TRUE(runtime.start());
        Atomic<bool> go{false};
        std::thread spawner([&] {
            while (!go.load(kAcquire)) {}
            for (std::size_t spin = 0; spin < i % 32 * 64; ++spin) env::spin_pause(0);
            for (;;) {
                Future<int> future = runtime.spawn([] { return 1; });
                Result<int> outcome = future.join(Deadline::after(10s));
                if (outcome) continue;
                EXPECT_EQ(outcome.error().kind(), ErrorKind::Closed);
                return;
            }
        });
        go.store(true, kRelease);
        EXPECT_TRUE(runtime.shutdown());
        spawner.join();
        if (HasFailure()) return;
    }
}

TEST(Runtime, NET_3b_a_fiber_of_one_runtime_joins_a_fiber_of_another) {
    Runtime first({.workers = 1});
    Runtime second({.workers = 1});
    auto outer = first.spawn([&] {
        auto inner = second.spawn([] {
            for (int i = 0; i < 100; ++i) yield();
            return 7;
        });
        return inner.join();
    });
    EXPECT_EQ(outer.join(), 7);
}

TEST(Misuse, FIB_16d_run_inside_a_fiber_is_an_error_that_says_what_to_do) {
    Result<std::string> message = run([] {
        Result<int> nested = run([] { return 1; });
        EXPECT_EQ(nested.error().kind(), ErrorKind::Misuse);
        return nested.error().message();
    });
    ASSERT_TRUE(message);
    EXPECT_NE(message->find("use spawn()"), std::string::npos) << *message;
}

TEST(Misuse, FIB_16d_shutdown_inside_a_fiber_is_an_error_that_says_what_to_do) {
    Runtime runtime({.workers = 1});
    Result<std::string> message =
        runtime.spawn([&] { return runtime.shutdown().error().message(); }).join();
    ASSERT_TRUE(message);
    EXPECT_NE(message->find("call cancel_all()"), std::string::npos) << *message;
    EXPECT_TRUE(runtime.shutdown());
}

TEST(MisuseDeathTest, FIB_16d_waiting_for_a_runtime_in_its_own_fiber_says_what_to_do) {
    auto wait_inside = [] {
        Runtime runtime({.workers = 1});
        return runtime.spawn([&] { runtime.run(); }).join();
    };
    EXPECT_DEATH(static_cast<void>(wait_inside()), "in a fiber join what was spawned");
}

TEST(Misuse, FIB_16d_a_fiber_that_joins_itself_is_told) {
    Runtime runtime({.workers = 1});
    Future<void> self;
    Atomic<bool> there{false};
    Error error = ErrorKind::Other;
    self = runtime.spawn([&] {
        while (!there.load(std::memory_order_acquire)) yield();
        error = self.join().error();
    });
    there.store(true, std::memory_order_release);
    runtime.run();
    EXPECT_EQ(error.kind(), ErrorKind::Misuse);
    EXPECT_NE(error.message().find("joins itself"), std::string::npos) << error.message();
}

}  // namespace
}  // namespace weft
