// Barrier: makes a number of parties wait until all have arrived, phase after phase. Any fiber, any
// plain thread.
//
//     Barrier barrier(3);
//     for (;;) { step(); WEFT_TRY(barrier.arrive_and_wait()); }
//
// An arrival whose wait times out or is cancelled is taken back: the others wait until another
// party arrives in its place, or until arrive_and_drop() lowers the number of parties.
// The barrier may be destroyed when every arrive_and_wait() has returned.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/base/result.h"
#include "weft/base/spin_lock.h"
#include "weft/base/time.h"
#include "weft/fiber/cancel.h"
#include "weft/sync/internal/wait_queue.h"

namespace weft {

class Barrier {
public:
    explicit Barrier(std::size_t parties);
    Barrier(const Barrier&) = delete;
    Barrier& operator=(const Barrier&) = delete;
    ~Barrier();

    // True for the party that arrived last, false for those that waited. TimedOut, Cancelled.
    Result<bool> arrive_and_wait() { return arrive_and_wait_until(Deadline::never()); }
    Result<bool> arrive_and_wait(const CancelToken& token) {
        return arrive_and_wait_until(Deadline::never(), token);
    }
    template <class Rep, class Period>
    Result<bool> arrive_and_wait_for(std::chrono::duration<Rep, Period> duration) {
        return arrive_and_wait_until(Deadline::after(duration));
    }
    Result<bool> arrive_and_wait_until(Deadline deadline, const CancelToken& token = {});

    // Lowers the number of parties by one, without waiting.
    void arrive_and_drop();

private:
    bool complete(sync_internal::Claimed& claimed);

    SpinLock lock_;
    std::size_t parties_;
    std::size_t arrived_ = 0;
    std::uint64_t phase_ = 0;
    sync_internal::WaitQueue queue_;
};

}  // namespace weft
