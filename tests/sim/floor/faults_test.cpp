// Each kind of fault is really injected, and survived; and none is when it is switched off.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

#include "tests/sim/floor/table.h"
#include "weft/base/time.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"
#include "weft/sim/sim.h"
#include "weft/sync/channel.h"
#include "weft/testing/scale.h"

namespace weft::sim {
namespace {

std::uint64_t seeds() { return testing::is_long() ? 4'000 : testing::repeats(200); }

// Runs a scenario with one kind of fault; gives how often that was injected.
std::uint64_t injected_into(std::string_view name, bool Faults::* kind,
                            std::uint64_t FaultCounts::* count) {
    const Scenario* scenario = find_scenario(name);
    EXPECT_NE(scenario, nullptr) << name;
    if (!scenario) return 0;
    std::uint64_t injected = 0;
    for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
        Options options;
        options.seed = seed;
        options.faults = Faults::none();
        options.faults.*kind = true;
        Report report = run(*scenario, options);
        EXPECT_TRUE(report.ok()) << name << '\n' << report.text();
        if (!report.ok()) break;
        injected += report.injected.*count;
    }
    return injected;
}

TEST(SimFaults, SIM_2a_short_reads_and_writes) {
    EXPECT_GT(
        injected_into("pipe-traffic", &Faults::short_transfers, &FaultCounts::short_transfers), 0U);
}

TEST(SimFaults, SIM_2b_resets) {
    EXPECT_GT(injected_into("pipe-resets", &Faults::resets, &FaultCounts::resets), 0U);
}

TEST(SimFaults, SIM_2c_delays) {
    EXPECT_GT(injected_into("pipe-traffic", &Faults::delays, &FaultCounts::delays), 0U);
}

TEST(SimFaults, SIM_2d_storms_of_would_block) {
    EXPECT_GT(injected_into("pipe-traffic", &Faults::would_block, &FaultCounts::would_block), 0U);
}

TEST(SimFaults, SIM_2d_spurious_readiness) {
    EXPECT_GT(injected_into("pipe-messages", &Faults::spurious_readiness,
                            &FaultCounts::spurious_readiness),
              0U);
}

TEST(SimFaults, SIM_2e_failed_allocations) {
    for (const char* name : {"no-memory-spawn", "no-memory-channel", "no-memory-pipe"})
        EXPECT_GT(injected_into(name, &Faults::allocation, &FaultCounts::allocation), 0U) << name;
}

TEST(SimFaults, SIM_2e_any_one_allocation_may_fail) {
    std::uint64_t runs = 0;
    for (const Scenario& scenario : all_scenarios()) {
        if (!scenario.faults.allocation) continue;
        for (std::uint64_t seed = 1; seed <= testing::repeats(50); ++seed) {
            EveryAllocation all = run_every_allocation(scenario, {.seed = seed});
            ASSERT_TRUE(all.report.ok()) << scenario.name << ", allocation " << all.failing << '\n'
                                         << all.report.text();
            EXPECT_EQ(all.report.injected.allocation, all.failing == 0 ? 0U : 1U);
            runs += all.runs;
        }
    }
    EXPECT_GT(runs, 5 * testing::repeats(50));
}

// Which of them failed can be told by where the error comes out.
TEST(SimFaults, SIM_2e_stacks_and_blocks_and_buffers_fail) {
    int blocks = 0;
    int stacks = 0;
    int buffers = 0;
    Options options;
    options.faults = Faults::none();
    options.faults.allocation = true;
    for (options.seed = 1; options.seed <= 100; ++options.seed) {
        Report report = run(options, [&] {
            Runtime runtime({.workers = 2});
            Future<void> fiber = runtime.spawn([] {});
            bool started = static_cast<bool>(fiber);
            Result<void> joined = fiber.join();
            if (!joined) require(joined.error().kind() == ErrorKind::OutOfMemory, "odd error");
            if (!joined) ++(started ? stacks : blocks);
            Channel<int> channel(2);
            Result<void> sent = channel.send(1);
            if (!sent) require(sent.error().kind() == ErrorKind::OutOfMemory, "odd error");
            if (!sent) ++buffers;
        });
        ASSERT_TRUE(report.ok()) << report.text();
    }
    EXPECT_GT(blocks, 0);
    EXPECT_GT(stacks, 0);
    EXPECT_GT(buffers, 0);
}

TEST(SimFaults, SIM_2f_the_clock_jumps) {
    EXPECT_GT(injected_into("sleepers", &Faults::pauses, &FaultCounts::pauses), 0U);
}

// The jump is seen by whoever looks at the clock, timers that it passes fire, and none does early.
TEST(SimFaults, SIM_2f_a_jump_of_the_clock_is_seen_and_no_timer_is_early) {
    Options options;
    options.faults = Faults::none();
    options.faults.pauses = true;
    std::uint64_t jumps_seen = 0;
    std::uint64_t late_timers = 0;
    std::uint64_t injected = 0;
    for (options.seed = 1; options.seed <= seeds(); ++options.seed) {
        Report report = run(options, [&] {
            Runtime runtime({.workers = 2});
            Future<void> sleeper = runtime.spawn([&] {
                for (int i = 0; i < 200; ++i) {
                    Instant due = Clock::now() + std::chrono::microseconds(50);
                    require(weft::sleep_until(Deadline::at(due)).has_value(), "no sleep");
                    require(Clock::now() >= due, "a timer was early");
                    if (Clock::now() - due > std::chrono::milliseconds(1)) ++late_timers;
                }
            });
            Future<void> looker = runtime.spawn([&] {
                for (int i = 0; i < 500; ++i) {
                    Instant before = Clock::now();
                    yield();
                    // Others' steps take nanoseconds, and sleeps at most 50 us each.
                    if (Clock::now() - before > std::chrono::milliseconds(1)) ++jumps_seen;
                }
            });
            require(sleeper.join().has_value() && looker.join().has_value(), "a fiber failed");
        });
        ASSERT_TRUE(report.ok()) << report.text();
        if (report.injected.pauses == 0) {
            ASSERT_LT(report.virtual_ns, 2'000'000'000);
        }
        injected += report.injected.pauses;
    }
    EXPECT_GT(injected, 0U);
    EXPECT_GT(jumps_seen, 0U);
    EXPECT_GT(late_timers, 0U);
}

#ifdef WEFT_NET

TEST(SimFaults, SIM_2b_connections_are_reset) {
    EXPECT_GT(injected_into("socket-resets", &Faults::resets, &FaultCounts::resets), 0U);
}

TEST(SimFaults, SIM_2b_connects_fail) {
    EXPECT_GT(injected_into("socket-connects", &Faults::connects, &FaultCounts::connects), 0U);
}

TEST(SimFaults, SIM_2b_descriptors_run_out) {
    EXPECT_GT(injected_into("socket-exhaustion", &Faults::descriptors, &FaultCounts::descriptors),
              0U);
}

TEST(SimFaults, SIM_2_sockets_have_the_faults_of_pipes) {
    EXPECT_GT(injected_into("socket-echo", &Faults::short_transfers, &FaultCounts::short_transfers),
              0U);
    EXPECT_GT(injected_into("socket-echo", &Faults::would_block, &FaultCounts::would_block), 0U);
    EXPECT_GT(injected_into("socket-echo", &Faults::delays, &FaultCounts::delays), 0U);
    EXPECT_GT(
        injected_into("socket-echo", &Faults::spurious_readiness, &FaultCounts::spurious_readiness),
        0U);
}

#endif

TEST(SimFaults, SIM_2_none_when_switched_off) {
    for (const Scenario& scenario : all_scenarios()) {
        Report report = run(scenario, {.seed = 3, .faults = Faults::none()});
        ASSERT_TRUE(report.ok()) << scenario.name << '\n' << report.text();
        const FaultCounts& counts = report.injected;
        EXPECT_EQ(counts.short_transfers + counts.would_block + counts.spurious_readiness +
                      counts.delays + counts.pauses + counts.allocation + counts.resets +
                      counts.connects + counts.descriptors,
                  0U);
    }
}

TEST(SimFaults, SIM_2_a_scenario_is_spared_what_it_cannot_stand) {
    std::uint64_t refused = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        Report report = run(*find_scenario("spawn-tree"), {.seed = seed, .faults = Faults::all()});
        ASSERT_TRUE(report.ok()) << report.text();
        refused += report.injected.allocation + report.injected.resets;
    }
    EXPECT_EQ(refused, 0U);
}

}  // namespace
}  // namespace weft::sim
