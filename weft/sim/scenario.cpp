#include "weft/sim/scenario.h"

#include <algorithm>
#include <array>

#include "weft/sim/scenarios/fibers.h"

namespace weft::sim {
namespace {

constexpr std::array kScenarios = {
    Scenario{"spawn-tree", "a tree of fibers, each joined by its parent", scenarios::spawn_tree},
    Scenario{"park-unpark", "unpark before, during and after park", scenarios::park_unpark},
    Scenario{"sleepers", "timers are never early and all fire", scenarios::sleepers},
    Scenario{"cancel-tree", "cancellation reaches every fiber below", scenarios::cancel_tree},
    Scenario{"shutdown", "shutdown cancels whatever is parked", scenarios::shutdown_parked},
    Scenario{"outside-threads", "plain threads spawn and join", scenarios::outside_threads},
};

}  // namespace

std::span<const Scenario> all_scenarios() { return kScenarios; }

const Scenario* find_scenario(std::string_view name) {
    auto found = std::ranges::find(kScenarios, name, &Scenario::name);
    return found == kScenarios.end() ? nullptr : &*found;
}

Report run(const Scenario& scenario, Options options) {
    // What the scenario cannot stand stays off.
    Faults& faults = options.faults;
    const Faults& allowed = scenario.faults;
    faults.short_transfers = faults.short_transfers && allowed.short_transfers;
    faults.would_block = faults.would_block && allowed.would_block;
    faults.spurious_readiness = faults.spurious_readiness && allowed.spurious_readiness;
    faults.delays = faults.delays && allowed.delays;
    faults.pauses = faults.pauses && allowed.pauses;
    faults.allocation = faults.allocation && allowed.allocation;
    return run(options, scenario.body);
}

}  // namespace weft::sim
