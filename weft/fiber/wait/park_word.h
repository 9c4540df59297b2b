// ParkWord: the state behind park() and unpark(). An unpark() of a fiber that is not parked leaves
// a permit, which the next park() takes instead of waiting. Permits do not add up.
//
// Guarded by a lock of the fiber, which park() holds from its test of the permit until its wait has
// begun.
#pragma once

#include <cstdint>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/planted.h"
#include "weft/fiber/waiter.h"

namespace weft {

class ParkWord {
public:
    // True: an unpark() has come before, and park() returns at once.
    [[nodiscard]] bool take_permit() {
        if (word_ != kPermit) return false;
        word_ = kNothing;
        return true;
    }
    void begin_park(WaitRef wait) {
        WEFT_DASSERT(word_ == kNothing, "a park takes a permit, or follows one that has ended");
        word_ = wait.word();
        WEFT_DASSERT(word_ > kPermit, "the word of a wait is larger than the two marks");
    }
    // The wait has timed out or was cancelled. The permit of an unpark() that came too late for it
    // stays for the next park().
    void end_park() {
        if (word_ != kPermit) word_ = kNothing;
    }
    // Claims the parked wait, if there is one; the caller resumes it after releasing the lock. The
    // claim is made under the lock, so that a wait that ends otherwise finds the permit.
    [[nodiscard]] WaitRef unpark(WaitCell& cell) {
        std::uint64_t parked = std::exchange(word_, kNothing);
        if (parked > kPermit) {
            WaitRef wait(cell, parked);
            if (wait.try_claim(Wake::Ready)) return wait;
        }
        if (!WEFT_PLANTED("fiber.unpark_before_park")) word_ = kPermit;
        return WaitRef();
    }
    // Makes the word ready for the next fiber in this block.
    void clear() { word_ = kNothing; }

private:
    // The word of a parked wait is larger than both.
    static constexpr std::uint64_t kNothing = 0;
    static constexpr std::uint64_t kPermit = 1;

    std::uint64_t word_ = kNothing;
};

}  // namespace weft
