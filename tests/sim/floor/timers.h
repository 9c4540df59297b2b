// Scenarios of time: sleeping, the timer wheel, deadlines.
#pragma once

namespace weft::sim::scenarios {

void sleepers();
void sleep_or_cancel();
void timer_wheel();
void timer_race();

}  // namespace weft::sim::scenarios
