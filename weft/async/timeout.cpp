#include "weft/async/timeout.h"

#include "weft/base/assert.h"
#include "weft/base/planted.h"

namespace weft::async_internal {

bool TimeoutState::publish() {
    // reason_of() also finds the end of a parent that has not been propagated yet, and a deadline
    // that has passed unnoticed: the order of the ends counts, not that of their propagation.
    ended_before_ = async::reason_of(this);
    // Release: publishes the outcome. Acquire: sees the waiter, or the keeper.
    State before = state_.exchange(State::Finished, std::memory_order_acq_rel);
    WEFT_ASSERT(before != State::Finished, "a job ends once");
    if (before == State::Abandoned) return false;
    if (before == State::Awaited && waiter_.try_claim(Wake::Ready)) waiter_.resume();
    return true;
}

void TimeoutState::leave_keeper() {
    if (keeper_) keeper_->leave_keeper();
}

bool TimeoutState::await_finish() {
    Waiter waiter(WaitReason::Job, this);
    waiter_ = waiter.ref();
    State running = State::Running;
    // Release: publishes the waiter. Acquire: the outcome.
    if (!state_.compare_exchange_strong(running, State::Awaited, std::memory_order_release,
                                        std::memory_order_acquire)) {
        WEFT_ASSERT(running == State::Finished, "only the caller waits, and only once");
        waiter.abandon();
        return true;
    }
    if (waiter.wait(Deadline::never(), this) == Wake::Ready) return true;
    if (!WEFT_PLANTED("timeout.leaves_the_job_to_nobody")) keeper_ = enter_keeper();
    // Acquire: the outcome, if the job has ended meanwhile. Release: the keeper.
    State before = state_.exchange(State::Abandoned, std::memory_order_acq_rel);
    WEFT_ASSERT(before == State::Awaited || before == State::Finished,
                "only the caller abandons the job, and only once");
    if (before != State::Finished) return false;
    leave_keeper();
    return true;
}

bool TimeoutState::ended_by_own_deadline(CancelReason reason) const {
    bool by_deadline = reason == CancelReason::DeadlineExceeded;
    if (WEFT_PLANTED("timeout.claims_the_parents_deadline")) return by_deadline;
    return owns_deadline_ && by_deadline && own_deadline_.expired(Clock::now());
}

std::optional<Error> TimeoutState::error_instead() const {
    if (ended_before_ == CancelReason::None) return std::nullopt;
    if (ended_by_own_deadline(ended_before_)) return async::kTimeout();
    return async::context_error(ended_before_);
}

Error TimeoutState::error_without_job() const {
    if (ended_by_own_deadline(reason())) return async::kTimeout();
    if (is_cancelled()) return async::context_error(reason());
    // The caller's own context has ended, not the job's.
    return async::context_error(async::Context::current().reason());
}

}  // namespace weft::async_internal
