#include "weft/async/retry.h"

#include <algorithm>
#include <cmath>

#include "weft/async/periodic.h"
#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/fiber/fiber.h"

namespace weft::async {
namespace {

// A random number in [0, 1).
double random_part() {
    constexpr unsigned kFractionBits = 53;  // of a double
    return std::ldexp(static_cast<double>(env::random(RandomStream::Workload) >> 11),
                      -static_cast<int>(kFractionBits));
}

}  // namespace

bool is_worth_retrying(const Error& error) {
    return error.kind() != ErrorKind::Misuse && error.kind() != ErrorKind::Cancelled;
}

Nanoseconds retry_delay(const RetryOptions& options, int failures) {
    WEFT_DASSERT(failures >= 1, "failures are counted from 1");
    using Floating = std::chrono::duration<double, std::nano>;
    double grown = static_cast<double>(options.delay_first.count()) *
                   std::pow(std::max(options.growth, 1.0), failures - 1);
    double whole = std::min(grown, static_cast<double>(options.delay_max.count()));
    double jitter = std::clamp(options.jitter, 0.0, 1.0);
    Nanoseconds delay = saturate(Floating(std::max(whole, 0.0) * (1.0 - jitter * random_part())));
    WEFT_DASSERT(delay >= Nanoseconds::zero());
    return delay;
}

}  // namespace weft::async

namespace weft::async_internal {

Result<void> wait_for_retry(const async::RetryOptions& options, int failures, const Error& error) {
    Context context = Context::current();
    Result<void> waited = wait_interval(context, async::retry_delay(options, failures));
    if (!waited) fiber_internal::dropped("an attempt", error, context.token().state());
    return waited;
}

}  // namespace weft::async_internal
