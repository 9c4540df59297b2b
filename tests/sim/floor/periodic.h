// Scenarios of periodic jobs and tickers.
#pragma once

namespace weft::sim::scenarios {

void every_ends();
void periodic_stop_between();
void periodic_stop_anywhere();
void periodic_cancel_anywhere();
void ticker_beats();

}  // namespace weft::sim::scenarios
