// The time as server-sent events, to any number of clients:  http_events [address]
//
// curl -N http://127.0.0.1:8080/
// curl -N -H 'Last-Event-ID: 0-0' http://127.0.0.1:8080/     first what was before
#include <cstdio>
#include <string>

#include "weft/base/env.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/graceful_stop.h"
#include "weft/fiber/runtime.h"
#include "weft/http/request.h"
#include "weft/http/server/server.h"
#include "weft/http/sse/broadcaster.h"

namespace http = weft::http;
namespace net = weft::net;

static weft::Result<void> serve(std::string_view where) {
    http::Broadcaster ticks;
    http::Server server(
        [&](http::Request& request, weft::async::Context&) { return ticks.subscribe(request); });
    net::Address address = WEFT_TRY(net::Address::parse(where));
    net::Address bound = WEFT_TRY(server.listen(address));
    weft::DrainHook drain = WEFT_TRY(weft::on_drain([&] { server.drain(); }));
    auto ticking = weft::spawn([&]() -> weft::Result<void> {
        for (;;) {
            std::string seconds = std::to_string(weft::env::wall_ns() / 1'000'000'000);
            if (!ticks.publish({.type = "tick", .data = seconds})) return {};  // closed
            WEFT_TRY(weft::sleep_for(std::chrono::seconds(1)));
        }
    });
    std::printf("http://%s/   (end with Ctrl-C)\n", bound.to_string().c_str());
    std::fflush(stdout);
    auto served = server.serve();
    ticks.close();
    static_cast<void>(ticking.join());
    return served;
}

int main(int count, char** arguments) {
    auto ended = weft::run([&] { return serve(count > 1 ? arguments[1] : "127.0.0.1:8080"); });
    if (!ended) std::fprintf(stderr, "http_events: %s\n", ended.error().message().c_str());
    return ended ? 0 : 1;
}
