#include "weft/sync/select.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/sync/channel.h"
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

const auto ignore = [](auto&&...) {};
const auto never = [](auto&&...) { ADD_FAILURE() << "this case must not be chosen"; };

// ---------------------------------------------------------------- ends without an item

TEST(Select, SYN_2_times_out) {
    on_workers(1, [] {
        Channel<int> channel(0);
        bool timed_out = false;
        Deadline deadline = Deadline::after(kShort);
        auto chosen = select(on_receive(channel, never), on_send(channel, 1, never),
                             on_timeout(deadline, [&] { timed_out = true; }));
        EXPECT_EQ(chosen, 2U);
        EXPECT_TRUE(timed_out);
        EXPECT_TRUE(deadline.expired(Clock::now()));
        // No entry is left behind in either queue.
        EXPECT_EQ(kind_of(channel.try_send(1)), ErrorKind::Unavailable);
        EXPECT_EQ(kind_of(channel.try_receive()), ErrorKind::Unavailable);
    });
}

TEST(Select, SYN_2_a_token_is_a_case) {
    on_workers(1, [] {
        Channel<int> channel(0);
        auto source = CancelSource::detached();
        bool cancelled = false;
        auto selecting = spawn([&] {
            return select(on_receive(channel, never),
                          on_cancel(source.token(), [&] { cancelled = true; }));
        });
        settle();
        source.cancel();
        EXPECT_EQ(selecting.join(), 1U);
        EXPECT_TRUE(cancelled);
        EXPECT_EQ(kind_of(channel.try_send(1)), ErrorKind::Unavailable);
    });
}

TEST(Select, SYN_2_a_token_cancelled_before_is_chosen_without_waiting) {
    Channel<int> channel(0);
    auto source = CancelSource::detached();
    source.cancel();
    EXPECT_EQ(select(on_receive(channel, never), on_cancel(source.token(), ignore)), 1U);
}

TEST(Select, SYN_2_the_deadline_of_a_token_is_its_cancellation) {
    auto wait = [] {
        Channel<int> channel(0);
        auto source = CancelSource::detached(Deadline::after(kShort));
        EXPECT_EQ(select(on_receive(channel, never), on_cancel(source.token(), ignore)), 1U);
    };
    wait();
    on_workers(1, wait);
}

TEST(Select, SYN_2_ambient_cancellation_is_an_error_and_runs_no_handler) {
    on_workers(1, [] {
        Channel<int> channel(0);
        CancelSource source;
        auto other = CancelSource::detached();
        auto selecting = spawn([&] {
            CancelScope scope(source.token());
            return select(on_receive(channel, never), on_cancel(other.token(), never),
                          on_timeout(kTooLong, never));
        });
        settle();
        source.cancel();
        EXPECT_EQ(kind_of(selecting.join()), ErrorKind::Cancelled);
        EXPECT_EQ(kind_of(channel.try_send(1)), ErrorKind::Unavailable);
    });
}

TEST(Select, SYN_2_otherwise_does_not_wait) {
    Channel<int> channel(0);
    bool otherwise_ran = false;
    auto chosen = select(on_receive(channel, never), on_send(channel, 1, never),
                         otherwise([&] { otherwise_ran = true; }));
    EXPECT_EQ(chosen, 2U);
    EXPECT_TRUE(otherwise_ran);
}

TEST(Select, SYN_2_otherwise_gives_way_to_what_is_ready) {
    Channel<int> channel(1);
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(select(otherwise(never), on_send(channel, i, ignore)), 1U);
        EXPECT_EQ(select(otherwise(never), on_receive(channel, ignore)), 1U);
    }
}

// ---------------------------------------------------------------- closed and null

TEST(Select, SYN_2_a_closed_channel_drains_then_reports_closed) {
    Channel<int> channel(1);
    ASSERT_TRUE(channel.send(1));
    channel.close();
    auto receive = [&] {
        Result<int> got(0);
        EXPECT_EQ(select(on_receive(channel, [&](Result<int> item) { got = item; })), 0U);
        return got;
    };
    EXPECT_EQ(receive(), 1);
    EXPECT_EQ(kind_of(receive()), ErrorKind::Closed);
}

TEST(Select, SYN_2_sending_to_a_closed_channel_keeps_the_item) {
    Channel<Box> channel(1);
    channel.close();
    Box item = std::make_unique<int>(3);
    auto sent = [](Result<void> outcome) { EXPECT_EQ(kind_of(outcome), ErrorKind::Closed); };
    EXPECT_EQ(select(on_send(channel, std::move(item), sent)), 0U);
    ASSERT_TRUE(item);
}

TEST(Select, SYN_2_close_wakes_a_waiting_select_on_either_end) {
    on_workers(1, [] {
        Channel<int> idle(0);
        Channel<Box> closing(0);
        Box item = std::make_unique<int>(1);
        auto closed = [](auto outcome) { EXPECT_EQ(kind_of(outcome), ErrorKind::Closed); };
        auto receiving =
            spawn([&] { return select(on_receive(idle, never), on_receive(closing, closed)); });
        settle();
        closing.close();
        EXPECT_EQ(receiving.join(), 1U);

        Channel<Box> closing_too(0);
        auto sending = spawn([&] {
            return select(on_send(closing_too, std::move(item), closed), on_receive(idle, never));
        });
        settle();
        closing_too.close();
        EXPECT_EQ(sending.join(), 0U);
        EXPECT_TRUE(item);
        EXPECT_EQ(kind_of(idle.try_send(1)), ErrorKind::Unavailable);
    });
}

TEST(Select, SYN_2_a_null_channel_is_never_chosen) {
    Channel<int> channel(1);
    Channel<int>* off = nullptr;
    ASSERT_TRUE(channel.send(1));
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(select(on_receive(off, never), on_send(off, 1, never), otherwise(ignore)), 2U);
    }
    EXPECT_EQ(select(on_receive(off, never), on_receive(&channel, ignore)), 1U);
    EXPECT_EQ(select(on_receive(off, never), on_timeout(kShort, ignore)), 1U);
}

// ---------------------------------------------------------------- items

TEST(Select, SYN_2_takes_from_the_ready_channel_of_another_type) {
    Channel<int> numbers(1);
    Channel<std::string> words(1);
    ASSERT_TRUE(words.send("word"));
    std::string got;
    EXPECT_EQ(select(on_receive(numbers, never),
                     on_receive(words, [&](Result<std::string> word) { got = *word; })),
              1U);
    EXPECT_EQ(got, "word");
}

TEST(Select, SYN_2_an_item_comes_to_a_waiting_select) {
    on_workers(1, [] {
        Channel<Box> first(0), second(1);
        for (Channel<Box>* used : {&first, &second}) {
            int got = 0;
            auto take = [&](Result<Box> item) { got = **item; };
            auto selecting =
                spawn([&] { return select(on_receive(first, take), on_receive(second, take)); });
            settle();
            EXPECT_TRUE(used->send(std::make_unique<int>(9)));
            EXPECT_EQ(selecting.join(), used == &first ? 0U : 1U);
            EXPECT_EQ(got, 9);
        }
        // The entry in the other channel is gone: no receiver takes this item.
        EXPECT_EQ(kind_of(first.try_send(std::make_unique<int>(1))), ErrorKind::Unavailable);
    });
}

TEST(Select, SYN_2_only_the_chosen_send_takes_its_item) {
    on_workers(1, [] {
        Channel<Box> first(0), second(0);
        Box a = std::make_unique<int>(1);
        Box b = std::make_unique<int>(2);
        auto selecting = spawn([&] {
            return select(on_send(first, std::move(a), never),
                          on_send(second, std::move(b), ignore));
        });
        settle();
        EXPECT_EQ(**second.receive(), 2);
        EXPECT_EQ(selecting.join(), 1U);
        EXPECT_TRUE(a);
        EXPECT_FALSE(b);
        EXPECT_EQ(kind_of(first.try_receive()), ErrorKind::Unavailable);
    });
}

TEST(Select, SYN_2_a_copy_is_sent_of_what_is_not_given_away) {
    Channel<std::string> channel(2);
    std::string item = "kept";
    EXPECT_TRUE(select(on_send(channel, item, ignore)));
    EXPECT_TRUE(select(on_send(channel, "converted", ignore)));
    EXPECT_EQ(item, "kept");
    EXPECT_EQ(*channel.receive(), "kept");
    EXPECT_EQ(*channel.receive(), "converted");
}

TEST(Select, SYN_2_sends_into_room_that_must_be_made_first) {
    auto channel = Channel<int>::unbounded();
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(select(on_send(channel, i, ignore)));
    for (int i = 0; i < 100; ++i) EXPECT_EQ(channel.receive(), i);
}

TEST(Select, SYN_2_two_selects_meet_at_a_rendezvous) {
    on_workers(1, [] {
        Channel<int> first(0), second(0);
        int got = 0;
        auto receiving = spawn([&] {
            return select(on_receive(first, [&](Result<int> item) { got = *item; }),
                          on_receive(second, [&](Result<int> item) { got = -*item; }));
        });
        settle();
        auto sending = select(on_send(second, 5, ignore), otherwise(never));
        EXPECT_EQ(sending, 0U);
        EXPECT_EQ(receiving.join(), 1U);
        EXPECT_EQ(got, -5);
    });
}

TEST(Select, SYN_2_a_select_does_not_meet_itself) {
    on_workers(1, [] {
        Channel<int> channel(0);
        EXPECT_EQ(select(on_send(channel, 1, never), on_receive(channel, never),
                         on_timeout(kShort, ignore)),
                  2U);
        EXPECT_EQ(kind_of(channel.try_receive()), ErrorKind::Unavailable);
    });
}

TEST(Select, SYN_2_one_channel_may_stand_in_several_cases) {
    on_workers(1, [] {
        Channel<int> channel(0);
        int got = 0;
        auto take = [&](Result<int> item) { got += *item; };
        auto selecting =
            spawn([&] { return select(on_receive(channel, take), on_receive(channel, take)); });
        settle();
        EXPECT_TRUE(channel.send(1));
        EXPECT_TRUE(selecting.join());
        EXPECT_EQ(got, 1);
        EXPECT_EQ(kind_of(channel.try_send(1)), ErrorKind::Unavailable);
    });
}

// ---------------------------------------------------------------- fairness

TEST(Select, SYN_2_chooses_among_ready_cases_with_equal_chance) {
    constexpr int rounds = 3000;
    Channel<int> first(1), second(1), empty(1);
    auto source = CancelSource::detached();
    source.cancel();
    std::array<int, 5> chosen{};
    for (int i = 0; i < rounds; ++i) {
        static_cast<void>(first.try_send(1));
        static_cast<void>(second.try_send(1));
        auto index = select(on_receive(first, ignore), on_receive(empty, never),
                            on_receive(second, ignore), on_cancel(source.token(), ignore),
                            on_timeout(Deadline::at(Instant::min()), ignore));
        ++chosen[index.value()];
    }
    EXPECT_EQ(chosen[1], 0);
    // Four ready cases: 750 each, and a deviation of 150 is more than six sigma.
    for (int index : {0, 2, 3, 4}) EXPECT_NEAR(chosen[static_cast<std::size_t>(index)], 750, 150);
}

// ---------------------------------------------------------------- handlers

TEST(Select, SYN_2_handlers_may_wait_select_again_and_close) {
    on_workers(1, [] {
        Channel<int> outer(1), inner(0);
        ASSERT_TRUE(outer.send(1));
        auto sender = spawn([&] { return inner.send(2); });
        int got = 0;
        auto take_inner = [&](Result<int> item) { got = *item; };
        EXPECT_EQ(select(on_receive(outer,
                                    [&](Result<int>) {
                                        EXPECT_TRUE(select(on_receive(inner, take_inner)));
                                        outer.close();
                                    })),
                  0U);
        EXPECT_EQ(got, 2);
        EXPECT_TRUE(outer.is_closed());
        EXPECT_TRUE(sender.join());
    });
}

TEST(Select, SYN_2_what_a_handler_throws_passes_through) {
    Channel<int> channel(1);
    ASSERT_TRUE(channel.send(1));
    auto fail = [](Result<int>) { throw std::runtime_error("handler"); };
    EXPECT_THROW(static_cast<void>(select(on_receive(channel, fail))), std::runtime_error);
    EXPECT_TRUE(channel.try_send(2));
}

// ---------------------------------------------------------------- threads

TEST(Select, SYN_2_threads_select_as_fibers_do) {
    Channel<int> first(0), second(0);
    Watched waits;
    std::thread thread([&] {
        waits.here();
        EXPECT_EQ(select(on_receive(first, never), on_receive(second, ignore)), 1U);
    });
    waits.await_waiting();
    EXPECT_TRUE(second.send(1));
    thread.join();
}

TEST(Select, SYN_2_opposite_orders_do_not_lock_each_other_out) {
    Channel<int> a(1), b(1), c(1);
    constexpr int rounds = 20'000;
    std::thread forward([&] {
        for (int i = 0; i < rounds; ++i)
            EXPECT_TRUE(select(on_send(a, i, ignore), on_receive(b, ignore), on_send(c, i, ignore),
                               otherwise(ignore)));
    });
    std::thread backward([&] {
        for (int i = 0; i < rounds; ++i)
            EXPECT_TRUE(select(on_receive(c, ignore), on_send(b, i, ignore), on_receive(a, ignore),
                               otherwise(ignore)));
    });
    forward.join();
    backward.join();
}

TEST(Select, SYN_2_channels_may_be_destroyed_as_soon_as_select_has_returned) {
    for (int round = 0; round < 300; ++round) {
        auto used = std::make_unique<Channel<int>>(0);
        auto unused = std::make_unique<Channel<int>>(0);
        std::thread sender([channel = used.get()] { EXPECT_TRUE(channel->send(1)); });
        EXPECT_TRUE(select(on_receive(*unused, never), on_receive(*used, ignore)));
        used.reset();
        unused.reset();
        sender.join();
    }
}

}  // namespace
}  // namespace weft
