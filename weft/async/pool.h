// Pool: runs at most `workers` jobs at once, queues at most `queue_size` more, and accepts no
// others.
//
//     Pool pool = WEFT_TRY(Pool::create({.workers = 4, .queue_size = 128}));
//     WEFT_TRY(pool.try_submit([](Context& context) -> Result<void> { ... }));  // never waits
//     WEFT_TRY(pool.submit([](Context& context) -> Result<void> { ... }));      // may wait
//     WEFT_TRY(pool.close());          // no more jobs; waits for all; the first error
//
// Jobs share the pool's context and start in the order in which they were accepted. An error does
// not affect other jobs, and when the context ends, queued jobs still run, in an ended context. A
// submit that fails leaves the function unchanged. Successive jobs may run on the same fiber and
// then share its FiberLocals; a pool without jobs has no fiber.
//
// A pool that is replaced or destroyed without a close() cancels its jobs, of which the queued ones
// still run, and waits for all; their errors are logged and counted. Any fiber, any thread.
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

// Both must be positive.
struct PoolOptions {
    int workers = 0;
    int queue_size = 0;
};

class Pool {
public:
    // Below the ambient context, or below `parent`.
    static Result<Pool> create(PoolOptions options) { return create(Context::current(), options); }
    static Result<Pool> create(const Context& parent, PoolOptions options);

    // Dumps show the fiber under the name while it runs this job.
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

    // Waits for a free place until `waiting` ends; the job's own context is the pool's.
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
    // `async: timeout` if no place became free in time.
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

    // Accepts no more jobs, wakes the submitters that wait for a place, waits for every accepted
    // job, ends the context and returns the first error. Once, by either name.
    Result<void> close() { return core_->close(); }
    Result<void> wait() { return close(); }

    // The context of the jobs.
    Context context() const { return Context(CancelToken(&*core_)); }

private:
    using Core = async_internal::PoolCore;
    explicit Pool(Core* core) : core_(async_internal::CoreRef<Core>(core)) {}

    async_internal::OwnerRef<Core> core_;
};

}  // namespace weft::async
