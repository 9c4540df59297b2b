// Which bytes a Range field asks for (RFC 9110 §14). Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace weft::http {

// A field with more ranges, or with more after those that touch were joined, is not honoured: who
// asks so would make the answer cost more than the whole.
inline constexpr std::size_t kRangesAskedMax = 64;
inline constexpr std::size_t kRangesSentMax = 16;

struct ByteRange {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

struct AskedRanges {
    enum class Kind : std::uint8_t {
        Whole,          // malformed, of another unit, too many: as if it had not been sent
        Partial,        // `ranges`, which do not touch, in the order they were asked for
        Unsatisfiable,  // none of them lies in the content: 416
    };
    Kind kind = Kind::Whole;
    std::vector<ByteRange> ranges;
};

AskedRanges parse_ranges(std::string_view field, std::uint64_t size);

}  // namespace weft::http
