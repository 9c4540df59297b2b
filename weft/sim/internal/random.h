// A generator of random numbers (splitmix64): small, fast, the same on every machine.
#pragma once

#include <cstdint>

namespace weft::sim {

class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31);
    }
    std::uint64_t below(std::uint64_t bound) { return bound == 0 ? 0 : next() % bound; }
    // True with probability 1 / `one_in`.
    bool once_in(std::uint64_t one_in) { return below(one_in) == 0; }

private:
    std::uint64_t state_;
};

}  // namespace weft::sim
