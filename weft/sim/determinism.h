// Checks whether a seed always gives the same run: it is run twice, and the first event that
// differs is reported. Runs differ by real time, real randomness, threads of the program's own, the
// order of addresses, and state that outlives a run.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "weft/sim/sim.h"

namespace weft::sim {

struct Divergence {
    std::size_t event = 0;  // its number, from 1
    std::string first;      // what happened in the first run; empty: it had ended
    std::string second;
    std::string before;  // the last event that both had
    std::string text() const;
};

// No value if the two runs were the same. Called on a plain thread, not in a simulation.
std::optional<Divergence> find_divergence(Options options, const std::function<void()>& scenario);

}  // namespace weft::sim
