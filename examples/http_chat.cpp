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

static weft::Result<void> serve(std::string_view where) {
    ChatRoom room;
    http::Server server([&](http::Request& request, weft::async::Context&) {
        return http::accept_websocket(request,
                                      [&](http::WebSocket& socket) { room.enter(socket); });
    });
    net::Address address = WEFT_TRY(net::Address::parse(where));
    net::Address bound = WEFT_TRY(server.listen(address));
    weft::DrainHook drain = WEFT_TRY(weft::on_drain([&] {
        server.drain();
        room.close();
    }));
    std::printf("http://%s/   (end with Ctrl-C)\n", bound.to_string().c_str());
    std::fflush(stdout);
    return server.serve();
}

int main(int count, char** arguments) {
    auto ended = weft::run([&] { return serve(count > 1 ? arguments[1] : "127.0.0.1:8080"); });
    if (!ended) std::fprintf(stderr, "http_chat: %s\n", ended.error().message().c_str());
    return ended ? 0 : 1;
}
