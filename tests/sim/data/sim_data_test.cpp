// The scenarios of databases, as the tests of weft/sim do with theirs.
#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "tests/sim/data/scenarios.h"
#include "weft/testing/planted_bug.h"
#include "weft/testing/scale.h"

namespace weft::sim {
namespace {

Report run_dealt(std::uint64_t seed) {
    Options options;
    options.seed = seed;
    options.faults = Faults::all();
    return run(data_scenarios()[seed % data_scenarios().size()], options);
}

TEST(SimData, DAT_5_the_same_seed_gives_the_same_trace) {
    std::uint64_t count = testing::is_long() ? 2'000 : testing::repeats(200);
    std::vector<Report> first;
    for (std::uint64_t seed = 0; seed < count; ++seed) first.push_back(run_dealt(seed));
    for (std::uint64_t seed = count; seed-- > 0;) {
        Report again = run_dealt(seed);
        ASSERT_TRUE(again.ok()) << again.text();
        ASSERT_EQ(again.trace_hash, first[seed].trace_hash) << "seed " << seed;
    }
}

#ifdef WEFT_CHECKED

class PlantedData : public ::testing::TestWithParam<const char*> {};

// Else what follows would prove nothing.
TEST(PlantedDataControl, DAT_5_nothing_is_found_without_a_bug) {
    testing::PlantedBug none(data_scenarios(), "no.bug");
    EXPECT_FALSE(none.is_found_within(2'000)) << "seed " << none.seed();
}

TEST_P(PlantedData, DAT_5_is_found_within_100000_seeds) {
    testing::PlantedBug bug(data_scenarios(), GetParam());
    ASSERT_TRUE(bug.is_found_within(100'000)) << GetParam();
    bug.print();
}

INSTANTIATE_TEST_SUITE_P(All, PlantedData,
                         ::testing::Values("data_pool.hands_to_the_ended",
                                           "data_pool.leaves_transactions_open",
                                           "data_pool.keeps_the_broken",
                                           "data_pool.forgets_a_failed_open",
                                           "data_pool.closes_without_waking"),
                         [](const auto& bug) { return testing::name_of_bug(bug.param); });

#endif

}  // namespace
}  // namespace weft::sim
