// Days and times as PostgreSQL counts them, from the first of January 2000, and as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::data::postgres {

inline constexpr std::int64_t kMicrosecondsPerSecond = 1'000'000;
inline constexpr std::int64_t kMicrosecondsPerDay = 86'400 * kMicrosecondsPerSecond;

// "2026-11-18"; "0044-03-15 BC" for what was before the year 1, as PostgreSQL writes it.
std::string date_text(std::int32_t days);
// "23:59:59.5": of a day, up to 24:00:00.
std::string time_text(std::int64_t microseconds);
// "2026-11-18T23:59:59.5", and `zone` after it; "infinity" and "-infinity" stand for themselves.
std::string timestamp_text(std::int64_t microseconds, std::string_view zone);

// A point in time as PostgreSQL writes it in its ISO style, "2026-11-18 23:59:59.5+02", in
// microseconds. Nothing for any other text.
std::optional<std::int64_t> parse_instant(std::string_view text);

}  // namespace weft::data::postgres
