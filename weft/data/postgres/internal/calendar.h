// Converts between text and PostgreSQL's days and times, which count from 1 January 2000. Any
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::data::postgres {

inline constexpr std::int64_t kMicrosecondsPerSecond = 1'000'000;
inline constexpr std::int64_t kMicrosecondsPerDay = 86'400 * kMicrosecondsPerSecond;

// "2026-11-18"; "0044-03-15 BC" for dates before the year 1, as PostgreSQL writes them.
std::string date_text(std::int32_t days);
// "23:59:59.5": a time of day, up to 24:00:00.
std::string time_text(std::int64_t microseconds);
// "2026-11-18T23:59:59.5" followed by `zone`; the extreme values are "infinity" and "-infinity".
std::string timestamp_text(std::int64_t microseconds, std::string_view zone);

// Parses a point in time in PostgreSQL's ISO style, "2026-11-18 23:59:59.5+02", to microseconds.
// Empty for any other text.
std::optional<std::int64_t> parse_instant(std::string_view text);

}  // namespace weft::data::postgres
