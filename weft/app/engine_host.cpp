#include "weft/app/engine_host.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <utility>

#include "weft/app/command_line.h"
#include "weft/app/evaluation.h"
#include "weft/app/handover.h"
#include "weft/app/terminal.h"
#include "weft/async/group.h"
#include "weft/base/assert.h"
#include "weft/base/format.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/completion.h"
#include "weft/fiber/runtime.h"
#include "weft/fiber/schedule/placement.h"
#include "weft/http/headers.h"
#include "weft/http/middleware/compress.h"
#include "weft/http/request.h"
#include "weft/net/egress.h"
#include "weft/net/socket.h"

namespace weft::app {
namespace {

api::ApplicationOptions options_of(const AppConfig& app, unsigned worker) {
    api::ApplicationOptions options;
    options.name = app.name;
    options.entry = app.entry;
    options.import_map = app.import_map;
    options.env = app.env;
    options.limits.handler_deadline = app.limits.handler_deadline;
    options.limits.cpu = app.limits.cpu;
    options.limits.microtasks = app.limits.microtasks;
    options.limits.wait_until = app.limits.wait_until;
    options.limits.heap_bytes = app.limits.heap_mib * 1024 * 1024;
    options.limits.body_bytes = app.limits.body_bytes;
    options.allow_fetch = app.allow_fetch;
    options.allow_read = app.allow_read;
    for (const DataConfig& data : app.data) {
        api::DataAccess access = data.access == "read"    ? api::DataAccess::Read
                                 : data.access == "write" ? api::DataAccess::Write
                                                          : api::DataAccess::ReadWrite;
        options.data.push_back({.token = data.token,
                                .name = data.name,
                                .provider = data.provider,
                                .place = data.place,
                                .access = access,
                                .connections_max = data.connections_max});
    }
    options.opens_any_data = app.opens_any_data;
    options.worker = worker;
    return options;
}

api::ApplicationOptions::Debug debug_of(const std::optional<Debugging>& debugging, bool waits) {
    using Debug = api::ApplicationOptions::Debug;
    if (!debugging) return Debug::No;
    return debugging->breaks && waits ? Debug::WaitsForClient : Debug::Allowed;
}

// The limit on replaced applications that still have requests; beyond it the oldest is closed.
constexpr std::size_t kRetiringMax = 16;

// A proxy that a script declares may connect to the addresses that fetch() may connect to.
http::ProxyOptions::CheckAddress check_of(const AppConfig& app) {
    net::EgressPolicy policy;
    // The rules were checked when the configuration was read.
    for (const std::string& rule : app.allow_fetch) static_cast<void>(policy.allow(rule));
    return [policy = std::move(policy)](std::string_view host, const net::Address& address) {
        return policy.check(host, address);
    };
}

// Marks an error as the script's fault, whose message is shown to the user as it is.
Error of_script(const Error& error) { return Error(ErrorKind::Exception, error.message()); }

}  // namespace

EngineHost::EngineHost(Runtime& runtime, OpenEngine open_engine, std::string code_folder)
    : runtime_(runtime),
      open_engine_(std::move(open_engine)),
      code_folder_(std::move(code_folder)) {}

Result<api::Host*> EngineHost::engine() {
    // Loading waits for another thread, and several test files may begin at the same time.
    std::lock_guard lock(loading_);
    if (!host_) host_ = WEFT_TRY(open_engine_());
    return host_.get();
}

// Runs the function on a fiber of a pinned worker, and waits for it.
template <class Function>
auto EngineHost::on_place(unsigned index, Function function) const {
    return runtime_.spawn_pinned(index, std::move(function), {.name = "application"}).join();
}

EngineHost::~EngineHost() {
    // Shielded from cancellation: nothing may outlive its place.
    shield(Deadline::never(), [&] {
        close_debugger();
        for (auto& place : places_) {
            if (place->server) place->server->close();
            if (place->serving) static_cast<void>(place->serving.join());
            static_cast<void>(on_place(place->index, [&] { close_all(*place); }));
        }
    });
}

Result<std::vector<net::Address>> EngineHost::start(const ServeConfig& config) {
    config_ = config;
    WEFT_TRY(open_debugger(config_.debugging));
    WEFT_TRY(open_tls());
    WEFT_TRY(open_routes());
    unsigned pinned = 0;
    for (const AppConfig& app : config_.apps) pinned = std::max(pinned, app.isolates);
    std::vector<net::Address> addresses;
    for (const ListenerConfig& listener : config_.listeners) {
        addresses.push_back(listener.address);
        // With SO_REUSEPORT the workers would also share the port with another process, so this
        // checks that the port is free.
        bool would_share = pinned > 1 && config_.inherited.empty() && listener.address.port() != 0;
        if (would_share) static_cast<void>(WEFT_TRY(net::Listener::open(listener.address)));
    }
    shares_ports_ = pinned > 1;
    for (unsigned index = 0; index < pinned; ++index) {
        auto place = std::make_unique<Place>();
        place->index = index;
        place->worker = runtime_.worker_count() - pinned + index;
        Place& opened = *place;
        places_.push_back(std::move(place));
        WEFT_TRY(on_place(index, [&] { return open_place(opened, addresses); }));
    }
    for (auto& place : places_) begin_serving(*place);
    WEFT_TRY(engine());
    for (auto& place : places_)
        WEFT_TRY(on_place(place->index, [&] { return load_place(*place); }));
    keep_code();
    is_loaded_ = true;
    return addresses;
}

// Called when all applications serve. All isolates of an application have the same modules, so only
// those of the first place keep code.
void EngineHost::keep_code() {
    if (places_.empty()) return;
    static_cast<void>(on_place(0, [&] {
        // A copy: a reload may replace the applications meanwhile.
        for (const Loaded& loaded : Applications(places_[0]->applications))
            loaded.application->begin_keeping_code();
    }));
}

Result<void> EngineHost::open_debugger(const std::optional<Debugging>& debugging) {
    if (!debugging) return {};
    auto tell = [](std::string_view url) { complain(format("debugger listening on {}", url)); };
    debug_server_ = WEFT_TRY(DebugServer::open(debugging->address, tell));
    return {};
}

void EngineHost::offer(const AppConfig& app, unsigned worker, api::Application& application) const {
    if (!debug_server_) return;
    std::string title = app.isolates > 1 ? format("{} on worker {}", app.name, worker) : app.name;
    // Several applications may have the same name, so the place is named by the index.
    std::string place = format("{} of {}", &app - config_.apps.data(), worker);
    debug_server_->offer(place, {title, app.entry, application.debug_door()});
}

Result<void> EngineHost::open_tls() {
    for (const ListenerConfig& listener : config_.listeners) {
        tls_.emplace_back();
        if (listener.tls) tls_.back() = WEFT_TRY(certificates_.open(*listener.tls));
    }
    return {};
}

Result<void> EngineHost::open_place(Place& place, std::vector<net::Address>& addresses) {
    http::ServerOptions options;
    std::uint64_t body_bytes = 0;
    for (const AppConfig& app : config_.apps)
        body_bytes = std::max(body_bytes, app.limits.body_bytes);
    options.limits.body_bytes = body_bytes;
    // The handler's deadline covers the time up to the head of the response; a body may take long.
    options.limits.request_time = std::chrono::hours(24);
    options.loop_handler = [this, &place](http::Request& request, http::LoopCall& call) {
        return begin(place, request, call);
    };
    http::Handler plain = [this, &place](http::Request& request, async::Context& context) {
        return handle(place, request, context);
    };
    place.server = std::make_unique<http::Server>(
        [this, plain, compressed = http::compress()(plain)](
            http::Request& request, async::Context& context) -> Result<http::Response> {
            return compresses(choose(request), request) ? compressed(request, context)
                                                        : plain(request, context);
        },
        std::move(options));
    for (std::size_t at = 0; at < addresses.size(); ++at) {
        // A Unix socket has one listener.
        if (place.index > 0 && addresses[at].kind() == net::Address::Kind::Unix) continue;
        net::ListenOptions listen;
        // The workers share the port. If the system chooses it, it does so for the first worker.
        listen.reuse_port = shares_ports_ ? net::ReusePort::Yes : net::ReusePort::No;
        if (!config_.inherited.empty()) listen.inherited = config_.inherited.at(at).at(place.index);
        addresses[at] =
            tls_[at] ? WEFT_TRY(place.server->listen_tls(addresses[at], tls_[at], listen))
                     : WEFT_TRY(place.server->listen(addresses[at], listen));
    }
    return {};
}

// A fiber of the place.
Result<void> EngineHost::load_place(Place& place) {
    std::vector<SeenFile> seen;
    Applications loaded = WEFT_TRY(load_applications(place, seen));
    static_cast<void>(exchange_applications(place, std::move(loaded)));
    place.is_loaded.set();
    return {};
}

// A fiber of the place. Returns the old ones.
EngineHost::Applications EngineHost::exchange_applications(Place& place, Applications fresh) {
    std::vector<std::shared_ptr<const NativeRoutes>> routes;
    for (const Loaded& loaded : fresh) routes.push_back(loaded.routes);
    {
        SpinGuard guard(place.routes_lock);
        place.script_routes.swap(routes);
    }
    return std::exchange(place.applications, std::move(fresh));
}

Result<EngineHost::Applications> EngineHost::load_applications(const Place& place,
                                                               std::vector<SeenFile>& seen) {
    Applications applications;
    for (const AppConfig& app : config_.apps) {
        Result<Loaded> loaded = load_one(app, place.worker, seen);
        if (!loaded) {
            for (Loaded& other : applications) other.application->close();
            return loaded.error();
        }
        applications.push_back(std::move(*loaded));
    }
    return applications;
}

Result<EngineHost::Loaded> EngineHost::load_one(const AppConfig& app, unsigned worker,
                                                std::vector<SeenFile>& seen) {
    api::ApplicationOptions options = options_of(app, worker);
    options.code_folder = code_folder_;
    options.on_files = on_files_;
    options.on_long_turn = [this, worker] { serve_for(worker); };
    options.is_supervised = !config_.inherited.empty();
    options.debug = debug_of(config_.debugging, !is_loaded_);
    std::shared_ptr<api::Application> application = WEFT_TRY(host_->open(std::move(options)));
    // A reloaded application is offered to debuggers only when it has replaced the old one.
    if (!is_loaded_) offer(app, worker, *application);
    Result<void> loaded = application->load();  // tidy: allow order: of a script, not of an atomic
    if (loaded && !application->has_handler())
        loaded = Error(
            ErrorKind::Exception,
            app.entry + " exports no handler: export default { fetch(request, env, ctx) {} }");
    std::ranges::move(application->files(), std::back_inserter(seen));
    Result<NativeRoutes> routes = ErrorKind::Exception;
    if (loaded) {
        const api::Routes& declared = application->routes();
        routes = NativeRoutes::create(declared, check_of(app));
        // Release: pairs with the acquire in serve_for().
        if (!declared.folders.empty() || !declared.proxies.empty())
            has_routes_.store(true, std::memory_order_release);
        if (!routes) loaded = Error(ErrorKind::Exception, routes.error().message());
    }
    if (loaded)
        return Loaded{std::move(application),
                      std::make_shared<const NativeRoutes>(std::move(*routes))};
    application->close();
    return of_script(loaded.error());
}

Result<void> EngineHost::open_routes() {
    for (const AppConfig& app : config_.apps) {
        if (!app.routes.folders.empty() || !app.routes.proxies.empty())
            has_routes_.store(true, std::memory_order_release);
        NativeRoutes routes = WEFT_TRY(NativeRoutes::create(app.routes, {}));
        routes_.push_back(std::make_shared<const NativeRoutes>(std::move(routes)));
    }
    return {};
}

// ---------------------------------------------------------------- requests

// RFC 9110 §15.5.20: a request for a host that the connection's certificate does not cover gets 421
// (Misdirected Request), after which the client opens another connection.
std::uint16_t EngineHost::refusal_of(const http::Request& request) const {
    constexpr std::uint16_t kMisdirected = 421;
    const net::TlsSession* tls = request.tls();
    if (!tls || tls->server_name.empty()) return 0;
    std::string_view host = without_port(request.host());
    bool is_same = http::equal_without_case(host, tls->server_name);
    return is_same || certificates_.are_for(tls->server_name, host) ? 0 : kMisdirected;
}

EngineHost::Choice EngineHost::choose(http::Request& request) const {
    constexpr std::uint16_t kNotFound = 404;
    constexpr std::uint16_t kMisdirected = 421;
    constexpr std::uint16_t kContentTooLarge = 413;
    if (std::uint16_t refusal = refusal_of(request)) return {.refusal = refusal};
    const AppConfig* app = app_for(config_, request.host(), request.path());
    if (!app) return {.refusal = has_host(config_, request.host()) ? kNotFound : kMisdirected};
    // A body whose Content-Length is too large is refused before it reaches the script.
    std::optional<std::uint64_t> size = request.body().size();
    if (size.value_or(0) > app->limits.body_bytes) return {.refusal = kContentTooLarge};
    if (!size) request.body().set_bytes_max(app->limits.body_bytes);
    Choice choice{.app = static_cast<std::size_t>(app - config_.apps.data())};
    if (routes_[choice.app]->cover(request.path())) choice.routes = &routes_[choice.app];
    return choice;
}

EngineHost::Choice EngineHost::choose(const Place& place, http::Request& request) const {
    Choice choice = choose(request);
    if (choice.refusal != 0 || choice.routes || place.applications.empty()) return choice;
    const std::shared_ptr<const NativeRoutes>& declared = place.applications[choice.app].routes;
    if (declared->cover(request.path())) choice.routes = &declared;
    return choice;
}

bool EngineHost::compresses(const Choice& choice, const http::Request& request) const {
    return choice.refusal == 0 && config_.apps[choice.app].compresses &&
           request.header("accept-encoding").has_value();
}

// In the loop of the place.
http::LoopOutcome EngineHost::begin(Place& place, http::Request& request,
                                    http::LoopCall& call) const {
    Choice choice = choose(place, request);
    if (choice.refusal != 0) return http::Response::plain(choice.refusal);
    if (choice.routes || place.applications.empty() || compresses(choice, request))
        return http::ByFiber{};
    return place.applications[choice.app].application->begin(request, call);
}

Result<http::Response> EngineHost::handle(Place& place, http::Request& request,
                                          async::Context& context) {
    if (worker_here() != place.worker) return handle_elsewhere(place, request, context);
    Choice choice = choose(place, request);
    if (choice.refusal == 0 && !choice.routes && place.applications.empty()) {
        // Requests that came before the application was loaded wait up to the handler's deadline.
        Result<void> waited =
            place.is_loaded.wait_for(config_.apps[choice.app].limits.handler_deadline);
        if (!waited && waited.error().kind() == ErrorKind::TimedOut)
            return http::Response::plain(503).with("Retry-After", "1");
        WEFT_TRY(waited);
        choice = choose(place, request);
    }
    if (choice.refusal != 0) return http::Response::plain(choice.refusal);
    if (choice.routes) {
        // A shared copy: a reload may replace the applications meanwhile.
        std::shared_ptr<const NativeRoutes> routes = *choice.routes;
        return routes->answer(request, context);
    }
    if (place.applications.empty()) return Error(ErrorKind::Closed, "the applications have ended");
    return place.applications[choice.app].application->handle(request, context);
}

// On a worker that serves in place of the blocked worker of `place`.
Result<http::Response> EngineHost::handle_elsewhere(Place& place, http::Request& request,
                                                    async::Context& context) {
    Choice choice = choose(request);
    if (choice.refusal != 0) return http::Response::plain(choice.refusal);
    std::shared_ptr<const NativeRoutes> routes;
    if (choice.routes) {
        routes = *choice.routes;
    } else {
        SpinGuard guard(place.routes_lock);
        if (!place.script_routes.empty()) routes = place.script_routes[choice.app];
    }
    if (routes && routes->cover(request.path())) return routes->answer(request, context);
    return handle_at(runtime_, place.index, [&] { return handle(place, request, context); });
}

// Any thread. Lets another worker serve the connections of this one, which runs a long turn.
void EngineHost::serve_for(unsigned worker) {
    // Acquire: pairs with the release in load_one(), so the declared routes are visible.
    if (!has_routes_.load(std::memory_order_acquire)) return;
    struct Look : Completion {
        unsigned worker = 0;
    };
    auto look = std::make_unique<Look>();
    look->worker = worker;
    look->run = [](Completion& record) {
        std::unique_ptr<Look> self(static_cast<Look*>(&record));
        static_cast<void>(weft::look_after(self->worker));
    };
    // Worker 0 is not pinned. The record owns itself from here on.
    if (runtime_.post(0, *look)) static_cast<void>(look.release());
}

// ---------------------------------------------------------------- serving and stopping

void EngineHost::begin_serving(Place& place) {
    auto serve_place = [this, &place] {
        Result<void> served = place.server->serve();
        Result<void> idle = wait_until_idle(place);
        // On this fiber: when the drain limit has passed, the runtime starts no other.
        shield(Deadline::never(), [&] { close_all(place); });
        return served ? idle : served;
    };
    place.serving = runtime_.spawn_pinned(place.index, std::move(serve_place), {.name = "serve"});
}

Result<void> EngineHost::serve() {
    async::Group watcher;  // ends with this block
    if (!certificates_.is_empty()) WEFT_TRY(watcher.go([this] { return certificates_.watch(); }));
    Result<void> outcome;
    for (auto& place : places_) {
        Result<void> served = place->serving.join();
        if (!served && outcome) outcome = served;
    }
    return outcome;
}

void EngineHost::close_debugger() {
    if (debug_server_) debug_server_->close();
}

void EngineHost::drain() {
    // An isolate that is paused at a breakpoint would block its worker.
    close_debugger();
    for (auto& place : places_) {
        place->server->drain();
        static_cast<void>(on_place(place->index, [&] {
            for (Loaded& loaded : place->applications) loaded.application->drain();
            for (Retiring& retiring : place->retiring)
                for (Loaded& loaded : retiring.applications) loaded.application->drain();
        }));
    }
}

std::vector<SeenFile> EngineHost::files() const {
    if (failed_) return *failed_;
    std::vector<SeenFile> files;
    for (const auto& place : places_) {
        static_cast<void>(on_place(place->index, [&] {
            for (Loaded& loaded : place->applications)
                std::ranges::move(loaded.application->files(), std::back_inserter(files));
        }));
    }
    return files;
}

// Either all places get the new applications, or none does.
Result<void> EngineHost::reload() {
    std::vector<Applications> fresh;
    std::vector<SeenFile> seen;
    Result<void> loaded;
    for (auto& place : places_) {
        Result<Applications> applications =
            on_place(place->index, [&] { return load_applications(*place, seen); });
        if (!applications) {
            loaded = applications.error();
            break;
        }
        fresh.push_back(std::move(*applications));
    }
    failed_.reset();
    if (!loaded) failed_ = std::move(seen);
    for (std::size_t at = 0; at < fresh.size(); ++at) {
        Place& place = *places_[at];
        static_cast<void>(on_place(place.index, [&] {
            if (!loaded) {
                for (Loaded& unused : fresh[at]) unused.application->close();
                return;
            }
            for (std::size_t app = 0; app < fresh[at].size(); ++app)
                offer(config_.apps[app], place.worker, *fresh[at][app].application);
            retire(place, exchange_applications(place, std::move(fresh[at])));
        }));
    }
    if (loaded) keep_code();
    return loaded;
}

// A fiber of the place. reload() does not wait for the last requests of the old applications.
void EngineHost::retire(Place& place, Applications old) {
    std::erase_if(place.retiring, [](const Retiring& ended) { return ended.ending.is_done(); });
    if (place.retiring.size() >= kRetiringMax) {
        // Endless responses would otherwise keep every replaced application alive.
        Retiring oldest = std::move(place.retiring.front());
        place.retiring.erase(place.retiring.begin());
        for (Loaded& loaded : oldest.applications) loaded.application->close();
        static_cast<void>(oldest.ending.join());
    }
    auto end = [old] {
        for (const Loaded& loaded : old) static_cast<void>(loaded.application->close_when_idle());
    };
    Future<void> ending = runtime_.spawn_pinned(place.index, std::move(end), {.name = "retire"});
    place.retiring.push_back({std::move(old), std::move(ending)});
}

// A fiber of the place, after all responses have been sent. Waits for the work of waitUntil(),
// until the drain limit has passed and this fiber is cancelled: then it returns that error.
Result<void> EngineHost::wait_until_idle(Place& place) {
    Result<void> ended;
    // A copy: a reload may replace the applications meanwhile.
    for (const Loaded& loaded : Applications(place.applications)) {
        Result<void> idle = loaded.application->close_when_idle();
        if (!idle) ended = idle;
    }
    while (!place.retiring.empty()) {
        WEFT_TRY(place.retiring.front().ending.join());
        place.retiring.erase(place.retiring.begin());
    }
    return ended;
}

// A fiber of the place.
void EngineHost::close_all(Place& place) {
    for (Loaded& loaded : place.applications) loaded.application->close();
    place.applications.clear();
    for (Retiring& retiring : std::exchange(place.retiring, {})) {
        for (Loaded& loaded : retiring.applications) loaded.application->close();
        static_cast<void>(retiring.ending.join());
    }
}

// ---------------------------------------------------------------- scripts

api::ApplicationOptions EngineHost::script_options(const ScriptConfig& script) const {
    api::ApplicationOptions options;
    options.name = "script";
    options.worker = runtime_.worker_count() - 1;
    options.env = script.env;
    options.arguments = script.arguments;
    options.code_folder = code_folder_;
    options.allow_fetch = script.allow_fetch;
    options.allow_read = script.allow_read;
    options.import_map = script.import_map;
    options.is_script = true;
    options.location = script.location;
    // No limit on time: whoever runs a script by hand can also end it by hand.
    options.limits.cpu = std::chrono::hours(24 * 365);
    return options;
}

Result<int> EngineHost::run(const ScriptConfig& script) {
    api::ApplicationOptions options = script_options(script);
    if (script.kind == ScriptConfig::Kind::Text) {
        options.entry = (std::filesystem::path(script.folder) / "[eval]").string();
        options.text = script.prints_value ? evaluation_of(script.source) : script.source;
    } else {
        options.entry = script.source;
    }
    WEFT_TRY(open_debugger(script.debugging));
    options.debug = debug_of(script.debugging, true);
    WEFT_TRY(engine());
    return on_place(0, [&]() -> Result<int> {
        std::unique_ptr<api::Application> application = WEFT_TRY(host_->open(std::move(options)));
        if (debug_server_)
            debug_server_->offer("script", {std::filesystem::path(script.source).filename(),
                                            script.source, application->debug_door()});
        Result<void> outcome = application->load();  // tidy: allow order: of a script
        if (outcome) outcome = application->run_to_end();
        if (outcome) application->keep_code();
        // Uncaught errors have been reported already.
        auto was_clean = [&] { return outcome && application->counters().uncaught == 0; };
        int status = application->end_with(static_cast<int>(was_clean() ? Exit::Ok : Exit::Script));
        if (!was_clean()) status = static_cast<int>(Exit::Script);
        application->close();
        if (!outcome) return of_script(outcome.error());
        return status;
    });
}

Result<int> EngineHost::debug(const ScriptConfig& script,
                              std::function<void(std::string_view json)> on_message,
                              std::function<Result<int>(DebugTarget& target)> use) {
    struct Target final : DebugTarget {
        void send(std::string json) override { session->send(std::move(json)); }
        void interrupt() override { session->interrupt(); }
        std::unique_ptr<api::DebugSession> session;
    };
    api::ApplicationOptions options = script_options(script);
    options.entry = (std::filesystem::path(script.folder) / "[repl]").string();
    std::unique_ptr<api::Application> application;
    Target target;
    WEFT_TRY(engine());
    WEFT_TRY(on_place(0, [&]() -> Result<void> {
        application = WEFT_TRY(host_->open(std::move(options)));
        if (Result<void> read = application->use_import_map(); !read) {
            application->close();
            return of_script(read.error());
        }
        target.session = application->debug(std::move(on_message));
        return {};
    }));
    Result<int> outcome = use(target);
    // A turn that still computes must not delay the end of the session.
    target.session->interrupt();
    shield(Deadline::never(), [&] {
        static_cast<void>(on_place(0, [&] {
            target.session.reset();
            application->close();
            application.reset();
        }));
    });
    return outcome;
}

Result<void> EngineHost::check(const ScriptConfig& script) {
    api::ApplicationOptions options;
    options.name = "check";
    options.worker = runtime_.worker_count() - 1;
    options.entry = script.source;
    options.import_map = script.import_map;
    WEFT_TRY(engine());
    return on_place(0, [&]() -> Result<void> {
        std::unique_ptr<api::Application> application = WEFT_TRY(host_->open(std::move(options)));
        Result<void> outcome = application->compile();
        application->close();
        if (!outcome) return of_script(outcome.error());
        return {};
    });
}

Result<void> EngineHost::test(const TestFile& file) {
    api::ApplicationOptions options;
    options.name = std::filesystem::path(file.path).filename().string();
    options.worker = runtime_.worker_count() - file.places + file.place;
    options.entry = file.path;
    options.env = file.env;
    options.allow_fetch = file.allow_fetch;
    options.allow_read = file.allow_read;
    options.import_map = file.import_map;
    options.is_script = true;
    options.limits.cpu = file.timeout;
    WEFT_TRY(engine());
    return on_place(file.place, [&]() -> Result<void> {
        std::unique_ptr<api::Application> application = WEFT_TRY(host_->open(std::move(options)));
        Result<void> outcome = application->test(
            {.file = file.path, .settings = file.settings, .on_event = file.on_event});
        application->close();
        return outcome;
    });
}

}  // namespace weft::app
