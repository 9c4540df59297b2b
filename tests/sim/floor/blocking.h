// Scenarios of blocking().
#pragma once

namespace weft::sim::scenarios {

void blocking_calls();
void blocking_cancelled();
void blocking_pool_idles();
void cancel_blocking_anywhere();

}  // namespace weft::sim::scenarios
