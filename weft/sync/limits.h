// The limits of this folder.
#pragma once

#include <cstdint>

namespace weft {

// Items in a channel, also in an unbounded one: a send beyond this number fails with Limit.
inline constexpr std::uint32_t kChannelItemsMax = 1U << 30;

// An unbounded channel starts with kChannelSlotsMin slots. When it is empty and has more than
// kChannelSlotsKept, it frees them.
inline constexpr std::uint32_t kChannelSlotsMin = 16;
inline constexpr std::uint32_t kChannelSlotsKept = 1024;
static_assert(kChannelItemsMax % kChannelSlotsMin == 0, "doubling the slots reaches the limit");
static_assert(kChannelItemsMax <= 1U << 31, "a ring has a power of two of slots, in 32 bits");

// Cases of one select.
inline constexpr unsigned kSelectCasesMax = 32;

// How often a woken waiter may find the mutex taken by a newcomer; then the mutex is handed over to
// it.
inline constexpr unsigned kMutexLossesMax = 3;

}  // namespace weft
