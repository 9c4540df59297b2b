// The limits of this folder.
#pragma once

#include <cstddef>

namespace weft::async {

// Pending operations of one scope at a time; another one fails at once with Limit.
inline constexpr std::size_t kScopeOperationsMax = 65'536;

}  // namespace weft::async
