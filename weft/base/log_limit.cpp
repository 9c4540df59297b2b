#include "weft/base/log_limit.h"

#include <functional>
#include <utility>

namespace weft {

std::optional<std::uint64_t> LogLimit::admit(std::string_view cause, Instant now) {
    std::size_t index = std::hash<std::string_view>()(cause) % kCauses;
    SpinGuard guard(lock_);
    Cause& known = causes_[index];
    if (known.lines == 0 || now - known.window_begun >= kWindow) {
        known.window_begun = now;
        known.lines = 0;
    }
    if (known.lines == kLines) {
        ++known.left_out;
        return {};
    }
    ++known.lines;
    return std::exchange(known.left_out, 0);
}

}  // namespace weft
