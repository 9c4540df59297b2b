// A chat over WebSockets:  http_chat [address]      (127.0.0.1:8080)
//
// From the console of a browser:
//     socket = new WebSocket("ws://127.0.0.1:8080/"); socket.onmessage = (m) => console.log(m.data)
//     socket.send("hello")
#include <cstdio>
#include <string>

#include "examples/chat_room.h"
#include "weft/fiber/graceful_stop.h"
#include "weft/fiber/runtime.h"
#include "weft/http/request.h"
#include "weft/http/server/server.h"

namespace http = weft::http;
namespace net = weft::net;

static weft::Result<void> serve(weft::Runtime& runtime, std::string_view where) {
    ChatRoom room;
    http::Server server([&](http::Request& request, weft::async::Context&) {
        return http::accept_websocket(request,
                                      [&](http::WebSocket& socket) { room.enter(socket); });
    });
    auto stop = WEFT_TRY(weft::GracefulStop::on_signals(runtime));
    stop.on_drain([&] {
        server.drain();
        room.close();
    });
    auto serving = runtime.spawn([&]() -> weft::Result<void> {
        net::Address address = WEFT_TRY(net::Address::parse(where));
        net::Address bound = WEFT_TRY(server.listen(address));
        std::printf("http://%s/   (end with Ctrl-C)\n", bound.to_string().c_str());
        std::fflush(stdout);
        return server.serve();
    });
    return serving.join();
}

int main(int count, char** arguments) {
    weft::Runtime runtime;
    auto ended = serve(runtime, count > 1 ? arguments[1] : "127.0.0.1:8080");
    if (!ended) std::fprintf(stderr, "http_chat: %s\n", ended.error().message().c_str());
    return ended ? 0 : 1;
}
