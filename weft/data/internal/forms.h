// Syntax checks for texts that represent values: dates, decimal numbers, JSON, UTF-8. Any thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace weft::data::forms {

inline constexpr std::size_t kDateLength = 10;  // of YYYY-MM-DD

enum class Zone { None, Utc, Offset };  // "", "Z", "+02:00"

bool is_decimal(std::string_view text);  // -12, 1.5, .5, 1e-7
bool is_uuid(std::string_view text);     // 8-4-4-4-12 hexadecimal digits
bool is_date(std::string_view text);     // an existing day of the years 0001 to 9999
bool is_time(std::string_view text);     // up to 23:59:59, fraction of up to nine digits
// Date and time with a T or a blank between them.
bool is_date_time(std::string_view text, Zone zone);
bool is_json(std::string_view text);  // RFC 8259, nested no deeper than kJsonDepthMax
bool is_utf8(std::string_view text);

inline constexpr int kJsonDepthMax = 512;

}  // namespace weft::data::forms
