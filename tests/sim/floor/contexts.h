// Scenarios of contexts.
#pragma once

namespace weft::sim::scenarios {

void context_tree();
void context_anywhere();

}  // namespace weft::sim::scenarios
