// Weft's WebSocket with that of Boost.Beast at the other end, in both roles and with every window:
// each must understand what the other compresses, fragments, masks and closes.
#include <gtest/gtest.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/websocket.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "weft/fiber/runtime.h"
#include "weft/http/request.h"
#include "weft/http/server/server.h"
#include "weft/http/websocket/upgrade.h"
#include "weft/net/socket.h"

namespace weft {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using http::WebSocket;
using http::wire::websocket::DeflateParameters;
using tcp = asio::ip::tcp;
using BeastSocket = beast::websocket::stream<tcp::socket>;

constexpr std::chrono::seconds kPatience{20};

// Nothing: without compression.
std::vector<std::optional<DeflateParameters>> settings() {
    std::vector<std::optional<DeflateParameters>> all = {std::nullopt};
    for (std::uint8_t bits = 9; bits <= 15; bits += 3) {  // Beast has no 8
        all.push_back(DeflateParameters{false, false, bits, 15});
        all.push_back(DeflateParameters{true, false, 15, bits});
        all.push_back(DeflateParameters{false, true, bits, bits});
    }
    return all;
}

beast::websocket::permessage_deflate for_beast(const std::optional<DeflateParameters>& setting) {
    beast::websocket::permessage_deflate deflate;
    if (!setting) return deflate;
    deflate.client_enable = true;
    deflate.server_enable = true;
    deflate.server_max_window_bits = setting->server_max_window_bits;
    deflate.client_max_window_bits = setting->client_max_window_bits;
    deflate.server_no_context_takeover = setting->server_no_context_takeover;
    deflate.client_no_context_takeover = setting->client_no_context_takeover;
    return deflate;
}

// Of every kind of length; the large ones refer far back.
std::vector<std::string> messages() {
    std::string text;
    std::uint32_t state = 7;
    while (text.size() < 300'000) {
        state = state * 1664525 + 1013904223;
        std::size_t distance = (state >> 8) % 40'000;
        if (distance > text.size() || (state >> 28) == 0) {
            text += "\u00e9" + std::to_string(state);
        } else {
            text += std::to_string(state >> 20) + std::string(state >> 26, 'x');
        }
    }
    std::vector<std::string> all = {"", "x", text};
    for (std::size_t size : {2, 125, 126, 127, 1000, 65535, 65536, 70'000}) {
        all.push_back(std::string(size, static_cast<char>('a' + size % 26)));
    }
    all.push_back(text);  // again: with takeover it refers to the first
    return all;
}

void echo(WebSocket& socket) {
    while (auto message = socket.receive(Deadline::after(kPatience))) {
        EXPECT_TRUE(socket.send(message->type, message->payload));
    }
}

// Sends each message and reads it back.
void talk_by_beast(BeastSocket& socket) {
    bool is_text = false;
    for (const std::string& message : messages()) {
        is_text = !is_text;
        socket.text(is_text);
        socket.ping("before");
        socket.write(asio::buffer(message));
        beast::flat_buffer back;
        socket.read(back);
        EXPECT_EQ(beast::buffers_to_string(back.data()), message);
        EXPECT_EQ(socket.got_text(), is_text);
    }
}

TEST(WebSocketDifferential, HTTP_6b_a_client_of_beast_talks_with_our_server) {
    Runtime runtime{RuntimeOptions{}};
    http::Server server([](http::Request& request, async::Context&) -> Result<http::Response> {
        std::optional<DeflateParameters> wish;
        if (request.path() == "/deflate") wish.emplace();
        return http::accept_websocket(request, echo, {{.deflate = wish}, {}});
    });
    auto address = runtime.spawn([&] { return server.listen(net::Address::loopback(0)); }).join();
    ASSERT_TRUE(address);
    auto serving = runtime.spawn([&] { return server.serve(); });
    for (const auto& setting : settings()) {
        asio::io_context context;
        BeastSocket client(context);
        client.next_layer().connect({asio::ip::address_v4::loopback(), address->port()});
        client.set_option(for_beast(setting));
        client.write_buffer_bytes(5000);  // its fragments are as large
        client.handshake("localhost", setting ? "/deflate" : "/");
        talk_by_beast(client);
        client.close({beast::websocket::close_code::going_away, "enough"});
        EXPECT_EQ(client.reason().code, 1001);
    }
    server.close();
    EXPECT_TRUE(serving.join(Deadline::after(kPatience)));
}

TEST(WebSocketDifferential, HTTP_6b_our_client_talks_with_a_server_of_beast) {
    for (const auto& setting : settings()) {
        asio::io_context context;
        tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
        std::thread serving([&] {
            BeastSocket server(acceptor.accept());
            server.set_option(for_beast(setting));
            server.write_buffer_bytes(5000);
            server.accept();
            beast::error_code error;
            for (;;) {
                beast::flat_buffer message;
                server.read(message, error);
                if (error) break;
                server.text(server.got_text());
                server.write(message.data());
            }
            EXPECT_EQ(error, beast::websocket::error::closed) << error.message();
            EXPECT_EQ(server.reason().code, 3001);
        });
        Deadline deadline = Deadline::after(kPatience);
        auto socket = net::Socket::connect(net::Address::loopback(acceptor.local_endpoint().port()),
                                           deadline);
        ASSERT_TRUE(socket);
        auto client = http::open_websocket(std::make_unique<net::Socket>(std::move(*socket)),
                                           *http::wire::Url::parse("ws://localhost/"),
                                           {.deflate = setting}, {}, deadline);
        ASSERT_TRUE(client) << client.error().message();
        for (const std::string& message : messages()) {
            ASSERT_TRUE((*client)->send_text(message));
            auto back = (*client)->receive(deadline);
            ASSERT_TRUE(back) << back.error().message();
            EXPECT_EQ(back->payload, message);
        }
        EXPECT_TRUE((*client)->close(3001, "enough"));
        EXPECT_EQ((*client)->close_code(), 3001);
        serving.join();
    }
}

}  // namespace
}  // namespace weft
