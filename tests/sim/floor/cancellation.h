// Scenarios of cancellation: trees, deadlines, shields, explicit tokens, listeners.
#pragma once

namespace weft::sim::scenarios {

void cancel_tree();
void cancel_while_spawning();
void deadline_tokens();
void shielded();
void explicit_token();
void cancel_listeners();
void cancel_anywhere();

}  // namespace weft::sim::scenarios
