// Shortens a seed that fails to the shortest run found that fails in the same way.
//
// The failing run is repeated with its choices recorded, then again and again with choices left
// out: first the faults, then the preemptions. The choices that remain are those that the failure
// needs. Called on a plain thread, not in a simulation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "weft/sim/sim.h"

namespace weft::sim {

struct ShortenLimits {
    unsigned runs = 600;               // 0: only repeat the failing run, with its story
    std::uint64_t steps = 20'000'000;  // of all runs
};

struct Shortened {
    Report report;    // of the shortest run, with its story and schedule; see Report::text()
    bool repeatable;  // false: the run did not fail again, and `report` is of the last attempt
    unsigned runs = 0;
    std::size_t choices_before = 0;
    std::size_t choices = 0;
};

// `failing` are the options of a run that failed with `failure`.
Shortened shorten(const Options& failing, const std::string& failure,
                  const std::function<void()>& scenario, const ShortenLimits& limits = {});

// Whether two failures are the same but for numbers: their first lines.
bool is_same_failure(const std::string& one, const std::string& other);

}  // namespace weft::sim
