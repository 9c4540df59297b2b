#include <array>
#include <cerrno>
#include <span>

#include "bench/common/listen.h"
#include "bench/weft/workloads.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/io.h"

namespace bench {
namespace {

constexpr std::size_t kBufferBytes = 4096;

weft::Result<int> accept_one(weft::Descriptor& listener) {
    const auto attempt = [](int fd) -> long {
        const int accepted = accept4(fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        return accepted < 0 ? -errno : accepted;
    };
    const long fd =
        WEFT_TRY(listener.until_ready(weft::kReadable, attempt, weft::Deadline::never()));
    return static_cast<int>(fd);
}

// Until the client is gone.
weft::Result<void> echo_connection(weft::Descriptor connection) {
    std::array<std::byte, kBufferBytes> buffer;
    for (;;) {
        const std::size_t received = WEFT_TRY(connection.read(buffer));
        if (received == 0) return {};
        WEFT_TRY(connection.write_all(std::span(buffer).first(received)));
    }
}

void serve(int fd) {
    disable_nagle(fd);
    const auto outcome =
        echo_connection(weft::Descriptor::adopt_nonblocking(fd, weft::Flow::StreamSocket));
    // A client that resets its connections at the end is the rule here.
    static_cast<void>(outcome);
}

}  // namespace

void echo(std::size_t port) {
    auto listener =
        weft::Descriptor::adopt_nonblocking(listen_on(port, SOCK_NONBLOCK), weft::Flow::Unknown);
    for (;;) {
        const int fd = accept_one(listener).value();
        weft::spawn_detached([fd] { serve(fd); }).value();
    }
}

}  // namespace bench
