#include "weft/http/routing/hosts.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "weft/http/internal/handler_test.h"

namespace weft::http {
namespace {

using handler_test::ask;

Handler named(std::string name) {
    return [name](Request&, async::Context&) -> Result<Response> { return Response::text(name); };
}

std::string answer(const Handler& handler, std::string_view host) {
    Result<Response> response = ask(handler, "GET", "/", {{"host", host}});
    if (!response) return response.error().message();
    if (response->status != 200) return std::to_string(response->status);
    return std::string(response->body.text().value_or("(no text)"));
}

TEST(Hosts, HTTP_10_a_malformed_or_second_name_is_an_error_of_build) {
    for (std::string_view name : {"", "*", "*.", "a b", "a/b", "a:80", "*.*.org", "a.*.org", "."}) {
        Hosts hosts;
        hosts.add(name, named("x"));
        EXPECT_FALSE(std::move(hosts).build()) << name;
    }
    Hosts twice;
    twice.add("example.org", named("x")).add("EXAMPLE.org.", named("y"));
    EXPECT_EQ(std::move(twice).build().error().kind(), ErrorKind::Misuse);
    Hosts nobody;
    nobody.add("example.org", Handler());
    EXPECT_FALSE(std::move(nobody).build());
    Hosts two_others;
    two_others.otherwise(named("x")).otherwise(named("y"));
    EXPECT_FALSE(std::move(two_others).build());
}

TEST(Hosts, HTTP_10_an_unknown_host_gets_421_or_the_default) {
    Hosts strict;
    strict.add("example.org", named("main"));
    Handler handler = *std::move(strict).build();
    for (std::string_view host : {"example.com", "", "a.example.org", "example.org:x", "org",
                                  "example.org/", "xexample.org", "[::1"}) {
        EXPECT_EQ(answer(handler, host), "421") << host;
    }
    EXPECT_EQ(answer(handler, std::string(300, 'a')), "421");
    Hosts lenient;
    lenient.add("example.org", named("main")).otherwise(named("other"));
    handler = *std::move(lenient).build();
    EXPECT_EQ(answer(handler, "example.com"), "other");
    EXPECT_EQ(answer(handler, ""), "other");
    EXPECT_EQ(answer(handler, "example.org"), "main");
}

TEST(Hosts, HTTP_10_hosts_are_compared_without_case_port_and_final_dot) {
    Hosts hosts;
    hosts.add("Example.ORG", named("main"))
        .add("::1", named("six"))
        .add("127.0.0.1", named("four"));
    Handler handler = *std::move(hosts).build();
    EXPECT_EQ(answer(handler, "example.org"), "main");
    EXPECT_EQ(answer(handler, "EXAMPLE.org:8080"), "main");
    EXPECT_EQ(answer(handler, "example.org."), "main");
    EXPECT_EQ(answer(handler, "[::1]:80"), "six");
    EXPECT_EQ(answer(handler, "127.0.0.1"), "four");
}

TEST(Hosts, HTTP_10_the_full_name_comes_first_and_then_the_longest_wildcard) {
    Hosts hosts;
    hosts.add("*.example.org", named("any"))
        .add("*.b.example.org", named("below b"))
        .add("a.example.org", named("a"));
    Handler handler = *std::move(hosts).build();
    EXPECT_EQ(answer(handler, "a.example.org"), "a");
    EXPECT_EQ(answer(handler, "x.example.org"), "any");
    EXPECT_EQ(answer(handler, "x.y.example.org"), "any");
    EXPECT_EQ(answer(handler, "b.example.org"), "any");
    EXPECT_EQ(answer(handler, "X.B.example.org"), "below b");
    EXPECT_EQ(answer(handler, "example.org"), "421");
}

}  // namespace
}  // namespace weft::http
