// WakeState: whether the owner of a reactor has to be woken by a system call.
//
// The owner announces its sleep and then sleeps; a waker leaves its mark and learns whether the
// owner sleeps. Both are one exchange on one word, so the later of the two sees the earlier: either
// the owner does not sleep, or the waker makes the call.
#pragma once

#include <cstdint>

#include "weft/base/assert.h"
#include "weft/base/atomic.h"

namespace weft {

class WakeState {
public:
    // Owner only. False: a wake-up came before, which this call consumes; do not sleep.
    bool begin_sleep() {
        std::uint32_t expected = kAwake;
        // Acquire-release: the owner sees what the waker did before.
        if (state_.compare_exchange_strong(expected, kAsleep, std::memory_order_acq_rel,
                                           std::memory_order_acquire)) {
            return true;
        }
        WEFT_DASSERT(expected == kNotified, "only the owner sleeps in its reactor");
        // An exchange, not a store: the mark of a second waker may be overwritten here, so the
        // owner must also see what that one did.
        state_.exchange(kAwake, std::memory_order_acq_rel);
        return false;
    }
    // Owner only. Consumes a wake-up that came during the sleep.
    void end_sleep() {
        [[maybe_unused]] std::uint32_t before = state_.exchange(kAwake, std::memory_order_acq_rel);
        WEFT_DASSERT(before != kAwake, "a sleep ends as often as it began");
    }

    // Any thread. True: the owner sleeps, or is about to: make the system call.
    bool notify() { return state_.exchange(kNotified, std::memory_order_acq_rel) == kAsleep; }
    // By a thread that has consumed the event of a wake-up in place of the owner. True: the owner
    // may still sleep, so make the system call again.
    bool still_needed() const { return state_.load(std::memory_order_acquire) == kNotified; }

private:
    enum State : std::uint32_t { kAwake, kAsleep, kNotified };

    Atomic<std::uint32_t> state_{kAwake};
};

}  // namespace weft
