// Scenarios of tasks, shared tasks and what follows them.
#pragma once

namespace weft::sim::scenarios {

void task_waiters();
void task_dropped();
void task_anywhere();
void shared_task_waiters();
void shared_task_anywhere();

}  // namespace weft::sim::scenarios
