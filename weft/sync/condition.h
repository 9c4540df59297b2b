// Condition: a condition variable, to wait until another fiber or thread notifies of a change. Any
// fiber, any plain thread.
//
//     std::unique_lock lock(mutex);
//     WEFT_TRY(changed.wait(lock, [&] { return !items.empty(); }));
//
// A wait releases the mutex while it lasts and holds it again when it returns, whatever the
// outcome; locking it again cannot be cancelled. A wait ends as notified or as timed out, never as
// both: a notification is not used up by a wait that has timed out. There are no spurious wake-ups,
// but another fiber may lock the mutex first and change the state back, so wait with a predicate.
// The notifier need not hold the mutex. The condition must outlive every wait in it.
#pragma once

#include <concepts>
#include <mutex>

#include "weft/base/result.h"
#include "weft/base/spin_lock.h"
#include "weft/base/time.h"
#include "weft/fiber/cancel.h"
#include "weft/sync/internal/wait_queue.h"
#include "weft/sync/mutex.h"

namespace weft {

class Condition {
public:
    constexpr Condition() = default;
    Condition(const Condition&) = delete;
    Condition& operator=(const Condition&) = delete;
    ~Condition();

    // TimedOut, Cancelled. The lock is held before and after.
    Result<void> wait(std::unique_lock<Mutex>& lock) { return wait_until(lock, Deadline::never()); }
    Result<void> wait(std::unique_lock<Mutex>& lock, const CancelToken& token) {
        return wait_until(lock, Deadline::never(), token);
    }
    template <class Rep, class Period>
    Result<void> wait_for(std::unique_lock<Mutex>& lock,
                          std::chrono::duration<Rep, Period> duration) {
        return wait_until(lock, Deadline::after(duration));
    }
    Result<void> wait_until(std::unique_lock<Mutex>& lock, Deadline deadline,
                            const CancelToken& token = {});

    // Waits until the predicate holds. An error is returned only if it still does not hold then.
    template <std::predicate Predicate>
    Result<void> wait(std::unique_lock<Mutex>& lock, Predicate predicate) {
        return wait_until(lock, Deadline::never(), predicate);
    }
    template <class Rep, class Period, std::predicate Predicate>
    Result<void> wait_for(std::unique_lock<Mutex>& lock,
                          std::chrono::duration<Rep, Period> duration, Predicate predicate) {
        return wait_until(lock, Deadline::after(duration), predicate);
    }
    template <std::predicate Predicate>
    Result<void> wait_until(std::unique_lock<Mutex>& lock, Deadline deadline, Predicate predicate,
                            const CancelToken& token = {}) {
        while (!predicate()) {
            Result<void> waited = wait_until(lock, deadline, token);
            if (!waited) return predicate() ? Result<void>() : waited;
        }
        return {};
    }

    void notify_one();
    void notify_all();

private:
    SpinLock queue_lock_;
    sync_internal::WaitQueue queue_;
};

}  // namespace weft
