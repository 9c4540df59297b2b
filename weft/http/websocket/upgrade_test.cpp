#include "weft/http/websocket/upgrade.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>  // tidy: allow foreign: it is made to refuse SHA-1

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "weft/http/internal/server_test.h"
#include "weft/net/socket.h"

namespace weft::http {
namespace {

using ::testing::HasSubstr;
using testing::kPatience;
using ::testing::Not;
using testing::RawClient;
using ::testing::StartsWith;
using testing::TestServer;

constexpr std::string_view kRequest =
    "GET /chat HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

Handler echo_handler(const WebSocketAccept& options = {}) {
    return [options](Request& request, async::Context&) -> Result<Response> {
        return accept_websocket(
            request,
            [](WebSocket& socket) {
                if (!socket.protocol().empty()) {
                    EXPECT_TRUE(socket.send_text(socket.protocol()));
                }
                while (auto message = socket.receive()) {
                    if (!socket.send(message->type, message->payload)) break;
                }
            },
            options);
    };
}

// The request with one line replaced or removed.
std::string with(std::string_view line, std::string_view instead) {
    std::string text(kRequest);
    text.replace(text.find(line), line.size(), instead);
    return text + "\r\n";
}

TEST(WebSocketAccept, HTTP_6b_a_request_that_asks_in_the_wrong_way_is_refused) {
    TestServer server(
        echo_handler({{.deflate = wire::websocket::DeflateParameters()}, {"https://example.com"}}));
    const std::pair<std::string, std::string_view> cases[] = {
        {with("GET", "POST"), "HTTP/1.1 400 "},
        {with("Upgrade: websocket\r\n", ""), "HTTP/1.1 426 "},
        {with("Upgrade: websocket\r\n", "Upgrade: h2c\r\n"), "HTTP/1.1 426 "},
        {with("Connection: Upgrade\r\n", ""), "HTTP/1.1 426 "},
        {with("Version: 13", "Version: 8"), "HTTP/1.1 426 "},
        {with("Sec-WebSocket-Version: 13\r\n", ""), "HTTP/1.1 426 "},
        {with("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", ""), "HTTP/1.1 400 "},
        {with("ZQ==", "ZQ="), "HTTP/1.1 400 "},
        {with("ZQ==\r\n", "ZQ==\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"),
         "HTTP/1.1 400 "},
        {with("Version: 13\r\n", "Version: 13\r\nSec-WebSocket-Version: 8\r\n"), "HTTP/1.1 400 "},
        {with("Host: x\r\n", "Host: x\r\nSec-WebSocket-Extensions: permessage-deflate;\r\n"),
         "HTTP/1.1 400 "},
        {with("Host: x\r\n", "Host: x\r\nOrigin: https://example.org\r\n"), "HTTP/1.1 403 "},
        {with("Host: x\r\n", "Host: x\r\nOrigin: null\r\n"), "HTTP/1.1 403 "},
    };
    for (const auto& [request, status] : cases) {
        RawClient client = server.connect();
        client.send(request);
        std::string response = client.read_response();
        EXPECT_THAT(response, StartsWith(std::string(status))) << request;
        if (status == "HTTP/1.1 426 ") {
            EXPECT_THAT(response, HasSubstr("websocket"));
        }
    }
}

TEST(WebSocketAccept, HTTP_6b_the_handshake_of_the_standard_is_answered) {
    TestServer server(echo_handler({{.protocols = {"superchat", "chat"}}, {}}));
    RawClient client = server.connect();
    // The first frame comes with the request.
    client.send(with("Host: x\r\n",
                     "Host: x\r\nOrigin: https://example.org\r\n"
                     "Sec-WebSocket-Protocol: chat, other\r\nSec-WebSocket-Protocol: superchat\r\n"
                     "Sec-WebSocket-Extensions: permessage-deflate\r\n") +
                std::string("\x81\x82\0\0\0\0hi", 8));
    std::string head = client.read_until("\r\n\r\n");
    EXPECT_THAT(head, StartsWith("HTTP/1.1 101 "));
    EXPECT_THAT(head, HasSubstr("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    EXPECT_THAT(head, HasSubstr("superchat\r\n"));
    EXPECT_THAT(head, Not(HasSubstr("deflate")));  // the options do not ask for it
    EXPECT_EQ(client.read_count(11), "\x81\x09superchat");
    EXPECT_EQ(client.read_count(4), "\x81\x02hi");
    client.send(std::string("\x88\x80\0\0\0\0", 6));
    EXPECT_EQ(client.read_to_end(), std::string("\x88\0", 2));
}

Result<std::unique_ptr<WebSocket>> open(const net::Address& address,
                                        const WebSocketUpgrade& options = {}) {
    Deadline deadline = Deadline::after(kPatience);
    auto socket = WEFT_TRY(net::Socket::connect(address, deadline));
    wire::Url url = WEFT_TRY(wire::Url::parse("ws://localhost/chat?x=1"));
    return open_websocket(std::make_unique<net::Socket>(std::move(socket)), url, options, {},
                          deadline);
}

TEST(WebSocketOpen, HTTP_6b_client_and_server_agree_and_talk) {
    WebSocketUpgrade both = {.deflate = wire::websocket::DeflateParameters{false, false, 10, 9},
                             .protocols = {"chat"}};
    TestServer server(echo_handler({both, {}}));
    auto client = open(server.address(), both);
    ASSERT_TRUE(client) << client.error().message();
    EXPECT_EQ((*client)->protocol(), "chat");
    EXPECT_EQ((*client)->receive(Deadline::after(kPatience))->payload, "chat");
    std::string large(100'000, 'x');
    ASSERT_TRUE((*client)->send_text(large));
    EXPECT_EQ((*client)->receive(Deadline::after(kPatience))->payload, large);
    EXPECT_TRUE((*client)->close());
    EXPECT_EQ((*client)->close_code(), 1000);
}

TEST(WebSocketAccept, HTTP_6b_a_handler_that_returns_closes_the_connection) {
    TestServer server([](Request& request, async::Context&) -> Result<Response> {
        return accept_websocket(
            request, [](WebSocket& socket) { EXPECT_TRUE(socket.send_text("that is all")); });
    });
    auto client = open(server.address());
    ASSERT_TRUE(client) << client.error().message();
    EXPECT_EQ((*client)->receive(Deadline::after(kPatience))->payload, "that is all");
    auto ended = (*client)->receive(Deadline::after(kPatience));
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().kind(), ErrorKind::Closed);
    EXPECT_EQ((*client)->close_code(), 1000);
}

TEST(WebSocketOpen, HTTP_6b_what_cannot_be_sent_is_misuse) {
    TestServer server(echo_handler());
    auto client = open(server.address(), {.protocols = {"a\r\nb"}});
    ASSERT_FALSE(client);
    EXPECT_EQ(client.error().kind(), ErrorKind::Misuse);
}

// Opens a WebSocket to a server that reads the request and sends this answer, in which %s stands
// for the right Sec-WebSocket-Accept.
Result<std::unique_ptr<WebSocket>> open_with_answer(const std::string& answer) {
    auto listener = net::Listener::open(net::Address::loopback(0));
    if (!listener) return listener.error();
    std::thread peer([&] {
        auto socket = listener->accept(Deadline::after(kPatience));
        ASSERT_TRUE(socket);
        std::string request;
        std::byte space[1000];
        while (!request.ends_with("\r\n\r\n")) {
            auto count = socket->read(space, Deadline::after(kPatience));
            ASSERT_TRUE(count && *count > 0);
            request += as_text(Bytes(space).first(*count));
        }
        EXPECT_THAT(request, StartsWith("GET /chat?x=1 HTTP/1.1\r\nHost: localhost\r\n"));
        std::string key = request.substr(request.find("Key: ") + 5, 24);
        std::string text = answer;
        if (std::size_t at = text.find("%s"); at != text.npos) {
            text.replace(at, 2, wire::websocket::accept_of(key).value());
        }
        EXPECT_TRUE(socket->write_all(as_bytes(text), Deadline::after(kPatience)));
    });
    auto client = open(listener->address());
    peer.join();
    return client;
}

constexpr std::string_view kAnswer =
    "HTTP/1.1 101 OK\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Accept: %s\r\n\r\n";

TEST(WebSocketOpen, HTTP_6b_informational_responses_may_come_before_the_answer) {
    std::string hints = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: </a>\r\n\r\n";
    auto client = open_with_answer(hints + std::string(kAnswer) + "\x81\x02hi");
    ASSERT_TRUE(client) << client.error().message();
    EXPECT_EQ((*client)->receive(Deadline::after(kPatience))->payload, "hi");

    std::string many;
    for (int i = 0; i < 100; ++i) many += hints;
    auto flooded = open_with_answer(many + std::string(kAnswer));
    ASSERT_FALSE(flooded);
    EXPECT_EQ(flooded.error().kind(), ErrorKind::Limit);
}

// As in FIPS mode: OpenSSL may only use algorithms of a provider that is not loaded.
struct WithoutSha1 {
    WithoutSha1() { EXPECT_EQ(::EVP_set_default_properties(nullptr, "fips=yes"), 1); }
    ~WithoutSha1() { EXPECT_EQ(::EVP_set_default_properties(nullptr, ""), 1); }
};

TEST(WebSocketAccept, HTTP_6d_without_sha1_a_websocket_is_answered_with_500) {
    WithoutSha1 without;
    TestServer server(echo_handler());
    RawClient client = server.connect();
    client.send(std::string(kRequest) + "\r\n");
    std::string response = client.read_response();
    EXPECT_THAT(response, StartsWith("HTTP/1.1 500 "));
    EXPECT_THAT(response, HasSubstr("SHA-1"));
}

TEST(WebSocketOpen, HTTP_6d_without_sha1_no_websocket_is_opened) {
    std::string answer(kAnswer);
    answer.replace(answer.find("%s"), 2, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    WithoutSha1 without;
    auto client = open_with_answer(answer);
    ASSERT_FALSE(client);
    EXPECT_EQ(client.error().kind(), ErrorKind::Unavailable);
    EXPECT_THAT(client.error().message(), HasSubstr("SHA-1"));
}

TEST(WebSocketOpen, HTTP_6b_an_answer_that_is_no_handshake_is_refused) {
    const std::pair<std::string, ErrorKind> cases[] = {
        {"", ErrorKind::Closed},
        {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", ErrorKind::Refused},
        {"HTTP/1.1 101 OK\r\nConnection: upgrade\r\nUpgrade: h2c\r\n"
         "Sec-WebSocket-Accept: %s\r\n\r\n",
         ErrorKind::Refused},
        {"HTTP/1.1 101 OK\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: %s\r\n\r\n",
         ErrorKind::Refused},
        {"HTTP/1.1 101 OK\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
         "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
         ErrorKind::Refused},
        {"HTTP/1.1 101 OK\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
         "Sec-WebSocket-Accept: %s\r\nSec-WebSocket-Protocol: chat\r\n\r\n",
         ErrorKind::Refused},
        {"HTTP/1.1 101 OK\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
         "Sec-WebSocket-Accept: %s\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n",
         ErrorKind::Other},
        {"garbage\r\n\r\n", ErrorKind::Refused},
    };
    for (const auto& [answer, kind] : cases) {
        auto client = open_with_answer(answer);
        ASSERT_FALSE(client) << answer;
        EXPECT_EQ(client.error().kind(), kind) << answer << client.error().message();
    }
}

}  // namespace
}  // namespace weft::http
