// The scenarios of HTTP, as the tests of weft/sim do with theirs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "tests/sim/scenarios.h"
#include "weft/base/planted.h"
#include "weft/testing/planted_bug.h"
#include "weft/testing/scale.h"

namespace weft::sim {
namespace {

Report run_dealt(std::uint64_t seed) {
    Options options;
    options.seed = seed;
    options.faults = Faults::all();
    return run(http_scenarios()[seed % http_scenarios().size()], options);
}

TEST(SimHttp, SIM_2_the_same_seed_gives_the_same_trace) {
    std::uint64_t count = testing::is_long() ? 2'000 : testing::repeats(100);
    std::vector<Report> first;
    for (std::uint64_t seed = 0; seed < count; ++seed) first.push_back(run_dealt(seed));
    // Backwards, so that each run finds the process in another state than the first time.
    for (std::uint64_t seed = count; seed-- > 0;) {
        Report again = run_dealt(seed);
        ASSERT_TRUE(again.ok()) << again.text();
        ASSERT_EQ(again.trace_hash, first[seed].trace_hash) << "seed " << seed;
        ASSERT_EQ(again.steps, first[seed].steps);
        ASSERT_EQ(again.virtual_ns, first[seed].virtual_ns);
    }
}

TEST(SimHttp, SIM_2_every_scenario_has_a_name_of_its_own) {
    std::map<std::string_view, int> names;
    for (const Scenario& scenario : http_scenarios()) {
        EXPECT_EQ(++names[scenario.name], 1) << scenario.name;
        EXPECT_FALSE(scenario.about.empty());
    }
}

// Servers, clients and proxies meet each kind of fault.
TEST(SimHttp, SIM_2g_every_kind_of_fault_comes_to_servers_clients_and_proxies) {
    for (std::string_view name : {"http-server", "http-kept", "proxy"}) {
        FaultCounts sum;
        std::uint64_t runs = 0;
        for (const Scenario& scenario : http_scenarios()) {
            if (!scenario.name.starts_with(name)) continue;
            // With fewer, in any build, the rarest kind need not come.
            for (std::uint64_t seed = 1; seed <= 40; ++seed, ++runs) {
                Report report = run(scenario, {.seed = seed, .faults = Faults::all()});
                ASSERT_TRUE(report.ok()) << scenario.name << '\n' << report.text();
                sum.short_transfers += report.injected.short_transfers;
                sum.would_block += report.injected.would_block;
                sum.spurious_readiness += report.injected.spurious_readiness;
                sum.delays += report.injected.delays;
                sum.pauses += report.injected.pauses;
                sum.resets += report.injected.resets;
            }
        }
        EXPECT_GT(runs, 0U) << name;
        for (std::uint64_t count : {sum.short_transfers, sum.would_block, sum.spurious_readiness,
                                    sum.delays, sum.pauses, sum.resets}) {
            EXPECT_GT(count, 0U) << name;
        }
    }
}

// At every step, or as many of them as this build has time for.
TEST(SimHttp, SIM_2g_scenarios_survive_an_interruption_anywhere) {
    std::uint64_t interrupted = 0;
    for (const Scenario& scenario : http_scenarios()) {
        if (!scenario.name.ends_with("-anywhere")) continue;
        Options options;
        options.faults = Faults::all();
        options.interrupt_at = UINT64_MAX;
        Report report = run(scenario, options);
        ASSERT_TRUE(report.ok()) << report.text();
        std::uint64_t runs = testing::is_long() ? report.steps : testing::repeats(1'000);
        std::uint64_t stride = std::max<std::uint64_t>(report.steps / runs, 1);
        for (std::uint64_t step = 1, last = report.steps; step <= last; step += stride) {
            options.interrupt_at = step;
            report = run(scenario, options);
            ASSERT_TRUE(report.ok()) << scenario.name << " interrupted at " << step << '\n'
                                     << report.text();
            ++interrupted;
        }
    }
    EXPECT_GE(interrupted, 2 * testing::repeats(200));
}

// Each allocation of a stack, a block or a buffer that a seed makes, one in each run.
TEST(SimHttp, SIM_2e_any_one_allocation_of_a_server_or_a_client_may_fail) {
    std::uint64_t runs = 0;
    for (const Scenario& scenario : http_scenarios()) {
        if (!scenario.faults.allocation) continue;
        for (std::uint64_t seed = 1; seed <= testing::repeats(40); ++seed) {
            Options options{.seed = seed, .faults = Faults::all()};
            options.faults.allocation = false;
            EveryAllocation all = run_every_allocation(scenario, options);
            ASSERT_TRUE(all.report.ok()) << scenario.name << ", allocation " << all.failing << '\n'
                                         << all.report.text();
            runs += all.runs;
        }
    }
    EXPECT_GT(runs, 10 * testing::repeats(40));
}

#ifdef WEFT_CHECKED

struct Bug {
    const char* name;
    const char* scenario;  // that it is for; some hide in one step of many thousand
};

std::span<const Scenario> scenario_named(std::string_view name) {
    auto found = std::ranges::find(http_scenarios(), name, &Scenario::name);
    EXPECT_NE(found, http_scenarios().end()) << name;
    return {&*found, 1};
}

class PlantedHttp : public ::testing::TestWithParam<Bug> {};

// Else what follows would prove nothing.
TEST(PlantedHttpControl, SIM_2_nothing_is_found_without_a_bug) {
    testing::PlantedBug none(http_scenarios(), "no.bug");
    EXPECT_FALSE(none.is_found_within(2'000)) << "seed " << none.seed();
}

TEST_P(PlantedHttp, SIM_2_is_found_within_100000_seeds) {
    testing::PlantedBug bug(scenario_named(GetParam().scenario), GetParam().name);
    ASSERT_TRUE(bug.is_found_within(100'000)) << GetParam().name;
    bug.print();
}

INSTANTIATE_TEST_SUITE_P(All, PlantedHttp,
                         ::testing::Values(Bug{"body.takes_a_part_for_the_whole", "proxy-cut-off"},
                                           Bug{"client.keeps_the_place", "http-timeouts"},
                                           Bug{"client.sweeps_no_more", "http-kept"},
                                           Bug{"client.takes_without_the_lock", "http-kept"},
                                           Bug{"server.ends_without_a_word", "http-last"},
                                           Bug{"server.watches_nobody", "http-gone"},
                                           Bug{"server.writes_while_it_sends", "http-server"}),
                         [](const ::testing::TestParamInfo<Bug>& bug) {
                             return testing::name_of_bug(bug.param.name);
                         });

#endif

}  // namespace
}  // namespace weft::sim
