// A server with JavaScript: one pinned worker has the listener, the connections and the engine, and
// another worker is there for everybody else.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/journeys/js_seam/engine.h"
#include "weft/fiber/runtime.h"
#include "weft/http/request.h"
#include "weft/http/response.h"
#include "weft/http/server/server.h"
#include "weft/net/address.h"

namespace weft::journeys {

// Loads the shared object, on a plain thread of its own: never on a fiber, whose stack is too small
// for what the dynamic linker runs. Null, and a line on stderr, when that fails.
OpenEngine load_engine(const char* path);

// A plain thread's.
class Host {
public:
    struct Options {
        std::string_view script;
        std::vector<Operation> operations = {};
        // Instead of the usual: "/native" is answered here, all else by the script.
        std::function<Result<http::Response>(Engine&, http::Request&, async::Context&)> handler =
            {};
        net::Address address = net::Address::loopback(0);
        Nanoseconds dispatch_time = std::chrono::milliseconds(50);
    };
    // Serves when it returns. The runtime has one pinned worker.
    Host(Runtime& runtime, OpenEngine open_engine, Options options);
    // Drains, and waits for that.
    ~Host();
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;

    const net::Address& address() const { return address_; }
    http::Server& server() { return *server_; }
    Engine& engine() { return *engine_; }  // for fibers of the pinned worker
    EngineCounters counters();
    void wait();  // until somebody drains the server

    // Runs a function on a fiber of the pinned worker.
    template <class Function>
    auto on_owner(Function function) {
        return runtime_.spawn_pinned(0, std::move(function)).join();
    }

private:
    Result<http::Response> handle(http::Request& request, async::Context& context);
    Result<void> open(OpenEngine open_engine);

    Runtime& runtime_;
    Options options_;
    std::unique_ptr<Engine> engine_;
    std::unique_ptr<http::Server> server_;
    net::Address address_;
    Future<void> serving_;
};

}  // namespace weft::journeys
