// Event: a flag to wait for, which stays set until it is reset. Any fiber, any plain thread.
//
//     Event ready;
//     spawn([&] { prepare(); ready.set(); }).detach();
//     WEFT_TRY(ready.wait());             // returns at once if it is set
//
// set() wakes all waiters, even if reset() follows at once. The event may be destroyed as soon as
// wait() has returned without an error and nobody else waits, even if set() has not yet returned.
#pragma once

#include "weft/base/result.h"
#include "weft/base/spin_lock.h"
#include "weft/base/time.h"
#include "weft/fiber/cancel.h"
#include "weft/sync/internal/wait_queue.h"

namespace weft {

class Event {
public:
    enum class State : bool { Reset, Set };

    explicit constexpr Event(State state = State::Reset) : state_(state) {}
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    ~Event();

    void set();
    void reset();
    bool is_set() const;  // a snapshot, which may be out of date on return

    // Waits until the event is set. TimedOut, Cancelled.
    Result<void> wait() { return wait_until(Deadline::never()); }
    Result<void> wait(const CancelToken& token) { return wait_until(Deadline::never(), token); }
    template <class Rep, class Period>
    Result<void> wait_for(std::chrono::duration<Rep, Period> duration) {
        return wait_until(Deadline::after(duration));
    }
    Result<void> wait_until(Deadline deadline, const CancelToken& token = {});

private:
    // Also locked where an atomic load would do: while set() holds it, wait() cannot return, and
    // its caller cannot destroy the event.
    mutable SpinLock lock_;
    State state_;
    sync_internal::WaitQueue queue_;
};

}  // namespace weft
