#include "weft/http/client/cookie_jar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "weft/http/client/client.h"
#include "weft/http/wire/set_cookie.h"
#include "weft/testing/scripted_server.h"
#include "weft/testing/sockets.h"

namespace weft::http {
namespace {

using namespace testing;
using ::testing::HasSubstr;

Url url(std::string_view text) { return Url::parse(text).value(); }

// The Cookie field that a jar sends to `asked` after `from` has set this cookie.
std::string sent(std::string_view from, std::string_view set_cookie, std::string_view asked) {
    CookieJar jar;
    jar.keep(url(from), set_cookie);
    return jar.cookies_for(url(asked));
}

TEST(CookieJar, HTTP_14b_a_cookie_goes_to_its_host_or_its_domain_and_below) {
    EXPECT_EQ(sent("http://a.example/", "k=v", "http://a.example/"), "k=v");
    EXPECT_EQ(sent("http://a.example:8080/", "k=v", "http://A.example/"), "k=v");
    EXPECT_EQ(sent("http://a.example/", "k=v", "http://b.a.example/"), "");
    EXPECT_EQ(sent("http://a.example/", "k=v; Domain=a.example", "http://b.a.example/"), "k=v");
    EXPECT_EQ(sent("http://a.example/", "k=v; domain=.A.Example", "http://c.b.a.example/"), "k=v");
    EXPECT_EQ(sent("http://b.a.example/", "k=v; Domain=a.example", "http://a.example/"), "k=v");
    EXPECT_EQ(sent("http://b.a.example/", "k=v; Domain=a.example", "http://xa.example/"), "");
    // The last attribute counts; an empty one is none.
    EXPECT_EQ(sent("http://a.example/", "k=v; Domain=a.example; Domain=", "http://b.a.example/"),
              "");
}

TEST(CookieJar, HTTP_14b_nobody_sets_cookies_for_others) {
    CookieJar jar(
        {.is_public_suffix = [](std::string_view domain) { return domain == "many.example"; }});
    for (std::string_view domain : {"b.example", "x.a.example", "example", "e", "many.example",
                                    "le", "xample", "a.example.", "..a.example", "*"}) {
        EXPECT_FALSE(jar.keep(url("http://a.example/"), "k=v; Domain=" + std::string(domain)))
            << domain;
    }
    EXPECT_FALSE(jar.keep(url("http://shop.many.example/"), "k=v; Domain=many.example"));
    EXPECT_FALSE(jar.keep(url("http://127.0.0.1/"), "k=v; Domain=0.0.1"));
    EXPECT_FALSE(jar.keep(url("http://[2001:db8::1]/"), "k=v; Domain=b8::1"));
    EXPECT_EQ(jar.size(), 0U);
    // Such a host may set a cookie for itself alone.
    EXPECT_TRUE(jar.keep(url("http://localhost/"), "k=v; Domain=localhost"));
    EXPECT_EQ(jar.cookies_for(url("http://localhost/")), "k=v");
    EXPECT_EQ(jar.cookies_for(url("http://a.localhost/")), "");
    EXPECT_TRUE(jar.keep(url("http://127.0.0.1/"), "k=v; Domain=127.0.0.1"));
    EXPECT_EQ(jar.cookies_for(url("http://127.0.0.1/")), "k=v");
    EXPECT_EQ(jar.cookies_for(url("http://1.127.0.0.1.example/")), "");
}

TEST(CookieJar, HTTP_14b_paths_match_by_their_segments_and_longer_ones_come_first) {
    EXPECT_EQ(sent("http://a.b/", "k=v; Path=/dir", "http://a.b/dir"), "k=v");
    EXPECT_EQ(sent("http://a.b/", "k=v; Path=/dir", "http://a.b/dir/x?q=/"), "k=v");
    EXPECT_EQ(sent("http://a.b/", "k=v; Path=/dir", "http://a.b/directory"), "");
    EXPECT_EQ(sent("http://a.b/", "k=v; Path=/dir/", "http://a.b/dir"), "");
    // Without one it is the folder of the page.
    EXPECT_EQ(sent("http://a.b/dir/page?x=/y", "k=v", "http://a.b/dir/"), "k=v");
    EXPECT_EQ(sent("http://a.b/dir/page", "k=v; Path=dir", "http://a.b/"), "");
    EXPECT_EQ(sent("http://a.b/page", "k=v", "http://a.b/other/"), "k=v");
    CookieJar jar;
    jar.keep(url("http://a.b/"), "k=1; Path=/");
    jar.keep(url("http://a.b/"), "k=2; Path=/x");
    jar.keep(url("http://a.b/"), "j=3; Path=/");
    jar.keep(url("http://a.b/"), "k=4; Path=/");
    EXPECT_EQ(jar.cookies_for(url("http://a.b/x")), "k=2; k=4; j=3");
}

TEST(CookieJar, HTTP_14c_secure_cookies_are_for_https_alone) {
    EXPECT_EQ(sent("https://a.b/", "k=v; Secure", "https://a.b/"), "k=v");
    EXPECT_EQ(sent("wss://a.b/", "k=v; Secure; HttpOnly", "wss://a.b/"), "k=v");
    EXPECT_EQ(sent("https://a.b/", "k=v; Secure", "http://a.b/"), "");
    EXPECT_EQ(sent("http://a.b/", "k=v; Secure", "https://a.b/"), "");
    CookieJar jar;
    EXPECT_TRUE(jar.keep(url("https://a.b/"), "k=secret; Secure; Domain=a.b"));
    EXPECT_FALSE(jar.keep(url("http://a.b/"), "k=planted"));
    EXPECT_FALSE(jar.keep(url("http://x.a.b/"), "k=planted; Domain=a.b"));
    EXPECT_FALSE(jar.keep(url("http://a.b/"), "k=; Max-Age=0"));
    EXPECT_TRUE(jar.keep(url("http://a.b/"), "other=1"));
    EXPECT_EQ(jar.cookies_for(url("https://a.b/")), "k=secret; other=1");
    EXPECT_TRUE(jar.keep(url("https://a.b/"), "k=new; Domain=a.b"));
    EXPECT_EQ(jar.cookies_for(url("http://a.b/")), "k=new; other=1");
}

TEST(CookieJar, HTTP_14c_prefixes_hold_what_they_say) {
    CookieJar jar;
    Url https = url("https://x.a.b/");
    EXPECT_FALSE(jar.keep(https, "__Secure-k=v"));
    EXPECT_FALSE(jar.keep(https, "__Host-k=v; Secure"));  // a path is wanted
    EXPECT_FALSE(jar.keep(https, "__host-k=v; Secure; Path=/; Domain=a.b"));
    EXPECT_FALSE(jar.keep(https, "__Host-k=v; Path=/"));
    EXPECT_FALSE(jar.keep(https, "=__Host-k=v; Secure; Path=/"));
    EXPECT_FALSE(jar.keep(https, "__SECURE-k"));
    EXPECT_TRUE(jar.keep(https, "__Secure-k=v; Secure"));
    EXPECT_TRUE(jar.keep(https, "__Host-k=v; Secure; Path=/"));
}

TEST(CookieJar, HTTP_14c_cookies_expire_and_are_taken_back) {
    EXPECT_EQ(sent("http://a.b/", "k=v; Max-Age=1000", "http://a.b/"), "k=v");
    EXPECT_EQ(sent("http://a.b/", "k=v; Max-Age=0", "http://a.b/"), "");
    EXPECT_EQ(sent("http://a.b/", "k=v; Max-Age=-5", "http://a.b/"), "");
    EXPECT_EQ(sent("http://a.b/", "k=v; Max-Age=99999999999999999999999", "http://a.b/"), "k=v");
    EXPECT_EQ(sent("http://a.b/", "k=v; Max-Age=soon", "http://a.b/"), "k=v");
    EXPECT_EQ(sent("http://a.b/", "k=v; Expires=Wed, 09-Jun-2021 10:18:14 GMT", "http://a.b/"), "");
    EXPECT_EQ(sent("http://a.b/", "k=v; Expires=Wed, 09 Jun 2199 10:18:14 GMT", "http://a.b/"),
              "k=v");
    EXPECT_EQ(
        sent("http://a.b/", "k=v; Expires=Wed, 09 Jun 2021 10:18:14 GMT; Max-Age=9", "http://a.b/"),
        "k=v");
    CookieJar jar;
    jar.keep(url("http://a.b/"), "k=v");
    jar.keep(url("http://a.b/"), "k=v; Path=/other; Max-Age=0");
    EXPECT_EQ(jar.size(), 1U);
    jar.keep(url("http://a.b/"), "k=; Expires=Thu, 01 Jan 1970 00:00:00 GMT");
    EXPECT_EQ(jar.size(), 0U);
}

TEST(CookieJar, HTTP_14c_memory_and_the_field_are_bounded) {
    CookieJar jar({.cookies_per_domain = 3, .cookies = 10, .field_bytes = 30});
    for (int i = 0; i < 100; ++i) {
        jar.keep(url("http://a.b/"), "k" + std::to_string(i) + "=v");
        EXPECT_THAT(jar.cookies_for(url("http://a.b/")), HasSubstr("=v"));
    }
    EXPECT_EQ(jar.size(), 3U);
    EXPECT_EQ(jar.cookies_for(url("http://a.b/")), "k97=v; k98=v; k99=v");
    for (int i = 0; i < 100; ++i) jar.keep(url("http://h" + std::to_string(i) + ".b/"), "k=v");
    EXPECT_EQ(jar.size(), 10U);
    EXPECT_EQ(jar.cookies_for(url("http://h99.b/")), "k=v");
    CookieJar small({.field_bytes = 30});
    small.keep(url("http://a.b/"), "long=" + std::string(100, 'x'));
    small.keep(url("http://a.b/"), "short=1");
    EXPECT_EQ(small.cookies_for(url("http://a.b/")), "short=1");
    EXPECT_FALSE(small.keep(url("http://a.b/"), "k=" + std::string(4096, 'x')));
    small.clear();
    EXPECT_EQ(small.size(), 0U);
}

TEST(CookieJar, HTTP_14c_several_threads_may_use_it) {
    CookieJar jar({.cookies_per_domain = 5, .cookies = 20});
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread) {
        threads.emplace_back([&jar, thread] {
            for (int i = 0; i < 300; ++i) {
                Url here = url("http://h" + std::to_string((i + thread) % 7) + ".example/");
                jar.keep(here, "k" + std::to_string(i % 9) + "=v; Domain=" + here.host());
                EXPECT_LE(jar.cookies_for(here).size(), 5 * 6U);
                if (i % 100 == 99) jar.clear();
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_LE(jar.size(), 20U);
}

TEST(SetCookie, HTTP_14b_fields_are_read_as_browsers_do) {
    auto cookie = wire::parse_set_cookie(
        " k = \"v=w\" ; Path=/a ;HTTPONLY; secure=x; Unknown=y; Max-Age = 5;Domain=X.Example");
    ASSERT_TRUE(cookie);
    EXPECT_EQ(cookie->name, "k");
    EXPECT_EQ(cookie->value, "\"v=w\"");
    EXPECT_EQ(cookie->path, "/a");
    EXPECT_EQ(cookie->domain, "x.example");
    EXPECT_EQ(cookie->max_age, 5);
    EXPECT_TRUE(cookie->secure && cookie->http_only);
    EXPECT_EQ(wire::parse_set_cookie("value alone")->value, "value alone");
    EXPECT_EQ(wire::parse_set_cookie("=v")->name, "");
    for (std::string_view ignored :
         {std::string_view(""), std::string_view("="), std::string_view(" ; Path=/"),
          std::string_view("k=v\n"), std::string_view("k=\0v", 4), std::string_view("k=v;\x7f")}) {
        EXPECT_FALSE(wire::parse_set_cookie(ignored)) << ignored;
    }
    std::string longest = "k=" + std::string(wire::kCookieBytesMax - 1, 'x');
    EXPECT_TRUE(wire::parse_set_cookie(longest));
    EXPECT_FALSE(wire::parse_set_cookie(longest + "x"));
    EXPECT_EQ(wire::parse_set_cookie("k=v; Path=/" + std::string(1024, 'x'))->path, "");
}

TEST(SetCookie, HTTP_14b_dates_come_in_many_forms) {
    constexpr std::int64_t kMoment = 784111777;
    for (std::string_view text :
         {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
          "Sun Nov  6 08:49:37 1994", "Sun, 06-Nov-1994 08:49:37 GMT", "6 nov 1994 8:49:37",
          "08:49:37 November 6 1994 and more", "1994-Nov-06 08:49:37Z"}) {
        EXPECT_EQ(wire::parse_cookie_date(text), kMoment) << text;
    }
    EXPECT_EQ(wire::parse_cookie_date("01 Jan 69 00:00:00"), 3124224000);
    for (std::string_view text :
         {"", "GMT", "06 Nov 1994", "08:49:37 06 Nov", "32 Nov 1994 08:49:37",
          "30 Feb 1994 08:49:37", "06 Nov 1600 08:49:37", "06 Nov 1994 24:49:37",
          "06 Nov 1994 08:60:37", "06 Nov 1994 08:49", "06 Nov 11994 08:49:37"}) {
        EXPECT_EQ(wire::parse_cookie_date(text), std::nullopt) << text;
    }
}

Result<void> fetch(Client& client, ClientRequest request) {
    ClientResponse response = WEFT_TRY(client.send(request));
    EXPECT_EQ(WEFT_TRY(response.read_all()), "x");
    return {};
}

TEST(ClientCookies, HTTP_14d_a_client_with_a_jar_keeps_and_sends_cookies) {
    in_runtime(1, []() -> Result<void> {
        Atomic<unsigned> requests{0};
        auto serve = [&](Peer& peer) {
            for (;;) {
                std::string request = peer.read_request();
                if (request.empty()) return;
                unsigned number = requests.fetch_add(1, std::memory_order_relaxed);
                std::size_t at = request.find("Cookie: ");
                std::string sent = at == request.npos
                                       ? ""
                                       : request.substr(at + 8, request.find("\r\n", at) - at - 8);
                constexpr std::string_view kSent[] = {"", "a=1; b=2", "a=1; b=3", "own=1", ""};
                EXPECT_EQ(sent, kSent[std::min(number, 4U)]) << number;
                std::string_view fields[] = {
                    "Set-Cookie: a=1\r\nSet-Cookie: b=2; Path=/\r\nSet-Cookie: c=3; Secure\r\n",
                    "Set-Cookie: b=3\r\nLocation: /next\r\n", "", "", ""};
                if (number == 1) {
                    peer.say("HTTP/1.1 302 Found\r\nContent-Length: 0\r\n" +
                             std::string(fields[number]) + "\r\n");
                } else {
                    peer.respond("x", fields[std::min(number, 4U)]);
                }
            }
        };
        return with_server(serve, [&](const Address& address) -> Result<void> {
            std::string base = "http://" + address.to_string() + "/";
            Client client({.cookies = std::make_shared<CookieJar>()});
            WEFT_TRY(fetch(client, {.url = base}));
            WEFT_TRY(fetch(client, {.url = base}));
            ClientRequest own{.url = base};
            own.headers.set("Cookie", "own=1");
            WEFT_TRY(fetch(client, std::move(own)));
            Client forgetful;
            WEFT_TRY(fetch(forgetful, {.url = base}));
            EXPECT_EQ(requests.load(std::memory_order_relaxed), 5U);
            return {};
        });
    });
}

}  // namespace
}  // namespace weft::http
