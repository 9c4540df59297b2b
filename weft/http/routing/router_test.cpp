#include "weft/http/routing/router.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/base/format.h"
#include "weft/http/internal/handler_test.h"

namespace weft::http {
namespace {

using handler_test::ask;
using handler_test::header;
using handler_test::MadeRequest;

// Says its name, the parameters it was given and the path it sees.
Handler named(std::string name, std::vector<std::string> parameters = {}) {
    return [name = std::move(name), parameters = std::move(parameters)](
               Request& request, async::Context&) -> Result<Response> {
        std::string text = name;
        for (const std::string& parameter : parameters) {
            text += format(" {}={}", parameter, request.parameter(parameter).value_or("(none)"));
        }
        return Response::text(std::move(text));
    };
}

Handler path_shown() {
    return [](Request& request, async::Context&) -> Result<Response> {
        return Response::text(format("{}|{}", request.path(), request.whole_path()));
    };
}

Handler built(Router router) {
    Result<Handler> handler = std::move(router).build();
    EXPECT_TRUE(handler) << handler.error().message();
    return handler ? *handler : Handler();
}

// The text of a 200, the number of anything else.
std::string answer(const Handler& handler, std::string_view method, std::string_view target) {
    Result<Response> response = ask(handler, method, target);
    if (!response) return response.error().message();
    if (response->status != 200) return std::to_string(response->status);
    return std::string(response->body.text().value_or("(no text)"));
}

std::string mistake(Router router) {
    Result<Handler> handler = std::move(router).build();
    if (handler) return "none";
    EXPECT_EQ(handler.error().kind(), ErrorKind::Misuse);
    return handler.error().message();
}

TEST(Router, HTTP_10_a_malformed_pattern_is_an_error_of_build) {
    const std::string_view patterns[] = {
        "",        "users", "//",     "/a//b",  "/:",      "/:1",  "/:a-b", "/*",
        "/*rest/", "/*a/b", "/:a/:a", "/:a/*a", "/a/../b", "/./a", "/a?b",  "/a#b",
    };
    for (std::string_view pattern : patterns) {
        EXPECT_NE(mistake(Router().get(pattern, named("x"))), "none") << pattern;
    }
    std::string deep;
    for (std::size_t i = 0; i <= kRouteSegmentsMax; ++i) deep += "/a";
    EXPECT_NE(mistake(Router().get(deep, named("x"))), "none");
    EXPECT_NE(mistake(Router().get("/a", Handler())), "none");
    EXPECT_NE(mistake(Router().on("GE T", "/a", named("x"))), "none");
    EXPECT_NE(mistake(Router().on("", "/a", named("x"))), "none");
    EXPECT_NE(mistake(Router().mount("/a/", named("x"))), "none");
    EXPECT_NE(mistake(Router().mount("/*rest", named("x"))), "none");
    EXPECT_NE(mistake(Router().group("/a/", [](Router& group) { group.get("/b", named("x")); })),
              "none");
    EXPECT_NE(mistake(Router().group("/a", [](Router& group) { group.get("b", named("x")); })),
              "none");
}

TEST(Router, HTTP_10_two_handlers_for_the_same_paths_are_an_error_of_build) {
    EXPECT_EQ(mistake(Router().get("/a/:id", named("x")).get("/a/:name", named("y"))),
              "route GET /a/:name: there is one already");
    EXPECT_NE(mistake(Router().get("/*a", named("x")).get("/*b", named("y"))), "none");
    EXPECT_NE(mistake(Router().mount("/a", named("x")).mount("/a", named("y"))), "none");
    EXPECT_EQ(mistake(Router().get("/a", named("x")).post("/a", named("y"))), "none");
    EXPECT_EQ(mistake(Router().get("/a", named("x")).get("/a/", named("y"))), "none");
}

TEST(Router, HTTP_10_a_path_that_is_not_sound_gets_400) {
    Handler handler = built(std::move(Router().get("/*rest", named("rest"))));
    for (std::string_view path :
         {"/a/../b", "/..", "/.", "/a/%2e%2E/b", "/%2e", "/a%", "/a%zz", "/a%00b", "/.%2e/x"}) {
        EXPECT_EQ(answer(handler, "GET", path), "400") << path;
    }
    for (std::string_view path : {"/...", "/.a", "/a..b", "/%2e%2e%2e"}) {
        EXPECT_EQ(answer(handler, "GET", path), "rest") << path;
    }
}

TEST(Router, HTTP_10_an_unknown_path_gets_404_and_another_method_405_with_allow) {
    Handler handler = built(std::move(Router()
                                          .get("/a", named("get"))
                                          .post("/a", named("post"))
                                          .delete_("/:id", named("delete"))));
    EXPECT_EQ(answer(handler, "GET", "/a/b"), "404");
    EXPECT_EQ(answer(handler, "GET", "/"), "404");
    Result<Response> refused = ask(handler, "PUT", "/a");
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->status, 405);
    EXPECT_EQ(header(*refused, "allow"), "DELETE, GET, HEAD, OPTIONS, POST");
    EXPECT_EQ(answer(handler, "get", "/a"), "405");
}

TEST(Router, HTTP_10_options_lists_the_methods_and_head_is_answered_by_get) {
    Handler handler = built(std::move(Router()
                                          .get("/a", named("get"))
                                          .put("/b", named("put"))
                                          .on("HEAD", "/c", named("head"))
                                          .get("/c", named("get"))
                                          .on("OPTIONS", "/c", named("options"))));
    Result<Response> options = ask(handler, "OPTIONS", "/a");
    ASSERT_TRUE(options);
    EXPECT_EQ(options->status, 204);
    EXPECT_EQ(header(*options, "allow"), "GET, HEAD, OPTIONS");
    EXPECT_EQ(answer(handler, "OPTIONS", "/x"), "404");
    EXPECT_EQ(answer(handler, "OPTIONS", "/c"), "options");
    EXPECT_EQ(answer(handler, "HEAD", "/a"), "get");
    EXPECT_EQ(answer(handler, "HEAD", "/b"), "405");
    EXPECT_EQ(answer(handler, "HEAD", "/c"), "head");
    Result<Response> all = ask(handler, "OPTIONS", "*");
    ASSERT_TRUE(all);
    EXPECT_EQ(all->status, 204);
    EXPECT_EQ(header(*all, "allow"), "GET, HEAD, OPTIONS, PUT");
}

TEST(Router, HTTP_10_fixed_segments_come_before_parameters_and_those_before_wildcards) {
    Handler handler = built(std::move(Router()
                                          .get("/*rest", named("rest", {"rest"}))
                                          .get("/:a", named("one", {"a"}))
                                          .get("/users/:id", named("user", {"id"}))
                                          .get("/users/me", named("me"))
                                          .get("/users/:id/posts", named("posts", {"id"}))
                                          .get("/users/me/photos", named("photos"))
                                          .post("/users/:id", named("post", {"id"}))
                                          .get("/", named("root"))
                                          .mount("/", named("mounted"))));
    EXPECT_EQ(answer(handler, "GET", "/"), "root");
    EXPECT_EQ(answer(handler, "GET", "/users"), "one a=users");
    EXPECT_EQ(answer(handler, "GET", "/users/7"), "user id=7");
    EXPECT_EQ(answer(handler, "GET", "/users/me"), "me");
    EXPECT_EQ(answer(handler, "GET", "/users/me/posts"), "posts id=me");
    EXPECT_EQ(answer(handler, "GET", "/users/me/photos"), "photos");
    EXPECT_EQ(answer(handler, "GET", "/users/me/x"), "rest rest=users/me/x");
    EXPECT_EQ(answer(handler, "POST", "/users/me"), "post id=me");
    EXPECT_EQ(answer(handler, "PUT", "/users/me"), "mounted");
}

TEST(Router, HTTP_10_segments_are_decoded_after_the_path_was_split) {
    Handler handler = built(std::move(Router()
                                          .get("/a b/:name", named("name", {"name"}))
                                          .get("/files/*rest", named("rest", {"rest"}))
                                          .get("/a/b", named("split"))));
    EXPECT_EQ(answer(handler, "GET", "/a%20b/c%2Fd"), "name name=c/d");
    EXPECT_EQ(answer(handler, "GET", "/%61%20b/%C3%A4"), "name name=\u00e4");
    EXPECT_EQ(answer(handler, "GET", "/a%2Fb"), "404");
    EXPECT_EQ(answer(handler, "GET", "/files/x%20y/z"), "rest rest=x y/z");
    EXPECT_EQ(answer(handler, "GET", "/a%2520b/x"), "404");
}

TEST(Router, HTTP_10_slashes_at_the_end_and_empty_segments_count) {
    Handler handler = built(std::move(Router()
                                          .get("/a", named("a"))
                                          .get("/b/", named("b"))
                                          .get("/c/:id", named("c", {"id"}))
                                          .get("/d/*rest", named("d", {"rest"}))));
    EXPECT_EQ(answer(handler, "GET", "/a/"), "404");
    EXPECT_EQ(answer(handler, "GET", "//a"), "404");
    EXPECT_EQ(answer(handler, "GET", "/b"), "404");
    EXPECT_EQ(answer(handler, "GET", "/b/"), "b");
    EXPECT_EQ(answer(handler, "GET", "/b//"), "404");
    EXPECT_EQ(answer(handler, "GET", "/c/"), "404");
    EXPECT_EQ(answer(handler, "GET", "/c/1/"), "404");
    EXPECT_EQ(answer(handler, "GET", "/d"), "404");
    EXPECT_EQ(answer(handler, "GET", "/d/"), "d rest=");
    EXPECT_EQ(answer(handler, "GET", "/d//x"), "d rest=/x");
}

TEST(Router, HTTP_10_a_mounted_handler_sees_the_rest_of_the_path) {
    Router inner;
    inner.get("/:leaf", named("inner", {"user", "leaf"}));
    Handler handler = built(std::move(Router()
                                          .mount("/shown", path_shown())
                                          .mount("/users/:user/deep", built(std::move(inner)))
                                          .get("/shown/fixed", named("fixed"))));
    EXPECT_EQ(answer(handler, "POST", "/shown"), "|/shown");
    EXPECT_EQ(answer(handler, "GET", "/shown/"), "/|/shown/");
    EXPECT_EQ(answer(handler, "GET", "/sh%6fwn/a%20b/c"), "/a%20b/c|/sh%6fwn/a%20b/c");
    EXPECT_EQ(answer(handler, "GET", "/shownx"), "404");
    EXPECT_EQ(answer(handler, "GET", "/shown/fixed"), "fixed");
    EXPECT_EQ(answer(handler, "GET", "/users/u/deep/x"), "inner user=u leaf=x");
    EXPECT_EQ(answer(handler, "GET", "/users/u/deep"), "404");
}

// Writes its letter around what the handler says.
Middleware around(std::string letter) {
    return [letter](Handler next) -> Handler {
        return [letter, next = std::move(next)](Request& request,
                                                async::Context& context) -> Result<Response> {
            Response response = WEFT_TRY(next(request, context));
            response.headers.set("seen", letter + header(response, "seen"));
            return response;
        };
    };
}

TEST(Router, HTTP_10_middleware_wraps_its_router_or_its_group_the_first_outermost) {
    Router router;
    router.get("/a", named("a"));
    router.use(around("1")).use(around("2"));
    router.group("/group", [](Router& group) {
        group.get("/b", named("b")).get("", named("bare"));
        group.use(around("3"));
        group.group("/inner", [](Router& inner) { inner.use(around("4")).get("/c", named("c")); });
    });
    Handler handler = built(std::move(router));
    auto seen = [&](std::string_view path) {
        Result<Response> response = ask(handler, "GET", path);
        return response ? header(*response, "seen") : std::string("(failed)");
    };
    EXPECT_EQ(seen("/a"), "12(none)");
    EXPECT_EQ(seen("/group/b"), "123(none)");
    EXPECT_EQ(seen("/group"), "123(none)");
    EXPECT_EQ(seen("/group/inner/c"), "1234(none)");
    EXPECT_EQ(seen("/nowhere"), "12(none)");
}

TEST(Router, HTTP_10_a_route_sets_the_limit_of_its_body) {
    Handler handler = built(std::move(
        Router().post("/big", named("big"), {.body_bytes_max = 1 << 30}).post("/a", named("a"))));
    MadeRequest big("POST", "/big");
    ASSERT_TRUE(big.send_to(handler));
    EXPECT_EQ(big.body().bytes_max(), 1U << 30);
    MadeRequest usual("POST", "/a");
    ASSERT_TRUE(usual.send_to(handler));
    EXPECT_EQ(usual.body().bytes_max(), std::nullopt);
}

TEST(Router, HTTP_10_a_long_path_is_searched_in_the_time_of_the_tree) {
    // Each segment could be fixed or a parameter: 2^20 ways, if they were all tried.
    Router router;
    for (unsigned bits = 0; bits < 64; ++bits) {
        std::string pattern;
        for (unsigned i = 0; i < 20; ++i) {
            pattern += ((bits >> (i % 6)) & 1U) != 0 ? "/a" : format("/:p{}", i);
        }
        router.get(pattern + "/end", named("end"));
    }
    Handler handler = built(std::move(router));
    std::string path;
    for (unsigned i = 0; i < 20; ++i) path += "/a";
    for (unsigned i = 0; i < 1000; ++i) ASSERT_EQ(answer(handler, "GET", path + "/no"), "404");
    std::string huge(100'000, '/');
    EXPECT_EQ(answer(handler, "GET", huge), "404");
}

}  // namespace
}  // namespace weft::http
