// QuickWait: the wait of a fiber that only a claim or its ambient token ends, all inline.
//
// It is what Waiter does when there is no deadline and no further token, but no frame lies between
// the switch and the function that waits, and cell and word stay in registers: together about a
// fifth of a hand-over between two fibers. For the few functions that are that hot.
#pragma once

#include <cstdint>

#include "weft/base/planted.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/internal/worker_inline.h"
#include "weft/fiber/waiter.h"

namespace weft {

class QuickWait {
public:
    // The cell of the running fiber; null on a plain thread, when the fiber has no token, or when a
    // sanitizer wants to be told of everything: such waits are for Waiter.
    [[gnu::always_inline]] static WaitCell* cell() {
        if (sanitizer::wants_telling()) [[unlikely]]
            return nullptr;
        Worker* worker = this_worker();
        if (!worker) return nullptr;
        WaitCell* running = worker->current();
        return running && running->token ? running : nullptr;
    }

    [[gnu::always_inline]] QuickWait(WaitCell& cell, WaitReason reason, const void* object)
        : cell_(cell) {
        std::uint64_t state = cell_.listed ? WaitCell::Waiting : WaitCell::WaitingRoot;
        cell_.wait_object = object;
        cell_.wait_reason = reason;
        // Relaxed and seq_cst: as in Waiter::Waiter().
        std::uint64_t before = cell_.word.load(std::memory_order_relaxed);
        word_ = ((before & ~WaitCell::kStateMask) + WaitCell::kStateMask + 1) | state;
        cell_.word.store(word_, std::memory_order_seq_cst);
    }
    QuickWait(const QuickWait&) = delete;
    QuickWait& operator=(const QuickWait&) = delete;

    [[gnu::always_inline]] WaitRef ref() const { return WaitRef(cell_, word_); }

    // Ready, or Cancelled by the ambient token.
    [[gnu::always_inline]] Wake wait() {
        bool looks = !WEFT_PLANTED("waiter.does_not_look_at_the_token");
        bool left = looks && cell_.token->is_cancelled() && ref().try_claim(Wake::Cancelled);
        if (!left) [[likely]]
            this_worker()->park_current();
        // Acquire: sees what the claimer did before it claimed.
        std::uint64_t state = cell_.word.load(std::memory_order_acquire) & WaitCell::kStateMask;
        return static_cast<Wake>(state - WaitCell::Woken);
    }

    // Ends the epoch without waiting, as Waiter::abandon() does.
    void abandon() {
        if (!ref().try_claim(Wake::Ready)) this_worker()->park_current();
    }

private:
    WaitCell& cell_;
    std::uint64_t word_;
};

}  // namespace weft
