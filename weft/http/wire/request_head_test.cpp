#include <gtest/gtest.h>

#include <string>

#include "weft/http/wire/head.h"

namespace weft::http::wire {
namespace {

// 0 when it is taken, -1 when more is needed, else the status of the refusal.
int status_of(std::string_view bytes, const HeadLimits& limits = {}) {
    RequestParser parser(limits);
    switch (parser.parse(bytes)) {
    case Progress::Done: return 0;
    case Progress::NeedMore: return -1;
    case Progress::Failed: break;
    }
    EXPECT_STRNE(parser.error().reason, "");
    return parser.error().status;
}

std::string with(std::string_view fields) {
    return std::string("POST / HTTP/1.1\r\nHost: a\r\n").append(fields).append("\r\n");
}

TEST(RequestHead, HTTP_1_says_what_was_sent) {
    constexpr std::string_view kRequest =
        "GET /a/b?c=d HTTP/1.1\r\nHost: example.org:80\r\nX-Empty:\r\nx-tabs:\t a b\t\r\n\r\nrest";
    RequestParser parser;
    ASSERT_EQ(parser.parse(kRequest), Progress::Done);
    RequestHead& head = parser.head();
    EXPECT_EQ(parser.consumed(), kRequest.size() - 4);
    EXPECT_EQ(head.method, "GET");
    EXPECT_EQ(head.target, "/a/b?c=d");
    EXPECT_EQ(head.version, Version::Http11);
    EXPECT_EQ(head.host, "example.org:80");
    EXPECT_EQ(head.framing, Framing::None);
    EXPECT_TRUE(head.keep_alive);
    EXPECT_EQ(head.headers.size(), 3U);
    EXPECT_EQ(head.headers.get("x-empty"), "");
    EXPECT_EQ(head.headers.get("x-tabs"), "a b");
}

TEST(RequestHead, HTTP_1_framing_is_read) {
    RequestParser parser;
    ASSERT_EQ(parser.parse(with("content-LENGTH:  42 \r\n")), Progress::Done);
    EXPECT_EQ(parser.head().framing, Framing::Length);
    EXPECT_EQ(parser.head().length, 42U);
    parser.reset();
    ASSERT_EQ(parser.parse(with("Transfer-Encoding: Chunked\r\n")), Progress::Done);
    EXPECT_EQ(parser.head().framing, Framing::Chunked);
    parser.reset();
    ASSERT_EQ(parser.parse(with("")), Progress::Done);
    EXPECT_EQ(parser.head().framing, Framing::None);
    EXPECT_EQ(parser.head().length, 0U);
}

TEST(RequestHead, HTTP_1_a_content_length_that_could_be_read_in_two_ways_is_refused) {
    for (std::string_view length :
         {"+5", "-5", "0x5", "5,5", "5, 5", "5 5", "", "5a", "a5", "5;", "\"5\"", "5.0", "1e3",
          "9223372036854775808", "18446744073709551616", "18446744073709551621",
          "99999999999999999999999999"}) {
        std::string text = with("Content-Length: " + std::string(length) + "\r\n");
        EXPECT_EQ(status_of(text), 400) << length;
    }
    EXPECT_EQ(status_of(with("Content-Length: 9223372036854775807\r\n")), 0);
    EXPECT_EQ(status_of(with("Content-Length: 5\r\nContent-Length: 5\r\n")), 400);
    EXPECT_EQ(status_of(with("Content-Length: 5\r\nContent-Length: 6\r\n")), 400);
}

TEST(RequestHead, HTTP_1i_length_and_chunked_together_are_refused) {
    EXPECT_EQ(status_of(with("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n")), 400);
    EXPECT_EQ(status_of(with("Transfer-Encoding: chunked\r\nContent-Length: 0\r\n")), 400);
}

TEST(RequestHead, HTTP_1_a_transfer_coding_other_than_chunked_is_refused) {
    for (std::string_view coding :
         {"chunked, identity", "identity, chunked", "gzip, chunked", "chunked, chunked", "chunked,",
          ",chunked", "chunked;q=1", "\"chunked\"", "chunked chunked", "", "chun ked",
          "\x0b"
          "chunked"}) {
        EXPECT_EQ(status_of(with("Transfer-Encoding: " + std::string(coding) + "\r\n")), 400)
            << coding;
    }
    for (std::string_view coding : {"xchunked", " xchunked", "gzip", "identity", "chunkedx"}) {
        EXPECT_EQ(status_of(with("Transfer-Encoding: " + std::string(coding) + "\r\n")), 501)
            << coding;
    }
    EXPECT_EQ(status_of(with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n")), 400);
    EXPECT_EQ(status_of("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
}

TEST(RequestHead, HTTP_1_malformed_fields_are_refused) {
    for (std::string_view field : {"A : b",
                                   "A\t: b",
                                   "A B: c",
                                   " A: b",
                                   "\tA: b",
                                   ": b",
                                   ":",
                                   "A",
                                   "A\x01: b",
                                   "(A): b",
                                   "A/: b",
                                   "A: b\x01",
                                   "A: b\x7f",
                                   "A: b\rc",
                                   "A: b\nC: d",
                                   "A: \r\n folded",
                                   "A: b\r\n\tfolded",
                                   "\xc3\xa4: b",
                                   "A: b\r\r",
                                   "\"A\": b",
                                   "A: b\n"}) {
        EXPECT_EQ(status_of(with(std::string(field) + "\r\n")), 400) << field;
    }
    EXPECT_EQ(status_of(with(std::string("A: b\0c\r\n", 8))), 400);
    EXPECT_EQ(status_of(with(std::string("A\0: bc\r\n", 9))), 400);
    EXPECT_EQ(status_of(with("A_b: c\r\nd: \xc3\xa4\r\n")), 0);
}

TEST(RequestHead, HTTP_1_a_line_that_ends_with_a_bare_LF_is_refused) {
    for (std::string_view text :
         {"GET / HTTP/1.1\nHost: a\n\n", "GET / HTTP/1.1\nHost: a\r\n\r\n",
          "GET / HTTP/1.1\r\nHost: a\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\n",
          "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\r\r\n"}) {
        EXPECT_EQ(status_of(text), 400) << text;
    }
}

TEST(RequestHead, HTTP_1_a_host_is_demanded_once_and_must_be_one) {
    auto host = [](std::string_view text) {
        return status_of("GET / HTTP/1.1\r\n" + std::string(text) + "\r\n");
    };
    EXPECT_EQ(host(""), 400);
    EXPECT_EQ(host("Host: a\r\nHost: a\r\n"), 400);
    EXPECT_EQ(host("Host: a\r\nhost: b\r\n"), 400);
    for (std::string_view bad :
         {"",           "a b",      "a/b",    "u@a",   "a:b",         "a:1:2",      "a:65536",
          "[::1",       "::1",      "[::1]x", "[g::]", "a,b c",       "a?b",        "a#b",
          ":80",        "\xc3\xa4", "a%2eb",  "127.1", "999.999.1.1", "2130706433", "0x7f000001",
          "example.123"}) {
        EXPECT_EQ(host("Host: " + std::string(bad) + "\r\n"), 400) << bad;
    }
    for (std::string_view good : {"a", "a.b:8080", "127.0.0.1", "[::1]", "[::1]:80", "a_b-c.d",
                                  "a:", "example.1com", "example.com."}) {
        EXPECT_EQ(host("Host: " + std::string(good) + "\r\n"), 0) << good;
    }
    EXPECT_EQ(status_of("GET / HTTP/1.0\r\n\r\n"), 0);
    EXPECT_EQ(status_of("GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n"), 400);
}

TEST(RequestHead, HTTP_1_a_host_that_differs_from_the_target_is_refused) {
    auto request = [](std::string_view line, std::string_view host) {
        return status_of(std::string(line) + " HTTP/1.1\r\nHost: " + std::string(host) +
                         "\r\n\r\n");
    };
    EXPECT_EQ(request("GET http://a/", "b"), 400);
    EXPECT_EQ(request("GET http://a/", "a:81"), 400);
    EXPECT_EQ(request("GET http://a:81/", "a"), 400);
    EXPECT_EQ(request("GET http://a/", "A:80"), 0);
    EXPECT_EQ(request("GET https://a:443", "a"), 0);
    EXPECT_EQ(request("CONNECT a:443", "b:443"), 400);
    EXPECT_EQ(request("CONNECT a:443", "a:444"), 400);
    EXPECT_EQ(request("CONNECT a:443", "a:443"), 0);
    EXPECT_EQ(request("CONNECT a:443", "a"), 0);
    RequestParser parser;
    ASSERT_EQ(parser.parse("GET http://a:81/ HTTP/1.0\r\n\r\n"), Progress::Done);
    EXPECT_EQ(parser.head().host, "a:81");
}

TEST(RequestHead, HTTP_1_malformed_request_lines_are_refused) {
    for (std::string_view line : {"GET  / HTTP/1.1",
                                  "GET /  HTTP/1.1",
                                  " GET / HTTP/1.1",
                                  "GET\t/ HTTP/1.1",
                                  "GET /\tHTTP/1.1",
                                  "GET / HTTP/1.1 ",
                                  "GET /",
                                  "GET",
                                  "GET / http/1.1",
                                  "GET / HTTP/1",
                                  "GET / HTTP/11",
                                  "GET / HTTP/1.11",
                                  "GET / HTTP/1,1",
                                  "GET / HTTP/x.1",
                                  "GET / HTTPS/1.1",
                                  "G(T / HTTP/1.1",
                                  "GET /a b HTTP/1.1",
                                  "GET /\xc3\xa4 HTTP/1.1",
                                  "GET /#a HTTP/1.1",
                                  "GET http://u@a/ HTTP/1.1",
                                  "GET http://u:p@a/ HTTP/1.1",
                                  "GET a HTTP/1.1",
                                  "GET a:80 HTTP/1.1",
                                  "GET * HTTP/1.1",
                                  "CONNECT / HTTP/1.1",
                                  "CONNECT a HTTP/1.1",
                                  "CONNECT a: HTTP/1.1",
                                  "CONNECT a:0 HTTP/1.1",
                                  "CONNECT http://a/ HTTP/1.1",
                                  "GET http:///a HTTP/1.1",
                                  "GET /\\a HTTP/1.1",
                                  "GET /%zz HTTP/1.1",
                                  "GET /% HTTP/1.1",
                                  "GET /<a> HTTP/1.1",
                                  "GET /\x01 HTTP/1.1",
                                  "GET /\x7f HTTP/1.1",
                                  "\x16\x03\x01"}) {
        EXPECT_EQ(status_of(std::string(line) + "\r\nHost: a\r\n\r\n"), 400) << line;
    }
    EXPECT_EQ(status_of("get / HTTP/1.1\r\nHost: a\r\n\r\n"), 0);
    EXPECT_EQ(status_of("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"), 0);
    EXPECT_EQ(status_of("GET /?a[]={|}^`\\%zz' HTTP/1.1\r\nHost: a\r\n\r\n"), 0);
}

TEST(RequestHead, HTTP_1_other_versions_are_not_supported) {
    for (std::string_view version : {"2.0", "0.9", "3.0", "9.9"}) {
        EXPECT_EQ(status_of("GET / HTTP/" + std::string(version) + "\r\nHost: a\r\n\r\n"), 505);
    }
    // RFC 9110 §2.5: what is later and of the same kind is read as what we know.
    for (std::string_view version : {"1.2", "1.9"}) {
        RequestParser parser;
        std::string text = "GET / HTTP/" + std::string(version) + "\r\nHost: a\r\n\r\n";
        ASSERT_EQ(parser.parse(text), Progress::Done);
        EXPECT_EQ(parser.head().version, Version::Http11);
        EXPECT_TRUE(parser.head().keep_alive);
    }
    EXPECT_EQ(status_of("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 505);
}

TEST(RequestHead, HTTP_1h_a_refusal_says_what_is_wrong) {
    struct Case {
        const char* text;
        const char* reason;
    };
    for (const Case& each : {
             Case{"GET /%zz HTTP/1.1", "a broken escape in the path"},
             Case{"GET /a\\b HTTP/1.1", "a backslash in the path"},
             Case{"GET /a b HTTP/1.1", "a blank in the target, or no HTTP version behind it"},
             Case{"GET /a#b HTTP/1.1", "a fragment in the target"},
             Case{"GET /a<b HTTP/1.1", "a character in the target that must be escaped"},
             Case{"GET /\xc3\xa4 HTTP/1.1",
                  "a byte beyond ASCII in the target, which must be escaped"},
             Case{"GET /\x01 HTTP/1.1", "a control character in the target"},
             Case{"GET /", "no HTTP version behind the target"},
             Case{"GET * HTTP/1.1", "the target * with a method other than OPTIONS"},
             Case{"GET a HTTP/1.1", "a target that begins with neither / nor a scheme"},
             Case{"GET http://u@a/ HTTP/1.1", "a target whose host is no host[:port]"},
             Case{"CONNECT a HTTP/1.1", "a CONNECT whose target is no host:port"},
             Case{" GET / HTTP/1.1", "a blank before the method"},
             Case{"G(T / HTTP/1.1", "a character that a method cannot have"},
             Case{"GET", "a request line without a target"},
             Case{"\x16\x03\x01", "TLS, where plain HTTP is spoken"},
         }) {
        RequestParser parser;
        ASSERT_EQ(parser.parse(std::string(each.text) + "\r\nHost: a\r\n\r\n"), Progress::Failed)
            << each.text;
        EXPECT_STREQ(parser.error().reason, each.reason) << each.text;
    }
    auto reason_of = [](std::string_view fields) {
        RequestParser parser;
        parser.parse("GET / HTTP/1.1\r\n" + std::string(fields) + "\r\n");
        return std::string(parser.error().reason);
    };
    EXPECT_EQ(reason_of(""), "no Host field");
    EXPECT_EQ(reason_of("Host:\r\n"), "an empty Host");
    EXPECT_EQ(reason_of("Host: a/b\r\n"), "a Host that is no host[:port]");
}

TEST(RequestHead, HTTP_1_targets_may_have_utf_8_where_that_is_allowed) {
    HeadLimits allowed{.utf8_targets = Utf8Targets::Allow};
    auto line = [](std::string_view target) {
        return "GET " + std::string(target) + " HTTP/1.1\r\nHost: a\r\n\r\n";
    };
    for (std::string_view target :
         {"/\xc3\xa4", "/a?\xe2\x82\xac=1", "http://a/\xf0\x9f\x99\x82/b-that-is-longer-than-16"}) {
        EXPECT_EQ(status_of(line(target), allowed), 0) << target;
        EXPECT_EQ(status_of(line(target)), 400) << target;
    }
    RequestParser parser(allowed);
    std::string text = line("/\xc3\xa4?b");
    ASSERT_EQ(parser.parse(text), Progress::Done);
    EXPECT_EQ(parser.target().path, "/\xc3\xa4");
    // Not anything: what is no UTF-8, hosts, and what is forbidden anyway.
    for (std::string_view target : {"/\xc3", "/\xff", "/\xed\xa0\x80", "http://\xc3\xa4/",
                                    "/\xc3\xa4#b", "/\xc3\xa4\x01", "/\xc3\xa4\x7f"}) {
        EXPECT_EQ(status_of(line(target), allowed), 400) << target;
    }
}

TEST(RequestHead, HTTP_1_one_empty_line_before_a_request_is_ignored) {
    EXPECT_EQ(status_of("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"), 0);
    EXPECT_EQ(status_of("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
    EXPECT_EQ(status_of("\r"), -1);
    EXPECT_EQ(status_of("\r\n"), -1);
    EXPECT_EQ(status_of("\rG"), 400);
}

TEST(RequestHead, HTTP_1_what_is_surely_wrong_is_refused_before_the_head_ends) {
    EXPECT_EQ(status_of("\x16"), 400);
    EXPECT_EQ(status_of(" "), 400);
    EXPECT_EQ(status_of("GET /\xff"), 400);
    EXPECT_EQ(status_of("GET / X"), 400);
    EXPECT_EQ(status_of("GET / HTTP/2.0\r\n"), 505);
    EXPECT_EQ(status_of("GET / HTTP/1.1\r\nA B"), 400);
    EXPECT_EQ(status_of("GET / HTTP/1.1\r\n "), 400);
    EXPECT_EQ(status_of("GET / HTTP/1.1\r\nA: \n"), 400);
    for (std::string_view part :
         {"", "G", "GET", "GET ", "GET /", "GET / ", "GET / HTTP/1.", "GET / HTTP/1.1\r",
          "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nA: b\r\n\r"}) {
        EXPECT_EQ(status_of(part), -1) << part;
    }
}

TEST(RequestHead, HTTP_1_a_sender_of_pieces_is_refused_early_too) {
    auto refused_after = [](std::string_view first, std::string_view second) {
        RequestParser parser;
        EXPECT_EQ(parser.parse(first), Progress::NeedMore);
        return parser.parse(std::string(first).append(second)) == Progress::Failed;
    };
    EXPECT_TRUE(refused_after("G", std::string_view("\0", 1)));
    EXPECT_TRUE(refused_after("GET / HTTP/1.1", "\n"));
    EXPECT_TRUE(refused_after("GET / HT", "TP/2.0\r\n"));
    EXPECT_TRUE(refused_after("GET / HTTP/1.1\r\nA: b", "\nB: c"));
}

TEST(RequestHead, HTTP_1_limits_have_their_statuses) {
    HeadLimits limits{.head_bytes = 200, .line_bytes = 50, .field_bytes = 60, .fields = 3};
    auto line = [&](std::size_t bytes) {
        return "GET /" + std::string(bytes - 14, 'a') + " HTTP/1.1";
    };
    EXPECT_EQ(status_of(line(50) + "\r\nHost: a\r\n\r\n", limits), 0);
    EXPECT_EQ(status_of("\r\n" + line(50) + "\r\nHost: a\r\n\r\n", limits), 0);
    EXPECT_EQ(status_of("\r\n" + line(50) + "\r", limits), -1);
    EXPECT_EQ(status_of(line(51) + "\r\nHost: a\r\n\r\n", limits), 414);
    EXPECT_EQ(status_of("GET /" + std::string(60, 'a'), limits), 414);
    EXPECT_EQ(status_of(std::string(60, 'G'), limits), 414);
    auto head = [](std::string_view fields) {
        return "GET / HTTP/1.0\r\n" + std::string(fields) + "\r\n";
    };
    EXPECT_EQ(status_of(head("a: " + std::string(57, 'x') + "\r\n"), limits), 0);
    EXPECT_EQ(status_of(head("a: " + std::string(58, 'x') + "\r\n"), limits), 431);
    EXPECT_EQ(status_of(head("a: 1\r\nb: 2\r\nc: 3\r\n"), limits), 0);
    EXPECT_EQ(status_of(head("a: 1\r\nb: 2\r\nc: 3\r\nd: 4\r\n"), limits), 431);
    limits.field_bytes = 1000;
    std::string longest = head("a: " + std::string(200 - 16 - 7, 'x') + "\r\n");
    ASSERT_EQ(longest.size(), 200U);
    EXPECT_EQ(status_of(longest, limits), 0);
    EXPECT_EQ(status_of(head("a: " + std::string(200 - 16 - 6, 'x') + "\r\n"), limits), 431);
}

TEST(RequestHead, HTTP_1_the_connection_stays_as_the_version_and_the_fields_say) {
    auto stays = [](std::string_view version, std::string_view fields) {
        RequestParser parser;
        std::string text = "GET / HTTP/" + std::string(version) + "\r\nHost: a\r\n";
        EXPECT_EQ(parser.parse(text.append(fields).append("\r\n")), Progress::Done);
        return parser.head().keep_alive;
    };
    EXPECT_TRUE(stays("1.1", ""));
    EXPECT_FALSE(stays("1.1", "Connection: x, Close\r\n"));
    EXPECT_FALSE(stays("1.1", "Connection: x\r\nConnection: close\r\n"));
    EXPECT_TRUE(stays("1.1", "Connection: closed\r\n"));
    EXPECT_FALSE(stays("1.0", ""));
    EXPECT_TRUE(stays("1.1", "Connection: ,\r\nConnection:\r\n"));
    EXPECT_TRUE(stays("1.0", "Connection: Keep-Alive\r\n"));
    EXPECT_FALSE(stays("1.0", "Connection: keep-alive, close\r\n"));
}

TEST(RequestHead, HTTP_1_a_connection_that_is_no_list_of_tokens_is_refused) {
    for (std::string_view options : {"a b", "close;", "\"close\"", "a, b c", "close=1"}) {
        EXPECT_EQ(status_of(with("Connection: " + std::string(options) + "\r\n")), 400) << options;
    }
}

TEST(RequestHead, HTTP_1_only_100_continue_may_be_expected) {
    RequestParser parser;
    ASSERT_EQ(parser.parse(with("Expect: 100-Continue\r\nContent-Length: 1\r\n")), Progress::Done);
    EXPECT_TRUE(parser.head().expects_continue);
    parser.reset();
    ASSERT_EQ(parser.parse(with("Expect: 100-continue\r\n")), Progress::Done);
    EXPECT_FALSE(parser.head().expects_continue);
    parser.reset();
    constexpr std::string_view kOld =
        "POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n";
    ASSERT_EQ(parser.parse(kOld), Progress::Done);
    EXPECT_FALSE(parser.head().expects_continue);
    EXPECT_EQ(status_of(with("Expect: x\r\n")), 417);
    EXPECT_EQ(status_of(with("Expect: 100-continue, x\r\n")), 417);
    EXPECT_EQ(status_of(with("Expect: 100-continue=1\r\n")), 417);
}

TEST(RequestHead, HTTP_1_upgrades_need_both_fields_and_the_version) {
    auto upgrades = [](std::string_view version, std::string_view fields) {
        RequestParser parser;
        std::string text = "GET / HTTP/" + std::string(version) + "\r\nHost: a\r\n";
        EXPECT_EQ(parser.parse(text.append(fields).append("\r\n")), Progress::Done);
        return parser.head().upgrades;
    };
    EXPECT_TRUE(upgrades("1.1", "Connection: Upgrade\r\nUpgrade: websocket\r\n"));
    EXPECT_FALSE(upgrades("1.1", "Connection: Upgrade\r\n"));
    EXPECT_FALSE(upgrades("1.1", "Upgrade: websocket\r\n"));
    EXPECT_FALSE(upgrades("1.0", "Connection: Upgrade\r\nUpgrade: websocket\r\n"));
}

TEST(RequestHead, HTTP_1_a_CONNECT_has_no_body) {
    auto connect = [](std::string_view field) {
        return status_of("CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n" + std::string(field) + "\r\n\r\n");
    };
    EXPECT_EQ(connect("Content-Length: 5"), 400);
    EXPECT_EQ(connect("Transfer-Encoding: chunked"), 400);
    EXPECT_EQ(connect("Content-Length: 0"), 0);
}

TEST(RequestHead, HTTP_1_pieces_give_the_same_as_the_whole) {
    constexpr std::string_view kRequest =
        "\r\nPOST http://a.example/b?c HTTP/1.1\r\nHost: a.example\r\nContent-Length: 3\r\n\r\nabc";
    for (std::size_t step : {1U, 2U, 3U, 7U, 20U}) {
        RequestParser parser;
        Progress progress = Progress::NeedMore;
        std::string kept;
        for (std::size_t size = step; progress == Progress::NeedMore; size += step) {
            ASSERT_LE(size, kRequest.size() + step);
            // Another address each time, as when a buffer grows.
            kept = std::string(kRequest.substr(0, size));
            progress = parser.parse(kept);
        }
        ASSERT_EQ(progress, Progress::Done);
        EXPECT_EQ(parser.consumed(), kRequest.size() - 3);
        EXPECT_EQ(parser.head().host, "a.example");
        EXPECT_EQ(parser.head().length, 3U);
        EXPECT_EQ(parser.head().headers.size(), 2U);
    }
}

TEST(RequestHead, HTTP_1_nothing_of_one_request_is_left_in_the_next) {
    RequestParser parser;
    ASSERT_EQ(parser.parse(with("Content-Length: 3\r\nExpect: 100-continue\r\n"
                                "Connection: close, upgrade\r\nUpgrade: x\r\n")),
              Progress::Done);
    parser.reset();
    ASSERT_EQ(parser.parse("GET / HTTP/1.1\r\nHost: b\r\n\r\n"), Progress::Done);
    EXPECT_EQ(parser.head().framing, Framing::None);
    EXPECT_EQ(parser.head().length, 0U);
    EXPECT_TRUE(parser.head().keep_alive);
    EXPECT_FALSE(parser.head().expects_continue);
    EXPECT_FALSE(parser.head().upgrades);
    EXPECT_EQ(parser.head().headers.size(), 1U);
}

TEST(RequestHead, HTTP_1_a_second_request_needs_no_new_memory_for_its_fields) {
    std::string fields;
    for (int i = 0; i < 40; ++i) fields += "name: value\r\n";
    std::string request = with(fields);
    RequestParser parser;
    ASSERT_EQ(parser.parse(request), Progress::Done);
    const Headers::Field* memory = parser.head().headers.begin();
    parser.reset();
    ASSERT_EQ(parser.parse(request), Progress::Done);
    EXPECT_EQ(parser.head().headers.begin(), memory);
    EXPECT_EQ(parser.head().headers.size(), 41U);
}

TEST(RequestHead, HTTP_1_a_failed_parser_stays_failed) {
    RequestParser parser;
    EXPECT_EQ(parser.parse("\x16"), Progress::Failed);
    EXPECT_EQ(parser.parse("GET / HTTP/1.0\r\n\r\n"), Progress::Failed);
    parser.reset();
    EXPECT_EQ(parser.parse("GET / HTTP/1.0\r\n\r\n"), Progress::Done);
}

}  // namespace
}  // namespace weft::http::wire
