// retry and hedge: for a job that may fail, and for a job that may be slow.
//
//     Result<Reply> reply = retry({.attempts_max = 5}, [&](Context& context) { return call(); });
//     Result<Reply> reply = hedge({.delay = 50ms}, [&](Context& context) { return call(); });
//
// retry() calls the job in the calling fiber or thread until it succeeds, its attempts are used up
// (then its last error is returned unchanged), its error is not worth another attempt, or the
// ambient context ends (then the context's error). Between two attempts it backs off: longer each
// time, with jitter, so that many callers do not retry at the same moment.
//
// hedge() starts another attempt beside the earlier ones when none has ended within the delay, and
// at once when one has failed. The first success cancels the others; all are waited for. The
// function may be called by several fibers at the same time.
//
// Any fiber; hedge() on a plain thread whose ambient context is one of a runtime.
#pragma once

#include <utility>

#include "weft/async/context.h"
#include "weft/async/errors.h"
#include "weft/async/internal/job.h"
#include "weft/async/internal/race.h"
#include "weft/base/result.h"
#include "weft/base/time.h"

namespace weft::async {

// True for every error but Misuse and Cancelled.
bool is_worth_retrying(const Error& error);

struct RetryOptions {
    int attempts_max = 3;
    Nanoseconds delay_first = std::chrono::milliseconds(100);
    double growth = 2.0;  // from one delay to the next
    Nanoseconds delay_max = std::chrono::seconds(10);
    double jitter = 0.5;  // the part of a delay, from 0 to 1, that is random
    bool (*is_worth)(const Error& error) = is_worth_retrying;
};

// The delay after this many failures, counted from 1.
Nanoseconds retry_delay(const RetryOptions& options, int failures);

template <async_internal::JobFunction Function>
auto retry(const RetryOptions& options, Function&& function)
    -> Result<async_internal::JobValue<Function>>;

template <async_internal::NotAJob Function>
WEFT_REFUSE_JOB Result<void> retry(const RetryOptions&, Function&&) {
    std::unreachable();
}

struct HedgeOptions {
    Nanoseconds delay;
    int attempts_max = 2;
};

template <async_internal::JobFunction Function>
auto hedge(const HedgeOptions& options, Function&& function)
    -> Result<async_internal::JobValue<Function>>;
template <async_internal::NotAJob Function>
WEFT_REFUSE_JOB Result<void> hedge(const HedgeOptions&, Function&&) {
    std::unreachable();
}

}  // namespace weft::async

// ---------------------------------------------------------------- inline parts

namespace weft::async_internal {

// Waits until the next attempt may begin; else returns the error that ends the retries, and logs
// and counts the attempt's error.
Result<void> wait_for_retry(const async::RetryOptions& options, int failures, const Error& error);

}  // namespace weft::async_internal

namespace weft::async {

template <async_internal::JobFunction Function>
auto retry(const RetryOptions& options, Function&& function)
    -> Result<async_internal::JobValue<Function>> {
    if (options.attempts_max <= 0) return kAttempts();
    if (async_internal::is_nil(function)) return kNilJob();
    Context context = Context::current();
    WEFT_TRY(context.check());
    for (int attempt = 1;; ++attempt) {
        auto outcome = async_internal::call_job(function, context);
        if (outcome || attempt == options.attempts_max || !options.is_worth(outcome.error()))
            return outcome;
        WEFT_TRY(async_internal::wait_for_retry(options, attempt, outcome.error()));
    }
}

template <async_internal::JobFunction Function>
auto hedge(const HedgeOptions& options, Function&& function)
    -> Result<async_internal::JobValue<Function>> {
    if (options.attempts_max <= 0) return kAttempts();
    if (async_internal::is_nil(function)) return kNilJob();
    WEFT_TRY(Context::current().check());
    using T = async_internal::JobValue<Function>;
    async_internal::Race<T> race(async_internal::WonBy::Success);
    for (int attempt = 1;; ++attempt) {
        race.start(
            [&function](Context& context) { return async_internal::call_job(function, context); });
        if (attempt == options.attempts_max) break;
        if (!race.wait_for_outcome(Deadline::after(options.delay))) break;
    }
    return race.finish();
}

}  // namespace weft::async
