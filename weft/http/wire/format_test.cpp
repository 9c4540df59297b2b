#include "weft/http/wire/format.h"

#include <gtest/gtest.h>

#include <limits>

namespace weft::http::wire {
namespace {

TEST(Format, HTTP_1_a_status_line_carries_its_reason) {
    std::string out = "before ";
    append_status_line(out, 200);
    append_status_line(out, 404);
    append_status_line(out, 299);
    append_status_line(out, 999);
    EXPECT_EQ(out,
              "before HTTP/1.1 200 OK\r\nHTTP/1.1 404 Not Found\r\nHTTP/1.1 299 \r\n"
              "HTTP/1.1 999 \r\n");
    EXPECT_EQ(reason_phrase(417), "Expectation Failed");
    EXPECT_EQ(reason_phrase(299), "");
    EXPECT_EQ(reason_phrase(0), "");
    EXPECT_EQ(reason_phrase(1000), "");
}

TEST(Format, HTTP_1_fields_are_written_in_their_order) {
    Headers headers;
    headers.add("A", "b");
    headers.add("empty", "");
    std::string out;
    append_request_line(out, "GET", "/a?b");
    append_field(out, "content-length", 0);
    append_field(out, "host", "a");
    append_fields(out, headers);
    append_fields(out, Headers());
    out += kHeadEnd;
    EXPECT_EQ(out, "GET /a?b HTTP/1.1\r\ncontent-length: 0\r\nhost: a\r\nA: b\r\nempty: \r\n\r\n");
}

TEST(Format, HTTP_1_numbers_are_written_whole) {
    EXPECT_EQ(decimal(0).view(), "0");
    EXPECT_EQ(decimal(10).view(), "10");
    EXPECT_EQ(decimal(std::numeric_limits<std::uint64_t>::max()).view(), "18446744073709551615");
}

TEST(Format, HTTP_1_a_buffer_with_room_is_not_moved) {
    Headers headers;
    headers.add("name", std::string(100, 'v'));
    std::string out;
    out.reserve(1000);
    const char* text = out.data();
    for (int i = 0; i < 5; ++i) append_fields(out, headers);
    EXPECT_EQ(out.data(), text);
    EXPECT_EQ(out.size(), 5 * 108U);
}

}  // namespace
}  // namespace weft::http::wire
