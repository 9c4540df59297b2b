#include "weft/async/ticker.h"

#include <gtest/gtest.h>

#include "weft/async/context.h"
#include "weft/async/errors.h"
#include "weft/async/internal/async_test.h"
#include "weft/base/time.h"
#include "weft/fiber/fiber.h"

namespace weft::async {
namespace {

using namespace std::chrono_literals;
using async_test::everywhere;
using async_test::text_of;

TEST(Ticker, SC_8h_ticks_are_due_at_multiples_of_the_interval) {
    everywhere([] {
        Instant begun = Clock::now();
        Ticker ticker = *Ticker::create(500us);
        Tick last = *ticker.next();
        EXPECT_GE(last.due, begun + 500us);
        for (int i = 0; i < 5; ++i) {
            Tick tick = *ticker.next();
            EXPECT_GE(Clock::now(), tick.due);  // never early
            auto steps = static_cast<std::int64_t>(tick.missed) + 1;
            EXPECT_EQ(tick.due - last.due, 500us * steps);
            last = tick;
        }
    });
}

TEST(Ticker, SC_8h_ticks_that_passed_are_counted_and_not_made_up_for) {
    everywhere([] {
        Ticker ticker = *Ticker::create(100us);
        Instant until = Clock::now() + 1ms;
        while (Clock::now() < until) weft::yield();
        Tick tick = *ticker.next();
        EXPECT_GE(tick.missed, 8u);
        EXPECT_GT(ticker.next()->due, tick.due);
    });
}

TEST(Ticker, SC_8h_it_ends_with_the_context) {
    everywhere([] {
        Ticker ticker = *Ticker::create(1h);
        auto [context, source] = Context::current().with_timeout(1ms);
        CancelScope scope(context.token());
        EXPECT_EQ(text_of(ticker.next()), "context deadline exceeded");
        EXPECT_EQ(text_of(ticker.next()), "context deadline exceeded");
    });
}

TEST(Ticker, SC_8h_the_interval_is_positive) {
    EXPECT_EQ(text_of(Ticker::create(0ms)), kInterval.text);
    EXPECT_EQ(text_of(Ticker::create(-1ms)), kInterval.text);
}

}  // namespace
}  // namespace weft::async
