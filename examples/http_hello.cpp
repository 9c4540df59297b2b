// The smallest web server:  http_hello [address]      (127.0.0.1:8080)
//
// curl http://127.0.0.1:8080/            hello
// curl -d 'some text' http://127.0.0.1:8080/echo
#include <cstdio>
#include <string>

#include "weft/fiber/graceful_stop.h"
#include "weft/fiber/runtime.h"
#include "weft/http/request.h"
#include "weft/http/server/server.h"

namespace http = weft::http;
namespace net = weft::net;

static weft::Result<http::Response> answer(http::Request& request, weft::async::Context&) {
    if (request.path() == "/") return http::Response::text("hello, world\n");
    if (request.path() != "/echo") return http::Response::plain(404);
    std::string body = WEFT_TRY(request.body().read_all());
    return http::Response::text(std::move(body));
}

int main(int count, char** arguments) {
    std::string where = count > 1 ? arguments[1] : "127.0.0.1:8080";
    auto address = net::Address::parse(where);
    if (!address) {
        std::fprintf(stderr, "http_hello: '%s' is no address such as 127.0.0.1:8080\n",
                     where.c_str());
        return 2;
    }
    auto ended = weft::run([&]() -> weft::Result<void> {
        http::Server server(answer);
        net::Address bound = WEFT_TRY(server.listen(*address));
        weft::DrainHook drain = WEFT_TRY(weft::on_drain([&] { server.drain(); }));
        std::printf("http://%s/   (end with Ctrl-C)\n", bound.to_string().c_str());
        std::fflush(stdout);
        return server.serve();
    });
    if (!ended) std::fprintf(stderr, "http_hello: %s\n", ended.error().message().c_str());
    return ended ? 0 : 1;
}
