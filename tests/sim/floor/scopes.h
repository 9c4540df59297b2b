// Scenarios of scopes and of what is pending in them.
#pragma once

namespace weft::sim::scenarios {

void scope_tree();
void scope_keeps_the_abandoned();
void scope_cancel_anywhere();
void scope_shutdown_anywhere();
void pending_outcomes();
void pending_anywhere();

}  // namespace weft::sim::scenarios
