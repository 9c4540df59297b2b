#include "weft/async/group.h"

#include <gtest/gtest.h>

#include "weft/async/periodic.h"
#include "weft/async/pool.h"
#include "weft/async/task.h"
#include "weft/async/timeout.h"
#include "weft/fiber/runtime.h"

namespace weft::async {
namespace {

TEST(Group, SC_1a_smoke) {
    auto outcome = weft::run(
        []() -> Result<void> {
            Group group;
            int sum = 0;
            for (int i = 0; i < 4; ++i) WEFT_TRY(group.go([&sum, i](Context&) { sum += i; }));
            WEFT_TRY(group.wait());
            EXPECT_EQ(sum, 6);
            auto task = WEFT_TRY(async::run([] { return 42; }));
            EXPECT_EQ(task.wait(), 42);
            WEFT_TRY(with_timeout(std::chrono::seconds(1), [](Context&) {}));
            Pool pool = WEFT_TRY(Pool::create({.workers = 2, .queue_size = 3}));
            for (int i = 0; i < 40; ++i) WEFT_TRY(pool.submit([&sum, i](Context&) { sum += i; }));
            WEFT_TRY(pool.close());
            EXPECT_EQ(sum, 6 + 780);
            auto periodic = WEFT_TRY(
                start_every(Context::current(), std::chrono::milliseconds(1), [&] { ++sum; }));
            periodic.stop();
            WEFT_TRY(periodic.wait());
            return {};
        },
        {.workers = 1});
    EXPECT_TRUE(outcome);
}

}  // namespace
}  // namespace weft::async
