// For tests: a server in a runtime of its own, and clients that speak raw bytes.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "weft/base/bytes.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/runtime.h"
#include "weft/http/request.h"
#include "weft/http/server/server.h"
#include "weft/net/socket.h"

namespace weft::http::testing {

inline constexpr std::chrono::seconds kPatience{10};
inline constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

// Blocks the thread of the test. Every read is bounded in time.
class RawClient {
public:
    explicit RawClient(const net::Address& address) {
        auto connected = net::Socket::connect(address, Deadline::after(kPatience));
        EXPECT_TRUE(connected) << connected.error().message();
        if (connected) socket_ = std::move(*connected);
    }

    bool send(std::string_view text) {
        return socket_.write_all(as_bytes(text), Deadline::after(kPatience)).has_value();
    }
    void finish() { EXPECT_TRUE(socket_.shutdown_write()); }
    void close() { socket_.close(); }
    net::Socket& socket() { return socket_; }

    // Until the server closes; a reset counts as the end.
    std::string read_to_end() {
        while (read_some()) {}
        return std::exchange(received_, {});
    }
    bool was_reset() const { return was_reset_; }  // and did not end as it should
    // Until the text that was received contains this; gives it up to there.
    std::string read_until(std::string_view mark) {
        for (;;) {
            std::size_t at = received_.find(mark);
            if (at != std::string::npos) return take(at + mark.size());
            if (!read_some()) return "(ended) " + std::exchange(received_, {});
        }
    }
    // One response with a Content-Length, or without a body.
    std::string read_response() {
        std::string head = read_until("\r\n\r\n");
        std::size_t at = head.find("Content-Length: ");
        if (at == std::string::npos) return head;
        return head + read_count(std::stoul(head.substr(at + 16)));
    }
    std::string read_count(std::size_t count) {
        while (received_.size() < count && read_some()) {}
        return take(std::min(count, received_.size()));
    }
    // True when the server has closed and nothing is left to read.
    bool is_ended() { return received_.empty() && !read_some(); }

private:
    bool read_some() {
        std::array<std::byte, 16 * 1024> space;
        auto count = socket_.read(space, Deadline::after(kPatience));
        if (!count && count.error().kind() == ErrorKind::TimedOut)
            ADD_FAILURE() << "nothing came for " << kPatience.count() << " s";
        was_reset_ = !count && count.error().kind() == ErrorKind::Reset;
        if (!count || *count == 0) return false;
        received_.append(as_text(std::span(space).first(*count)));
        return true;
    }
    std::string take(std::size_t count) {
        std::string taken = received_.substr(0, count);
        received_.erase(0, count);
        return taken;
    }

    net::Socket socket_;
    std::string received_;
    bool was_reset_ = false;
};

// Serves until it ends; then every request has ended too.
class TestServer {
public:
    explicit TestServer(Handler handler, ServerOptions options = {}, RuntimeOptions runtime = {})
        : runtime_(runtime), server_(std::move(handler), std::move(options)) {
        auto bound = runtime_.spawn([this] { return server_.listen(net::Address::loopback(0)); });
        address_ = bound.join().value();
        serving_ = runtime_.spawn([this] { return server_.serve(); });
    }
    ~TestServer() {
        server_.close();
        EXPECT_TRUE(serving_.join(Deadline::after(kPatience)) || ended_);
    }

    Result<void> drain() {
        server_.drain();
        ended_ = true;
        return serving_.join(Deadline::after(kPatience));
    }
    const net::Address& address() const { return address_; }
    Server& server() { return server_; }
    Runtime& runtime() { return runtime_; }
    RawClient connect() const { return RawClient(address_); }
    // On a connection of its own; the whole conversation.
    std::string ask(std::string_view request) const {
        RawClient client(address_);
        client.send(request);
        return client.read_to_end();
    }

private:
    Runtime runtime_;
    Server server_;
    net::Address address_;
    Future<void> serving_;
    bool ended_ = false;
};

// The same response, whose body is cut off after a while.
inline Response within(std::chrono::milliseconds time, Response response) {
    auto producer = [time, inner = std::move(response.body.as_produced()->producer)](
                        BodyWriter& writer) mutable -> Result<void> {
        CancelScope scope(CancelSource::with_deadline(Deadline::after(time)).token());
        return inner(writer);
    };
    response.body = Body::produced(std::move(producer));
    return response;
}

}  // namespace weft::http::testing
