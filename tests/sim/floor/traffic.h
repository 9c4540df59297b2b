// Items under way, and the book that says what became of each of them.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "tests/sim/floor/crew.h"
#include "weft/sync/channel.h"

namespace weft::sim::scenarios {

// Moves only; what was moved away is nothing.
class Item {
public:
    Item(int sender, int number) : sender_(sender), number_(number) {}
    Item(Item&& other) noexcept
        : sender_(std::exchange(other.sender_, kNothing)), number_(other.number_) {}
    Item& operator=(Item&& other) noexcept {
        sender_ = std::exchange(other.sender_, kNothing);
        number_ = other.number_;
        return *this;
    }

    int sender() const { return sender_; }
    int number() const { return number_; }
    bool is_nothing() const { return sender_ == kNothing; }

private:
    static constexpr int kNothing = -1;

    int sender_;
    int number_;
};

// Every item that was sent is received once, every other one stays with its sender.
class Ledger {
public:
    Ledger(int senders, int items) : items_(items), states_(index(senders, 0), State::New) {}

    // After a send of `item`, which was that of `sender` with `number`.
    void sent(int sender, int number, const Item& item) {
        State& state = states_[index(sender, number)];
        require(item.is_nothing(), "an item was sent and is still there");
        require(state == State::New || state == State::Received, "an item was sent twice");
        state = state == State::New ? State::Sent : State::Arrived;
    }
    void kept(int sender, int number, const Item& item) {
        require(!item.is_nothing(), "a send failed and took the item");
        require(item.sender() == sender && item.number() == number, "a send changed the item");
        require(states_[index(sender, number)] == State::New, "a failed send was received");
    }
    // The receiver may be faster than the sender is with its entry.
    void received(const Item& item) {
        require(!item.is_nothing(), "nothing was received");
        State& state = states_[index(item.sender(), item.number())];
        require(state == State::New || state == State::Sent, "an item was received twice");
        state = state == State::New ? State::Received : State::Arrived;
    }
    void check() const {
        for (State state : states_) {
            require(state != State::Sent, "an item was lost");
            require(state != State::Received, "an item was received that was not sent");
        }
    }

private:
    enum class State : unsigned char { New, Sent, Received, Arrived };

    std::size_t index(int sender, int number) const {
        return static_cast<std::size_t>(sender) * static_cast<std::size_t>(items_) +
               static_cast<std::size_t>(number);
    }

    int items_;
    std::vector<State> states_;
};

// The items of a sender come in their order, to each receiver.
class Order {
public:
    explicit Order(int senders) : last_(static_cast<std::size_t>(senders), -1) {}
    void next(const Item& item) {
        int& last = last_[static_cast<std::size_t>(item.sender())];
        require(item.number() > last, "two items of a sender changed places");
        last = item.number();
    }

private:
    std::vector<int> last_;
};

// A rendezvous, small, or unbounded.
inline std::unique_ptr<Channel<Item>> some_channel() {
    std::size_t capacity = random_below(5);
    if (capacity < 4) return std::make_unique<Channel<Item>>(capacity);
    return std::unique_ptr<Channel<Item>>(new Channel<Item>(Channel<Item>::unbounded()));
}

}  // namespace weft::sim::scenarios
