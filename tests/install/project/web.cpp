// A service and its clients in one program: requests, bodies, a shared store, a drain at the end.
#include <weft/async/group.h>
#include <weft/fiber/runtime.h>
#include <weft/http/client/client.h>
#include <weft/http/request.h>
#include <weft/http/server/server.h>
#include <weft/sync/mutex.h>

#include <cstdio>
#include <map>
#include <mutex>
#include <string>

using weft::Result;
using weft::async::Context;
namespace http = weft::http;

namespace {

constexpr int kClients = 6;
constexpr int kRequests = 20;

struct Store {
    weft::Mutex mutex;
    std::map<std::string, std::string> values;  // under the mutex

    Result<http::Response> answer(http::Request& request) {
        std::string path(request.path());
        if (request.method() == "POST") {
            std::string body = WEFT_TRY(request.body().read_all(1024));
            std::lock_guard guard(mutex);
            values[path] = body;
            return http::Response::text("kept");
        }
        std::lock_guard guard(mutex);
        return http::Response::text(values[path]);
    }
};

Result<void> use(const std::string& base, int client_number, http::Client& client) {
    for (int i = 0; i < kRequests; ++i) {
        std::string url = base + "/" + std::to_string(client_number) + "/" + std::to_string(i);
        http::ClientRequest request{.method = "POST", .body = std::string(500, 'x')};
        request.url = WEFT_TRY(http::Url::parse(url));
        WEFT_TRY(WEFT_TRY(client.send(request)).read_all());
        auto response = WEFT_TRY(client.get(url));
        if (WEFT_TRY(response.read_all()).size() != 500) return weft::ErrorKind::Other;
    }
    return {};
}

Result<void> serve_and_use() {
    Store store;
    http::Server server([&](http::Request& request, Context&) { return store.answer(request); });
    auto address = WEFT_TRY(server.listen(weft::net::Address::loopback(0)));
    std::string base = "http://" + address.to_string();
    weft::async::Group group;
    WEFT_TRY(group.go([&](Context&) { return server.serve(); }));
    http::Client client;
    {
        weft::async::Group clients;
        for (int i = 0; i < kClients; ++i)
            WEFT_TRY(clients.go([&, i](Context&) { return use(base, i, client); }));
        WEFT_TRY(clients.wait());
    }
    server.drain();
    WEFT_TRY(group.wait());
    return store.values.size() == kClients * kRequests ? Result<void>() : weft::ErrorKind::Other;
}

}  // namespace

int main() {
    auto outcome = weft::run(serve_and_use, {.workers = 4});
    std::printf("web: %s\n", outcome ? "done" : outcome.error().message().c_str());
    return outcome ? 0 : 1;
}
