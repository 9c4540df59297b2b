// Bodies both ways: streaming, early answers, 100 (Continue), content codings, upgrades.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "weft/http/client/client.h"
#include "weft/http/wire/content_coding.h"
#include "weft/sync/event.h"
#include "weft/testing/scripted_server.h"
#include "weft/testing/sockets.h"
#include "weft/testing/turn_counter.h"

namespace weft::http {
namespace {

using namespace testing;
using std::chrono::milliseconds;
using std::chrono::seconds;

Url url_of(const net::Address& address, std::string_view target = "/") {
    return *Url::parse("http://" + address.to_string() + std::string(target));
}

Result<std::string> post(Client& client, const Address& address, Body body) {
    ClientResponse response =
        WEFT_TRY(client.send({.method = "POST", .url = url_of(address), .body = std::move(body)}));
    return response.read_all();
}

// ---------------------------------------------------------------- of requests

TEST(ClientBody, HTTP_5_a_body_is_sent_by_its_size_or_in_chunks) {
    in_runtime(1, [] {
        std::string seen;
        return with_server(
            [&](Peer& peer) {
                while (!(seen = peer.read_request()).empty()) peer.respond("ok");
            },
            [&](const Address& address) -> Result<void> {
                Client client;
                EXPECT_EQ(post(client, address, "text"), "ok");
                EXPECT_TRUE(seen.ends_with("\r\n\r\ntext"));
                auto producer = [](BodyWriter& writer) -> Result<void> {
                    WEFT_TRY(writer.write("ab"));
                    WEFT_TRY(writer.flush());
                    return writer.write("cde");
                };
                EXPECT_EQ(post(client, address, Body::produced(producer)), "ok");
                EXPECT_TRUE(seen.ends_with("\r\n\r\n2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n")) << seen;
                EXPECT_EQ(post(client, address, Body::produced(producer, 5)), "ok");
                EXPECT_NE(seen.find("Content-Length: 5\r\n"), std::string::npos);
                EXPECT_TRUE(seen.ends_with("\r\n\r\nabcde"));
                EXPECT_EQ(post(client, address, {}), "ok");
                EXPECT_NE(seen.find("Content-Length: 0\r\n"), std::string::npos);
                EXPECT_EQ(client.counters().connected, 1U);
                return {};
            });
    });
}

TEST(ClientBody, HTTP_5_a_body_that_is_not_as_long_as_it_said_is_misuse_and_ends_the_connection) {
    in_runtime(1, [] {
        return with_server(
            [&](Peer& peer) {
                peer.read_head();
                EXPECT_TRUE(peer.wait_for_close());
            },
            [&](const Address& address) -> Result<void> {
                Client client;
                auto producer = [](BodyWriter& writer) { return writer.write("abc"); };
                EXPECT_EQ(kind_of(post(client, address, Body::produced(producer, 2))),
                          ErrorKind::Misuse);
                EXPECT_EQ(kind_of(post(client, address, Body::produced(producer, 4))),
                          ErrorKind::Misuse);
                auto failing = [](BodyWriter&) -> Result<void> { return ErrorKind::Unavailable; };
                EXPECT_EQ(kind_of(post(client, address, Body::produced(failing))),
                          ErrorKind::Unavailable);
                EXPECT_EQ(client.counters().idle, 0U);
                return {};
            });
    });
}

TEST(ClientBody, HTTP_5_a_large_body_waits_for_a_slow_server) {
    in_runtime(2, [] {
        static constexpr std::size_t kBytes = 8 << 20;
        return with_server(
            [&](Peer& peer) {
                while (!peer.read_head().empty()) {
                    for (int i = 0; i < 8; ++i) {
                        yield();
                        EXPECT_EQ(peer.read_exactly(kBytes / 8).size(), kBytes / 8);
                    }
                    peer.respond("got it");
                }
            },
            [&](const Address& address) -> Result<void> {
                Client client;
                EXPECT_EQ(post(client, address, std::string(kBytes, 'x')), "got it");
                auto producer = [](BodyWriter& writer) -> Result<void> {
                    std::string piece(100'000, 'y');
                    std::size_t left = kBytes;
                    while (left > 0) {
                        std::size_t count = std::min(left, piece.size());
                        WEFT_TRY(writer.write(std::string_view(piece).substr(0, count)));
                        left -= count;
                    }
                    return {};
                };
                EXPECT_EQ(post(client, address, Body::produced(producer, kBytes)), "got it");
                return {};
            });
    });
}

TEST(ClientBody, HTTP_5_an_answer_before_the_end_of_the_body_is_heard) {
    // The server stops reading, answers, and closes at once or stays.
    for (bool closes : {true, false}) {
        in_runtime(2, [&] {
            return with_server(
                [&](Peer& peer) {
                    peer.read_head();
                    peer.say("HTTP/1.1 100 Continue\r\n\r\n");
                    peer.read_exactly(100'000);
                    peer.say("HTTP/1.1 413 Too Large\r\nContent-Length: 9\r\n\r\ntoo large");
                    if (!closes) static_cast<void>(Event().wait_for(seconds(10)));
                },
                [&](const Address& address) -> Result<void> {
                    Client client;
                    EXPECT_EQ(post(client, address, std::string(32 << 20, 'x')), "too large");
                    auto producer = [](BodyWriter& writer) -> Result<void> {
                        std::string piece(100'000, 'y');
                        for (;;) WEFT_TRY(writer.write(piece));
                    };
                    EXPECT_EQ(post(client, address, Body::produced(producer)), "too large");
                    EXPECT_EQ(client.counters().idle, 0U);
                    return {};
                });
        });
    }
}

TEST(ClientBody, HTTP_5_expect_sends_the_body_after_100_or_after_a_while_or_never) {
    in_runtime(1, [] {
        return with_server(
            [&](Peer& peer) {
                std::string head = peer.read_head();
                EXPECT_NE(head.find("Expect: 100-continue\r\n"), std::string::npos);
                if (peer.number() == 0) peer.say("HTTP/1.1 100 Continue\r\n\r\n");
                if (peer.number() < 2)
                    return peer.respond(peer.read_exactly(4), "Connection: close\r\n");
                peer.say("HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\nno");
                std::byte byte[1];
                EXPECT_EQ(peer.socket().read(byte, in_ten_seconds()), 0U);
            },
            [&](const Address& address) -> Result<void> {
                Client client({.timeouts = {.expect = milliseconds(10)}});
                for (const char* expected : {"text", "text", "no"}) {
                    ClientResponse response = WEFT_TRY(client.send({.method = "POST",
                                                                    .url = url_of(address),
                                                                    .body = "text",
                                                                    .expect_continue = true}));
                    // Each on a connection of its own.
                    EXPECT_EQ(response.read_all(), expected);
                }
                return {};
            });
    });
}

// ---------------------------------------------------------------- of responses

TEST(ClientBody, HTTP_5_a_response_is_read_as_it_comes_and_the_server_waits) {
    in_runtime(2, [] {
        Event first_read;
        return with_server(
            [&](Peer& peer) {
                peer.read_request();
                peer.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
                EXPECT_TRUE(first_read.wait_for(seconds(10)));
                peer.say("3\r\ntwo\r\n0\r\n\r\n");
            },
            [&](const Address& address) -> Result<void> {
                Client client;
                ClientResponse response = WEFT_TRY(client.send({.url = url_of(address)}));
                std::array<std::byte, 100> space;
                std::size_t count = WEFT_TRY(response.body().read(space));
                EXPECT_EQ(as_text(Bytes(space).first(count)), "one");
                first_read.set();
                EXPECT_EQ(response.read_all(), "two");
                return {};
            });
    });
}

std::string encoded(wire::Coding coding, std::string_view text) {
    auto encoder = wire::Encoder::create(coding);
    std::string result;
    std::vector<std::byte> space(65536);
    Bytes bytes = as_bytes(text);
    for (;;) {
        auto step = encoder->encode(bytes, space, wire::Until::Finished);
        EXPECT_TRUE(step);
        bytes = bytes.subspan(step->used);
        result += as_text(Bytes(space).first(step->made));
        if (step->done) return result;
    }
}

Result<std::string> fetch_coded(const std::string& fields, const std::string& body,
                                ClientOptions options = {}, Headers* headers = nullptr) {
    Result<std::string> text = ErrorKind::Other;
    in_runtime(1, [&] {
        return with_server(
            [&](Peer& peer) {
                peer.read_request();
                peer.respond(body, fields);
            },
            [&](const Address& address) -> Result<void> {
                Client client(options);
                auto response = client.send({.url = url_of(address)});
                if (!response) {
                    text = response.error();
                    return {};
                }
                text = response->read_all();
                if (headers) *headers = response->headers.copy();
                return {};
            });
    });
    return text;
}

TEST(ClientBody, HTTP_5_content_is_decoded) {
    std::string text;
    for (int i = 0; i < 20'000; ++i) text += std::to_string(i * 7919 % 1000);
    for (wire::Coding coding :
         {wire::Coding::Gzip, wire::Coding::Brotli, wire::Coding::Zstd, wire::Coding::Deflate}) {
        Headers headers;
        std::string field = "Content-Encoding: " + std::string(wire::to_string(coding)) + "\r\n";
        std::string body = encoded(coding, text);
        EXPECT_EQ(fetch_coded(field, body, {}, &headers), text);
        EXPECT_FALSE(headers.has("content-encoding"));
        EXPECT_FALSE(headers.has("content-length"));
        EXPECT_EQ(fetch_coded(field, body, {.decompression = Decompression::Off}, &headers), body);
        EXPECT_EQ(headers.get("content-encoding"), wire::to_string(coding));
    }
    EXPECT_EQ(fetch_coded("Content-Encoding: identity\r\n", "plain"), "plain");
    EXPECT_EQ(fetch_coded("Content-Encoding: unheard-of\r\n", "as it is"), "as it is");
}

TEST(ClientBody, HTTP_5_from_which_size_on_content_is_a_bomb_can_be_said) {
    constexpr std::size_t kContentBytes = 8 << 20;
    std::string coded = encoded(wire::Coding::Gzip, std::string(kContentBytes, '\0'));
    ClientOptions options;
    options.limits.ratio_from_bytes = kContentBytes;
    Result<std::string> text = fetch_coded("Content-Encoding: gzip\r\n", coded, options);
    ASSERT_TRUE(text) << text.error().message();
    EXPECT_EQ(text->size(), kContentBytes);
    options.limits.ratio_from_bytes = kContentBytes - 1;
    EXPECT_EQ(kind_of(fetch_coded("Content-Encoding: gzip\r\n", coded, options)), ErrorKind::Limit);
}

TEST(ClientBody, HTTP_5_a_bomb_ends_as_a_limit) {
    std::string bomb = encoded(wire::Coding::Gzip, std::string(64 << 20, '\0'));
    EXPECT_EQ(kind_of(fetch_coded("Content-Encoding: gzip\r\n", bomb)), ErrorKind::Limit);
    std::string twice = encoded(wire::Coding::Gzip, bomb);
    EXPECT_EQ(kind_of(fetch_coded("Content-Encoding: gzip, gzip\r\n", twice)), ErrorKind::Limit);
    EXPECT_EQ(kind_of(fetch_coded("Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n", twice)),
              ErrorKind::Limit);
}

TEST(ClientBody, HTTP_5_content_that_cannot_be_decoded_is_an_error) {
    std::string whole = encoded(wire::Coding::Gzip, "some text that is long enough");
    std::string field = "Content-Encoding: gzip\r\n";
    EXPECT_EQ(kind_of(fetch_coded(field, "not gzip at all")), ErrorKind::Other);
    EXPECT_EQ(kind_of(fetch_coded(field, whole.substr(0, whole.size() - 9))), ErrorKind::Other);
    EXPECT_EQ(kind_of(fetch_coded(field, whole + "behind")), ErrorKind::Other);
}

TEST(ClientBody, HTTP_5_a_decoded_response_frees_its_connection) {
    in_runtime(1, [] {
        std::string body = encoded(wire::Coding::Gzip, std::string(100'000, 'x'));
        return with_server(
            [&](Peer& peer) {
                while (!peer.read_request().empty())
                    peer.respond(body, "Content-Encoding: gzip\r\n");
            },
            [&](const Address& address) -> Result<void> {
                Client client;
                for (int i = 0; i < 3; ++i) {
                    ClientResponse response = WEFT_TRY(client.send({.url = url_of(address)}));
                    EXPECT_EQ(WEFT_TRY(response.read_all()).size(), 100'000U);
                }
                EXPECT_EQ(client.counters().connected, 1U);
                return {};
            });
    });
}

TEST(ClientBody, FIB_15i_content_that_is_decoded_byte_by_byte_leaves_turns_to_others) {
    in_runtime(1, [] {
        constexpr std::size_t content_bytes = 100'000;
        std::string body = encoded(wire::Coding::Gzip, std::string(content_bytes, 'x'));
        return with_server(
            [&](Peer& peer) {
                peer.read_request();
                peer.respond(body, "Content-Encoding: gzip\r\n");
            },
            [&](const Address& address) -> Result<void> {
                Client client;
                ClientResponse response = WEFT_TRY(client.send({.url = url_of(address)}));
                TurnCounter another;
                std::byte byte[1];
                for (std::size_t i = 0; i < content_bytes; ++i)
                    EXPECT_EQ(WEFT_TRY(response.body().read(byte)), 1U);
                EXPECT_GE(another.turns(), content_bytes / kTurnOperationsMax);
                return {};
            });
    });
}

// ---------------------------------------------------------------- upgrades

TEST(ClientBody, HTTP_5_an_upgrade_gives_the_connection_with_what_came_early) {
    in_runtime(1, [] {
        return with_server(
            [&](Peer& peer) {
                std::string head = peer.read_head();
                EXPECT_NE(head.find("Connection: upgrade\r\nUpgrade: echo\r\n"), std::string::npos);
                if (peer.number() == 1) return peer.respond("no");
                peer.say(
                    "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\n"
                    "Upgrade: echo\r\n\r\nearly");
                peer.say(peer.read_exactly(4));
            },
            [&](const Address& address) -> Result<void> {
                Client client;
                ClientResponse response =
                    WEFT_TRY(client.send({.url = url_of(address), .upgrade = "echo"}));
                EXPECT_EQ(response.status, 101);
                auto upgraded = WEFT_TRY(response.take_stream());
                EXPECT_FALSE(response.take_stream());
                WEFT_TRY(upgraded.stream->write_all(as_bytes("ping")));
                EXPECT_EQ(upgraded.early + WEFT_TRY(read_to_end(*upgraded.stream)), "earlyping");
                ClientResponse refused =
                    WEFT_TRY(client.send({.url = url_of(address), .upgrade = "echo"}));
                EXPECT_EQ(refused.status, 200);
                EXPECT_EQ(refused.read_all(), "no");
                EXPECT_FALSE(refused.take_stream());
                return {};
            });
    });
}

}  // namespace
}  // namespace weft::http
