// Bodies that come slowly, and many that are held at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <string>

#include "weft/http/internal/server_test.h"
#include "weft/http/server/server.h"
#include "weft/sync/event.h"
#include "weft/testing/eventually.h"

namespace weft::http {
namespace {

using namespace std::chrono_literals;
using async::Context;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::RawClient;
using ::testing::StartsWith;
using testing::TestServer;
using weft::testing::eventually;

std::string post_of(std::size_t bytes) {
    return "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(bytes) + "\r\n\r\n";
}

Result<Response> read_body(Request& request, Context&) {
    std::string body = WEFT_TRY(request.body().read_all());
    return Response::text(std::to_string(body.size()));
}

// Lets time pass, unless the server says something.
bool is_quiet_for(RawClient& client, Nanoseconds time) {
    return !client.socket().descriptor().wait_readable(Deadline::after(time));
}

// By the average of its whole life this one would have a quarter of an hour.
TEST(ServerTime, HTTP_4i_a_body_that_comes_fast_and_then_trickles_gets_408) {
    ServerOptions options;
    options.limits.body_grace = 100ms;
    options.limits.body_bytes_per_second = 1000;
    TestServer server(read_body, options);
    RawClient client = server.connect();
    constexpr std::size_t kBytes = 1024 * 1024;
    client.send(post_of(kBytes) + std::string(kBytes - 2000, 'x'));
    Instant begun = Clock::now();
    while (client.send("x") && Clock::now() - begun < 20s) {
        if (!is_quiet_for(client, 10ms)) break;
    }
    EXPECT_THAT(client.read_to_end(), StartsWith("HTTP/1.1 408 "));
    EXPECT_LT(Clock::now() - begun, 10s);
}

// The sender is not to blame for a handler that reads late.
TEST(ServerTime, HTTP_4i_the_time_in_which_nobody_reads_does_not_count) {
    ServerOptions options;
    options.limits.body_grace = 1s;
    options.limits.body_bytes_per_second = 100;
    Event read;
    Event go_on;
    TestServer server(
        [&](Request& request, Context&) -> Result<Response> {
            std::array<std::byte, 10> space;
            // More than has come with the head, so that the time of waiting has begun.
            for (int count = 0; count < 2; ++count) WEFT_TRY(request.body().read(space));
            read.set();
            WEFT_TRY(go_on.wait());
            std::string rest = WEFT_TRY(request.body().read_all());
            return Response::text(std::to_string(rest.size()));
        },
        options);
    RawClient client = server.connect();
    client.send(post_of(30) + "0123456789");
    client.send("0123456789");
    ASSERT_TRUE(read.wait_for(testing::kPatience));
    EXPECT_TRUE(is_quiet_for(client, 2s));
    go_on.set();
    EXPECT_TRUE(is_quiet_for(client, 20ms));
    client.send("0123456789");
    EXPECT_THAT(client.read_response(), EndsWith("\r\n\r\n10"));
}

TEST(ServerOverload, HTTP_11g_the_memory_of_all_bodies_is_bounded) {
    ServerOptions options;
    options.limits.bodies_bytes = 300 * 1024;
    Event entered;
    Event go_on;
    TestServer server(
        [&](Request& request, Context&) -> Result<Response> {
            std::string body = WEFT_TRY(request.body().read_all());
            entered.set();
            WEFT_TRY(go_on.wait());
            return Response::text(std::to_string(body.size()));
        },
        options);
    constexpr std::size_t kBytes = 200 * 1024;
    std::string upload = post_of(kBytes) + std::string(kBytes, 'x');
    RawClient first = server.connect();
    first.send(upload);
    ASSERT_TRUE(entered.wait_for(testing::kPatience));
    RawClient second = server.connect();
    second.send(upload);
    std::string refused = second.read_response();
    EXPECT_THAT(refused, StartsWith("HTTP/1.1 503 "));
    EXPECT_THAT(refused, HasSubstr("retry-after: 1\r\n"));
    EXPECT_EQ(server.server().counters().shed, 1U);
    // A small one needs no room.
    RawClient small = server.connect();
    small.send(post_of(1000) + std::string(1000, 'x'));
    go_on.set();
    EXPECT_THAT(small.read_response(), EndsWith("1000"));
    EXPECT_THAT(first.read_response(), EndsWith(std::to_string(kBytes)));
    // What the first has given back is there for the next.
    auto is_taken = [&] {
        RawClient third = server.connect();
        third.send(upload);
        return third.read_response().ends_with(std::to_string(kBytes));
    };
    EXPECT_TRUE(eventually(is_taken));
}

}  // namespace
}  // namespace weft::http
