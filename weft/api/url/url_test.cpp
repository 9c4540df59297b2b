#include "weft/api/url/url.h"

#include <gtest/gtest.h>

#include "weft/api/url/host.h"
#include "weft/api/url/ip.h"
#include "weft/api/url/percent.h"
#include "weft/base/format.h"

namespace weft::api {
namespace {

std::string href_of(std::string_view input) {
    auto url = Url::parse(input);
    return url ? url->href() : "failure";
}

std::string resolved(std::string_view input, std::string_view base_text) {
    auto base = Url::parse(base_text);
    auto url = Url::parse(input, &*base);
    return url ? url->href() : "failure";
}

// The host of an http URL with this text as its host.
std::string host_of(std::string_view host) {
    auto url = Url::parse(std::string("http:/").append("/").append(host).append("/"));
    return url ? *url->host() : "failure";
}

TEST(Url, JS_9_URL_parts_lie_at_the_offsets) {
    auto url = Url::parse("https://user:pass@example.com:1234/foo/bar?baz#quux");
    ASSERT_TRUE(url);
    UrlOffsets offsets;
    std::string href = url->href(offsets);
    auto part = [&](std::uint32_t from, std::uint32_t to) { return href.substr(from, to - from); };
    EXPECT_EQ(part(0, offsets.protocol_end), "https:");
    EXPECT_EQ(part(offsets.protocol_end + 2, offsets.username_end), "user");
    EXPECT_EQ(part(offsets.username_end + 1, offsets.host_start), "pass");
    EXPECT_EQ(part(offsets.host_start + 1, offsets.host_end), "example.com");
    EXPECT_EQ(offsets.port, 1234u);
    EXPECT_EQ(part(offsets.pathname, offsets.search), "/foo/bar");
    EXPECT_EQ(part(offsets.search, offsets.hash), "?baz");
    EXPECT_EQ(href.substr(offsets.hash), "#quux");
}

TEST(Url, JS_9_URL_the_scheme_and_the_host_are_lowercased) {
    EXPECT_EQ(href_of("HTTP://EXAMPLE.Com/Path"), "http://example.com/Path");
}

TEST(Url, JS_9_URL_a_default_port_is_left_out) {
    EXPECT_EQ(href_of("https://a:443/"), "https://a/");
    EXPECT_EQ(href_of("http://a:443/"), "http://a:443/");
    EXPECT_EQ(href_of("http://a:65536/"), "failure");
    EXPECT_EQ(href_of("http://a:/"), "http://a/");
}

TEST(Url, JS_9_URL_white_space_around_and_newlines_inside_are_removed) {
    EXPECT_EQ(href_of(" \x01 http://a/b\n/c\t \x1f"), "http://a/b/c");
}

TEST(Url, JS_9_URL_dot_segments_are_resolved) {
    EXPECT_EQ(href_of("http://a/b/./c/../../d/%2E%2e/e/."), "http://a/e/");
    EXPECT_EQ(href_of("http://a/../.."), "http://a/");
}

TEST(Url, JS_9_URL_relative_references_take_what_they_lack_from_the_base) {
    std::string_view base = "http://u:p@h:1/a/b?q#f";
    EXPECT_EQ(resolved("c", base), "http://u:p@h:1/a/c");
    EXPECT_EQ(resolved("?x", base), "http://u:p@h:1/a/b?x");
    EXPECT_EQ(resolved("#y", base), "http://u:p@h:1/a/b?q#y");
    EXPECT_EQ(resolved("", base), "http://u:p@h:1/a/b?q");
    EXPECT_EQ(resolved("/z", base), "http://u:p@h:1/z");
    EXPECT_EQ(resolved("//x", base), "http://x/");
    EXPECT_EQ(resolved("http:z", base), "http://u:p@h:1/a/z");
    EXPECT_EQ(resolved("\\w", base), "http://u:p@h:1/w");
}

TEST(Url, JS_9_URL_an_opaque_path_is_no_base_but_for_a_fragment) {
    EXPECT_EQ(resolved("x", "mailto:a"), "failure");
    EXPECT_EQ(resolved("#x", "mailto:a"), "mailto:a#x");
}

TEST(Url, JS_9_URL_a_space_at_the_end_of_an_opaque_path_survives_its_query) {
    EXPECT_EQ(href_of("data:a  ?q"), "data:a %20?q");
    EXPECT_EQ(href_of("data:a b"), "data:a b");
}

TEST(Url, JS_9_URL_credentials_are_split_at_the_last_at_sign) {
    EXPECT_EQ(href_of("http://a@b:c@d/"), "http://a%40b:c@d/");
    EXPECT_EQ(href_of("http://u:@d/"), "http://u@d/");
    EXPECT_EQ(href_of("http://@/"), "failure");
}

TEST(Url, JS_9_URL_characters_are_encoded_by_the_set_of_their_part) {
    EXPECT_EQ(href_of("http://h/ \"<>`{}^?'#'`"), "http://h/%20%22%3C%3E%60%7B%7D%5E?%27#'%60");
    EXPECT_EQ(href_of("x://h/?'"), "x://h/?'");
    EXPECT_EQ(href_of("http://h/\xc3\xa9?\xc3\xa9#\xc3\xa9"), "http://h/%C3%A9?%C3%A9#%C3%A9");
}

TEST(Url, JS_9_URL_file_urls_know_drive_letters) {
    EXPECT_EQ(href_of("file:///C|/a/../.."), "file:///C:/");
    EXPECT_EQ(href_of("file://localhost/x"), "file:///x");
    EXPECT_EQ(resolved("/x", "file:///C:/a"), "file:///C:/x");
    EXPECT_EQ(resolved("D|/x", "file:///C:/a"), "file:///D:/x");
}

TEST(Url, JS_9_URL_a_path_that_looks_like_a_host_is_kept_apart) {
    EXPECT_EQ(href_of("x:/.//p"), "x:/.//p");
    auto url = Url::parse("x:/.//p");
    EXPECT_EQ(url->path(), "//p");
}

TEST(Url, JS_9_URL_only_urls_of_the_web_have_an_origin) {
    EXPECT_EQ(Url::parse("https://a:8443/x")->origin(), "https://a:8443");
    EXPECT_EQ(Url::parse("blob:https://a/x")->origin(), "https://a");
    EXPECT_EQ(Url::parse("blob:ftp://a/x")->origin(), "null");
    EXPECT_EQ(Url::parse("file:///x")->origin(), "null");
    EXPECT_EQ(Url::parse("x://a")->origin(), "null");
}

TEST(UrlHost, JS_9_URL_addresses_of_ipv4_may_have_any_form) {
    EXPECT_EQ(host_of("0x7f.1"), "127.0.0.1");
    EXPECT_EQ(host_of("017700000001"), "127.0.0.1");
    EXPECT_EQ(host_of("256"), "0.0.1.0");
    EXPECT_EQ(host_of("1.2.3.4.5"), "failure");
    EXPECT_EQ(host_of("256.0.0.1"), "failure");
    EXPECT_EQ(host_of("4294967296"), "failure");
    EXPECT_EQ(host_of("foo.09"), "failure");
    EXPECT_EQ(host_of("1.2.3.4."), "1.2.3.4");
}

TEST(UrlHost, JS_9_URL_addresses_of_ipv6_are_shortened) {
    EXPECT_EQ(host_of("[0:0:1:0:0:0:0:1]"), "[0:0:1::1]");
    EXPECT_EQ(host_of("[::1.2.3.4]"), "[::102:304]");
    EXPECT_EQ(host_of("[1:2:3:4:5:6:7:8]"), "[1:2:3:4:5:6:7:8]");
    EXPECT_EQ(host_of("[::]"), "[::]");
    for (const char* bad : {"[::1", "[1:2]", "[::1::]", "[:1]", "[::1.2.3]", "[::01.2.3.4]",
                            "[1:2:3:4:5:6:7:]", "[1:2:3:4:5:6:7:8:9]", "[g::]"})
        EXPECT_EQ(host_of(bad), "failure") << bad;
}

TEST(UrlHost, JS_9_URL_names_outside_of_ascii_become_punycode) {
    EXPECT_EQ(host_of("b\xc3\xbc"
                      "cher.example"),
              "xn--bcher-kva.example");
    EXPECT_EQ(host_of("stra\xc3\x9f"
                      "e.de"),
              "xn--strae-oqa.de");
    EXPECT_EQ(host_of("%C3%A9.x"), "xn--9ca.x");
    EXPECT_EQ(host_of("\xef\xbf\xbd.x"), "failure");
    EXPECT_EQ(domain_to_unicode("xn--bcher-kva.example"),
              "b\xc3\xbc"
              "cher.example");
}

TEST(UrlHost, JS_9_URL_a_host_has_no_forbidden_characters) {
    for (const char* bad : {"http://a b/", "http://a<b/", "http://a%00b/", "http://a^b/",
                            "http:///", "x://a b/", "http://a%25b/"})
        EXPECT_EQ(href_of(bad), "failure") << bad;
    EXPECT_EQ(href_of("x://A%20B/"), "x://A%20B/");
}

TEST(Url, JS_9_URL_setters_change_one_part_or_nothing) {
    auto url = *Url::parse("http://h:1/p?q#f");
    url.set_protocol("HTTPS:ignored");
    url.set_username("a b");
    url.set_password(":");
    url.set_host("other:99/ignored");
    url.set_pathname("x y");
    url.set_search("?a'");
    url.set_hash("");
    EXPECT_EQ(url.href(), "https://a%20b:%3A@other:99/x%20y?a%27");
    url.set_port("443");
    url.set_port("x");
    url.set_port("65536");
    url.set_hostname("a:1");
    url.set_protocol("mailto");
    EXPECT_EQ(url.href(), "https://a%20b:%3A@other/x%20y?a%27");
}

TEST(Url, JS_9_URL_setters_leave_an_opaque_path_alone) {
    auto url = *Url::parse("mailto:me");
    url.set_host("h");
    url.set_pathname("/p");
    url.set_port("1");
    url.set_username("u");
    EXPECT_EQ(url.href(), "mailto:me");
}

TEST(Url, JS_9_URL_what_is_serialized_already_is_seen_at_once) {
    for (const char* text :
         {"http://a/", "https://a-b.example/x/y.z?q=%20&r=1#f", "http://127.0.0.1/",
          "http://localhost:8080/", "http://a/b/c?", "http://a/#"}) {
        UrlOffsets quick, slow;
        ASSERT_TRUE(is_serialized(text, quick)) << text;
        auto url = Url::parse(text);
        EXPECT_EQ(url->href(slow), text);
        EXPECT_EQ(quick.protocol_end, slow.protocol_end);
        EXPECT_EQ(quick.username_end, slow.username_end);
        EXPECT_EQ(quick.host_start, slow.host_start);
        EXPECT_EQ(quick.host_end, slow.host_end);
        EXPECT_EQ(quick.port, slow.port);
        EXPECT_EQ(quick.pathname, slow.pathname);
        EXPECT_EQ(quick.search, slow.search);
        EXPECT_EQ(quick.hash, slow.hash);
    }
    UrlOffsets offsets;
    for (const char* text : {"http://A/", "http://a", "http://a:80/", "http://a:08/", "http://a/./",
                             "http://a/%2e", "http://a/ ", "http://a/?'", "ftp://a/", "http://a/\\",
                             "http:///", "http://a:99999/", "http://u@a/"})
        EXPECT_FALSE(is_serialized(text, offsets)) << text;
    for (const char* host :
         {"127.0.0.01", "127.1", "1.2.3.256", "1.2.3.4.", "1.2..4", "0x7f.0.0.1"})
        EXPECT_FALSE(is_serialized(format("http://{}/", host), offsets)) << host;
}

}  // namespace
}  // namespace weft::api
