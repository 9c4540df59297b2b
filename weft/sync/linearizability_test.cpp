// Random short histories of calls on channels, made by fibers and threads at the same time, each
// checked against the specification (testing/channel_history.h).
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"
#include "weft/sync/barrier.h"
#include "weft/sync/channel.h"
#include "weft/testing/channel_history.h"
#include "weft/testing/channel_players.h"

namespace weft {
namespace {

using testing::Call;
using testing::call;
using testing::ChannelHistory;
using testing::ChannelPlayer;
using testing::ChannelRound;
using testing::PlayerRandom;
using Act = Call::Act;

// ---------------------------------------------------------------- the checker itself

Call refusal(std::vector<Call::Case> cases, std::uint64_t began, std::uint64_t ended) {
    Call made = call(Act::Refuse, 0, 0, began, ended);
    made.refused = std::move(cases);
    return made;
}
bool holds(std::vector<std::size_t> capacities, std::vector<Call> calls) {
    ChannelHistory history(std::move(capacities));
    for (Call& one : calls) history.add(std::move(one));
    return history.is_linearizable();
}

TEST(ChannelHistory, accepts_a_queue) {
    EXPECT_TRUE(holds({2}, {call(Act::Send, 0, 1, 1, 2), call(Act::Send, 0, 2, 3, 4),
                            call(Act::Receive, 0, 1, 5, 6), call(Act::Receive, 0, 2, 7, 8)}));
}

TEST(ChannelHistory, refuses_an_item_that_was_received_twice) {
    EXPECT_FALSE(holds({2}, {call(Act::Send, 0, 1, 1, 2), call(Act::Receive, 0, 1, 3, 6),
                             call(Act::Receive, 0, 1, 4, 5)}));
}

TEST(ChannelHistory, refuses_an_item_that_was_lost) {
    EXPECT_FALSE(holds({2}, {call(Act::Send, 0, 1, 1, 2), call(Act::Close, 0, 0, 3, 4),
                             call(Act::ReceiveClosed, 0, 0, 5, 6)}));
}

TEST(ChannelHistory, refuses_a_wrong_order_but_not_that_of_concurrent_sends) {
    auto received = [](std::uint64_t second_began) {
        return std::vector<Call>{call(Act::Send, 0, 1, 1, 5),
                                 call(Act::Send, 0, 2, second_began, 7),
                                 call(Act::Receive, 0, 2, 8, 9), call(Act::Receive, 0, 1, 10, 11)};
    };
    EXPECT_FALSE(holds({2}, received(6)));
    EXPECT_TRUE(holds({2}, received(4)));
}

TEST(ChannelHistory, refuses_more_items_than_there_is_room_for) {
    EXPECT_FALSE(holds({1}, {call(Act::Send, 0, 1, 1, 2), call(Act::Send, 0, 2, 3, 4),
                             call(Act::Receive, 0, 1, 5, 6)}));
}

TEST(ChannelHistory, a_rendezvous_has_both_at_the_same_moment) {
    EXPECT_TRUE(holds({0}, {call(Act::Send, 0, 1, 1, 4), call(Act::Receive, 0, 1, 2, 3)}));
    EXPECT_FALSE(holds({0}, {call(Act::Send, 0, 1, 1, 2), call(Act::Receive, 0, 1, 3, 4)}));
    EXPECT_FALSE(holds({0}, {call(Act::Close, 0, 0, 1, 2), call(Act::Send, 0, 1, 3, 6),
                             call(Act::Receive, 0, 1, 4, 5)}));
}

TEST(ChannelHistory, refuses_a_refusal_while_a_case_could_go_on) {
    EXPECT_FALSE(holds({1}, {refusal({{Act::Send, 0}}, 1, 2)}));
    EXPECT_TRUE(holds({1}, {refusal({{Act::Receive, 0}}, 1, 2)}));
    // An item was moved from one channel to the other: at no moment were both empty.
    EXPECT_FALSE(holds({1, 2}, {call(Act::Send, 0, 1, 1, 2), call(Act::Send, 1, 2, 3, 4),
                                call(Act::Receive, 0, 1, 5, 8),
                                refusal({{Act::Receive, 0}, {Act::Receive, 1}}, 6, 7)}));
}

// ---------------------------------------------------------------- the channels

// Two threads and two fibers make the calls; the test's own thread starts and checks each round.
void play_rounds(int rounds, bool selects) {
    constexpr std::size_t players_count = 4;
    std::vector<std::unique_ptr<ChannelPlayer>> players;
    for (std::size_t i = 0; i < players_count; ++i)
        players.push_back(std::make_unique<ChannelPlayer>(i, selects));
    Barrier begin(players_count + 1), end(players_count + 1);
    std::unique_ptr<ChannelRound> round;
    auto take_part = [&](std::size_t index) {
        for (int i = 0; i < rounds; ++i) {
            ASSERT_TRUE(begin.arrive_and_wait());
            players[index]->play(*round, static_cast<std::uint64_t>(i));
            ASSERT_TRUE(end.arrive_and_wait());
        }
    };
    Runtime runtime(RuntimeOptions{.workers = 2});
    std::vector<Future<void>> fibers;
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < players_count; ++i) {
        if (i % 2 == 0) {
            fibers.push_back(runtime.spawn([&, i] { take_part(i); }));
        } else {
            threads.emplace_back([&, i] { take_part(i); });
        }
    }
    std::size_t calls = 0;
    for (int i = 0; i < rounds; ++i) {
        PlayerRandom random(static_cast<std::uint64_t>(i) + 1);
        round = std::make_unique<ChannelRound>(random);
        ASSERT_TRUE(begin.arrive_and_wait());
        ASSERT_TRUE(end.arrive_and_wait());
        ChannelHistory history(round->capacities);
        for (auto& player : players) {
            for (const Call& one : player->calls()) history.add(one);
        }
        testing::drain(*round, history);
        calls += history.size();
        EXPECT_TRUE(history.is_linearizable()) << "seed " << i << '\n' << history.describe();
    }
    for (auto& fiber : fibers) EXPECT_TRUE(fiber.join());
    for (auto& thread : threads) thread.join();
    EXPECT_GT(calls, static_cast<std::size_t>(rounds));
}

TEST(Linearizability, SYN_1_channels_behave_as_if_called_one_after_the_other) {
    play_rounds(3000, false);
}

TEST(Linearizability, SYN_2_selects_behave_as_if_called_one_after_the_other) {
    play_rounds(3000, true);
}

}  // namespace
}  // namespace weft
