// The scenarios of the floor (fiber/, sync/, async/, net/), which weft-sim and the tests run: small
// programs that check themselves.
#pragma once

#include <span>
#include <string_view>

#include "weft/sim/scenario.h"

namespace weft::sim {

std::span<const Scenario> all_scenarios();
const Scenario* find_scenario(std::string_view name);  // null if there is none

}  // namespace weft::sim
