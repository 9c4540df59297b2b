// SharedMutex: one writer or any number of readers. Any fiber, any plain thread.
//
//     std::shared_lock reading(mutex);
//     std::lock_guard writing(mutex);
//
// Nobody starves: waiters are served in the order of their arrival, and a reader that arrives while
// a writer waits, waits behind it; adjacent readers are admitted together. So a holder of a shared
// lock must not lock it again: with a writer waiting in between, both would wait for ever.
// lock() and lock_shared() cannot be cancelled; the variants that return a Result can.
// It may be destroyed when nobody holds it and nobody waits.
#pragma once

#include <cstdint>

#include "weft/base/result.h"
#include "weft/base/spin_lock.h"
#include "weft/base/time.h"
#include "weft/fiber/cancel.h"
#include "weft/sync/internal/wait_queue.h"

namespace weft {

class SharedMutex {
public:
    constexpr SharedMutex() = default;
    SharedMutex(const SharedMutex&) = delete;
    SharedMutex& operator=(const SharedMutex&) = delete;
    ~SharedMutex();

    void lock() { acquire_always(Mode::Exclusive); }
    bool try_lock() { return try_acquire(Mode::Exclusive); }
    void unlock();
    void lock_shared() { acquire_always(Mode::Shared); }
    bool try_lock_shared() { return try_acquire(Mode::Shared); }
    void unlock_shared();

    // False on timeout. Not cancellable.
    template <class Rep, class Period>
    bool try_lock_for(std::chrono::duration<Rep, Period> duration) {
        return try_lock_until(Deadline::after(duration));
    }
    template <class Rep, class Period>
    bool try_lock_shared_for(std::chrono::duration<Rep, Period> duration) {
        return try_lock_shared_until(Deadline::after(duration));
    }
    bool try_lock_until(Deadline deadline);
    bool try_lock_until(Instant instant) { return try_lock_until(Deadline::at(instant)); }
    bool try_lock_shared_until(Deadline deadline);
    bool try_lock_shared_until(Instant instant) {
        return try_lock_shared_until(Deadline::at(instant));
    }

    // TimedOut, Cancelled; Misuse if there is no deadline and the caller holds it for writing.
    Result<void> lock_cancellable(Deadline deadline = Deadline::never(),
                                  const CancelToken& token = {});
    Result<void> lock_shared_cancellable(Deadline deadline = Deadline::never(),
                                         const CancelToken& token = {});

private:
    using Until = sync_internal::Until;
    enum class Mode : std::uint8_t { Exclusive, Shared };
    struct Entry : sync_internal::WaitEntry {
        Mode mode = Mode::Exclusive;
    };

    bool is_open_to(Mode mode) const;
    void admit(Mode mode);
    bool try_acquire(Mode mode);
    void acquire_always(Mode mode);
    Result<void> acquire(Mode mode, const Until& until);
    void grant(sync_internal::Claimed& claimed);

    SpinLock lock_;
    bool writer_ = false;
    std::uintptr_t holder_ = 0;  // the stack_mark() of the writer
    std::uint32_t readers_ = 0;
    sync_internal::WaitQueue queue_;
};

}  // namespace weft
