// The HTTP server of the benchmarks, by the environment: PORT, WWW (the folder of 10k.bin and
// 1m.bin). WEFT_WORKERS is the number of workers.
//
//   /plaintext  13 bytes      /10k.bin /1m.bin  files      /events  ten events a second
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "bench/common/measure.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/file.h"
#include "weft/fiber/runtime.h"
#include "weft/http/request.h"
#include "weft/http/server/server.h"

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

// A file that is open for all requests.
struct OpenFile {
    std::shared_ptr<const weft::File> file;
    std::uint64_t bytes = 0;

    static weft::Result<OpenFile> open(const std::string& path) {
        auto file = std::make_shared<weft::File>(WEFT_TRY(weft::File::open(path)));
        const weft::FileStatus status = WEFT_TRY(file->status());
        return OpenFile{std::move(file), status.size};
    }
    http::Response respond() const {
        http::Response response;
        response.headers.set("content-type", "application/octet-stream");
        response.body = http::Body::file(file, 0, bytes);
        return response;
    }
};

weft::Result<void> write_events(http::BodyWriter& writer) {
    const std::string padding(kEventPadding, 'x');
    for (int number = 0;; ++number) {
        WEFT_TRY(weft::sleep_for(kEventPeriod));
        WEFT_TRY(writer.write("data: " + std::to_string(number) + " " + padding + "\n\n"));
        WEFT_TRY(writer.flush());
    }
}

struct Site {
    OpenFile small;
    OpenFile large;

    http::Response answer(http::Request& request) const {
        const std::string_view path = request.path();
        if (path == "/plaintext") {
            http::Response response;
            response.headers.set("content-type", "text/plain");
            response.body = http::Body::borrowed("Hello, World!");
            return response;
        }
        if (path == "/10k.bin") return small.respond();
        if (path == "/1m.bin") return large.respond();
        if (path == "/events") return http::Response::stream("text/event-stream", write_events);
        return http::Response::plain(404);
    }
};

// The peers count no requests either, and the load has a single address.
http::ServerOptions options_without_limits() {
    http::ServerOptions options;
    options.limits.requests_per_connection = UINT64_MAX;
    options.limits.connections_per_address = kConnectionsMax;
    return options;
}

weft::Result<void> serve() {
    const Site site {
        .small = WEFT_TRY(OpenFile::open(environment("WWW") + "/10k.bin"))
        , .large = WEFT_TRY(OpenFile::open(environment("WWW") + "/1m.bin"))
    };
    http::Server server(
        [&site](http::Request& request, weft::async::Context&) -> weft::Result<http::Response> {
            return site.answer(request);
        },
        options_without_limits());
    WEFT_TRY(server.listen(WEFT_TRY(net::Address::parse("127.0.0.1:" + environment("PORT")))));
    return server.serve();
}

}  // namespace

int main() {
    const auto outcome = weft::run(serve, {.workers = bench::workers_from("WEFT_WORKERS")});
    if (outcome) return 0;
    std::fprintf(stderr, "weft-bench-http: %s\n", outcome.error().message().c_str());
    return 1;
}
