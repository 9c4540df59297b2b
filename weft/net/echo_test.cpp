// The acceptance of sockets: 10,000 connections with 100 messages each.
//
// The server is a process of its own, started from this program, because a process may have less
// than 20,000 descriptors.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "weft/fiber/fiber.h"
#include "weft/net/socket.h"
#include "weft/testing/scale.h"
#include "weft/testing/server_process.h"
#include "weft/testing/sockets.h"

namespace weft::net {
namespace {

using namespace testing;

constexpr std::size_t kMessageBytes = 32;
constexpr unsigned kConnectAtOnce = 256;  // below the backlog of any kernel
constexpr unsigned kSpareDescriptors = 100;

// As many connections as one process may have, up to `wanted`.
std::size_t connections_of(std::size_t wanted) {
    rlimit limit{};
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
    return std::min<std::size_t>(wanted, limit.rlim_max - kSpareDescriptors);
}

Result<void> serve_one(Socket& socket) {
    std::byte buffer[4096];
    for (;;) {
        std::size_t count = WEFT_TRY(socket.read(buffer, far()));
        if (count == 0) return {};
        WEFT_TRY(socket.write_all(Bytes(buffer).first(count), far()));
    }
}

Result<void> serve(Listener& listener) {
    std::vector<Future<void>> served;
    for (;;) {
        Result<Socket> socket = listener.accept();
        if (!socket && socket.error().kind() == ErrorKind::Closed) break;
        if (!socket) return socket.error();
        served.push_back(spawn(
            [socket = std::move(*socket)]() mutable -> Result<void> { return serve_one(socket); }));
    }
    for (auto& one : served) WEFT_TRY(one.join());
    return {};
}

// The server's process: it writes its port, and ends when its input does.
TEST(Echo, DISABLED_server) {
    connections_of(1);
    in_runtime(1, []() -> Result<void> {
        Listener listener = WEFT_TRY(Listener::open(Address::loopback(0)));
        auto server = spawn([&] { return serve(listener); });
        WEFT_TRY(say_port_and_await_end(listener.address().port()));
        listener.close();
        return server.join();
    });
}

Result<void> read_exactly(Socket& socket, ByteSpace space) {
    while (!space.empty()) {
        std::size_t count = WEFT_TRY(socket.read(space, far()));
        if (count == 0) return ErrorKind::Closed;
        space = space.subspan(count);
    }
    return {};
}

std::string message_of(std::size_t connection, std::size_t number) {
    std::string text = std::to_string(connection) + ":" + std::to_string(number);
    text.resize(kMessageBytes, '.');
    return text;
}

Result<void> in_lockstep(Socket& socket, std::size_t connection, std::size_t messages) {
    std::byte answer[kMessageBytes];
    for (std::size_t i = 0; i < messages; ++i) {
        std::string message = message_of(connection, i);
        WEFT_TRY(socket.write_all(as_bytes(message), far()));
        WEFT_TRY(read_exactly(socket, answer));
        if (as_text(answer) != message) return Error(ErrorKind::Other, "a wrong answer");
    }
    return {};
}

Result<void> pipelined(Socket& socket, std::size_t connection, std::size_t messages) {
    std::string all;
    for (std::size_t i = 0; i < messages; ++i) all += message_of(connection, i);
    std::vector<Bytes> parts;
    for (std::size_t i = 0; i < messages; ++i)
        parts.push_back(as_bytes(all).subspan(i * kMessageBytes, kMessageBytes));
    WEFT_TRY(socket.write_all(parts, far()));
    std::vector<std::byte> answers(all.size());
    WEFT_TRY(read_exactly(socket, answers));
    if (as_text(answers) != all) return Error(ErrorKind::Other, "a wrong answer");
    return {};
}

using Talk = Result<void> (*)(Socket& socket, std::size_t connection, std::size_t messages);

// All are connected first; then all talk at once.
Result<Nanoseconds> talk_over(std::size_t connections, std::size_t messages, Talk talk,
                              const Address& server) {
    std::vector<Socket> sockets(connections);
    for (std::size_t first = 0; first < connections; first += kConnectAtOnce) {
        std::vector<Future<void>> connecting;
        for (std::size_t i = first; i < std::min(first + kConnectAtOnce, connections); ++i) {
            connecting.push_back(spawn([&, i]() -> Result<void> {
                sockets[i] = WEFT_TRY(Socket::connect(server, far()));
                return {};
            }));
        }
        for (auto& one : connecting) WEFT_TRY(one.join());
    }
    Instant begin = Clock::now();
    std::vector<Future<void>> talking;
    for (std::size_t i = 0; i < connections; ++i)
        talking.push_back(spawn([&, i] { return talk(sockets[i], i, messages); }));
    for (auto& one : talking) WEFT_TRY(one.join());
    return Clock::now() - begin;
}

void echo(Talk talk) {
    bool full = is_long() && !kSanitizer;
    std::size_t connections = connections_of(full ? 10'000 : scaled(500));
    std::size_t messages = full ? 100 : 20;
    // The contract's count is not quietly made less by a limit of this machine.
    if (full) {
        EXPECT_EQ(connections, 10'000U);
    }
    ::testing::Test::RecordProperty("connections", static_cast<int>(connections));
    ::testing::Test::RecordProperty("messages", static_cast<int>(messages));
    in_runtime(1, [&]() -> Result<void> {
        ServerProcess server = WEFT_TRY(start_server_process("Echo.DISABLED_server"));
        Nanoseconds took =
            WEFT_TRY(talk_over(connections, messages, talk, Address::loopback(server.port)));
        using std::chrono::milliseconds;
        auto wall_ms = std::chrono::duration_cast<milliseconds>(took).count();
        ::testing::Test::RecordProperty("wall_ms", static_cast<int>(wall_ms));
        std::printf("%zu connections x %zu messages: %lld ms\n", connections, messages,
                    static_cast<long long>(wall_ms));
        server.stop();
        // The rest of what the test program prints; the leak check is part of its end.
        std::byte buffer[4096];
        while (WEFT_TRY(server.process.output().read(buffer, far())) != 0) {}
        ExitStatus status = WEFT_TRY(server.process.wait(far()));
        EXPECT_TRUE(status.is_success()) << status.code << " " << status.signal;
        return {};
    });
}

TEST(Echo, FIB_13e_NET_4_connections_with_messages_in_lockstep) { echo(in_lockstep); }

TEST(Echo, NET_4_connections_with_pipelined_messages) { echo(pipelined); }

}  // namespace
}  // namespace weft::net
