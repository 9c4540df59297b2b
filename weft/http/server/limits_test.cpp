// Time-outs, drain and overload.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>  // tidy: allow foreign: the limit on descriptors
#include <sys/socket.h>    // tidy: allow foreign: a client with an address of its own
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/http/internal/server_test.h"
#include "weft/http/server/server.h"
#include "weft/sync/event.h"
#include "weft/testing/eventually.h"
#include "weft/testing/scale.h"
#include "weft/testing/stall_watch.h"

namespace weft::http {
namespace {

using namespace std::chrono_literals;
using async::Context;
using ::testing::AssertionFailure;
using ::testing::AssertionResult;
using ::testing::AssertionSuccess;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::RawClient;
using ::testing::StartsWith;
using testing::TestServer;
using weft::testing::eventually;
using weft::testing::unless_stalled;

using testing::kGet;

Result<Response> hello(Request&, Context&) { return Response::text("hello"); }

Result<Response> read_body(Request& request, Context&) {
    std::string body = WEFT_TRY(request.body().read_all());
    return Response::text(std::to_string(body.size()));
}

// Tells when somebody is in it, and lets him out when told.
struct Room {
    Event entered;
    Event go;
    Handler handler() {
        return [this](Request&, Context&) -> Result<Response> {
            entered.set();
            WEFT_TRY(go.wait());
            return Response::text("done");
        };
    }
};

TEST(ServerTime, HTTP_4_a_head_that_takes_too_long_gets_408) {
    ServerOptions options;
    options.limits.header_time = 500ms;  // enough for the first half to arrive
    TestServer server(hello, options);
    RawClient client = server.connect();
    client.send("GET / HTTP/1.1\r\nHo");
    EXPECT_THAT(client.read_to_end(), StartsWith("HTTP/1.1 408 "));
    EXPECT_TRUE(eventually([&] { return server.server().counters().timeouts == 1; }));
}

TEST(ServerTime, HTTP_4_the_time_of_a_head_does_not_begin_anew_with_each_byte) {
    ServerOptions options;
    options.limits.header_time = 500ms;
    TestServer server(hello, options);
    RawClient client = server.connect();
    Instant begun = Clock::now();
    // A byte every 20 ms would be in time each; together they are not.
    while (client.send("G") && Clock::now() - begun < 20s) {
        if (!client.socket().descriptor().wait_readable(Deadline::after(20ms))) continue;
        break;
    }
    EXPECT_THAT(client.read_to_end(), StartsWith("HTTP/1.1 408 "));
    EXPECT_LT(Clock::now() - begun, 10s);
}

TEST(ServerTime, HTTP_4_one_who_never_speaks_is_closed_after_the_header_time) {
    ServerOptions options;
    options.limits.header_time = 100ms;
    TestServer server(hello, options);
    RawClient client = server.connect();
    EXPECT_EQ(client.read_to_end(), "");
}

TEST(ServerTime, HTTP_4_an_idle_connection_is_closed_after_the_idle_time) {
    ServerOptions options;
    options.limits.idle = 150ms;
    TestServer server(hello, options);
    RawClient client = server.connect();
    Instant begun = Clock::now();
    client.send(kGet);
    EXPECT_THAT(client.read_response(), EndsWith("hello"));
    EXPECT_TRUE(client.is_ended());
    EXPECT_GE(Clock::now() - begun, 100ms);
    EXPECT_TRUE(eventually([&] { return server.server().connections() == 0; }));
}

TEST(ServerTime, HTTP_4_a_body_that_stops_gets_408) {
    ServerOptions options;
    options.limits.body_idle = 100ms;
    TestServer server(read_body, options);
    RawClient client = server.connect();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
    EXPECT_THAT(client.read_to_end(), StartsWith("HTTP/1.1 408 "));
}

TEST(ServerTime, HTTP_4_a_body_that_trickles_gets_408) {
    ServerOptions options;
    options.limits.body_grace = 100ms;
    options.limits.body_bytes_per_second = 1000;
    TestServer server(read_body, options);
    RawClient client = server.connect();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n");
    Instant begun = Clock::now();
    while (client.send("x") && Clock::now() - begun < 20s) {
        if (client.socket().descriptor().wait_readable(Deadline::after(10ms))) break;
    }
    EXPECT_THAT(client.read_to_end(), StartsWith("HTTP/1.1 408 "));
    EXPECT_LT(Clock::now() - begun, 10s);
}

TEST(ServerTime, HTTP_4_one_who_does_not_read_is_closed_after_the_write_time) {
    ServerOptions options;
    options.limits.write_time = 100ms;
    Event ended;
    TestServer server(
        [&](Request&, Context&) {
            return Response::stream("text/plain", [&](BodyWriter& writer) -> Result<void> {
                std::string piece(256 * 1024, 'x');
                Result<void> written;
                while (written) written = writer.write(piece);
                EXPECT_EQ(written.error().kind(), ErrorKind::TimedOut);
                ended.set();
                return written;
            });
        },
        options);
    RawClient client = server.connect();
    client.send(kGet);
    EXPECT_TRUE(ended.wait_for(testing::kPatience));
    EXPECT_TRUE(eventually([&] { return server.server().connections() == 0; }));
    // The kernel keeps nothing for it.
    client.read_to_end();
    EXPECT_TRUE(client.was_reset());
}

TEST(ServerBody, HTTP_4_a_body_that_fails_is_not_taken_for_the_whole_by_an_old_client) {
    TestServer server([](Request&, Context&) {
        return Response::stream("text/plain", [](BodyWriter& writer) -> Result<void> {
            WEFT_TRY(writer.write(as_bytes("a part")));
            WEFT_TRY(writer.flush());
            return ErrorKind::Other;
        });
    });
    RawClient client = server.connect();
    client.send("GET / HTTP/1.0\r\n\r\n");
    client.read_to_end();
    EXPECT_TRUE(client.was_reset());
}

TEST(ServerTime, HTTP_4_a_connection_ends_after_so_many_requests) {
    ServerOptions options;
    options.limits.requests_per_connection = 2;
    TestServer server(hello, options);
    RawClient client = server.connect();
    client.send(kGet);
    EXPECT_THAT(client.read_response(), EndsWith("hello"));
    client.send(kGet);
    EXPECT_THAT(client.read_to_end(), HasSubstr("Connection: close"));
}

TEST(ServerTime, HTTP_4_the_last_response_is_whole_though_the_next_request_was_sent) {
    ServerOptions options;
    options.limits.requests_per_connection = 1;
    constexpr std::size_t kBytes = 8 << 20;  // more than a connection holds
    TestServer server([](Request&, Context&) { return Response::text(std::string(kBytes, 'x')); },
                      options);
    RawClient client = server.connect();
    client.send(kGet);
    client.read_until("\r\n\r\n");
    client.send(kGet);
    EXPECT_EQ(client.read_to_end().size(), kBytes);
}

TEST(ServerIdle, HTTP_4_an_idle_connection_owns_no_fiber) {
    TestServer server(hello);
    std::vector<RawClient> clients;
    std::size_t count = weft::testing::scaled(100, 1000);
    for (std::size_t index = 0; index < count; ++index) {
        clients.push_back(server.connect());
        clients.back().send(kGet);
        EXPECT_THAT(clients.back().read_response(), EndsWith("hello"));
    }
    // The one that serves.
    EXPECT_TRUE(eventually([&] { return server.runtime().live_fibers() == 1; }));
    for (RawClient& client : clients) {
        client.send(kGet);
        EXPECT_THAT(client.read_response(), EndsWith("hello"));
    }
    EXPECT_EQ(server.server().counters().accepted, count);
}

TEST(ServerDrain, HTTP_4_idle_connections_are_closed_at_once_and_requests_finish) {
    Room room;
    TestServer server(room.handler());
    RawClient busy = server.connect();
    busy.send(kGet);
    ASSERT_TRUE(room.entered.wait_for(testing::kPatience));
    RawClient idle = server.connect();
    ASSERT_TRUE(eventually([&] { return server.server().connections() == 2; }));
    server.server().drain();
    EXPECT_TRUE(idle.is_ended());
    room.go.set();
    std::string response = busy.read_to_end();
    EXPECT_THAT(response, HasSubstr("Connection: close\r\n"));
    EXPECT_THAT(response, EndsWith("done"));
    busy.close();
    EXPECT_TRUE(server.drain());
    EXPECT_FALSE(net::Socket::connect(server.address()));
}

TEST(ServerDrain, HTTP_4_close_ends_the_requests_too) {
    Room room;
    TestServer server(room.handler());
    RawClient busy = server.connect();
    busy.send(kGet);
    ASSERT_TRUE(room.entered.wait_for(testing::kPatience));
    server.server().close();
    EXPECT_THAT(busy.read_to_end(), StartsWith("HTTP/1.1 503 "));
}

// Of each client the request has arrived before the drain begins.
AssertionResult are_served_in_a_drain() {
    TestServer server(hello);
    std::vector<RawClient> clients;
    for (int index = 0; index < 20; ++index) {
        clients.push_back(server.connect());
        clients.back().send(kGet);
    }
    server.server().drain();
    AssertionResult outcome = AssertionSuccess();
    for (RawClient& client : clients) {
        std::string response = client.read_to_end();
        if (!response.ends_with("hello")) outcome = AssertionFailure() << "got: " << response;
        client.close();
    }
    EXPECT_TRUE(server.drain());
    return outcome;
}

TEST(ServerDrain, HTTP_4_who_waits_in_the_backlog_is_still_served) {
    // Half of the time in which one who was accepted may speak.
    for (int round = 0; round < 20; ++round)
        EXPECT_TRUE(unless_stalled(100ms, are_served_in_a_drain)) << "round " << round;
}

// One who connects at the end of the moment that a drain leaves has one of its own.
TEST(ServerDrain, HTTP_4h_who_connects_late_in_a_drain_is_served) {
    int judged = 0;
    for (int round = 0; round < 20 && judged < 5; ++round) {
        TestServer server(hello, {}, {.workers = 1});
        server.server().drain();
        // One after the other, until nobody listens any more.
        std::vector<net::Socket> sockets;
        std::vector<Instant> begun;
        for (;;) {
            Instant now = Clock::now();
            auto socket = net::Socket::connect(server.address(), Deadline::after(1s));
            if (!socket) break;
            static_cast<void>(socket->descriptor().wait_readable(Deadline::after(3ms)));
            sockets.push_back(std::move(*socket));
            begun.push_back(now);
        }
        // Who was still on his way when the listener was closed cannot be served.
        sockets.resize(server.server().counters().accepted);
        ASSERT_FALSE(sockets.empty());
        std::string answer;
        bool is_sent = sockets.back().write_all(as_bytes(kGet), Deadline::after(1s)).has_value();
        // One who took longer, because the machine let him wait, may have missed his moment.
        bool is_in_time = Clock::now() - begun[sockets.size() - 1] < 50ms;
        if (is_sent) {
            std::array<std::byte, 1024> space;
            auto count = sockets.back().read(space, Deadline::after(testing::kPatience));
            if (count) answer = as_text(std::span(space).first(*count));
        }
        if (is_in_time) {
            EXPECT_THAT(answer, EndsWith("hello")) << "round " << round;
            ++judged;
        }
        sockets.clear();
        EXPECT_TRUE(server.drain());
    }
    EXPECT_GT(judged, 0);
}

// More than are taken at once, who have come while the only worker was busy.
TEST(ServerDrain, HTTP_4h_a_long_backlog_is_served) {
    TestServer server(hello, {}, {.workers = 1});
    Atomic<bool> is_busy{false};
    Atomic<bool> go_on{false};
    Future<void> busy = server.runtime().spawn([&] {
        is_busy.store(true, std::memory_order_release);
        while (!go_on.load(std::memory_order_acquire)) sched_yield();
    });
    ASSERT_TRUE(eventually([&] { return is_busy.load(std::memory_order_acquire); }));
    server.server().drain();
    Instant begun = Clock::now();
    std::vector<RawClient> clients;
    while (clients.size() < 200 || Clock::now() - begun < 200ms) {
        if (clients.size() == 200) {
            sched_yield();
            continue;
        }
        clients.push_back(server.connect());
        clients.back().send(kGet);
    }
    go_on.store(true, std::memory_order_release);
    for (RawClient& client : clients) {
        EXPECT_THAT(client.read_to_end(), EndsWith("hello"));
        client.close();
    }
    EXPECT_TRUE(busy.join());
    EXPECT_TRUE(server.drain());
}

TEST(ServerOverload, HTTP_11_connections_over_the_limit_are_closed) {
    ServerOptions options;
    options.limits.connections = 2;
    Room room;
    TestServer server(room.handler(), options);
    RawClient first = server.connect();
    RawClient second = server.connect();
    first.send(kGet);
    second.send(kGet);
    ASSERT_TRUE(eventually([&] { return server.server().counters().requests == 2; }));
    // Nobody is idle who could make room.
    EXPECT_TRUE(server.connect().is_ended());
    first.close();
    ASSERT_TRUE(eventually([&] { return server.server().connections() == 1; }));
    RawClient third = server.connect();
    third.send(kGet);
    room.go.set();
    EXPECT_THAT(third.read_response(), EndsWith("done"));
    EXPECT_EQ(server.server().counters().refused, 1U);
    EXPECT_EQ(server.server().counters().evicted, 0U);
}

TEST(ServerOverload, HTTP_11d_the_one_that_is_idle_for_longest_makes_room) {
    ServerOptions options;
    options.limits.connections = 3;
    TestServer server(hello, options);
    std::vector<RawClient> clients;
    for (int index = 0; index < 3; ++index) {
        clients.push_back(server.connect());
        clients.back().send(kGet);
        EXPECT_THAT(clients.back().read_response(), EndsWith("hello"));
    }
    // The first has been used last.
    clients[0].send(kGet);
    EXPECT_THAT(clients[0].read_response(), EndsWith("hello"));
    ASSERT_TRUE(eventually([&] { return server.runtime().live_fibers() == 1; }));
    RawClient next = server.connect();
    next.send(kGet);
    EXPECT_THAT(next.read_response(), EndsWith("hello"));
    EXPECT_TRUE(clients[1].is_ended());
    for (int index : {0, 2}) {
        clients[static_cast<std::size_t>(index)].send(kGet);
        EXPECT_THAT(clients[static_cast<std::size_t>(index)].read_response(), EndsWith("hello"));
    }
    EXPECT_EQ(server.server().counters().evicted, 1U);
    EXPECT_EQ(server.server().counters().refused, 0U);
}

TEST(ServerOverload, HTTP_11d_one_who_has_connected_and_is_silent_makes_room_after_a_moment) {
    ServerOptions options;
    options.limits.connections = 1;
    TestServer server(hello, options);
    RawClient silent = server.connect();
    ASSERT_TRUE(eventually([&] { return server.server().connections() == 1; }));
    // As long as it may still speak, the others are refused.
    auto is_served = [&] {
        return server.ask("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            .ends_with("hello");
    };
    EXPECT_TRUE(eventually(is_served));
    EXPECT_TRUE(silent.is_ended());
    EXPECT_EQ(server.server().counters().evicted, 1U);
}

// No descriptor is to be had from here on, until one that is open now is closed.
class NoMoreDescriptors {
public:
    NoMoreDescriptors() {
        EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
        int highest = 0;
        for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
            highest = std::max(highest, std::stoi(entry.path().filename().string()));
        // Those that are free below it are filled.
        int filled = 0;
        while ((filled = ::dup(0)) <= highest) fillers_.push_back(filled);
        fillers_.push_back(filled);
        rlimit none = before_;
        none.rlim_cur = static_cast<rlim_t>(filled) + 1;
        EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    }
    ~NoMoreDescriptors() {
        EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0);
        for (int fd : fillers_) ::close(fd);
    }
    NoMoreDescriptors(const NoMoreDescriptors&) = delete;
    NoMoreDescriptors& operator=(const NoMoreDescriptors&) = delete;

private:
    rlimit before_{};
    std::vector<int> fillers_;
};

TEST(ServerOverload, HTTP_11d_an_idle_one_makes_room_when_there_are_no_descriptors) {
    TestServer server(hello, {}, {.workers = 1});
    RawClient idle = server.connect();
    idle.send(kGet);
    EXPECT_THAT(idle.read_response(), EndsWith("hello"));
    ASSERT_TRUE(eventually([&] { return server.runtime().live_fibers() == 1; }));
    int next = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    timeval patience{.tv_sec = 10, .tv_usec = 0};
    ::setsockopt(next, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    {
        NoMoreDescriptors none;
        sockaddr_storage name{};
        auto bytes = static_cast<socklen_t>(server.address().to_native(&name));
        EXPECT_EQ(::connect(next, reinterpret_cast<sockaddr*>(&name), bytes), 0);
        EXPECT_GT(::send(next, kGet.data(), kGet.size(), MSG_NOSIGNAL), 0);
        char space[1024];
        ssize_t count = ::recv(next, space, sizeof space, 0);
        EXPECT_THAT(std::string(space, static_cast<std::size_t>(std::max<ssize_t>(count, 0))),
                    EndsWith("hello"));
    }
    EXPECT_TRUE(idle.is_ended());
    EXPECT_EQ(server.server().counters().evicted, 1U);
    ::close(next);
}

TEST(ServerOverload, HTTP_11_connections_of_one_address_are_limited) {
    ServerOptions options;
    options.limits.connections_per_address = 1;
    TestServer server(hello, options);
    RawClient first = server.connect();
    ASSERT_TRUE(eventually([&] { return server.server().connections() == 1; }));
    EXPECT_TRUE(server.connect().is_ended());
    first.close();
    ASSERT_TRUE(eventually([&] { return server.server().connections() == 0; }));
    RawClient next = server.connect();
    next.send(kGet);
    EXPECT_THAT(next.read_response(), EndsWith("hello"));
}

TEST(ServerOverload, HTTP_11_addresses_are_counted_each_for_itself) {
    ServerOptions options;
    options.limits.connections_per_address = 1;
    TestServer server(hello, options);
    auto connect_from = [&](std::uint8_t last) {
        int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_storage name{};
        net::Address from(net::IpAddress::v4({127, 0, 0, last}), 0);
        auto bytes = static_cast<socklen_t>(from.to_native(&name));
        EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&name), bytes), 0);
        bytes = static_cast<socklen_t>(server.address().to_native(&name));
        EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&name), bytes), 0);
        return fd;
    };
    auto answer_of = [](int fd) {
        static_cast<void>(::send(fd, kGet.data(), kGet.size(), MSG_NOSIGNAL));
        char space[1024];
        ssize_t count = ::recv(fd, space, sizeof space, 0);
        return std::string(space, static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    };
    int first = connect_from(1);
    EXPECT_THAT(answer_of(first), EndsWith("hello"));
    int second = connect_from(2);
    EXPECT_THAT(answer_of(second), EndsWith("hello"));
    // Each has its one; a second of either is closed at once.
    for (int last : {1, 2}) {
        int refused = connect_from(static_cast<std::uint8_t>(last));
        EXPECT_EQ(answer_of(refused), "");
        ::close(refused);
    }
    // What one gives back is not the other's.
    ::close(first);
    ASSERT_TRUE(eventually([&] { return server.server().connections() == 1; }));
    int third = connect_from(2);
    EXPECT_EQ(answer_of(third), "");
    int fourth = connect_from(1);
    EXPECT_THAT(answer_of(fourth), EndsWith("hello"));
    for (int fd : {second, third, fourth}) ::close(fd);
}

TEST(ServerOverload, HTTP_11_requests_that_wait_too_long_get_503_with_retry_after) {
    ServerOptions options;
    options.limits.requests = 1;
    options.limits.queue_delay = 50ms;
    Room room;
    TestServer server(room.handler(), options, {.workers = 1});
    RawClient busy = server.connect();
    busy.send(kGet);
    ASSERT_TRUE(room.entered.wait_for(testing::kPatience));
    RawClient late = server.connect();
    late.send(kGet);
    std::string response = late.read_response();
    EXPECT_THAT(response, StartsWith("HTTP/1.1 503 "));
    EXPECT_THAT(response, HasSubstr("retry-after: 1\r\n"));
    EXPECT_EQ(server.server().counters().shed, 1U);
    room.go.set();
    EXPECT_THAT(busy.read_response(), EndsWith("done"));
    late.send(kGet);
    EXPECT_THAT(late.read_response(), EndsWith("done"));
}

TEST(ServerOverload, HTTP_11_only_so_many_requests_wait) {
    ServerOptions options;
    options.limits.requests = 1;
    options.limits.requests_waiting = 1;
    options.limits.queue_delay = 10s;
    Room room;
    TestServer server(room.handler(), options, {.workers = 1});
    RawClient busy = server.connect();
    busy.send(kGet);
    ASSERT_TRUE(room.entered.wait_for(testing::kPatience));
    RawClient waits = server.connect();
    waits.send(kGet);
    ASSERT_TRUE(eventually([&] { return server.server().counters().requests == 2; }));
    RawClient refused = server.connect();
    refused.send(kGet);
    EXPECT_THAT(refused.read_response(), StartsWith("HTTP/1.1 503 "));
    room.go.set();
    EXPECT_THAT(busy.read_response(), EndsWith("done"));
    EXPECT_THAT(waits.read_response(), EndsWith("done"));
}

// However many workers there are, and whichever of them has the connections.
TEST(ServerOverload, HTTP_11h_the_limits_on_requests_hold_for_all_workers_together) {
    ServerOptions options;
    options.limits.requests = 2;
    options.limits.requests_waiting = 1;
    options.limits.queue_delay = 10s;
    Room room;
    TestServer server(room.handler(), options, {.workers = 4});
    std::vector<RawClient> clients;
    for (int index = 0; index < 8; ++index) {
        clients.push_back(server.connect());
        clients.back().send(kGet);
    }
    ASSERT_TRUE(eventually([&] { return server.server().counters().requests == 8; }));
    EXPECT_TRUE(eventually([&] { return server.server().counters().shed == 5; }));
    room.go.set();
    int done = 0;
    for (RawClient& client : clients) done += client.read_response().ends_with("done") ? 1 : 0;
    EXPECT_EQ(done, 3);
}

}  // namespace
}  // namespace weft::http
