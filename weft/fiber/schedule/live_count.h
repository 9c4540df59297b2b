// How many fibers live, and how a thread waits for their end.
//
// LiveCount: the count of one worker, which alone writes it. EndWatch: how many threads wait, and
// the futex word that they block on.
#pragma once

#include <cstdint>

#include "weft/base/assert.h"
#include "weft/base/atomic.h"

namespace weft {

class LiveCount {
public:
    void spawn() {
        // Relaxed: the fiber itself is published by its queue; sum_live() reads in an order that
        // makes an old value harmless.
        spawned_.store(spawned_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    void finish() {
        // Release: a thread that counts the fiber as gone sees all it did. One writer, so no
        // read-modify-write.
        finished_.store(finished_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }
    std::uint64_t spawned() const { return spawned_.load(std::memory_order_seq_cst); }
    std::uint64_t finished() const { return finished_.load(std::memory_order_seq_cst); }

private:
    Atomic<std::uint64_t> spawned_{0};
    Atomic<std::uint64_t> finished_{0};
};

// The finished are read before the spawned. Both only grow, and a fiber is counted as spawned
// before it can finish; so equal sums mean that at the first reading nothing was alive. `count_of`
// gives the LiveCount of a worker; `outside` reads how many fibers plain threads have spawned.
template <class Workers, class CountOf, class Outside>
std::uint64_t sum_live(const Workers& workers, CountOf count_of, Outside outside) {
    std::uint64_t finished = 0;
    for (const auto& worker : workers) finished += count_of(worker).finished();
    std::uint64_t spawned = outside();
    for (const auto& worker : workers) spawned += count_of(worker).spawned();
    WEFT_DASSERT(spawned >= finished, "a fiber is counted as spawned before it finishes");
    return spawned - finished;
}

struct EndOrder {
    // Test for watchers by a write; sleep_model_test.cpp shows what that is needed for.
    static constexpr bool kAsksByWriting = true;
};

template <class Order>
class BasicEndWatch {
public:
    // ------------------------------------------------------------ by the waiting thread

    void begin() { watchers_.fetch_add(1, std::memory_order_seq_cst); }
    void end() {
        // seq_cst like its counterpart above; nothing depends on this one.
        [[maybe_unused]] std::uint32_t before = watchers_.fetch_sub(1, std::memory_order_seq_cst);
        WEFT_DASSERT(before != 0, "a watcher ends as often as it began");
    }
    // Read before the count of fibers: a thread that blocks on an older value returns at once.
    std::uint32_t signal() const { return signal_.load(std::memory_order_seq_cst); }
    Atomic<std::uint32_t>& signal_word() { return signal_; }

    // ------------------------------------------------------------ after a fiber was finished

    // A read-modify-write, as is begin(): the one that comes second sees what the first one did
    // before it, the finished fibers or the watcher.
    bool is_watched() {
        if (!Order::kAsksByWriting) return has_watchers();
        return watchers_.fetch_add(0, std::memory_order_seq_cst) != 0;
    }
    // seq_cst: in one order with begin().
    bool has_watchers() const { return watchers_.load(std::memory_order_seq_cst) != 0; }
    // For a caller that will test again, at the end of its turn or before it sleeps.
    bool seems_watched() const {
        // Relaxed: a watcher that is not seen yet is seen at that later test.
        return watchers_.load(std::memory_order_relaxed) != 0;
    }
    // The caller then wakes all threads that block on the word.
    void count_signal() { signal_.fetch_add(1, std::memory_order_seq_cst); }

private:
    Atomic<std::uint32_t> watchers_{0};
    Atomic<std::uint32_t> signal_{0};
};

using EndWatch = BasicEndWatch<EndOrder>;

}  // namespace weft
