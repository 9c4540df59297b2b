// with_timeout: runs one job with a time limit.
//
//     Result<Page> page = with_timeout(250ms, [=](Context& context) -> Result<Page> { ... });
//
// The job runs on a fiber of its own, in a context that ends at the deadline. If it returns before
// the deadline, its result is returned unchanged: a Result<T>, a plain value or nothing. If it
// returns at the deadline or later, or not at all, the result is `async: timeout`. If the parent
// context ends first, by its own deadline or otherwise, the result is the parent's error. An error
// that the job returns after that is logged and counted. The job is not started when the parent has
// ended or no time is left.
//
// A job that ignores the end of its context goes on after the call has returned: so it must own
// what it uses. The scope around the call waits for it, or the runtime if there is no scope; its
// outcome is counted, and logged if it is an error.
//
// Any fiber, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "weft/async/context.h"
#include "weft/async/errors.h"
#include "weft/async/internal/job.h"
#include "weft/base/assert.h"
#include "weft/base/atomic.h"
#include "weft/base/result.h"
#include "weft/base/time.h"

namespace weft::async_internal {

// The part that does not depend on the type of the outcome.
class TimeoutState : public CancelState {
protected:
    TimeoutState(CancelState* parent, Deadline deadline, const NodeType* node_type)
        : CancelState(parent, deadline, node_type),
          own_deadline_(deadline),
          owns_deadline_(!parent || deadline <= parent->deadline()) {}
    ~TimeoutState() = default;

    // Called by the job when its outcome is stored. False if the caller has stopped waiting; then
    // the job calls leave_keeper() last.
    bool publish();
    void leave_keeper();
    // Waits until the job, its context or the caller's context has ended. True if it was the job.
    bool await_finish();
    // The error of the call in place of the job's outcome: for a job that has ended (empty if its
    // own outcome counts), and for a job that has not.
    std::optional<Error> error_instead() const;
    Error error_without_job() const;

private:
    bool ended_by_own_deadline(CancelReason reason) const;

    enum class State : std::uint8_t { Running, Awaited, Finished, Abandoned };

    const Deadline own_deadline_;
    const bool owns_deadline_;  // the parent's deadline is not earlier
    // Why the context had ended when the job did; published by Finished.
    CancelReason ended_before_ = CancelReason::None;
    Atomic<State> state_{State::Running};
    WaitRef waiter_;                 // published by Awaited
    CancelState* keeper_ = nullptr;  // published by Abandoned; an ancestor, so it outlives this
};

template <class T>
class TimeoutCore final : public TimeoutState {
public:
    static TimeoutCore* create(CancelState* parent, Deadline deadline) {
        return make<TimeoutCore>(parent, deadline);
    }

    static constexpr FiberLabel kLabel{"job with a timeout"};
    template <class Function>
    Result<T> run(std::string_view name, Function&& function) {
        WEFT_TRY(start_job(*this, std::forward<Function>(function), name));
        Result<T> judged = await_finish() ? result() : error_without_job();
        cancel(CancelReason::Cancelled);
        return judged;
    }

    // For JobBody.
    template <class Function>
    Result<T> call(Function& function) {
        Context context{CancelToken(this)};
        return call_job(function, context);
    }
    void finish(Result<T> outcome) {
        WEFT_DASSERT(!outcome_, "a job ends once");
        outcome_.emplace(std::move(outcome));
        if (publish()) return;
        fiber_internal::late("a job with a timeout", without_value(*outcome_));
        outcome_.reset();
        leave_keeper();
    }

private:
    friend class CancelState;
    static constexpr CancelState::NodeType kNodeType{CancelState::destroy_as<TimeoutCore>};

    TimeoutCore(CancelState* parent, Deadline deadline)
        : TimeoutState(parent, deadline, &kNodeType) {}
    ~TimeoutCore() = default;

    Result<T> result() {
        WEFT_ASSERT(outcome_.has_value(), "a job stores its outcome before it publishes its end");
        std::optional<Error> instead = error_instead();
        if (!instead) return std::move(*outcome_);
        if (!*outcome_ && !is_end_of_context(outcome_->error()))
            fiber_internal::dropped("a job with a timeout", outcome_->error(), this);
        return std::move(*instead);
    }

    std::optional<Result<T>> outcome_;  // published by Finished
};

}  // namespace weft::async_internal

namespace weft::async {

// Dumps show the fiber under the name.
template <class Rep, class Period, async_internal::JobFunction Function>
auto with_timeout_context(std::string_view name, const Context& parent,
                          std::chrono::duration<Rep, Period> timeout, Function&& function)
    -> Result<async_internal::JobValue<Function>> {
    using Core = async_internal::TimeoutCore<async_internal::JobValue<Function>>;
    if (async_internal::is_nil(function)) return kNilJob();
    WEFT_TRY(parent.check());
    Instant now = Clock::now();
    Deadline deadline = Deadline::after(timeout, now);
    if (deadline.expired(now)) return kTimeout();
    async_internal::CoreRef core(Core::create(async_internal::parent_of_core(parent), deadline));
    return core->run(name, std::forward<Function>(function));
}
template <class Rep, class Period, async_internal::JobFunction Function>
auto with_timeout_context(const Context& parent, std::chrono::duration<Rep, Period> timeout,
                          Function&& function) {
    return with_timeout_context({}, parent, timeout, std::forward<Function>(function));
}
template <class Rep, class Period, async_internal::NotAJob Function>
WEFT_REFUSE_JOB Result<void> with_timeout_context(std::string_view, const Context&,
                                                  std::chrono::duration<Rep, Period>, Function&&) {
    std::unreachable();
}
template <class Rep, class Period, async_internal::NotAJob Function>
WEFT_REFUSE_JOB Result<void> with_timeout_context(const Context&,
                                                  std::chrono::duration<Rep, Period>, Function&&) {
    std::unreachable();
}

// with_timeout_context() below the ambient context.
template <class Rep, class Period, async_internal::JobFunction Function>
auto with_timeout(std::string_view name, std::chrono::duration<Rep, Period> timeout,
                  Function&& function) {
    return with_timeout_context(name, Context::current(), timeout,
                                std::forward<Function>(function));
}
template <class Rep, class Period, async_internal::JobFunction Function>
auto with_timeout(std::chrono::duration<Rep, Period> timeout, Function&& function) {
    return with_timeout({}, timeout, std::forward<Function>(function));
}
template <class Rep, class Period, async_internal::NotAJob Function>
WEFT_REFUSE_JOB Result<void> with_timeout(std::string_view, std::chrono::duration<Rep, Period>,
                                          Function&&) {
    std::unreachable();
}
template <class Rep, class Period, async_internal::NotAJob Function>
WEFT_REFUSE_JOB Result<void> with_timeout(std::chrono::duration<Rep, Period>, Function&&) {
    std::unreachable();
}

}  // namespace weft::async
