// Checks whether the results that several fibers got could have come from calls that were served
// one after the other.
//
// Fibers call something at the same time and note each call with what it gave. The history is
// linearizable if the calls can be put into one order, each at some moment between its beginning
// and its end, in which a plain model would have given the same answers.
//
//     struct Call { bool is_write; int value; };             // a call, and what it gave
//     History<int, Call> history(0, [](int& state, const Call& call) {
//         if (call.is_write) state = call.value;
//         return call.is_write || state == call.value;       // could it have given that?
//     });
//     auto began = history.begin();
//     int value = register_under_test.read();
//     history.end(began, {false, value});
//     sim::require(history.is_linearizable(), "a read gave what was never there");
//
// State is a copyable value with operator==. The search is that of Wing and Gong, which remembers
// what it has tried: exponential in the worst case, quick for the short histories of tests.
// begin(), end() and end_unknown(): any fiber and any thread; the others when all calls have ended.
#pragma once

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "weft/base/assert.h"
#include "weft/base/spin_lock.h"

namespace weft::sim {

template <class State, class Call>
class History {
public:
    static constexpr std::size_t kCallsMax = 256;
    // Changes the state as the call does; false if the call cannot have given what it gave.
    using Apply = std::function<bool(State& state, const Call& call)>;

    History(State initial, Apply apply) : initial_(std::move(initial)), apply_(std::move(apply)) {}

    // The moment at which a call begins.
    std::uint64_t begin() {
        SpinGuard guard(lock_);
        return ++clock_;
    }
    void end(std::uint64_t began, Call call) {
        SpinGuard guard(lock_);
        add({std::move(call), began, ++clock_, true});
    }
    // For a call whose outcome is unknown (it timed out, its connection broke): it may have taken
    // effect at any moment since it began, or not at all.
    void end_unknown(std::uint64_t began, Call call) {
        SpinGuard guard(lock_);
        add({std::move(call), began, std::numeric_limits<std::uint64_t>::max(), false});
    }

    std::size_t size() const { return entries_.size(); }
    bool is_linearizable() const {
        Search search{*this, {}};
        return search.go_on({}, initial_);
    }
    // A line for each call, in the order of their ends.
    std::string describe(const std::function<std::string(const Call&)>& to_string) const;

private:
    struct Entry {
        Call call;
        std::uint64_t began;
        std::uint64_t ended;
        bool is_certain;
    };
    using Done = std::bitset<kCallsMax>;
    struct Search {
        const History& history;
        std::unordered_map<Done, std::vector<State>> tried;

        bool go_on(const Done& done, const State& state);
        bool is_new(const Done& done, const State& state);
    };

    void add(Entry entry) {
        WEFT_ASSERT(entries_.size() < kCallsMax, "a history has at most 256 calls");
        entries_.push_back(std::move(entry));
    }

    const State initial_;
    const Apply apply_;
    SpinLock lock_;
    std::uint64_t clock_ = 0;
    std::vector<Entry> entries_;
};

template <class State, class Call>
bool History<State, Call>::Search::is_new(const Done& done, const State& state) {
    std::vector<State>& states = tried[done];
    if (std::find(states.begin(), states.end(), state) != states.end()) return false;
    states.push_back(state);
    return true;
}

template <class State, class Call>
bool History<State, Call>::Search::go_on(const Done& done, const State& state) {
    const std::vector<Entry>& entries = history.entries_;
    // The next call in the order must have begun before any other remaining call has ended.
    std::uint64_t first_end = std::numeric_limits<std::uint64_t>::max();
    bool is_complete = true;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        if (done[i]) continue;
        is_complete = is_complete && !entries[i].is_certain;
        first_end = std::min(first_end, entries[i].ended);
    }
    if (is_complete) return true;
    if (!is_new(done, state)) return false;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        if (done[i] || entries[i].began > first_end) continue;
        State next = state;
        Done then = done;
        then.set(i);
        if (history.apply_(next, entries[i].call) && go_on(then, next)) return true;
    }
    return false;
}

template <class State, class Call>
std::string History<State, Call>::describe(
    const std::function<std::string(const Call&)>& to_string) const {
    std::string text;
    for (const Entry& entry : entries_) {
        text += std::to_string(entry.began) + "..";
        text += entry.is_certain ? std::to_string(entry.ended) : "?";
        text += " " + to_string(entry.call) + "\n";
    }
    return text;
}

}  // namespace weft::sim
