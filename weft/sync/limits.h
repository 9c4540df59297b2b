// The limits of this folder.
#pragma once

#include <cstdint>

namespace weft {

// Items in a channel, also in an unbounded one: a send beyond it fails with Limit.
inline constexpr std::uint32_t kChannelItemsMax = 1U << 30;

// An unbounded channel begins with so many slots, and gives back more than this when it runs dry.
inline constexpr std::uint32_t kChannelSlotsMin = 16;
inline constexpr std::uint32_t kChannelSlotsKept = 1024;

// Cases of one select.
inline constexpr unsigned kSelectCasesMax = 32;

// How often a woken waiter may find the mutex taken by a newcomer before it is handed over.
inline constexpr unsigned kMutexLossesMax = 3;

}  // namespace weft
