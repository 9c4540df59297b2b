// WaitGroup: waits until a number of things are done. Any fiber, any plain thread.
//
//     WaitGroup group(2);
//     spawn([&] { work(); group.done(); }).detach();
//     spawn([&] { work(); group.done(); }).detach();
//     WEFT_TRY(group.wait());
//
// add() before the work starts, or while the count is not zero; then it may be used again and
// again. It may be destroyed as soon as wait() has returned without an error, also while the last
// done() is still on its way out.
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

    // Until the count is zero. TimedOut, Cancelled.
    Result<void> wait() { return wait_until(Deadline::never()); }
    Result<void> wait(const CancelToken& token) { return wait_until(Deadline::never(), token); }
    template <class Rep, class Period>
    Result<void> wait_for(std::chrono::duration<Rep, Period> duration) {
        return wait_until(Deadline::after(duration));
    }
    Result<void> wait_until(Deadline deadline, const CancelToken& token = {});

    std::uint64_t count() const;  // a moment's value

private:
    // Also taken where a look at the count would do: it keeps wait() from returning, and its caller
    // from destroying the group, while done() is in here.
    mutable SpinLock lock_;
    std::uint64_t count_;
    sync_internal::WaitQueue queue_;
};

}  // namespace weft
