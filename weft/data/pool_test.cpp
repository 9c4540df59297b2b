#include "weft/data/pool.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "weft/data/failure.h"
#include "weft/fiber/runtime.h"
#include "weft/testing/captured_log.h"
#include "weft/testing/eventually.h"
#include "weft/testing/fake_database.h"

namespace weft::data {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
namespace fake = testing::fake;

class PoolTest : public ::testing::Test {
protected:
    void SetUp() override {
        options.connections_max = 2;
        options.acquire_timeout = 20s;
    }
    // Runs the function on a fiber, with a pool.
    template <class Function>
    void with_pool(Function function) {
        Runtime runtime({.workers = 2});
        Result<void> ran =
            runtime
                .spawn([&] {
                    pool.emplace(std::make_unique<fake::FakeProvider>(server), options, "test");
                    function();
                    pool.reset();
                })
                .join();
        EXPECT_TRUE(ran);
        EXPECT_TRUE(runtime.shutdown());
        EXPECT_EQ(server->alive.get(), 0);
        EXPECT_LE(server->most_alive.get(), static_cast<int>(options.connections_max));
    }
    Lease acquire() { return std::move(*pool->acquire("test")); }

    std::shared_ptr<fake::Server> server = std::make_shared<fake::Server>();
    PoolOptions options;
    std::optional<Pool> pool;
};

TEST_F(PoolTest, DAT_5_connections_are_opened_when_they_are_needed_and_used_again) {
    with_pool([&] {
        EXPECT_EQ(server->opened.get(), 0);
        for (int i = 0; i < 3; ++i) Lease lease = acquire();
        EXPECT_EQ(server->opened.get(), 1);
        Lease first = acquire();
        Lease second = acquire();
        EXPECT_EQ(server->opened.get(), 2);
        EXPECT_EQ(pool->stats().in_use, 2U);
    });
}

TEST_F(PoolTest, DAT_5_who_waits_is_served_in_order) {
    options.connections_max = 1;
    with_pool([&] {
        std::vector<int> order;
        std::optional<Lease> held = acquire();
        std::vector<Future<void>> waiters;
        for (int i = 0; i < 3; ++i) {
            waiters.push_back(spawn([&, i] {
                Lease lease = acquire();
                order.push_back(i);
            }));
            ASSERT_TRUE(eventually([&] { return pool->stats().waiting == std::size_t(i) + 1; }));
        }
        held.reset();
        for (auto& waiter : waiters) EXPECT_TRUE(waiter.join());
        EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
    });
}

TEST_F(PoolTest, DAT_5_the_wait_ends_in_time_and_names_the_holders) {
    options.connections_max = 1;
    options.acquire_timeout = 5ms;
    with_pool([&] {
        Lease held = acquire();
        Result<Lease> none = pool->acquire("other");
        ASSERT_FALSE(none);
        EXPECT_EQ(cause_of(none.error()), Cause::PoolExhausted);
        EXPECT_NE(none.error().message().find("held by test for "), std::string::npos)
            << none.error().message();
        EXPECT_EQ(pool->stats().timed_out, 1U);
        EXPECT_EQ(pool->stats().waiting, 0U);
    });
}

TEST_F(PoolTest, DAT_5_a_cancelled_waiter_takes_nothing_along) {
    options.connections_max = 1;
    with_pool([&] {
        for (int i = 0; i < 200; ++i) {
            std::optional<Lease> held = acquire();
            CancelSource source;
            Future<void> waiter = spawn([&] {
                CancelScope scope(source.token());
                Result<Lease> lease = pool->acquire("cancelled");
                EXPECT_TRUE(lease || lease.error().kind() == ErrorKind::Cancelled);
            });
            ASSERT_TRUE(eventually([&] { return pool->stats().waiting == 1; }));
            // The cancel and the return of the lease race.
            Future<void> canceller = spawn([&] { source.cancel(); });
            held.reset();
            EXPECT_TRUE(waiter.join());
            EXPECT_TRUE(canceller.join());
            Lease again = acquire();
        }
        EXPECT_EQ(pool->stats().connections, 1U);
        EXPECT_EQ(pool->stats().waiting, 0U);
    });
}

TEST_F(PoolTest, DAT_5_fails_fast_by_option_and_when_too_many_wait) {
    options.connections_max = 1;
    options.when_exhausted = WhenExhausted::Fail;
    with_pool([&] {
        Lease held = acquire();
        Result<Lease> none = pool->acquire("other");
        ASSERT_FALSE(none);
        EXPECT_EQ(sqlstate_of(none.error()), kPoolFullState);
    });
    options.when_exhausted = WhenExhausted::Wait;
    options.waiters_max = 0;
    with_pool([&] {
        Lease held = acquire();
        EXPECT_EQ(sqlstate_of(pool->acquire("other").error()), kPoolFullState);
        EXPECT_EQ(pool->stats().refused, 1U);
    });
}

TEST_F(PoolTest, DAT_5_an_open_transaction_is_rolled_back_and_a_broken_connection_closed) {
    with_pool([&] {
        {
            Lease lease = acquire();
            EXPECT_TRUE(lease->run(Statement("begin"), {}));
        }
        EXPECT_EQ(server->rollbacks.get(), 1);
        {
            Lease lease = acquire();
            EXPECT_EQ(lease->state(), ConnectionState::Idle);
            EXPECT_TRUE(lease->run(Statement("break"), {}));
        }
        EXPECT_EQ(server->alive.get(), 0);
        EXPECT_EQ(pool->stats().closed_broken, 1U);
        EXPECT_EQ(pool->stats().connections, 0U);
        Lease lease = acquire();
        EXPECT_EQ(server->opened.get(), 2);
    });
}

TEST_F(PoolTest, DAT_5_idle_connections_are_pruned_and_old_ones_closed) {
    options.idle_timeout = 1ms;
    with_pool([&] {
        { Lease lease = acquire(); }
        EXPECT_TRUE(eventually([&] { return pool->stats().connections == 0; }));
        EXPECT_EQ(pool->stats().closed_idle, 1U);
    });
    options.idle_timeout = 0s;
    options.lifetime_max = 1us;
    with_pool([&] {
        { Lease lease = acquire(); }
        // The close is counted before the slot is freed.
        EXPECT_TRUE(eventually([&] { return pool->stats().connections == 0; }));
        EXPECT_EQ(pool->stats().closed_old, 1U);
    });
}

TEST_F(PoolTest, DAT_5_what_has_idled_is_validated_and_replaced_if_it_is_lost) {
    options.validate_after = 1ns;
    with_pool([&] {
        { Lease lease = acquire(); }
        { Lease lease = acquire(); }
        EXPECT_EQ(server->validated.get(), 1);
        server->is_lost.set(1);
        { Lease lease = acquire(); }
        EXPECT_EQ(server->opened.get(), 2);
        EXPECT_EQ(pool->stats().closed_broken, 1U);
    });
}

TEST_F(PoolTest, DAT_5_a_connection_that_was_closed_meanwhile_is_replaced_unasked) {
    with_pool([&] {
        { Lease lease = acquire(); }
        server->has_hung_up.set(1);
        { Lease lease = acquire(); }
        EXPECT_EQ(server->opened.get(), 2);
        EXPECT_EQ(server->validated.get(), 0);
        EXPECT_EQ(pool->stats().closed_broken, 1U);
        EXPECT_EQ(pool->stats().connections, 1U);
    });
}

TEST_F(PoolTest, DAT_5_after_a_failed_connect_nobody_tries_before_a_pause) {
    options.backoff_initial = 40ms;
    with_pool([&] {
        server->refuses.set(1);
        // Taken before the failure: part of the back-off may be over when its error is examined.
        Instant begun = Clock::now();
        Result<Lease> refused = pool->acquire("first");
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().kind(), ErrorKind::Refused);
        server->refuses.set(0);
        Lease lease = acquire();
        // Half of the back-off is random.
        EXPECT_GE(Clock::now() - begun, 20ms);
        EXPECT_EQ(pool->stats().open_failures, 1U);
    });
}

TEST_F(PoolTest, DAT_5_who_holds_a_connection_for_long_is_warned_about_once) {
    options.leak_after = 1ms;
    testing::CapturedLog captured;
    with_pool([&] {
        Lease lease = acquire();
        EXPECT_TRUE(eventually([&] { return pool->stats().leaks_suspected == 1; }));
        pool->prune();
        EXPECT_EQ(pool->stats().leaks_suspected, 1U);
    });
    EXPECT_TRUE(captured.contains("in use by test for"));
}

TEST_F(PoolTest, DAT_5_closing_ends_the_waits_and_waits_for_what_is_in_use) {
    options.connections_max = 1;
    with_pool([&] {
        std::optional<Lease> held = acquire();
        Future<void> waiter =
            spawn([&] { EXPECT_EQ(cause_of(pool->acquire("late").error()), Cause::Closed); });
        ASSERT_TRUE(eventually([&] { return pool->stats().waiting == 1; }));
        EXPECT_EQ(pool->close(Deadline::after(1ms)).error().kind(), ErrorKind::TimedOut);
        EXPECT_TRUE(waiter.join());
        Future<void> closer = spawn([&] { EXPECT_TRUE(pool->close(Deadline::never())); });
        held.reset();
        EXPECT_TRUE(closer.join());
        EXPECT_EQ(cause_of(pool->acquire("late").error()), Cause::Closed);
    });
}

TEST_F(PoolTest, DAT_13_a_plain_thread_uses_the_pool_by_blocking) {
    Pool plain(std::make_unique<fake::FakeProvider>(server), options, "plain");
    Result<Lease> lease = plain.acquire("thread");
    ASSERT_TRUE(lease);
    EXPECT_TRUE((*lease)->run(Statement("x"), {}));
}

}  // namespace
}  // namespace weft::data
