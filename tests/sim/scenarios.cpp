#include "tests/sim/scenarios.h"

#include <array>

namespace weft::sim {
namespace {

using namespace scenarios;

constexpr Faults kResets = {.resets = true};

constexpr std::array kScenarios = {
    Scenario{"http-kept", "a client's connections end while many use it", http_kept_connections},
    Scenario{"http-kept-resets", "the same, and they break", http_kept_connections_break, kResets},
};

}  // namespace

std::span<const Scenario> http_scenarios() { return kScenarios; }

}  // namespace weft::sim
