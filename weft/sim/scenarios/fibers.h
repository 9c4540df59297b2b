// Scenarios of fiber/: spawn and join, park and unpark, sleep, cancellation, shutdown.
#pragma once

namespace weft::sim::scenarios {

void spawn_tree();
void park_unpark();
void sleepers();
void cancel_tree();
void shutdown_parked();
void outside_threads();

}  // namespace weft::sim::scenarios
