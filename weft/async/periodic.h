// Periodic jobs: each run starts one interval after the end of the one before, so there are never
// two at once; the first run starts after one interval.
//
//     Result<void> why = every(context, 5s, [&](Context& context) -> Result<void> { ... });
//
//     PeriodicHandle cleanup = WEFT_TRY(start_every(context, 5s, clean_up));
//     cleanup.stop();
//     WEFT_TRY(cleanup.wait());
//
// every() runs the job in the calling fiber or thread and returns when the job fails (its error
// unchanged) or the context ends (the context's error). start_every() does the same on a fiber of
// its own, below the context. Any fiber, any thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "weft/async/context.h"
#include "weft/async/errors.h"
#include "weft/async/internal/job.h"
#include "weft/async/internal/job_count.h"
#include "weft/base/assert.h"
#include "weft/base/atomic.h"
#include "weft/base/planted.h"
#include "weft/base/result.h"
#include "weft/base/time.h"

namespace weft::async_internal {

// Waits until the interval is over; else returns the error of the context or of the ambient one.
Result<void> wait_interval(const Context& context, Nanoseconds interval);

// Checks the arguments and the parent context, in the order that V's x.async has.
template <class Function>
Result<void> check_periodic(const Context& parent, Nanoseconds interval, const Function& function) {
    if (interval <= Nanoseconds::zero()) return async::kInterval();
    if (is_nil(function)) return async::kNilJob();
    return parent.check();
}

// Why the loop ended. It always has an error: the job's if by_job, else that of the context.
struct PeriodicEnd {
    Error error = ErrorKind::Other;
    bool by_job = false;
};

// The context is the ambient one of each run.
template <class Function>
PeriodicEnd run_periodic(Context& context, Nanoseconds interval, Function& function) {
    WEFT_ASSERT(interval > Nanoseconds::zero(), "check_periodic() refuses other intervals");
    for (;;) {
        Result<void> waited = wait_interval(context, interval);
        if (!waited && !WEFT_PLANTED("periodic.runs_after_stop")) return {waited.error(), false};
        Result<void> outcome;
        {
            CancelScope scope(context.token());
            outcome = call_without_value(function, context);
        }
        if (!outcome) return {outcome.error(), true};
        Result<void> ended = context.check();
        if (!ended) return {ended.error(), false};
    }
}

class PeriodicCore final : public CancelState {
public:
    static PeriodicCore* create(const Context& parent, Nanoseconds interval) {
        return make<PeriodicCore>(parent_of_core(parent), interval);
    }

    static constexpr FiberLabel kLabel{"periodic job"};

    void stop();
    Result<void> wait();
    void end();

    // For JobBody.
    template <class Function>
    Result<void> call(Function& function) {
        Context context{CancelToken(this)};
        PeriodicEnd end = run_periodic(context, interval_, function);
        ended_by_job_ = end.by_job;
        return std::move(end.error);
    }
    void finish(Result<void> outcome);

private:
    friend class CancelState;
    static constexpr NodeType kNodeType{destroy_as<PeriodicCore>};
    // StoppedLate: the parent had ended before stop(), so wait() returns the parent's error.
    enum class Stop : std::uint8_t { No, Stopped, StoppedLate };

    PeriodicCore(CancelState* parent, Nanoseconds interval)
        : CancelState(parent, Deadline::never(), &kNodeType), interval_(interval) {}
    ~PeriodicCore() = default;
    bool was_stopped() const;

    const Nanoseconds interval_;
    JobCount jobs_{1};
    Atomic<Stop> stop_{Stop::No};
    bool ended_by_job_ = true;  // until the loop says otherwise: one that never began has failed
    Result<void> outcome_;
};

}  // namespace weft::async_internal

namespace weft::async {

template <class Rep, class Period, async_internal::JobFunction Function>
Result<void> every(const Context& parent, std::chrono::duration<Rep, Period> interval,
                   Function&& function) {
    WEFT_TRY(async_internal::check_periodic(parent, saturate(interval), function));
    Context context = parent;
    return async_internal::run_periodic(context, saturate(interval), function).error;
}

template <class Rep, class Period, async_internal::NotAJob Function>
WEFT_REFUSE_JOB Result<void> every(const Context&, std::chrono::duration<Rep, Period>, Function&&) {
    std::unreachable();
}

// The owner of a periodic job on a fiber of its own. Replacing or destroying it stops the job and
// waits for the end of a run that is under way. Any fiber, any thread.
class PeriodicHandle {
public:
    // Ends the job's context; does not wait. Idempotent.
    void stop() { core_->stop(); }
    // Waits until the loop has ended: success if stop() ended it, else the error of the job or of
    // the parent context. Once; a second call is Misuse.
    Result<void> wait() { return core_->wait(); }

private:
    template <class Rep, class Period, async_internal::JobFunction Function>
    friend Result<PeriodicHandle> start_every(std::string_view name, const Context& parent,
                                              std::chrono::duration<Rep, Period> interval,
                                              Function&& function);
    explicit PeriodicHandle(async_internal::CoreRef<async_internal::PeriodicCore> core)
        : core_(std::move(core)) {}

    async_internal::OwnerRef<async_internal::PeriodicCore> core_;
};

// Dumps show its fiber under the name.
template <class Rep, class Period, async_internal::JobFunction Function>
Result<PeriodicHandle> start_every(std::string_view name, const Context& parent,
                                   std::chrono::duration<Rep, Period> interval,
                                   Function&& function) {
    WEFT_TRY(async_internal::check_periodic(parent, saturate(interval), function));
    async_internal::CoreRef core(async_internal::PeriodicCore::create(parent, saturate(interval)));
    WEFT_TRY(async_internal::start_job(*core, std::forward<Function>(function), name));
    return PeriodicHandle(std::move(core));
}
template <class Rep, class Period, async_internal::JobFunction Function>
Result<PeriodicHandle> start_every(const Context& parent,
                                   std::chrono::duration<Rep, Period> interval,
                                   Function&& function) {
    return start_every({}, parent, interval, std::forward<Function>(function));
}
template <class Rep, class Period, async_internal::NotAJob Function>
WEFT_REFUSE_JOB Result<PeriodicHandle> start_every(std::string_view, const Context&,
                                                   std::chrono::duration<Rep, Period>, Function&&) {
    std::unreachable();
}
template <class Rep, class Period, async_internal::NotAJob Function>
WEFT_REFUSE_JOB Result<PeriodicHandle> start_every(const Context&,
                                                   std::chrono::duration<Rep, Period>, Function&&) {
    std::unreachable();
}

}  // namespace weft::async
