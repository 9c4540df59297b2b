#include <gtest/gtest.h>

#include <string>

#include "weft/http/wire/head.h"

namespace weft::http::wire {
namespace {

Progress parse(ResponseParser& parser, std::string_view text, std::string_view method = "GET") {
    parser.reset();
    return parser.parse(text, method);
}

bool is_refused(std::string_view text) {
    ResponseParser parser;
    Progress progress = parser.parse(text, "GET");
    EXPECT_EQ(progress == Progress::Failed, parser.error().status == 502) << text;
    return progress == Progress::Failed;
}

TEST(ResponseHead, HTTP_5_says_what_was_sent) {
    constexpr std::string_view kText = "HTTP/1.1 404 Not Found\r\nContent-Length: 7\r\n\r\nnothing";
    ResponseParser parser;
    ASSERT_EQ(parse(parser, kText), Progress::Done);
    EXPECT_EQ(parser.consumed(), kText.size() - 7);
    EXPECT_EQ(parser.head().status, 404);
    EXPECT_EQ(parser.head().reason, "Not Found");
    EXPECT_EQ(parser.head().version, Version::Http11);
    EXPECT_EQ(parser.head().framing, Framing::Length);
    EXPECT_EQ(parser.head().length, 7U);
    EXPECT_TRUE(parser.head().keep_alive);
}

TEST(ResponseHead, HTTP_5_a_reason_may_be_empty_or_missing) {
    ResponseParser parser;
    for (std::string_view text : {"HTTP/1.1 200\r\n\r\n", "HTTP/1.1 200 \r\n\r\n"}) {
        ASSERT_EQ(parse(parser, text), Progress::Done);
        EXPECT_EQ(parser.head().reason, "");
    }
    ASSERT_EQ(parse(parser, "HTTP/1.0 200 \xc3\xa4 b\r\n\r\n"), Progress::Done);
    EXPECT_EQ(parser.head().reason, "\xc3\xa4 b");
}

TEST(ResponseHead, HTTP_5_malformed_status_lines_are_refused) {
    for (std::string_view line :
         {"HTTP/1.1 20 OK", "HTTP/1.1 2000 OK", "HTTP/1.1  200 OK", "HTTP/1.1 099 x",
          "HTTP/1.1 2x0 OK", "HTTP/1.1\t200 OK", "HTTP/2.0 200 OK", "http/1.1 200 OK",
          "HTTP/1.1 +20 OK", " HTTP/1.1 200 OK", "HTTP/1.1", "HTTP/1.1 200\tOK",
          "HTTP/1.1 200 a\x01", "HTTP/1.1 200 a\rb", "ICY 200 OK", "\r\n"}) {
        EXPECT_TRUE(is_refused(std::string(line) + "\r\nA: b\r\n\r\n")) << line;
    }
    EXPECT_TRUE(is_refused("HTTP/1.1 200 OK\nA: b\r\n\r\n"));
    EXPECT_TRUE(is_refused("HTTP/1.1 200 OK\r\nA: b\n\r\n"));
}

// RFC 9112 §5.2 and §5.1: clients and proxies read them so, and pass on what they have read.
TEST(ResponseHead, HTTP_5_folded_fields_and_blanks_before_colons_are_repaired) {
    ResponseParser parser;
    for (std::string_view text :
         {"HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\t c \r\nLink : d\r\nContent-Length: 3\r\n\r\n",
          "HTTP/1.1 200 OK\r\nX:\r\n a\r\n  \r\n b c\r\nLink \t:d\r\nContent-Length :\r\n "
          "3\r\n\r\n"}) {
        parser.reset();
        std::string kept;
        Progress progress = Progress::NeedMore;
        for (std::size_t size = 0; progress == Progress::NeedMore && size <= text.size(); ++size) {
            kept = std::string(text.substr(0, size));
            progress = parser.parse(kept, "GET");
        }
        ASSERT_EQ(progress, Progress::Done) << parser.error().reason;
        EXPECT_EQ(parser.head().headers.get("x"), "a b c");
        EXPECT_EQ(parser.head().headers.get("link"), "d");
        EXPECT_EQ(parser.head().framing, Framing::Length);
        EXPECT_EQ(parser.head().length, 3U);
        EXPECT_EQ(parser.head().headers.size(), 3U);
    }
    // There is nothing that a first line could go on with, and a name has no blank in it.
    EXPECT_TRUE(is_refused("HTTP/1.1 200 OK\r\n A: b\r\n\r\n"));
    EXPECT_TRUE(is_refused("HTTP/1.1 200 OK\r\nA b: c\r\n\r\n"));
    EXPECT_TRUE(is_refused("HTTP/1.1 200 OK\r\nA : b\r\n \x01\r\n\r\n"));
    EXPECT_TRUE(is_refused("HTTP/1.1 200 OK\r\n : b\r\n\r\n"));
    // A fold does not hide a length from us that others see, or the other way round.
    EXPECT_TRUE(is_refused("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n 4\r\n\r\n"));
    ASSERT_EQ(parse(parser, "HTTP/1.1 200 OK\r\nX: a\r\n Content-Length: 3\r\n\r\n"),
              Progress::Done);
    EXPECT_EQ(parser.head().framing, Framing::UntilClose);
}

TEST(ResponseHead, HTTP_5_a_folded_field_has_its_limit_as_a_whole) {
    HeadLimits limits{.field_bytes = 60};
    std::string text = "HTTP/1.1 200 OK\r\nX: a\r\n";
    for (int i = 0; i < 10; ++i) text += " 1234567\r\n";
    ResponseParser parser(limits);
    EXPECT_EQ(parser.parse(text + "\r\n", "GET"), Progress::Failed);
}

TEST(ResponseHead, HTTP_5_later_versions_are_1_1_and_statuses_above_599_are_some) {
    ResponseParser parser;
    ASSERT_EQ(parse(parser, "HTTP/1.2 200 OK\r\nContent-Length: 1\r\n\r\n"), Progress::Done);
    EXPECT_EQ(parser.head().version, Version::Http11);
    EXPECT_TRUE(parser.head().keep_alive);
    for (int status : {600, 700, 999}) {
        std::string text = "HTTP/1.1 " + std::to_string(status) + " x\r\nContent-Length: 1\r\n\r\n";
        ASSERT_EQ(parse(parser, text), Progress::Done);
        EXPECT_EQ(parser.head().status, status);
        EXPECT_EQ(parser.head().framing, Framing::Length);
    }
}

TEST(ResponseHead, HTTP_5_ambiguous_framing_is_refused) {
    for (std::string_view fields :
         {"Content-Length: 5\r\nTransfer-Encoding: chunked",
          "Content-Length: 5\r\nContent-Length: 5", "Content-Length: 5\r\nContent-Length: 6",
          "Content-Length: 5, 5", "Content-Length: +5",
          "Content-Length:", "Transfer-Encoding: gzip", "Transfer-Encoding: gzip, chunked",
          "Transfer-Encoding: chunked, chunked",
          "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"}) {
        EXPECT_TRUE(is_refused("HTTP/1.1 200 OK\r\n" + std::string(fields) + "\r\n\r\n")) << fields;
    }
    EXPECT_TRUE(is_refused("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"));
}

TEST(ResponseHead, HTTP_5_framing_follows_status_and_method) {
    struct Case {
        const char* method;
        const char* text;
        Framing framing;
        bool keep_alive;
    };
    for (const Case& each : {
             Case{"GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", Framing::Chunked,
                  true},
             Case{"GET", "HTTP/1.1 200 OK\r\n\r\n", Framing::UntilClose, false},
             Case{"GET", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n", Framing::Length, false},
             Case{"GET", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\n",
                  Framing::Length, true},
             Case{"GET", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\n",
                  Framing::Length, false},
             Case{"HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", Framing::None, true},
             Case{"HEAD", "HTTP/1.1 200 OK\r\n\r\n", Framing::None, true},
             Case{"GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", Framing::None,
                  true},
             Case{"GET", "HTTP/1.1 204 No Content\r\n\r\n", Framing::None, true},
             Case{"GET", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", Framing::None,
                  true},
             // It may send what it announces.
             Case{"GET", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", Framing::None,
                  false},
             Case{"GET", "HTTP/1.1 204 No\r\nTransfer-Encoding: chunked\r\n\r\n", Framing::None,
                  false},
             Case{"GET", "HTTP/1.1 100 Continue\r\n\r\n", Framing::None, true},
             Case{"GET", "HTTP/1.1 101 Switching Protocols\r\n\r\n", Framing::None, true},
             Case{"CONNECT", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", Framing::None, true},
             Case{"CONNECT",
                  "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n",
                  Framing::None, true},
             Case{"CONNECT", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", Framing::None,
                  true},
             Case{"CONNECT", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", Framing::None, true},
             Case{"CONNECT", "HTTP/1.1 403 No\r\nContent-Length: 9\r\n\r\n", Framing::Length, true},
         }) {
        ResponseParser parser;
        ASSERT_EQ(parse(parser, each.text, each.method), Progress::Done) << each.text;
        EXPECT_EQ(parser.head().framing, each.framing) << each.method << ' ' << each.text;
        EXPECT_EQ(parser.head().keep_alive, each.keep_alive) << each.method << ' ' << each.text;
    }
}

TEST(ResponseHead, HTTP_5_limits_hold) {
    HeadLimits limits{.head_bytes = 100, .line_bytes = 50, .field_bytes = 60, .fields = 2};
    auto refused = [&](const std::string& text) {
        ResponseParser parser(limits);
        return parser.parse(text, "GET") == Progress::Failed;
    };
    EXPECT_FALSE(refused("HTTP/1.1 200 " + std::string(37, 'a') + "\r\n\r\n"));
    EXPECT_TRUE(refused("HTTP/1.1 200 " + std::string(38, 'a') + "\r\n\r\n"));
    EXPECT_TRUE(refused("HTTP/1.1 200 " + std::string(38, 'a')));
    EXPECT_FALSE(refused("HTTP/1.1 200\r\na: 1\r\nb: 2\r\n\r\n"));
    EXPECT_TRUE(refused("HTTP/1.1 200\r\na: 1\r\nb: 2\r\nc: 3\r\n\r\n"));
    EXPECT_TRUE(refused("HTTP/1.1 200\r\na: " + std::string(58, 'x') + "\r\n\r\n"));
    EXPECT_TRUE(refused("HTTP/1.1 200\r\na: " + std::string(40, 'x') +
                        "\r\nb: " + std::string(40, 'x') + "\r\n\r\n"));
}

TEST(ResponseHead, HTTP_5_pieces_give_the_same_as_the_whole) {
    constexpr std::string_view kText = "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 3\r\n\r\nabc";
    ResponseParser parser;
    std::string kept;
    Progress progress = Progress::NeedMore;
    for (std::size_t size = 0; progress == Progress::NeedMore && size <= kText.size(); ++size) {
        kept = std::string(kText.substr(0, size));
        progress = parser.parse(kept, "GET");
    }
    ASSERT_EQ(progress, Progress::Done);
    EXPECT_EQ(parser.consumed(), kText.size() - 3);
    EXPECT_EQ(parser.head().length, 3U);
    EXPECT_EQ(parser.head().headers.get("a"), "b");
}

}  // namespace
}  // namespace weft::http::wire
