// What every operation of a primitive (a lock, a send, a read from a buffer, a spawn) tells the
// scheduler. It keeps two promises with one branch that is predicted rightly:
//
//   - An operation that may wait, but finds each time what it came for, uses up the turn of its
//     fiber. After a bounded number of them the fiber goes behind those that are ready, and the
//     worker looks at its clock, timers and descriptors. The number shrinks where operations take
//     long, and a large item counts for many.
//   - In a simulated machine every operation is a step, at which the seed may let another thread go
//     on, or at one that may wait another fiber of the same thread. So in every build.
//
// An operation that never waits (unlock, try_send, release, set) never gives up the turn: it may be
// called where nothing may wait, as in a callback or under a std::mutex.
//
// Called with no lock of the runtime held. Anywhere: on a plain thread and in a worker's own loop
// nothing follows from it, but for the step.
#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>

#include "weft/base/env.h"

namespace weft {

extern "C" {
// What is left of the turn of the fiber that runs on this thread. In a thread that plays a
// simulated machine it is 1, so that each operation is the last.
extern constinit thread_local int weft_turn_left  // tidy: allow thread_local: the budget
    __attribute__((tls_model("initial-exec")));
}

namespace turn {

// The rare ends of the two below.
[[gnu::noinline, gnu::cold]] bool end(const char* operation, const void* object);
[[gnu::noinline, gnu::cold]] void step_of(const char* operation, const void* object);

// True when the turn is used up. As with this_worker(), no address may be kept over a switch.
#if defined(__x86_64__) && !defined(__ILP32__)
[[gnu::always_inline]] inline bool spend(int cost) {
    bool used_up;
    void* offset;
    asm volatile(
        "movq weft_turn_left@gottpoff(%%rip), %1\n\t"
        "subl %2, %%fs:(%1)"
        : "=@ccle"(used_up), "=&r"(offset)
        : "ri"(cost));
    return used_up;
}
#else
bool spend(int cost);
#endif

// What passing an item of this size takes, beside the operation itself.
constexpr int cost_of(std::size_t item_bytes) {
    constexpr std::size_t bytes_for_one = 1024;
    constexpr std::size_t most = 64;
    std::size_t cost = 1 + item_bytes / bytes_for_one;
    return static_cast<int>(cost < most ? cost : most);
}

// An operation that may wait: before it begins, or when it has ended without a wait; not between
// the making of a Waiter and its wait(). True if the turn was over, and others have had theirs.
// `operation` is a literal.
[[gnu::always_inline]] inline bool may_wait(const char* operation, const void* object,
                                            int cost = 1) {
    if (spend(cost)) [[unlikely]]
        return end(operation, object);
    return false;
}

// What an operation passes on is told to whoever reads of it, if it is short: a number, an
// enumerator, a word.
template <class T>
inline constexpr bool kTellable =
    std::is_integral_v<T> || std::is_enum_v<T> || std::is_convertible_v<const T&, std::string_view>;
void keep_value(long long value);
void keep_value(std::string_view value);
template <class Item>
[[gnu::noinline, gnu::cold]] bool end_with(const char* operation, const void* object,
                                           const Item& item) {
    if (Env* simulated = env::current(); simulated && simulated->wants_values()) {
        if constexpr (std::is_convertible_v<const Item&, std::string_view>) {
            keep_value(std::string_view(item));
        } else {
            keep_value(static_cast<long long>(item));
        }
    }
    return end(operation, object);
}
// may_wait() with the item that was passed; null if there was none.
template <class Item>
[[gnu::always_inline]] inline bool passed(const char* operation, const void* object,
                                          const Item* item) {
    if (!spend(cost_of(sizeof(Item)))) [[likely]]
        return false;
    if constexpr (kTellable<Item>) {
        if (item) return end_with(operation, object, *item);
    }
    return end(operation, object);
}

// An operation that never waits.
[[gnu::always_inline]] inline void step(const char* operation, const void* object) {
    if (env::current()) [[unlikely]]
        step_of(operation, object);
}

}  // namespace turn
}  // namespace weft
