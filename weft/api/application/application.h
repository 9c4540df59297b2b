// JsApplication: the Application of api/host.h. It owns one isolate at a time, the requests in it,
// and the scope of everything that its scripts start.
//
// When the heap of the isolate is full, its requests fail and a new isolate with the same modules
// replaces it.
//
// Owning worker only: its fibers, unless a member says "in the loop". It must be closed before it
// is destroyed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/api/application/disk_code_store.h"
#include "weft/api/console/output.h"
#include "weft/api/debug/debug_door.h"
#include "weft/api/host.h"
#include "weft/api/serve/server_calls.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/js/inspector.h"
#include "weft/js/isolate.h"
#include "weft/js/watchdog.h"
#include "weft/net/egress.h"
#include "weft/sync/event.h"

namespace weft {
class Runtime;
}

namespace weft::api {

class DataStore;
class FetchClient;
class FileStore;
class Sockets;
class TestRun;

class JsApplication final : public Application {
public:
    static Result<std::unique_ptr<JsApplication>> create(Runtime& runtime, js::Watchdog& watchdog,
                                                         ApplicationOptions options);
    ~JsApplication() override;

    Result<void> use_import_map() override;
    Result<void> load() override;
    Result<void> compile() override;
    bool has_handler() const override { return has_handler_; }
    const Routes& routes() const override { return routes_; }
    Routes& declared_routes() { return routes_; }
    Result<void> run_to_end() override;
    int end_with(int status) override;
    void keep_code() override;
    void begin_keeping_code() override;
    std::unique_ptr<DebugSession> debug(
        std::function<void(std::string_view json)> on_message) override;  // debug/debug.cpp
    std::shared_ptr<DebugDoor> debug_door() override;                     // in debug/debug.cpp
    Result<void> test(const TestRunOptions& options) override;            // test/test_run.cpp
    http::LoopOutcome begin(http::Request& request, http::LoopCall& call) override;
    Result<http::Response> handle(http::Request& request, async::Context& context) override;
    void drain() override;
    void close() override;
    Result<void> close_when_idle() override;
    ApplicationCounters counters() const override;
    std::vector<SeenFile> files() override;

    // Call in the worker's loop. Creates the inspector on the first call.
    js::Inspector& inspector();
    const ApplicationOptions& options() const { return options_; }
    const net::EgressPolicy& egress() const { return egress_; }
    FetchClient& fetch_client() { return *fetch_client_; }
    ConsoleOutput& console() { return console_; }
    DataStore& data_store() { return *data_store_; }
    FileStore& file_store() { return *file_store_; }
    js::Isolate& isolate() { return *instance_->isolate; }
    TestRun* test_run() { return test_run_.get(); }  // null unless test() runs
    static JsApplication& of(js::Isolate& isolate) {
        return *static_cast<JsApplication*>(isolate.v8()->GetData(1));
    }

private:
    // One isolate with everything that lives and ends with it.
    struct Instance {
        std::unique_ptr<js::Isolate> isolate;
        std::unique_ptr<js::Inspector> inspector;  // created on first use
        std::optional<CancelSource> tasks;         // parent of every task that the isolate starts
        std::unique_ptr<Sockets> sockets;
        std::unique_ptr<ServerCalls> calls;
        Instance();
        ~Instance();
    };

    JsApplication(Runtime& runtime, js::Watchdog& watchdog, ApplicationOptions options);
    Result<void> open_scope();
    Result<std::unique_ptr<Instance>> make_instance();
    std::string whereabouts(const Instance& instance) const;
    Result<void> use_import_map(Instance& instance);
    Result<void> load_into(Instance& instance);
    Result<void> set_location(Instance& instance);
    void install_handler(Instance& instance);
    // Defined in debug/debug.cpp.
    void open_to_clients(Instance& instance);
    Result<void> wait_for_client(Instance& instance);
    void end_clients(Instance& instance);
    int emit_process_event(const char* hook, int status);
    void on_heap_full();
    void replace();
    std::unique_ptr<Instance> make_next_instance();
    void end_instance(std::unique_ptr<Instance> instance, CallFailure failure);
    template <class Function>
    void in_loop(Function function);

    Runtime& runtime_;
    js::Watchdog& watchdog_;
    ApplicationOptions options_;
    net::EgressPolicy egress_;
    ConsoleOutput console_;
    ApplicationCounters counters_;
    std::unique_ptr<FetchClient> fetch_client_;
    std::unique_ptr<DataStore> data_store_;
    std::unique_ptr<FileStore> file_store_;
    DiskCodeStore code_store_;
    Future<void> code_store_prepared_;
    // Shared with the threads that let debugger clients in. Null if the options forbid a debugger.
    std::shared_ptr<JsDebugDoor> door_;
    std::unique_ptr<Instance> instance_;
    Future<void> scope_;
    CancelToken scope_token_;
    Event wake_;                   // set on close() and when the heap is full
    Event replaced_;               // set while an isolate can take turns
    Event no_requests_;            // set when the last request of an isolate is over
    Instance* loading_ = nullptr;  // a replacement whose modules are still loading
    Event* idle_ = nullptr;        // run_to_end() waits for it; null otherwise
    std::function<void(std::string_view text)> on_uncaught_;
    Routes routes_;
    std::unique_ptr<TestRun> test_run_;
    bool has_handler_ = false;
    bool drains_ = false;
    bool waits_for_client_ = false;
    bool closed_ = false;
};

}  // namespace weft::api
