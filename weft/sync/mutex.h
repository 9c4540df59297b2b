// Mutex: one holder at a time. Any fiber, any plain thread; a fiber parks, a thread blocks. It may
// be held over a wait, and unlocked on another worker than it was locked on, but by the same fiber.
//
//     std::lock_guard guard(mutex);       // also std::unique_lock, std::scoped_lock
//
// lock() cannot be cancelled, so that code which must put things right can always take its lock;
// lock_cancellable() can. Not recursive: a fiber that waits without a deadline for a mutex which it
// holds itself is told so, by an assertion in lock() and by Misuse from lock_cancellable().
//
// A newcomer may take a free mutex before those who wait; this keeps a busy mutex with the fibers
// that run. But nobody starves: a waiter that was woken and came too late kMutexLossesMax times is
// handed the mutex by the next holder. Without contention a lock and an unlock are one
// compare-and-swap each.
//
// It may be destroyed by whoever holds it last, right after unlock(), while others still return
// from their own unlock(); not while somebody waits.
#pragma once

#include <cstdint>

#include "weft/base/atomic.h"
#include "weft/base/result.h"
#include "weft/base/spin_lock.h"
#include "weft/base/time.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/turn.h"
#include "weft/fiber/waiter.h"
#include "weft/sync/internal/wait_queue.h"

namespace weft {

class Mutex {
public:
    constexpr Mutex() = default;
    Mutex(const Mutex&) = delete;
    Mutex& operator=(const Mutex&) = delete;
    ~Mutex();

    // The turn is paid for after the mutex was taken: a store just before a locked operation has to
    // be waited for, and there is one in most critical sections anyway.
    void lock() {
        if (take()) [[likely]] {
            if (turn::spend(1)) [[unlikely]]
                lock_in_next_turn();
        } else {
            lock_slowly();
        }
    }
    bool try_lock() {
        turn::step("mutex.try_lock", this);
        return take();
    }
    void unlock() {
        give_back();
        turn::step("mutex.unlock", this);  // which may be gone
    }

    // False when it could not be had in time. Not cancellable, as lock().
    template <class Rep, class Period>
    bool try_lock_for(std::chrono::duration<Rep, Period> duration) {
        turn::may_wait("mutex.try_lock_for", this);
        return take() || lock_until(Deadline::after(duration));
    }
    bool try_lock_until(Deadline deadline) {
        turn::may_wait("mutex.try_lock_until", this);
        return take() || lock_until(deadline);
    }
    bool try_lock_until(Instant instant) { return try_lock_until(Deadline::at(instant)); }

    // TimedOut or Cancelled when it could not be had, Misuse when we hold it.
    Result<void> lock_cancellable(Deadline deadline = Deadline::never(),
                                  const CancelToken& token = {});

private:
    using Until = sync_internal::Until;

    // Bits of state_, which is 0 whenever the mutex is free. The last two change under queue_lock_.
    static constexpr std::uintptr_t kLocked = 1;
    static constexpr std::uintptr_t kWake = 2;     // unlock() has to look after the queue
    static constexpr std::uintptr_t kHandOff = 4;  // and to pass the mutex on
    // The rest is the stack_mark() of the holder; 0 until one to whom it was passed on goes on.
    static constexpr std::uintptr_t kHolder = ~((std::uintptr_t{1} << kStackMarkShift) - 1);

    struct Entry : sync_internal::WaitEntry {
        bool owns = false;  // the mutex was handed over
    };

    bool take() {
        std::uintptr_t expected = 0;
        // Acquire: sees what the last holder did. Relaxed on failure: nothing is read then.
        return state_.compare_exchange_strong(expected, kLocked | stack_mark(),
                                              std::memory_order_acquire, std::memory_order_relaxed);
    }
    void give_back() {
#ifdef WEFT_CHECKED
        // Every access is a step there, so where a page of the stack ends must not matter.
        std::uintptr_t expected = kLocked | (state_.load(std::memory_order_relaxed) & kHolder);
#else
        // A guess: who unlocks mostly does so in the function that locked, so on the same page.
        std::uintptr_t expected = kLocked | stack_mark();
#endif
        // Release: publishes the critical section. Relaxed on failure: unlock_slowly() looks anew.
        if (!state_.compare_exchange_strong(expected, 0, std::memory_order_release,
                                            std::memory_order_relaxed)) {
            unlock_slowly();
        }
    }
    [[gnu::noinline]] void lock_slowly();
    [[gnu::noinline, gnu::cold]] void lock_in_next_turn();
    [[gnu::noinline]] void unlock_slowly();
    bool let_go(std::uintptr_t held);
    bool lock_until(Deadline deadline);
    Result<void> lock_by(const Until& until);
    bool is_held_here() const;
    bool announce_wait(bool was_woken, bool hand_off);
    void give_up(Entry& entry, bool hand_off);
    void settle_after_wake();

    Atomic<std::uintptr_t> state_{0};
    SpinLock queue_lock_;
    // A waiter was woken and has not yet taken the mutex or queued again; until then unlock() wakes
    // no other. Under queue_lock_.
    bool woken_ = false;
    sync_internal::WaitQueue queue_;
};

}  // namespace weft
