#include "tests/sim/data/scenarios.h"

#include <array>

namespace weft::sim {
namespace {

using namespace scenarios;

constexpr std::array kScenarios = {
    Scenario{"data-pool", "no slot is lost and no dirty connection handed out", data_pool_users},
    Scenario{"data-pool-cancel-anywhere", "users cancelled at one exact step",
             data_pool_cancel_anywhere},
    Scenario{"data-pool-close-anywhere", "closed at one exact step", data_pool_close_anywhere},
};

}  // namespace

std::span<const Scenario> data_scenarios() { return kScenarios; }

}  // namespace weft::sim
