// WaitGroup: a counter of unfinished work, and the wait for its zero. Any fiber, any plain thread.
//
//     WaitGroup group(2);
//     spawn([&] { work(); group.done(); }).detach();
//     spawn([&] { work(); group.done(); }).detach();
//     WEFT_TRY(group.wait());
//
// Call add() before the work starts, or while the count is not zero; after that it may be reused.
// It may be destroyed as soon as wait() has returned without an error, even if the last done() has
// not yet returned.
#pragma once

#include <cstdint>

#include "weft/base/result.h"
#include "weft/base/spin_lock.h"
#include "weft/base/time.h"
#include "weft/fiber/cancel.h"
#include "weft/sync/internal/wait_queue.h"

namespace weft {

class WaitGroup {
public:
    explicit constexpr WaitGroup(std::uint64_t count = 0) : count_(count) {}
    WaitGroup(const WaitGroup&) = delete;
    WaitGroup& operator=(const WaitGroup&) = delete;
    ~WaitGroup();

    void add(std::uint64_t count = 1);
    void done();

    // Waits until the count is zero. TimedOut, Cancelled.
    Result<void> wait() { return wait_until(Deadline::never()); }
    Result<void> wait(const CancelToken& token) { return wait_until(Deadline::never(), token); }
    template <class Rep, class Period>
    Result<void> wait_for(std::chrono::duration<Rep, Period> duration) {
        return wait_until(Deadline::after(duration));
    }
    Result<void> wait_until(Deadline deadline, const CancelToken& token = {});

    std::uint64_t count() const;  // a snapshot

private:
    // Also locked where an atomic load would do: while done() holds it, wait() cannot return, and
    // its caller cannot destroy the group.
    mutable SpinLock lock_;
    std::uint64_t count_;
    sync_internal::WaitQueue queue_;
};

}  // namespace weft
