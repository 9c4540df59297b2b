// Semaphore: a number of permits. Any fiber, any plain thread.
//
//     Semaphore slots(8);
//     WEFT_TRY(slots.acquire());          // waits while there are none
//     ...
//     slots.release();                    // by any fiber or thread
//
// Waiters are served strictly in the order of their arrival: a waiter for many permits is not
// overtaken by waiters for few. A wait that fails has taken nothing.
// It may be destroyed when nobody waits and every release() has made its permits available, even if
// the last release() has not yet returned.
#pragma once

#include <cstdint>

#include "weft/base/result.h"
#include "weft/base/spin_lock.h"
#include "weft/base/time.h"
#include "weft/fiber/cancel.h"
#include "weft/sync/internal/wait_queue.h"

namespace weft {

class Semaphore {
public:
    explicit constexpr Semaphore(std::uint64_t permits) : permits_(permits) {}
    Semaphore(const Semaphore&) = delete;
    Semaphore& operator=(const Semaphore&) = delete;
    ~Semaphore();

    // TimedOut, Cancelled.
    Result<void> acquire(std::uint64_t count = 1) {
        return acquire_until(Deadline::never(), count);
    }
    Result<void> acquire(const CancelToken& token, std::uint64_t count = 1) {
        return acquire_until(Deadline::never(), count, token);
    }
    template <class Rep, class Period>
    Result<void> acquire_for(std::chrono::duration<Rep, Period> duration, std::uint64_t count = 1) {
        return acquire_within(saturate(duration), count);
    }
    Result<void> acquire_until(Deadline deadline, std::uint64_t count = 1,
                               const CancelToken& token = {});
    // False also when there are enough permits but others wait.
    bool try_acquire(std::uint64_t count = 1);

    void release(std::uint64_t count = 1);

    std::uint64_t available() const;  // a snapshot

private:
    struct Entry : sync_internal::WaitEntry {
        std::uint64_t count = 0;
    };

    bool take(std::uint64_t count);
    Result<void> acquire_within(Nanoseconds duration, std::uint64_t count);
    Result<void> acquire_by(const sync_internal::Until& until, std::uint64_t count);
    void grant(sync_internal::Claimed& claimed);

    mutable SpinLock lock_;
    std::uint64_t permits_;
    sync_internal::WaitQueue queue_;
};

}  // namespace weft
