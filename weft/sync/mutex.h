// Mutex: one holder at a time. Any fiber, any plain thread; a fiber parks, a thread blocks. It may
// be held over a wait. The fiber that locked it unlocks it, possibly on another worker.
//
//     std::lock_guard guard(mutex);       // also std::unique_lock, std::scoped_lock
//
// lock() cannot be cancelled, so that cleanup code can always take its lock; lock_cancellable()
// can. Not recursive: a fiber that waits without a deadline for a mutex which it holds itself gets
// an assertion from lock() and Misuse from lock_cancellable().
//
// A newcomer may take a free mutex before the waiters do; so a contended mutex mostly passes
// between running fibers, without a switch. No waiter starves: the mutex is handed over to one that
// was woken kMutexLossesMax times and found it taken each time. Without contention a lock and
// an unlock are one compare-and-swap each.
//
// The last holder may destroy it right after its unlock(), even if earlier holders have not yet
// returned from theirs. It must not be destroyed while somebody waits.
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

    // The turn's budget is charged after the mutex was taken: the processor would wait for a store
    // just before a locked operation, and most critical sections store anyway.
    void lock() {
        if (try_acquire()) [[likely]] {
            if (turn::spend(1)) [[unlikely]]
                lock_in_next_turn();
        } else {
            lock_slowly();
        }
    }
    bool try_lock() {
        turn::step("mutex.try_lock", this);
        return try_acquire();
    }
    void unlock() {
        release();
        turn::step("mutex.unlock", this);  // `this` may be destroyed
    }

    // False on timeout. Not cancellable, as lock().
    template <class Rep, class Period>
    bool try_lock_for(std::chrono::duration<Rep, Period> duration) {
        turn::may_wait("mutex.try_lock_for", this);
        return try_acquire() || lock_until(Deadline::after(duration));
    }
    bool try_lock_until(Deadline deadline) {
        turn::may_wait("mutex.try_lock_until", this);
        return try_acquire() || lock_until(deadline);
    }
    bool try_lock_until(Instant instant) { return try_lock_until(Deadline::at(instant)); }

    // TimedOut, Cancelled; Misuse if there is no deadline and the calling fiber holds it already.
    Result<void> lock_cancellable(Deadline deadline = Deadline::never(),
                                  const CancelToken& token = {});

private:
    using Until = sync_internal::Until;

    // Bits of state_, which is 0 whenever the mutex is free. The last two change under queue_lock_.
    static constexpr std::uintptr_t kLocked = 1;
    static constexpr std::uintptr_t kWake = 2;     // unlock() has to wake a waiter, if any
    static constexpr std::uintptr_t kHandOff = 4;  // and to hand the mutex over to it
    // The other bits are the stack_mark() of the holder; after a handoff they are 0 until the new
    // holder has resumed.
    static constexpr std::uintptr_t kHolder = ~((std::uintptr_t{1} << kStackMarkShift) - 1);

    struct Entry : sync_internal::WaitEntry {
        bool owns = false;  // the mutex was handed over
    };

    bool try_acquire() {
        std::uintptr_t expected = 0;
        // Acquire: sees what the last holder did. Relaxed on failure: nothing is read in that case.
        return state_.compare_exchange_strong(expected, kLocked | stack_mark(),
                                              std::memory_order_acquire, std::memory_order_relaxed);
    }
    void release() {
#ifdef WEFT_CHECKED
        // Every access is a scheduling point, so the schedule must not depend on where a page of
        // the stack ends.
        std::uintptr_t expected = kLocked | (state_.load(std::memory_order_relaxed) & kHolder);
#else
        // A guess: most code unlocks in the function that locked, so on the same page of the stack.
        std::uintptr_t expected = kLocked | stack_mark();
#endif
        // Release: publishes the critical section. Relaxed on failure: unlock_slowly() loads again.
        if (!state_.compare_exchange_strong(expected, 0, std::memory_order_release,
                                            std::memory_order_relaxed)) {
            unlock_slowly();
        }
    }
    [[gnu::noinline]] void lock_slowly();
    [[gnu::noinline, gnu::cold]] void lock_in_next_turn();
    [[gnu::noinline]] void unlock_slowly();
    bool try_release(std::uintptr_t held);
    bool lock_until(Deadline deadline);
    Result<void> lock_by(const Until& until);
    bool is_held_here() const;
    bool announce_wait(bool was_woken, bool hand_off);
    void leave_queue(Entry& entry, bool hand_off);
    void finish_wake();

    Atomic<std::uintptr_t> state_{0};
    SpinLock queue_lock_;
    // A waiter was woken and has not yet taken the mutex or queued again; until then unlock() wakes
    // no other one. Guarded by queue_lock_.
    bool woken_ = false;
    sync_internal::WaitQueue queue_;
};

}  // namespace weft
