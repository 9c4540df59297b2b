// Scenarios of select.
#pragma once

namespace weft::sim::scenarios {

void select_traffic();
void select_timeouts();
void select_fan_in();
void select_shared_channels();

}  // namespace weft::sim::scenarios
