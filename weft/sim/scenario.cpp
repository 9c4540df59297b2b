#include "weft/sim/scenario.h"

namespace weft::sim {

Report run(const Scenario& scenario, Options options) {
    options.faults = options.faults & scenario.faults;
    return run(options, scenario.body);
}

EveryStep run_every_step(const Scenario& scenario, Options options) {
    EveryStep all;
    auto run_once = [&](std::uint64_t interrupt_at) {
        options.interrupt_at = interrupt_at;
        all.report = run(scenario, options);
        all.steps += all.report.steps;
        ++all.runs;
    };
    run_once(UINT64_MAX);
    for (std::uint64_t last = all.report.steps; all.report.ok() && all.interrupt_at < last;)
        run_once(++all.interrupt_at);
    return all;
}

EveryAllocation run_every_allocation(const Scenario& scenario, Options options) {
    EveryAllocation all;
    auto run_once = [&](std::uint64_t failing) {
        options.failing_allocation = failing;
        all.report = run(scenario, options);
        ++all.runs;
    };
    run_once(0);
    for (std::uint64_t last = all.report.allocations; all.report.ok() && all.failing < last;)
        run_once(++all.failing);
    return all;
}

}  // namespace weft::sim
