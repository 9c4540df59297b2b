// A server whose behaviour on each connection is a function of the test: for clients that must
// survive everything.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "weft/async/context.h"
#include "weft/async/group.h"
#include "weft/base/atomic.h"
#include "weft/base/bytes.h"
#include "weft/fiber/fiber.h"
#include "weft/net/socket.h"
#include "weft/sync/event.h"

namespace weft::testing {

// One connection, seen from the server.
class Peer {
public:
    Peer(net::Socket socket, unsigned number) : socket_(std::move(socket)), number_(number) {}

    net::Socket& socket() { return socket_; }
    unsigned number() const { return number_; }  // connections are numbered from 0

    // The next request with its body, as it came; empty when the client has closed.
    std::string read_request() {
        std::string head = read_head();
        if (head.empty()) return head;
        if (head.find("Transfer-Encoding: chunked") != std::string::npos)
            return head + read_until("0\r\n\r\n");
        std::size_t at = head.find("Content-Length: ");
        if (at == std::string::npos) return head;
        return head + read_exactly(std::strtoul(head.c_str() + at + 16, nullptr, 10));
    }
    std::string read_head() { return read_until("\r\n\r\n"); }
    std::string read_until(std::string_view mark) {
        for (;;) {
            std::size_t at = unread_.find(mark);
            if (at != std::string::npos) return take(at + mark.size());
            if (!read_more()) return {};
        }
    }
    std::string read_exactly(std::size_t count) {
        while (unread_.size() < count) {
            if (!read_more()) return {};
        }
        return take(count);
    }
    // Waits until the client closes; false if it does not within ten seconds.
    bool wait_for_close() {
        unread_.clear();
        while (read_more()) unread_.clear();
        return closed_;
    }
    void say(std::string_view text) {
        static_cast<void>(
            socket_.write_all(as_bytes(text), Deadline::after(std::chrono::seconds(10))));
    }
    void respond(std::string_view body, std::string_view fields = {}) {
        say("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
            std::string(fields) + "\r\n" + std::string(body));
    }

private:
    bool read_more() {
        std::byte buffer[8192];
        auto count = socket_.read(buffer, Deadline::after(std::chrono::seconds(10)));
        closed_ = (count && *count == 0) || (!count && count.error().kind() == ErrorKind::Reset);
        if (!count || *count == 0) return false;
        unread_ += as_text(Bytes(buffer).first(*count));
        return true;
    }
    std::string take(std::size_t count) {
        std::string taken = unread_.substr(0, count);
        unread_.erase(0, count);
        return taken;
    }

    net::Socket socket_;
    unsigned number_;
    std::string unread_;
    bool closed_ = false;
};

// Runs `serve(Peer&)` for each connection on a fiber of its own while `body(address)` runs. After
// that `serve` has a moment to end by itself; then it is cancelled.
template <class Serve, class Body>
Result<void> with_server(Serve serve, Body body) {
    net::Listener listener = WEFT_TRY(net::Listener::open(net::Address::loopback(0)));
    net::Address address = listener.address();
    async::OwnedContext owned = async::Context::current().with_cancel();
    async::Group group(owned.context);
    Atomic<unsigned> serving{0};
    WEFT_TRY(group.go([&]() -> Result<void> {
        for (unsigned number = 0;; ++number) {
            auto socket = listener.accept();
            if (!socket) return {};
            serving.fetch_add(1, std::memory_order_relaxed);
            auto serve_one = [&, number, connection = std::move(*socket)]() mutable {
                {
                    Peer peer(std::move(connection), number);
                    serve(peer);
                }
                serving.fetch_sub(1, std::memory_order_relaxed);
            };
            if (!group.go(std::move(serve_one))) return {};
        }
    }));
    Result<void> outcome = body(address);
    listener.close();
    // Fibers that wait for the client to close notice that; the others are cancelled below.
    for (int i = 0; i < 100 && serving.load(std::memory_order_relaxed) > 0; ++i)
        static_cast<void>(Event().wait_for(std::chrono::milliseconds(1)));
    owned.source.cancel();
    static_cast<void>(group.wait());
    return outcome;
}

}  // namespace weft::testing
