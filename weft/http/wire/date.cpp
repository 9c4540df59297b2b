#include "weft/http/wire/date.h"

#include <algorithm>
#include <chrono>

#include "weft/base/assert.h"
#include "weft/http/wire/characters.h"

namespace weft::http::wire {
namespace {

constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
constexpr std::string_view kDays = "SunMonTueWedThuFriSat";
constexpr std::array<std::string_view, 7> kLongDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                       "Thursday", "Friday", "Saturday"};
constexpr std::int64_t kDaySeconds = 86400;
// Year 0 and the end of year 9999: what four digits can say.
constexpr std::int64_t kEarliest = -62167219200;
constexpr std::int64_t kLatest = 253402300799;

void put_two(char* out, unsigned value) {
    WEFT_DASSERT(value < 100);
    out[0] = static_cast<char>('0' + value / 10);
    out[1] = static_cast<char>('0' + value % 10);
}

// Reads a text from its beginning. After the first mismatch every call fails.
class Reader {
public:
    explicit Reader(std::string_view text) : rest_(text) {}

    void literal(std::string_view text) {
        if (!rest_.starts_with(text)) return fail();
        rest_.remove_prefix(text.size());
    }
    int number(std::size_t digits) {
        if (rest_.size() < digits) return fail(), 0;
        int value = 0;
        for (char c : rest_.substr(0, digits)) {
            if (!is_digit(c)) return fail(), 0;
            value = value * 10 + (c - '0');
        }
        rest_.remove_prefix(digits);
        return value;
    }
    // Counted from 0, out of names of three letters each.
    int name(std::string_view names) {
        for (std::size_t at = 0; at < names.size() && rest_.size() >= 3; at += 3) {
            if (rest_.substr(0, 3) != names.substr(at, 3)) continue;
            rest_.remove_prefix(3);
            return static_cast<int>(at / 3);
        }
        return fail(), 0;
    }
    bool starts_with(std::string_view text) const { return rest_.starts_with(text); }
    bool is_at_end() const { return ok_ && rest_.empty(); }

private:
    void fail() {
        ok_ = false;
        rest_ = {};
    }

    std::string_view rest_;
    bool ok_ = true;
};

struct Fields {
    int year = 0;
    int month = 0;  // from 0
    int day = 0;
    int hour = 0;
    int minute = 0;
    int second = 0;
};

void read_clock(Reader& reader, Fields& fields) {
    fields.hour = reader.number(2);
    reader.literal(":");
    fields.minute = reader.number(2);
    reader.literal(":");
    fields.second = reader.number(2);
}

std::optional<std::int64_t> to_seconds(const Fields& fields) {
    using namespace std::chrono;
    year_month_day date(year(fields.year), month(static_cast<unsigned>(fields.month) + 1),
                        day(static_cast<unsigned>(fields.day)));
    // A second of 60 is a leap second.
    if (!date.ok() || fields.hour > 23 || fields.minute > 59 || fields.second > 60) {
        return std::nullopt;
    }
    return sys_days(date).time_since_epoch().count() * kDaySeconds + fields.hour * 3600 +
           fields.minute * 60 + fields.second;
}

int year_of(std::int64_t unix_seconds) {
    using namespace std::chrono;
    auto days = floor<std::chrono::days>(sys_seconds(seconds(unix_seconds)));
    return static_cast<int>(year_month_day(days).year());
}

// Sun, 06 Nov 1994 08:49:37 GMT
std::optional<Fields> read_fixed(Reader reader) {
    Fields fields;
    reader.name(kDays);
    reader.literal(", ");
    fields.day = reader.number(2);
    reader.literal(" ");
    fields.month = reader.name(kMonths);
    reader.literal(" ");
    fields.year = reader.number(4);
    reader.literal(" ");
    read_clock(reader, fields);
    reader.literal(" GMT");
    if (!reader.is_at_end()) return std::nullopt;
    return fields;
}

// Sunday, 06-Nov-94 08:49:37 GMT
std::optional<Fields> read_rfc850(Reader reader, std::int64_t now) {
    Fields fields;
    auto day = std::ranges::find_if(
        kLongDays, [&](std::string_view name) { return reader.starts_with(name); });
    if (day == kLongDays.end()) return std::nullopt;
    reader.literal(*day);
    reader.literal(", ");
    fields.day = reader.number(2);
    reader.literal("-");
    fields.month = reader.name(kMonths);
    reader.literal("-");
    int this_year = year_of(now);
    fields.year = this_year - this_year % 100 + reader.number(2);
    // RFC 9110 §5.6.7: more than 50 years in the future MUST mean the past.
    if (fields.year > this_year + 50) fields.year -= 100;
    reader.literal(" ");
    read_clock(reader, fields);
    reader.literal(" GMT");
    if (!reader.is_at_end()) return std::nullopt;
    return fields;
}

// Sun Nov  6 08:49:37 1994
std::optional<Fields> read_asctime(Reader reader) {
    Fields fields;
    reader.name(kDays);
    reader.literal(" ");
    fields.month = reader.name(kMonths);
    reader.literal(" ");
    bool has_one_digit = reader.starts_with(" ");
    if (has_one_digit) reader.literal(" ");
    fields.day = reader.number(has_one_digit ? 1 : 2);
    reader.literal(" ");
    read_clock(reader, fields);
    reader.literal(" ");
    fields.year = reader.number(4);
    if (!reader.is_at_end()) return std::nullopt;
    return fields;
}

}  // namespace

DateText format_date(std::int64_t unix_seconds) {
    using namespace std::chrono;
    sys_seconds time(seconds(std::clamp(unix_seconds, kEarliest, kLatest)));
    sys_days day = floor<days>(time);
    year_month_day date(day);
    auto second = static_cast<unsigned>((time - day).count());
    auto year = static_cast<unsigned>(static_cast<int>(date.year()));
    DateText result;
    char* out = result.text.data();
    std::ranges::copy(std::string_view("Sun, 06 Nov 1994 08:49:37 GMT"), out);
    std::ranges::copy(kDays.substr(weekday(day).c_encoding() * 3, 3), out);
    put_two(out + 5, static_cast<unsigned>(date.day()));
    std::ranges::copy(kMonths.substr((static_cast<unsigned>(date.month()) - 1) * 3, 3), out + 8);
    put_two(out + 12, year / 100);
    put_two(out + 14, year % 100);
    put_two(out + 17, second / 3600);
    put_two(out + 20, second / 60 % 60);
    put_two(out + 23, second % 60);
    return result;
}

std::optional<std::int64_t> parse_date(std::string_view text, std::int64_t now_unix_seconds) {
    Reader reader(text);
    std::optional<Fields> fields = read_fixed(reader);
    if (!fields) fields = read_rfc850(reader, now_unix_seconds);
    if (!fields) fields = read_asctime(reader);
    if (!fields) return std::nullopt;
    return to_seconds(*fields);
}

}  // namespace weft::http::wire
