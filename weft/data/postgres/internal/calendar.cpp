#include "weft/data/postgres/internal/calendar.h"

#include <charconv>
#include <limits>

#include "weft/base/assert.h"

namespace weft::data::postgres {
namespace {

constexpr std::int64_t kDaysFrom1970To2000 = 10'957;
// The last year of PostgreSQL's instants.
constexpr std::int64_t kYearMax = 294'276;
constexpr std::size_t kYearDigitsMax = 6;

struct Day {
    std::int64_t year;
    unsigned month;
    unsigned day;
};

// day_of() and days_since_1970() use the proleptic Gregorian calendar, in eras of 400 years that
// begin in March.
Day day_of(std::int64_t days_since_1970) {
    std::int64_t shifted = days_since_1970 + 719'468;
    std::int64_t era = (shifted >= 0 ? shifted : shifted - 146'096) / 146'097;
    auto of_era = static_cast<unsigned>(shifted - era * 146'097);
    WEFT_DASSERT(of_era < 146'097, "an era has 146097 days");
    unsigned year_of_era = (of_era - of_era / 1'460 + of_era / 36'524 - of_era / 146'096) / 365;
    unsigned of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    unsigned from_march = (5 * of_year + 2) / 153;
    unsigned day = of_year - (153 * from_march + 2) / 5 + 1;
    unsigned month = from_march < 10 ? from_march + 3 : from_march - 9;
    WEFT_DASSERT(month >= 1 && month <= 12 && day >= 1 && day <= 31, "it is a day of the calendar");
    return {static_cast<std::int64_t>(year_of_era) + era * 400 + (month <= 2), month, day};
}

std::int64_t days_since_1970(const Day& day) {
    std::int64_t year = day.year - (day.month <= 2);
    std::int64_t era = (year >= 0 ? year : year - 399) / 400;
    auto year_of_era = static_cast<unsigned>(year - era * 400);
    unsigned from_march = day.month > 2 ? day.month - 3 : day.month + 9;
    unsigned of_year = (153 * from_march + 2) / 5 + day.day - 1;
    unsigned of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year;
    return era * 146'097 + static_cast<std::int64_t>(of_era) - 719'468;
}

void append_padded(std::string& text, std::uint64_t number, std::size_t width) {
    char digits[20];
    WEFT_DASSERT(width <= sizeof(digits), "the digits fit the buffer");
    std::size_t begin = sizeof(digits);
    for (; number > 0 || sizeof(digits) - begin < width; number /= 10)
        digits[--begin] = static_cast<char>('0' + number % 10);
    text.append(digits + begin, sizeof(digits) - begin);
}

// A number below 100.
void append_two(std::string& text, std::uint64_t number) {
    WEFT_DASSERT(number < 100, "the number has two digits");
    const char digits[] = {static_cast<char>('0' + number / 10),
                           static_cast<char>('0' + number % 10)};
    text.append(digits, sizeof(digits));
}

// Without the "BC" of years before 1, which comes last.
void append_date(std::string& text, const Day& day) {
    std::int64_t year = day.year > 0 ? day.year : 1 - day.year;
    append_padded(text, static_cast<std::uint64_t>(year), 4);
    text.push_back('-');
    append_two(text, day.month);
    text.push_back('-');
    append_two(text, day.day);
}

void append_time(std::string& text, std::int64_t microseconds) {
    auto seconds = static_cast<std::uint64_t>(microseconds / kMicrosecondsPerSecond);
    auto fraction = static_cast<std::uint64_t>(microseconds % kMicrosecondsPerSecond);
    append_two(text, seconds / 3'600);
    text.push_back(':');
    append_two(text, seconds / 60 % 60);
    text.push_back(':');
    append_two(text, seconds % 60);
    if (fraction == 0) return;
    text.push_back('.');
    append_padded(text, fraction, 6);
    while (text.ends_with('0')) text.pop_back();
}

// Removes a number of exactly this many digits from the front.
bool take_number(std::string_view& text, std::size_t digits, std::int64_t& number) {
    WEFT_DASSERT(digits > 0, "a number has digits");
    if (text.size() < digits) return false;
    const char* end = text.data() + digits;
    if (text[0] == '-' || std::from_chars(text.data(), end, number).ptr != end) return false;
    text.remove_prefix(digits);
    return true;
}

bool take(std::string_view& text, char c) {
    if (!text.starts_with(c)) return false;
    text.remove_prefix(1);
    return true;
}

bool take_fraction(std::string_view& text, std::int64_t& microseconds) {
    if (!take(text, '.')) return true;
    std::int64_t unit = kMicrosecondsPerSecond / 10;
    for (; !text.empty() && text[0] >= '0' && text[0] <= '9'; text.remove_prefix(1), unit /= 10)
        microseconds += (text[0] - '0') * unit;
    return true;
}

// "+02", "-03:30", "+00:19:32".
bool take_zone(std::string_view& text, std::int64_t& seconds) {
    if (text.empty() || (text[0] != '+' && text[0] != '-')) return false;
    std::int64_t sign = text[0] == '-' ? -1 : 1;
    text.remove_prefix(1);
    std::int64_t parts[3] = {};
    if (!take_number(text, 2, parts[0])) return false;
    for (std::size_t part = 1; part < 3 && take(text, ':'); ++part) {
        if (!take_number(text, 2, parts[part])) return false;
    }
    seconds = sign * (parts[0] * 3'600 + parts[1] * 60 + parts[2]);
    return text.empty();
}

}  // namespace

std::string date_text(std::int32_t days) {
    if (days == std::numeric_limits<std::int32_t>::max()) return "infinity";
    if (days == std::numeric_limits<std::int32_t>::min()) return "-infinity";
    std::string text;
    Day day = day_of(days + kDaysFrom1970To2000);
    append_date(text, day);
    if (day.year <= 0) text.append(" BC");
    return text;
}

std::string time_text(std::int64_t microseconds) {
    std::string text;
    append_time(text, microseconds);
    return text;
}

std::string timestamp_text(std::int64_t microseconds, std::string_view zone) {
    if (microseconds == std::numeric_limits<std::int64_t>::max()) return "infinity";
    if (microseconds == std::numeric_limits<std::int64_t>::min()) return "-infinity";
    std::int64_t days = microseconds / kMicrosecondsPerDay;
    std::int64_t rest = microseconds % kMicrosecondsPerDay;
    if (rest < 0) {
        --days;
        rest += kMicrosecondsPerDay;
    }
    WEFT_DASSERT(rest >= 0 && rest < kMicrosecondsPerDay, "it is a time of day");
    std::string text;
    text.reserve(32);  // one allocation for all but extreme years
    Day day = day_of(days + kDaysFrom1970To2000);
    append_date(text, day);
    text.push_back('T');
    append_time(text, rest);
    text.append(zone);
    if (day.year <= 0) text.append(" BC");
    return text;
}

std::optional<std::int64_t> parse_instant(std::string_view text) {
    Day day{};
    std::int64_t month = 0;
    std::int64_t of_month = 0;
    std::size_t year_digits = text.find('-');
    if (year_digits == std::string_view::npos || year_digits < 4 || year_digits > kYearDigitsMax)
        return std::nullopt;
    bool dated = take_number(text, year_digits, day.year) && take(text, '-') &&
                 take_number(text, 2, month) && take(text, '-') && take_number(text, 2, of_month) &&
                 take(text, ' ');
    std::int64_t hour = 0;
    std::int64_t minute = 0;
    std::int64_t second = 0;
    std::int64_t fraction = 0;
    std::int64_t zone = 0;
    bool timed = dated && take_number(text, 2, hour) && take(text, ':') &&
                 take_number(text, 2, minute) && take(text, ':') && take_number(text, 2, second) &&
                 take_fraction(text, fraction) && take_zone(text, zone);
    // Within these bounds the microseconds fit 64 bits in any zone.
    bool is_possible = day.year <= kYearMax && month >= 1 && month <= 12 && of_month >= 1 &&
                       of_month <= 31 && hour <= 24 && minute < 60 && second <= 60;
    if (!timed || !is_possible) return std::nullopt;
    day.month = static_cast<unsigned>(month);
    day.day = static_cast<unsigned>(of_month);
    std::int64_t days = days_since_1970(day) - kDaysFrom1970To2000;
    std::int64_t seconds = hour * 3'600 + minute * 60 + second - zone;
    return days * kMicrosecondsPerDay + seconds * kMicrosecondsPerSecond + fraction;
}

}  // namespace weft::data::postgres
