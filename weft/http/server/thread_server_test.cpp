#include "weft/http/server/thread_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "weft/fiber/runtime.h"
#include "weft/http/internal/server_test.h"
#include "weft/http/routing/router.h"
#include "weft/sync/event.h"
#include "weft/testing/captured_log.h"
#include "weft/testing/eventually.h"

namespace weft::http {
namespace {

using async::Context;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::RawClient;
using ::testing::StartsWith;
using testing::TestServer;
using weft::testing::eventually;
using namespace std::chrono_literals;

// Serves on a thread of the test until it ends.
class Threads {
public:
    explicit Threads(Handler handler, ServerOptions options = {})
        : server_(std::move(handler), std::move(options)) {
        address_ = server_.listen(net::Address::loopback(0)).value();
        thread_ = std::thread([this] { EXPECT_TRUE(server_.serve()); });
    }
    ~Threads() { stop(); }

    void stop() {
        server_.close();
        if (thread_.joinable()) thread_.join();
    }
    RawClient connect() const { return RawClient(address_); }
    std::string ask(std::string_view request) const {
        RawClient client(address_);
        client.send(request);
        return client.read_to_end();
    }
    ThreadServer& server() { return server_; }

private:
    ThreadServer server_;
    net::Address address_;
    std::thread thread_;
};

Handler routes() {
    Router router;
    router.get("/hello", [](Request&, Context&) { return Response::text("hello"); });
    router.get("/large",
               [](Request&, Context&) { return Response::text(std::string(1 << 20, 'x')); });
    router.get("/stream", [](Request&, Context&) {
        return Response::stream("text/plain", [](BodyWriter& writer) -> Result<void> {
            for (int i = 0; i < 100; ++i) WEFT_TRY(writer.write(std::to_string(i)));
            return {};
        });
    });
    router.post("/echo", [](Request& request, Context&) -> Result<Response> {
        return Response::text(WEFT_TRY(request.body().read_all()));
    });
    router.get("/fails", [](Request&, Context&) -> Result<Response> { return ErrorKind::Other; });
    router.get("/invalid",
               [](Request&, Context&) { return Response::text("x").with("bad", "a\r\nb"); });
    router.get("/framed", [](Request&, Context&) {
        return Response::text("x").with("content-length", "100");
    });
    return std::move(router).build().value();
}

// Without what is another one each time.
std::string without_date(std::string text) {
    for (const char* field : {"Date: ", "x-request-id: "}) {
        for (std::size_t at = text.find(field); at != std::string::npos; at = text.find(field)) {
            text.erase(at, text.find("\r\n", at) + 2 - at);
        }
    }
    return text;
}

TEST(ThreadServer, HTTP_10_the_same_handlers_give_the_same_answers_on_threads_and_on_fibers) {
    weft::testing::CapturedLog captured;
    ServerOptions options;
    options.limits.linger_time = 50ms;
    Threads threads(routes(), options);
    TestServer fibers(routes(), options);
    const std::string_view requests[] = {
        "GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "GET /hello HTTP/1.0\r\n\r\n",
        "HEAD /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "GET /hello HTTP/1.1\r\nHost: a\r\n\r\nGET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n"
        "GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "GET /stream HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "GET /stream HTTP/1.0\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nConnection: close\r\n\r\nworld",
        "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        "3\r\nabc\r\n0\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n",
        "PUT /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc",
        "GET /fails HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "GET /invalid HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "GET /framed HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "GET /hello HTTP/1.1\r\n\r\n",
        "HEAD /hello HTTP/1.1\r\n\r\n",
        "GET https://a/hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "GET  /hello HTTP/1.1\r\nHost: a\r\n\r\n",
        "nonsense\r\n\r\n",
    };
    for (std::string_view request : requests) {
        std::string answer = without_date(threads.ask(request));
        EXPECT_EQ(answer, without_date(fibers.ask(request))) << request;
        EXPECT_THAT(answer, StartsWith("HTTP/1.1 ")) << request;
    }
}

TEST(ThreadServer, HTTP_10_an_expected_continue_is_said_when_the_body_is_read) {
    Threads threads(routes());
    RawClient client = threads.connect();
    client.send(
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n"
        "Expect: 100-continue\r\n\r\n");
    EXPECT_THAT(client.read_until("\r\n\r\n"), StartsWith("HTTP/1.1 100 "));
    client.send("ok");
    EXPECT_THAT(client.read_response(), EndsWith("\r\n\r\nok"));
}

TEST(ThreadServer, HTTP_10_the_last_response_is_whole_though_the_next_request_was_sent) {
    ServerOptions options;
    options.limits.requests_per_connection = 1;
    constexpr std::size_t kBytes = 8 << 20;  // more than a connection holds
    Threads threads([](Request&, Context&) { return Response::text(std::string(kBytes, 'x')); },
                    options);
    RawClient client = threads.connect();
    constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    client.send(kGet);
    client.read_until("\r\n\r\n");
    client.send(kGet);
    EXPECT_EQ(client.read_to_end().size(), kBytes);
}

TEST(ThreadServer, HTTP_10_a_slow_head_gets_408_and_an_idle_connection_is_closed) {
    ServerOptions options;
    options.limits.header_time = 20ms;
    options.limits.idle = 20ms;
    options.limits.linger_time = 20ms;
    Threads threads(routes(), options);
    RawClient slow = threads.connect();
    slow.send("GET /hel");
    EXPECT_THAT(slow.read_to_end(), StartsWith("HTTP/1.1 408 "));
    EXPECT_TRUE(threads.connect().is_ended());
    EXPECT_TRUE(eventually([&] { return threads.server().connections() == 0; }));
}

TEST(ThreadServer, HTTP_10_closing_ends_connections_that_are_idle_or_wait_in_a_handler) {
    Event entered;
    Threads threads([&](Request&, Context&) -> Result<Response> {
        entered.set();
        Event never;
        WEFT_TRY(never.wait());
        return Response::text("never");
    });
    RawClient idle = threads.connect();
    RawClient busy = threads.connect();
    busy.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_TRUE(entered.wait_for(testing::kPatience));
    EXPECT_TRUE(eventually([&] { return threads.server().connections() == 2; }));
    threads.stop();
    EXPECT_EQ(threads.server().connections(), 0U);
    EXPECT_TRUE(idle.is_ended());
    busy.read_to_end();
}

TEST(ThreadServer, HTTP_10_more_connections_than_the_limit_are_closed_at_once) {
    ServerOptions options;
    options.limits.connections = 2;
    Threads threads(routes(), options);
    constexpr std::string_view kHello = "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n";
    RawClient first = threads.connect();
    first.send(kHello);
    EXPECT_THAT(first.read_response(), EndsWith("hello"));
    RawClient second = threads.connect();
    second.send(kHello);
    EXPECT_THAT(second.read_response(), EndsWith("hello"));
    EXPECT_TRUE(threads.connect().is_ended());
    first.close();
    EXPECT_TRUE(eventually([&] { return threads.server().connections() == 1; }));
    RawClient third = threads.connect();
    third.send(kHello);
    EXPECT_THAT(third.read_response(), EndsWith("hello"));
}

TEST(ThreadServer, HTTP_10_many_clients_are_served_at_once_and_logged) {
    Atomic<int> logged{0};
    ServerOptions options;
    options.on_access = [&](const AccessRecord& record) {
        EXPECT_EQ(record.status, 200);
        logged.fetch_add(1, std::memory_order_relaxed);
    };
    Threads threads(routes(), options);
    std::vector<std::unique_ptr<RawClient>> clients;
    for (int i = 0; i < 50; ++i) clients.push_back(std::make_unique<RawClient>(threads.connect()));
    for (int round = 0; round < 3; ++round) {
        for (auto& client : clients) client->send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
        for (auto& client : clients) EXPECT_THAT(client->read_response(), EndsWith("hello"));
    }
    clients.clear();
    threads.stop();
    EXPECT_EQ(logged.load(std::memory_order_relaxed), 150);
}

TEST(ThreadServer, HTTP_10_a_fiber_cannot_serve_with_threads) {
    ThreadServer server(routes());
    EXPECT_EQ(server.serve().error().kind(), ErrorKind::Misuse);
    ASSERT_TRUE(server.listen(net::Address::loopback(0)));
    Result<void> outcome = run([&] { return server.serve(); });
    EXPECT_EQ(outcome.error().kind(), ErrorKind::Misuse);
}

}  // namespace
}  // namespace weft::http
