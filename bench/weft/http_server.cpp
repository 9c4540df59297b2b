// The HTTP servers of the benchmarks, by the environment: PORT; WWW, the folder of 10k.bin and
// 1m.bin; UPSTREAM_PORT, where /1k is passed on to; TLS, the folder of cert.pem and key.pem (empty:
// plain); SERVER, `threads` for the one with a thread for each connection, `loop` for the one that
// answers /plaintext without a fiber. WEFT_WORKERS is the number of workers.
//
//   /plaintext  13 bytes      /10k.bin /1m.bin  static files
//   /1k         the proxy     /events           ten events a second
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "bench/common/measure.h"
#include "bench/weft/http_threads.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"
#include "weft/http/files/static_files.h"
#include "weft/http/proxy/reverse_proxy.h"
#include "weft/http/request.h"
#include "weft/http/server/server.h"
#include "weft/net/tls/tls_config.h"

namespace http = weft::http;
namespace net = weft::net;

namespace {

constexpr auto kEventPeriod = std::chrono::milliseconds(100);
constexpr std::size_t kEventPadding = 40;
constexpr std::size_t kConnectionsMax = 20'000;

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

http::Response hello() {
    http::Response response;
    response.headers.set("content-type", "text/plain");
    response.body = http::Body::borrowed("Hello, World!");
    return response;
}

http::LoopOutcome hello_in_loop(http::Request& request, http::LoopCall&) {
    if (request.path() == "/plaintext") return hello();
    return http::ByFiber{};
}

weft::Result<void> write_events(http::BodyWriter& writer) {
    const std::string padding(kEventPadding, 'x');
    std::string event;
    for (int number = 0;; ++number) {
        WEFT_TRY(weft::sleep_for(kEventPeriod));
        event.assign("data: ").append(std::to_string(number)).append(" ").append(padding);
        WEFT_TRY(writer.write(event.append("\n\n")));
        WEFT_TRY(writer.flush());
    }
}

// Without the fields that nginx and haproxy do not add either.
weft::Result<http::Handler> make_proxy() {
    const std::string port = environment("UPSTREAM_PORT");
    if (port.empty()) return http::Handler();
    const auto proxy = WEFT_TRY(http::ReverseProxy::create(
        {.upstreams = {"http://127.0.0.1:" + port}, .x_forwarded = false, .via = ""}));
    return proxy.handler();
}

weft::Result<http::Handler> make_site() {
    http::Handler files = WEFT_TRY(http::static_files(environment("WWW")));
    http::Handler proxy = WEFT_TRY(make_proxy());
    return
        [files = std::move(files), proxy = std::move(proxy)](
            http::Request& request, weft::async::Context& context) -> weft::Result<http::Response> {
            if (request.path() == "/plaintext") return hello();
            if (request.path() == "/1k" && proxy) return proxy(request, context);
            if (request.path() == "/events") {
                return http::Response::stream("text/event-stream", write_events);
            }
            return files(request, context);
        };
}

// The peers count no requests either, and the load has a single address.
http::ServerOptions options_without_limits() {
    http::ServerOptions options;
    options.limits.requests_per_connection = UINT64_MAX;
    options.limits.connections_per_address = kConnectionsMax;
    if (environment("SERVER") == "loop") options.loop_handler = hello_in_loop;
    return options;
}

weft::Result<net::Address> own_address() {
    return net::Address::parse("127.0.0.1:" + environment("PORT"));
}

weft::Result<std::shared_ptr<net::tls::ServerContext>> make_tls(const std::string& folder) {
    auto context = WEFT_TRY(net::tls::ServerContext::create(
        {.identities = {{.certificate = {.file = folder + "/cert.pem"},
                         .key = {.file = folder + "/key.pem"}}},
         .minimum = net::tls::Protocol::Tls13}));
    return std::make_shared<net::tls::ServerContext>(std::move(context));
}

weft::Result<void> serve() {
    http::Server server(WEFT_TRY(make_site()), options_without_limits());
    const net::Address address = WEFT_TRY(own_address());
    const std::string tls = environment("TLS");
    if (tls.empty()) {
        WEFT_TRY(server.listen(address));
    } else {
        WEFT_TRY(server.listen_tls(address, WEFT_TRY(make_tls(tls))));
    }
    return server.serve();
}

weft::Result<void> serve_with_threads() {
    bench::HttpThreads server(WEFT_TRY(make_site()));
    WEFT_TRY(server.listen(WEFT_TRY(own_address())));
    return server.serve();
}

}  // namespace

int main() {
    const auto outcome = environment("SERVER") == "threads"
                             ? serve_with_threads()
                             : weft::run(serve, {.workers = bench::workers_from("WEFT_WORKERS")});
    if (outcome) return 0;
    std::fprintf(stderr, "weft-bench-http: %s\n", outcome.error().message().c_str());
    return 1;
}
