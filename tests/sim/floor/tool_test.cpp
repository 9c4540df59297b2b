// weft-sim as a user meets it: options, output, exit status.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "tests/sim/floor/table.h"
#include "weft/base/format.h"
#include "weft/testing/scale.h"

namespace weft::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Outcome {
    int status = -1;
    std::string output;  // with what went to stderr
};

Outcome weft_sim(const std::string& arguments) {
    Outcome outcome;
    std::string command = std::string(WEFT_SIM_PROGRAM) + " " + arguments + " 2>&1";
    std::FILE* pipe = popen(command.c_str(), "r");
    if (!pipe) return outcome;
    char buffer[4096];
    while (std::size_t count = std::fread(buffer, 1, sizeof buffer, pipe))
        outcome.output.append(buffer, count);
    int status = pclose(pipe);
    outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return outcome;
}

TEST(SimTool, helps) {
    Outcome help = weft_sim("--help");
    EXPECT_EQ(help.status, 0);
    for (const char* option : {"--scenario", "--seeds", "--seed", "--trace", "--list", "--chooser",
                               "--no-faults", "--every-step", "--bug", "Exit status"}) {
        EXPECT_THAT(help.output, HasSubstr(option));
    }
}

TEST(SimTool, lists_every_scenario) {
    Outcome list = weft_sim("--list");
    EXPECT_EQ(list.status, 0);
    for (const Scenario& scenario : all_scenarios()) {
        EXPECT_THAT(list.output, HasSubstr(std::string(scenario.name) + " "));
        EXPECT_THAT(list.output, HasSubstr(std::string(scenario.about) + "\n"));
    }
}

TEST(SimTool, says_what_is_wrong_with_its_arguments) {
    const std::pair<const char*, const char*> cases[] = {
        {"--nonsense", "unknown option '--nonsense'"},
        {"--seeds", "--seeds wants a value"},
        {"--seeds many", "--seeds wants a number, not 'many'"},
        {"--seeds 12x", "not '12x'"},
        {"--seed 0x", "not '0x'"},
        {"--scenario nothing", "there is no scenario 'nothing'"},
        {"--chooser worst", "there is no chooser 'worst'"},
    };
    for (const auto& [arguments, expected] : cases) {
        Outcome outcome = weft_sim(arguments);
        EXPECT_EQ(outcome.status, 2) << arguments;
        EXPECT_THAT(outcome.output, HasSubstr(expected));
        EXPECT_THAT(outcome.output, HasSubstr("--help"));
    }
}

TEST(SimTool, runs_many_seeds) {
    Outcome outcome = weft_sim("--seeds 20 --first-seed 0x10 --scenario mutex --scenario once");
    EXPECT_EQ(outcome.status, 0) << outcome.output;
    EXPECT_THAT(outcome.output, StartsWith("20 runs of 2 scenarios passed: "));
    for (const char* chooser : {"random", "priorities", "round-robin", "starve-one"})
        EXPECT_EQ(weft_sim(std::string("--no-faults --seeds 20 --chooser ") + chooser).status, 0);
    EXPECT_EQ(weft_sim("--scenario blocking-anywhere --interrupt-at 9 --seed 1").status, 0);
}

TEST(SimTool, SIM_1c_a_seed_is_replayed_in_another_process) {
    for (std::uint64_t seed = 1; seed <= testing::repeats(20); ++seed) {
        const Scenario& scenario = all_scenarios()[seed * 3 % all_scenarios().size()];
        Report report = run(scenario, {.seed = seed, .faults = Faults::all()});
        Outcome outcome = weft_sim(format("--scenario {} --seed {}", scenario.name, seed));
        EXPECT_EQ(outcome.status, 0) << outcome.output;
        EXPECT_EQ(outcome.output, format("{} seed {}: ok, {} steps, trace {:016x}\n", scenario.name,
                                         seed, report.steps, report.trace_hash));
    }
}

TEST(SimTool, SIM_1c_a_replay_shows_its_trace) {
    Outcome outcome = weft_sim("--scenario ping-pong --seed 4 --trace");
    EXPECT_EQ(outcome.status, 0);
    EXPECT_THAT(outcome.output, HasSubstr("seed 4: ok"));
    EXPECT_THAT(outcome.output, HasSubstr("main.0   start 0 0"));
    EXPECT_THAT(outcome.output, HasSubstr("weft-worker.1 sleep"));
}

TEST(SimTool, SIM_1c_a_failure_says_how_to_repeat_it) {
#ifdef WEFT_CHECKED
    Outcome outcome = weft_sim("--bug channel.close_wakes_one --scenario channel-traffic");
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.output, StartsWith("channel-traffic FAILED: seed "));
    EXPECT_THAT(outcome.output, HasSubstr("deadlock"));
    EXPECT_THAT(outcome.output, HasSubstr("waits: channel"));
    std::size_t at = outcome.output.find("replay: weft-sim ");
    ASSERT_NE(at, std::string::npos);
    std::string arguments = outcome.output.substr(at + std::strlen("replay: weft-sim "));
    arguments.pop_back();
    Outcome again = weft_sim("--bug channel.close_wakes_one " + arguments);
    EXPECT_EQ(again.status, 1);
    EXPECT_THAT(again.output, HasSubstr("replay: weft-sim " + arguments));
#else
    Outcome outcome = weft_sim("--bug channel.close_wakes_one");
    EXPECT_EQ(outcome.status, 2);
    EXPECT_THAT(outcome.output, HasSubstr("WEFT_CHECKED"));
#endif
}

TEST(SimTool, SIM_4f_the_scenarios_are_deterministic) {
    Outcome outcome = weft_sim("--check-determinism --seeds 240");
    EXPECT_EQ(outcome.status, 0) << outcome.output;
}

TEST(SimTool, seeds_are_dealt_out_in_shards) {
    for (const char* shard : {"1/3", "2/3", "3/3"}) {
        Outcome outcome = weft_sim(std::string("--seeds 30 --scenario mutex --shard ") + shard);
        EXPECT_THAT(outcome.output, StartsWith("10 runs of 1 scenarios passed: ")) << shard;
    }
    EXPECT_EQ(weft_sim("--shard 4/3").status, 2);
    EXPECT_EQ(weft_sim("--shard 1").status, 2);
}

}  // namespace
}  // namespace weft::sim
