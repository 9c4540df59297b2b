// Runs a scenario over many seeds, up to the first that fails; that one is shortened and described.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "weft/sim/sim.h"

namespace weft::sim {

struct Campaign {
    std::uint64_t seeds = 1000;
    std::uint64_t first_seed = 1;
    Faults faults = {};
    Chooser chooser = Chooser::BySeed;
    std::uint64_t steps_max = 2'000'000;
    std::string name = {};  // for messages
};

// For each name given to sometimes(), in how many runs its condition was true.
using Coverage = std::map<std::string, std::uint64_t>;

struct CampaignOutcome {
    std::uint64_t runs = 0;
    std::uint64_t steps = 0;
    Coverage coverage;
    Report failed;     // of the first seed that failed
    std::string text;  // why it is not ok(): the story of that seed, or what was never true

    bool ok() const { return text.empty(); }
};

// WEFT_SIM_SEED=X in the environment runs that seed alone, WEFT_SIM_SEEDS=N runs N seeds.
CampaignOutcome run_campaign(Campaign campaign, const std::function<void()>& scenario);

void add_coverage(Coverage& coverage, const Report& report);
// A line for each name whose condition was never true; empty if there is none.
std::string never_true(const Coverage& coverage, std::uint64_t runs);

// The text of a failed run: its failure, its place, the shortest interleaving found.
struct Shortened;
std::string describe_failure(const Shortened& shortened);

}  // namespace weft::sim
