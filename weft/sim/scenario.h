// Scenarios: named small programs that check themselves, to be run over many seeds.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/sim/sim.h"

namespace weft::sim {

struct Scenario {
    std::string_view name;
    std::string_view about;  // one line
    void (*body)();
    Faults faults = {};  // the ones that it is written to survive
};

// Runs one seed of the scenario, with those of the faults of `options` that it survives.
Report run(const Scenario& scenario, Options options);

// Runs one seed once to count its steps, then once for each step with the interruption there; see
// await_interrupt(). Ends with the first run that fails.
struct EveryStep {
    std::uint64_t runs = 0;
    std::uint64_t steps = 0;         // of all runs
    std::uint64_t interrupt_at = 0;  // of the last run
    Report report;                   // of the last run
};
EveryStep run_every_step(const Scenario& scenario, Options options);

// The same with Options::failing_allocation: each of those that a seed makes fails in one run.
struct EveryAllocation {
    std::uint64_t runs = 0;
    std::uint64_t failing = 0;  // in the last run
    Report report;              // of the last run
};
EveryAllocation run_every_allocation(const Scenario& scenario, Options options);

}  // namespace weft::sim
