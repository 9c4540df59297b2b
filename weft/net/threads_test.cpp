// Sockets on plain threads, and sockets when descriptors run out.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "weft/fiber/blocking.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/net/socket.h"
#include "weft/testing/captured_log.h"
#include "weft/testing/sockets.h"

namespace weft::net {
namespace {

using namespace testing;
using std::chrono::milliseconds;

Result<void> echo(Socket& socket) {
    std::byte buffer[64];
    for (;;) {
        std::size_t count = WEFT_TRY(socket.read(buffer, in_ten_seconds()));
        if (count == 0) return socket.shutdown_write();
        WEFT_TRY(socket.write_all(Bytes(buffer).first(count), in_ten_seconds()));
    }
}

Result<void> ask(Socket& socket, const std::string& text) {
    Bytes parts[] = {as_bytes(text), as_bytes("\n")};
    WEFT_TRY(socket.write_all(parts, in_ten_seconds()));
    std::string answer;
    while (!answer.ends_with('\n')) {
        std::byte buffer[64];
        std::size_t count = WEFT_TRY(socket.read(buffer, in_ten_seconds()));
        if (count == 0) return ErrorKind::Closed;
        answer += as_text(Bytes(buffer).first(count));
    }
    EXPECT_EQ(answer, text + "\n");
    return {};
}

TEST(SocketThreads, NET_1_fibers_and_threads_use_one_socket_in_turn) {
    in_runtime(2, []() -> Result<void> {
        Connection connection = WEFT_TRY(tcp_connection());
        auto server = spawn([&] { return echo(connection.server); });
        for (int round = 0; round < 200; ++round) {
            std::string text = "round " + std::to_string(round);
            WEFT_TRY(ask(connection.client, text));
            auto on_a_thread = [&] { return ask(connection.client, text); };
            WEFT_TRY(blocking(on_a_thread));
        }
        WEFT_TRY(connection.client.shutdown_write());
        return server.join();
    });
}

TEST(SocketThreads, NET_1_threads_alone_connect_accept_and_talk) {
    Result<Listener> listener = Listener::open(Address::loopback(0));
    ASSERT_TRUE(listener);
    std::thread server([&] {
        Result<Socket> socket = listener->accept(in_ten_seconds());
        ASSERT_TRUE(socket);
        EXPECT_TRUE(echo(*socket));
    });
    Result<Socket> client = Socket::connect(listener->address(), in_ten_seconds());
    ASSERT_TRUE(client);
    EXPECT_TRUE(ask(*client, "hello"));
    client->close();
    server.join();
}

TEST(SocketThreads, NET_1_a_socket_passes_from_one_runtime_to_the_next) {
    std::optional<Connection> connection;
    in_runtime(1, [&]() -> Result<void> {
        connection = WEFT_TRY(tcp_connection());
        std::byte buffer[8];
        EXPECT_EQ(kind_of(connection->client.read(buffer, Deadline::after(milliseconds(1)))),
                  ErrorKind::TimedOut);
        return {};
    });
    ASSERT_TRUE(connection);
    in_runtime(2, [&]() -> Result<void> {
        auto server = spawn([&] { return echo(connection->server); });
        WEFT_TRY(ask(connection->client, "hello"));
        connection->client.close();
        return server.join();
    });
}

TEST(SocketThreads, NET_3_a_blocked_thread_times_out_is_cancelled_and_closed) {
    Result<std::pair<Socket, Socket>> pair = Socket::make_pair();
    ASSERT_TRUE(pair);
    Socket& socket = pair->first;
    std::byte buffer[8];
    EXPECT_EQ(kind_of(socket.read(buffer, Deadline::after(milliseconds(5)))), ErrorKind::TimedOut);
    CancelSource source = CancelSource::detached();
    std::thread canceller([&] { source.cancel(); });
    {
        CancelScope scope(source.token());
        EXPECT_EQ(kind_of(socket.read(buffer, in_ten_seconds())), ErrorKind::Cancelled);
    }
    canceller.join();
    std::thread closer([&] { socket.close(); });
    EXPECT_EQ(kind_of(socket.read(buffer, in_ten_seconds())), ErrorKind::Closed);
    closer.join();
}

// In a process of its own: what is logged once was perhaps logged before.
TEST(SocketThreadsDeathTest, NET_1_a_blocking_thread_is_logged_once_at_debug_level) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    auto block_twice = [] {
        CapturedLog log;
        set_log_level(LogLevel::Debug);
        Result<std::pair<Socket, Socket>> pair = Socket::make_pair();
        std::byte buffer[8];
        for (int i = 0; i < 2; ++i)
            static_cast<void>(pair->first.read(buffer, Deadline::after(milliseconds(1))));
        std::size_t lines = 0;
        for (const std::string& line : log.lines())
            lines += line.find("a plain thread blocks") != std::string::npos;
        std::_Exit(lines == 1 ? 0 : 1);
    };
    EXPECT_EXIT(block_twice(), ::testing::ExitedWithCode(0), "");
}

// While it lives no descriptor can be opened.
class NoDescriptors {
public:
    NoDescriptors() {
        EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
        rlimit none = before_;
        none.rlim_cur = 0;
        EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    }
    ~NoDescriptors() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0); }
    NoDescriptors(const NoDescriptors&) = delete;
    NoDescriptors& operator=(const NoDescriptors&) = delete;

private:
    rlimit before_{};
};

TEST(SocketThreads, NET_3_out_of_descriptors_is_an_error_and_passes) {
    in_runtime(1, []() -> Result<void> {
        Listener listener = WEFT_TRY(Listener::open(Address::loopback(0)));
        Socket client = WEFT_TRY(Socket::connect(listener.address(), in_ten_seconds()));
        {
            NoDescriptors none;
            EXPECT_EQ(kind_of(listener.accept(in_ten_seconds())), ErrorKind::OutOfFds);
            EXPECT_EQ(kind_of(listener.try_accept()), ErrorKind::OutOfFds);
            EXPECT_EQ(kind_of(Socket::connect(listener.address())), ErrorKind::OutOfFds);
            EXPECT_EQ(kind_of(Listener::open(Address::loopback(0))), ErrorKind::OutOfFds);
            EXPECT_EQ(kind_of(Socket::make_pair()), ErrorKind::OutOfFds);
        }
        // The connection has waited in the backlog.
        Socket server = WEFT_TRY(listener.accept(in_ten_seconds()));
        WEFT_TRY(client.write_all(as_bytes("x")));
        std::byte buffer[8];
        EXPECT_EQ(WEFT_TRY(server.read(buffer, in_ten_seconds())), 1U);
        return {};
    });
}

TEST(SocketThreads, NET_3_a_waiting_accept_that_finds_no_descriptor_goes_on_later) {
    in_runtime(1, []() -> Result<void> {
        Listener listener = WEFT_TRY(Listener::open(Address::loopback(0)));
        auto acceptor = spawn([&] { return listener.accept(in_ten_seconds()); });
        yield();
        Socket client = WEFT_TRY(Socket::connect(listener.address(), in_ten_seconds()));
        {
            NoDescriptors none;
            EXPECT_EQ(kind_of(acceptor.join()), ErrorKind::OutOfFds);
        }
        EXPECT_TRUE(listener.accept(in_ten_seconds()));
        return {};
    });
}

}  // namespace
}  // namespace weft::net
