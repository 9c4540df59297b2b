#include "weft/http/routing/middleware.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>

#include "weft/async/context.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"
#include "weft/http/internal/handler_test.h"

namespace weft::http {
namespace {

using handler_test::ask;
using handler_test::header;
using handler_test::MadeRequest;
using std::chrono::hours;
using std::chrono::milliseconds;

// The text of the response is what the handler found in its context.
std::string id_of(const Response& response) {
    EXPECT_EQ(header(response, "x-request-id"), response.body.text().value_or(""));
    return header(response, "x-request-id");
}

TEST(Middleware, HTTP_10_a_request_id_is_taken_over_only_if_it_is_harmless) {
    Handler handler = request_id()([](Request&, async::Context& context) -> Result<Response> {
        EXPECT_EQ(async::Context::current(), context);
        const std::string* id = context.value(kRequestId);
        return Response::text(id ? *id : "(none)");
    });
    auto id_for = [&](std::string_view sent) {
        return id_of(*ask(handler, "GET", "/", {{"x-request-id", sent}}));
    };
    EXPECT_EQ(id_for("a-1_B.2"), "a-1_B.2");
    std::string too_long(kRequestIdBytesMax + 1, 'a');
    for (std::string_view sent : {std::string_view(""), std::string_view("a b"),
                                  std::string_view("\"a\""), std::string_view(too_long)}) {
        EXPECT_EQ(id_for(sent).size(), 32U) << sent;
        EXPECT_NE(id_for(sent), sent);
    }
    EXPECT_NE(id_of(*ask(handler, "GET", "/")), id_of(*ask(handler, "GET", "/")));
}

TEST(Middleware, HTTP_10_a_handler_that_takes_too_long_is_answered_with_503) {
    Result<void> outcome = run([] {
        Handler slow = timeout(milliseconds(5))([](Request&, async::Context&) -> Result<Response> {
            WEFT_TRY(weft::sleep_for(hours(1)));
            return Response::text("late");
        });
        Result<Response> response = ask(slow, "GET", "/");
        ASSERT_TRUE(response);
        EXPECT_EQ(response->status, 503);
    });
    EXPECT_TRUE(outcome);
}

TEST(Middleware, HTTP_10_a_timeout_changes_nothing_else) {
    Result<void> outcome = run([] {
        Middleware short_time = timeout(milliseconds(1));
        auto wait_out = [](async::Context& context) {
            while (!context.is_done()) yield();
        };
        // An answer counts although it is late, and so does an error of another kind.
        Handler late = short_time([&](Request&, async::Context& context) -> Result<Response> {
            wait_out(context);
            return Response::text("late");
        });
        EXPECT_EQ(ask(late, "GET", "/")->status, 200);
        Handler broken = short_time([&](Request&, async::Context& context) -> Result<Response> {
            wait_out(context);
            return ErrorKind::Other;
        });
        EXPECT_EQ(ask(broken, "GET", "/").error().kind(), ErrorKind::Other);
        // What ends the request itself is not the timeout's.
        auto [outer, source] = async::Context::current().with_cancel();
        Handler slow =
            timeout(hours(1))([&](Request&, async::Context& context) -> Result<Response> {
                source.cancel();
                WEFT_TRY(context.check());
                return Response::text("not cancelled");
            });
        MadeRequest request("GET", "/");
        EXPECT_EQ(slow(request.request(), outer).error().kind(), ErrorKind::Cancelled);
    });
    EXPECT_TRUE(outcome);
}

}  // namespace
}  // namespace weft::http
