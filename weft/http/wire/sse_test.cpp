#include "weft/http/wire/sse.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft::http::wire {
namespace {

using std::chrono::milliseconds;

// Each event as "type|data|id;", and "limit" at the end if it came to that.
std::string parse(EventStreamParser& parser, std::string_view text, std::size_t chunk) {
    std::string seen;
    while (!text.empty()) {
        Bytes bytes = as_bytes(text.substr(0, chunk));
        text.remove_prefix(bytes.size());
        for (;;) {
            auto event = parser.next(bytes);
            if (!event) return seen + std::string(to_string(event.error().kind()));
            if (!*event) break;
            seen += (*event)->type;
            seen += '|';
            seen += (*event)->data;
            seen += '|';
            seen += (*event)->last_event_id;
            seen += ';';
        }
        EXPECT_TRUE(bytes.empty());
    }
    return seen;
}

std::string parse(std::string_view text, std::size_t event_bytes_max = 1000) {
    std::string seen;
    for (std::size_t chunk : {text.size() + 1, std::size_t{1}, std::size_t{2}, std::size_t{3}}) {
        EventStreamParser parser(event_bytes_max);
        std::string now = parse(parser, text, chunk);
        if (chunk > text.size()) seen = now;
        EXPECT_EQ(now, seen) << "in parts of " << chunk;
    }
    return seen;
}

TEST(EventStreamParser, HTTP_6a_an_event_that_is_too_large_is_a_limit) {
    std::string line = "data:" + std::string(45, 'x') + "\n";  // 46 bytes are kept of it
    EXPECT_EQ(parse(line + "\n", 50), "message|" + std::string(45, 'x') + "|;");
    EXPECT_EQ(parse("data:y\n\n" + line + "data:z\n\n", 51), "message|y|;limit reached");
    EXPECT_EQ(parse("unknown" + std::string(60, 'x'), 50), "limit reached");
    EXPECT_EQ(parse("data:\n\nid:" + std::string(60, 'x') + "\n", 50), "message||;limit reached");
    // What is replaced grows.
    EXPECT_EQ(parse("data:" + std::string(45, '\xff') + "\n\n", 50), "limit reached");
    // A comment is not kept, and what is given out does not count any more.
    EXPECT_EQ(parse(":" + std::string(1000, 'x') + "\n" + line + "\n" + line + "\n", 60),
              "message|" + std::string(45, 'x') + "|;message|" + std::string(45, 'x') + "|;");
}

TEST(EventStreamParser, HTTP_6a_an_event_that_the_stream_ends_in_is_dropped) {
    EXPECT_EQ(parse("data: a\n\ndata: b\n"), "message|a|;");
    EXPECT_EQ(parse("data: a\n\ndata: b"), "message|a|;");
    EXPECT_EQ(parse("data: a"), "");
    EXPECT_EQ(parse(""), "");
}

TEST(EventStreamParser, HTTP_6a_the_examples_of_the_standard_are_read_as_it_says) {
    EXPECT_EQ(parse("data: YHOO\ndata: +2\ndata: 10\n\n"), "message|YHOO\n+2\n10|;");
    EXPECT_EQ(parse(": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\n"
                    "data:  third event\n\n"),
              "message|first event|1;message|second event|;message| third event|;");
    EXPECT_EQ(parse("data\n\ndata\ndata\n\ndata:"), "message||;message|\n|;");
    EXPECT_EQ(parse("data:test\n\ndata: test\n\n"), "message|test|;message|test|;");
}

TEST(EventStreamParser, HTTP_6a_lines_end_with_cr_lf_or_both) {
    EXPECT_EQ(parse("data:a\r\rdata:b\n\ndata:c\r\n\r\ndata:d\r\n\ndata:e\n\r"),
              "message|a|;message|b|;message|c|;message|d|;message|e|;");
    EXPECT_EQ(parse("data:a\r\ndata:b\r\r\n"), "message|a\nb|;");
}

TEST(EventStreamParser, HTTP_6a_a_cr_ends_its_event_without_waiting_for_a_lf) {
    EventStreamParser parser;
    EXPECT_EQ(parse(parser, "data:a\r\n\r", 100), "message|a|;");
    EXPECT_EQ(parse(parser, "\ndata:b\n\n", 100), "message|b|;");
}

TEST(EventStreamParser, HTTP_6a_one_byte_order_mark_is_skipped_at_the_beginning) {
    EXPECT_EQ(parse("\xef\xbb\xbf"
                    "data:a\n\n"),
              "message|a|;");
    EXPECT_EQ(parse("\xef\xbb\xbf\n\xef\xbb\xbf"
                    "data:a\n\n"),
              "");
    EXPECT_EQ(parse("\xef\xbb\xbf\xef\xbb\xbf"
                    "data:a\n\n"),
              "");
    EXPECT_EQ(parse("\xef\xbb\xbf:a\ndata:b\n\n"), "message|b|;");
    EXPECT_EQ(parse(":a\n\xef\xbb\xbf"
                    "data:a\n\n"),
              "");
}

TEST(EventStreamParser, HTTP_6a_fields_are_known_by_their_exact_names) {
    EXPECT_EQ(parse("Data:a\n data:b\ndata :c\ndatax:d\n:data:e\ndata:f\n\n"), "message|f|;");
    EXPECT_EQ(parse("event:one\nevent:two\ndata:a:b\n\ndata:c\n\n"), "two|a:b|;message|c|;");
    EXPECT_EQ(parse("event:\ndata:a\n\n"), "message|a|;");
}

TEST(EventStreamParser, HTTP_6a_events_without_data_are_not_dispatched) {
    EXPECT_EQ(parse("event:one\n\ndata:a\n\n"), "message|a|;");
    EventStreamParser parser;
    EXPECT_EQ(parse(parser, "id:7\n", 100), "");
    EXPECT_EQ(parser.last_event_id(), "");
    EXPECT_EQ(parse(parser, "\n", 100), "");
    EXPECT_EQ(parser.last_event_id(), "7");
}

TEST(EventStreamParser, HTTP_6a_the_id_lasts_until_it_is_changed_and_nul_does_not_change_it) {
    using namespace std::literals;
    EXPECT_EQ(parse("id:1\ndata:a\n\ndata:b\n\nid:x\0y\ndata:c\n\nid\ndata:d\n\n"sv),
              "message|a|1;message|b|1;message|c|1;message|d|;");
    EXPECT_EQ(parse("data:a\0b\n\n"sv), "message|a\0b|;"sv);
}

TEST(EventStreamParser, HTTP_6a_a_retry_of_digits_is_noted) {
    EventStreamParser parser;
    EXPECT_FALSE(parser.retry());
    parse(parser, "retry:1x\nretry:\nretry\nretry:-1\nretry: 1 \n", 100);
    EXPECT_FALSE(parser.retry());
    parse(parser, "retry: 0030\n", 1);
    EXPECT_EQ(parser.retry(), milliseconds(30));
    parse(parser, "retry:99999999999999999999999999\n", 100);
    EXPECT_GT(parser.retry(), std::chrono::hours(24 * 365));
}

TEST(EventStreamParser, HTTP_6a_what_is_not_utf8_is_replaced) {
    EXPECT_EQ(parse("data:a\xff\ndata:\xf0\x9f\x98\ndata:\xf0\x9f\x98\x80\nevent:\xc3\n\n"),
              "\uFFFD|a\uFFFD\n\uFFFD\n\U0001F600|;");
}

TEST(EventStreamWriter, HTTP_6a_an_id_or_type_that_would_break_its_line_is_refused) {
    using namespace std::literals;
    for (std::string_view text : {"a\rb"sv, "a\n"sv, "\r\n"sv, "a\0"sv}) {
        auto kind = [](const OutgoingEvent& event) {
            auto result = format_event(event);
            return result ? ErrorKind::Other : result.error().kind();
        };
        EXPECT_EQ(kind({.id = text}), ErrorKind::Misuse);
        EXPECT_EQ(kind({.type = text}), ErrorKind::Misuse);
    }
    EXPECT_FALSE(format_event({.retry = milliseconds(-1)}));
}

TEST(EventStreamWriter, HTTP_6a_events_are_read_back_as_they_were) {
    EXPECT_EQ(format_event({.id = "1", .type = "t", .data = "a\nb", .retry = milliseconds(5)}),
              "id: 1\nevent: t\nretry: 5\ndata: a\ndata: b\n\n");
    EXPECT_EQ(format_event({.id = "1"}), "id: 1\n\n");
    const std::pair<std::string_view, std::string_view> texts[] = {
        {"", ""},     {"\n", "\n"},       {"a\r\nb\rc", "a\nb\nc"}, {"a\n\n", "a\n\n"},
        {" a", " a"}, {"\r\r\n", "\n\n"}, {"id: 1", "id: 1"},       {":", ":"}};
    for (auto [sent, read] : texts) {
        auto text = format_event({.id = " 2", .data = sent});
        ASSERT_TRUE(text);
        EXPECT_EQ(parse(*text), "message|" + std::string(read) + "| 2;");
    }
}

TEST(EventStreamWriter, HTTP_6a_a_comment_is_no_event) {
    EXPECT_EQ(format_comment(), ": \n\n");
    EXPECT_EQ(format_comment("a\r\ndata: b"), ": a\n: data: b\n\n");
    EXPECT_EQ(parse(format_comment("a\rdata: b\n\n") + "data: c\n\n"), "message|c|;");
}

}  // namespace
}  // namespace weft::http::wire
