// Once: runs a function for the first caller, and makes concurrent callers wait until it has run.
// Any fiber, any plain thread.
//
//     WEFT_TRY(loaded.call([&] { return load_tables(); }));
//
// The function returns nothing or a Result<void>. When it fails (an error, or an exception, which
// is not caught), its caller gets the failure and the next caller runs the function again. A caller
// that waits for another one's run gets TimedOut or Cancelled when its own wait ends so; the run
// itself goes on. After the first success a call costs one load. The Once must outlive every call.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

#include "weft/base/atomic.h"
#include "weft/base/result.h"
#include "weft/base/spin_lock.h"
#include "weft/base/time.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/turn.h"
#include "weft/sync/internal/wait_queue.h"

namespace weft {

class Once {
public:
    constexpr Once() = default;
    Once(const Once&) = delete;
    Once& operator=(const Once&) = delete;
    ~Once();

    template <std::invocable Function>
    Result<void> call(Function&& function) {
        return call_until(Deadline::never(), std::forward<Function>(function));
    }
    // The deadline and the token bound the wait for another caller, not the function.
    template <std::invocable Function>
    Result<void> call_until(Deadline deadline, Function&& function, const CancelToken& token = {});

    // Acquire: the effects of the function are visible to a caller that gets true.
    bool is_done() const { return state_.load(std::memory_order_acquire) == State::Done; }

private:
    enum class State : std::uint8_t { New, Running, Done };
    enum class Next : std::uint8_t { RunFunction, Return };

    // Its destructor ends the run: as failed, unless `end` was set to Done.
    struct RunGuard {
        Once& once;
        State end = State::New;
        ~RunGuard() { once.finish(end); }
    };

    // Waits while another caller runs the function, then says what this caller has to do.
    Result<Next> begin(Deadline deadline, const CancelToken& token);
    void finish(State end);

    Atomic<State> state_{State::New};
    SpinLock lock_;
    const WaitCell* runner_ = nullptr;  // of the caller that runs the function; for assertions
    sync_internal::WaitQueue queue_;
};

template <std::invocable Function>
Result<void> Once::call_until(Deadline deadline, Function&& function, const CancelToken& token) {
    turn::may_wait("once.call", this);
    if (is_done()) return {};
    Next next = WEFT_TRY(begin(deadline, token));
    if (next == Next::Return) return {};
    RunGuard run{*this};
    if constexpr (std::is_void_v<std::invoke_result_t<Function>>) {
        std::invoke(std::forward<Function>(function));
        run.end = State::Done;
        return {};
    } else {
        Result<void> outcome = std::invoke(std::forward<Function>(function));
        if (outcome) run.end = State::Done;
        return outcome;
    }
}

}  // namespace weft
