// A server for whose own allocations there is no memory: it loses the connection, and goes on.
#include "weft/testing/counted_allocations.h"
#ifdef WEFT_COUNTS_ALLOCATIONS

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>  // tidy: allow foreign: a client that allocates nothing
#include <sys/time.h>    // tidy: allow foreign: timeval
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "weft/http/internal/server_test.h"
#include "weft/http/request.h"
#include "weft/http/server/server.h"
#include "weft/testing/captured_log.h"
#include "weft/testing/eventually.h"

namespace weft::http {
namespace {

using testing::kGet;
using testing::RawClient;
using testing::TestServer;
using weft::testing::allocations_so_far;
using weft::testing::eventually;
using weft::testing::refused_allocation;

constexpr char kMark = '~';  // nowhere but in the body
constexpr std::size_t kBodyBytes = 20'000;

// More fields than fit into what a parser and a writer have already.
std::string request_with_fields() {
    // A handler that fails is answered; the end of the connection tells that this was all.
    std::string request = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n";
    for (int i = 0; i < 40; ++i) request += "X-" + std::to_string(i) + ": y\r\n";
    return request + "\r\n";
}

Response answer_with_fields() {
    Response response = Response::text(std::string(kBodyBytes, kMark));
    for (int i = 0; i < 40; ++i) response.headers.add("x-" + std::to_string(i), "y");
    return response;
}

// Allocates nothing.
class PlainClient {
public:
    PlainClient() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        timeval patience{.tv_sec = 10, .tv_usec = 0};
        ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    }
    ~PlainClient() { close(); }
    PlainClient(const PlainClient&) = delete;
    PlainClient& operator=(const PlainClient&) = delete;

    // Sends the request, and gives what comes until the server closes, as far as there is space.
    std::string_view ask(const net::Address& address, std::string_view request,
                         std::span<char> space) {
        connect_and_send(address, request);
        std::size_t filled = 0;
        while (filled < space.size()) {
            ssize_t count = ::recv(fd_, space.data() + filled, space.size() - filled, 0);
            if (count < 0 && errno == EINTR) continue;
            EXPECT_TRUE(count >= 0 || errno != EAGAIN) << "nothing came";
            if (count <= 0) break;
            filled += static_cast<std::size_t>(count);
        }
        return {space.data(), filled};
    }
    // Whether the whole body comes.
    bool is_answered(const net::Address& address, std::string_view request) {
        connect_and_send(address, request);
        std::size_t marks = 0;
        char space[4096];
        while (marks < kBodyBytes) {
            ssize_t count = ::recv(fd_, space, sizeof space, 0);
            if (count < 0 && errno == EINTR) continue;
            EXPECT_TRUE(count >= 0 || errno != EAGAIN) << "nothing came";
            if (count <= 0) return false;
            marks += static_cast<std::size_t>(std::count(space, space + count, kMark));
        }
        return true;
    }
    void close() {
        if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    }

private:
    void connect_and_send(const net::Address& address, std::string_view request) {
        sockaddr_storage name{};
        auto bytes = static_cast<socklen_t>(address.to_native(&name));
        EXPECT_EQ(::connect(fd_, reinterpret_cast<sockaddr*>(&name), bytes), 0);
        EXPECT_EQ(::send(fd_, request.data(), request.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(request.size()));
    }

    int fd_;
};

// One conversation after the other, in each of which another allocation fails: first that of the
// first connection, then the second one, until none is left to fail.
void check_conversations(const ServerOptions& options) {
    weft::testing::CapturedLog log;
    int most = 0;
    int failures = 0;
    for (int count = 0; count <= most; ++count) {
        TestServer server([](Request&, async::Context&) { return answer_with_fields(); }, options,
                          {.workers = 1});
        std::string request = request_with_fields();
        auto connections = [&] { return server.server().connections(); };
        {
            RawClient first = server.connect();  // serve() has done what it does at first
            EXPECT_TRUE(eventually([&] { return connections() == 1; }));
        }
        EXPECT_TRUE(eventually([&] { return connections() == 0; }));
        PlainClient client;
        int begun = allocations_so_far();
        refused_allocation.store(begun + count, std::memory_order_relaxed);
        failures += client.is_answered(server.address(), request) ? 0 : 1;
        refused_allocation.store(-1, std::memory_order_relaxed);
        most = std::max(most, allocations_so_far() - begun);
        client.close();
        // Nothing is left behind, and the next one is served.
        EXPECT_TRUE(eventually([&] { return connections() == 0; })) << count;
        RawClient next = server.connect();
        next.send(kGet);
        EXPECT_TRUE(next.read_response().ends_with("~~~")) << count;
        next.close();
        // And the server ends.
        if (::testing::Test::HasFailure()) return;
    }
    EXPECT_GT(failures, 0);
}

TEST(NoMemory, HTTP_11k_an_allocation_that_fails_costs_no_more_than_its_connection) {
    check_conversations({});
}

TEST(NoMemory, HTTP_11k_nor_does_it_in_the_loop_of_a_worker) {
    ServerOptions options;
    options.loop_handler = [](Request&, LoopCall&) -> LoopOutcome { return answer_with_fields(); };
    check_conversations(options);
}

TEST(NoMemory, HTTP_11k_a_body_that_ends_for_lack_of_memory_does_not_look_complete) {
    weft::testing::CapturedLog log;
    Atomic<bool> has_failed{false};
    std::string content(10'000, kMark);  // more than the output has room for
    auto produce = [&](BodyWriter& writer) -> Result<void> {
        refused_allocation.store(allocations_so_far(), std::memory_order_relaxed);
        try {
            return writer.write(as_bytes(content));
        } catch (const std::bad_alloc&) {
            has_failed.store(true, std::memory_order_relaxed);
            throw;
        }
    };
    TestServer server(
        [&](Request&, async::Context&) { return Response::stream("text/plain", produce); }, {},
        {.workers = 1});
    PlainClient client;
    std::array<char, 4096> space;
    std::string_view answer = client.ask(server.address(), kGet, space);
    refused_allocation.store(-1, std::memory_order_relaxed);
    EXPECT_TRUE(has_failed.load(std::memory_order_relaxed));
    EXPECT_THAT(answer, ::testing::Not(::testing::HasSubstr("0\r\n\r\n")));
}

}  // namespace
}  // namespace weft::http

#endif
