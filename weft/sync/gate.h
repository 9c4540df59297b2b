// Gate: counts the calls that are under way, and closes: no new call may enter, and close() waits
// until all have left. For stopping a service. Any fiber, any plain thread.
//
//     auto hold = WEFT_TRY(gate.hold());   // Closed after close(); leaves when `hold` ends
//     ...
//     WEFT_TRY(gate.close());              // elsewhere; afterwards no call is under way
//
// It may be destroyed as soon as close() has returned without an error, even if the last leave()
// has not yet returned.
#pragma once

#include <cstdint>
#include <utility>

#include "weft/base/result.h"
#include "weft/base/spin_lock.h"
#include "weft/base/time.h"
#include "weft/fiber/cancel.h"
#include "weft/sync/internal/wait_queue.h"

namespace weft {

class Gate {
public:
    class Hold;

    constexpr Gate() = default;
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;
    ~Gate();

    // Never waits. Closed after close().
    Result<void> enter();
    void leave();
    Result<Hold> hold();

    // Closes at once and waits until nobody is inside. TimedOut, Cancelled: it stays closed, and
    // close() may be called again to wait further.
    Result<void> close() { return close_until(Deadline::never()); }
    Result<void> close(const CancelToken& token) { return close_until(Deadline::never(), token); }
    template <class Rep, class Period>
    Result<void> close_for(std::chrono::duration<Rep, Period> duration) {
        return close_until(Deadline::after(duration));
    }
    Result<void> close_until(Deadline deadline, const CancelToken& token = {});

    // Snapshots, which may be out of date on return.
    bool is_closed() const;
    std::uint64_t inside() const;

private:
    mutable SpinLock lock_;
    bool closed_ = false;
    std::uint64_t inside_ = 0;
    sync_internal::WaitQueue closers_;
};

// Entered the gate; its destructor leaves it.
class [[nodiscard]] Gate::Hold {
public:
    Hold(Hold&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)) {}
    Hold& operator=(Hold&& other) noexcept {
        std::swap(gate_, other.gate_);
        return *this;
    }
    ~Hold() {
        if (gate_) gate_->leave();
    }

private:
    friend class Gate;
    explicit Hold(Gate& gate) : gate_(&gate) {}

    Gate* gate_;
};

}  // namespace weft
