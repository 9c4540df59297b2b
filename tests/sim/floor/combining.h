// Scenarios of any, race, all_settled, retry and hedge.
#pragma once

namespace weft::sim::scenarios {

void any_of_some();
void race_of_some();
void settled_all();
void retry_attempts();
void hedge_attempts();
void combine_anywhere();

}  // namespace weft::sim::scenarios
