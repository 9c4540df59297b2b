#include "weft/http/wire/set_cookie.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "weft/base/assert.h"
#include "weft/http/headers.h"
#include "weft/http/wire/characters.h"

namespace weft::http::wire {
namespace {

// The digits at the beginning, if they are `least` to `most` and no digit follows.
std::optional<int> read_number(std::string_view& text, std::size_t least, std::size_t most) {
    WEFT_DASSERT(least <= most && most <= 8, "the number fits");
    std::size_t count = 0;
    int number = 0;
    while (count < text.size() && is_digit(text[count]) && count <= most) {
        number = number * 10 + (text[count] - '0');
        ++count;
    }
    if (count < least || count > most) return {};
    text.remove_prefix(count);
    return number;
}

struct TimeOfDay {
    int hour, minute, second;
};

std::optional<TimeOfDay> parse_time(std::string_view token) {
    std::optional<int> hour = read_number(token, 1, 2);
    if (!hour || !token.starts_with(':')) return {};
    token.remove_prefix(1);
    std::optional<int> minute = read_number(token, 1, 2);
    if (!minute || !token.starts_with(':')) return {};
    token.remove_prefix(1);
    std::optional<int> second = read_number(token, 1, 2);
    if (!second) return {};
    return TimeOfDay{*hour, *minute, *second};
}

std::optional<unsigned> parse_month(std::string_view token) {
    constexpr std::array<std::string_view, 12> kMonths = {"jan", "feb", "mar", "apr", "may", "jun",
                                                          "jul", "aug", "sep", "oct", "nov", "dec"};
    for (unsigned i = 0; i < kMonths.size(); ++i) {
        if (equal_without_case(token.substr(0, 3), kMonths[i])) return i + 1;
    }
    return {};
}

// RFC 6265bis §5.1.1, delimiter.
bool is_date_delimiter(char c) {
    auto byte = static_cast<unsigned char>(c);
    return byte == 0x09 || (byte >= 0x20 && byte <= 0x2f) || (byte >= 0x3b && byte <= 0x40) ||
           (byte >= 0x5b && byte <= 0x60) || (byte >= 0x7b && byte <= 0x7e);
}

struct DateParts {
    std::optional<TimeOfDay> time;
    std::optional<int> day;
    std::optional<unsigned> month;
    std::optional<int> year;

    // A token is the first of time, day, month and year that is still missing and that it can be.
    void take(std::string_view token) {
        if (!time && (time = parse_time(token))) return;
        std::string_view rest = token;
        if (!day && (day = read_number(rest, 1, 2))) return;
        if (!month && (month = parse_month(token))) return;
        rest = token;
        if (!year) year = read_number(rest, 2, 4);
    }
};

std::optional<std::int64_t> parse_max_age(std::string_view text) {
    bool negative = text.starts_with('-');
    std::string_view digits = text.substr(negative ? 1 : 0);
    if (digits.empty() || !std::ranges::all_of(digits, is_digit)) return {};
    constexpr std::int64_t kEnough = 100'000'000'000;  // three thousand years
    std::int64_t seconds = 0;
    for (char digit : digits) seconds = std::min(seconds * 10 + (digit - '0'), kEnough);
    return negative ? -seconds : seconds;
}

std::string in_lower_case(std::string_view text) {
    std::string lower(text);
    std::ranges::transform(lower, lower.begin(), to_lower);
    return lower;
}

void take_attribute(SetCookie& cookie, std::string_view attribute) {
    std::size_t equals = std::min(attribute.find('='), attribute.size());
    std::string_view name = trim_blanks(attribute.substr(0, equals));
    std::string_view value;
    if (equals < attribute.size()) value = trim_blanks(attribute.substr(equals + 1));
    if (value.size() > kCookieAttributeBytesMax) return;
    if (equal_without_case(name, "expires")) {
        if (auto date = parse_cookie_date(value)) cookie.expires = date;
    } else if (equal_without_case(name, "max-age")) {
        if (auto age = parse_max_age(value)) cookie.max_age = age;
    } else if (equal_without_case(name, "domain")) {
        cookie.domain = in_lower_case(value.substr(value.starts_with('.') ? 1 : 0));
    } else if (equal_without_case(name, "path")) {
        cookie.path = value.starts_with('/') ? value : std::string_view();
    } else if (equal_without_case(name, "secure")) {
        cookie.secure = true;
    } else if (equal_without_case(name, "httponly")) {
        cookie.http_only = true;
    }
}

}  // namespace

std::optional<std::int64_t> parse_cookie_date(std::string_view text) {
    DateParts parts;
    while (!text.empty()) {
        auto end = std::ranges::find_if(text, is_date_delimiter);
        std::string_view token(text.begin(), end);
        text.remove_prefix(std::min(token.size() + 1, text.size()));
        if (!token.empty()) parts.take(token);
    }
    if (!parts.time || !parts.day || !parts.month || !parts.year) return {};
    int year = *parts.year;
    if (year >= 70 && year <= 99) year += 1900;
    if (year >= 0 && year <= 69) year += 2000;
    const TimeOfDay& time = *parts.time;
    namespace chrono = std::chrono;
    chrono::year_month_day date{chrono::year(year), chrono::month(*parts.month),
                                chrono::day(static_cast<unsigned>(*parts.day))};
    bool valid =
        date.ok() && year >= 1601 && time.hour <= 23 && time.minute <= 59 && time.second <= 59;
    if (!valid) return {};
    auto days = chrono::sys_days(date).time_since_epoch();
    return (days + chrono::hours(time.hour) + chrono::minutes(time.minute) +
            chrono::seconds(time.second)) /
           chrono::seconds(1);
}

std::optional<SetCookie> parse_set_cookie(std::string_view field) {
    if (!is_field_value(field)) return {};
    std::size_t semicolon = std::min(field.find(';'), field.size());
    std::string_view pair = field.substr(0, semicolon);
    std::size_t equals = pair.find('=');
    SetCookie cookie;
    if (equals != pair.npos) cookie.name = trim_blanks(pair.substr(0, equals));
    cookie.value = trim_blanks(equals == pair.npos ? pair : pair.substr(equals + 1));
    if (cookie.name.empty() && cookie.value.empty()) return {};
    if (cookie.name.size() + cookie.value.size() > kCookieBytesMax) return {};
    for (std::string_view rest = field.substr(semicolon); !rest.empty();) {
        rest.remove_prefix(1);
        std::string_view attribute = rest.substr(0, rest.find(';'));
        rest.remove_prefix(attribute.size());
        take_attribute(cookie, attribute);
    }
    return cookie;
}

}  // namespace weft::http::wire
