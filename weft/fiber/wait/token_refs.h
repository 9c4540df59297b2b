// TokenRefs: the reference count of a node of the cancel tree: its users, and its deadline timers.
//
// A timer that is set holds a reference, but must not keep an unused token alive until its
// deadline: the last other holder cancels the timers before it releases its reference. Two holders
// that release at the same moment may both miss that; the token then lives until its deadline.
//
// Any thread. The timers are counted under a lock of the token.
#pragma once

#include <cstdint>

#include "weft/base/assert.h"
#include "weft/base/atomic.h"

namespace weft {

class TokenRefs {
public:
    void add() {
        // Relaxed: a new reference is made from an existing one.
        [[maybe_unused]] std::uint32_t before = references_.fetch_add(1, std::memory_order_relaxed);
        WEFT_DASSERT(before != 0, "a new reference is made from an existing one");
    }
    // For a caller that holds none; false when the last reference is gone.
    [[nodiscard]] bool try_add() {
        // Relaxed: what keeps the node readable, a lock or a callback that is awaited, orders the
        // rest.
        std::uint32_t count = references_.load(std::memory_order_relaxed);
        while (count != 0 &&
               !references_.compare_exchange_weak(count, count + 1, std::memory_order_relaxed,
                                                  std::memory_order_relaxed)) {}
        return count != 0;
    }
    // True: that was the last reference.
    [[nodiscard]] bool release() {
        // Acquire-release: the last one sees what all others did to the object.
        std::uint32_t before = references_.fetch_sub(1, std::memory_order_acq_rel);
        WEFT_ASSERT(before != 0, "a token was released more often than it was referred to");
        return before == 1;
    }
    // Whether others hold references besides the `own` ones of the caller.
    bool is_held_besides(std::uint32_t own) const {
        // Acquire: the caller goes on as if it had made the node, and must see what the last of the
        // others did with it.
        return references_.load(std::memory_order_acquire) != own;
    }

    // By a holder: all other references are those of timers. Without the lock it is a guess.
    bool has_timers_alone() const {
        // Relaxed: the timers are counted under the lock, and only a holder adds references.
        std::uint32_t timers = timers_.load(std::memory_order_relaxed);
        return timers != 0 && references_.load(std::memory_order_relaxed) == timers + 1;
    }
    // The next three are called under the lock: when a timer was set; when it was cancelled before
    // it fired; and when it has fired, whose reference is released afterwards.
    void add_timer() {
        add();
        // Relaxed, here and below: under the lock; elsewhere it is a guess.
        timers_.fetch_add(1, std::memory_order_relaxed);
    }
    void cancel_timer() {
        end_timer();
        // Relaxed: the caller holds another reference.
        [[maybe_unused]] std::uint32_t before = references_.fetch_sub(1, std::memory_order_relaxed);
        WEFT_DASSERT(before > 1, "the holder that cancels a timer has a reference of its own");
    }
    void end_timer() {
        [[maybe_unused]] std::uint32_t before = timers_.fetch_sub(1, std::memory_order_relaxed);
        WEFT_DASSERT(before != 0, "a timer ends as often as it was set");
    }

private:
    Atomic<std::uint32_t> references_{1};
    Atomic<std::uint32_t> timers_{0};
};

}  // namespace weft
