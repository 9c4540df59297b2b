#include "weft/fiber/fiber.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/base/log_limit.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/runtime.h"
#include "weft/fiber/schedule/scheduler.h"
#include "weft/testing/captured_log.h"
#include "weft/testing/eventually.h"
#include "weft/testing/scale.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kRelease = std::memory_order_release;

RuntimeOptions with_workers(unsigned workers) {
    RuntimeOptions options;
    options.workers = workers;
    return options;
}

// ---------------------------------------------------------------- spawn

int deep(int levels) {
    if (levels > 0) return deep(levels - 1) + 1;
    yield();  // nothing on the way here knows that it may park
    return 0;
}

TEST(Fiber, FIB_1a_any_function_of_a_spawned_fiber_may_park) {
    Result<int> outcome = run([] {
        Future<int> future = spawn([] { return deep(50); });
        return future.join();
    });
    EXPECT_EQ(outcome, 50);
}

TEST(Fiber, FIB_1a_fibers_run_at_the_same_time) {
    // Each waits for the other: one after the other they would never end.
    Result<void> outcome = run([] {
        FiberId main = current_id();
        FiberId other;
        Future<void> future = spawn([&]() -> Result<void> {
            other = current_id();
            unpark(main);
            return park();
        });
        EXPECT_TRUE(park());
        unpark(other);
        return future.join();
    });
    EXPECT_TRUE(outcome);
}

TEST(Fiber, FIB_1b_run_returns_when_every_counted_fiber_has_exited) {
    Runtime runtime(with_workers(2));
    Atomic<int> ended{0};
    constexpr int children = 50;
    // Nobody joins anybody, and the children are spawned while run() already waits.
    runtime.spawn([&] {
        for (int i = 0; i < children; ++i) {
            spawn([&] {
                static_cast<void>(weft::sleep_for(1ms));
                spawn([&] { ended.fetch_add(1, kRelaxed); });
            });
        }
    });
    runtime.run();
    EXPECT_EQ(ended.load(kRelaxed), children);
    runtime.run();  // nobody is left: returns at once
}

TEST(Fiber, FIB_1c_run_does_not_wait_for_a_detached_fiber) {
    Runtime runtime(with_workers(2));
    Atomic<bool> woken{false};
    Result<void> started = runtime.spawn_detached([&]() -> Result<void> {
        Result<void> parked = park();
        woken.store(true, kRelaxed);
        return parked;
    });
    ASSERT_TRUE(started);
    runtime.run();
    EXPECT_FALSE(woken.load(kRelaxed));
    EXPECT_EQ(runtime.live_fibers(), 1u);
    EXPECT_TRUE(runtime.shutdown());
    EXPECT_TRUE(woken.load(kRelaxed));
}

TEST(Fiber, FIB_1c_a_detached_fiber_of_a_fiber_is_not_counted_either) {
    Runtime runtime(with_workers(1));
    Future<void> parent =
        runtime.spawn([]() -> Result<void> { return spawn_detached([] { return park(); }); });
    EXPECT_TRUE(parent.join());
    runtime.run();
    EXPECT_EQ(runtime.live_fibers(), 1u);
}

// ---------------------------------------------------------------- join

TEST(Fiber, FIB_2a_the_handle_outlives_the_fiber) {
    Runtime runtime(with_workers(1));
    Future<std::string> future = runtime.spawn([] { return std::string("still here"); });
    runtime.run();
    ASSERT_TRUE(testing::eventually([&] { return runtime.live_fibers() == 0; }));
    EXPECT_TRUE(future.is_done());
    EXPECT_EQ(future.join(), "still here");
}

TEST(Fiber, FIB_2a_the_handle_outlives_the_runtime) {
    Future<int> future;
    {
        Runtime runtime(with_workers(1));
        future = runtime.spawn([] { return 42; });
        runtime.run();
    }
    EXPECT_EQ(future.join(), 42);
}

TEST(Fiber, FIB_2a_an_error_may_be_dropped_after_the_runtime) {
    testing::CapturedLog log;
    Future<int> future;
    {
        Runtime runtime(with_workers(1));
        future = runtime.spawn([]() -> Result<int> { return ErrorKind::Limit; });
        runtime.run();
    }
    future.detach();
    EXPECT_TRUE(log.contains("nobody joined"));
}

TEST(Fiber, FIB_2b_join_parks_a_fiber) {
    // One worker: if the joiner blocked its thread, the other could not run.
    Result<int> outcome = run(
        [] {
            Future<int> slow = spawn([]() -> Result<int> {
                for (int i = 0; i < 10; ++i) yield();
                return 7;
            });
            return slow.join();
        },
        with_workers(1));
    EXPECT_EQ(outcome, 7);
}

TEST(Fiber, FIB_2b_join_blocks_a_plain_thread) {
    Runtime runtime(with_workers(1));
    Atomic<bool> go{false};
    FiberId id;
    Future<int> future = runtime.spawn([&]() -> Result<int> {
        while (!go.load(kAcquire)) WEFT_TRY(park());
        return 7;
    });
    id = future.id();
    std::thread waker([&] {
        go.store(true, kRelease);
        unpark(id);
    });
    EXPECT_EQ(future.join(), 7);
    waker.join();
}

TEST(Fiber, FIB_2b_join_gives_the_error_of_the_body) {
    Result<int> outcome = run([] {
        Future<int> future = spawn([]() -> Result<int> { return Error(ErrorKind::Limit, "full"); });
        return future.join();
    });
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().kind(), ErrorKind::Limit);
    EXPECT_EQ(outcome.error().message(), "full");
}

TEST(Fiber, FIB_2b_a_join_that_times_out_may_be_repeated) {
    Runtime runtime(with_workers(1));
    Future<int> future = runtime.spawn([]() -> Result<int> {
        WEFT_TRY(park());
        return 7;
    });
    EXPECT_EQ(future.join(Deadline::after(1ms)).error().kind(), ErrorKind::TimedOut);
    EXPECT_EQ(future.join(Deadline::after(-1s)).error().kind(), ErrorKind::TimedOut);
    unpark(future.id());
    EXPECT_EQ(future.join(), 7);
}

TEST(Fiber, FIB_2b_a_join_that_is_cancelled_may_be_repeated) {
    Result<int> outcome = run([]() -> Result<int> {
        Future<int> slow = spawn([]() -> Result<int> {
            WEFT_TRY(park());
            return 7;
        });
        CancelSource source;
        {
            CancelScope scope(source.token());
            spawn([&] { source.cancel(); });
            EXPECT_EQ(slow.join().error().kind(), ErrorKind::Cancelled);
        }
        unpark(slow.id());
        return slow.join();
    });
    EXPECT_EQ(outcome, 7);
}

struct Boom : std::runtime_error {
    Boom() : std::runtime_error("boom") {}
    int code = 17;
};

TEST(Fiber, FIB_2c_what_the_body_threw_is_in_the_error_of_join) {
    Result<int> outcome = run([] {
        Future<int> future = spawn([]() -> int { throw Boom(); });
        return future.join();
    });
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().kind(), ErrorKind::Exception);
    EXPECT_THAT(outcome.error().message(), HasSubstr("boom"));
    ASSERT_TRUE(outcome.error().exception());
    try {
        outcome.error().rethrow();
        FAIL() << "rethrow returned";
    } catch (const Boom& boom) {
        EXPECT_EQ(boom.code, 17);
    }
}

TEST(Fiber, FIB_2c_an_exception_that_is_no_std_exception_arrives_as_well) {
    Runtime runtime(with_workers(1));
    Result<void> outcome = runtime.spawn([] { throw 5; }).join();
    ASSERT_FALSE(outcome);
    EXPECT_THROW(outcome.error().rethrow(), int);
}

TEST(Fiber, FIB_2c_the_stack_is_unwound_by_an_exception) {
    Runtime runtime(with_workers(1));
    auto witness = std::make_shared<int>(1);
    Result<void> outcome = runtime
                               .spawn([&] {
                                   std::shared_ptr<int> copy = witness;
                                   yield();
                                   throw Boom();
                               })
                               .join();
    EXPECT_FALSE(outcome);
    EXPECT_EQ(witness.use_count(), 1);
}

TEST(Fiber, FIB_2d_a_second_join_is_an_error) {
    Runtime runtime(with_workers(1));
    Future<int> future = runtime.spawn([] { return 1; });
    EXPECT_TRUE(future.join());
    Result<int> again = future.join();
    EXPECT_EQ(again.error().kind(), ErrorKind::Misuse);
    EXPECT_EQ(again.error().message(),
              "this Future has been joined, detached or moved from: an outcome is taken once");
    Future<int> moved_from = runtime.spawn([] { return 2; });
    Future<int> moved_to = std::move(moved_from);
    EXPECT_EQ(moved_from.join().error().kind(), ErrorKind::Misuse);
    EXPECT_EQ(moved_to.join(), 2);
    EXPECT_EQ(Future<int>().join().error().kind(), ErrorKind::Misuse);
}

TEST(Fiber, FIB_2d_a_second_join_of_a_fiber_that_did_not_start_is_an_error) {
    Future<int> future = spawn([] { return 1; });  // on a plain thread
    EXPECT_EQ(future.join().error().kind(), ErrorKind::NoRuntime);
    EXPECT_FALSE(future.join());
}

TEST(Fiber, FIB_2e_a_dropped_handle_lets_the_fiber_go_on) {
    Runtime runtime(with_workers(1));
    Atomic<bool> ended{false};
    {
        Future<void> dropped = runtime.spawn([&] {
            for (int i = 0; i < 100; ++i) yield();
            ended.store(true, kRelaxed);
        });
    }
    runtime.run();
    EXPECT_TRUE(ended.load(kRelaxed));
}

TEST(Fiber, FIB_2e_the_error_of_a_dropped_fiber_is_logged_and_counted) {
    testing::CapturedLog log;
    Runtime runtime(with_workers(1));
    {
        Future<void> before_its_end = runtime.spawn([]() -> Result<void> {
            for (int i = 0; i < 100; ++i) yield();
            return Error(ErrorKind::Limit, "dropped early");
        });
    }
    runtime.run();
    Future<void> after_its_end =
        runtime.spawn([]() -> Result<void> { return Error(ErrorKind::Limit, "dropped late"); });
    runtime.run();
    after_its_end.detach();
    EXPECT_TRUE(log.contains("dropped early"));
    EXPECT_TRUE(log.contains("dropped late"));
    EXPECT_EQ(runtime.counters().dropped_errors.value(), 2u);
}

TEST(Fiber, FIB_2e_the_log_calls_a_dropped_fiber_by_its_name) {
    testing::CapturedLog log;
    Runtime runtime(with_workers(1));
    auto fails = []() -> Result<void> {
        for (int i = 0; i < 100; ++i) yield();
        return Error(ErrorKind::Other, "no way");
    };
    static_cast<void>(runtime.spawn(fails, {.name = "early"}));
    runtime.run();
    Future<void> after_its_end = runtime.spawn(fails, {.name = "late"});
    runtime.run();
    after_its_end.detach();
    EXPECT_TRUE(log.contains("fiber 'early', which nobody joined, ended with an error: no way"));
    EXPECT_TRUE(log.contains("fiber 'late', which nobody joined, ended with an error: no way"));
}

TEST(Fiber, FIB_2e_dropped_fibers_that_fail_again_and_again_do_not_flood_the_log) {
    testing::CapturedLog log;
    Runtime runtime(with_workers(1));
    for (int i = 0; i < 100; ++i) {
        static_cast<void>(
            runtime.spawn([]() -> Result<void> { return Error(ErrorKind::Other, "no way"); }));
        runtime.run();
    }
    EXPECT_EQ(log.lines().size(), LogLimit::kLines);
    EXPECT_EQ(runtime.counters().dropped_errors.value(), 100u);
}

TEST(Fiber, FIB_2e_an_exception_of_a_detached_fiber_is_logged_and_counted) {
    testing::CapturedLog log;
    Runtime runtime(with_workers(1));
    ASSERT_TRUE(runtime.spawn_detached([] { throw Boom(); }));
    ASSERT_TRUE(testing::eventually([&] { return runtime.live_fibers() == 0; }));
    EXPECT_TRUE(log.contains("boom"));
    EXPECT_EQ(runtime.counters().dropped_errors.value(), 1u);
}

TEST(Fiber, FIB_2e_a_success_that_nobody_takes_is_silent_and_destroyed) {
    testing::CapturedLog log;
    auto witness = std::make_shared<int>(1);
    Runtime runtime(with_workers(1));
    {
        Future<std::shared_ptr<int>> dropped = runtime.spawn([=] { return witness; });
    }
    runtime.run();
    ASSERT_TRUE(testing::eventually([&] { return witness.use_count() == 1; }));
    EXPECT_TRUE(log.lines().empty());
    EXPECT_EQ(runtime.counters().dropped_errors.value(), 0u);
}

// Both orders of "the handle is dropped" and "the fiber ends", and all between, in a hurry.
TEST(Fiber, FIB_2e_dropping_and_ending_at_the_same_moment_neither_leaks_nor_frees_twice) {
    auto witness = std::make_shared<int>(1);
    {
        Runtime runtime(with_workers(2));
        for (std::size_t i = 0; i < testing::repeats(20'000); ++i) {
            Future<std::shared_ptr<int>> dropped = runtime.spawn([=] { return witness; });
            if (i % 3 == 0) yield();
        }
        runtime.run();
    }
    EXPECT_EQ(witness.use_count(), 1);
}

// ---------------------------------------------------------------- yield, sleep

TEST(Fiber, FIB_3a_yield_lets_the_others_run_in_turn) {
    std::string order;
    Result<void> outcome = run(
        [&]() -> Result<void> {
            std::vector<Future<void>> fibers;
            for (char name : {'a', 'b', 'c'}) {
                fibers.push_back(spawn([&order, name] {
                    for (int i = 0; i < 3; ++i) {
                        order += name;
                        yield();
                    }
                }));
            }
            for (Future<void>& fiber : fibers) WEFT_TRY(fiber.join());
            return {};
        },
        with_workers(1));
    EXPECT_TRUE(outcome);
    ASSERT_EQ(order.size(), 9u);
    // Whatever the first round's order, the next ones repeat it.
    EXPECT_EQ(order.substr(3, 3), order.substr(6, 3));
    for (char name : {'a', 'b', 'c'}) EXPECT_EQ(std::ranges::count(order, name), 3);
}

TEST(Fiber, FIB_3a_yield_off_a_fiber_does_nothing) {
    yield();
    EXPECT_FALSE(current());
}

TEST(Fiber, FIB_3b_sleep_is_never_early_in_a_fiber_and_in_a_thread) {
    auto sleeps_long_enough = [] {
        for (auto duration : {0us, 1us, 100us, 3000us}) {
            Instant before = Clock::now();
            if (!weft::sleep_for(duration)) return false;
            if (Clock::now() - before < duration) return false;
        }
        Deadline deadline = Deadline::after(2ms);
        return weft::sleep_until(deadline) && deadline.expired(Clock::now());
    };
    EXPECT_TRUE(sleeps_long_enough());
    EXPECT_EQ(run([&] { return sleeps_long_enough(); }), true);
}

TEST(Fiber, FIB_3b_a_sleep_in_the_past_returns_at_once) {
    Result<bool> outcome = run([]() -> Result<bool> {
        Instant before = Clock::now();
        WEFT_TRY(weft::sleep_for(-1h));
        WEFT_TRY(weft::sleep_until(Deadline::at(Instant::min())));
        return Clock::now() - before < 1min;
    });
    EXPECT_EQ(outcome, true);
    EXPECT_TRUE(weft::sleep_for(-1h));
}

TEST(Fiber, FIB_3b_a_sleeping_fiber_does_not_hold_its_worker) {
    Result<bool> outcome = run(
        []() -> Result<bool> {
            Instant before = Clock::now();
            std::vector<Future<void>> sleepers;
            for (int i = 0; i < 100; ++i)
                sleepers.push_back(spawn([] { return weft::sleep_for(100ms); }));
            for (Future<void>& sleeper : sleepers) WEFT_TRY(sleeper.join());
            return Clock::now() - before < 5s;  // one after the other: ten seconds
        },
        with_workers(1));
    EXPECT_EQ(outcome, true);
}

TEST(Fiber, FIB_3b_a_cancelled_sleep_ends_at_once) {
    Runtime runtime(with_workers(1));
    CancelSource source = CancelSource::detached();
    Atomic<bool> asleep{false};
    Future<void> sleeper = runtime.spawn([&, token = source.token()] {
        CancelScope scope(token);
        asleep.store(true, kRelease);
        return weft::sleep_for(1h);
    });
    ASSERT_TRUE(testing::eventually([&] { return asleep.load(kAcquire); }));
    source.cancel();
    EXPECT_EQ(sleeper.join().error().kind(), ErrorKind::Cancelled);
}

TEST(Fiber, FIB_11b_a_fiber_has_the_name_it_was_spawned_with) {
    Runtime runtime(with_workers(1));
    auto name = [] { return std::string(current_name()); };
    std::string text = "a name long enough to need memory of its own";
    Future<std::string> named = runtime.spawn(name, {.name = text});
    text.assign(text.size(), 'x');  // the fiber keeps a copy
    EXPECT_EQ(named.join(), "a name long enough to need memory of its own");
    EXPECT_EQ(runtime.spawn(name).join(), "");  // perhaps in the same block
    EXPECT_EQ(run(name), "main");
    EXPECT_EQ(current_name(), "");
}

TEST(Fiber, FIB_11b_a_name_does_not_pass_to_the_next_fiber_of_the_block) {
    Result<bool> outcome = run(
        []() -> Result<bool> {
            bool good = true;
            for (int i = 0; i < 100; ++i) {
                std::string wanted = i % 2 ? "odd" : "";
                auto name = [] { return std::string(current_name()); };
                SpawnOptions options;
                if (i % 2) options.name = wanted;
                good &= WEFT_TRY(spawn(name, options).join())
                == wanted;
            }
            return good;
        },
        with_workers(1));
    EXPECT_EQ(outcome, true);
}

}  // namespace
}  // namespace weft
