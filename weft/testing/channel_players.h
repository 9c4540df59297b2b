// Players that make random calls on two channels and record them for ChannelHistory.
//
// The test decides where they run: on fibers or threads, on the real machine or a simulated one.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "weft/base/assert.h"
#include "weft/base/atomic.h"
#include "weft/base/result.h"
#include "weft/sync/channel.h"
#include "weft/sync/select.h"
#include "weft/testing/channel_history.h"

namespace weft::testing {

// Each player has its own generator, so that the schedule does not change the calls.
class PlayerRandom {
public:
    explicit PlayerRandom(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15U + 1) {}
    std::size_t below(std::size_t limit) {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return (state_ >> 11) % limit;
    }

private:
    std::uint64_t state_;
};

// The channels of a round. The last calls of player 0 close the channels, and its other calls do
// not wait without a deadline; so every player ends.
struct ChannelRound {
    std::unique_ptr<Channel<int>> channels[2];
    std::vector<std::size_t> capacities;
    Atomic<std::uint64_t> clock{0};

    explicit ChannelRound(PlayerRandom& random) {
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

class ChannelPlayer {
public:
    ChannelPlayer(std::size_t index, bool selects) : index_(index), selects_(selects) {}

    void play(ChannelRound& round, std::uint64_t seed) {
        calls_.clear();
        round_ = &round;
        random_ = PlayerRandom(seed * 16 + index_);
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
            Call made = begin(Call::Act::Close, channel);
            round.channels[channel]->close();
            end(std::move(made));
        }
    }
    const std::vector<Call>& calls() const { return calls_; }

private:
    enum class WaitMode : std::uint8_t { Try, Timed, Endless };

    WaitMode wait_mode() {
        auto chosen = static_cast<WaitMode>(random_.below(index_ == 0 ? 2 : 3));
        return chosen;
    }
    std::chrono::nanoseconds short_time() {
        return std::chrono::nanoseconds(random_.below(20'000));
    }
    Call begin(Call::Act act, std::size_t channel, int item = 0) {
        return call(act, channel, item, round_->tick(), 0);
    }
    void end(Call made) {
        made.ended = round_->tick();
        calls_.push_back(std::move(made));
    }
    // Gives the call the act that its error means; false if it changed nothing.
    static bool explain(Call& made, const Error& error) {
        if (error.kind() == ErrorKind::Closed) {
            made.act =
                made.act == Call::Act::Send ? Call::Act::SendClosed : Call::Act::ReceiveClosed;
            return true;
        }
        if (error.kind() != ErrorKind::Unavailable) return false;
        made.refused = {{made.act, made.channel}};
        made.act = Call::Act::Refuse;
        return true;
    }

    void send_once() {
        Call made = begin(Call::Act::Send, random_.below(2), next_item_++);
        Channel<int>& channel = *round_->channels[made.channel];
        Result<void> sent;
        switch (wait_mode()) {
        case WaitMode::Try: sent = channel.try_send(made.item); break;
        case WaitMode::Timed: sent = channel.send_for(made.item, short_time()); break;
        case WaitMode::Endless: sent = channel.send(made.item); break;
        }
        if (sent || explain(made, sent.error())) end(std::move(made));
    }

    void receive_once() {
        Call made = begin(Call::Act::Receive, random_.below(2));
        Channel<int>& channel = *round_->channels[made.channel];
        Result<int> item(0);
        switch (wait_mode()) {
        case WaitMode::Try: item = channel.try_receive(); break;
        case WaitMode::Timed: item = channel.receive_for(short_time()); break;
        case WaitMode::Endless: item = channel.receive(); break;
        }
        if (item) made.item = *item;
        if (item || explain(made, item.error())) end(std::move(made));
    }

    // A select with two cases, each a send or a receive, and perhaps a limit to the waiting.
    void select_once() {
        std::size_t first = random_.below(2);
        std::size_t second = random_.below(2);
        Call made = begin(Call::Act::Refuse, 0, next_item_++);
        bool changed = false;
        auto sent = [&](std::size_t index) {
            return [&, index](Result<void> outcome) {
                made.act = outcome ? Call::Act::Send : Call::Act::SendClosed;
                made.channel = index;
                changed = true;
            };
        };
        auto received = [&](std::size_t index) {
            return [&, index](Result<int> item) {
                made.act = item ? Call::Act::Receive : Call::Act::ReceiveClosed;
                made.channel = index;
                if (item) made.item = *item;
                changed = true;
            };
        };
        auto refused = [&] {
            made.refused = {{random_bit_ ? Call::Act::Send : Call::Act::Receive, first},
                            {random_other_ ? Call::Act::Send : Call::Act::Receive, second}};
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
        switch (wait_mode()) {
        case WaitMode::Try:
            chosen = select(on_send(out[0], item, sent(first)), on_receive(in[0], received(first)),
                            on_send(out[1], item, sent(second)),
                            on_receive(in[1], received(second)), otherwise(refused));
            break;
        case WaitMode::Timed:
            chosen = select(on_send(out[0], item, sent(first)), on_receive(in[0], received(first)),
                            on_send(out[1], item, sent(second)),
                            on_receive(in[1], received(second)), on_timeout(short_time(), [] {}));
            break;
        case WaitMode::Endless:
            chosen =
                select(on_send(out[0], item, sent(first)), on_receive(in[0], received(first)),
                       on_send(out[1], item, sent(second)), on_receive(in[1], received(second)));
            break;
        }
        WEFT_ASSERT(chosen.has_value(), "nobody cancels these selects");
        if (changed) end(std::move(made));
    }

    const std::size_t index_;
    const bool selects_;
    bool random_bit_ = false;
    bool random_other_ = false;
    int next_item_ = 0;
    ChannelRound* round_ = nullptr;
    PlayerRandom random_{0};
    std::vector<Call> calls_;
};

// Receives what is left in the channels after all players have ended: a lost item shows here.
inline void drain(ChannelRound& round, ChannelHistory& history) {
    for (std::size_t index : {0U, 1U}) {
        for (;;) {
            Call made = call(Call::Act::Receive, index, 0, round.tick(), 0);
            Result<int> item = round.channels[index]->try_receive();
            WEFT_ASSERT(item || item.error().kind() == ErrorKind::Closed, "they are closed");
            if (item) made.item = *item;
            if (!item) made.act = Call::Act::ReceiveClosed;
            made.ended = round.tick();
            history.add(made);
            if (!item) break;
        }
    }
}

}  // namespace weft::testing
