// Random short histories of calls on channels, made by fibers and threads at the same time, each
// checked against the specification (internal/channel_history.h).
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
#include "weft/sync/internal/channel_history.h"
#include "weft/sync/select.h"

namespace weft {
namespace {

using sync_internal::Call;
using sync_internal::ChannelHistory;
using Act = Call::Act;

// ---------------------------------------------------------------- the checker itself

Call call(Act act, std::size_t channel, int item, std::uint64_t began, std::uint64_t ended) {
    return Call{.act = act, .channel = channel, .item = item, .began = began, .ended = ended};
}
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

class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15U + 1) {}
    std::size_t below(std::size_t limit) {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return (state_ >> 11) % limit;
    }

private:
    std::uint64_t state_;
};

// What a round works on. The last call of player 0 closes the channels, and its other calls do not
// wait without end; so everybody comes to an end.
struct Round {
    std::unique_ptr<Channel<int>> channels[2];
    std::vector<std::size_t> capacities;
    Atomic<std::uint64_t> clock{0};

    explicit Round(Random& random) {
        for (auto& channel : channels) {
            std::size_t capacity = random.below(4);
            bool bounded = capacity != 3;
            channel.reset(bounded ? new Channel<int>(capacity)
                                  : new Channel<int>(Channel<int>::unbounded()));
            capacities.push_back(bounded ? capacity : SIZE_MAX);
        }
    }
    std::uint64_t tick() { return clock.fetch_add(1, std::memory_order_seq_cst); }
};

class Player {
public:
    Player(std::size_t index, bool selects) : index_(index), selects_(selects) {}

    void play(Round& round, std::uint64_t seed) {
        calls_.clear();
        round_ = &round;
        random_ = Random(seed * 16 + index_);
        next_item_ = static_cast<int>(index_ * 100);
        for (int i = 0; i < 4; ++i) {
            if (selects_ && random_.below(2) == 0) {
                select_once();
            } else if (random_.below(2) == 0) {
                send_once();
            } else {
                receive_once();
            }
        }
        if (index_ != 0) return;
        for (std::size_t channel : {0U, 1U}) {
            Call made = begin(Act::Close, channel);
            round.channels[channel]->close();
            end(std::move(made));
        }
    }
    const std::vector<Call>& calls() const { return calls_; }

private:
    enum class Patience : std::uint8_t { None, Some, Endless };

    Patience patience() {
        auto chosen = static_cast<Patience>(random_.below(index_ == 0 ? 2 : 3));
        return chosen;
    }
    std::chrono::nanoseconds short_time() {
        return std::chrono::nanoseconds(random_.below(20'000));
    }
    Call begin(Act act, std::size_t channel, int item = 0) {
        return call(act, channel, item, round_->tick(), 0);
    }
    void end(Call made) {
        made.ended = round_->tick();
        calls_.push_back(std::move(made));
    }
    // Gives the call the act that its error means; false if it changed nothing.
    static bool explain(Call& made, const Error& error) {
        if (error.kind() == ErrorKind::Closed) {
            made.act = made.act == Act::Send ? Act::SendClosed : Act::ReceiveClosed;
            return true;
        }
        if (error.kind() != ErrorKind::Unavailable) return false;
        made.refused = {{made.act, made.channel}};
        made.act = Act::Refuse;
        return true;
    }

    void send_once() {
        Call made = begin(Act::Send, random_.below(2), next_item_++);
        Channel<int>& channel = *round_->channels[made.channel];
        Result<void> sent;
        switch (patience()) {
        case Patience::None: sent = channel.try_send(made.item); break;
        case Patience::Some: sent = channel.send_for(made.item, short_time()); break;
        case Patience::Endless: sent = channel.send(made.item); break;
        }
        if (sent || explain(made, sent.error())) end(std::move(made));
    }

    void receive_once() {
        Call made = begin(Act::Receive, random_.below(2));
        Channel<int>& channel = *round_->channels[made.channel];
        Result<int> item(0);
        switch (patience()) {
        case Patience::None: item = channel.try_receive(); break;
        case Patience::Some: item = channel.receive_for(short_time()); break;
        case Patience::Endless: item = channel.receive(); break;
        }
        if (item) made.item = *item;
        if (item || explain(made, item.error())) end(std::move(made));
    }

    // Two cases, each a send or a receive, and an end to the waiting.
    void select_once() {
        std::size_t first = random_.below(2);
        std::size_t second = random_.below(2);
        Call made = begin(Act::Refuse, 0, next_item_++);
        bool changed = false;
        auto sent = [&](std::size_t index) {
            return [&, index](Result<void> outcome) {
                made.act = outcome ? Act::Send : Act::SendClosed;
                made.channel = index;
                changed = true;
            };
        };
        auto received = [&](std::size_t index) {
            return [&, index](Result<int> item) {
                made.act = item ? Act::Receive : Act::ReceiveClosed;
                made.channel = index;
                if (item) made.item = *item;
                changed = true;
            };
        };
        auto refused = [&] {
            made.refused = {{random_bit_ ? Act::Send : Act::Receive, first},
                            {random_other_ ? Act::Send : Act::Receive, second}};
            changed = true;
        };
        random_bit_ = random_.below(2) == 0;
        random_other_ = random_.below(2) == 0;
        Channel<int>* in[2] = {random_bit_ ? nullptr : round_->channels[first].get(),
                               random_other_ ? nullptr : round_->channels[second].get()};
        Channel<int>* out[2] = {random_bit_ ? round_->channels[first].get() : nullptr,
                                random_other_ ? round_->channels[second].get() : nullptr};
        int item = made.item;
        Result<std::size_t> chosen(0);
        switch (patience()) {
        case Patience::None:
            chosen = select(on_send(out[0], item, sent(first)), on_receive(in[0], received(first)),
                            on_send(out[1], item, sent(second)),
                            on_receive(in[1], received(second)), otherwise(refused));
            break;
        case Patience::Some:
            chosen = select(on_send(out[0], item, sent(first)), on_receive(in[0], received(first)),
                            on_send(out[1], item, sent(second)),
                            on_receive(in[1], received(second)), on_timeout(short_time(), [] {}));
            break;
        case Patience::Endless:
            chosen =
                select(on_send(out[0], item, sent(first)), on_receive(in[0], received(first)),
                       on_send(out[1], item, sent(second)), on_receive(in[1], received(second)));
            break;
        }
        EXPECT_TRUE(chosen);
        if (changed) end(std::move(made));
    }

    const std::size_t index_;
    const bool selects_;
    bool random_bit_ = false;
    bool random_other_ = false;
    int next_item_ = 0;
    Round* round_ = nullptr;
    Random random_{0};
    std::vector<Call> calls_;
};

// What is left in the channels after everybody has ended: a lost item shows here.
void drain(Round& round, ChannelHistory& history) {
    for (std::size_t index : {0U, 1U}) {
        for (;;) {
            Call made = call(Act::Receive, index, 0, round.tick(), 0);
            Result<int> item = round.channels[index]->try_receive();
            ASSERT_TRUE(item || item.error().kind() == ErrorKind::Closed);
            if (item) made.item = *item;
            if (!item) made.act = Act::ReceiveClosed;
            made.ended = round.tick();
            history.add(made);
            if (!item) break;
        }
    }
}

// Two threads and two fibers play; the test's own thread sets the rounds and checks them.
void play_rounds(int rounds, bool selects) {
    constexpr std::size_t players_count = 4;
    std::vector<std::unique_ptr<Player>> players;
    for (std::size_t i = 0; i < players_count; ++i)
        players.push_back(std::make_unique<Player>(i, selects));
    Barrier begin(players_count + 1), end(players_count + 1);
    std::unique_ptr<Round> round;
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
        Random random(static_cast<std::uint64_t>(i) + 1);
        round = std::make_unique<Round>(random);
        ASSERT_TRUE(begin.arrive_and_wait());
        ASSERT_TRUE(end.arrive_and_wait());
        ChannelHistory history(round->capacities);
        for (auto& player : players) {
            for (const Call& one : player->calls()) history.add(one);
        }
        drain(*round, history);
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
