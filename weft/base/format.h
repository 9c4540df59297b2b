// format: makes a std::string as std::format does: format("{} of {}", done, all). Any thread.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

namespace weft {

namespace base_internal {
// A function object, because an unqualified call of a function would by argument-dependent lookup
// also find std::format, which newer standard libraries have.
struct Format {
    template <class... Args>
    std::string operator()(fmt::format_string<Args...> text, Args&&... args) const {
        return fmt::format(text, std::forward<Args>(args)...);
    }
};
}  // namespace base_internal

inline constexpr base_internal::Format format;

}  // namespace weft
