// The byte ranges that a Range field asks for (RFC 9110 §14). Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace weft::http {

// A field with more ranges than kRangesAskedMax, or more than kRangesSentMax after adjacent and
// overlapping ones are joined, is ignored: the response would cost more than the whole content.
inline constexpr std::size_t kRangesAskedMax = 64;
inline constexpr std::size_t kRangesSentMax = 16;

struct ByteRange {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

struct AskedRanges {
    enum class Kind : std::uint8_t {
        Whole,          // ignore the field: it is malformed, has another unit, or too many ranges
        Partial,        // send `ranges`, which neither overlap nor touch, in the order of the field
        Unsatisfiable,  // no range lies in the content: answer 416
    };
    Kind kind = Kind::Whole;
    std::vector<ByteRange> ranges;
};

// `size` is that of the content. All ranges in the result are non-empty and lie within it.
AskedRanges parse_ranges(std::string_view field, std::uint64_t size);

}  // namespace weft::http
