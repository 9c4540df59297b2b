#include "weft/sync/once.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>
#include <vector>

#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/sync/event.h"
#include "weft/sync/internal/sync_test.h"

namespace weft {
namespace {

using sync_test::kind_of;
using sync_test::kShort;
using sync_test::on_workers;
using sync_test::settle;

TEST(Once, SYN_3_an_error_lets_the_next_caller_try_again) {
    Once once;
    EXPECT_EQ(kind_of(once.call([]() -> Result<void> { return ErrorKind::Refused; })),
              ErrorKind::Refused);
    EXPECT_FALSE(once.is_done());
    int runs = 0;
    EXPECT_TRUE(once.call([&] { ++runs; }));
    EXPECT_TRUE(once.call([&] { ++runs; }));
    EXPECT_EQ(runs, 1);
    EXPECT_TRUE(once.is_done());
}

TEST(Once, SYN_3_an_exception_passes_through_and_the_next_waiter_runs) {
    on_workers(1, [] {
        Once once;
        Event fail;
        auto first = spawn([&] {
            return once.call([&] {
                EXPECT_TRUE(fail.wait());
                throw std::runtime_error("first");
            });
        });
        settle();
        bool ran = false;
        auto second = spawn([&] { return once.call([&] { ran = true; }); });
        settle();
        EXPECT_FALSE(ran);
        fail.set();
        EXPECT_EQ(kind_of(first.join()), ErrorKind::Exception);
        EXPECT_TRUE(second.join());
        EXPECT_TRUE(ran);
    });
}

TEST(Once, SYN_3_who_waits_for_another_caller_times_out_or_is_cancelled) {
    on_workers(1, [] {
        Once once;
        Event finish;
        CancelSource source;
        auto runner = spawn([&] { return once.call([&] { EXPECT_TRUE(finish.wait()); }); });
        settle();
        auto run_again = [] { ADD_FAILURE() << "it is being run already"; };
        auto ambient = spawn([&] {
            CancelScope scope(source.token());
            return once.call(run_again);
        });
        auto by_token =
            spawn([&] { return once.call_until(Deadline::never(), run_again, source.token()); });
        EXPECT_EQ(kind_of(once.call_until(Deadline::after(kShort), run_again)),
                  ErrorKind::TimedOut);
        source.cancel();
        EXPECT_EQ(kind_of(ambient.join()), ErrorKind::Cancelled);
        EXPECT_EQ(kind_of(by_token.join()), ErrorKind::Cancelled);
        finish.set();
        EXPECT_TRUE(runner.join());
        EXPECT_TRUE(once.is_done());
    });
}

TEST(Once, SYN_3_runs_once_for_fibers_and_threads) {
    for (int round = 0; round < 50; ++round) {
        Once once;
        int runs = 0;
        auto call = [&] {
            EXPECT_TRUE(once.call([&] {
                yield();
                ++runs;
            }));
            EXPECT_EQ(runs, 1);
        };
        std::thread thread(call);
        on_workers(2, [&] {
            std::vector<Future<void>> fibers;
            for (int i = 0; i < 10; ++i) fibers.push_back(spawn(call));
            for (auto& fiber : fibers) EXPECT_TRUE(fiber.join());
        });
        thread.join();
    }
}

}  // namespace
}  // namespace weft
