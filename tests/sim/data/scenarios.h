// The scenarios of databases: a pool whose users come, go, break things and are cancelled.
#pragma once

#include <span>

#include "weft/sim/scenario.h"

namespace weft::sim {

std::span<const Scenario> data_scenarios();

namespace scenarios {

void data_pool_users();
void data_pool_cancel_anywhere();
void data_pool_close_anywhere();

}  // namespace scenarios
}  // namespace weft::sim
