#include "weft/data/internal/forms.h"

#include <algorithm>
#include <cstdint>

#include "weft/base/assert.h"

namespace weft::data::forms {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hexadecimal(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// Removes leading digits; returns how many there were.
std::size_t skip_digits(std::string_view& text) {
    std::size_t count = 0;
    while (count < text.size() && is_digit(text[count])) ++count;
    text.remove_prefix(count);
    return count;
}

// Two digits, or -1.
int two_digits(std::string_view text, std::size_t at) {
    if (at + 2 > text.size() || !is_digit(text[at]) || !is_digit(text[at + 1])) return -1;
    return (text[at] - '0') * 10 + (text[at + 1] - '0');
}

int days_of(int year, int month) {
    WEFT_DASSERT(month >= 1 && month <= 12, "the caller has checked the month");
    constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 && is_leap ? 29 : kDays[month - 1];
}

// Checks JSON without building values.
class JsonReader {
public:
    explicit JsonReader(std::string_view text) : rest_(text) {}

    bool whole() {
        if (!value(0)) return false;
        skip_blanks();
        return rest_.empty();
    }

private:
    void skip_blanks() {
        std::size_t at = rest_.find_first_not_of(" \t\r\n");
        rest_.remove_prefix(std::min(at, rest_.size()));
    }
    bool take(char c) {
        if (!rest_.starts_with(c)) return false;
        rest_.remove_prefix(1);
        return true;
    }
    bool take(std::string_view word) {
        if (!rest_.starts_with(word)) return false;
        rest_.remove_prefix(word.size());
        return true;
    }
    bool value(int depth) {
        if (depth > kJsonDepthMax) return false;
        skip_blanks();
        if (rest_.empty()) return false;
        switch (rest_.front()) {
        case '{': return members(depth);
        case '[': return elements(depth);
        case '"': return string();
        case 't': return take("true");
        case 'f': return take("false");
        case 'n': return take("null");
        default: return number();
        }
    }
    bool members(int depth) {
        take('{');
        skip_blanks();
        if (take('}')) return true;
        do {
            skip_blanks();
            if (!string()) return false;
            skip_blanks();
            if (!take(':') || !value(depth + 1)) return false;
            skip_blanks();
        } while (take(','));
        return take('}');
    }
    bool elements(int depth) {
        take('[');
        skip_blanks();
        if (take(']')) return true;
        do {
            if (!value(depth + 1)) return false;
            skip_blanks();
        } while (take(','));
        return take(']');
    }
    bool string() {
        if (!take('"')) return false;
        while (!rest_.empty()) {
            char c = rest_.front();
            rest_.remove_prefix(1);
            if (c == '"') return true;
            if (static_cast<unsigned char>(c) < 0x20) return false;
            if (c == '\\' && !escape()) return false;
        }
        return false;
    }
    bool escape() {
        if (rest_.empty()) return false;
        char c = rest_.front();
        rest_.remove_prefix(1);
        if (c != 'u') return std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos;
        if (rest_.size() < 4 || !std::all_of(rest_.begin(), rest_.begin() + 4, is_hexadecimal))
            return false;
        rest_.remove_prefix(4);
        return true;
    }
    bool number() {
        take('-');
        bool zero = take('0');
        if (!zero && skip_digits(rest_) == 0) return false;
        if (take('.') && skip_digits(rest_) == 0) return false;
        if (!rest_.starts_with('e') && !rest_.starts_with('E')) return true;
        rest_.remove_prefix(1);
        if (!take('+')) take('-');
        return skip_digits(rest_) > 0;
    }

    std::string_view rest_;
};

// The length of the UTF-8 sequence at the beginning, by table 3-7 of the Unicode standard; 0 if it
// is malformed. The text is not empty.
std::size_t sequence_length(std::string_view text) {
    WEFT_DASSERT(!text.empty(), "a sequence has a first byte");
    auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    auto follows = [&](std::size_t at, unsigned low = 0x80, unsigned high = 0xbf) {
        return at < text.size() && byte(at) >= low && byte(at) <= high;
    };
    unsigned first = byte(0);
    if (first < 0x80) return 1;
    if (first >= 0xc2 && first <= 0xdf) return follows(1) ? 2 : 0;
    if (first >= 0xe0 && first <= 0xef) {
        unsigned low = first == 0xe0 ? 0xa0 : 0x80;
        unsigned high = first == 0xed ? 0x9f : 0xbf;
        return follows(1, low, high) && follows(2) ? 3 : 0;
    }
    if (first < 0xf0 || first > 0xf4) return 0;
    unsigned low = first == 0xf0 ? 0x90 : 0x80;
    unsigned high = first == 0xf4 ? 0x8f : 0xbf;
    return follows(1, low, high) && follows(2) && follows(3) ? 4 : 0;
}

}  // namespace

bool is_decimal(std::string_view text) {
    if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
    std::size_t digits = skip_digits(text);
    if (text.starts_with('.')) {
        text.remove_prefix(1);
        digits += skip_digits(text);
    }
    if (digits == 0) return false;
    if (text.starts_with('e') || text.starts_with('E')) {
        text.remove_prefix(1);
        if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
        if (skip_digits(text) == 0) return false;
    }
    return text.empty();
}

bool is_uuid(std::string_view text) {
    if (text.size() != 36) return false;
    for (std::size_t at = 0; at < text.size(); ++at) {
        bool is_dash = at == 8 || at == 13 || at == 18 || at == 23;
        if (is_dash ? text[at] != '-' : !is_hexadecimal(text[at])) return false;
    }
    return true;
}

bool is_date(std::string_view text) {
    if (text.size() != kDateLength || text[4] != '-' || text[7] != '-') return false;
    int century = two_digits(text, 0);
    int of_century = two_digits(text, 2);
    int month = two_digits(text, 5);
    int day = two_digits(text, 8);
    if (century < 0 || of_century < 0 || month < 1 || month > 12 || day < 1) return false;
    int year = century * 100 + of_century;
    return year >= 1 && day <= days_of(year, month);
}

bool is_time(std::string_view text) {
    constexpr std::size_t kLength = 8;  // of HH:MM:SS
    constexpr std::size_t kFractionMax = 9;
    if (text.size() < kLength || text[2] != ':' || text[5] != ':') return false;
    int hours = two_digits(text, 0);
    int minutes = two_digits(text, 3);
    int seconds = two_digits(text, 6);
    if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59 || seconds < 0 || seconds > 59)
        return false;
    text.remove_prefix(kLength);
    if (text.empty()) return true;
    if (!text.starts_with('.')) return false;
    text.remove_prefix(1);
    std::size_t digits = skip_digits(text);
    return digits >= 1 && digits <= kFractionMax && text.empty();
}

bool is_date_time(std::string_view text, Zone zone) {
    if (zone == Zone::Utc) {
        if (!text.ends_with('Z')) return false;
        text.remove_suffix(1);
    } else if (zone == Zone::Offset) {
        constexpr std::size_t kLength = 6;  // of +HH:MM
        if (text.size() < kLength) return false;
        std::string_view offset = text.substr(text.size() - kLength);
        int hours = two_digits(offset, 1);
        int minutes = two_digits(offset, 4);
        bool has_sign = offset[0] == '+' || offset[0] == '-';
        if (!has_sign || offset[3] != ':' || hours < 0 || hours > 23 || minutes < 0 || minutes > 59)
            return false;
        text.remove_suffix(kLength);
    }
    if (text.size() <= kDateLength) return false;
    if (text[kDateLength] != 'T' && text[kDateLength] != ' ') return false;
    return is_date(text.substr(0, kDateLength)) && is_time(text.substr(kDateLength + 1));
}

bool is_json(std::string_view text) { return is_utf8(text) && JsonReader(text).whole(); }

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        // Most text is ASCII: test eight bytes at a time.
        while (text.size() >= 8) {
            std::uint64_t eight = 0;
            __builtin_memcpy(&eight, text.data(), 8);
            if (eight & 0x8080'8080'8080'8080) break;
            text.remove_prefix(8);
        }
        if (text.empty()) return true;
        std::size_t length = sequence_length(text);
        if (length == 0) return false;
        WEFT_DASSERT(length <= text.size(), "a sequence ends within the text");
        text.remove_prefix(length);
    }
    return true;
}

}  // namespace weft::data::forms
