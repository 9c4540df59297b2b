// What the kernel leaves for a TCP echo: one thread, level-triggered epoll, no runtime at all.
// `echo_epoll echo <port>`.
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "bench/common/listen.h"

namespace {

constexpr int kEventsMax = 512;

void watch(int epoll, int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

void accept_all(int epoll, int listener) {
    for (;;) {
        const int connection = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK);
        if (connection < 0) return;
        bench::disable_nagle(connection);
        watch(epoll, connection);
    }
}

// Small messages: the socket's buffer always has room for the answer.
void echo_once(int connection) {
    static std::array<char, 64 * 1024> buffer;
    const ssize_t received = recv(connection, buffer.data(), buffer.size(), 0);
    if (received < 0 && errno == EAGAIN) return;
    if (received <= 0 || send(connection, buffer.data(), received, MSG_NOSIGNAL) != received) {
        close(connection);
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    const int listener = bench::listen_on(std::strtoul(argv[2], nullptr, 10), SOCK_NONBLOCK);
    const int epoll = epoll_create1(0);
    watch(epoll, listener);
    std::array<epoll_event, kEventsMax> events;
    for (;;) {
        const int ready = epoll_wait(epoll, events.data(), kEventsMax, -1);
        for (int i = 0; i < ready; ++i) {
            const int fd = events[i].data.fd;
            if (fd == listener) {
                accept_all(epoll, listener);
            } else {
                echo_once(fd);
            }
        }
    }
}
