#include "weft/http/websocket/websocket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/testing/sockets.h"

namespace weft::http {
namespace {

using namespace std::literals;
using net::Socket;
using testing::in_runtime;
using testing::in_ten_seconds;
using testing::kind_of;
using testing::read_to_end;
using wire::websocket::DeflateParameters;

constexpr auto kShort = std::chrono::milliseconds(20);

struct Pair {
    Socket ours;
    Socket theirs;
};
Pair make_pair() {
    auto pair = Socket::make_pair();
    EXPECT_TRUE(pair);
    return {std::move(pair->first), std::move(pair->second)};
}

// A server with a peer that sends raw bytes. Its frames have payloads of up to 125 bytes.
struct WithRawPeer {
    explicit WithRawPeer(const WebSocketOptions& options = {})
        : sockets(make_pair()), server(sockets.ours, {}, WebSocketRole::Server, options) {}

    // Sends a frame whose masking key is zero, which is a valid key.
    void send(int first_byte, std::string_view payload = {}) {
        std::string text = {static_cast<char>(first_byte),
                            static_cast<char>(0x80 | payload.size())};
        send_raw(text + "\0\0\0\0"s + std::string(payload));
    }
    void send_raw(std::string_view bytes) {
        EXPECT_TRUE(sockets.theirs.write_all(as_bytes(bytes), in_ten_seconds()));
    }
    std::string read(std::size_t count) {
        std::string text;
        std::byte byte;
        while (text.size() < count) {
            auto one = sockets.theirs.read(ByteSpace(&byte, 1), in_ten_seconds());
            EXPECT_TRUE(one && *one == 1);
            if (!one || *one == 0) break;
            text += static_cast<char>(byte);
        }
        return text;
    }
    std::string read_all() {
        auto text = read_to_end(sockets.theirs);
        return text ? *text : text.error().message();
    }

    Pair sockets;
    WebSocket server;
};

TEST(WebSocket, HTTP_6b_a_peer_that_vanishes_is_closed_without_a_code) {
    in_runtime(1, [] {
        WithRawPeer raw;
        raw.send(0x81, "last");
        raw.send_raw("\x81\x85");
        raw.sockets.theirs.close();
        EXPECT_EQ(raw.server.receive()->payload, "last");
        EXPECT_EQ(kind_of(raw.server.receive()), ErrorKind::Closed);
        EXPECT_EQ(kind_of(raw.server.receive()), ErrorKind::Closed);
        EXPECT_EQ(raw.server.close_code(), 1006);
        EXPECT_FALSE(raw.server.send_text("to nobody"));
    });
}

TEST(WebSocket, HTTP_6b_a_peer_that_breaks_the_protocol_is_told_why) {
    in_runtime(1, [] {
        WithRawPeer raw;
        raw.send(0x83);
        // Unread bytes must not turn the Close into a reset.
        raw.send_raw(std::string(50'000, 'x'));
        auto reader = spawn([&] {
            std::string text = raw.read_all();
            raw.sockets.theirs.close();
            return text;
        });
        auto failed = raw.server.receive();
        EXPECT_EQ(kind_of(failed), ErrorKind::Other);
        EXPECT_EQ(failed.error().message(), "the opcode is reserved");
        EXPECT_EQ(raw.server.close_code(), 1006);
        EXPECT_EQ(kind_of(raw.server.send_text("more")), ErrorKind::Closed);
        EXPECT_EQ(*reader.join(), "\x88\x02\x03\xea");
    });
}

TEST(WebSocket, HTTP_6b_a_receive_that_timed_out_or_was_cancelled_loses_nothing) {
    in_runtime(1, [] {
        WithRawPeer raw;
        EXPECT_EQ(kind_of(raw.server.receive(Deadline::after(0s))), ErrorKind::TimedOut);
        raw.send_raw("\x81\x85\0\0\0\0he"sv);
        EXPECT_EQ(kind_of(raw.server.receive(Deadline::after(kShort))), ErrorKind::TimedOut);
        CancelSource source;
        auto waiting = spawn([&] {
            CancelScope scope(source.token());
            return raw.server.receive();
        });
        yield();
        source.cancel();
        EXPECT_EQ(kind_of(waiting.join()), ErrorKind::Cancelled);
        raw.send_raw("llo");
        EXPECT_EQ(raw.server.receive(in_ten_seconds())->payload, "hello");
    });
}

TEST(WebSocket, HTTP_6b_a_peer_that_pings_for_ever_does_not_outlast_the_deadline) {
    in_runtime(1, [] {
        WithRawPeer raw;
        auto flood = spawn([&] {
            std::string pings;
            for (int i = 0; i < 1000; ++i) pings += "\x89\x80\0\0\0\0"sv;
            while (raw.sockets.theirs.write_all(as_bytes(pings), in_ten_seconds())) {}
        });
        auto pongs = spawn([&] { return raw.read_all(); });
        EXPECT_EQ(kind_of(raw.server.receive(Deadline::after(kShort))), ErrorKind::TimedOut);
        raw.sockets.ours.close();
        EXPECT_TRUE(flood.join());
        EXPECT_TRUE(pongs.join());
    });
}

TEST(WebSocket, HTTP_6b_a_silent_peer_is_pinged_and_given_up) {
    in_runtime(1, [] {
        WithRawPeer raw({.ping_interval = kShort, .pong_timeout = 1s});  // for the first pong
        auto receiving = spawn([&] { return raw.server.receive(); });
        EXPECT_EQ(raw.read(2), "\x89\0"sv);
        raw.send(0x8a);
        EXPECT_EQ(raw.read(2), "\x89\0"sv);  // silent again, pinged again
        EXPECT_EQ(raw.read_all(), "");
        auto given_up = receiving.join();
        EXPECT_EQ(kind_of(given_up), ErrorKind::Closed);
        EXPECT_THAT(given_up.error().message(),
                    ::testing::MatchesRegex("the peer has not answered a ping for [0-9]+ ms "
                                            "\\(WebSocketOptions::pong_timeout\\)"));
    });
}

TEST(WebSocket, HTTP_6b_pings_are_answered_between_the_fragments_of_a_message) {
    in_runtime(1, [] {
        WithRawPeer raw;
        raw.send(0x01, "one ");
        raw.send(0x89, "payload");
        raw.send(0x80, "two");
        EXPECT_EQ(raw.server.receive()->payload, "one two");
        EXPECT_EQ(raw.read(9), "\x8a\x07payload");
    });
}

TEST(WebSocket, HTTP_6b_a_close_of_the_peer_is_answered_with_its_code) {
    in_runtime(1, [] {
        WithRawPeer raw;
        raw.send(0x88, "\x0f\xa0reason");
        auto reader = spawn([&] {
            std::string text = raw.read_all();
            raw.sockets.theirs.close();
            return text;
        });
        EXPECT_EQ(kind_of(raw.server.receive()), ErrorKind::Closed);
        EXPECT_EQ(raw.server.close_code(), 4000);
        EXPECT_EQ(raw.server.close_reason(), "reason");
        EXPECT_EQ(*reader.join(), "\x88\x02\x0f\xa0");
        EXPECT_TRUE(raw.server.close());
    });
}

TEST(WebSocket, HTTP_6b_a_close_that_is_not_answered_times_out) {
    in_runtime(1, [] {
        WithRawPeer silent({.close_time = kShort});
        EXPECT_EQ(kind_of(silent.server.close(1001, "away")), ErrorKind::TimedOut);
        EXPECT_EQ(silent.read_all(),
                  "\x88\x06\x03\xe9"
                  "away");

        WithRawPeer talking({.close_time = kShort});
        auto flood = spawn([&] {
            std::string messages;
            for (int i = 0; i < 1000; ++i) messages += "\x81\x80\0\0\0\0"sv;
            while (talking.sockets.theirs.write_all(as_bytes(messages), in_ten_seconds())) {}
        });
        EXPECT_EQ(kind_of(talking.server.close()), ErrorKind::TimedOut);
        EXPECT_TRUE(flood.join());
    });
}

TEST(WebSocket, HTTP_6b_a_peer_that_takes_no_pong_is_gone_and_not_late) {
    in_runtime(1, [] {
        WithRawPeer raw({.write_time = kShort});
        std::string filling(64 * 1024, 'x');
        Bytes part = as_bytes(filling);
        while (raw.sockets.ours.try_write(std::span(&part, 1)).value_or(0) > 0) {}
        raw.send(0x89);
        EXPECT_EQ(kind_of(raw.server.receive(in_ten_seconds())), ErrorKind::Closed);
        EXPECT_EQ(kind_of(raw.server.receive(in_ten_seconds())), ErrorKind::Closed);
    });
}

TEST(WebSocket, HTTP_6b_what_must_not_be_sent_does_not_end_the_connection) {
    in_runtime(1, [] {
        WithRawPeer raw;
        EXPECT_EQ(kind_of(raw.server.send_text("\xff")), ErrorKind::Misuse);
        EXPECT_EQ(kind_of(raw.server.ping(std::string(126, 'x'))), ErrorKind::Misuse);
        EXPECT_EQ(kind_of(raw.server.close(1006)), ErrorKind::Misuse);
        EXPECT_TRUE(raw.server.send_text("x"));
        EXPECT_EQ(raw.read(3), "\x81\x01x");
    });
}

TEST(WebSocket, HTTP_6b_a_send_to_a_peer_that_does_not_read_times_out_and_ends_it) {
    in_runtime(1, [] {
        WithRawPeer raw({.write_time = kShort});
        std::string large(4 << 20, 'x');
        EXPECT_EQ(kind_of(raw.server.send_binary(large)), ErrorKind::TimedOut);
        EXPECT_EQ(kind_of(raw.server.send_binary("x")), ErrorKind::Closed);
        EXPECT_EQ(kind_of(raw.server.receive()), ErrorKind::Closed);
    });
}

TEST(WebSocket, HTTP_6b_bytes_that_came_with_the_handshake_are_read_first) {
    in_runtime(1, [] {
        Pair sockets = make_pair();
        std::string early = "\x81\x03one\x81\x03t";
        WebSocket client(sockets.ours, as_bytes(early), WebSocketRole::Client);
        ASSERT_TRUE(sockets.theirs.write_all(as_bytes("wo"sv)));
        EXPECT_EQ(client.receive()->payload, "one");
        EXPECT_EQ(client.receive()->payload, "two");
    });
}

// A server and a client that are connected.
struct Connection {
    explicit Connection(const WebSocketOptions& options = {}) {
        Pair sockets = make_pair();
        server = std::make_unique<WebSocket>(std::make_unique<Socket>(std::move(sockets.ours)),
                                             Bytes(), WebSocketRole::Server, options);
        client = std::make_unique<WebSocket>(std::make_unique<Socket>(std::move(sockets.theirs)),
                                             Bytes(), WebSocketRole::Client, options);
    }
    std::unique_ptr<WebSocket> server;
    std::unique_ptr<WebSocket> client;
};

void echo(WebSocket& socket) {
    while (auto message = socket.receive(in_ten_seconds())) {
        EXPECT_TRUE(socket.send(message->type, message->payload));
    }
}

TEST(WebSocket, HTTP_6b_messages_of_any_size_go_both_ways) {
    for (bool deflated : {false, true}) {
        in_runtime(2, [&] {
            WebSocketOptions options;
            if (deflated) options.deflate = DeflateParameters();
            Connection both(options);
            auto echoing = spawn([&] { echo(*both.server); });
            std::string text;
            for (int i = 0; text.size() < (2 << 20); ++i) text += std::to_string(i * 7919);
            for (std::size_t size : {0, 1, 125, 126, 65535, 65536, 2 << 20}) {
                std::string_view sent = std::string_view(text).substr(0, size);
                ASSERT_TRUE(both.client->send_text(sent));
                auto back = both.client->receive(in_ten_seconds());
                ASSERT_TRUE(back) << back.error().message();
                EXPECT_EQ(back->type, MessageType::Text);
                EXPECT_EQ(back->payload, sent);
            }
            EXPECT_TRUE(both.client->close(3000, "done"));
            EXPECT_EQ(both.client->close_code(), 3000);
            EXPECT_TRUE(echoing.join());
            EXPECT_EQ(both.server->close_code(), 3000);
            EXPECT_EQ(both.server->close_reason(), "done");
        });
    }
}

TEST(WebSocket, HTTP_6b_any_fiber_may_send_and_messages_stay_whole) {
    in_runtime(2, [] {
        Connection both({.deflate = DeflateParameters()});
        constexpr int kFibers = 8;
        constexpr int kMessages = 50;
        std::vector<Future<void>> senders;
        for (int i = 0; i < kFibers; ++i) {
            senders.push_back(spawn([&, i] {
                std::string payload(static_cast<std::size_t>(i) * 1000, static_cast<char>('a' + i));
                for (int j = 0; j < kMessages; ++j) {
                    EXPECT_TRUE(both.client->send_text(payload));
                    EXPECT_TRUE(both.client->ping("between"));
                }
            }));
        }
        auto pongs = spawn([&] { EXPECT_FALSE(both.client->receive(in_ten_seconds())); });
        std::vector<int> seen(kFibers);
        for (int i = 0; i < kFibers * kMessages; ++i) {
            auto message = both.server->receive(in_ten_seconds());
            ASSERT_TRUE(message) << message.error().message();
            std::size_t which = message->payload.size() / 1000;
            EXPECT_EQ(message->payload.find_first_not_of(static_cast<char>('a' + which)),
                      std::string::npos);
            ++seen[which];
        }
        EXPECT_EQ(seen, std::vector<int>(kFibers, kMessages));
        for (auto& sender : senders) EXPECT_TRUE(sender.join());
        EXPECT_TRUE(both.server->close());
        EXPECT_TRUE(pongs.join());
    });
}

TEST(WebSocket, HTTP_6b_close_may_be_called_while_another_fiber_receives) {
    in_runtime(1, [] {
        Connection both;
        auto receiving = spawn([&] { return both.client->receive(in_ten_seconds()); });
        auto echoing = spawn([&] { echo(*both.server); });
        yield();
        EXPECT_TRUE(both.client->close());
        EXPECT_EQ(kind_of(receiving.join()), ErrorKind::Closed);
        EXPECT_EQ(kind_of(both.client->send_text("late")), ErrorKind::Closed);
        EXPECT_EQ(kind_of(both.client->receive()), ErrorKind::Closed);
        EXPECT_TRUE(echoing.join());
    });
}

TEST(WebSocket, HTTP_6b_both_sides_may_close_at_once) {
    in_runtime(1, [] {
        Connection both;
        auto other = spawn([&] { return both.server->close(1001); });
        EXPECT_TRUE(both.client->close(1000));
        EXPECT_TRUE(other.join());
        EXPECT_EQ(both.client->close_code(), 1001);
        EXPECT_EQ(both.server->close_code(), 1000);
    });
}

}  // namespace
}  // namespace weft::http
