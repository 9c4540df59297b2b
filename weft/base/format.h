// Text from a format and values, as std::format will have it: format("{} of {}", done, all).
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

namespace weft {

namespace base_internal {
// An object: a call of a function would also look for std::format, which newer libraries have.
struct Format {
    template <class... Args>
    std::string operator()(fmt::format_string<Args...> text, Args&&... args) const {
        return fmt::format(text, std::forward<Args>(args)...);
    }
};
}  // namespace base_internal

inline constexpr base_internal::Format format;

}  // namespace weft
