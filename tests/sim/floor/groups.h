// Scenarios of groups.
#pragma once

namespace weft::sim::scenarios {

void group_errors();
void group_go_and_wait();
void group_dropped();
void group_anywhere();

}  // namespace weft::sim::scenarios
