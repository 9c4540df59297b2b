// Scenarios of supervisors.
#pragma once

namespace weft::sim::scenarios {

void supervisor_strategies();
void supervisor_gives_up();
void supervisor_anywhere();

}  // namespace weft::sim::scenarios
