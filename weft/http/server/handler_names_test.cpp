// The fiber of a connection is called by what it does: the route that it answers, where a router
// has found one, else the method; and never by anything that the client has made up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/report/dump.h"
#include "weft/http/internal/server_test.h"
#include "weft/http/routing/router.h"
#include "weft/sync/event.h"
#include "weft/testing/captured_log.h"
#include "weft/testing/eventually.h"
#include "weft/testing/recurse.h"

namespace weft::http {
namespace {

using namespace std::chrono_literals;
using testing::RawClient;
using testing::TestServer;

constexpr std::string_view kGetUser = "GET /users/4711?secret=1 HTTP/1.1\r\nHost: a\r\n\r\n";

// A handler that parks until its test has looked at it.
class ParkedHandler {
public:
    Handler handler() {
        return [this](Request&, async::Context&) -> Result<Response> {
            WEFT_TRY(go_on_.wait());
            return Response::text("done");
        };
    }
    // What a dump calls the fiber that is parked there. Then it goes on.
    std::string name() {
        std::string name;
        EXPECT_TRUE(weft::testing::eventually([&] {
            std::vector<FiberReport> fibers = list_fibers(Backtraces::No);
            auto parked = std::ranges::find(fibers, &go_on_, &FiberReport::object);
            if (parked != fibers.end()) name = parked->name;
            return parked != fibers.end();
        }));
        go_on_.set();
        return name;
    }
    Result<void> wait() { return go_on_.wait(); }

private:
    Event go_on_;
};

// Whether a fiber of that name waits, now or soon.
bool is_parked(std::string_view name) {
    auto is_it = [name](const FiberReport& fiber) {
        return fiber.name == name && fiber.state == FiberState::Waiting;
    };
    return weft::testing::eventually(
        [&] { return std::ranges::any_of(list_fibers(Backtraces::No), is_it); });
}

Handler routed(std::string_view method, std::string_view pattern, Handler handler) {
    Router router;
    router.on(method, pattern, std::move(handler));
    return std::move(router).build().value();
}

TEST(HandlerNames, FIB_16f_a_dump_calls_the_handler_by_its_route) {
    ParkedHandler parked;
    TestServer server(routed("GET", "/users/:id", parked.handler()));
    RawClient client = server.connect();
    client.send(kGetUser);
    EXPECT_EQ(parked.name(), "GET /users/:id");
    EXPECT_THAT(client.read_response(), ::testing::HasSubstr("200"));
}

TEST(HandlerNames, FIB_16f_a_route_of_a_group_has_its_whole_pattern) {
    ParkedHandler parked;
    Router router;
    router.group("/admin", [&](Router& admin) { admin.get("/users/:id", parked.handler()); });
    TestServer server(std::move(router).build().value());
    RawClient client = server.connect();
    client.send("HEAD /admin/users/1 HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(parked.name(), "GET /admin/users/:id");
}

TEST(HandlerNames, FIB_16f_what_is_mounted_is_called_by_its_prefix) {
    ParkedHandler parked;
    Router router;
    router.mount("/assets", parked.handler());
    TestServer server(std::move(router).build().value());
    RawClient client = server.connect();
    client.send("GET /assets/a.css HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(parked.name(), "any /assets/*");
}

TEST(HandlerNames, FIB_16f_without_a_router_it_is_called_by_its_method) {
    for (std::string method : {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"}) {
        ParkedHandler parked;
        TestServer server(parked.handler());
        RawClient client = server.connect();
        client.send(method + " /users/4711 HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
        EXPECT_EQ(parked.name(), method);
    }
}

TEST(HandlerNames, FIB_16f_a_method_that_the_client_has_made_up_is_not_shown) {
    ParkedHandler parked;
    TestServer server(parked.handler());
    RawClient client = server.connect();
    client.send("EVIL'NAME /users HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(parked.name(), "http request");
}

TEST(HandlerNames, FIB_16f_middleware_before_the_match_is_called_by_the_method) {
    ParkedHandler parked;
    Router router;
    router.use([&](Handler next) -> Handler {
        return [&, next](Request& request, async::Context& context) -> Result<Response> {
            WEFT_TRY(parked.wait());
            return next(request, context);
        };
    });
    router.get("/users/:id", [](Request&, async::Context&) -> Result<Response> {
        return Response::text(std::string(current_name()));
    });
    TestServer server(std::move(router).build().value());
    RawClient client = server.connect();
    client.send(kGetUser);
    EXPECT_EQ(parked.name(), "GET");
    EXPECT_THAT(client.read_response(), ::testing::EndsWith("\r\n\r\nGET /users/:id"));
}

TEST(HandlerNames, FIB_16f_a_body_that_is_produced_has_the_name_of_its_handler) {
    ParkedHandler parked;
    auto produce = [&](BodyWriter& writer) -> Result<void> {
        WEFT_TRY(parked.wait());
        return writer.write(as_bytes("done"));
    };
    TestServer server(routed("GET", "/users/:id", [&](Request&, async::Context&) {
        Response response;
        response.body = Body::produced(produce);
        return Result<Response>(std::move(response));
    }));
    RawClient client = server.connect();
    client.send(kGetUser);
    EXPECT_EQ(parked.name(), "GET /users/:id");
}

TEST(HandlerNames, FIB_16f_between_two_requests_it_is_a_connection_again) {
    ParkedHandler parked;
    TestServer server(routed("GET", "/users/:id", parked.handler()));
    RawClient client = server.connect();
    client.send("GET /us");
    EXPECT_TRUE(is_parked("http connection"));
    client.send("ers/1 HTTP/1.1\r\nHost: a\r\n\r\nGET /us");
    EXPECT_EQ(parked.name(), "GET /users/:id");
    EXPECT_THAT(client.read_response(), ::testing::HasSubstr("200"));
    EXPECT_TRUE(is_parked("http connection"));
}

TEST(HandlerNames, FIB_16f_the_report_of_a_stall_names_the_route) {
    Atomic<bool> stop{false};
    auto compute = [&](Request&, async::Context&) -> Result<Response> {
        while (!stop.load(std::memory_order_relaxed)) {}
        return Response::text("done");
    };
    weft::testing::CapturedLog log;
    {
        TestServer server(routed("GET", "/users/:id", compute));
        RawClient client = server.connect();
        client.send(kGetUser);
        EXPECT_TRUE(weft::testing::eventually([&] { return log.contains("has not let go"); }));
        stop.store(true, std::memory_order_relaxed);
        EXPECT_THAT(client.read_response(), ::testing::HasSubstr("200"));
    }
    EXPECT_THAT(log.lines(), ::testing::Contains(::testing::HasSubstr(
                                 "fiber 'GET /users/:id' has not let go of its worker")));
}

TEST(HandlerNamesDeathTest, FIB_16f_an_overflow_names_the_route) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            TestServer server(routed("GET", "/users/:id", [](Request&, async::Context&) {
                return Result<Response>(
                    Response::text(std::to_string(weft::testing::recurse(100'000'000))));
            }));
            server.ask(kGetUser);
        },
        ::testing::KilledBySignal(SIGABRT), "overflow in fiber 'GET /users/:id'");
}

}  // namespace
}  // namespace weft::http
