// Scenarios of Semaphore, WaitGroup, Once, Barrier, Event and Gate.
#pragma once

namespace weft::sim::scenarios {

void semaphore_permits();
void semaphore_order();
void semaphore_giving_up();
void wait_group_rounds();
void once_attempts();
void barrier_phases();
void barrier_deserters();
void event_flips();
void gate_closing();
void ended_before_the_waker();

}  // namespace weft::sim::scenarios
