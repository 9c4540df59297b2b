// Scenarios of with_timeout.
#pragma once

namespace weft::sim::scenarios {

void timeout_deadlines();
void timeout_anywhere();

}  // namespace weft::sim::scenarios
