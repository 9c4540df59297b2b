// Ticker: ticks at a fixed interval, without drift.
//
//     Ticker ticker = WEFT_TRY(Ticker::create(100ms));
//     while (Result<Tick> tick = ticker.next()) sample(tick->due);
//
// Ticks are due at multiples of the interval after the ticker's creation, however long the work
// between them takes. Missed ticks are not made up for; the next one says how many there were.
// One fiber or thread.
#pragma once

#include <cstdint>

#include "weft/base/result.h"
#include "weft/base/time.h"

namespace weft::async {

struct Tick {
    Instant due;
    std::uint64_t missed = 0;  // ticks between the last one and this
};

class Ticker {
public:
    template <class Rep, class Period>
    static Result<Ticker> create(std::chrono::duration<Rep, Period> interval) {
        return create_every(saturate(interval));
    }

    // Waits for the next tick; at once if it is due. The ambient context's error when that ends.
    Result<Tick> next();

private:
    explicit Ticker(Nanoseconds interval) : interval_(interval), next_(Clock::now() + interval) {}
    static Result<Ticker> create_every(Nanoseconds interval);

    Nanoseconds interval_;
    Instant next_;
};

}  // namespace weft::async
