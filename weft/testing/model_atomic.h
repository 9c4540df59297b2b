// The atomics of the model checker. In WEFT_MODEL builds weft::Atomic is model::Atomic, the spin
// loops of env.h call spin_hint() and assertions call assertion_failed(); product code is compiled
// as it is. See model.h for how a test uses the checker. This header includes nothing of base/.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <source_location>
#include <string>
#include <type_traits>

#include "weft/testing/model_execution.h"

namespace weft::model {

// An atomic at each access to which the checker chooses what runs next and what a load reads.
// Outside of a check it is a plain value.
template <class T>
class Atomic {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));
    using Order = std::memory_order;
    using Where = std::source_location;

public:
    constexpr Atomic() noexcept : Atomic(T{}) {}
    explicit constexpr Atomic(T value) noexcept : value_(value) {
        if (std::is_constant_evaluated() || current_execution == nullptr) return;
        location_ = current_execution->create(bits(value));
        serial_ = Execution::serial();
    }
    Atomic(const Atomic&) = delete;
    Atomic& operator=(const Atomic&) = delete;
    constexpr ~Atomic() {
        if (std::is_constant_evaluated() || current_execution == nullptr) return;
        if (serial_ == Execution::serial()) current_execution->end(location_);
    }

    T load(Order order, Where where = Where::current()) const noexcept {
        if (current_execution == nullptr) return value_;
        return from_bits(current_execution->load(location(), order, where));
    }
    void store(T value, Order order, Where where = Where::current()) noexcept {
        if (current_execution == nullptr) {
            value_ = value;
        } else {
            current_execution->store(location(), bits(value), order, where);
        }
    }
    T exchange(T value, Order order, Where where = Where::current()) noexcept {
        return update([value](T) { return value; }, order, where);
    }
    T fetch_add(T value, Order order, Where where = Where::current()) noexcept {
        return update([value](T old) { return static_cast<T>(old + value); }, order, where);
    }
    T fetch_sub(T value, Order order, Where where = Where::current()) noexcept {
        return update([value](T old) { return static_cast<T>(old - value); }, order, where);
    }
    T fetch_or(T value, Order order, Where where = Where::current()) noexcept {
        return update([value](T old) { return static_cast<T>(old | value); }, order, where);
    }
    T fetch_and(T value, Order order, Where where = Where::current()) noexcept {
        return update([value](T old) { return static_cast<T>(old & value); }, order, where);
    }
    bool compare_exchange_strong(T& expected, T desired, Order success, Order failure,
                                 Where where = Where::current()) noexcept {
        return compare_exchange(expected, desired, success, failure, false, where);
    }
    bool compare_exchange_weak(T& expected, T desired, Order success, Order failure,
                               Where where = Where::current()) noexcept {
        return compare_exchange(expected, desired, success, failure, true, where);
    }

    // For name(), futex_wait() and futex_wake() of model.h, inside a check only.
    LocationIndex location() const noexcept {
        if (serial_ != Execution::serial()) {
            // Constructed before this execution, so it begins every execution with the same value.
            location_ = current_execution->create_before(bits(value_));
            serial_ = Execution::serial();
        }
        return location_;
    }
    static std::uint64_t bits(T value) noexcept {
        std::uint64_t word = 0;
        std::memcpy(&word, &value, sizeof value);
        return word;
    }

private:
    static T from_bits(std::uint64_t word) noexcept {
        T value;
        std::memcpy(&value, &word, sizeof value);
        return value;
    }

    template <class Function>
    T update(Function function, Order order, const Where& where) noexcept {
        if (current_execution == nullptr) {
            T before = value_;
            value_ = function(before);
            return before;
        }
        auto on_bits = [&](std::uint64_t word) { return bits(function(from_bits(word))); };
        return from_bits(current_execution->update(location(), on_bits, order, where));
    }

    bool compare_exchange(T& expected, T desired, Order success, Order failure, bool is_weak,
                          const Where& where) noexcept {
        if (current_execution == nullptr) {
            bool equal = bits(value_) == bits(expected);
            (equal ? value_ : expected) = equal ? desired : value_;
            return equal;
        }
        bool exchanged = false;
        std::uint64_t read = current_execution->compare_exchange(
            location(), {bits(expected), bits(desired), success, failure, is_weak}, exchanged,
            where);
        if (!exchanged) expected = from_bits(read);
        return exchanged;
    }

    T value_;
    mutable LocationIndex location_ = 0;
    mutable std::uint32_t serial_ = 0;
};

// Tells the checker that the loop around it cannot make progress before another thread has changed
// something that the loop has read. The thread waits until then; if that can no longer happen it is
// a deadlock.
inline void spin_hint(std::source_location where = std::source_location::current()) noexcept {
    if (current_execution != nullptr) current_execution->spin(where);
}

// WEFT_ASSERT of the code under test.
[[noreturn]] inline void assertion_failed(const char* condition, const char* text, const char* file,
                                          int line) noexcept {
    std::string report = std::string("assertion failed: ") + condition +
                         (*text != '\0' ? ": " : "") + text + " (" + file + ":" +
                         std::to_string(line) + ")";
    if (current_execution != nullptr) current_execution->fail(std::move(report));
    std::fprintf(stderr, "weft: %s\n", report.c_str());
    std::abort();
}

}  // namespace weft::model
