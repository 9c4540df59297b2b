#include "weft/sim/internal/chooser.h"

#include <algorithm>

namespace weft::sim {
namespace {

constexpr std::uint64_t kChangePointsWithin = 4000;  // steps; most scenarios are shorter

Chooser choose(Chooser chooser, Random& random) {
    if (chooser != Chooser::BySeed) return chooser;
    std::uint64_t dice = random.below(10);
    if (dice < 5) return Chooser::Random;
    if (dice < 8) return Chooser::Priorities;
    return dice == 8 ? Chooser::RoundRobin : Chooser::StarveOne;
}

}  // namespace

Strategy::Strategy(Chooser chooser, std::uint64_t seed)
    : random_(seed), chooser_(choose(chooser, random_)), lowest_(UINT64_MAX / 2) {
    // From every step to every fiftieth: some faults need many switches, some few.
    interval_ = 1 + random_.below(random_.once_in(2) ? 4 : 50);
    turn_interval_ = 2 + random_.below(random_.once_in(2) ? 4 : 50);
    starved_ = static_cast<unsigned>(random_.below(4));
    std::uint64_t depth = 2 + random_.below(4);
    for (std::uint64_t i = 0; i < depth; ++i)
        change_points_.push_back(1 + random_.below(kChangePointsWithin));
}

std::uint64_t& Strategy::priority_of(unsigned thread) {
    while (priorities_.size() <= thread)
        priorities_.push_back(UINT64_MAX / 2 + 1 + (random_.next() >> 2));
    return priorities_[thread];
}

bool Strategy::interrupts(unsigned current) {
    ++steps_;
    switch (chooser_) {
    case Chooser::Priorities: {
        bool change = std::ranges::find(change_points_, steps_) != change_points_.end();
        if (change) priority_of(current) = --lowest_;
        return change;
    }
    case Chooser::RoundRobin:
        // Not always, or two threads that spin in step with each other would do so for ever.
        return steps_ % interval_ == 0 && !random_.once_in(16);
    case Chooser::StarveOne: return current == starved_ || random_.once_in(interval_);
    default: return random_.once_in(interval_);
    }
}

bool Strategy::ends_turn() { return random_.once_in(turn_interval_); }

unsigned Strategy::pick(const std::vector<unsigned>& runnable, int stuck) {
    auto allowed = [&](unsigned thread) {
        return static_cast<int>(thread) != stuck || runnable.size() == 1;
    };
    if (chooser_ == Chooser::Priorities) {
        // A spinning thread must not keep the highest priority: the thread that it waits for has a
        // lower one.
        if (stuck >= 0) priority_of(static_cast<unsigned>(stuck)) = --lowest_;
        return *std::ranges::max_element(runnable, {},
                                         [&](unsigned thread) { return priority_of(thread); });
    }
    if (chooser_ == Chooser::RoundRobin) {
        auto next = std::ranges::upper_bound(runnable, last_);
        last_ = next == runnable.end() ? runnable.front() : *next;
        return last_;
    }
    for (;;) {
        unsigned thread = runnable[random_.below(runnable.size())];
        if (!allowed(thread)) continue;
        bool starving = chooser_ == Chooser::StarveOne && thread == starved_;
        if (starving && runnable.size() > (stuck >= 0 ? 2U : 1U) && !random_.once_in(64)) continue;
        return thread;
    }
}

}  // namespace weft::sim
