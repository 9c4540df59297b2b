// WaitWord: whether its owner waits, and who may wake it.
//
// Each wait is an epoch of the word: it begins in one of the waiting states, and the one caller
// that moves it out of there (one compare-and-swap: the claim) owns the wake-up. Epochs never
// repeat, so a claim by the number of an earlier wait fails.
//
// begin() and outcome(): the owner only. Everything else: any thread.
#pragma once

#include <cstdint>

#include "weft/base/assert.h"
#include "weft/base/atomic.h"

namespace weft {

// How a wait ended.
enum class Wake : std::uint8_t { Ready, TimedOut, Cancelled };

struct WaitOrder {
    // seq_cst: a wait is published before its owner tests whether its token is cancelled; the
    // canceller marks the token before it reads the words. So at least one sees the other.
    static constexpr std::memory_order kPublish = std::memory_order_seq_cst;
};

template <class Order>
class BasicWaitWord {
public:
    // Waiting: the ambient token lists the cell. WaitingRoot: a fiber with its runtime's root
    // token, not listed. WaitingShielded: no cancellation reaches this wait. The last three are the
    // values of Wake.
    enum State : std::uint64_t {
        Idle,
        Waiting,
        WaitingRoot,
        WaitingShielded,
        Woken,
        Expired,
        Stopped,
    };
    static constexpr unsigned kStateBits = 3;
    static constexpr std::uint64_t kStateMask = (1U << kStateBits) - 1;

    static constexpr State state_of(std::uint64_t wait) {
        return static_cast<State>(wait & kStateMask);
    }

    static constexpr bool is_waiting(State state) { return state > Idle && state < Woken; }

    // Between waits only. Returns the number of the wait that begins, which is never 0.
    [[gnu::always_inline]] std::uint64_t begin(State state) {
        // Relaxed: between waits only the owner writes the word.
        std::uint64_t before = word_.load(std::memory_order_relaxed);
        WEFT_DASSERT(!is_waiting(state_of(before)), "a wait begins after the one before has ended");
        WEFT_DASSERT(is_waiting(state));
        std::uint64_t wait = (before | kStateMask) + 1 + state;
        word_.store(wait, Order::kPublish);
        return wait;
    }

    // True for exactly one of all callers that know the number of this wait.
    [[nodiscard]] bool try_claim(std::uint64_t wait, Wake outcome) {
        WEFT_DASSERT(is_waiting(state_of(wait)), "a claim names a wait by its number");
        std::uint64_t ended = (wait & ~kStateMask) | (Woken + static_cast<std::uint64_t>(outcome));
        // Acquire: sees what the waiter wrote before it began to wait (its frame). Release: the
        // waiter sees what the claimer did before, when it reads the outcome.
        return word_.compare_exchange_strong(wait, ended, std::memory_order_acq_rel,
                                             std::memory_order_relaxed);
    }

    // Of a wait that has been claimed.
    Wake outcome() const {
        // Acquire: sees what the claimer did before it claimed.
        std::uint64_t state = state_of(word_.load(std::memory_order_acquire));
        WEFT_DASSERT(state >= Woken, "a wait that goes on has no outcome");
        return static_cast<Wake>(state - Woken);
    }

    // The number of the present wait if it is in this state, else 0. For a canceller.
    std::uint64_t find(State state) const {
        // seq_cst: see kPublish.
        std::uint64_t wait = word_.load(std::memory_order_seq_cst);
        return state_of(wait) == state ? wait : 0;
    }

    // A momentary value, for diagnosis: the number of the present wait, or 0.
    std::uint64_t peek() const {
        // Acquire: what the waiter noted of its wait before it began.
        std::uint64_t wait = word_.load(std::memory_order_acquire);
        return is_waiting(state_of(wait)) ? wait : 0;
    }
    // Whether that wait still goes on. A later claimer then sees what the caller did before.
    bool confirm(std::uint64_t wait) {
        return word_.compare_exchange_strong(wait, wait, std::memory_order_acq_rel,
                                             std::memory_order_relaxed);
    }

    // For the owner of the memory, while nobody waits: the epoch from which to go on counting.
    std::uint64_t next_epoch() const {
        return (word_.load(std::memory_order_relaxed) >> kStateBits) + 1;
    }
    void start_from(std::uint64_t epoch) {
        // Relaxed: the memory is handed to its next user after this.
        word_.store(epoch << kStateBits, std::memory_order_relaxed);
    }

private:
    Atomic<std::uint64_t> word_{0};
};

using WaitWord = BasicWaitWord<WaitOrder>;

}  // namespace weft
