#include "weft/async/timeout.h"

#include "weft/async/internal/scope_core.h"
#include "weft/base/planted.h"

namespace weft::async_internal {

void TimeoutCore::finish(Result<void> outcome) {
    outcome_ = std::move(outcome);
    in_time_ = !own_deadline_.expired(Clock::now());
    ended_before_ = reason();
    // Release: publishes the outcome. Acquire: sees the waiter.
    State before = state_.exchange(State::Finished, std::memory_order_acq_rel);
    if (before == State::Abandoned) {
        fiber_internal::late("a job with a timeout", outcome_);
        if (keeper_) keeper_->leave();
        return;
    }
    if (before == State::Awaited && waiter_.try_claim(Wake::Ready)) waiter_.resume();
}

// Until the job has ended, its context, or the caller's. True if it was the job.
bool TimeoutCore::await_finish() {
    Waiter waiter(WaitReason::Job, this);
    waiter_ = waiter.ref();
    State running = State::Running;
    // Release: publishes the waiter. Acquire: the outcome.
    if (!state_.compare_exchange_strong(running, State::Awaited, std::memory_order_release,
                                        std::memory_order_acquire)) {
        waiter.abandon();
        return true;
    }
    if (waiter.wait(Deadline::never(), this) == Wake::Ready) return true;
    if (!WEFT_PLANTED("timeout.leaves_the_job_to_nobody")) keeper_ = ScopeCore::keeper_of(this);
    // Acquire: the outcome, if it has come after all. Release: the keeper.
    if (state_.exchange(State::Abandoned, std::memory_order_acq_rel) != State::Finished)
        return false;
    if (keeper_) keeper_->leave();
    return true;
}

bool TimeoutCore::ended_by_own_deadline() const {
    bool by_deadline = reason() == CancelReason::DeadlineExceeded;
    if (WEFT_PLANTED("timeout.claims_the_parents_deadline")) return by_deadline;
    return owns_deadline_ && by_deadline && own_deadline_.expired(Clock::now());
}

Result<void> TimeoutCore::result() const {
    if (!in_time_) {
        if (is_cancelled() && !ended_by_own_deadline()) return async::context_error(reason());
        if (owns_deadline_) return async::kTimeout();
        // The parent's deadline came before, though nobody has been told yet.
        return async::context_error(CancelReason::DeadlineExceeded);
    }
    // A job that heeds the end of the parent may be back before the caller has heard of it.
    bool heeded = !outcome_ && (outcome_.error().kind() == ErrorKind::Cancelled ||
                                outcome_.error().kind() == ErrorKind::TimedOut);
    if (heeded && ended_before_ != CancelReason::None) return async::context_error(ended_before_);
    return outcome_;
}

Result<void> TimeoutCore::result_without_job() const {
    if (ended_by_own_deadline()) return async::kTimeout();
    if (is_cancelled()) return async::context_error(reason());
    return async::Context::current().err();  // not the job's context has ended, but the caller's
}

}  // namespace weft::async_internal
