// The sockets of our server and the bare ones: 127.0.0.1, the given port. Any thread.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace bench {

inline constexpr int kListenBacklog = 4096;

inline void enable(int fd, int level, int option) {
    const int on = 1;
    setsockopt(fd, level, option, &on, sizeof on);
}

inline void disable_nagle(int fd) { enable(fd, IPPROTO_TCP, TCP_NODELAY); }

inline sockaddr_in loopback(std::size_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

// `flags` is 0 or SOCK_NONBLOCK. A server that cannot listen has nothing to do: the program ends.
inline int listen_on(std::size_t port, int flags) {
    const int listener = socket(AF_INET, SOCK_STREAM | flags, 0);
    enable(listener, SOL_SOCKET, SO_REUSEADDR);
    const sockaddr_in address = loopback(port);
    const auto* generic = reinterpret_cast<const sockaddr*>(&address);
    if (bind(listener, generic, sizeof address) != 0 || listen(listener, kListenBacklog) != 0) {
        std::perror("listen");
        std::exit(1);
    }
    return listener;
}

// Non-blocking once it is connected; -1 if it cannot be.
inline int connect_to(std::size_t port) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in address = loopback(port);
    if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        close(fd);
        return -1;
    }
    disable_nagle(fd);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

}  // namespace bench
