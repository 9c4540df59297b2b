#include "weft/http/wire/target.h"

#include <gtest/gtest.h>

namespace weft::http::wire {
namespace {

TEST(Target, HTTP_1_the_four_forms_are_told_apart) {
    std::optional<Target> target = parse_target("GET", "/a/b?c?d");
    ASSERT_TRUE(target);
    EXPECT_EQ(target->form, Target::Form::Origin);
    EXPECT_EQ(target->path, "/a/b");
    EXPECT_TRUE(target->has_query);
    EXPECT_EQ(target->query, "c?d");
    target = parse_target("GET", "HTTP://[::1]:80?q");
    ASSERT_TRUE(target);
    EXPECT_EQ(target->form, Target::Form::Absolute);
    EXPECT_EQ(target->scheme, "HTTP");
    EXPECT_EQ(target->authority, "[::1]:80");
    EXPECT_EQ(target->path, "/");
    EXPECT_EQ(target->query, "q");
    target = parse_target("CONNECT", "a:443");
    ASSERT_TRUE(target);
    EXPECT_EQ(target->form, Target::Form::Authority);
    EXPECT_EQ(target->authority, "a:443");
    target = parse_target("OPTIONS", "*");
    ASSERT_TRUE(target);
    EXPECT_EQ(target->form, Target::Form::Asterisk);
    EXPECT_FALSE(parse_target("GET", "/a")->has_query);
    EXPECT_TRUE(parse_target("GET", "/a?")->has_query);
}

TEST(Target, HTTP_1_what_is_none_is_refused) {
    for (std::string_view text : {"",
                                  "*",
                                  "a",
                                  "a/b",
                                  "a:80",
                                  "/#",
                                  "/a b",
                                  "/\x7f",
                                  "/\xc3\xa4",
                                  "/\\",
                                  "/%",
                                  "/%4",
                                  "/%4g",
                                  "http:",
                                  "http:/",
                                  "http://",
                                  "http:///",
                                  "http://u@a/",
                                  "http://a:b/",
                                  "http://a:65536/",
                                  "http://a/\\",
                                  "http://a/%",
                                  "http://a\\@b/",
                                  "http://[::1/",
                                  "http://[1::2::3]/",
                                  "1http://a/",
                                  "ht_tp://a/",
                                  "http://a/#b",
                                  "://a/",
                                  "?a"}) {
        EXPECT_FALSE(parse_target("GET", text)) << text;
    }
    for (std::string_view text :
         {"/", "a", "a:", "a:0", "http://a:80/", ":80", "u@a:80", "a:80/"}) {
        EXPECT_FALSE(parse_target("CONNECT", text)) << text;
    }
}

TEST(Target, HTTP_1_another_scheme_is_misdirected) {
    auto misdirected = [](std::string_view text, Transport transport) {
        return is_misdirected(*parse_target("GET", text), transport);
    };
    for (Transport transport : {Transport::Plain, Transport::Secured}) {
        EXPECT_FALSE(misdirected("/", transport));
        EXPECT_FALSE(misdirected("HTTP://a/", transport));
        EXPECT_TRUE(misdirected("ftp://a/", transport));
        EXPECT_EQ(misdirected("Https://a/", transport), transport == Transport::Plain);
    }
}

TEST(Target, HTTP_1_hosts_are_names_and_numbers) {
    std::optional<HostPort> host = parse_host_port("[2001:db8::1]:8080");
    ASSERT_TRUE(host);
    EXPECT_EQ(host->host, "2001:db8::1");
    EXPECT_TRUE(host->is_ipv6);
    EXPECT_EQ(host->port, 8080);
    host = parse_host_port("a.b");
    ASSERT_TRUE(host);
    EXPECT_EQ(host->host, "a.b");
    EXPECT_FALSE(host->is_ipv6);
    EXPECT_FALSE(host->port);
    EXPECT_EQ(parse_host_port("a:65535")->port, 65535);
    for (std::string_view text : {"",
                                  ":",
                                  ":1",
                                  "a:65536",
                                  "a:99999999999",
                                  "a:-1",
                                  "a: 1",
                                  "a:1 ",
                                  "a b",
                                  "u@a",
                                  "a/",
                                  "[",
                                  "[]",
                                  "[a]",
                                  "[::1",
                                  "[::1]1",
                                  "[::1]:a",
                                  "::1",
                                  "[::1%25eth0]",
                                  "[v1.a]",
                                  "[1:2:3:4:5:6:7]",
                                  "[1:2:3:4:5:6:7:8:9]",
                                  "[1:2:3:4::5:6:7:8]",
                                  "[12345::]",
                                  "[:::]",
                                  "[1::2::3]",
                                  "[::1.2.3]",
                                  "[::1.2.3.256]",
                                  "[::01.2.3.4]",
                                  "[1.2.3.4::]",
                                  "[1.2.3.4]",
                                  "[:1:2:3:4:5:6:7]",
                                  "[1:2:3:4:5:6:7:]",
                                  "a%41",
                                  "127.1",
                                  "2130706433",
                                  "0x7f.1",
                                  "a.0X",
                                  "1.2.3.256:80",
                                  "01.2.3.4",
                                  "1.2.3.4.5",
                                  "1.2.3.4.",
                                  "a.1"}) {
        EXPECT_FALSE(parse_host_port(text)) << text;
    }
    for (std::string_view text :
         {"[::]", "[1::]", "[::1]", "[1:2:3:4:5:6:7:8]", "[1:2:3:4:5:6:1.2.3.4]", "[::1.2.3.4]",
          "[1:2:3::5:6:7:8]", "[ABCD:ef01::]", "[1:2:3:4:5:6:7::]", "a:", "a_b", "a!$&'()*+,;=~",
          "1.2.3.4:80", "1a", "1.2.3.4.a", "a.0xg", "1.a", "."}) {
        EXPECT_TRUE(parse_host_port(text)) << text;
    }
}

std::string url(std::string_view text) {
    Result<Url> parsed = Url::parse(text);
    return parsed ? parsed->to_string() : "none";
}

TEST(Url, HTTP_5_is_read_and_written) {
    EXPECT_EQ(url("http://a"), "http://a/");
    EXPECT_EQ(url("HTTP://ExAmple.ORG:80/A?b#c"), "http://example.org/A?b");
    EXPECT_EQ(url("https://a:443?q"), "https://a/?q");
    EXPECT_EQ(url("https://a:80/"), "https://a:80/");
    EXPECT_EQ(url("ws://[::1]:81/x"), "ws://[::1]:81/x");
    EXPECT_EQ(url("wss://a:/"), "wss://a/");
    EXPECT_TRUE(Url::parse("wss://a/")->is_secure());
    EXPECT_FALSE(Url::parse("http://a/")->is_secure());
    EXPECT_EQ(Url::parse("https://a/")->port(), 443);
    EXPECT_EQ(Url::parse("http://[::1]/")->host(), "::1");
    EXPECT_EQ(Url::parse("http://a:8080/")->authority(), "a:8080");
}

TEST(Url, HTTP_5_what_is_none_is_an_error) {
    for (std::string_view text : {"",
                                  "a",
                                  "/a",
                                  "//a/",
                                  "http",
                                  "http:",
                                  "http:/a",
                                  "http:a",
                                  "http://",
                                  "http:///a",
                                  "http://u@a/",
                                  "http://u:p@a/",
                                  "http://a b/",
                                  "http://a/b c",
                                  "http://a/\xc3\xa4",
                                  "ftp://a/",
                                  "file:///a",
                                  "javascript:x",
                                  "http://a:0/",
                                  "http://a:65536/",
                                  "http://[::1",
                                  "http://a/\r\nb",
                                  "http://a\\b/",
                                  "http://a/\x01",
                                  " http://a/",
                                  "http://?a",
                                  "http://#"}) {
        EXPECT_EQ(url(text), "none") << text;
    }
}

// RFC 3986 §5.4. A fragment is not sent, and so not kept.
TEST(Url, HTTP_5_a_reference_is_resolved_as_in_the_examples_of_RFC_3986) {
    Url base = *Url::parse("http://a/b/c/d;p?q");
    struct Case {
        const char* reference;
        const char* expected;
    };
    for (const Case& each : {
             Case{"g", "http://a/b/c/g"},
             Case{"./g", "http://a/b/c/g"},
             Case{"g/", "http://a/b/c/g/"},
             Case{"/g", "http://a/g"},
             Case{"//g", "http://g/"},
             Case{"?y", "http://a/b/c/d;p?y"},
             Case{"g?y", "http://a/b/c/g?y"},
             Case{"#s", "http://a/b/c/d;p?q"},
             Case{"g#s", "http://a/b/c/g"},
             Case{"g?y#s", "http://a/b/c/g?y"},
             Case{";x", "http://a/b/c/;x"},
             Case{"g;x", "http://a/b/c/g;x"},
             Case{"g;x?y#s", "http://a/b/c/g;x?y"},
             Case{"", "http://a/b/c/d;p?q"},
             Case{".", "http://a/b/c/"},
             Case{"./", "http://a/b/c/"},
             Case{"..", "http://a/b/"},
             Case{"../", "http://a/b/"},
             Case{"../g", "http://a/b/g"},
             Case{"../..", "http://a/"},
             Case{"../../", "http://a/"},
             Case{"../../g", "http://a/g"},
             Case{"../../../g", "http://a/g"},
             Case{"../../../../g", "http://a/g"},
             Case{"/./g", "http://a/g"},
             Case{"/../g", "http://a/g"},
             Case{"g.", "http://a/b/c/g."},
             Case{".g", "http://a/b/c/.g"},
             Case{"g..", "http://a/b/c/g.."},
             Case{"..g", "http://a/b/c/..g"},
             Case{"./../g", "http://a/b/g"},
             Case{"./g/.", "http://a/b/c/g/"},
             Case{"g/./h", "http://a/b/c/g/h"},
             Case{"g/../h", "http://a/b/c/h"},
             Case{"g;x=1/./y", "http://a/b/c/g;x=1/y"},
             Case{"g;x=1/../y", "http://a/b/c/y"},
             Case{"g?y/./x", "http://a/b/c/g?y/./x"},
             Case{"g?y/../x", "http://a/b/c/g?y/../x"},
             Case{"g#s/./x", "http://a/b/c/g"},
             Case{"g#s/../x", "http://a/b/c/g"},
             Case{"https://x:1/y/../z?w", "https://x:1/z?w"},
             Case{"//x?y", "http://x/?y"},
             Case{"./g:h", "http://a/b/c/g:h"},
         }) {
        Result<Url> resolved = base.resolve(each.reference);
        ASSERT_TRUE(resolved) << each.reference;
        EXPECT_EQ(resolved->to_string(), each.expected) << each.reference;
    }
    // Of the two last ones the first is no URL of ours, and the second is one without a host.
    EXPECT_FALSE(base.resolve("g:h"));
    EXPECT_FALSE(base.resolve("http:g"));
    EXPECT_FALSE(base.resolve("//u@a/"));
}

TEST(Url, HTTP_5_what_a_reference_should_have_escaped_is_escaped) {
    Url base = *Url::parse("http://a/b/c?d");
    struct Case {
        const char* reference;
        const char* expected;
    };
    for (const Case& each : {
             Case{"x y", "http://a/b/x%20y"},
             Case{"/\xc3\xa4?\xe2\x82\xac", "http://a/%C3%A4?%E2%82%AC"},
             Case{"/\"q\"<r>", "http://a/%22q%22%3Cr%3E"},
             Case{"http://b/x y#z w", "http://b/x%20y"},
             Case{"//b/x y", "http://b/x%20y"},
             Case{"  /x  ", "http://a/x"},
             Case{"/x\ty\r\n", "http://a/xy"},
             Case{"/a%20b%zz", "http://a/a%20b%zz"},
             Case{"/\x01", "http://a/%01"},
             Case{"?q r", "http://a/b/c?q%20r"},
         }) {
        Result<Url> resolved = base.resolve(each.reference);
        ASSERT_TRUE(resolved) << each.reference;
        EXPECT_EQ(resolved->to_string(), each.expected) << each.reference;
    }
    // A host is not guessed at.
    EXPECT_FALSE(base.resolve("http://b c/"));
    EXPECT_FALSE(base.resolve("http://\xc3\xa4/"));
}

TEST(Path, HTTP_8_is_decoded_once_and_cannot_leave_the_root) {
    EXPECT_EQ(normalize_path("/"), "/");
    EXPECT_EQ(normalize_path("/a/b"), "/a/b");
    EXPECT_EQ(normalize_path("/a/./b/../c"), "/a/c");
    EXPECT_EQ(normalize_path("/a/.."), "/");
    EXPECT_EQ(normalize_path("/a/."), "/a/");
    EXPECT_EQ(normalize_path("/a/b/../"), "/a/");
    EXPECT_EQ(normalize_path("/%41%2fb"), "/A/b");
    EXPECT_EQ(normalize_path("/%252e%252e/a"), "/%2e%2e/a");
    EXPECT_EQ(normalize_path("/.../..a"), "/.../..a");
    EXPECT_EQ(normalize_path("/a%2f..%2f..%2fb"), std::nullopt);
    for (std::string_view path :
         {"", "a", "..", "/..", "/../a", "/a/../..", "/%2e%2e/", "/%2e./", "/a/%2e%2e/%2e%2e", "/%",
          "/%0", "/%zz", "/a%00b", "%2fa/../.."}) {
        EXPECT_FALSE(normalize_path(path)) << path;
    }
}

TEST(Path, HTTP_8_escapes_are_undone_and_done) {
    EXPECT_EQ(percent_decode("a%20b%C3%a4"), "a b\xc3\xa4");
    EXPECT_EQ(percent_decode("%2541"), "%41");
    EXPECT_FALSE(percent_decode("%"));
    EXPECT_FALSE(percent_decode("a%4"));
    EXPECT_FALSE(percent_decode("%g1"));
    EXPECT_FALSE(percent_decode("a%00"));
    EXPECT_FALSE(percent_decode(std::string_view("a\0b", 3)));
    EXPECT_EQ(percent_encode("a b/\xc3\xa4-._~"), "a%20b%2F%C3%A4-._~");
    EXPECT_EQ(percent_encode("/a?b", Slashes::Keep), "/a%3Fb");
}

TEST(Query, HTTP_1_pairs_are_decoded) {
    using Pairs = std::vector<std::pair<std::string, std::string>>;
    EXPECT_EQ(parse_query("a=1&b=%20+x&&c&=d&e=f=g&%zz=%4&%00"),
              (Pairs{{"a", "1"},
                     {"b", "  x"},
                     {"c", ""},
                     {"", "d"},
                     {"e", "f=g"},
                     {"%zz", "%4"},
                     {std::string(1, '\0'), ""}}));
    EXPECT_TRUE(parse_query("").empty());
}

}  // namespace
}  // namespace weft::http::wire
