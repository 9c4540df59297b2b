// The strategies by which the simulated machine chooses the thread that runs next. Owning thread
// only.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/sim/internal/random.h"
#include "weft/sim/sim.h"

namespace weft::sim {

class Strategy {
public:
    Strategy(Chooser chooser, std::uint64_t seed);

    // At a step of `current`: true if another thread should be chosen now.
    bool interrupts(unsigned current);
    // At an operation that may wait: true if another fiber of the same thread should run.
    bool ends_turn();
    // Chooses one of `runnable` (sorted, never empty). `stuck` is a thread that spins, or -1: it is
    // not chosen if there is another.
    unsigned pick(const std::vector<unsigned>& runnable, int stuck);
    Chooser chooser() const { return chooser_; }
    void be_fair() { chooser_ = Chooser::Random; }  // from now on no thread is starved

private:
    std::uint64_t& priority_of(unsigned thread);

    Random random_;
    Chooser chooser_;
    std::uint64_t steps_ = 0;
    std::uint64_t interval_;  // average steps between two interruptions
    std::uint64_t turn_interval_;
    unsigned starved_ = 0;
    unsigned last_ = 0;
    std::vector<std::uint64_t> priorities_;  // higher goes first
    std::vector<std::uint64_t> change_points_;
    std::uint64_t lowest_;
};

}  // namespace weft::sim
