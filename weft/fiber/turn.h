// Turn: every operation of a primitive (a lock, a send, a read from a buffer, a spawn) calls one of
// the functions here. They keep two promises, at the cost of one branch that is predicted rightly:
//
//   - An operation that may wait, but never has to, uses up the turn of its fiber. After a bounded
//     number of operations the fiber goes behind those that are ready, and the worker reads its
//     clock, fires timers and polls descriptors. The number shrinks where operations take long, and
//     a large item counts as several.
//   - In a simulated machine every operation is a step, at which the seed may let another thread go
//     on; and, if the operation may wait, another fiber of the same thread. So in every build.
//
// An operation that never waits (unlock, try_send, release, set) never gives up the turn: it may be
// called where nothing may wait, as in a callback or under a std::mutex.
//
// Called with no lock of the runtime held. Any thread; on a plain thread and in a worker's own loop
// the calls have no effect, except for the step of a simulation.
#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>

#include "weft/base/env.h"

namespace weft {

extern "C" {
// How many operations are left of the turn of the fiber that runs on this thread. On a thread of a
// simulated machine it is 1, so that each operation ends the turn.
extern constinit thread_local int weft_turn_left  // tidy: allow thread_local: the budget
    __attribute__((tls_model("initial-exec")));
}

namespace turn {

// The slow paths of may_wait() and step().
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

// The cost of an operation that passes an item of this size; a plain operation costs 1.
constexpr int cost_of(std::size_t item_bytes) {
    constexpr std::size_t bytes_for_one = 1024;
    constexpr std::size_t most = 64;
    std::size_t cost = 1 + item_bytes / bytes_for_one;
    return static_cast<int>(cost < most ? cost : most);
}

// For an operation that may wait: called before it begins, or when it has ended without a wait; not
// between the construction of a Waiter and its wait(). True if the turn was over, and other fibers
// have run. `operation` is a literal.
[[gnu::always_inline]] inline bool may_wait(const char* operation, const void* object,
                                            int cost = 1) {
    if (spend(cost)) [[unlikely]]
        return end(operation, object);
    return false;
}

// In a simulation the story of a run shows the items that operations pass, if they are short: a
// number, an enumerator, a word.
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

// For an operation that never waits.
[[gnu::always_inline]] inline void step(const char* operation, const void* object) {
    if (env::current()) [[unlikely]]
        step_of(operation, object);
}

}  // namespace turn
}  // namespace weft
