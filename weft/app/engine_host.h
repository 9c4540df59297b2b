// EngineHost: the applications of a configuration on the workers of a runtime.
//
// Every pinned worker has its own listener for each address, a server, and one isolate of each
// application. A request is answered by the worker that has its connection; its Host field and its
// path choose the application.
//
// The servers answer before the engine is loaded: requests that need no script at once, others when
// their application is loaded, or with 503 at the handler's deadline. While a script occupies a
// worker for long, another worker serves that one's connections: it answers requests that need no
// script, and hands the others over.
//
// Called by fibers of the runtime.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/api/host.h"
#include "weft/app/app_host.h"
#include "weft/app/certificates.h"
#include "weft/app/debug_server.h"
#include "weft/app/native_routes.h"
#include "weft/base/atomic.h"
#include "weft/base/spin_lock.h"
#include "weft/fiber/fiber.h"
#include "weft/http/server/server.h"
#include "weft/net/tls/tls_config.h"
#include "weft/sync/event.h"
#include "weft/sync/mutex.h"

namespace weft::app {

class EngineHost final : public AppHost {
public:
    // Loads the engine; on a fiber, once.
    using OpenEngine = std::function<Result<std::unique_ptr<api::Host>>()>;

    // `code_folder`: see api::ApplicationOptions.
    EngineHost(Runtime& runtime, OpenEngine open_engine, std::string code_folder = {});
    ~EngineHost() override;

    Result<std::vector<net::Address>> start(const ServeConfig& config) override;
    Result<void> serve() override;
    void drain() override;
    void close_debugger() override;
    std::vector<SeenFile> files() const override;
    void on_files(std::function<void()> call) override { on_files_ = std::move(call); }
    Result<void> reload() override;
    Result<int> run(const ScriptConfig& script) override;
    Result<int> debug(const ScriptConfig& script,
                      std::function<void(std::string_view json)> on_message,
                      std::function<Result<int>(DebugTarget& target)> use) override;
    Result<void> check(const ScriptConfig& script) override;
    Result<void> test(const TestFile& file) override;

private:
    struct Loaded {
        std::shared_ptr<api::Application> application;
        // The routes that the script has declared. Shared with requests that they answer.
        std::shared_ptr<const NativeRoutes> routes;
    };
    using Applications = std::vector<Loaded>;
    // Applications that were replaced and end with their last request.
    struct Retiring {
        Applications applications;
        Future<void> ending;
    };
    // The state of one pinned worker.
    struct Place {
        unsigned index = 0;   // among the pinned workers
        unsigned worker = 0;  // in the runtime
        std::unique_ptr<http::Server> server;
        Applications applications;  // in the order of the configuration
        std::vector<Retiring> retiring;
        Event is_loaded;
        // The routes of its applications, for workers that serve in place of this one.
        SpinLock routes_lock;
        std::vector<std::shared_ptr<const NativeRoutes>> script_routes;
        Future<void> serving;
    };

    template <class Function>
    auto on_place(unsigned index, Function function) const;
    // Loads the engine, once; any fiber.
    Result<api::Host*> engine();
    Result<void> open_tls();
    Result<void> open_place(Place& place, std::vector<net::Address>& addresses);
    void begin_serving(Place& place);
    Result<void> load_place(Place& place);
    // Adds the files that were seen to `seen`, also after an error.
    Result<Applications> load_applications(const Place& place, std::vector<SeenFile>& seen);
    Result<Loaded> load_one(const AppConfig& app, unsigned worker, std::vector<SeenFile>& seen);
    void keep_code();
    void retire(Place& place, Applications old);
    // What answers a request, or the status that refuses it.
    struct Choice {
        std::size_t app = 0;  // in the configuration
        // These answer instead of the application. Null: none do, or the script is not loaded yet.
        const std::shared_ptr<const NativeRoutes>* routes = nullptr;
        std::uint16_t refusal = 0;
    };
    // By the configuration only; any fiber.
    Choice choose(http::Request& request) const;
    // Also by the routes that scripts have declared; on the worker of the place.
    Choice choose(const Place& place, http::Request& request) const;
    http::LoopOutcome begin(Place& place, http::Request& request, http::LoopCall& call) const;
    Result<http::Response> handle(Place& place, http::Request& request, async::Context& context);
    Result<http::Response> handle_elsewhere(Place& place, http::Request& request,
                                            async::Context& context);
    bool compresses(const Choice& choice, const http::Request& request) const;
    std::uint16_t refusal_of(const http::Request& request) const;
    static Applications exchange_applications(Place& place, Applications fresh);
    void serve_for(unsigned worker);
    static Result<void> wait_until_idle(Place& place);
    void close_all(Place& place);
    api::ApplicationOptions script_options(const ScriptConfig& script) const;
    Result<void> open_routes();
    Result<void> open_debugger(const std::optional<Debugging>& debugging);
    // Clients of the debugger can connect to this application from now on.
    void offer(const AppConfig& app, unsigned worker, api::Application& application) const;

    Runtime& runtime_;
    OpenEngine open_engine_;
    const std::string code_folder_;
    Mutex loading_;
    std::unique_ptr<api::Host> host_;  // null before engine()
    ServeConfig config_;
    Certificates certificates_;
    std::vector<std::shared_ptr<net::tls::ServerContext>> tls_;  // by listener; null: no TLS
    // By application.
    std::vector<std::shared_ptr<const NativeRoutes>> routes_;
    // Some script has declared routes.
    Atomic<bool> has_routes_{false};
    std::vector<std::unique_ptr<Place>> places_;
    std::function<void()> on_files_;
    std::optional<std::vector<SeenFile>> failed_;  // files of the last reload, if it failed
    bool shares_ports_ = false;
    std::unique_ptr<DebugServer> debug_server_;  // null: no debugger may connect
    bool is_loaded_ = false;                     // start() has succeeded
};

}  // namespace weft::app
