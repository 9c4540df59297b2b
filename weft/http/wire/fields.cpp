#include "weft/http/wire/fields.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "weft/base/assert.h"
#include "weft/http/wire/characters.h"

namespace weft::http::wire {
namespace {

// Calls `visit` with each member of a comma-separated list; empty ones do not count.
template <class Visit>
void for_each_member(std::string_view list, Visit visit) {
    while (!list.empty()) {
        std::size_t comma = std::min(list.find(','), list.size());
        std::string_view member = trim_blanks(list.substr(0, comma));
        if (!member.empty()) visit(member);
        list.remove_prefix(std::min(comma + 1, list.size()));
    }
}

// For a name of four characters. The name is a token, and no other character of tokens becomes one
// of these letters by setting the bit.
bool is_host(std::string_view name) {
    WEFT_DASSERT(name.size() == 4);
    std::uint32_t word = 0;
    std::uint32_t host = 0;
    std::memcpy(&word, name.data(), sizeof word);
    std::memcpy(&host, "host", sizeof host);
    return (word | 0x20202020U) == host;
}

// The sizes of the names that note_more() knows, as bits.
constexpr std::uint32_t kNotedSizes = 1U << 6 | 1U << 7 | 1U << 10 | 1U << 14 | 1U << 17;

}  // namespace

FieldReader::Line FieldReader::next(Headers::Field& field) {
    WEFT_DASSERT(at_ <= end_);
    if (at_ == end_) return Line::NeedMore;
    if (*at_ == '\r') {
        if (end_ - at_ < 2) return Line::NeedMore;
        if (at_[1] != '\n') return malformed("a CR without its LF");
        at_ += 2;
        return Line::End;
    }
    is_unfolded_ = false;
    const char* name_end = skip_token(at_, end_);
    const char* colon = name_end;
    if (old_forms_ == OldForms::Repair && name_end != at_) {
        while (colon != end_ && is_blank(*colon)) ++colon;
    }
    if (colon == end_) return Line::NeedMore;
    if (*colon != ':' || name_end == at_) return refuse_name(name_end);
    field.name = {at_, name_end};
    const char* line = at_;
    Line read = read_value(colon + 1, field.value);
    if (read == Line::Field && old_forms_ == OldForms::Repair) read = unfold(field.value);
    if (read != Line::Field) at_ = line;
    WEFT_DASSERT((at_ > line) == (read == Line::Field), "only a field takes its line");
    return read;
}

// Reads the value from `begin` to the end of the line; afterwards at_ is behind the line.
FieldReader::Line FieldReader::read_value(const char* begin, std::string_view& value) {
    while (begin != end_ && is_blank(*begin)) ++begin;
    const char* cr = skip_field_value(begin, end_);
    if (cr == end_) return Line::NeedMore;
    if (*cr != '\r') {
        return malformed(*cr == '\n' ? "a line that ends with a bare LF"
                                     : "a control character in a field");
    }
    if (end_ - cr < 2) return Line::NeedMore;
    if (cr[1] != '\n') return malformed("a CR without its LF");
    const char* end = cr;
    while (end != begin && is_blank(end[-1])) --end;
    value = {begin, end};
    at_ = cr + 2;
    return Line::Field;
}

// RFC 9112 §5.2: each fold is replaced by a blank before the value is interpreted.
FieldReader::Line FieldReader::unfold(std::string_view& value) {
    for (;;) {
        if (at_ == end_) return Line::NeedMore;
        if (!is_blank(*at_)) return Line::Field;
        std::string_view more;
        Line read = read_value(at_, more);
        if (read != Line::Field) return read;
        if (!is_unfolded_) unfolded_ = value;
        is_unfolded_ = true;
        if (!unfolded_.empty() && !more.empty()) unfolded_.push_back(' ');
        unfolded_.append(more);
        value = unfolded_;
    }
}

FieldReader::Line FieldReader::refuse_name(const char* stop) {
    WEFT_DASSERT(stop != end_, "a name that is not complete is not refused");
    if (stop == at_) {
        if (is_blank(*stop)) return malformed("a folded field");
        if (*stop == ':') return malformed("a field without a name");
        if (*stop == '\n') return malformed("a line that ends with a bare LF");
    } else if (is_blank(*stop)) {
        return malformed("a blank in or behind the name of a field");
    }
    return malformed("a character that the name of a field cannot have");
}

void MessageFields::note(const Headers::Field& field) {
    std::size_t size = field.name.size();
    if (size == 4) {
        if (!is_host(field.name)) return;
        host = field.value;
        ++hosts;
    } else if (size < 32 && (kNotedSizes >> size & 1)) {
        has_more = true;
        note_more(field);
    }
}

void MessageFields::note_more(const Headers::Field& field) {
    switch (field.name.size()) {
    case 6:
        if (equal_without_case(field.name, "expect")) note_expect(field.value);
        return;
    case 7:
        if (equal_without_case(field.name, "upgrade")) has_upgrade = true;
        return;
    case 10:
        if (equal_without_case(field.name, "connection")) note_connection(field.value);
        return;
    case 14:
        if (!equal_without_case(field.name, "content-length")) return;
        content_length = field.value;
        ++content_lengths;
        return;
    case 17:
        if (!equal_without_case(field.name, "transfer-encoding")) return;
        transfer_encoding = field.value;
        ++transfer_encodings;
        return;
    default: return;
    }
}

void MessageFields::note_connection(std::string_view options) {
    for_each_member(options, [this](std::string_view option) {
        if (!is_token(option)) has_bad_option = true;
        if (equal_without_case(option, "close")) close = true;
        if (equal_without_case(option, "keep-alive")) keep_alive = true;
        if (equal_without_case(option, "upgrade")) upgrade_option = true;
    });
}

void MessageFields::note_expect(std::string_view expectations) {
    for_each_member(expectations, [this](std::string_view expectation) {
        bool known = equal_without_case(expectation, "100-continue");
        (known ? expects_continue : expects_other) = true;
    });
}

std::optional<std::uint64_t> parse_length(std::string_view text) {
    constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
    if (text.empty()) return std::nullopt;
    std::uint64_t value = 0;
    for (char c : text) {
        if (!is_digit(c)) return std::nullopt;
        auto digit = static_cast<std::uint64_t>(c - '0');
        if (value > (kMax - digit) / 10) return std::nullopt;
        value = value * 10 + digit;
    }
    return value;
}

}  // namespace weft::http::wire
