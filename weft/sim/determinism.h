// Whether one seed always gives the same run: it is run twice, and the first event that differs is
// shown. What makes a run differ: real time, real randomness, threads of the program's own, the
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

// Nothing if the runs were the same. One thread, not in a simulation.
std::optional<Divergence> find_divergence(Options options, const std::function<void()>& scenario);

}  // namespace weft::sim
