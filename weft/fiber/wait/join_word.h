// JoinWord: synchronises the end of a fiber with the fiber or thread that joins it.
//
// Both sides change one word, and the second to come sees the first: an ending fiber finds the
// joiner's entry and wakes the joiner, or a joiner finds that the outcome is there. The end is
// announced before the fiber has left its stack. The word becomes Done when the worker touches the
// block no more; from then on the block belongs to the joiner. The worker gives the block of a
// detached fiber back.
#pragma once

#include <cstdint>

#include "weft/base/assert.h"
#include "weft/base/atomic.h"
#include "weft/base/env.h"
#include "weft/base/planted.h"
#include "weft/fiber/waiter.h"

namespace weft {

// Lies in the frame of the joining function.
struct JoinEntry {
    WaitRef joiner;
};

// The steps and memory orders; join_model_test.cpp shows what each is needed for.
struct JoinOrder {
    static constexpr std::memory_order kEnter = std::memory_order_release;
    static constexpr std::memory_order kEnd = std::memory_order_acq_rel;
    static constexpr std::memory_order kDone = std::memory_order_release;
    static constexpr std::memory_order kLook = std::memory_order_acquire;
    static constexpr bool kAwaitsDone = true;
    static constexpr bool kTakesBack = true;
    static constexpr bool kAsksBeforeDetach = true;
};

template <class Order>
class BasicJoinWord {
public:
    // By the spawner, before the fiber is published.
    void begin(bool joinable) {
        word_.store(joinable ? kAlone : kDetached, std::memory_order_relaxed);
    }

    // ------------------------------------------------------------ by the fiber that ends

    // Publishes the outcome, and tells who is there to take it.
    struct End {
        bool is_forgotten;  // detached: nobody will ever ask for the outcome
        JoinEntry* entry;   // of the waiting joiner; null if nobody waits yet
    };
    [[nodiscard]] End end() {
        // A detached fiber stays so. Acquire: what the owner of the handle did before.
        if (word_.load(Order::kLook) == kDetached) return {true, nullptr};
        // Acquire-release: publishes the outcome to the joiner, and sees the joiner's entry.
        std::uintptr_t met = word_.exchange(kFinishing, Order::kEnd);
        if (met == kDetached) return {true, nullptr};
        WEFT_DASSERT(met != kFinishing && met != kDone, "a fiber ends once");
        return {false, met == kAlone ? nullptr : reinterpret_cast<JoinEntry*>(met)};
    }
    // The last access by the worker of a fiber that is not forgotten.
    void finish() {
        // Release: the outcome, and that nobody here touches the block again.
        word_.store(kDone, Order::kDone);
    }

    // ------------------------------------------------------------ by the owner of the handle

    bool is_done() const {
        // Acquire: the outcome; pairs with finish().
        return word_.load(Order::kLook) == kDone;
    }
    // True: the fiber goes on by itself. False: it has ended, and the outcome is the caller's.
    [[nodiscard]] bool try_detach() {
        std::uintptr_t expected = kAlone;
        if (!Order::kAsksBeforeDetach) expected = word_.load(std::memory_order_relaxed);
        // Release: what the owner of the handle did comes before what the fiber does at its end.
        if (word_.compare_exchange_strong(expected, kDetached, std::memory_order_release,
                                          std::memory_order_relaxed)) {
            return true;
        }
        WEFT_DASSERT(expected == kFinishing || expected == kDone,
                     "a fiber is detached once, and not during a join");
        await_done();
        return false;
    }
    // Parks by calling `wait`; the wait of `waiter` has begun. Ready: the outcome is there. Else
    // the result tells how the wait ended, and the fiber can be joined again.
    template <class AnyWaiter, class Wait>
    [[gnu::always_inline]] Wake join(AnyWaiter& waiter, Wait wait) {
        JoinEntry entry{waiter.ref()};
        if (!try_enter(entry)) [[unlikely]] {
            waiter.abandon();
            await_done();
            return Wake::Ready;
        }
        Wake wake = wait();
        if (wake != Wake::Ready && try_take_back(entry)) [[unlikely]]
            return wake;
        if (!is_done()) await_done();
        return Wake::Ready;
    }

private:
    // A larger value is the address of the joiner's entry.
    enum Word : std::uintptr_t { kAlone, kFinishing, kDone, kDetached };

    static std::uintptr_t address_of(JoinEntry& entry) {
        return reinterpret_cast<std::uintptr_t>(&entry);
    }
    bool try_enter(JoinEntry& entry) {
        std::uintptr_t expected = kAlone;
        // Release: publishes the entry to the fiber that ends.
        bool entered = word_.compare_exchange_strong(expected, address_of(entry), Order::kEnter,
                                                     std::memory_order_relaxed);
        WEFT_DASSERT(entered || expected == kFinishing || expected == kDone,
                     "a fiber has one joiner at a time, and none when it is detached");
        return entered;
    }
    // False: the fiber has ended meanwhile, and the outcome is there after all.
    bool try_take_back(JoinEntry& entry) {
        if (!Order::kTakesBack) return true;
        std::uintptr_t expected = address_of(entry);
        if (WEFT_PLANTED("join.takes_back_blindly"))
            word_.store(expected, std::memory_order_relaxed);
        // Relaxed: only an ending fiber reads the entry, and this one has not ended.
        return word_.compare_exchange_strong(expected, kAlone, std::memory_order_relaxed,
                                             std::memory_order_relaxed);
    }
    // The end is announced before the fiber has left its stack; this spins until it has.
    [[gnu::noinline]] void await_done() const {
        if (!Order::kAwaitsDone || WEFT_PLANTED("join.does_not_await_the_end")) return;
        for (unsigned attempt = 0; !is_done(); ++attempt) env::spin_pause(attempt);
    }

    Atomic<std::uintptr_t> word_{kAlone};
};

using JoinWord = BasicJoinWord<JoinOrder>;

}  // namespace weft
