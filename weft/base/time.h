#pragma once

#include <compare>
#include <concepts>
#include <cstdint>

#include "weft/base/chrono.h"
#include "weft/base/env.h"

namespace weft {

using Nanoseconds = std::chrono::nanoseconds;

// The monotonic clock of the current Env: the machine's, or the virtual one in simulation.
// Use it wherever the standard library takes a clock. Any thread.
struct Clock {
    using duration = Nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<Clock, duration>;
    static constexpr bool is_steady = true;

#ifdef WEFT_MODEL
    static time_point now() noexcept { return {}; }  // time stands still under the model checker
#else
    static time_point now() noexcept { return time_point(Nanoseconds(env::now_ns())); }
#endif
};

using Instant = Clock::time_point;

namespace time_internal {
__extension__ typedef __int128 Int128;
}

// Converts any duration; what does not fit becomes the nearest end of the range. Not-a-number
// becomes zero.
template <class Rep, class Period>
constexpr Nanoseconds saturate(std::chrono::duration<Rep, Period> duration) noexcept {
    if constexpr (std::floating_point<Rep>) {
        using Wide = std::chrono::duration<long double, std::nano>;
        long double count = Wide(duration).count();
        if (count != count) return Nanoseconds::zero();
        // The double nearest to max() lies above it, so the limits themselves already saturate.
        if (count >= static_cast<long double>(Nanoseconds::max().count()))
            return Nanoseconds::max();
        if (count <= static_cast<long double>(Nanoseconds::min().count()))
            return Nanoseconds::min();
        return Nanoseconds(static_cast<Nanoseconds::rep>(count));
    } else {
        // 63 bits of count, 30 of 10^9 and the numerator of any calendar unit (25) fit in 127.
        using time_internal::Int128;
        Int128 count = Int128(duration.count()) * Period::num * std::nano::den / Period::den;
        if (count > Nanoseconds::max().count()) return Nanoseconds::max();
        if (count < Nanoseconds::min().count()) return Nanoseconds::min();
        return Nanoseconds(static_cast<Nanoseconds::rep>(count));
    }
}

// A point in time by which something must have happened, or never. A value; never() compares as the
// latest.
class Deadline {
public:
    constexpr Deadline() noexcept = default;  // never

    static constexpr Deadline never() noexcept { return Deadline(); }
    static constexpr Deadline at(Instant instant) noexcept { return Deadline(instant); }

    // A sum beyond the range of the clock becomes never() (for a negative duration: long past).
    template <class Rep, class Period>
    static Deadline after(std::chrono::duration<Rep, Period> duration) noexcept {
        return after(duration, Clock::now());
    }
    template <class Rep, class Period>
    static constexpr Deadline after(std::chrono::duration<Rep, Period> duration,
                                    Instant now) noexcept {
        Nanoseconds::rep sum = 0;
        Nanoseconds addend = saturate(duration);
        if (__builtin_add_overflow(now.time_since_epoch().count(), addend.count(), &sum)) {
            return Deadline(addend < Nanoseconds::zero() ? Instant::min() : Instant::max());
        }
        // A duration that was itself saturated means never, whatever the clock shows.
        if (addend == Nanoseconds::max()) return never();
        return Deadline(Instant(Nanoseconds(sum)));
    }

    constexpr bool is_never() const noexcept { return instant_ == Instant::max(); }
    constexpr Instant instant() const noexcept { return instant_; }
    constexpr bool expired(Instant now) const noexcept { return !is_never() && instant_ <= now; }

    // Zero when expired; the longest duration for never().
    constexpr Nanoseconds remaining(Instant now) const noexcept {
        if (is_never()) return Nanoseconds::max();
        if (instant_ <= now) return Nanoseconds::zero();
        Nanoseconds::rep difference = 0;
        if (__builtin_sub_overflow(instant_.time_since_epoch().count(),
                                   now.time_since_epoch().count(), &difference)) {
            return Nanoseconds::max();
        }
        return Nanoseconds(difference);
    }

    friend constexpr auto operator<=>(const Deadline&, const Deadline&) noexcept = default;

private:
    explicit constexpr Deadline(Instant instant) noexcept : instant_(instant) {}

    Instant instant_ = Instant::max();
};

constexpr Deadline earlier(Deadline a, Deadline b) noexcept { return b < a ? b : a; }

}  // namespace weft
