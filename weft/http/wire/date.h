// HTTP-date (RFC 9110 §5.6.7). Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weft::http::wire {

struct DateText {
    std::array<char, 29> text;
    std::string_view view() const { return {text.data(), text.size()}; }
};
// "Sun, 06 Nov 1994 08:49:37 GMT" of seconds since 1970.
DateText format_date(std::int64_t unix_seconds);
// Parses all three forms; nothing for anything else. `now` resolves years of two digits.
std::optional<std::int64_t> parse_date(std::string_view text, std::int64_t now_unix_seconds);

}  // namespace weft::http::wire
