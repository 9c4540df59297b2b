// A history of calls on channels, and the question whether it is linearizable: whether the calls
// can be put into one order, each at some moment between its beginning and its end, in which
// channels that serve one call after the other would have given the same results.
//
// The search is that of Wing and Gong, which remembers what it has tried: exponential in the worst
// case, quick for the short histories of tests. Items must be unique in a history.
//
// The specification: a channel of capacity n is a queue of at most n items. On a rendezvous (n = 0)
// a send and the receive of its item happen at the same moment; whether somebody waited there
// cannot be known from outside, so a refusal is always right, unless the channel is closed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <unordered_set>
#include <vector>

namespace weft::testing {

// Calls that changed nothing and claim nothing (timed out, cancelled) are not recorded.
struct Call {
    enum class Act : std::uint8_t {
        Send,           // `item` into `channel`
        Receive,        // `item` from `channel`
        SendClosed,     // `channel` was closed
        ReceiveClosed,  // `channel` was closed and drained
        Close,          // of `channel`
        Refuse,         // none of `refused` was possible: try_*, or select with otherwise
    };
    struct Case {
        Act act = Act::Receive;  // Send or Receive
        std::size_t channel = 0;
    };

    Act act = Act::Receive;
    std::size_t channel = 0;
    int item = 0;
    std::uint64_t began = 0;
    std::uint64_t ended = 0;
    std::vector<Case> refused = {};
};

inline Call call(Call::Act act, std::size_t channel, int item, std::uint64_t began,
                 std::uint64_t ended) {
    return Call{.act = act, .channel = channel, .item = item, .began = began, .ended = ended};
}
std::string to_string(const Call& call);

class ChannelHistory {
public:
    // The capacities of the channels; unbounded is SIZE_MAX.
    explicit ChannelHistory(std::vector<std::size_t> capacities)
        : capacities_(std::move(capacities)) {}

    void add(Call call) { calls_.push_back(std::move(call)); }
    std::size_t size() const { return calls_.size(); }

    // At most 64 calls.
    bool is_linearizable();
    std::string describe() const;

private:
    struct Queue {
        std::deque<int> items;
        bool closed = false;
    };
    using State = std::vector<Queue>;

    bool search(std::uint64_t done, const State& state);
    bool try_next(std::uint64_t done, const State& state, std::size_t index, std::uint64_t latest);
    bool apply(const Call& call, State& state) const;
    bool can_go_on(const Call::Case& one, const State& state) const;
    std::size_t partner_of(const Call& call) const;
    static std::string key(std::uint64_t done, const State& state);

    std::vector<std::size_t> capacities_;
    std::vector<Call> calls_;
    std::unordered_set<std::string> tried_;
};

inline bool ChannelHistory::is_linearizable() {
    tried_.clear();
    return search(0, State(capacities_.size()));
}

inline bool ChannelHistory::search(std::uint64_t done, const State& state) {
    if (done == (calls_.size() == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << calls_.size()) - 1))
        return true;
    if (!tried_.insert(key(done, state)).second) return false;
    // The next call in the order must have begun before any other remaining call has ended.
    std::uint64_t latest = std::numeric_limits<std::uint64_t>::max();
    for (std::size_t i = 0; i < calls_.size(); ++i) {
        if ((done >> i & 1) == 0 && calls_[i].ended < latest) latest = calls_[i].ended;
    }
    for (std::size_t i = 0; i < calls_.size(); ++i) {
        if (try_next(done, state, i, latest)) return true;
    }
    return false;
}

inline bool ChannelHistory::try_next(std::uint64_t done, const State& state, std::size_t index,
                                     std::uint64_t latest) {
    const Call& call = calls_[index];
    if ((done >> index & 1) != 0 || call.began > latest) return false;
    std::uint64_t then = done | std::uint64_t{1} << index;
    if (capacities_[call.channel] == 0 && call.act == Call::Act::Receive) {
        if (state[call.channel].closed) return false;
        std::size_t partner = partner_of(call);
        if (partner == calls_.size() || (done >> partner & 1) != 0) return false;
        if (calls_[partner].began > latest) return false;
        return search(then | std::uint64_t{1} << partner, state);
    }
    State next = state;
    return apply(call, next) && search(then, next);
}

inline std::size_t ChannelHistory::partner_of(const Call& call) const {
    for (std::size_t i = 0; i < calls_.size(); ++i) {
        const Call& other = calls_[i];
        if (other.act == Call::Act::Send && other.channel == call.channel &&
            other.item == call.item) {
            return i;
        }
    }
    return calls_.size();
}

inline bool ChannelHistory::apply(const Call& call, State& state) const {
    Queue& queue = state[call.channel];
    switch (call.act) {
    case Call::Act::Send:
        if (queue.closed || queue.items.size() >= capacities_[call.channel]) return false;
        queue.items.push_back(call.item);
        return true;
    case Call::Act::Receive:
        if (queue.items.empty() || queue.items.front() != call.item) return false;
        queue.items.pop_front();
        return true;
    case Call::Act::SendClosed: return queue.closed;
    case Call::Act::ReceiveClosed: return queue.closed && queue.items.empty();
    case Call::Act::Close: queue.closed = true; return true;
    case Call::Act::Refuse:
        for (const Call::Case& one : call.refused) {
            if (can_go_on(one, state)) return false;
        }
        return true;
    }
    return false;
}

inline bool ChannelHistory::can_go_on(const Call::Case& one, const State& state) const {
    const Queue& queue = state[one.channel];
    if (queue.closed) return true;
    if (one.act == Call::Act::Receive) return !queue.items.empty();
    return queue.items.size() < capacities_[one.channel];
}

inline std::string ChannelHistory::key(std::uint64_t done, const State& state) {
    std::string text = std::to_string(done);
    for (const Queue& queue : state) {
        text += queue.closed ? '|' : '/';
        for (int item : queue.items) text += std::to_string(item) + ',';
    }
    return text;
}

inline std::string to_string(const Call& call) {
    static constexpr const char* kNames[] = {"send",  "receive", "send: closed", "receive: closed",
                                             "close", "refused"};
    std::string text = std::to_string(call.began) + ".." + std::to_string(call.ended) + ' ' +
                       kNames[static_cast<unsigned>(call.act)];
    if (call.act == Call::Act::Refuse) {
        for (const Call::Case& one : call.refused)
            text +=
                (one.act == Call::Act::Send ? " send:" : " receive:") + std::to_string(one.channel);
        return text;
    }
    text += " channel " + std::to_string(call.channel);
    if (call.act <= Call::Act::Receive) text += " item " + std::to_string(call.item);
    return text;
}

inline std::string ChannelHistory::describe() const {
    std::string text = "capacities";
    for (std::size_t capacity : capacities_) text += ' ' + std::to_string(capacity);
    for (const Call& call : calls_) text += '\n' + to_string(call);
    return text;
}

}  // namespace weft::testing
