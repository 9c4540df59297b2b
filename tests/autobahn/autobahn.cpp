// Our side of the Autobahn test suite for WebSocket.
//
//     autobahn serve ADDRESS       echoes every message, until it is killed; writes its URL
//     autobahn ask ws://HOST:PORT  asks the suite's server for every case and echoes
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "weft/fiber/runtime.h"
#include "weft/http/request.h"
#include "weft/http/server/server.h"
#include "weft/http/websocket/upgrade.h"
#include "weft/net/socket.h"

namespace http = weft::http;
namespace net = weft::net;
using weft::Result;

namespace {

// The suite sends messages of 16 MiB and frames of that size.
constexpr std::size_t kMessageBytesMax = 32 * 1024 * 1024;

template <class Options>
Options options() {
    Options options;
    options.deflate.emplace();
    options.connection.limits.frame_bytes = kMessageBytesMax;
    options.connection.limits.message_bytes = kMessageBytesMax;
    options.connection.limits.fragments = 1024 * 1024;
    return options;
}

void echo(http::WebSocket& socket) {
    while (auto message = socket.receive()) {
        if (!socket.send(message->type, message->payload)) return;
    }
}

Result<void> serve(std::string_view text) {
    net::Address address = WEFT_TRY(net::Address::parse(text));
    http::Server server([](http::Request& request, weft::async::Context&) {
        return http::accept_websocket(request, echo, options<http::WebSocketAccept>());
    });
    net::Address bound = WEFT_TRY(server.listen(address));
    std::printf("ws://%s\n", bound.to_string().c_str());
    std::fflush(stdout);
    return server.serve();
}

Result<std::unique_ptr<http::WebSocket>> connect(const std::string& text) {
    auto url = WEFT_TRY(http::wire::Url::parse(text));
    net::Address address = WEFT_TRY(net::Address::parse(url.authority()));
    auto stream = std::make_unique<net::Socket>(WEFT_TRY(net::Socket::connect(address)));
    return http::open_websocket(std::move(stream), url, options<http::WebSocketUpgrade>());
}

Result<void> ask(const std::string& server) {
    auto counting = WEFT_TRY(connect(server + "/getCaseCount"));
    int cases = std::stoi(WEFT_TRY(counting->receive()).payload);
    for (int number = 1; number <= cases; ++number) {
        std::string place = server + "/runCase?agent=weft&case=" + std::to_string(number);
        auto socket = WEFT_TRY(connect(place));
        echo(*socket);
    }
    auto reporting = WEFT_TRY(connect(server + "/updateReports?agent=weft"));
    static_cast<void>(reporting->receive());
    return {};
}

}  // namespace

int main(int count, char** arguments) {
    std::string_view mode = count == 3 ? arguments[1] : "";
    if (mode != "serve" && mode != "ask") {
        std::fprintf(stderr, "usage: autobahn serve ADDRESS | autobahn ask ws://HOST:PORT\n");
        return 2;
    }
    auto outcome =
        weft::run([&] { return mode == "serve" ? serve(arguments[2]) : ask(arguments[2]); });
    if (!outcome) std::fprintf(stderr, "autobahn: %s\n", outcome.error().message().c_str());
    return outcome ? 0 : 1;
}
