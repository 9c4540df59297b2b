// Answers with what it saw:  "METHOD TARGET [BODY]".
#include <cstdio>
#include <string>

#include "weft/fiber/graceful_stop.h"
#include "weft/fiber/runtime.h"
#include "weft/http/request.h"
#include "weft/http/server/server.h"

namespace http = weft::http;

static weft::Result<http::Response> echo(http::Request& request, weft::async::Context&) {
    std::string body = WEFT_TRY(request.body().read_all());
    std::string text(request.method());
    text.append(" ").append(request.target()).append(" [").append(body).append("]");
    return http::Response::text(std::move(text));
}

int main(int count, char** arguments) {
    auto address = weft::net::Address::parse(count > 1 ? arguments[1] : "127.0.0.1:0");
    if (!address) return 2;
    weft::Runtime runtime;
    http::Server server(echo);
    auto stop = weft::GracefulStop::on_signals(runtime);
    if (!stop) return 1;
    auto drain = stop->on_drain([&] { server.drain(); });
    auto serving = runtime.spawn([&]() -> weft::Result<void> {
        auto bound = WEFT_TRY(server.listen(*address));
        std::printf("http://%s/\n", bound.to_string().c_str());
        std::fflush(stdout);
        return server.serve();
    });
    return serving.join() ? 0 : 1;
}
