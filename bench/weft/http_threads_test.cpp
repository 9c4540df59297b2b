#include "bench/weft/http_threads.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/fiber/runtime.h"
#include "weft/http/routing/router.h"
#include "weft/http/server/server.h"
#include "weft/net/socket.h"

namespace bench {
namespace {

using namespace weft;
using namespace std::chrono_literals;

http::Handler routes() {
    http::Router router;
    router.get("/hello",
               [](http::Request&, async::Context&) { return http::Response::text("hello"); });
    router.get("/large", [](http::Request&, async::Context&) {
        return http::Response::text(std::string(1 << 20, 'x'));
    });
    router.get("/fails", [](http::Request&, async::Context&) -> Result<http::Response> {
        return http::Response::plain(500);
    });
    return std::move(router).build().value();
}

// The whole conversation of one connection.
std::string ask(const net::Address& address, std::string_view requests) {
    auto socket = net::Socket::connect(address, Deadline::after(10s));
    if (!socket || !socket->write_all(as_bytes(requests), Deadline::after(10s))) return "(refused)";
    std::string text;
    std::byte space[16 * 1024];
    for (;;) {
        auto count = socket->read(space, Deadline::after(10s));
        if (!count) return "(" + count.error().message() + ")";
        if (*count == 0) return text;
        text += as_text(Bytes(space).first(*count));
    }
}

// Without what is another one each time.
std::string without_date(std::string text) {
    for (std::size_t at = text.find("Date: "); at != std::string::npos; at = text.find("Date: ")) {
        text.erase(at, text.find("\r\n", at) + 2 - at);
    }
    return text;
}

TEST(HttpThreads, HTTP_10e_the_same_handlers_give_the_same_answers_on_threads_and_on_fibers) {
    HttpThreads threads(routes());
    const net::Address by_threads = threads.listen(net::Address::loopback(0)).value();
    std::thread serving([&] { EXPECT_TRUE(threads.serve()); });
    Runtime runtime;
    http::Server fibers(routes());
    const net::Address by_fibers =
        runtime.spawn([&] { return fibers.listen(net::Address::loopback(0)); }).join().value();
    auto served = runtime.spawn([&] { return fibers.serve(); });
    for (std::string_view request :
         {"GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
          "HEAD /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
          "GET /hello HTTP/1.1\r\nHost: a\r\n\r\nGET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n"
          "GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
          "GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
          "GET /fails HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"}) {
        const std::string answer = without_date(ask(by_threads, request));
        EXPECT_TRUE(answer.starts_with("HTTP/1.1 ")) << answer;
        EXPECT_EQ(answer, without_date(ask(by_fibers, request))) << request;
    }
    fibers.close();
    EXPECT_TRUE(served.join());
    threads.close();
    serving.join();
}

TEST(HttpThreads, HTTP_10e_closing_ends_connections_that_are_idle) {
    HttpThreads threads(routes());
    const net::Address address = threads.listen(net::Address::loopback(0)).value();
    std::thread serving([&] { EXPECT_TRUE(threads.serve()); });
    auto idle = net::Socket::connect(address, Deadline::after(10s));
    ASSERT_TRUE(idle);
    EXPECT_EQ(ask(address, "GET / HTTP/1.1\r\n\r\n"), "");
    threads.close();
    serving.join();
    std::byte space[1];
    EXPECT_EQ(idle->read(space, Deadline::after(10s)).value_or(0), 0U);
}

}  // namespace
}  // namespace bench
