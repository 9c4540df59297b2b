// with_timeout: one job that must be done in time.
//
//     Result<void> done = with_timeout(250ms, [&](Context& context) -> Result<void> { ... });
//
// The job runs on a fiber of its own, in a context that ends at the deadline. If it returns before,
// its result is returned unchanged. If it does not, or returns at the deadline or after it, the
// result is `async: timeout`; if the parent context ends first, it is that one's error, unless the
// job is back first with something else than that it was cancelled. The job is not started at all
// when the parent has ended or the time is up before it begins.
//
// A job that does not heed its context goes on after the call has returned: so it must own what it
// uses. The runtime waits for it; how it ended is logged if it is an error, and counted.
//
// Any fiber, any thread.
#pragma once

#include <chrono>
#include <optional>
#include <utility>

#include "weft/async/context.h"
#include "weft/async/errors.h"
#include "weft/async/internal/job.h"
#include "weft/base/atomic.h"
#include "weft/base/result.h"
#include "weft/base/time.h"

namespace weft::async_internal {

class ScopeCore;

class TimeoutCore final : public CancelState {
public:
    static TimeoutCore* create(CancelState* parent, Deadline deadline) {
        return make<TimeoutCore>(parent, deadline);
    }

    template <class Function>
    Result<void> run(Function&& function) {
        WEFT_TRY(start_job(*this, std::forward<Function>(function)));
        Result<void> judged = await_finish() ? result() : result_without_job();
        cancel(CancelReason::Cancelled);
        return judged;
    }

    // For JobBody.
    template <class Function>
    Result<void> call(Function& function) {
        Context context{CancelToken(this)};
        return call_job(function, context);
    }
    void finish(Result<void> outcome);

private:
    friend class CancelState;
    static constexpr Nature kNature{destroy_as<TimeoutCore>};

    TimeoutCore(CancelState* parent, Deadline deadline)
        : CancelState(parent, deadline, &kNature),
          own_deadline_(deadline),
          owns_deadline_(!parent || deadline <= parent->deadline()) {}
    ~TimeoutCore() = default;

    bool await_finish();
    Result<void> result() const;
    Result<void> result_without_job() const;
    bool ended_by_own_deadline() const;

    enum class State : std::uint8_t { Running, Awaited, Finished, Abandoned };

    const Deadline own_deadline_;
    const bool owns_deadline_;  // the parent's is not earlier
    bool in_time_ = false;      // this and the next with outcome_
    CancelReason ended_before_ = CancelReason::None;
    Atomic<State> state_{State::Running};
    WaitRef waiter_;               // published by Awaited
    Result<void> outcome_;         // published by Finished
    ScopeCore* keeper_ = nullptr;  // published by Abandoned; above in the tree, so it lives
};

}  // namespace weft::async_internal

namespace weft::async {

template <class Rep, class Period, async_internal::JobFunction Function>
Result<void> with_timeout_context(const Context& parent, std::chrono::duration<Rep, Period> timeout,
                                  Function&& function) {
    if (async_internal::is_nil(function)) return kNilJob();
    WEFT_TRY(parent.err());
    Instant now = Clock::now();
    Deadline deadline = Deadline::after(timeout, now);
    if (deadline.expired(now)) return kTimeout();
    async_internal::CoreRef core(
        async_internal::TimeoutCore::create(async_internal::parent_of_core(parent), deadline));
    return core->run(std::forward<Function>(function));
}

// Below the ambient context.
template <class Rep, class Period, async_internal::JobFunction Function>
Result<void> with_timeout(std::chrono::duration<Rep, Period> timeout, Function&& function) {
    return with_timeout_context(Context::current(), timeout, std::forward<Function>(function));
}

}  // namespace weft::async
