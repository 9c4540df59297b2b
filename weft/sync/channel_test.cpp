#include "weft/sync/channel.h"

#include <gtest/gtest.h>

#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "weft/base/sanitizer.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/sync/internal/sync_test.h"

namespace weft {
namespace {

using sync_test::kind_of;
using sync_test::kShort;
using sync_test::kTooLong;
using sync_test::on_workers;
using sync_test::settle;
using sync_test::Watched;
using Box = std::unique_ptr<int>;

// Counts its living instances.
class Counted {
public:
    explicit Counted(Atomic<int>& alive) : alive_(&alive) { add(1); }
    Counted(Counted&& other) noexcept : alive_(other.alive_) { add(1); }
    Counted& operator=(Counted&&) = delete;
    ~Counted() { add(-1); }

private:
    void add(int count) { alive_->fetch_add(count, std::memory_order_relaxed); }
    Atomic<int>* alive_;
};

// ---------------------------------------------------------------- closed

TEST(Channel, SYN_1_closed_channel_drains_then_reports_closed) {
    Channel<int> channel(4);
    ASSERT_TRUE(channel.send(1));
    ASSERT_TRUE(channel.send(2));
    channel.close();
    EXPECT_EQ(channel.receive(), 1);
    EXPECT_EQ(channel.try_receive(), 2);
    EXPECT_EQ(kind_of(channel.receive()), ErrorKind::Closed);
    EXPECT_EQ(kind_of(channel.try_receive()), ErrorKind::Closed);
    EXPECT_EQ(kind_of(channel.receive_for(kTooLong)), ErrorKind::Closed);
}

TEST(Channel, SYN_1_send_to_a_closed_channel_leaves_the_item_with_the_sender) {
    Channel<Box> channel(4);
    channel.close();
    Box item = std::make_unique<int>(7);
    EXPECT_EQ(kind_of(channel.send(std::move(item))), ErrorKind::Closed);
    EXPECT_EQ(kind_of(channel.try_send(std::move(item))), ErrorKind::Closed);
    EXPECT_EQ(kind_of(channel.send_for(std::move(item), kTooLong)), ErrorKind::Closed);
    ASSERT_TRUE(item);
    EXPECT_EQ(*item, 7);
}

TEST(Channel, SYN_1_close_wakes_a_waiting_receiver) {
    on_workers(1, [] {
        for (std::size_t capacity : {0, 1, 8}) {
            Channel<int> channel(capacity);
            auto receiver = spawn([&] { return channel.receive(); });
            settle();
            channel.close();
            EXPECT_EQ(kind_of(receiver.join()), ErrorKind::Closed);
        }
    });
}

TEST(Channel, SYN_1_close_wakes_every_waiting_receiver_fiber_and_thread) {
    Channel<int> channel(1);
    Watched thread_waits, fiber_waits;
    std::thread thread([&] {
        thread_waits.here();
        EXPECT_EQ(kind_of(channel.receive()), ErrorKind::Closed);
    });
    on_workers(2, [&] {
        auto fiber = spawn([&] {
            fiber_waits.here();
            EXPECT_EQ(kind_of(channel.receive()), ErrorKind::Closed);
        });
        thread_waits.await_waiting();
        fiber_waits.await_waiting();
        channel.close();
        EXPECT_TRUE(fiber.join());
    });
    thread.join();
}

TEST(Channel, SYN_1_close_gives_a_waiting_sender_its_item_back) {
    on_workers(1, [] {
        for (std::size_t capacity : {0, 1}) {
            Channel<Box> channel(capacity);
            if (capacity != 0) {
                ASSERT_TRUE(channel.send(std::make_unique<int>(1)));
            }
            Box item = std::make_unique<int>(2);
            auto sender = spawn([&] { return channel.send(std::move(item)); });
            settle();
            channel.close();
            EXPECT_EQ(kind_of(sender.join()), ErrorKind::Closed);
            ASSERT_TRUE(item);
            EXPECT_EQ(*item, 2);
            if (capacity != 0) {
                EXPECT_EQ(**channel.receive(), 1);
            }
            EXPECT_EQ(kind_of(channel.receive()), ErrorKind::Closed);
        }
    });
}

TEST(Channel, SYN_1_close_may_be_called_again) {
    Channel<int> channel(1);
    EXPECT_FALSE(channel.is_closed());
    channel.close();
    channel.close();
    EXPECT_TRUE(channel.is_closed());
}

// ---------------------------------------------------------------- full and empty

TEST(Channel, SYN_1_full_empty_and_closed_are_told_apart) {
    Channel<int> channel(1);
    EXPECT_EQ(kind_of(channel.try_receive()), ErrorKind::Unavailable);
    EXPECT_TRUE(channel.try_send(1));
    EXPECT_EQ(kind_of(channel.try_send(2)), ErrorKind::Unavailable);
    channel.close();
    EXPECT_EQ(kind_of(channel.try_send(3)), ErrorKind::Closed);
    EXPECT_EQ(channel.try_receive(), 1);
    EXPECT_EQ(kind_of(channel.try_receive()), ErrorKind::Closed);
}

TEST(Channel, SYN_1_refused_try_send_leaves_the_item_with_the_sender) {
    Channel<Box> channel(1);
    ASSERT_TRUE(channel.try_send(std::make_unique<int>(1)));
    Box item = std::make_unique<int>(2);
    EXPECT_EQ(kind_of(channel.try_send(std::move(item))), ErrorKind::Unavailable);
    ASSERT_TRUE(item);
    EXPECT_EQ(*item, 2);
}

TEST(Channel, SYN_1_capacity_is_exact) {
    for (std::size_t capacity : {1, 2, 3, 5, 8, 100}) {
        Channel<int> channel(capacity);
        EXPECT_EQ(channel.capacity(), capacity);
        for (std::size_t i = 0; i < capacity; ++i) EXPECT_TRUE(channel.try_send(1));
        EXPECT_EQ(channel.size(), capacity);
        EXPECT_EQ(kind_of(channel.try_send(1)), ErrorKind::Unavailable);
        EXPECT_TRUE(channel.try_receive());
        EXPECT_TRUE(channel.try_send(1));
        EXPECT_EQ(kind_of(channel.try_send(1)), ErrorKind::Unavailable);
    }
}

TEST(Channel, SYN_1_send_waits_while_full_and_the_order_is_kept) {
    on_workers(1, [] {
        Channel<int> channel(2);
        std::vector<Future<void>> senders;
        for (int i = 0; i < 5; ++i) {
            senders.push_back(spawn([&, i] { EXPECT_TRUE(channel.send(i)); }));
            settle();
        }
        EXPECT_EQ(channel.size(), 2U);
        EXPECT_FALSE(senders[2].is_done());
        for (int i = 0; i < 5; ++i) EXPECT_EQ(channel.receive(), i);
        for (auto& sender : senders) EXPECT_TRUE(sender.join());
        EXPECT_TRUE(channel.is_empty());
    });
}

TEST(Channel, SYN_1_receivers_are_served_in_the_order_of_their_coming) {
    on_workers(1, [] {
        Channel<int> channel(2);
        std::vector<Future<int>> receivers;
        for (int i = 0; i < 4; ++i) {
            receivers.push_back(spawn([&] { return channel.receive(); }));
            settle();
        }
        for (int i = 0; i < 4; ++i) EXPECT_TRUE(channel.send(i));
        for (int i = 0; i < 4; ++i) EXPECT_EQ(receivers[i].join(), i);
    });
}

// ---------------------------------------------------------------- rendezvous

TEST(Channel, SYN_1_rendezvous_send_waits_for_the_receiver) {
    on_workers(1, [] {
        Channel<Box> channel(0);
        auto sender = spawn([&] { return channel.send(std::make_unique<int>(5)); });
        settle();
        EXPECT_FALSE(sender.is_done());
        EXPECT_EQ(channel.size(), 0U);
        EXPECT_EQ(**channel.receive(), 5);
        EXPECT_TRUE(sender.join());
    });
}

TEST(Channel, SYN_1_rendezvous_try_send_needs_a_waiting_receiver) {
    on_workers(1, [] {
        Channel<int> channel(0);
        EXPECT_EQ(kind_of(channel.try_send(1)), ErrorKind::Unavailable);
        auto receiver = spawn([&] { return channel.receive(); });
        settle();
        EXPECT_TRUE(channel.try_send(2));
        EXPECT_EQ(kind_of(channel.try_send(3)), ErrorKind::Unavailable);
        EXPECT_EQ(receiver.join(), 2);
    });
}

TEST(Channel, SYN_1_rendezvous_try_receive_takes_from_a_waiting_sender) {
    on_workers(1, [] {
        Channel<int> channel(0);
        auto sender = spawn([&] { return channel.send(4); });
        settle();
        EXPECT_EQ(channel.try_receive(), 4);
        EXPECT_EQ(kind_of(channel.try_receive()), ErrorKind::Unavailable);
        EXPECT_TRUE(sender.join());
    });
}

// ---------------------------------------------------------------- unbounded

TEST(Channel, SYN_1_unbounded_send_never_waits_and_keeps_the_order) {
    constexpr int count = 100'000;
    auto channel = Channel<int>::unbounded();
    for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < count; ++i) ASSERT_TRUE(channel.try_send(i));
        EXPECT_EQ(channel.size(), static_cast<std::size_t>(count));
        for (int i = 0; i < count; ++i) ASSERT_EQ(channel.receive(), i);
        // Waiting on a drained channel gives its memory back; it grows again in the next round.
        EXPECT_EQ(kind_of(channel.receive_for(kShort)), ErrorKind::TimedOut);
    }
}

TEST(Channel, SYN_1_unbounded_moves_its_items_when_it_grows) {
    auto channel = Channel<Box>::unbounded();
    // Begins in the middle of the ring, so that the items wrap round its end.
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(channel.send(std::make_unique<int>(-1)));
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(channel.receive());
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE(channel.send(std::make_unique<int>(i)));
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(**channel.receive(), i);
}

// ---------------------------------------------------------------- time

TEST(Channel, SYN_1_receive_times_out_and_takes_nothing) {
    on_workers(1, [] {
        Channel<int> channel(0);
        Deadline deadline = Deadline::after(kShort);
        EXPECT_EQ(kind_of(channel.receive_until(deadline)), ErrorKind::TimedOut);
        EXPECT_TRUE(deadline.expired(Clock::now()));
        // No entry is left in the queue: an item given to it would be lost.
        EXPECT_EQ(kind_of(channel.try_send(1)), ErrorKind::Unavailable);
    });
}

TEST(Channel, SYN_1_send_times_out_and_keeps_its_item) {
    on_workers(1, [] {
        Channel<Box> channel(1);
        ASSERT_TRUE(channel.send(std::make_unique<int>(1)));
        Box item = std::make_unique<int>(2);
        EXPECT_EQ(kind_of(channel.send_for(std::move(item), kShort)), ErrorKind::TimedOut);
        ASSERT_TRUE(item);
        EXPECT_EQ(*item, 2);
        EXPECT_EQ(**channel.receive(), 1);
        EXPECT_EQ(kind_of(channel.try_receive()), ErrorKind::Unavailable);
    });
}

TEST(Channel, SYN_1_threads_time_out_as_fibers_do) {
    Channel<int> channel(1);
    EXPECT_EQ(kind_of(channel.receive_for(kShort)), ErrorKind::TimedOut);
    ASSERT_TRUE(channel.send(1));
    EXPECT_EQ(kind_of(channel.send_for(2, kShort)), ErrorKind::TimedOut);
    EXPECT_EQ(channel.receive(), 1);
}

TEST(Channel, SYN_1_what_needs_no_waiting_is_done_after_the_deadline) {
    Channel<int> channel(1);
    Deadline past = Deadline::at(Instant::min());
    EXPECT_TRUE(channel.send_until(1, past));
    EXPECT_EQ(channel.receive_until(past), 1);
    EXPECT_EQ(kind_of(channel.receive_until(past)), ErrorKind::TimedOut);
}

TEST(Channel, SYN_1_one_that_timed_out_does_not_hold_up_those_behind) {
    on_workers(1, [] {
        Channel<int> channel(0);
        auto first = spawn([&] { return channel.receive_for(kShort); });
        settle();
        auto second = spawn([&] { return channel.receive(); });
        EXPECT_EQ(kind_of(first.join()), ErrorKind::TimedOut);
        EXPECT_TRUE(channel.send(1));
        EXPECT_EQ(second.join(), 1);
    });
}

// ---------------------------------------------------------------- cancellation

TEST(Channel, SYN_1_ambient_cancellation_ends_a_receive) {
    on_workers(1, [] {
        Channel<int> channel(0);
        CancelSource source;
        auto receiver = spawn([&] {
            CancelScope scope(source.token());
            return channel.receive();
        });
        settle();
        source.cancel();
        EXPECT_EQ(kind_of(receiver.join()), ErrorKind::Cancelled);
        EXPECT_EQ(kind_of(channel.try_send(1)), ErrorKind::Unavailable);
    });
}

TEST(Channel, SYN_1_ambient_deadline_ends_a_send_as_timed_out) {
    on_workers(1, [] {
        Channel<int> channel(0);
        CancelScope scope(CancelSource::with_deadline(Deadline::after(kShort)).token());
        EXPECT_EQ(kind_of(channel.send(1)), ErrorKind::TimedOut);
    });
}

TEST(Channel, SYN_1_explicit_token_ends_send_and_receive) {
    on_workers(1, [] {
        Channel<Box> channel(0);
        auto source = CancelSource::detached();
        Box item = std::make_unique<int>(1);
        auto sender = spawn([&] { return channel.send(std::move(item), source.token()); });
        settle();
        source.cancel();
        EXPECT_EQ(kind_of(sender.join()), ErrorKind::Cancelled);
        EXPECT_TRUE(item);
        EXPECT_EQ(kind_of(channel.receive(source.token())), ErrorKind::Cancelled);
        EXPECT_EQ(kind_of(channel.receive_until(Deadline::after(kTooLong), source.token())),
                  ErrorKind::Cancelled);
    });
}

TEST(Channel, SYN_1_cancelled_thread_leaves_its_wait) {
    Channel<int> channel(0);
    auto source = CancelSource::detached();
    Watched waits;
    std::thread thread([&] {
        waits.here();
        EXPECT_EQ(kind_of(channel.receive(source.token())), ErrorKind::Cancelled);
    });
    waits.await_waiting();
    source.cancel();
    thread.join();
}

TEST(Channel, SYN_1_what_needs_no_waiting_is_done_when_cancelled) {
    on_workers(1, [] {
        Channel<int> channel(1);
        CancelSource source;
        source.cancel();
        CancelScope scope(source.token());
        EXPECT_TRUE(channel.send(1));
        EXPECT_EQ(kind_of(channel.send(2)), ErrorKind::Cancelled);
        EXPECT_EQ(channel.receive(), 1);
        EXPECT_EQ(kind_of(channel.receive()), ErrorKind::Cancelled);
    });
}

// ---------------------------------------------------------------- items and life

TEST(Channel, SYN_1g_iteration_ends_when_closed_and_drained) {
    on_workers(1, [] {
        Channel<Box> channel(3);
        auto sender = spawn([&] {
            for (int i = 0; i < 10; ++i) EXPECT_TRUE(channel.send(std::make_unique<int>(i)));
            channel.close();
        });
        int next = 0;
        for (Result<Box> item : channel) EXPECT_EQ(**item, next++);
        EXPECT_EQ(next, 10);
        EXPECT_TRUE(sender.join());
    });
}

TEST(Channel, SYN_1g_an_iteration_that_is_cancelled_ends_with_the_error) {
    on_workers(1, [] {
        Channel<std::string> channel(1);
        ASSERT_TRUE(channel.send("only"));
        CancelSource source;
        source.cancel();
        CancelScope scope(source.token());
        std::vector<Result<std::string>> items;
        for (Result<std::string> item : channel) items.push_back(std::move(item));
        ASSERT_EQ(items.size(), 2U);
        EXPECT_EQ(items[0], "only");
        EXPECT_EQ(items[1].error().kind(), ErrorKind::Cancelled);
        for (Result<std::string> item : channel)
            EXPECT_EQ(item.error().kind(), ErrorKind::Cancelled);
    });
}

TEST(Channel, SYN_1g_for_each_tells_why_it_ended) {
    on_workers(1, [] {
        Channel<Box> channel(3);
        for (int i = 0; i < 3; ++i) ASSERT_TRUE(channel.send(std::make_unique<int>(i)));
        int sum = 0;
        auto add = [&](Box item) { sum += *item; };
        {
            CancelSource source;
            source.cancel();
            CancelScope scope(source.token());
            EXPECT_EQ(kind_of(channel.for_each(add)), ErrorKind::Cancelled);
            EXPECT_EQ(sum, 3);
        }
        ASSERT_TRUE(channel.send(std::make_unique<int>(4)));
        ASSERT_TRUE(channel.send(std::make_unique<int>(5)));
        channel.close();
        auto refuse = [](Box) -> Result<void> { return ErrorKind::Refused; };
        EXPECT_EQ(kind_of(channel.for_each(refuse)), ErrorKind::Refused);
        EXPECT_TRUE(channel.for_each(add));
        EXPECT_EQ(sum, 8);
    });
}

TEST(Channel, SYN_1_items_that_nobody_received_end_with_the_channel) {
    Atomic<int> alive{0};
    {
        Channel<Counted> channel(4);
        for (int i = 0; i < 3; ++i) ASSERT_TRUE(channel.send(Counted(alive)));
        EXPECT_TRUE(channel.receive());
        EXPECT_EQ(alive.load(std::memory_order_relaxed), 2);
    }
    EXPECT_EQ(alive.load(std::memory_order_relaxed), 0);
}

TEST(Channel, SYN_1_passing_by_hand_makes_and_ends_items_in_pairs) {
    Atomic<int> alive{0};
    on_workers(2, [&] {
        Channel<Counted> channel(0);
        auto receiver = spawn([&] {
            for (int i = 0; i < 1000; ++i) EXPECT_TRUE(channel.receive());
        });
        for (int i = 0; i < 1000; ++i) EXPECT_TRUE(channel.send(Counted(alive)));
        EXPECT_TRUE(receiver.join());
    });
    EXPECT_EQ(alive.load(std::memory_order_relaxed), 0);
}

TEST(Channel, SYN_1_may_be_destroyed_as_soon_as_the_last_item_was_received) {
    for (int round = 0; round < 500; ++round) {
        auto channel = std::make_unique<Channel<int>>(round % 2);
        Channel<int>* shared = channel.get();
        std::thread sender([shared] { EXPECT_TRUE(shared->send(1)); });
        EXPECT_TRUE(channel->receive());
        channel.reset();  // the sender may not have returned yet
        sender.join();
    }
}

TEST(Channel, SYN_1_may_be_destroyed_as_soon_as_close_was_noticed) {
    for (int round = 0; round < 500; ++round) {
        auto channel = std::make_unique<Channel<int>>(1);
        Channel<int>* shared = channel.get();
        std::thread closer([shared] { shared->close(); });
        EXPECT_EQ(kind_of(channel->receive()), ErrorKind::Closed);
        channel.reset();
        closer.join();
    }
}

TEST(ChannelDeathTest, SYN_1_destroying_it_while_somebody_waits_is_an_error) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            auto channel = std::make_unique<Channel<int>>(0);
            Watched waits;
            std::thread receiver([&waits, shared = channel.get()] {
                waits.here();
                static_cast<void>(shared->receive());
            });
            waits.await_waiting();
            channel.reset();
            receiver.join();
        },
        "still waits");
}

TEST(Channel, SYN_1_shutdown_of_the_runtime_ends_every_wait) {
    Channel<int> channel(0);
    Runtime runtime(RuntimeOptions{.workers = 2});
    std::vector<Future<int>> receivers;
    for (int i = 0; i < 50; ++i)
        receivers.push_back(runtime.spawn([&] { return channel.receive(); }));
    EXPECT_TRUE(runtime.shutdown());
    for (auto& receiver : receivers) EXPECT_EQ(kind_of(receiver.join()), ErrorKind::Cancelled);
}

TEST(Channel, FIB_13c_SYN_4_a_million_round_trips_take_less_than_a_second) {
#if defined(WEFT_TSAN)
    constexpr int count = 20'000;  // each switch costs microseconds there
#else
    constexpr int count = 1'000'000;
#endif
    std::clock_t begin = std::clock();
    on_workers(1, [] {
        Channel<int> there(0), back(0);
        auto echo =
            spawn([&] { EXPECT_TRUE(there.for_each([&](int item) { return back.send(item); })); });
        for (int i = 0; i < count; ++i) {
            ASSERT_TRUE(there.send(i));
            ASSERT_EQ(back.receive(), i);
        }
        there.close();
        EXPECT_TRUE(echo.join());
    });
    double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    RecordProperty("cpu_seconds", std::to_string(seconds));
    // The promise is made for one x86_64 core; others may be emulated.
#if defined(__x86_64__) && !defined(WEFT_ASAN) && !defined(WEFT_TSAN)
    EXPECT_LT(seconds, 1.0);
#endif
}

}  // namespace
}  // namespace weft
