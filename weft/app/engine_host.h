// EngineHost: the applications of a configuration on the workers of a runtime.
//
// Every pinned worker has a listener of its own for each address, a server, and one isolate of each
// application; a request is answered by the worker that has its connection. Which application it is
// for is told by its Host field.
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
#include "weft/app/native_routes.h"
#include "weft/fiber/fiber.h"
#include "weft/http/server/server.h"
#include "weft/net/tls/tls_config.h"

namespace weft::app {

class EngineHost final : public AppHost {
public:
    EngineHost(Runtime& runtime, std::unique_ptr<api::Host> host);
    ~EngineHost() override;

    Result<std::vector<net::Address>> start(const ServeConfig& config) override;
    Result<void> serve() override;
    void drain() override;
    std::vector<SeenFile> files() const override;
    void on_files(std::function<void()> call) override { on_files_ = std::move(call); }
    Result<void> reload() override;
    Result<int> run(const ScriptConfig& script) override;
    Result<int> debug(const ScriptConfig& script,
                      std::function<void(std::string_view json)> on_message,
                      std::function<Result<int>(DebugTarget& target)> use) override;
    Result<void> check(const std::string& entry) override;
    Result<void> test(const TestFile& file) override;

private:
    struct Loaded {
        std::shared_ptr<api::Application> application;
        NativeRoutes routes;  // that the script has declared
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
        Future<void> serving;
    };

    template <class Function>
    auto on_place(unsigned index, Function function) const;
    Result<void> open_place(Place& place, std::vector<net::Address>& addresses);
    // What was seen of the disk is added to `seen`, whatever the outcome.
    Result<Applications> load_applications(const Place& place, std::vector<SeenFile>& seen);
    Result<Loaded> load_one(const AppConfig& app, unsigned worker, std::vector<SeenFile>& seen);
    void retire(Place& place, Applications old);
    // Who answers a request; else the status that refuses it.
    struct Choice {
        api::Application* application = nullptr;
        const NativeRoutes* routes = nullptr;  // instead of the application
        std::uint16_t refusal = 0;
    };
    Result<void> open_routes();
    Choice application_for(Place& place, http::Request& request);
    void close_all(Place& place);
    api::ApplicationOptions script_options(const ScriptConfig& script) const;

    Runtime& runtime_;
    std::unique_ptr<api::Host> host_;
    ServeConfig config_;
    std::vector<std::shared_ptr<net::tls::ServerContext>> tls_;  // one a listener, or null
    std::vector<NativeRoutes> routes_;                           // one an application
    std::vector<std::unique_ptr<Place>> places_;
    std::function<void()> on_files_;
    std::optional<std::vector<SeenFile>> failed_;  // of a reload that failed
    bool shares_ports_ = false;
};

}  // namespace weft::app
