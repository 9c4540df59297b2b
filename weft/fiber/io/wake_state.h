// Whether the owner of a reactor has to be woken by a system call.
//
// The owner says that it is about to sleep and then sleeps; a waker leaves its mark and then looks
// whether the owner sleeps. Both are one exchange on one word, so the later of the two sees the
// earlier: either the owner does not go to sleep, or the waker makes the call.
#pragma once

#include <cstdint>

#include "weft/base/atomic.h"

namespace weft {

class WakeState {
public:
    // Owner only. False: a wake-up came first and is hereby used up; do not sleep.
    bool begin_sleep() {
        std::uint32_t expected = kAwake;
        // Acquire-release: what the waker did before is seen by the owner when it goes on.
        if (state_.compare_exchange_strong(expected, kAsleep, std::memory_order_acq_rel,
                                           std::memory_order_acquire)) {
            return true;
        }
        // An exchange, not a store: a second waker may have come meanwhile, and what it did must be
        // seen by the owner too, because its mark is wiped out here.
        state_.exchange(kAwake, std::memory_order_acq_rel);
        return false;
    }
    // Owner only. Uses up a wake-up that came during the sleep.
    void end_sleep() { state_.exchange(kAwake, std::memory_order_acq_rel); }

    // Any thread. True: the owner sleeps, or is about to, and needs the call.
    bool notify() { return state_.exchange(kNotified, std::memory_order_acq_rel) == kAsleep; }
    // Any thread: somebody else got to see the call that was meant for the owner. True: the owner
    // may still be asleep, make the call again.
    bool still_needed() const { return state_.load(std::memory_order_acquire) == kNotified; }

private:
    enum State : std::uint32_t { kAwake, kAsleep, kNotified };

    Atomic<std::uint32_t> state_{kAwake};
};

}  // namespace weft
