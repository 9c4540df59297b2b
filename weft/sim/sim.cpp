#include "weft/sim/sim.h"

#include "weft/base/assert.h"
#include "weft/base/format.h"
#include "weft/sim/machine.h"

namespace weft::sim {

Report run(const Options& options, const std::function<void()>& scenario) {
    Machine machine(options);
    return machine.run(scenario);
}

void fail(const std::string& why) {
    Env* machine = env::current();
    WEFT_ASSERT(machine, "sim::fail() belongs into a simulation");
    static_cast<Machine*>(machine)->fail(why);
}

void await_interrupt() {
    Env* machine = env::current();
    WEFT_ASSERT(machine, "sim::await_interrupt() belongs into a simulation");
    static_cast<Machine*>(machine)->await_interrupt();
}

std::uint64_t random_below(std::uint64_t bound) {
    return bound == 0 ? 0 : env::random(RandomStream::Workload) % bound;
}

std::string Report::text() const {
    std::string text = format("seed {}: {} ({} steps, {} virtual ms)\n", seed,
                              ok() ? "ok" : failure, steps, virtual_ns / 1'000'000);
    for (const std::string& line : trace) text += line + '\n';
    return text;
}

}  // namespace weft::sim
