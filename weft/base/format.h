// Text from a format and values, as std::format will have it: format("{} of {}", done, all).
#pragma once

#include <fmt/format.h>

namespace weft {

using fmt::format;

}  // namespace weft
