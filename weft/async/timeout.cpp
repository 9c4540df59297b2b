#include "weft/async/timeout.h"

#include "weft/base/log.h"

namespace weft::async_internal {

void TimeoutCore::finish(Result<void> outcome) {
    outcome_ = std::move(outcome);
    in_time_ = !own_deadline_.expired(Clock::now());
    // Release: publishes the outcome. Acquire: see the caller's end before this is judged late.
    if (state_.exchange(State::Finished, std::memory_order_acq_rel) == State::Abandoned) {
        if (!outcome_) fiber_internal::dropped("a job after its timeout", outcome_.error(), this);
        return;
    }
    if (waiter_.try_claim(Wake::Ready)) waiter_.resume();
}

// Waits for the job, its context or the caller's, and says what came of it.
Result<void> TimeoutCore::judge(Waiter& waiter) {
    Wake wake = waiter.wait(Deadline::never(), this);
    // Acquire: the outcome.
    bool finished = wake == Wake::Ready ||
                    state_.exchange(State::Abandoned, std::memory_order_acq_rel) == State::Finished;
    Result<void> judged = finished ? result() : result_without_job();
    cancel(CancelReason::Cancelled);
    return judged;
}

bool TimeoutCore::ended_by_own_deadline() const {
    return owns_deadline_ && reason() == CancelReason::DeadlineExceeded &&
           own_deadline_.expired(Clock::now());
}

Result<void> TimeoutCore::result() const {
    if (in_time_ || !owns_deadline_) return outcome_;
    if (is_cancelled() && !ended_by_own_deadline()) return async::context_error(reason());
    return async::kTimeout();
}

Result<void> TimeoutCore::result_without_job() const {
    if (ended_by_own_deadline()) return async::kTimeout();
    if (is_cancelled()) return async::context_error(reason());
    return async::Context::current().err();  // not the job's context has ended, but the caller's
}

}  // namespace weft::async_internal
