// Functions for the tests of sockets and of the folders that use them.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "weft/fiber/runtime.h"
#include "weft/net/socket.h"

namespace weft::testing {

using net::Address;
using net::Listener;
using net::Socket;
using net::SocketOptions;
using net::Stream;

// Runs the body on a fiber. With one worker the order is known: a spawned fiber first runs when its
// spawner waits or yields, and then until it waits itself.
template <class Body>
void in_runtime(unsigned workers, Body body) {
    Result<void> result = run(body, {.workers = workers});
    EXPECT_TRUE(result) << result.error().message();
}

template <class T>
ErrorKind kind_of(const Result<T>& result) {
    EXPECT_FALSE(result.has_value());
    return result ? ErrorKind::Other : result.error().kind();
}

template <class T>
int native_error_of(const Result<T>& result) {
    EXPECT_FALSE(result.has_value());
    return result ? 0 : result.error().native_code();
}

// So far in the future that only a broken test reaches it.
inline Deadline in_ten_seconds() { return Deadline::after(std::chrono::seconds(10)); }

inline Result<std::string> read_to_end(Stream& stream) {
    std::string text;
    std::byte buffer[5000];
    for (;;) {
        std::size_t count = WEFT_TRY(stream.read(buffer, in_ten_seconds()));
        if (count == 0) return text;
        text += as_text(Bytes(buffer).first(count));
    }
}

// Writes until the kernel takes no more.
inline void fill(Socket& socket) {
    std::vector<std::byte> bytes(64 * 1024);
    Bytes part = bytes;
    for (;;) {
        Result<std::size_t> count = socket.try_write(std::span(&part, 1));
        ASSERT_TRUE(count);
        if (*count == 0) return;
    }
}

struct Connection {
    Socket client;
    Socket server;
};

inline Result<Connection> tcp_connection(const SocketOptions& options = {}) {
    Listener listener = WEFT_TRY(Listener::open(Address::loopback(0)));
    Socket client = WEFT_TRY(Socket::connect(listener.address(), in_ten_seconds(), options));
    return Connection { std::move(client), WEFT_TRY(listener.accept(in_ten_seconds())) };
}

// An address at which nobody listens.
inline Result<Address> free_tcp_address() {
    Listener listener = WEFT_TRY(Listener::open(Address::loopback(0)));
    return listener.address();
}

inline bool has_ipv6() { return Listener::open(*Address::parse("[::1]:0")).has_value(); }

// A folder for Unix sockets, removed with what is in it.
class Folder {
public:
    Folder() {
        char name[] = "/tmp/weft_net_XXXXXX";
        path_ = ::mkdtemp(name);
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    const std::string& path() const { return path_; }
    Address socket_address(std::string_view name) const {
        return *Address::unix_path(path_ + "/" + std::string(name));
    }

private:
    std::string path_;
};

class TemporaryFile {
public:
    explicit TemporaryFile(std::size_t bytes) {
        char name[] = "/tmp/weft_net_XXXXXX";
        fd_ = ::mkstemp(name);
        ::unlink(name);
        for (std::size_t i = 0; i < bytes; ++i) text_ += static_cast<char>('a' + i * 7 % 26);
        EXPECT_EQ(::write(fd_, text_.data(), bytes), static_cast<ssize_t>(bytes));
    }
    ~TemporaryFile() { ::close(fd_); }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;

    int fd() const { return fd_; }
    const std::string& text() const { return text_; }

private:
    int fd_;
    std::string text_;
};

}  // namespace weft::testing
