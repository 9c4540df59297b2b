#include "weft/sync/event.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/sync/internal/sync_test.h"

namespace weft {
namespace {

using sync_test::kind_of;
using sync_test::kShort;
using sync_test::on_workers;
using sync_test::settle;
using sync_test::Watched;

TEST(Event, SYN_3_times_out_while_it_is_not_set) {
    Event event;
    auto time_out = [&] { EXPECT_EQ(kind_of(event.wait_for(kShort)), ErrorKind::TimedOut); };
    time_out();
    on_workers(1, time_out);
}

TEST(Event, SYN_3_a_wait_is_cancelled) {
    on_workers(1, [] {
        Event event;
        CancelSource source;
        auto ambient = spawn([&] {
            CancelScope scope(source.token());
            return event.wait();
        });
        auto by_token = spawn([&] { return event.wait(source.token()); });
        settle();
        source.cancel();
        EXPECT_EQ(kind_of(ambient.join()), ErrorKind::Cancelled);
        EXPECT_EQ(kind_of(by_token.join()), ErrorKind::Cancelled);
    });
}

TEST(Event, SYN_3_stays_set_until_it_is_reset) {
    Event event(Event::State::Set);
    EXPECT_TRUE(event.is_set());
    EXPECT_TRUE(event.wait());
    EXPECT_TRUE(event.wait());
    event.reset();
    EXPECT_FALSE(event.is_set());
    EXPECT_EQ(kind_of(event.wait_for(kShort)), ErrorKind::TimedOut);
}

TEST(Event, SYN_3_set_wakes_fibers_and_threads_even_if_it_is_reset_at_once) {
    Event event;
    Watched thread_waits;
    std::thread thread([&] {
        thread_waits.here();
        EXPECT_TRUE(event.wait());
    });
    thread_waits.await_waiting();
    on_workers(1, [&] {
        std::vector<Future<void>> waiters;
        for (int i = 0; i < 10; ++i) waiters.push_back(spawn([&] { EXPECT_TRUE(event.wait()); }));
        settle();
        event.set();
        event.reset();
        for (auto& waiter : waiters) EXPECT_TRUE(waiter.join());
    });
    thread.join();
}

TEST(Event, SYN_3_may_be_destroyed_as_soon_as_wait_has_returned) {
    for (int round = 0; round < 500; ++round) {
        auto event = std::make_unique<Event>();
        std::thread thread([shared = event.get()] { shared->set(); });
        EXPECT_TRUE(event->wait());
        event.reset();  // set() may not have returned yet
        thread.join();
    }
}

}  // namespace
}  // namespace weft
