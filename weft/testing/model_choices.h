// The choices of an execution, and the depth-first walk over all of them: an execution repeats the
// recorded choices and then takes the first option of every further one; advance() moves the last
// choice that has an untried option to that option. Used by model_execution.h alone.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "weft/testing/model_memory.h"

namespace weft::model {

// A set of threads.
class ThreadSet {
public:
    constexpr ThreadSet() noexcept = default;
    static constexpr ThreadSet of(ThreadIndex thread) noexcept {
        return ThreadSet(static_cast<std::uint8_t>(1U << thread));
    }

    constexpr bool empty() const noexcept { return bits_ == 0; }
    constexpr int size() const noexcept { return std::popcount(bits_); }
    constexpr bool contains(ThreadIndex thread) const noexcept {
        return (bits_ >> thread & 1) != 0;
    }
    constexpr ThreadIndex first() const noexcept {
        return static_cast<ThreadIndex>(std::countr_zero(bits_));
    }

    constexpr void insert(ThreadIndex thread) noexcept { bits_ |= of(thread).bits_; }
    constexpr void erase(ThreadIndex thread) noexcept {
        bits_ &= static_cast<std::uint8_t>(~of(thread).bits_);
    }
    friend constexpr ThreadSet operator|(ThreadSet a, ThreadSet b) noexcept {
        return ThreadSet(a.bits_ | b.bits_);
    }
    friend constexpr ThreadSet operator-(ThreadSet a, ThreadSet b) noexcept {
        return ThreadSet(a.bits_ & static_cast<std::uint8_t>(~b.bits_));
    }
    friend constexpr bool operator==(ThreadSet, ThreadSet) noexcept = default;

private:
    explicit constexpr ThreadSet(int bits) noexcept : bits_(static_cast<std::uint8_t>(bits)) {}

    static_assert(kThreadsMax <= 8);
    std::uint8_t bits_ = 0;
};

class Choices {
public:
    struct Thread {
        ThreadIndex taken;
        ThreadSet explored;  // those whose choice at this place has been explored completely
    };

    void begin_execution() noexcept { depth_ = 0; }

    // True if the program did not repeat itself: it depends on something other than these choices.
    bool has_diverged() const noexcept { return diverged_; }

    // `preferred` comes first when it is a candidate.
    Thread choose_thread(ThreadSet candidates, ThreadIndex preferred) {
        if (depth_ == recorded_.size()) {
            ThreadIndex first = candidates.contains(preferred) ? preferred : candidates.first();
            recorded_.push_back(Choice{.candidates = candidates, .taken = first});
        }
        Choice& choice = recorded_[depth_++];
        if (choice.candidates != candidates) {
            diverged_ = true;
            return Thread{candidates.first(), ThreadSet()};
        }
        return Thread{static_cast<ThreadIndex>(choice.taken), choice.explored};
    }

    // Gives one of 0 .. options - 1.
    std::uint32_t choose_value(std::uint32_t options) {
        if (depth_ == recorded_.size()) recorded_.push_back(Choice{.options = options});
        Choice& choice = recorded_[depth_++];
        if (choice.options != options) {
            diverged_ = true;
            return 0;
        }
        return choice.taken;
    }

    // False when everything has been explored.
    bool advance() {
        while (!recorded_.empty()) {
            if (recorded_.back().advance()) return true;
            recorded_.pop_back();
        }
        return false;
    }

private:
    struct Choice {
        std::uint32_t options = 0;  // of a value; 0 when a thread is chosen
        ThreadSet candidates = {};  // of a thread
        ThreadSet explored = {};
        std::uint32_t taken = 0;

        bool advance() noexcept {
            if (options != 0) return ++taken < options;
            explored.insert(static_cast<ThreadIndex>(taken));
            ThreadSet left = candidates - explored;
            if (left.empty()) return false;
            taken = left.first();
            return true;
        }
    };

    std::vector<Choice> recorded_;
    std::size_t depth_ = 0;
    bool diverged_ = false;
};

}  // namespace weft::model
