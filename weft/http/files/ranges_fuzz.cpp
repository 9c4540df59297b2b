// A Range field of any bytes: the resulting ranges lie in the content, and do not touch.
#include "weft/base/assert.h"
#include "weft/http/files/ranges.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    using namespace weft::http;
    if (size == 0) return 0;
    std::uint64_t content = bytes[0] < 250 ? bytes[0] : UINT64_MAX - bytes[0];
    std::string_view field(reinterpret_cast<const char*>(bytes + 1), size - 1);
    AskedRanges asked = parse_ranges(field, content);
    WEFT_ASSERT(asked.ranges.size() <= kRangesSentMax, "too many");
    WEFT_ASSERT(asked.ranges.empty() == (asked.kind != AskedRanges::Kind::Partial), "none asked");
    for (const ByteRange& range : asked.ranges) {
        WEFT_ASSERT(range.count > 0, "an empty range");
        WEFT_ASSERT(range.first < content && range.count <= content - range.first, "outside");
        for (const ByteRange& other : asked.ranges) {
            bool apart =
                range.first + range.count < other.first || other.first + other.count < range.first;
            WEFT_ASSERT(&range == &other || apart, "they touch");
        }
    }
    return 0;
}
