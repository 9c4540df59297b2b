// Who goes on: the strategies of the simulated machine. Owning thread only.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/sim/internal/random.h"
#include "weft/sim/sim.h"

namespace weft::sim {

class Strategy {
public:
    Strategy(Chooser chooser, std::uint64_t seed);

    // At a step of `current`: true if somebody else should be chosen now.
    bool interrupts(unsigned current);
    // At an operation that may wait: true if another fiber of the same thread should go on.
    bool ends_turn();
    // One of `runnable` (never empty). `stuck` is a thread that spins: not that one, if possible.
    unsigned pick(const std::vector<unsigned>& runnable, int stuck);
    Chooser chooser() const { return chooser_; }
    void be_fair() { chooser_ = Chooser::Random; }  // from now on nobody starves

private:
    std::uint64_t& priority_of(unsigned thread);

    Random random_;
    Chooser chooser_;
    std::uint64_t steps_ = 0;
    std::uint64_t interval_;  // of interruptions, for Random and RoundRobin
    std::uint64_t turn_interval_;
    unsigned starved_ = 0;
    unsigned last_ = 0;
    std::vector<std::uint64_t> priorities_;  // higher goes first
    std::vector<std::uint64_t> change_points_;
    std::uint64_t lowest_;
};

}  // namespace weft::sim
