// Scenarios of pools.
#pragma once

namespace weft::sim::scenarios {

void pool_traffic();
void pool_idles();
void pool_places();
void pool_close();
void pool_close_full();
void pool_close_anywhere();
void pool_cancel_anywhere();

}  // namespace weft::sim::scenarios
