#include "weft/http/websocket/connect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "weft/http/request.h"
#include "weft/http/server/server.h"
#include "weft/net/resolver.h"
#include "weft/testing/tls_peers.h"

namespace weft::http {
namespace {

using namespace weft::testing;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Result<Response> echo(Request& request, async::Context&) {
    std::string greeting = std::string(request.header("x-who").value_or("nobody"));
    return accept_websocket(request, [greeting](WebSocket& socket) {
        if (!socket.send_text(greeting)) return;
        while (auto message = socket.receive()) {
            if (!socket.send(message->type, message->payload)) return;
        }
    });
}

Result<void> talk(std::string_view url, const WebSocketConnect& options, std::string_view who) {
    auto socket = WEFT_TRY(connect_websocket(url, options));
    auto greeting = WEFT_TRY(socket->receive(in_ten_seconds()));
    EXPECT_EQ(greeting.payload, who);
    WEFT_TRY(socket->send_text("hello"));
    auto message = WEFT_TRY(socket->receive(in_ten_seconds()));
    EXPECT_EQ(message.payload, "hello");
    return socket->close();
}

// Serves an echo, with TLS or without, while `body(port, client_context)` runs.
template <class Body>
void with_echo(bool secure, Body body) {
    in_runtime(2, [&]() -> Result<void> {
        Contexts contexts = WEFT_TRY(Contexts::create());
        auto tls = std::make_shared<ClientContext>(std::move(contexts.client));
        Server server(echo);
        Result<Address> address =
            secure ? server.listen_tls(Address::loopback(0),
                                       std::make_shared<ServerContext>(std::move(contexts.server)))
                   : server.listen(Address::loopback(0));
        WEFT_TRY(address);
        auto serving = spawn([&] { return server.serve(); });
        Result<void> outcome = body(std::to_string(address->port()), tls);
        server.close();
        WEFT_TRY(serving.join());
        return outcome;
    });
}

TEST(WebSocketConnect, HTTP_14a_wss_is_one_call) {
    with_echo(true, [](const std::string& port, auto tls) -> Result<void> {
        WebSocketConnect options;
        options.tls = tls;
        options.headers.set("x-who", "somebody");
        WEFT_TRY(talk("wss://127.0.0.1:" + port + "/chat?x=1", options, "somebody"));
        // By the name in the certificate, which the resolver takes from a table.
        options.resolver = std::make_shared<net::Resolver>(
            net::ResolverOptions{.table = {{"example.test", {net::IpAddress::loopback()}}}});
        return talk("wss://example.test:" + port + "/", options, "somebody");
    });
}

TEST(WebSocketConnect, HTTP_14a_ws_is_too) {
    with_echo(false, [](const std::string& port, auto) -> Result<void> {
        return talk("ws://localhost:" + port, {}, "nobody");
    });
}

TEST(WebSocketConnect, HTTP_14a_a_certificate_that_is_not_trusted_is_refused) {
    with_echo(true, [](const std::string& port, auto) -> Result<void> {
        auto socket = connect_websocket("wss://127.0.0.1:" + port + "/chat?secret");
        EXPECT_EQ(kind_of(socket), ErrorKind::Tls);
        EXPECT_THAT(socket.error().message(),
                    StartsWith("open wss://127.0.0.1:" + port + "/chat: "));
        EXPECT_THAT(socket.error().message(), ::testing::Not(HasSubstr("secret")));
        return {};
    });
}

TEST(WebSocketConnect, HTTP_14a_other_urls_and_servers_are_errors) {
    in_runtime(1, []() -> Result<void> {
        for (const char* url : {"", "wss://", "http://127.0.0.1/", "https://127.0.0.1/", "ws"})
            EXPECT_EQ(kind_of(connect_websocket(url)), ErrorKind::Misuse) << url;
        Address nobody = WEFT_TRY(free_tcp_address());
        EXPECT_EQ(kind_of(connect_websocket("ws://" + nobody.to_string())), ErrorKind::Refused);
        // A server that accepts a connection and sends nothing.
        Listener silent = WEFT_TRY(Listener::open(Address::loopback(0)));
        WebSocketConnect options;
        options.timeout = std::chrono::milliseconds(20);
        std::string address = silent.address().to_string();
        EXPECT_EQ(kind_of(connect_websocket("ws://" + address, options)), ErrorKind::TimedOut);
        EXPECT_EQ(kind_of(connect_websocket("wss://" + address, options)), ErrorKind::TimedOut);
        return {};
    });
}

}  // namespace
}  // namespace weft::http
