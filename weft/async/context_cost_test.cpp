// What deriving a context costs.
#include "weft/testing/counted_allocations.h"

#ifdef WEFT_COUNTS_ALLOCATIONS

#include <gtest/gtest.h>

#include <chrono>

#include "weft/async/context.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"
#include "weft/fiber/schedule/worker.h"  // tidy: allow layers: it looks into the worker's timers

namespace weft::async {
namespace {

using namespace std::chrono_literals;
using testing::allocations_so_far;

struct RequestId {
    int number = 0;
};
constexpr ContextKey<RequestId> kRequest;

bool any_timer() { return this_worker()->timers().next_due_ns() != kNeverNs; }

TEST(ContextCost, CTX_1g_deriving_takes_one_allocation_and_no_timer) {
    // One worker, so nothing else runs meanwhile.
    auto outcome = run(
        [] {
            Context parent = Context::current();
            EXPECT_FALSE(any_timer());
            int before = allocations_so_far();
            OwnedContext cancellable = parent.with_cancel();
            int with_cancel = allocations_so_far() - before;
            OwnedContext timed = cancellable.context.with_timeout(1h);
            int with_timeout = allocations_so_far() - before - with_cancel;
            Context valued = timed.context.with_value(kRequest, {7});
            int with_value = allocations_so_far() - before - with_cancel - with_timeout;
            EXPECT_EQ(with_cancel, 1);
            EXPECT_EQ(with_timeout, 1);
            EXPECT_EQ(with_value, 1);
            EXPECT_FALSE(any_timer());
            // The first wait below the deadline sets the timer.
            CancelScope scope(valued.token());
            EXPECT_EQ(park(Deadline::after(1us)).error().kind(), ErrorKind::TimedOut);
            EXPECT_TRUE(any_timer());
        },
        {.workers = 1});
    EXPECT_TRUE(outcome);
}

}  // namespace
}  // namespace weft::async

#endif
