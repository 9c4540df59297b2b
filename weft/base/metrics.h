#pragma once

#include <cstdint>

#include "weft/base/atomic.h"

namespace weft {

// A number that only grows, for people and tests to read. Any thread. Each owner keeps a plain
// struct of named counters; there is no global registry:
//
//     struct WorkerCounters { Counter switches; Counter steals; };
class Counter {
public:
    constexpr Counter() noexcept = default;
    Counter(const Counter&) = delete;
    Counter& operator=(const Counter&) = delete;

    void add(std::uint64_t amount = 1) noexcept {
        // Relaxed: statistics only; no other memory is read through this value.
        value_.fetch_add(amount, std::memory_order_relaxed);
    }

    // Cheaper than add(). Only for a counter that one thread writes: concurrent updates are lost.
    void add_as_owner(std::uint64_t amount = 1) noexcept {
        // Relaxed: statistics only, and no other thread writes between the load and the store.
        value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
    }

    std::uint64_t value() const noexcept {
        // Relaxed: a snapshot; counters of one struct need not agree with each other.
        return value_.load(std::memory_order_relaxed);
    }

private:
    Atomic<std::uint64_t> value_{0};
};

}  // namespace weft
