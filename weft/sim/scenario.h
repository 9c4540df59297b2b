// The scenarios that weft-sim and the tests run: small programs that check themselves.
#pragma once

#include <span>
#include <string_view>

#include "weft/sim/sim.h"

namespace weft::sim {

struct Scenario {
    std::string_view name;
    std::string_view about;   // one line
    void (*body)();
    Faults faults = {};       // those that it can stand
};

std::span<const Scenario> all_scenarios();
const Scenario* find_scenario(std::string_view name);  // null if there is none

// Runs one seed of it.
Report run(const Scenario& scenario, Options options);

}  // namespace weft::sim
