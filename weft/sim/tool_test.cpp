// run_tool() with a campaign that is split into shards.
#include "weft/sim/tool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "weft/sim/scenario.h"
#include "weft/sim/sim.h"

namespace weft::sim {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Each scenario records that it ran.
constexpr std::array kScenarios = {
    Scenario{"one", "", [] { sometimes(false, "one"); }},
    Scenario{"two", "", [] { sometimes(false, "two"); }},
};

struct Outcome {
    int status = -1;
    std::string output;
};

Outcome run_with(std::vector<std::string> options) {
    options.insert(options.begin(), "tool");
    std::vector<char*> words;
    for (std::string& option : options) words.push_back(option.data());
    ::testing::internal::CaptureStdout();
    int status = run_tool("tool", kScenarios, words);
    return {status, ::testing::internal::GetCapturedStdout()};
}

// Two shards of two scenarios: each has a part of both.
TEST(SimShards, SIM_1_each_shard_runs_every_scenario) {
    for (const char* shard : {"1/2", "2/2"}) {
        Outcome outcome = run_with({"--seeds", "8", "--shard", shard});
        EXPECT_THAT(outcome.output, AllOf(HasSubstr("4 runs of 2 scenarios"),
                                          HasSubstr("never true in 4 runs: one"),
                                          HasSubstr("never true in 4 runs: two")));
    }
}

TEST(SimShards, SIM_4g_a_shard_does_not_fail_for_what_another_may_have_reached) {
    EXPECT_EQ(run_with({"--seeds", "8", "--shard", "1/2"}).status, 0);
    EXPECT_EQ(run_with({"--seeds", "8", "--shard", "1/1"}).status, 3);
    EXPECT_EQ(run_with({"--seeds", "8"}).status, 3);
}

}  // namespace
}  // namespace weft::sim
