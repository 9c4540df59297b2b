#include "weft/http/middleware/cors.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "weft/http/internal/handler_test.h"
#include "weft/http/request.h"

namespace weft::http {
namespace {

using handler_test::ask;
using handler_test::header;

Handler hello_with(CorsOptions options) {
    Middleware middleware = cors(std::move(options)).value();
    return middleware(
        [](Request&, async::Context&) -> Result<Response> { return Response::text("hello"); });
}

Response preflight(const Handler& handler, std::string_view origin, std::string_view headers = "") {
    return *ask(handler, "OPTIONS", "/",
                {{"origin", origin},
                 {"access-control-request-method", "PUT"},
                 {"access-control-request-headers", headers}});
}

TEST(Cors, HTTP_13a_a_listed_origin_sees_the_answer_and_others_do_not) {
    Handler handler = hello_with({.origins = {"https://a.example", "http://localhost:3000"},
                                  .exposed_headers = {"X-Total"},
                                  .credentials = true});
    for (std::string_view origin : {"https://a.example", "http://localhost:3000"}) {
        Response response = *ask(handler, "GET", "/", {{"origin", origin}});
        EXPECT_EQ(header(response, "access-control-allow-origin"), origin);
        EXPECT_EQ(header(response, "access-control-allow-credentials"), "true");
        EXPECT_EQ(header(response, "access-control-expose-headers"), "X-Total");
        EXPECT_EQ(header(response, "vary"), "Origin");
    }
    for (std::string_view origin : {"https://b.example", "https://a.example:8443", "null", "",
                                    "http://a.example", "https://a.example.evil.example"}) {
        Response response = *ask(handler, "GET", "/", {{"origin", origin}});
        EXPECT_EQ(response.status, 200);
        EXPECT_EQ(header(response, "access-control-allow-origin"), "(none)") << origin;
        EXPECT_EQ(header(response, "access-control-allow-credentials"), "(none)") << origin;
        EXPECT_EQ(header(response, "vary"), "Origin");
    }
    // A cache must not give a response without the fields to a client that needs them.
    EXPECT_EQ(header(*ask(handler, "GET", "/"), "vary"), "Origin");
    Response two = *ask(handler, "GET", "/",
                        {{"origin", "https://a.example"}, {"origin", "https://b.example"}});
    EXPECT_EQ(header(two, "access-control-allow-origin"), "(none)");
}

TEST(Cors, HTTP_13a_all_origins_are_said_by_a_star_that_caches_may_share) {
    Handler handler = hello_with({.origins = {"*"}});
    Response response = *ask(handler, "GET", "/", {{"origin", "https://any.example"}});
    EXPECT_EQ(header(response, "access-control-allow-origin"), "*");
    EXPECT_EQ(header(response, "vary"), "(none)");
}

TEST(Cors, HTTP_13a_a_function_may_decide) {
    Handler handler = hello_with(
        {.allows = [](std::string_view origin) { return origin.ends_with(".a.example"); }});
    Response yes = *ask(handler, "GET", "/", {{"origin", "https://b.a.example"}});
    EXPECT_EQ(header(yes, "access-control-allow-origin"), "https://b.a.example");
    Response no = *ask(handler, "GET", "/", {{"origin", "https://a.example.b"}});
    EXPECT_EQ(header(no, "access-control-allow-origin"), "(none)");
}

TEST(Cors, HTTP_13b_a_preflight_is_answered_without_the_handler) {
    bool was_called = false;
    Middleware middleware = cors({.origins = {"https://a.example"},
                                  .methods = {"GET", "PUT"},
                                  .headers = {"X-One", "X-Two"},
                                  .max_age = std::chrono::seconds(5)})
                                .value();
    Handler handler = middleware([&](Request&, async::Context&) -> Result<Response> {
        was_called = true;
        return Response::text("options");
    });
    Response response = preflight(handler, "https://a.example", "x-one");
    EXPECT_EQ(response.status, 204);
    EXPECT_EQ(header(response, "access-control-allow-origin"), "https://a.example");
    EXPECT_EQ(header(response, "access-control-allow-methods"), "GET, PUT");
    EXPECT_EQ(header(response, "access-control-allow-headers"), "X-One, X-Two");
    EXPECT_EQ(header(response, "access-control-max-age"), "5");
    EXPECT_TRUE(response.headers.has_token("vary", "origin"));
    EXPECT_TRUE(response.headers.has_token("vary", "access-control-request-headers"));

    Response refused = preflight(handler, "https://b.example");
    EXPECT_EQ(refused.status, 403);
    EXPECT_EQ(header(refused, "access-control-allow-origin"), "(none)");
    EXPECT_EQ(header(refused, "access-control-allow-methods"), "(none)");
    EXPECT_TRUE(refused.headers.has_token("vary", "origin"));
    EXPECT_FALSE(was_called);

    // An OPTIONS request that is no preflight reaches the handler.
    EXPECT_EQ(ask(handler, "OPTIONS", "/", {{"origin", "https://a.example"}})->status, 200);
    EXPECT_TRUE(was_called);
}

TEST(Cors, HTTP_13b_any_headers_are_those_that_were_asked_for_if_they_are_names) {
    Handler handler = hello_with({.origins = {"https://a.example"}, .headers = {"*"}});
    auto allowed = [&](std::string_view asked) {
        return header(preflight(handler, "https://a.example", asked),
                      "access-control-allow-headers");
    };
    EXPECT_EQ(allowed("x-one, x-two"), "x-one, x-two");
    EXPECT_EQ(allowed(""), "(none)");
    EXPECT_EQ(allowed("x-one\"; evil=<1>"), "(none)");
}

TEST(Cors, HTTP_13b_an_error_of_the_handler_stays_one) {
    Middleware middleware = cors({.origins = {"*"}}).value();
    Handler handler =
        middleware([](Request&, async::Context&) -> Result<Response> { return ErrorKind::Other; });
    EXPECT_FALSE(ask(handler, "GET", "/", {{"origin", "https://a.example"}}));
}

TEST(Cors, HTTP_13a_options_that_would_not_do_what_they_say_are_refused) {
    const std::vector<std::string> no_origins = {"",
                                                 "a.example",
                                                 "https://a.example/",
                                                 "https://A.example",
                                                 "https://",
                                                 "null",
                                                 "https://a.example/x",
                                                 "https://*.a.example ",
                                                 "://a",
                                                 "https://a b",
                                                 "https:",
                                                 "https://u@a.example"};
    for (const std::string& origin : no_origins) {
        auto refused = cors({.origins = {origin}});
        ASSERT_FALSE(refused) << origin;
        EXPECT_EQ(refused.error().kind(), ErrorKind::Misuse);
    }
    EXPECT_FALSE(cors({.origins = {"*"}, .credentials = true}));
    EXPECT_FALSE(cors({.methods = {"GET PUT"}}));
    EXPECT_FALSE(cors({.headers = {"a\r\nb"}}));
    EXPECT_FALSE(cors({.exposed_headers = {""}}));
    EXPECT_FALSE(cors({.max_age = std::chrono::seconds(-1)}));
    EXPECT_TRUE(cors({.origins = {"https://[::1]:8080", "capacitor://localhost"}}));
}

}  // namespace
}  // namespace weft::http
