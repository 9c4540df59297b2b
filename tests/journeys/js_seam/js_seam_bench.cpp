// A server to be measured:  js_seam_bench [address]      (127.0.0.1:8080; ends with SIGTERM)
//
// /native is answered by C++, /js by a script, both on the one pinned worker.
#include <cstdio>
#include <string>

#include "tests/journeys/js_seam/host.h"
#include "weft/fiber/graceful_stop.h"

int main(int count, char** arguments) {
    using namespace weft;
    auto address = net::Address::parse(count > 1 ? arguments[1] : "127.0.0.1:8080");
    journeys::OpenEngine open = journeys::load_engine(WEFT_JS_SEAM);
    if (!address || !open) return 1;
    Runtime runtime({.workers = 1, .pinned_workers = 1});
    auto stop = GracefulStop::on_signals(runtime);
    if (!stop) return 1;
    journeys::Host host(
        runtime, open,
        {.script = "function handle(path) { return 'Hello, World!'; }", .address = *address});
    auto drain = stop->on_drain([&] { host.server().drain(); });
    std::printf("http://%s/\n", host.address().to_string().c_str());
    std::fflush(stdout);
    host.wait();
    return 0;
}
