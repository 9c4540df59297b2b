// Clients of soak_server.cpp, of every kind: proper ones, whose answers are checked, and rude ones.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "tests/stress/service.h"
#include "weft/fiber/fiber.h"
#include "weft/http/client/client.h"
#include "weft/http/websocket/upgrade.h"

namespace weft::stress {

inline constexpr std::size_t kStreamBytes = 64 * 4096;
inline constexpr std::size_t kSmallFileBytes = 1000;
inline constexpr std::size_t kLargeFileBytes = 300'000;

// Does one thing after the other, as its seed says, until it is told to stop. One fiber.
class SoakClient {
public:
    SoakClient(const net::Address& address, http::Client& shared, std::uint64_t seed)
        : address_(address), shared_(&shared), random_(seed) {}

    // The first act that fails ends it, with its name.
    Result<void> run(Deadline end) {
        while (!end.expired(Clock::now())) {
            const Act& act = kActs[below(kActs.size())];
            Result<void> done = (this->*act.act)();
            if (!done) {
                return Error(done.error().kind(),
                             std::string(act.name) + ": " + done.error().message());
            }
            ++acts_;
            WEFT_TRY(weft::sleep_for(std::chrono::milliseconds(below(20))));
        }
        return {};
    }
    std::size_t acts() const { return acts_; }

    // Asks once for everything that the server keeps afterwards, such as open files.
    Result<void> visit_all() {
        for (const Act& act : kActs) WEFT_TRY((this->*act.act)());
        WEFT_TRY(ask("/files/small", kSmallFileBytes));
        return ask("/files/large", kLargeFileBytes);
    }

private:
    struct Act {
        std::string_view name;
        Result<void> (SoakClient::*act)();
    };

    std::size_t below(std::size_t end) { return random_() % end; }
    static Deadline patience() { return Deadline::after(kPatience); }
    static Error wrong(std::string what) { return {ErrorKind::Other, std::move(what)}; }

    Result<net::Socket> connect(const net::SocketOptions& options = {}) {
        return net::Socket::connect(address_, patience(), options);
    }
    http::Url url(const std::string& target) const {
        return *http::Url::parse("http://" + address_.to_string() + target);
    }

    // Over a connection that is kept.
    Result<void> ask(std::string target, std::size_t bytes_expected) {
        auto response = WEFT_TRY(shared_->send({.url = url(target)}));
        std::string body = WEFT_TRY(response.read_all());
        if (response.status == 200 && body.size() == bytes_expected) return {};
        return wrong(target + " gave " + std::to_string(response.status) + " with " +
                     std::to_string(body.size()) + " bytes");
    }
    Result<void> ask_plain() { return ask("/", 13); }
    Result<void> ask_slow() { return ask("/slow", 8); }
    Result<void> ask_stream() { return ask("/stream", kStreamBytes); }
    Result<void> ask_file() {
        if (below(2) == 0) return ask("/files/small", kSmallFileBytes);
        return ask("/files/large", kLargeFileBytes);
    }
    Result<void> ask_range() {
        std::size_t first = below(kLargeFileBytes);
        http::ClientRequest request{.url = url("/files/large")};
        request.headers.set("range", "bytes=" + std::to_string(first) + "-");
        auto response = WEFT_TRY(shared_->send(request));
        std::string body = WEFT_TRY(response.read_all());
        if (response.status == 206 && body.size() == kLargeFileBytes - first) return {};
        return wrong("a range gave " + std::to_string(response.status));
    }
    Result<void> ask_echo() {
        std::string text(below(100'000), static_cast<char>('a' + below(26)));
        http::ClientRequest request{.method = "POST", .url = url("/echo")};
        if (below(2) == 0) {
            request.body = text;
        } else {
            request.body =
                http::Body::produced([&](http::BodyWriter& writer) { return writer.write(text); });
        }
        auto response = WEFT_TRY(shared_->send(request));
        std::string body = WEFT_TRY(response.read_all());
        if (response.status == 200 && body == text) return {};
        return wrong("an echo gave " + std::to_string(response.status));
    }
    // The response is dropped in its middle.
    Result<void> drop_response() {
        auto response =
            WEFT_TRY(shared_->send({.url = url(below(2) == 0 ? "/stream" : "/events")}));
        std::array<std::byte, 512> space;
        for (std::size_t count = below(4); count > 0; --count)
            WEFT_TRY(response.body().read(space));
        return {};
    }

    Result<void> churn() {
        net::Socket socket = WEFT_TRY(connect());
        WEFT_TRY(send(socket, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
        std::string response = WEFT_TRY(read_to_end(socket));
        if (response.ends_with("\r\n\r\nhello, world\n")) return {};
        return wrong("churn gave " + response);
    }
    // Gone before the answer, or in its middle, with a reset.
    Result<void> abort() {
        net::Socket socket = WEFT_TRY(connect());
        constexpr std::array<std::string_view, 3> kTargets = {"/slow", "/stream", "/events"};
        std::string target(kTargets[below(kTargets.size())]);
        WEFT_TRY(send(socket, "GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n"));
        WEFT_TRY(weft::sleep_for(std::chrono::milliseconds(below(10))));
        return socket.reset_on_close();
    }
    Result<void> send_half() {
        net::Socket socket = WEFT_TRY(connect());
        constexpr std::string_view kWhole =
            "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nnot all of it";
        WEFT_TRY(send(socket, kWhole.substr(0, below(kWhole.size()))));
        return weft::sleep_for(std::chrono::milliseconds(below(20)));
    }
    // The server has to wait for it.
    Result<void> read_slowly() {
        net::Socket socket = WEFT_TRY(connect({.receive_buffer_bytes = 4096}));
        WEFT_TRY(send(socket, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n"));
        std::array<std::byte, 1024> space;
        for (std::size_t count = below(32); count > 0; --count) {
            if (WEFT_TRY(socket.read(space, patience())) == 0) return wrong("a stream was cut off");
            WEFT_TRY(weft::sleep_for(std::chrono::milliseconds(below(5))));
        }
        return {};
    }
    // Whatever the server says to it, it closes.
    Result<void> send_garbage() {
        net::Socket socket = WEFT_TRY(connect());
        std::string text(1 + below(2000), ' ');
        std::ranges::generate(text, [&] { return static_cast<char>(below(256)); });
        // A reset in the middle is as good as an answer.
        if (!send(socket, text + "\r\n\r\n")) return {};
        auto answer = read_to_end(socket);
        if (!answer && answer.error().kind() == ErrorKind::TimedOut) return answer.error();
        if (answer && answer->starts_with("HTTP/1.1 2")) return wrong("garbage was accepted");
        return {};
    }
    Result<void> talk() {
        auto stream = std::make_unique<net::Socket>(WEFT_TRY(connect()));
        http::WebSocketUpgrade options;
        if (below(2) == 0) options.deflate.emplace();
        auto socket = WEFT_TRY(
            http::open_websocket(std::move(stream), url("/websocket"), options, {}, patience()));
        for (std::size_t count = below(5); count > 0; --count) {
            std::string text(below(20'000), static_cast<char>('a' + below(26)));
            WEFT_TRY(socket->send_text(text));
            auto answer = WEFT_TRY(socket->receive(patience()));
            if (answer.payload != text) return wrong("a message came back changed");
        }
        if (below(3) == 0) return {};  // gone without a Close
        return socket->close();
    }

    static Result<void> send(net::Socket& socket, std::string_view text) {
        return socket.write_all(as_bytes(text), patience());
    }
    static Result<std::string> read_to_end(net::Socket& socket) {
        std::string text;
        std::array<std::byte, 4096> space;
        while (std::size_t count = WEFT_TRY(socket.read(space, patience())))
            text.append(as_text(std::span(space).first(count)));
        return text;
    }

    static constexpr auto kActs = std::to_array<Act>({
        {"plain", &SoakClient::ask_plain},
        {"slow", &SoakClient::ask_slow},
        {"stream", &SoakClient::ask_stream},
        {"file", &SoakClient::ask_file},
        {"range", &SoakClient::ask_range},
        {"echo", &SoakClient::ask_echo},
        {"drop response", &SoakClient::drop_response},
        {"churn", &SoakClient::churn},
        {"abort", &SoakClient::abort},
        {"send half", &SoakClient::send_half},
        {"read slowly", &SoakClient::read_slowly},
        {"send garbage", &SoakClient::send_garbage},
        {"talk", &SoakClient::talk},
    });

    net::Address address_;
    http::Client* shared_;
    std::mt19937_64 random_;
    std::size_t acts_ = 0;
};

}  // namespace weft::stress
