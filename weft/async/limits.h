// The limits of this folder.
#pragma once

#include <cstddef>

namespace weft::async {

// Pending operations of one scope at a time; one more ends at once as Limit.
inline constexpr std::size_t kScopeOperationsMax = 65'536;

}  // namespace weft::async
