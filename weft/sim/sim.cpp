#include "weft/sim/sim.h"

#include "weft/base/assert.h"
#include "weft/base/format.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/sim/internal/machine.h"

namespace weft::sim {
namespace {

constexpr Nanoseconds kFirstPause = std::chrono::microseconds(10);

Machine& machine_here() {
    Env* machine = env::current();
    WEFT_ASSERT(machine, "this function of weft::sim belongs into a simulation");
    return *static_cast<Machine*>(machine);
}

}  // namespace

Report run(const Options& options, const std::function<void()>& scenario) {
    Machine machine(options);
    return machine.run(scenario);
}

void fail(const std::string& why) { machine_here().fail(why); }

void await_interrupt() { machine_here().await_interrupt(); }

void calm() { machine_here().calm(); }

void eventually(const std::function<bool()>& condition, const char* what, Nanoseconds within) {
    calm();
    Deadline end = Deadline::after(within);
    // Each pause is longer than the one before, so that a long wait takes few steps. The shield
    // lets a cancelled fiber wait as well.
    for (Nanoseconds pause = kFirstPause; !condition(); pause *= 2) {
        if (end.expired(Clock::now())) fail(format("not even without faults: {}", what));
        static_cast<void>(shield(Deadline::never(), [&] { return weft::sleep_for(pause); }));
    }
}

std::uint64_t random_below(std::uint64_t bound) {
    return bound == 0 ? 0 : env::random(RandomStream::Workload) % bound;
}

std::string Report::text() const {
    std::string text = format("seed {}: {} ({} steps, {} virtual ms)\n", seed,
                              ok() ? "ok" : failure, steps, virtual_ns / 1'000'000);
    for (const std::string& line : story.empty() ? trace : story) text += line + '\n';
    return text;
}

}  // namespace weft::sim
