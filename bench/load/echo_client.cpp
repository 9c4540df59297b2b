// The load of the echo servers: `echo_client <port> <connections> <messages each> <message bytes>`.
// One thread, epoll, one message in flight on each connection.
//
// It talks with the driver so that only the messages are measured, not the connecting:
//   connects everything, prints `connected`, waits for a line;
//   exchanges all messages, prints `done <messages> <seconds>`, waits for a line (or the end).
// The connections stay open until then, so that closing them is not measured either.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "bench/common/measure.h"

namespace {

constexpr int kEventsMax = 512;
constexpr int kStallMilliseconds = 20'000;
constexpr int kConnectTries = 200;
constexpr auto kConnectPause = std::chrono::milliseconds(10);

struct Load {
    std::uint16_t port;
    std::size_t connections;
    std::size_t messages_each;
    std::size_t message_bytes;
};

struct Connection {
    int fd;
    std::size_t received_bytes = 0;
    std::size_t messages_left;
};

[[noreturn]] void fail(const char* what) {
    std::perror(what);
    std::exit(1);
}

// A server may need a moment to start, and its backlog may be full for a moment.
int connect_to(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int tries = 0; tries < kConnectTries; ++tries) {
        const int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (fd < 0) fail("socket");
        if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
            return fd;
        }
        close(fd);
        std::this_thread::sleep_for(kConnectPause);
    }
    fail("connect");
}

// Closing with linger 0 resets the connection: no TIME_WAIT is left behind for the next run.
void set_options(int fd) {
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const linger reset{.l_onoff = 1, .l_linger = 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
}

class Client {
public:
    explicit Client(const Load& load) : load_(load), message_(load.message_bytes, 'x') {
        for (std::size_t i = 0; i < load.connections; ++i) open_connection();
    }

    void exchange_all() {
        std::size_t open = connections_.size();
        for (Connection& connection : connections_) send_message(connection);
        std::array<epoll_event, kEventsMax> events;
        while (open > 0) {
            const int ready = epoll_wait(epoll_, events.data(), kEventsMax, kStallMilliseconds);
            if (ready <= 0) fail("the server stalled");
            for (int i = 0; i < ready; ++i) {
                if (finish_message(connections_[events[i].data.u32])) --open;
            }
        }
    }

private:
    void open_connection() {
        const int fd = connect_to(load_.port);
        set_options(fd);
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u32 = static_cast<std::uint32_t>(connections_.size());
        epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
        connections_.push_back({.fd = fd, .messages_left = load_.messages_each});
    }

    void send_message(Connection& connection) {
        const ssize_t sent = send(connection.fd, message_.data(), message_.size(), MSG_NOSIGNAL);
        if (sent != static_cast<ssize_t>(message_.size())) fail("send");
    }

    // True when this was the last message of the connection.
    bool finish_message(Connection& connection) {
        const ssize_t received = recv(connection.fd, answer_.data(), answer_.size(), MSG_DONTWAIT);
        if (received < 0 && errno == EAGAIN) return false;
        if (received <= 0) fail("the server closed a connection");
        connection.received_bytes += static_cast<std::size_t>(received);
        if (connection.received_bytes < load_.message_bytes) return false;
        connection.received_bytes = 0;
        connection.messages_left -= 1;
        if (connection.messages_left == 0) return true;
        send_message(connection);
        return false;
    }

    Load load_;
    std::vector<char> message_;
    std::array<char, 64 * 1024> answer_;
    int epoll_ = epoll_create1(0);
    std::vector<Connection> connections_;
};

void wait_for_driver() {
    int character = std::getchar();
    while (character != '\n' && character != EOF) character = std::getchar();
}

Load parse_load(char** arguments) {
    const auto number = [arguments](int i) { return std::strtoul(arguments[i], nullptr, 10); };
    return {.port = static_cast<std::uint16_t>(number(1)),
            .connections = number(2),
            .messages_each = number(3),
            .message_bytes = number(4)};
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) {
        std::fprintf(stderr, "usage: %s <port> <connections> <messages each> <message bytes>\n",
                     argv[0]);
        return 2;
    }
    const Load load = parse_load(argv);
    Client client(load);
    std::puts("connected");
    std::fflush(stdout);
    wait_for_driver();
    const bench::Stopwatch watch;
    client.exchange_all();
    std::printf("done %zu %.6f\n", load.connections * load.messages_each,
                watch.nanoseconds() / 1e9);
    std::fflush(stdout);
    wait_for_driver();
}
