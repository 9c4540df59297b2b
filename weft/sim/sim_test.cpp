#include "weft/sim/sim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "weft/base/env.h"
#include "weft/base/log.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"
#include "weft/sync/channel.h"
#include "weft/sync/mutex.h"
#include "weft/testing/scale.h"

#ifdef WEFT_ASAN
#include <sanitizer/lsan_interface.h>
#endif

namespace weft::sim {
namespace {

using namespace std::chrono_literals;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

// A failed run is abandoned with what it had allocated: that is no leak.
Report run_to_failure(const Options& options, const std::function<void()>& scenario) {
#ifdef WEFT_ASAN
    __lsan::ScopedDisabler abandoned;
#endif
    Report report = run(options, scenario);
    EXPECT_FALSE(report.ok());
    return report;
}

// Something that uses workers, timers, channels and randomness.
void busy() {
    Runtime runtime({.workers = 3});
    Channel<std::uint64_t> channel(1);
    Future<void> sender = runtime.spawn([&] {
        for (int i = 0; i < 10; ++i) static_cast<void>(channel.send(random_below(1000)));
        channel.close();
    });
    Future<std::uint64_t> receiver = runtime.spawn([&] {
        std::uint64_t sum = 0;
        for (Result<std::uint64_t> number : channel) {
            sum += number.value();
            if (coin()) static_cast<void>(weft::sleep_for(1ms));
        }
        return sum;
    });
    require(sender.join().has_value() && receiver.join().has_value(), "a fiber failed");
}

// ---------------------------------------------------------------- SIM-1

TEST(Sim, SIM_1b_another_seed_gives_another_trace) {
    std::map<std::uint64_t, std::uint64_t> seeds;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        Report report = run({.seed = seed}, busy);
        ASSERT_TRUE(report.ok()) << report.text();
        auto [found, is_new] = seeds.try_emplace(report.trace_hash, seed);
        EXPECT_TRUE(is_new) << "seeds " << found->second << " and " << seed;
    }
}

TEST(Sim, SIM_1a_what_is_logged_goes_into_the_trace_and_changes_nothing_else) {
    auto logs = [] { log(LogLevel::Error, "the {} is lost", "item"); };
    Report kept = run({.seed = 1, .keep_trace = true}, logs);
    EXPECT_THAT(kept.text(), HasSubstr("the item is lost"));
    set_log_level(LogLevel::Off);
    Report off = run({.seed = 1}, logs);
    set_log_level(LogLevel::Warn);
    EXPECT_EQ(kept.trace_hash, off.trace_hash);
    EXPECT_EQ(kept.steps, off.steps);
}

TEST(Sim, SIM_1a_an_hour_passes_in_a_moment) {
    Instant begun = Clock::now();
    Report report = run({.seed = 1}, [] {
        Runtime runtime({.workers = 2});
        Instant before = Clock::now();
        require(runtime.spawn([] { return weft::sleep_for(1h); }).join().has_value(), "no sleep");
        require(Clock::now() - before >= 1h, "the clock stood still");
        require(Clock::now() - before < 1h + 1s, "the clock ran on");
    });
    ASSERT_TRUE(report.ok()) << report.text();
    EXPECT_GE(report.virtual_ns, Nanoseconds(1h).count());
    EXPECT_LT(Clock::now() - begun, 5s);
}

TEST(Sim, SIM_1a_time_stands_still_while_somebody_can_run) {
    Options options{.seed = 1, .faults = Faults::none()};
    Report report = run(options, [] {
        Runtime runtime({.workers = 2});
        Future<void> sleeper = runtime.spawn([] { return weft::sleep_for(1h); });
        Future<void> worker = runtime.spawn([] {
            for (int i = 0; i < 1000; ++i) yield();
        });
        require(worker.join().has_value(), "the worker failed");
        require(!sleeper.is_done(), "the hour passed although somebody was busy");
    });
    ASSERT_TRUE(report.ok()) << report.text();
}

TEST(Sim, SIM_1a_scheduling_workload_and_faults_draw_from_separate_streams) {
    auto workload_under = [](const Faults& faults, Chooser chooser) {
        std::vector<std::uint64_t> drawn;
        Report report = run({.seed = 7, .chooser = chooser, .faults = faults}, [&] {
            Runtime runtime({.workers = 3});
            for (int i = 0; i < 20; ++i) {
                drawn.push_back(random_below(1'000'000));
                require(runtime.spawn([] { yield(); }).join().has_value(), "no fiber");
            }
        });
        EXPECT_TRUE(report.ok()) << report.text();
        return drawn;
    };
    auto expected = workload_under(Faults::none(), Chooser::Random);
    Faults faults = Faults::all();
    faults.allocation = false;
    EXPECT_EQ(workload_under(faults, Chooser::Random), expected);
    EXPECT_EQ(workload_under(Faults::none(), Chooser::RoundRobin), expected);
    EXPECT_EQ(workload_under(faults, Chooser::StarveOne), expected);
}

TEST(Sim, SIM_1a_every_chooser_comes_to_the_end) {
    for (Chooser chooser :
         {Chooser::Random, Chooser::Priorities, Chooser::RoundRobin, Chooser::StarveOne}) {
        for (std::uint64_t seed = 1; seed <= 50; ++seed) {
            Report report = run({.seed = seed, .chooser = chooser}, busy);
            ASSERT_TRUE(report.ok()) << report.text();
        }
    }
}

TEST(Sim, SIM_1a_a_thread_of_the_program_is_played_too) {
    Report report = run({.seed = 3}, [] {
        int answer = 0;
        EnvThread thread = env::start_thread(
            [](void* to) {
                static_cast<void>(weft::sleep_for(1h));
                *static_cast<int*>(to) = 5;
            },
            &answer, "thread");
        env::join_thread(thread);
        require(answer == 5, "the thread was not awaited");
    });
    EXPECT_TRUE(report.ok()) << report.text();
}

TEST(Sim, SIM_1a_a_deadlock_names_those_who_wait) {
    Report report = run_to_failure({.seed = 1}, [] {
        Runtime runtime({.workers = 2});
        Mutex first;
        Mutex second;
        auto lock_both = [](Mutex& a, Mutex& b) {
            return [&a, &b] {
                a.lock();
                static_cast<void>(weft::sleep_for(1ms));
                b.lock();
            };
        };
        Future<void> one = runtime.spawn(lock_both(first, second), {.name = "left"});
        Future<void> two = runtime.spawn(lock_both(second, first), {.name = "right"});
        static_cast<void>(one.join());
    });
    EXPECT_THAT(report.failure, HasSubstr("deadlock"));
    EXPECT_THAT(report.failure, HasSubstr("thread main.0: waits on join"));
    EXPECT_THAT(report.failure, HasSubstr("fiber 'left': waiting on mutex"));
    EXPECT_THAT(report.failure, HasSubstr("fiber 'right': waiting on mutex"));
}

// Without fibers, the report shows what the threads themselves wait for.
TEST(Sim, SIM_1a_a_deadlock_of_plain_threads_names_what_they_wait_for) {
    Report report = run_to_failure({.seed = 1}, [] {
        Channel<int> channel(1);
        auto receive = [](void* from) {
            static_cast<void>(static_cast<Channel<int>*>(from)->receive());
        };
        env::join_thread(env::start_thread(receive, &channel, "reader"));
    });
    EXPECT_THAT(report.failure, HasSubstr("thread main.0: waits for the end of reader.1"));
    EXPECT_THAT(report.failure, HasSubstr("thread reader.1: waits on channel"));
    EXPECT_THAT(report.failure, Not(HasSubstr("fiber")));
}

#if defined(WEFT_SYMBOLS) && !defined(NDEBUG)  // the NDEBUG build has no line numbers

TEST(Sim, SIM_4d_a_deadlock_that_is_told_shows_where_they_wait) {
    Report report = run_to_failure({.seed = 1, .tell_story = true}, [] {
        Runtime runtime({.workers = 1});
        Channel<int> channel(1);
        Future<void> reader =
            runtime.spawn([&] { static_cast<void>(channel.receive()); }, {.name = "reader"});
        static_cast<void>(channel.receive());
    });
    EXPECT_THAT(report.failure,
                ContainsRegex("thread main.0: waits on channel at .*sim_test.cpp:"));
    EXPECT_THAT(report.failure,
                ContainsRegex("fiber 'reader': waiting on channel .* at .*sim_test.cpp:"));
}

#endif

TEST(Sim, SIM_1a_a_run_without_an_end_is_ended) {
    Options options{.seed = 1, .steps_max = 20'000};
    Report endless = run_to_failure(options, [] {
        Runtime runtime({.workers = 2});
        Future<void> one = runtime.spawn([] {
            for (;;) yield();
        });
        static_cast<void>(one.join());
    });
    EXPECT_THAT(endless.failure, HasSubstr("no end after 20001 steps"));
    Report spinning = run_to_failure({.seed = 1}, [] {
        for (unsigned attempt = 0;; ++attempt) env::spin_pause(attempt);
    });
    EXPECT_THAT(spinning.failure, HasSubstr("a thread spins for ever"));
}

TEST(Sim, SIM_1c_a_failure_is_replayed) {
    auto scenario = [] {
        busy();
        fail("as it must");
    };
    Report first = run_to_failure({.seed = 11}, scenario);
    EXPECT_EQ(first.failure, "as it must");
    EXPECT_THAT(first.text(), HasSubstr("seed 11: as it must"));
    EXPECT_FALSE(first.trace.empty());
    Options options{.seed = 11, .keep_trace = true};
    Report again = run_to_failure(options, scenario);
    EXPECT_EQ(again.failure, first.failure);
    EXPECT_EQ(again.trace_hash, first.trace_hash);
    EXPECT_GE(again.trace.size(), first.trace.size());
    EXPECT_EQ(again.trace.back(), first.trace.back());
    // What was left behind does no harm to the next run.
    EXPECT_TRUE(run({.seed = 12}, busy).ok());
}

TEST(Sim, SIM_1c_an_interruption_comes_at_its_step) {
    auto interrupted_at = [](std::uint64_t step) {
        struct Progress {
            bool waits = false;
            bool woken = false;
        } progress;
        Options options{.seed = 5, .interrupt_at = step, .keep_trace = true};
        Report report = run(options, [&] {
            EnvThread thread = env::start_thread(
                [](void* to) {
                    static_cast<Progress*>(to)->waits = true;
                    await_interrupt();
                    static_cast<Progress*>(to)->woken = true;
                },
                &progress, "interrupter");
            for (unsigned attempt = 0; !progress.waits; ++attempt) env::spin_pause(attempt);
            busy();
            env::join_thread(thread);
        });
        EXPECT_TRUE(report.ok() && progress.woken) << report.text();
        return report;
    };
    for (std::uint64_t step : {40, 50, 60}) {
        Report report = interrupted_at(step);
        std::string wanted = std::to_string(step) + " ";
        bool found = false;
        for (const std::string& line : report.trace)
            found = found || (line.find(" interrupt ") != std::string::npos &&
                              line.find(wanted) != std::string::npos);
        EXPECT_TRUE(found) << step;
    }
    static_cast<void>(interrupted_at(UINT64_MAX));  // it returns when no other thread can run
}

}  // namespace
}  // namespace weft::sim
