#include "weft/http/files/conditions.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "weft/http/internal/handler_test.h"

namespace weft::http {
namespace {

using handler_test::MadeRequest;

constexpr std::int64_t kModified = 784'111'777;  // Sun, 06 Nov 1994 08:49:37 GMT
constexpr std::int64_t kNow = kModified + 1000;
constexpr std::string_view kThen = "Sun, 06 Nov 1994 08:49:37 GMT";
constexpr std::string_view kBefore = "Sun, 06 Nov 1994 08:49:36 GMT";
constexpr std::string_view kAfter = "Sun, 06 Nov 1994 08:49:38 GMT";
constexpr Validators kValidators{"\"a\"", kModified};

std::string verdict(MadeRequest::Fields fields, std::string_view method = "GET") {
    MadeRequest made(method, "/", fields);
    switch (check_conditions(made.request(), kValidators, kNow)) {
    case Condition::Send: return "send";
    case Condition::NotModified: return "304";
    case Condition::Failed: return "412";
    }
    return "?";
}

TEST(Conditions, HTTP_8_malformed_conditions_never_hold_back_content) {
    EXPECT_EQ(verdict({{"if-none-match", "a"}}), "send");
    EXPECT_EQ(verdict({{"if-none-match", "\"a"}}), "send");
    EXPECT_EQ(verdict({{"if-none-match", "\"b\" \"a\""}}), "send");
    EXPECT_EQ(verdict({{"if-none-match", "w/\"a\""}}), "send");
    EXPECT_EQ(verdict({{"if-none-match", ""}}), "send");
    EXPECT_EQ(verdict({{"if-modified-since", "yesterday"}}), "send");
    EXPECT_EQ(verdict({{"if-unmodified-since", "yesterday"}}), "send");
    EXPECT_EQ(verdict({{"if-match", "a"}}), "412");
}

TEST(Conditions, HTTP_8_if_match_compares_strongly) {
    EXPECT_EQ(verdict({{"if-match", "\"a\""}}), "send");
    EXPECT_EQ(verdict({{"if-match", "\"b\", \"a\""}}), "send");
    EXPECT_EQ(verdict({{"if-match", "*"}}), "send");
    EXPECT_EQ(verdict({{"if-match", "\"b\""}}), "412");
    EXPECT_EQ(verdict({{"if-match", "W/\"a\""}}), "412");
    EXPECT_EQ(verdict({{"if-match", "\"b\""}, {"if-match", "\"a\""}}), "send");
}

TEST(Conditions, HTTP_8_if_none_match_compares_weakly) {
    EXPECT_EQ(verdict({{"if-none-match", "\"a\""}}), "304");
    EXPECT_EQ(verdict({{"if-none-match", "W/\"a\""}}), "304");
    EXPECT_EQ(verdict({{"if-none-match", "\"x,y\" , ,\"a\""}}), "304");
    EXPECT_EQ(verdict({{"if-none-match", "*"}}), "304");
    EXPECT_EQ(verdict({{"if-none-match", "\"b\""}}), "send");
    EXPECT_EQ(verdict({{"if-none-match", "\"a\""}}, "HEAD"), "304");
    EXPECT_EQ(verdict({{"if-none-match", "\"a\""}}, "PUT"), "412");
}

TEST(Conditions, HTTP_8_dates_are_compared_by_the_second) {
    EXPECT_EQ(verdict({{"if-modified-since", kThen}}), "304");
    EXPECT_EQ(verdict({{"if-modified-since", kAfter}}), "304");
    EXPECT_EQ(verdict({{"if-modified-since", kBefore}}), "send");
    EXPECT_EQ(verdict({{"if-modified-since", kThen}}, "PUT"), "send");
    EXPECT_EQ(verdict({{"if-unmodified-since", kThen}}), "send");
    EXPECT_EQ(verdict({{"if-unmodified-since", kAfter}}), "send");
    EXPECT_EQ(verdict({{"if-unmodified-since", kBefore}}), "412");
}

TEST(Conditions, HTTP_8_several_dates_are_none) {
    EXPECT_EQ(verdict({{"if-modified-since", kThen}, {"if-modified-since", kBefore}}), "send");
    EXPECT_EQ(verdict({{"if-modified-since", kThen}, {"if-modified-since", kThen}}), "send");
    EXPECT_EQ(verdict({{"if-unmodified-since", kBefore}, {"if-unmodified-since", kThen}}), "send");
}

TEST(Conditions, HTTP_8_tags_come_before_dates_and_matches_before_their_opposites) {
    EXPECT_EQ(verdict({{"if-none-match", "\"b\""}, {"if-modified-since", kAfter}}), "send");
    EXPECT_EQ(verdict({{"if-none-match", "\"a\""}, {"if-modified-since", kBefore}}), "304");
    EXPECT_EQ(verdict({{"if-match", "\"a\""}, {"if-unmodified-since", kBefore}}), "send");
    EXPECT_EQ(verdict({{"if-match", "\"b\""}, {"if-none-match", "\"a\""}}), "412");
    EXPECT_EQ(verdict({{"if-match", "\"a\""}, {"if-none-match", "\"a\""}}), "304");
    EXPECT_EQ(verdict({{"if-unmodified-since", kBefore}, {"if-modified-since", kAfter}}), "412");
    EXPECT_EQ(verdict({{"if-unmodified-since", kThen}, {"if-modified-since", kThen}}), "304");
}

TEST(Conditions, HTTP_8_a_range_counts_for_get_once_and_if_nothing_has_changed) {
    auto counts = [](MadeRequest::Fields fields, std::string_view method = "GET",
                     std::int64_t now = kNow) {
        MadeRequest made(method, "/", fields);
        return range_field(made.request(), kValidators, now).has_value();
    };
    EXPECT_TRUE(counts({{"range", "bytes=0-1"}}));
    EXPECT_FALSE(counts({}));
    EXPECT_FALSE(counts({{"range", "bytes=0-1"}}, "HEAD"));
    EXPECT_FALSE(counts({{"range", "bytes=0-1"}, {"range", "bytes=0-1"}}));
    EXPECT_TRUE(counts({{"range", "bytes=0-1"}, {"if-range", "\"a\""}}));
    EXPECT_FALSE(counts({{"range", "bytes=0-1"}, {"if-range", "\"b\""}}));
    EXPECT_FALSE(counts({{"range", "bytes=0-1"}, {"if-range", "W/\"a\""}}));
    EXPECT_FALSE(counts({{"range", "bytes=0-1"}, {"if-range", "\"a\", \"a\""}}));
    EXPECT_FALSE(counts({{"range", "bytes=0-1"}, {"if-range", "\"a\""}, {"if-range", "\"b\""}}));
    EXPECT_TRUE(counts({{"range", "bytes=0-1"}, {"if-range", kThen}}));
    EXPECT_FALSE(counts({{"range", "bytes=0-1"}, {"if-range", kAfter}}));
    EXPECT_FALSE(counts({{"range", "bytes=0-1"}, {"if-range", kBefore}}));
    EXPECT_FALSE(counts({{"range", "bytes=0-1"}, {"if-range", kThen}}, "GET", kModified));
    EXPECT_FALSE(counts({{"range", "bytes=0-1"}, {"if-range", "soon"}}));
}

}  // namespace
}  // namespace weft::http
