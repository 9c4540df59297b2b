// The demonstration of `make run`:  http_demo [address]      (127.0.0.1:8080)
//
// A page with live events, a chat and requests, from page/. The app that serves it has a port of
// its own; in front of it, on the address, stands a reverse proxy. Both are in this program.
#include <cstdio>
#include <string>

#include "examples/chat_room.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/graceful_stop.h"
#include "weft/fiber/runtime.h"
#include "weft/http/files/static_files.h"
#include "weft/http/proxy/reverse_proxy.h"
#include "weft/http/request.h"
#include "weft/http/routing/router.h"
#include "weft/http/server/server.h"
#include "weft/http/sse/broadcaster.h"

using namespace weft;
using namespace std::chrono_literals;

namespace {
struct Demo {
    http::Broadcaster ticks{{.retry = 500ms}};
    ChatRoom room;
};

void tick(Demo& demo) {
    for (unsigned count = 1;; ++count) {
        std::string data = "{\"count\":" + std::to_string(count) +
                           ",\"time\":" + std::to_string(env::wall_ns() / 1'000'000) +
                           ",\"watching\":" + std::to_string(demo.ticks.counters().subscribers) +
                           "}";
        if (!demo.ticks.publish({.type = "tick", .data = data})) return;  // closed
        if (!sleep_for(100ms)) return;
    }
}

// What of a request has arrived here.
http::Response show(const http::Request& request) {
    std::string text = std::string(request.method()) + " " + std::string(request.target()) + "\n";
    for (const auto& field : request.headers())
        text += std::string(field.name) + ": " + std::string(field.value) + "\n";
    return http::Response::text(text).with("cache-control", "no-store");
}

Result<http::Handler> routes(Demo& demo) {
    http::Router router;
    router.get("/events", [&](auto& request, auto&) { return demo.ticks.subscribe(request); });
    router.get("/chat", [&](auto& request, auto&) {
        return http::accept_websocket(request, [&](auto& socket) { demo.room.enter(socket); });
    });
    router.get("/api/request", [](auto& request, auto&) { return show(request); });
    auto page = WEFT_TRY(http::static_files(WEFT_DEMO_PAGE));
    router.mount("/", page);
    return std::move(router).build();
}

Result<void> serve(const std::string& where, Demo& demo) {
    auto handler = WEFT_TRY(routes(demo));
    http::Server app(handler);
    net::Address inner = WEFT_TRY(app.listen(net::Address::loopback(0)));
    std::string upstream = "http://" + inner.to_string();
    auto proxy = WEFT_TRY(http::ReverseProxy::create({.upstreams = {upstream}}));
    http::Server front(proxy.handler());
    net::Address address = WEFT_TRY(net::Address::parse(where));
    net::Address outer = WEFT_TRY(front.listen(address));
    std::printf("open http://%s/   (through the proxy; the app itself listens on %s)\n",
                outer.to_string().c_str(), inner.to_string().c_str());
    std::fflush(stdout);
    DrainHook drain = WEFT_TRY(on_drain([&] {
        front.drain();
        demo.ticks.close();
        demo.room.close();
    }));
    return async::run_scope(async::ScopeKind::App, [&](async::Scope& scope) -> Result<void> {
        WEFT_TRY(scope.spawn("app", [&] { return app.serve(); }));
        WEFT_TRY(scope.spawn("tick", [&] { tick(demo); }));
        WEFT_TRY(front.serve());
        app.drain();  // now that the proxy has passed on everything
        scope.join();
        return {};
    });
}

}  // namespace

int main(int count, char** arguments) {
    std::string where = count > 1 ? arguments[1] : "127.0.0.1:8080";
    Demo demo;
    auto ended = run([&] { return serve(where, demo); });
    if (ended) return 0;
    bool taken = ended.error().kind() == ErrorKind::AddressInUse;
    std::fprintf(stderr, "http_demo: %s: %s%s\n", where.c_str(), ended.error().message().c_str(),
                 taken ? "; choose another: make run ADDRESS=127.0.0.1:8081" : "");
    return 1;
}
