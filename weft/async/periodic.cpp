#include "weft/async/periodic.h"

#include "weft/base/assert.h"
#include "weft/base/planted.h"
#include "weft/fiber/waiter.h"

namespace weft::async_internal {

Result<void> wait_interval(const Context& context, Nanoseconds interval) {
    Waiter waiter(WaitReason::Sleep);
    if (waiter.wait(Deadline::after(interval), context.token().state()) == Wake::TimedOut)
        return context.check();
    WEFT_TRY(context.check());
    return Context::current().check();
}

void PeriodicCore::stop() {
    bool parent_ended = !Context(CancelToken(parent())).check();
    Stop before = Stop::No;
    // Release: pairs with the acquire in was_stopped().
    if (!stop_.compare_exchange_strong(before, parent_ended ? Stop::StoppedLate : Stop::Stopped,
                                       std::memory_order_release, std::memory_order_relaxed))
        return;
    if (!parent_ended) cancel(CancelReason::Cancelled);
}

bool PeriodicCore::was_stopped() const {
    bool ended_otherwise = !ended_by_job_ || WEFT_PLANTED("periodic.stop_hides_the_error");
    // Acquire: see stop().
    return ended_otherwise && stop_.load(std::memory_order_acquire) == Stop::Stopped;
}

Result<void> PeriodicCore::wait() {
    if (!jobs_.close_and_wait(*this)) return async::kPeriodicWaited();
    WEFT_ASSERT(!outcome_.has_value(), "a periodic job ends only with an error");
    if (was_stopped()) return {};
    return outcome_;
}

void PeriodicCore::finish(Result<void> outcome) {
    WEFT_ASSERT(!outcome.has_value(), "a periodic job ends only with an error");
    WEFT_DASSERT(outcome_.has_value(), "a job ends once");
    outcome_ = std::move(outcome);
    cancel(CancelReason::Cancelled);
    if (jobs_.done() && ended_by_job_)
        fiber_internal::dropped("a periodic job", outcome_.error(), this);
}

void PeriodicCore::end() {
    if (jobs_.end(*this) == JobCount::End::Joined && ended_by_job_)
        fiber_internal::dropped("a periodic job", outcome_.error(), this);
}

}  // namespace weft::async_internal
