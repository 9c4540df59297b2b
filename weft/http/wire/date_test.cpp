#include "weft/http/wire/date.h"

#include <gtest/gtest.h>

namespace weft::http::wire {
namespace {

constexpr std::int64_t kNow = 1794776400;  // in November 2026

TEST(Date, HTTP_1_all_three_forms_are_read) {
    EXPECT_EQ(parse_date("Sun, 06 Nov 1994 08:49:37 GMT", kNow), 784111777);
    EXPECT_EQ(parse_date("Sunday, 06-Nov-94 08:49:37 GMT", kNow), 784111777);
    EXPECT_EQ(parse_date("Sun Nov  6 08:49:37 1994", kNow), 784111777);
    EXPECT_EQ(parse_date("Wed Nov 16 08:49:37 1994", kNow), 784111777 + 10 * 86400);
}

TEST(Date, HTTP_1_a_year_of_two_digits_is_at_most_fifty_years_ahead) {
    EXPECT_EQ(format_date(*parse_date("Sunday, 06-Nov-76 08:49:37 GMT", kNow)).view().substr(12, 4),
              "2076");
    EXPECT_EQ(format_date(*parse_date("Sunday, 06-Nov-77 08:49:37 GMT", kNow)).view().substr(12, 4),
              "1977");
}

TEST(Date, HTTP_1_anything_else_is_no_date) {
    for (std::string_view text : {"",
                                  "Sun",
                                  "Sun, 06 Nov 1994 08:49:37",
                                  "Sun, 06 Nov 1994 08:49:37 UTC",
                                  "Sun, 6 Nov 1994 08:49:37 GMT",
                                  "sun, 06 Nov 1994 08:49:37 GMT",
                                  "Sun, 06 nov 1994 08:49:37 GMT",
                                  "Sun, 32 Nov 1994 08:49:37 GMT",
                                  "Sun, 31 Nov 1994 08:49:37 GMT",
                                  "Sun, 29 Feb 2023 08:49:37 GMT",
                                  "Sun, 06 Nov 1994 24:49:37 GMT",
                                  "Sun, 06 Nov 1994 08:60:37 GMT",
                                  "Sun, 06 Nov 1994 08:49:61 GMT",
                                  "Sun, 06 Nov 1994 08:49:37 GMT ",
                                  " Sun, 06 Nov 1994 08:49:37 GMT",
                                  "Sun, 00 Nov 1994 08:49:37 GMT",
                                  "Sunday, 06-Nov-1994 08:49:37 GMT",
                                  "Sun Nov 6 08:49:37 1994",
                                  "Sun Nov  6 08:49:37 1994 GMT",
                                  "784111777",
                                  "Sun, 06 Nov -994 08:49:37 GMT"}) {
        EXPECT_FALSE(parse_date(text, kNow)) << text;
    }
}

TEST(Date, HTTP_1_what_is_written_is_read_again) {
    EXPECT_EQ(format_date(784111777).view(), "Sun, 06 Nov 1994 08:49:37 GMT");
    EXPECT_EQ(format_date(0).view(), "Thu, 01 Jan 1970 00:00:00 GMT");
    EXPECT_EQ(format_date(-1).view(), "Wed, 31 Dec 1969 23:59:59 GMT");
    EXPECT_EQ(format_date(951782400).view(), "Tue, 29 Feb 2000 00:00:00 GMT");
    for (std::int64_t time = -62167219200; time < 253402300799; time += 98765432) {
        EXPECT_EQ(parse_date(format_date(time).view(), kNow), time);
    }
    EXPECT_EQ(format_date(INT64_MAX).view(), "Fri, 31 Dec 9999 23:59:59 GMT");
    EXPECT_EQ(format_date(INT64_MIN).view(), "Sat, 01 Jan 0000 00:00:00 GMT");
}

}  // namespace
}  // namespace weft::http::wire
