// The scenarios of HTTP, as the tests of weft/sim do with theirs.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
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
        EXPECT_EQ(find_scenario(scenario.name), nullptr) << scenario.name;
        EXPECT_FALSE(scenario.about.empty());
    }
}

#ifdef WEFT_CHECKED

class PlantedHttp : public ::testing::TestWithParam<const char*> {};

// Else what follows would prove nothing.
TEST(PlantedHttpControl, SIM_2_nothing_is_found_without_a_bug) {
    testing::PlantedBug none(http_scenarios(), "no.bug");
    EXPECT_FALSE(none.is_found_within(2'000)) << "seed " << none.seed();
}

TEST_P(PlantedHttp, SIM_2_is_found_within_20000_seeds) {
    testing::PlantedBug bug(http_scenarios(), GetParam());
    ASSERT_TRUE(bug.is_found_within(20'000)) << GetParam();
    bug.print();
}

INSTANTIATE_TEST_SUITE_P(All, PlantedHttp,
                         ::testing::Values("client.takes_without_the_lock",
                                           "client.sweeps_no_more"),
                         testing::name_of_bug);

#endif

}  // namespace
}  // namespace weft::sim
