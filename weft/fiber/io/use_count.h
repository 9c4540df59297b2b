// UseCount: counts the calls under way on an object that may be closed during them.
//
// A call begins and ends a use; close() refuses later uses, and the one that ends last is told to
// finish the close. The worker on which most calls are made, the home of the count, pays no locked
// operation: its uses are in a counter that only its thread writes. All other threads count in a
// shared word, as does a use that began at home and ends elsewhere. So either counter may fall
// below zero, and their sum is the number of uses.
//
// The home counts a use before it reads the shared word; a close, or an end elsewhere, changes the
// word before it reads the home's counter. At least one sees the other: between its two steps the
// home only keeps the compiler from reordering them, and the other side makes every thread of the
// process pass a fence (asymmetric_fence.h). If the kernel has no such fence, and before settle(),
// there is no home.
//
// Any thread. `here` is the worker of the calling thread, or null.
#pragma once

#include <cstdint>

#include "weft/base/assert.h"
#include "weft/base/atomic.h"

#if defined(WEFT_MODEL) || defined(WEFT_CHECKED) || defined(WEFT_TSAN) || defined(WEFT_EMULATED)
#define WEFT_ORDERED_USES 1
#else
#include "weft/fiber/io/asymmetric_fence.h"
#endif

namespace weft {

// How the two sides are kept in order. The model checker and the thread sanitizer know nothing of
// such fences: in their builds the home's accesses are in the one order of all seq_cst operations,
// and no fence is needed.
struct UseOrder {
    static constexpr bool kCountsFirst = true;  // use_count_model_test.cpp shows why
#ifdef WEFT_ORDERED_USES
    static constexpr std::memory_order kCount = std::memory_order_seq_cst;
    static constexpr std::memory_order kLook = std::memory_order_seq_cst;
    static bool is_available() { return true; }
    static void light() {}
    static void heavy() {}
#else
    static constexpr std::memory_order kCount = std::memory_order_release;
    static constexpr std::memory_order kLook = std::memory_order_acquire;
    static bool is_available() { return asymmetric_fence::is_available(); }
    static void light() { asymmetric_fence::light(); }
    static void heavy() { asymmetric_fence::heavy(); }
#endif
};

template <class Order>
class BasicUseCount {
public:
    enum class Entry : std::uint8_t {
        Refused,  // closed; not counted
        Late,     // closed meanwhile, but counted: use nothing, and call end()
        Entered,
    };

    BasicUseCount() = default;  // closed, and the close is finished
    static BasicUseCount make_open() {
        BasicUseCount count;
        count.shared_.store(0, std::memory_order_relaxed);
        return count;
    }
    // For owners: nobody may be in a use.
    BasicUseCount(BasicUseCount&& other) noexcept { take(other); }
    BasicUseCount& operator=(BasicUseCount&& other) noexcept {
        take(other);
        return *this;
    }
    ~BasicUseCount() = default;

    [[nodiscard]] Entry begin(const void* here) {
        // Acquire: pairs with settle().
        if (home_.load(std::memory_order_acquire) != as_home(here)) [[unlikely]]
            return begin_elsewhere();
        if (!Order::kCountsFirst && is_closed()) return Entry::Refused;
        add_at_home(1);
        if (!Order::kCountsFirst) return Entry::Entered;
        // Acquire at the least: sees what the owner did to the object before.
        return shared_.load(Order::kLook) & kClosed ? Entry::Late : Entry::Entered;
    }

    // True once, for the caller that has to finish the close: the count is closed, and no use is
    // under way.
    [[nodiscard]] bool end(const void* here) {
        if (home_.load(std::memory_order_acquire) != as_home(here)) [[unlikely]]
            return end_elsewhere();
        add_at_home(-1U);
        std::uint32_t word = shared_.load(Order::kLook);
        if (!(word & kClosed)) [[likely]]
            return false;
        // Relaxed: written by this thread only.
        return try_finish(word, home_uses_.load(std::memory_order_relaxed));
    }

    // In a use. True for the one caller that closes it.
    [[nodiscard]] bool close() {
        // seq_cst: before the home's uses are read; and see is_closed().
        return !(shared_.fetch_or(kClosed, std::memory_order_seq_cst) & kClosed);
    }

    // In a use: makes the worker the home of the count. Does nothing if it has one already.
    void settle(const void* worker) {
        if (!worker || home_.load(std::memory_order_relaxed) != kNobody) return;
        if (!Order::is_available()) return;
        std::uint32_t word = shared_.load(std::memory_order_relaxed);
        while (!(word & (kClosed | kHasHome))) {
            // Relaxed: close() changes the same word, so either it finds the mark, or this finds
            // that the count is closed.
            if (shared_.compare_exchange_weak(word, word | kHasHome, std::memory_order_relaxed,
                                              std::memory_order_relaxed)) {
                // Release: after the mark.
                home_.store(as_home(worker), std::memory_order_release);
                return;
            }
        }
    }

    // seq_cst: the caller, in a use, has published something that the closer reads after close().
    bool is_closed() const { return shared_.load(std::memory_order_seq_cst) & kClosed; }
    // For owners: nobody is in a use.
    bool is_idle() const {
        // Relaxed: the caller comes after all uses, or the program has a bug.
        return uses(shared_.load(std::memory_order_relaxed),
                    home_uses_.load(std::memory_order_relaxed)) == 0;
    }
    // For the owner of an open count without uses: closes it, with nothing left to finish.
    void drop() { take_state(); }

private:
    // The shared word: three marks, and the number of uses that it counts above them.
    static constexpr std::uint32_t kClosed = 1;
    static constexpr std::uint32_t kFinished = 2;  // end() has told a caller to finish the close
    static constexpr std::uint32_t kHasHome = 4;
    static constexpr std::uint32_t kOne = 8;
    static constexpr std::uintptr_t kNobody = 1;  // no home: neither a worker's address nor null

    static std::uintptr_t as_home(const void* worker) {
        return reinterpret_cast<std::uintptr_t>(worker);
    }
    // Modulo what the word can count: uses that begin here and end there change both counters
    // without bound.
    static std::uint32_t uses(std::uint32_t word, std::uint32_t home_uses) {
        return word / kOne * kOne + home_uses * kOne;
    }

    [[gnu::always_inline]] void add_at_home(std::uint32_t count) {
        // Relaxed: only this thread writes it. Release at the least: a thread that finishes the
        // close sees what was done in the use.
        std::uint32_t before = home_uses_.load(std::memory_order_relaxed);
        home_uses_.store(before + count, Order::kCount);
        Order::light();
    }

    [[gnu::noinline]] Entry begin_elsewhere() {
        std::uint32_t before = shared_.load(std::memory_order_relaxed);
        do {
            if (before & kClosed) return Entry::Refused;
            // Acquire: sees what the owner did to the object before.
        } while (!shared_.compare_exchange_weak(before, before + kOne, std::memory_order_acquire,
                                                std::memory_order_relaxed));
        return Entry::Entered;
    }

    [[gnu::noinline]] bool end_elsewhere() {
        // Release: the finisher sees what was done in this use. seq_cst: before the home's uses are
        // read.
        std::uint32_t word = shared_.fetch_sub(kOne, std::memory_order_seq_cst) - kOne;
        if (!(word & kClosed)) [[likely]]
            return false;
        if (!(word & kHasHome)) return try_finish(word, 0);
        Order::heavy();
        return try_finish(word, home_uses_.load(Order::kLook));
    }

    // After the close no use begins, so the number of uses only falls. The home's uses were read
    // before the word; so a sum of zero means that no use is under way now.
    [[gnu::noinline, gnu::cold]] bool try_finish(std::uint32_t word, std::uint32_t home_uses) {
        WEFT_DASSERT(word & kClosed, "only a close is finished");
        while (uses(word, home_uses) == 0 && !(word & kFinished)) {
            // Acquire: after all that was done in the uses of others.
            if (shared_.compare_exchange_weak(word, word | kFinished, std::memory_order_acquire,
                                              std::memory_order_relaxed)) {
                return true;
            }
        }
        return false;
    }

    std::uintptr_t take_state() {
        WEFT_ASSERT(is_idle(), "a descriptor was moved or released during a call on it");
        // Relaxed, here and below: the owner's, with nobody in a use.
        home_uses_.store(0, std::memory_order_relaxed);
        shared_.store(kClosed | kFinished, std::memory_order_relaxed);
        return home_.exchange(kNobody, std::memory_order_relaxed);
    }
    void take(BasicUseCount& other) {
        std::uint32_t marks = other.shared_.load(std::memory_order_relaxed) % kOne;
        home_.store(other.take_state(), std::memory_order_relaxed);
        home_uses_.store(0, std::memory_order_relaxed);
        shared_.store(marks, std::memory_order_relaxed);
    }

    // SchedulerAtomic: they order only the runtime's own memory, so a sanitizer of the program need
    // not know of them.
    SchedulerAtomic<std::uintptr_t> home_{kNobody};
    SchedulerAtomic<std::uint32_t> home_uses_{0};  // written by the home's thread alone
    SchedulerAtomic<std::uint32_t> shared_{kClosed | kFinished};
};

using UseCount = BasicUseCount<UseOrder>;

}  // namespace weft
