// A service with a bit of everything:  soak_server ADDRESS DIRECTORY [short-limits]
//
// It writes its URL, serves until SIGTERM, and then ends with status 0. With short-limits clients
// that are slow are ended after a second or two, so that a test need not wait for it.
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>

#include "weft/fiber/graceful_stop.h"
#include "weft/fiber/runtime.h"
#include "weft/http/files/static_files.h"
#include "weft/http/request.h"
#include "weft/http/routing/router.h"
#include "weft/http/server/server.h"
#include "weft/http/websocket/upgrade.h"

namespace http = weft::http;
namespace net = weft::net;
using weft::Result;
using weft::async::Context;
using namespace std::chrono_literals;

namespace {

constexpr int kStreamPieces = 64;
constexpr std::size_t kStreamPieceBytes = 4096;

Result<http::Response> plain(http::Request&, Context&) {
    return http::Response::text("hello, world\n");
}

Result<http::Response> echo(http::Request& request, Context&) {
    std::string body = WEFT_TRY(request.body().read_all());
    return http::Response::text(std::move(body));
}

Result<http::Response> stream(http::Request&, Context&) {
    auto produce = [](http::BodyWriter& writer) -> Result<void> {
        for (int piece = 0; piece < kStreamPieces; ++piece) {
            WEFT_TRY(writer.write(std::string(kStreamPieceBytes, static_cast<char>('0' + piece))));
        }
        return {};
    };
    return http::Response::stream("application/octet-stream", produce);
}

Result<http::Response> slow(http::Request&, Context&) {
    WEFT_TRY(weft::sleep_for(20ms));
    return http::Response::text("at last\n");
}

// Until the client goes away.
Result<http::Response> events(http::Request&, Context&) {
    auto produce = [](http::BodyWriter& writer) -> Result<void> {
        for (;;) {
            WEFT_TRY(writer.write("data: tick\n\n"));
            WEFT_TRY(writer.flush());
            WEFT_TRY(weft::sleep_for(10ms));
        }
    };
    return http::Response::stream("text/event-stream", produce);
}

void echo_messages(http::WebSocket& socket) {
    while (auto message = socket.receive()) {
        // "close 4000": the server begins to close.
        if (message->payload.starts_with("close ")) {
            auto code = static_cast<std::uint16_t>(std::atoi(message->payload.c_str() + 6));
            if (!socket.close(code, "as asked")) return;
            continue;
        }
        if (!socket.send(message->type, message->payload)) return;
    }
}

Result<http::Response> websocket(http::Request& request, Context&) {
    http::WebSocketAccept options;
    options.deflate.emplace();
    return http::accept_websocket(request, echo_messages, options);
}

http::ServerOptions server_options(bool short_limits) {
    http::ServerOptions options;
    if (!short_limits) return options;
    options.limits.header_time = 1s;
    options.limits.body_idle = 1s;
    options.limits.body_grace = 1s;
    options.limits.write_time = 1s;
    options.limits.idle = 2s;
    return options;
}

Result<http::Handler> routes(const std::string& directory, http::Handler stats) {
    http::Router router;
    router.get("/", plain);
    router.post("/echo", echo);
    router.get("/stream", stream);
    router.get("/slow", slow);
    router.get("/events", events);
    router.get("/websocket", websocket);
    router.get("/stats", std::move(stats));
    router.mount("/files", WEFT_TRY(http::static_files(directory)));
    return std::move(router).build();
}

Result<void> serve(const net::Address& address, const std::string& directory, bool short_limits) {
    weft::Runtime runtime;
    http::Server* serving = nullptr;
    auto stats = [&](http::Request&, Context&) -> Result<http::Response> {
        return http::Response::text(std::to_string(serving->connections()) + " connections, " +
                                    std::to_string(runtime.live_fibers()) + " fibers\n");
    };
    http::Handler handler = WEFT_TRY(routes(directory, stats));
    http::Server server(std::move(handler), server_options(short_limits));
    serving = &server;
    auto stop = WEFT_TRY(weft::GracefulStop::on_signals(runtime));
    auto drain = stop.on_drain([&] { server.drain(); });
    auto outcome = runtime.spawn([&]() -> Result<void> {
        net::Address bound = WEFT_TRY(server.listen(address));
        std::printf("http://%s/ \n", bound.to_string().c_str());
        std::fflush(stdout);
        return server.serve();
    });
    return outcome.join();
}

}  // namespace

int main(int count, char** arguments) {
    if (count < 3) return 2;
    auto address = net::Address::parse(arguments[1]);
    if (!address) return 2;
    bool short_limits = count > 3 && std::string_view(arguments[3]) == "short-limits";
    auto served = serve(*address, arguments[2], short_limits);
    if (!served) std::fprintf(stderr, "soak_server: %s\n", served.error().message().c_str());
    return served ? 0 : 1;
}
