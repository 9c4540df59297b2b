#include "weft/http/files/ranges.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/base/format.h"

namespace weft::http {
namespace {

// The result as "whole", "none", or "first+count first+count".
std::string asked(std::string_view field, std::uint64_t size = 100) {
    AskedRanges ranges = parse_ranges(field, size);
    if (ranges.kind == AskedRanges::Kind::Whole) return "whole";
    if (ranges.kind == AskedRanges::Kind::Unsatisfiable) return "none";
    std::string text;
    for (const ByteRange& range : ranges.ranges) {
        if (!text.empty()) text += ' ';
        text += format("{}+{}", range.first, range.count);
    }
    return text;
}

TEST(Ranges, HTTP_8_a_malformed_field_is_as_if_it_had_not_been_sent) {
    for (std::string_view field :
         {"", "bytes", "bytes=", "bytes= ,,", "bytes=-", "bytes=a-b", "bytes=1", "bytes=5-4",
          "bytes=1-2-3", "bytes=+1-2", "bytes=1 -2", "bytes=0x1-2", "bytes=1-2;3-4", "items=0-1",
          "bytes 0-1", "=0-1", "bytes=0-1,x", "bytes=--1", "bytes=1-\x01"}) {
        EXPECT_EQ(asked(field), "whole") << field;
    }
}

TEST(Ranges, HTTP_8_ranges_outside_of_the_content_are_unsatisfiable) {
    EXPECT_EQ(asked("bytes=100-"), "none");
    EXPECT_EQ(asked("bytes=100-200"), "none");
    EXPECT_EQ(asked("bytes=-0"), "none");
    EXPECT_EQ(asked("bytes=99999999999999999999999-"), "none");
    EXPECT_EQ(asked("bytes=0-0", 0), "none");
    EXPECT_EQ(asked("bytes=0-", 0), "none");
    EXPECT_EQ(asked("bytes=100-,200-300,-0"), "none");
    EXPECT_EQ(asked("bytes=-5", 0), "whole");
}

TEST(Ranges, HTTP_8_single_ranges_are_cut_at_the_end_of_the_content) {
    EXPECT_EQ(asked("bytes=0-0"), "0+1");
    EXPECT_EQ(asked("bytes=0-99"), "0+100");
    EXPECT_EQ(asked("bytes=0-"), "0+100");
    EXPECT_EQ(asked("bytes=10-19"), "10+10");
    EXPECT_EQ(asked("bytes=90-1000"), "90+10");
    EXPECT_EQ(asked("bytes=99-99999999999999999999999"), "99+1");
    EXPECT_EQ(asked("bytes=-1"), "99+1");
    EXPECT_EQ(asked("bytes=-1000"), "0+100");
    EXPECT_EQ(asked("BYTES= 1-2 "), "1+2");
    EXPECT_EQ(asked("bytes=0-18446744073709551615", UINT64_MAX), "0+18446744073709551615");
}

TEST(Ranges, HTTP_8_ranges_that_touch_are_joined_and_the_others_stay_in_their_order) {
    EXPECT_EQ(asked("bytes=50-59,0-9"), "50+10 0+10");
    EXPECT_EQ(asked("bytes=0-9,10-19"), "0+20");
    EXPECT_EQ(asked("bytes=0-9,5-14"), "0+15");
    EXPECT_EQ(asked("bytes=0-9,20-29,40-49,9-41"), "0+50");
    EXPECT_EQ(asked("bytes=20-29,0-9,80-,25-34"), "20+15 0+10 80+20");
    EXPECT_EQ(asked("bytes=0-9, ,20-29 ,"), "0+10 20+10");
    EXPECT_EQ(asked("bytes=200-,0-9"), "0+10");
    EXPECT_EQ(asked("bytes=0-0,0-0,0-0"), "0+1");
}

TEST(Ranges, HTTP_8_many_ranges_are_not_honoured) {
    auto many = [](std::size_t count, std::size_t step) {
        std::string field = "bytes=";
        for (std::size_t i = 0; i < count; ++i) field += format("{0}-{0},", i * step);
        return field;
    };
    EXPECT_EQ(parse_ranges(many(kRangesSentMax, 2), 10'000).ranges.size(), kRangesSentMax);
    EXPECT_EQ(asked(many(kRangesSentMax + 1, 2), 10'000), "whole");
    EXPECT_EQ(asked(many(kRangesAskedMax, 1), 10'000), "0+64");
    EXPECT_EQ(asked(many(kRangesAskedMax + 1, 1), 10'000), "whole");
    EXPECT_EQ(asked(many(100'000, 1), 10'000), "whole");
}

}  // namespace
}  // namespace weft::http
