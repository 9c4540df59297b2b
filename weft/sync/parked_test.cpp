// A parked fiber holds no internal lock: while one is parked in a primitive, a plain thread
// finishes a call on the same object that needs that lock. With the lock held it would spin for
// ever.
#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "weft/fiber/fiber.h"
#include "weft/sync/barrier.h"
#include "weft/sync/channel.h"
#include "weft/sync/condition.h"
#include "weft/sync/event.h"
#include "weft/sync/gate.h"
#include "weft/sync/internal/sync_test.h"
#include "weft/sync/mutex.h"
#include "weft/sync/once.h"
#include "weft/sync/select.h"
#include "weft/sync/semaphore.h"
#include "weft/sync/shared_mutex.h"
#include "weft/sync/wait_group.h"

namespace weft {
namespace {

using sync_test::on_workers;
using sync_test::Watched;

// Parks a fiber in `wait`, then calls `use` on a thread, then `end`, which lets the fiber go on.
template <class Wait, class Use, class End>
void while_parked(Wait wait, Use use, End end) {
    on_workers(1, [&] {
        Watched parked;
        auto fiber = spawn([&] {
            parked.here();
            wait();
        });
        parked.await_waiting();
        std::thread(use).join();
        end();
        EXPECT_TRUE(fiber.join());
    });
}

TEST(ParkedFiber, SYN_3k_in_a_mutex_holds_no_internal_lock) {
    Mutex mutex;
    mutex.lock();
    while_parked([&] { std::lock_guard guard(mutex); },
                 [&] { EXPECT_FALSE(mutex.try_lock_for(sync_test::kShort)); },
                 [&] { mutex.unlock(); });
}

TEST(ParkedFiber, SYN_3k_in_a_shared_mutex_holds_no_internal_lock) {
    SharedMutex mutex;
    mutex.lock_shared();
    while_parked([&] { std::lock_guard guard(mutex); }, [&] { EXPECT_FALSE(mutex.try_lock()); },
                 [&] { mutex.unlock_shared(); });
}

TEST(ParkedFiber, SYN_3k_in_a_condition_holds_neither_its_lock_nor_the_mutex) {
    Mutex mutex;
    Condition condition;
    bool go_on = false;
    while_parked(
        [&] {
            std::unique_lock lock(mutex);
            EXPECT_TRUE(condition.wait(lock, [&] { return go_on; }));
        },
        [&] {
            std::lock_guard guard(mutex);
            condition.notify_all();
        },
        [&] {
            std::lock_guard guard(mutex);
            go_on = true;
            condition.notify_all();
        });
}

TEST(ParkedFiber, SYN_3k_in_a_semaphore_holds_no_internal_lock) {
    Semaphore semaphore(0);
    while_parked([&] { EXPECT_TRUE(semaphore.acquire()); },
                 [&] { EXPECT_FALSE(semaphore.try_acquire()); }, [&] { semaphore.release(); });
}

TEST(ParkedFiber, SYN_3k_in_a_wait_group_holds_no_internal_lock) {
    WaitGroup group(1);
    while_parked([&] { EXPECT_TRUE(group.wait()); },
                 [&] {
                     group.add();
                     group.done();
                 },
                 [&] { group.done(); });
}

TEST(ParkedFiber, SYN_3k_in_a_once_holds_no_internal_lock) {
    Once once;
    Event may_end;
    Watched runs;
    std::thread first([&] {
        runs.here();
        EXPECT_TRUE(once.call([&] { return may_end.wait(); }));
    });
    runs.await_waiting();
    while_parked([&] { EXPECT_TRUE(once.call([] {})); },
                 [&] { EXPECT_FALSE(once.call_until(Deadline::after(sync_test::kShort), [] {})); },
                 [&] { may_end.set(); });
    first.join();
}

TEST(ParkedFiber, SYN_3k_in_a_barrier_holds_no_internal_lock) {
    Barrier barrier(2);
    while_parked([&] { EXPECT_TRUE(barrier.arrive_and_wait()); },
                 [&] { EXPECT_TRUE(barrier.arrive_and_wait()); }, [] {});
}

TEST(ParkedFiber, SYN_3k_in_an_event_holds_no_internal_lock) {
    Event event;
    while_parked([&] { EXPECT_TRUE(event.wait()); },
                 [&] { EXPECT_FALSE(event.wait_for(sync_test::kShort)); }, [&] { event.set(); });
}

TEST(ParkedFiber, SYN_3k_in_a_gate_holds_no_internal_lock) {
    Gate gate;
    ASSERT_TRUE(gate.enter());
    while_parked([&] { EXPECT_TRUE(gate.close()); }, [&] { EXPECT_FALSE(gate.enter()); },
                 [&] { gate.leave(); });
}

TEST(ParkedFiber, SYN_3k_in_a_channel_holds_no_internal_lock) {
    Channel<int> channel(1);
    while_parked([&] { EXPECT_EQ(channel.receive(), 1); }, [&] { EXPECT_TRUE(channel.send(1)); },
                 [] {});
    ASSERT_TRUE(channel.send(2));
    while_parked([&] { EXPECT_TRUE(channel.send(3)); }, [&] { EXPECT_EQ(channel.receive(), 2); },
                 [] {});
}

TEST(ParkedFiber, SYN_3k_in_a_select_holds_no_internal_lock) {
    Channel<int> first(1);
    Channel<int> second(1);
    while_parked(
        [&] {
            EXPECT_TRUE(select(on_receive(first, [](Result<int>) {}),
                               on_receive(second, [](Result<int>) {})));
        },
        [&] {
            EXPECT_EQ(first.size(), 0U);
            EXPECT_TRUE(second.send(1));
        },
        [] {});
}

}  // namespace
}  // namespace weft
