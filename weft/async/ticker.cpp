#include "weft/async/ticker.h"

#include "weft/async/context.h"
#include "weft/async/errors.h"
#include "weft/base/assert.h"
#include "weft/base/planted.h"
#include "weft/fiber/fiber.h"

namespace weft::async {

Result<Ticker> Ticker::create_every(Nanoseconds interval) {
    if (interval <= Nanoseconds::zero()) return kInterval();
    return Ticker(interval);
}

Result<Tick> Ticker::next() {
    WEFT_TRY(Context::current().check());
    if (Result<void> slept = sleep_until(Deadline::at(next_)); !slept) {
        WEFT_TRY(Context::current().check());
        return slept.error();
    }
    Instant now = Clock::now();
    WEFT_DASSERT(now >= next_, "a sleep never ends early");
    auto missed = (now - next_) / interval_;
    Tick tick{next_ + missed * interval_, static_cast<std::uint64_t>(missed)};
    next_ = (WEFT_PLANTED("ticker.drifts") ? Clock::now() : tick.due) + interval_;
    return tick;
}

}  // namespace weft::async
