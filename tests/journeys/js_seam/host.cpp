#include "tests/journeys/js_seam/host.h"

#include <dlfcn.h>

#include <cstdio>
#include <thread>

#include "weft/base/assert.h"

namespace weft::journeys {

OpenEngine load_engine(const char* path) {
    OpenEngine open = nullptr;
    std::thread loader([&] {
        if (void* module = ::dlopen(path, RTLD_NOW | RTLD_LOCAL))
            open = reinterpret_cast<OpenEngine>(::dlsym(module, kOpenEngine));
        if (!open) std::fprintf(stderr, "%s: %s\n", path, ::dlerror());
    });
    loader.join();
    return open;
}

Host::Host(Runtime& runtime, OpenEngine open_engine, Options options)
    : runtime_(runtime), options_(std::move(options)) {
    WEFT_ASSERT(open_engine, "the engine could not be loaded");
    Result<void> opened = on_owner([&] { return open(open_engine); });
    WEFT_ASSERT(opened.has_value(), "the host does not start");
    serving_ = runtime_.spawn_pinned(0, [&] { return server_->serve(); });
}

Host::~Host() {
    server_->drain();
    wait();
    static_cast<void>(on_owner([&] { engine_->close(); }));
}

void Host::wait() {
    if (!serving_) return;
    Result<void> served = serving_.join();
    WEFT_ASSERT(served.has_value(), "the server ended with an error");
}

Result<void> Host::open(OpenEngine open_engine) {
    EngineOptions engine;
    engine.runtime = &runtime_;
    engine.worker = runtime_.worker_count() - 1;
    engine.operations = options_.operations;
    engine.dispatch_time = options_.dispatch_time;
    open_engine(std::move(engine), engine_);
    WEFT_TRY(engine_->load(options_.script));
    server_ =
        std::make_unique<http::Server>([this](http::Request& request, async::Context& context) {
            return options_.handler ? options_.handler(*engine_, request, context)
                                    : handle(request, context);
        });
    address_ = WEFT_TRY(server_->listen(options_.address));
    return {};
}

Result<http::Response> Host::handle(http::Request& request, async::Context& context) {
    if (request.path() == "/native") return http::Response::text("native");
    Result<std::string> answer = engine_->call(request.path(), context);
    if (answer) return http::Response::text(std::move(*answer));
    return http::Response::text(answer.error().message(), 500);
}

EngineCounters Host::counters() {
    return *on_owner([&] { return engine_->counters(); });
}

}  // namespace weft::journeys
