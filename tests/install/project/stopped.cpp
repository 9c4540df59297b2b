// A service that gets Ctrl-C while it serves: it answers what it has begun, then ends well. It says
// its port, and when it has begun to answer.
#include <weft/fiber/graceful_stop.h>
#include <weft/fiber/runtime.h>
#include <weft/http/request.h>
#include <weft/http/server/server.h>

#include <cstdio>

using weft::Result;
namespace http = weft::http;

namespace {

void say(const char* word, int number) {
    std::printf("%s %d\n", word, number);
    std::fflush(stdout);
}

Result<void> serve() {
    http::Server server([](http::Request&, weft::async::Context&) -> Result<http::Response> {
        say("asked", 1);
        // Until after the signal, which comes when the word above was read.
        WEFT_TRY(weft::sleep_for(std::chrono::milliseconds(300)));
        return http::Response::text("answered");
    });
    auto address = WEFT_TRY(server.listen(weft::net::Address::loopback(0)));
    weft::DrainHook drain = WEFT_TRY(weft::on_drain([&] { server.drain(); }));
    say("port", address.port());
    return server.serve();
}

}  // namespace

int main() {
    auto outcome = weft::run(serve);
    std::printf("stopped: %s\n", outcome ? "well" : outcome.error().message().c_str());
    return outcome ? 0 : 1;
}
