// Scenarios of Mutex, SharedMutex and Condition.
#pragma once

namespace weft::sim::scenarios {

void mutex_exclusion();
void mutex_impatience();
void mutex_hand_over();
void shared_mutex_exclusion();
void shared_mutex_order();
void shared_mutex_giving_up();
void condition_queue();
void condition_notify_one();
void condition_anywhere();

}  // namespace weft::sim::scenarios
