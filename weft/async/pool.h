// Pool: so many jobs run at once, so many more may wait for it, and not one more is accepted.
//
//     Pool pool = WEFT_TRY(Pool::create({.workers = 4, .queue_size = 128}));
//     WEFT_TRY(pool.try_submit([](Context& context) -> Result<void> { ... }));  // never waits
//     WEFT_TRY(pool.submit([](Context& context) -> Result<void> { ... }));      // waits for room
//     WEFT_TRY(pool.close());          // no more jobs; waits for all; the first error
//
// Jobs share the pool's context and start in the order in which they were accepted. An error does
// not touch other jobs, and when the context ends, those that wait still run, in an ended context.
// A submit that fails has left the function as it was. Jobs that follow each other may run on the
// same fiber, so they share its FiberLocals; an idle pool has no fiber at all.
//
// A pool that is left, replaced or destroyed without a close() cancels its jobs, of which those
// that wait still run, and waits for all; their errors are logged and counted. Any fiber, any
// thread.
#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weft/async/context.h"
#include "weft/async/errors.h"
#include "weft/async/internal/job.h"
#include "weft/async/internal/pool_core.h"
#include "weft/base/result.h"
#include "weft/base/time.h"

namespace weft::async {

// Both positive.
struct PoolOptions {
    int workers = 0;
    int queue_size = 0;
};

class Pool {
public:
    // Below the ambient context, or below `parent`.
    static Result<Pool> create(PoolOptions options) { return create(Context::current(), options); }
    static Result<Pool> create(const Context& parent, PoolOptions options);

    // The name is what dumps call the fiber while it runs this job.
    template <async_internal::JobFunction Function>
    Result<void> try_submit(std::string_view name, Function&& function) {
        if (async_internal::is_nil(function)) return kNilJob();
        async_internal::JobOffer offer(name, function);
        return core_->accept(core_->admit_at_once(offer.job()), name,
                             std::forward<Function>(function));
    }
    template <async_internal::JobFunction Function>
    Result<void> try_submit(Function&& function) {
        return try_submit({}, std::forward<Function>(function));
    }

    // Waits for room as long as `waiting` goes on; the job's own context is the pool's.
    template <async_internal::JobFunction Function>
    Result<void> submit(std::string_view name, const Context& waiting, Function&& function) {
        if (async_internal::is_nil(function)) return kNilJob();
        async_internal::JobOffer offer(name, function);
        return core_->accept(core_->admit(offer.job(), waiting), name,
                             std::forward<Function>(function));
    }
    template <async_internal::JobFunction Function>
    Result<void> submit(const Context& waiting, Function&& function) {
        return submit({}, waiting, std::forward<Function>(function));
    }
    template <async_internal::JobFunction Function>
    Result<void> submit(std::string_view name, Function&& function) {
        if (async_internal::is_nil(function)) return kNilJob();
        async_internal::JobOffer offer(name, function);
        return core_->accept(core_->admit(offer.job()), name, std::forward<Function>(function));
    }
    template <async_internal::JobFunction Function>
    Result<void> submit(Function&& function) {
        return submit(std::string_view(), std::forward<Function>(function));
    }
    // `async: timeout` if there was no room in time.
    template <class Rep, class Period, async_internal::JobFunction Function>
    Result<void> submit_for(std::string_view name, std::chrono::duration<Rep, Period> timeout,
                            Function&& function) {
        if (async_internal::is_nil(function)) return kNilJob();
        async_internal::JobOffer offer(name, function);
        return core_->accept(core_->admit_until(offer.job(), Deadline::after(timeout)), name,
                             std::forward<Function>(function));
    }
    template <class Rep, class Period, async_internal::JobFunction Function>
    Result<void> submit_for(std::chrono::duration<Rep, Period> timeout, Function&& function) {
        return submit_for({}, timeout, std::forward<Function>(function));
    }

    template <async_internal::NotAJob Function>
    WEFT_REFUSE_JOB Result<void> try_submit(Function&&) {
        std::unreachable();
    }
    template <async_internal::NotAJob Function>
    WEFT_REFUSE_JOB Result<void> submit(const Context&, Function&&) {
        std::unreachable();
    }
    template <async_internal::NotAJob Function>
    WEFT_REFUSE_JOB Result<void> submit(Function&&) {
        std::unreachable();
    }
    template <async_internal::NotAJob Function>
    WEFT_REFUSE_JOB Result<void> try_submit(std::string_view, Function&&) {
        std::unreachable();
    }
    template <async_internal::NotAJob Function>
    WEFT_REFUSE_JOB Result<void> submit(std::string_view, const Context&, Function&&) {
        std::unreachable();
    }
    template <async_internal::NotAJob Function>
    WEFT_REFUSE_JOB Result<void> submit(std::string_view, Function&&) {
        std::unreachable();
    }
    template <class Rep, class Period, async_internal::NotAJob Function>
    WEFT_REFUSE_JOB Result<void> submit_for(std::string_view, std::chrono::duration<Rep, Period>,
                                            Function&&) {
        std::unreachable();
    }
    template <class Rep, class Period, async_internal::NotAJob Function>
    WEFT_REFUSE_JOB Result<void> submit_for(std::chrono::duration<Rep, Period>, Function&&) {
        std::unreachable();
    }

    // Accepts no more, wakes who waits for room, waits for every accepted job, ends the context and
    // gives the first error. Once, by either name.
    Result<void> close() { return core_->close(); }
    Result<void> wait() { return close(); }

    // What the jobs get.
    Context context() const { return Context(CancelToken(&*core_)); }

private:
    using Core = async_internal::PoolCore;
    explicit Pool(Core* core) : core_(async_internal::CoreRef<Core>(core)) {}

    async_internal::OwnerRef<Core> core_;
};

}  // namespace weft::async
