// All scenarios of the floor: what holds for each of them.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/sim/floor/table.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"
#include "weft/testing/scale.h"

#ifdef WEFT_ASAN
#include <sanitizer/lsan_interface.h>
#endif

namespace weft::sim {
namespace {

// A failed run is abandoned with what it had allocated: that is no leak.
Report run_to_failure(const Options& options, const std::function<void()>& scenario) {
#ifdef WEFT_ASAN
    __lsan::ScopedDisabler abandoned;
#endif
    Report report = run(options, scenario);
    EXPECT_FALSE(report.ok());
    return report;
}

Report run_dealt(std::uint64_t seed, const Faults& faults = Faults::all()) {
    Options options;
    options.seed = seed;
    options.faults = faults;
    return run(all_scenarios()[seed % all_scenarios().size()], options);
}

TEST(Sim, SIM_1b_the_same_seed_gives_the_same_trace) {
    std::uint64_t count = testing::is_long() ? 10'000 : testing::repeats(300);
    std::vector<Report> first;
    for (std::uint64_t seed = 0; seed < count; ++seed) first.push_back(run_dealt(seed));
    // Backwards, so that each run finds the process in another state than the first time.
    for (std::uint64_t seed = count; seed-- > 0;) {
        Report again = run_dealt(seed);
        ASSERT_EQ(again.trace_hash, first[seed].trace_hash) << "seed " << seed;
        ASSERT_EQ(again.steps, first[seed].steps);
        ASSERT_EQ(again.virtual_ns, first[seed].virtual_ns);
        ASSERT_TRUE(again.ok()) << again.text();
    }
}

TEST(Sim, SIM_1b_threads_may_simulate_at_the_same_time) {
    std::array<std::uint64_t, 60> alone{};
    for (std::uint64_t seed = 0; seed < alone.size(); ++seed)
        alone[seed] = run_dealt(seed).trace_hash;
    auto repeat = [&alone] {
        for (std::uint64_t seed = 0; seed < alone.size(); ++seed)
            EXPECT_EQ(run_dealt(seed).trace_hash, alone[seed]) << "seed " << seed;
    };
    std::thread other(repeat);
    repeat();
    other.join();
}

TEST(Sim, SIM_1b_a_failed_run_leaves_nothing_to_the_next) {
    static_cast<void>(run_to_failure({.seed = 1}, [] {
        Runtime runtime({.workers = 2});
        static_cast<void>(runtime.spawn([] { return park(); }).join());
    }));
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        Report report =
            run(*find_scenario("pipe-traffic"), {.seed = seed, .faults = Faults::all()});
        ASSERT_TRUE(report.ok()) << report.text();
    }
}

TEST(Sim, SIM_1c_scenarios_survive_an_interruption_at_every_step) {
    std::uint64_t seeds = testing::is_long() ? 40 : 1;
    for (const Scenario& scenario : all_scenarios()) {
        if (!scenario.name.ends_with("-anywhere")) continue;
        std::uint64_t steps = 0;
        for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
            Options options;
            options.seed = seed;
            options.faults = Faults::all();
            EveryStep all = run_every_step(scenario, options);
            ASSERT_TRUE(all.report.ok())
                << scenario.name << " interrupted at " << all.interrupt_at << '\n'
                << all.report.text();
            steps += all.runs;
        }
        EXPECT_GT(steps, 8 * seeds) << scenario.name;  // a fault may end one early
    }
}

TEST(Sim, SIM_1a_every_scenario_has_a_name_of_its_own) {
    std::map<std::string_view, int> names;
    for (const Scenario& scenario : all_scenarios()) {
        EXPECT_EQ(++names[scenario.name], 1) << scenario.name;
        EXPECT_EQ(find_scenario(scenario.name), &scenario);
        EXPECT_FALSE(scenario.about.empty());
    }
    EXPECT_EQ(find_scenario("nothing"), nullptr);
}

}  // namespace
}  // namespace weft::sim
