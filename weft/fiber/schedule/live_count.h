// How many fibers live, and how one who waits for their end is told.
//
// LiveCount: of one worker, which alone writes it. EndWatch: who waits, and the word he sleeps on.
#pragma once

#include <cstdint>

#include "weft/base/atomic.h"

namespace weft {

class LiveCount {
public:
    void spawn() {
        // Relaxed: the fiber itself is published by the queue; sums are taken in an order that
        // makes an old value harmless (sum_live).
        spawned_.store(spawned_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    void finish() {
        // Release: whoever counts it as gone sees all it did. One writer, so no
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
// before it can finish; so equal sums mean that at the first reading nothing was alive. `counts`
// are those of all workers, through `count_of`; `outside` reads who was spawned by plain threads.
template <class Workers, class CountOf, class Outside>
std::uint64_t sum_live(const Workers& workers, CountOf count_of, Outside outside) {
    std::uint64_t finished = 0;
    for (const auto& worker : workers) finished += count_of(worker).finished();
    std::uint64_t spawned = outside();
    for (const auto& worker : workers) spawned += count_of(worker).spawned();
    return spawned - finished;
}

struct EndOrder {
    static constexpr bool kAsksByWriting = true;  // the checker's test shows what that is for
};

template <class Order>
class BasicEndWatch {
public:
    // ------------------------------------------------------------ by who waits

    void begin() { watchers_.fetch_add(1, std::memory_order_seq_cst); }
    void end() {
        // seq_cst as its counterpart above; nothing depends on this one.
        watchers_.fetch_sub(1, std::memory_order_seq_cst);
    }
    // Read before the look at the count: who sleeps on an older number is woken.
    std::uint32_t signal() const { return signal_.load(std::memory_order_seq_cst); }
    Atomic<std::uint32_t>& signal_word() { return signal_; }

    // ------------------------------------------------------------ by who has finished a fiber

    // A read-modify-write, as is the other side's: whichever comes second sees what the first one
    // did before it, the finished fibers or the watcher.
    bool is_watched() {
        if (!Order::kAsksByWriting) return has_watchers();
        return watchers_.fetch_add(0, std::memory_order_seq_cst) != 0;
    }
    // seq_cst: in one order with those who come to wait.
    bool has_watchers() const { return watchers_.load(std::memory_order_seq_cst) != 0; }
    // For one who will ask again: at the next look, or before its sleep.
    bool seems_watched() const {
        // Relaxed: a watcher that is not seen yet is seen then.
        return watchers_.load(std::memory_order_relaxed) != 0;
    }
    // The caller then wakes all who sleep on the word.
    void count_signal() { signal_.fetch_add(1, std::memory_order_seq_cst); }

private:
    Atomic<std::uint32_t> watchers_{0};
    Atomic<std::uint32_t> signal_{0};
};

using EndWatch = BasicEndWatch<EndOrder>;

}  // namespace weft
