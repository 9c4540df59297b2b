// JoinWord: the end of a fiber and the one who joins it.
//
// The fiber's end and its joiner meet in one word. Whoever comes second sees the other: the end
// finds the joiner's entry and wakes it, or a joiner finds that the outcome is there. The end is
// announced before the fiber has left its stack; the word is done when nobody touches the block any
// more, and then it belongs to the joiner. A detached fiber gives its block back by itself.
#pragma once

#include <cstdint>

#include "weft/base/atomic.h"
#include "weft/base/env.h"
#include "weft/base/planted.h"
#include "weft/fiber/waiter.h"

namespace weft {

// In the frame of who joins.
struct JoinEntry {
    WaitRef joiner;
};

// The steps and orders; the checker's test shows what each is for.
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
    // By who spawns it, before it is published.
    void begin(bool joinable) {
        word_.store(joinable ? kAlone : kDetached, std::memory_order_relaxed);
    }

    // ------------------------------------------------------------ by the fiber that ends

    // How its end was met; the outcome is published with it.
    struct End {
        bool is_forgotten;  // nobody will ever ask for the outcome
        JoinEntry* entry;   // of who waits; null if nobody does yet
    };
    [[nodiscard]] End end() {
        // A detached fiber stays so. Acquire: what the owner of the handle did before.
        if (word_.load(Order::kLook) == kDetached) return {true, nullptr};
        // Acquire-release: publishes the outcome to the joiner, and sees the joiner's entry.
        std::uintptr_t met = word_.exchange(kFinishing, Order::kEnd);
        if (met == kDetached) return {true, nullptr};
        return {false, met == kAlone ? nullptr : reinterpret_cast<JoinEntry*>(met)};
    }
    // Of one that is not forgotten: the last touch.
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
        await_done();
        return false;
    }
    // Waits by `wait`, a function, for a waiter whose wait has begun. Ready: the outcome is there;
    // else how the wait has ended, and the fiber can be joined again.
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
    // A value above them is the address of the joiner's entry.
    enum Word : std::uintptr_t { kAlone, kFinishing, kDone, kDetached };

    static std::uintptr_t address_of(JoinEntry& entry) {
        return reinterpret_cast<std::uintptr_t>(&entry);
    }
    bool try_enter(JoinEntry& entry) {
        std::uintptr_t expected = kAlone;
        // Release: publishes the entry to the fiber that ends.
        return word_.compare_exchange_strong(expected, address_of(entry), Order::kEnter,
                                             std::memory_order_relaxed);
    }
    // False: the fiber has ended meanwhile, and the outcome is there after all.
    bool try_take_back(JoinEntry& entry) {
        if (!Order::kTakesBack) return true;
        std::uintptr_t expected = address_of(entry);
        if (WEFT_PLANTED("join.takes_back_blindly"))
            word_.store(expected, std::memory_order_relaxed);
        // Relaxed: the entry was only read by the fiber's end, which did not come.
        return word_.compare_exchange_strong(expected, kAlone, std::memory_order_relaxed,
                                             std::memory_order_relaxed);
    }
    // The end is announced before the fiber has left its stack; this waits for the very end.
    [[gnu::noinline]] void await_done() const {
        if (!Order::kAwaitsDone || WEFT_PLANTED("join.does_not_await_the_end")) return;
        for (unsigned attempt = 0; !is_done(); ++attempt) env::spin_pause(attempt);
    }

    Atomic<std::uintptr_t> word_{kAlone};
};

using JoinWord = BasicJoinWord<JoinOrder>;

}  // namespace weft
