#include "weft/http/files/ranges.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "weft/base/assert.h"
#include "weft/http/headers.h"

namespace weft::http {
namespace {

constexpr std::string_view kBlanks = " \t";

std::string_view trim(std::string_view text) {
    std::size_t begin = text.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// A number of decimal digits only; one that does not fit into 64 bits becomes the largest number.
std::optional<std::uint64_t> parse_position(std::string_view text) {
    if (text.empty()) return std::nullopt;
    std::uint64_t value = 0;
    for (char c : text) {
        if (c < '0' || c > '9') return std::nullopt;
        auto digit = static_cast<std::uint64_t>(c - '0');
        value = value > (UINT64_MAX - digit) / 10 ? UINT64_MAX : value * 10 + digit;
    }
    return value;
}

enum class Spec : std::uint8_t { Satisfiable, Unsatisfiable, Malformed };

// int-range = first-pos "-" [ last-pos ]; suffix-range = "-" suffix-length
Spec parse_spec(std::string_view text, std::uint64_t size, ByteRange& range) {
    std::size_t dash = text.find('-');
    if (dash == std::string_view::npos) return Spec::Malformed;
    std::string_view last_text = text.substr(dash + 1);
    std::optional<std::uint64_t> last = parse_position(last_text);
    if (dash == 0) {
        if (!last) return Spec::Malformed;
        if (*last == 0) return Spec::Unsatisfiable;
        // Satisfiable by §14.1.2, but no Content-Range can express a range of empty content.
        // Malformed makes the response a 200 with the whole, empty content.
        if (size == 0) return Spec::Malformed;
        range.count = std::min(*last, size);
        range.first = size - range.count;
        return Spec::Satisfiable;
    }
    std::optional<std::uint64_t> first = parse_position(text.substr(0, dash));
    if (!first || (!last && !last_text.empty())) return Spec::Malformed;
    if (last && *last < *first) return Spec::Malformed;
    if (*first >= size) return Spec::Unsatisfiable;
    range.first = *first;
    range.count = std::min(last.value_or(UINT64_MAX), size - 1) - *first + 1;
    return Spec::Satisfiable;
}

bool can_be_joined(const ByteRange& a, const ByteRange& b) {
    return a.first <= b.first + b.count && b.first <= a.first + a.count;
}

// Adds a range, joined with all that it overlaps or touches. It is put at the place of one of
// those, so that the order stays close to that of the field.
void join(std::vector<ByteRange>& ranges, ByteRange range) {
    WEFT_ASSERT(range.count > 0, "an empty range is unsatisfiable");
    auto place = ranges.end();
    for (auto other = ranges.begin(); other != ranges.end();) {
        if (!can_be_joined(*other, range)) {
            ++other;
            continue;
        }
        std::uint64_t end = std::max(other->first + other->count, range.first + range.count);
        range.first = std::min(other->first, range.first);
        WEFT_DASSERT(end > range.first, "both ranges had bytes");
        range.count = end - range.first;
        place = ranges.erase(other);
        // The joined range may touch others that it did not touch before, so search again.
        other = ranges.begin();
    }
    ranges.insert(place, range);
}

}  // namespace

AskedRanges parse_ranges(std::string_view field, std::uint64_t size) {
    AskedRanges asked;
    std::size_t equals = field.find('=');
    if (equals == std::string_view::npos) return asked;
    if (!equal_without_case(trim(field.substr(0, equals)), "bytes")) return asked;
    field.remove_prefix(equals + 1);
    std::vector<ByteRange> ranges;
    std::size_t specs = 0;
    bool ended = false;
    while (!ended) {
        std::size_t comma = std::min(field.find(','), field.size());
        ended = comma == field.size();
        std::string_view spec = trim(field.substr(0, comma));
        field.remove_prefix(ended ? comma : comma + 1);
        if (spec.empty()) continue;  // RFC 9110 §5.6.1.2: empty members of a list do not count.
        ByteRange range;
        Spec kind = parse_spec(spec, size, range);
        if (kind == Spec::Malformed || ++specs > kRangesAskedMax) return asked;
        if (kind != Spec::Satisfiable) continue;
        WEFT_ASSERT(range.first < size && range.count <= size - range.first,
                    "a satisfiable range lies in the content");
        join(ranges, range);
    }
    WEFT_ASSERT(ranges.size() <= specs, "joining adds no ranges");
    if (specs == 0 || ranges.size() > kRangesSentMax) return asked;
    asked.kind = ranges.empty() ? AskedRanges::Kind::Unsatisfiable : AskedRanges::Kind::Partial;
    asked.ranges = std::move(ranges);
    return asked;
}

}  // namespace weft::http
