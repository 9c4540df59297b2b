// EngineHost: the applications of a configuration on the workers of a runtime.
//
// Every pinned worker has a listener of its own for each address, a server, and one isolate of each
// application; a request is answered by the worker that has its connection. Which application it is
// for is told by its Host field and its path.
//
// The servers answer before the engine is loaded: what needs no script at once, the rest when its
// application is there, if that is soon enough. While a script keeps a worker for long, another
// takes up what comes for that one: it answers what needs no script, and the rest waits.
//
// Fibers of the runtime.
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

    // `code_folder`: as api::ApplicationOptions has it.
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
        // That the script has declared; with the requests that they answer.
        std::shared_ptr<const NativeRoutes> routes;
    };
    using Applications = std::vector<Loaded>;
    // Applications that were replaced: they end with their last request.
    struct Retiring {
        Applications applications;
        Future<void> ending;
    };
    // What one pinned worker has.
    struct Place {
        unsigned index = 0;   // among the pinned ones
        unsigned worker = 0;  // in the runtime
        std::unique_ptr<http::Server> server;
        Applications applications;  // as in the configuration
        std::vector<Retiring> retiring;
        Event is_loaded;
        // Of its applications; for those who look from another worker.
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
    // What was seen of the disk is added to `seen`, whatever the outcome.
    Result<Applications> load_applications(const Place& place, std::vector<SeenFile>& seen);
    Result<Loaded> load_one(const AppConfig& app, unsigned worker, std::vector<SeenFile>& seen);
    void keep_code();
    void retire(Place& place, Applications old);
    // Who answers a request; else the status that refuses it.
    struct Choice {
        std::size_t app = 0;  // in the configuration
        // Instead of the application. Null also if it is not known yet whether there are any.
        const std::shared_ptr<const NativeRoutes>* routes = nullptr;
        std::uint16_t refusal = 0;
    };
    // By the configuration alone; any fiber.
    Choice choose(http::Request& request) const;
    // Also by what scripts have declared; on the worker of the place.
    Choice choose(const Place& place, http::Request& request) const;
    http::LoopOutcome begin(Place& place, http::Request& request, http::LoopCall& call) const;
    Result<http::Response> handle(Place& place, http::Request& request, async::Context& context);
    Result<http::Response> handle_elsewhere(Place& place, http::Request& request,
                                            async::Context& context);
    bool compresses(const Choice& choice, const http::Request& request) const;
    std::uint16_t refusal_of(const http::Request& request) const;
    static Applications exchange_applications(Place& place, Applications fresh);
    void look_after(unsigned worker);
    static Result<void> await_rest(Place& place);
    void close_all(Place& place);
    api::ApplicationOptions script_options(const ScriptConfig& script) const;
    Result<void> open_routes();
    Result<void> open_debugger(const std::optional<Debugging>& debugging);
    // Clients of the debugger come to this one from now on.
    void offer(const AppConfig& app, unsigned worker, api::Application& application) const;

    Runtime& runtime_;
    OpenEngine open_engine_;
    const std::string code_folder_;
    Mutex loading_;
    std::unique_ptr<api::Host> host_;  // null before engine()
    ServeConfig config_;
    Certificates certificates_;
    std::vector<std::shared_ptr<net::tls::ServerContext>> tls_;  // one a listener, or null
    // One an application.
    std::vector<std::shared_ptr<const NativeRoutes>> routes_;
    // Somebody has declared something that is answered without a script.
    Atomic<bool> has_routes_{false};
    std::vector<std::unique_ptr<Place>> places_;
    std::function<void()> on_files_;
    std::optional<std::vector<SeenFile>> failed_;  // of a reload that failed
    bool shares_ports_ = false;
    std::unique_ptr<DebugServer> debug_server_;  // null: no debugger may come
    bool is_loaded_ = false;                     // start() has succeeded
};

}  // namespace weft::app
