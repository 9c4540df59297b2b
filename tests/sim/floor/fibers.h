// Scenarios of fiber/: spawn, join, drop, park and unpark, pinned workers, shutdown.
#pragma once

namespace weft::sim::scenarios {

void spawn_tree();
void park_unpark();
void unpark_storm();
void join_or_drop();
void join_with_deadlines();
void many_fibers();
void pinned_workers();
void completions();
void shutdown_parked();
void shutdown_at_random();
void shutdown_anywhere();
void outside_threads();
void two_runtimes();

}  // namespace weft::sim::scenarios
