#pragma once

#include "weft/base/atomic.h"
#include "weft/base/env.h"

namespace weft {

// A lock for critical sections of a few instructions; use it through SpinGuard. Any thread or
// fiber, but a fiber never parks while it holds one. Not recursive, not fair. In a simulation each
// spin is a scheduling point.
class SpinLock {
public:
    constexpr SpinLock() noexcept = default;
    SpinLock(const SpinLock&) = delete;
    SpinLock& operator=(const SpinLock&) = delete;

    void lock() noexcept {
        if (!try_lock()) lock_contended();
    }

    bool try_lock() noexcept {
        // Acquire: sees what the last holder did before its release in unlock().
        return !locked_.exchange(true, std::memory_order_acquire);
    }

    void unlock() noexcept {
        // Release: publishes the critical section to the next holder's acquire in try_lock().
        locked_.store(false, std::memory_order_release);
    }

    // For assertions only: whether it is held, by this thread or by another one.
    bool is_locked() const noexcept {
        // Relaxed: a holder that asks about itself reads its own write.
        return locked_.load(std::memory_order_relaxed);
    }

private:
    [[gnu::noinline, gnu::cold]] void lock_contended() noexcept {
        unsigned attempt = 0;
        do {
            // A load, so that waiters share the cache line. Relaxed: try_lock() acquires.
            while (locked_.load(std::memory_order_relaxed)) env::spin_pause(attempt++);
        } while (!try_lock());
    }

    Atomic<bool> locked_{false};
};

// Holds the lock for a block of code.
class [[nodiscard]] SpinGuard {
public:
    explicit SpinGuard(SpinLock& lock) noexcept : lock_(lock) { lock_.lock(); }
    ~SpinGuard() { lock_.unlock(); }
    SpinGuard(const SpinGuard&) = delete;
    SpinGuard& operator=(const SpinGuard&) = delete;

private:
    SpinLock& lock_;
};

}  // namespace weft
