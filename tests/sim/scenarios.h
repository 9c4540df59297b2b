// The scenarios of HTTP: servers, clients and proxies that check themselves.
#pragma once

#include <span>

#include "weft/sim/scenario.h"

namespace weft::sim {

std::span<const Scenario> http_scenarios();

namespace scenarios {

void http_kept_connections();
void http_kept_connections_break();

}  // namespace scenarios
}  // namespace weft::sim
