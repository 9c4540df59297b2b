// ParkWord: what an unpark() finds: the fiber parked, or not yet, which leaves it a permit.
//
// Under a lock of its owner, which is held from the look at the permit until the wait has begun.
#pragma once

#include <cstdint>
#include <utility>

#include "weft/base/planted.h"
#include "weft/fiber/waiter.h"

namespace weft {

class ParkWord {
public:
    // True: an unpark() has come before, and there is nothing to wait for.
    [[nodiscard]] bool take_permit() {
        if (word_ != kPermit) return false;
        word_ = kNothing;
        return true;
    }
    void begin_park(WaitRef wait) { word_ = wait.word(); }
    // The wait has ended otherwise. An unpark() that came too late for it has left its permit for
    // the next one.
    void end_park() {
        if (word_ != kPermit) word_ = kNothing;
    }
    // The wait that the caller has claimed and resumes after the lock, if there is one. Claimed
    // under the lock, so that a wait that ends otherwise finds the permit.
    [[nodiscard]] WaitRef unpark(WaitCell& cell) {
        std::uint64_t parked = std::exchange(word_, kNothing);
        if (parked > kPermit) {
            WaitRef wait(cell, parked);
            if (wait.try_claim(Wake::Ready)) return wait;
        }
        if (!WEFT_PLANTED("fiber.unpark_before_park")) word_ = kPermit;
        return WaitRef();
    }
    // For the next owner.
    void clear() { word_ = kNothing; }

private:
    // The numbers of waits are larger than both.
    static constexpr std::uint64_t kNothing = 0;
    static constexpr std::uint64_t kPermit = 1;

    std::uint64_t word_ = kNothing;
};

}  // namespace weft
