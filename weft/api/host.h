// Host and Application: JavaScript as the program around it sees it. This header does not need V8.
//
// The library libweft-js is opened when the first application is wanted; weft_open_host() is its
// only entry point. An Application is one isolate on one pinned worker with the modules of one
// entry file: a handler that answers requests, or a script that runs to its end.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/api/routes.h"
#include "weft/base/result.h"
#include "weft/fiber/os/folder_watch.h"
#include "weft/http/response.h"
#include "weft/http/server/loop_handler.h"

namespace weft {
class Runtime;
}
namespace weft::http {
class Request;
}

namespace weft::api {

struct ApplicationLimits {
    // Time from the request to the head of its response; after that 500 "Promise did not resolve in
    // time".
    std::chrono::milliseconds handler_deadline{10'000};
    // Processor time of one turn of JavaScript.
    std::chrono::milliseconds cpu{500};
    // Microtasks in one drain; 0: only their processor time is limited.
    std::uint64_t microtasks = 0;
    // Heap of an isolate; 0: 256 MiB.
    std::size_t heap_bytes = 0;
    std::uint64_t body_bytes = std::uint64_t{1024} * 1024;  // size of a request body; beyond it 413
    // How long ctx.waitUntil() may hold a request after its response.
    std::chrono::milliseconds wait_until{30'000};
    // Requests that one isolate may have at once; beyond it 503. At most 2^20, the number of slots
    // that the number of a request can name.
    std::size_t requests = std::size_t{64} * 1024;
};

enum class DataAccess : std::uint8_t { Read, Write, ReadWrite };

// A database that an application may use.
struct DataSource {
    std::string token;     // the name that scripts use: "data.main"
    std::string name;      // the name in logs
    std::string provider;  // "sqlite", "postgres", "odbc"
    std::string place;     // a path, or a connection string
    DataAccess access = DataAccess::ReadWrite;
    unsigned connections_max = 0;  // 0: the provider's choice
};

struct ApplicationOptions {
    std::string name;                    // the name in logs
    std::string entry;                   // a file or a folder; absolute
    std::string text;                    // if not empty, runs instead; `entry` is its name
    std::string import_map;              // an absolute path, or empty
    std::string code_folder;             // for compiled code, see docs/js/modules.md; or empty
    std::vector<std::string> arguments;  // the command line of a script
    std::vector<std::pair<std::string, std::string>> env;  // the argument `env` of the handler
    ApplicationLimits limits;
    std::vector<std::string> allow_fetch;  // rules as for net::EgressPolicy::allow()
    std::vector<std::string> allow_read;   // files and folders that node:fs may read; absolute
    bool is_script = false;  // run by hand: sees the environment and may end the process
    // A supervisor restarts this process when it ends. A turn that V8 cannot interrupt ends the
    // process then.
    bool is_supervised = false;
    std::string location;  // a URL: sets `location` and the base of relative URLs; or empty
    std::vector<DataSource> data;
    bool opens_any_data = true;      // scripts may also name databases that are not in `data`
    unsigned worker = 0;             // the number of a pinned worker of the runtime
    std::function<void()> on_files;  // files() has changed; called on the owning worker
    // A turn keeps the worker busy for long. Called repeatedly until the turn ends, on a thread of
    // the host.
    std::function<void()> on_long_turn;
    // Whether clients of V8's debugger may connect. If they may, no time limit applies, because the
    // script may be stopped at a breakpoint.
    enum class Debug : std::uint8_t { No, Allowed, WaitsForClient } debug = Debug::No;
};

// The run of one file of tests; see weft/api/test/.
struct TestRunOptions {
    std::string file;      // absolute
    std::string settings;  // JSON: timeoutMs, filter, bail, update, frozen, snapshots
    // Called in the worker's loop with the outcome of each test, as JSON.
    std::function<void(std::string_view json)> on_event;
};

// The session of one client of V8's debugger. Any thread. A session that Application::debug() gave
// must end before its application is closed.
class DebugSession {
public:
    virtual ~DebugSession() = default;
    // A message of the DevTools protocol.
    virtual void send(std::string json) = 0;
    // Ends the turn of JavaScript that is running now.
    virtual void interrupt() = 0;
};

// Connects clients of V8's debugger to the isolate that the application has at the moment. Any
// thread. It may outlive the application, and then accepts no client.
class DebugDoor {
public:
    virtual ~DebugDoor() = default;
    // Both functions are called on the isolate's thread and must not wait. `on_end` is called once,
    // as the last call, also when the isolate ends before the session. Returns null if there is no
    // isolate.
    virtual std::unique_ptr<DebugSession> connect(
        std::function<void(std::string_view json)> on_message, std::function<void()> on_end) = 0;
    // Ends all sessions and accepts no more. A script that is stopped at a breakpoint continues.
    virtual void close() = 0;
};

struct ApplicationCounters {
    std::uint64_t requests = 0;
    std::uint64_t answered = 0;
    std::uint64_t failed = 0;    // the handler threw, gave no response or none in time
    std::uint64_t too_long = 0;  // turns that the watchdog ended
    std::uint64_t flooded = 0;   // turns with more microtasks than allowed
    std::uint64_t replaced = 0;  // isolates replaced because their heap was full
    std::uint64_t uncaught = 0;
    std::uint64_t late = 0;
    std::uint64_t overstayed = 0;  // requests ended because waitUntil() held them for too long
    std::size_t in_flight = 0;
};

// Fibers of its worker, unless said otherwise.
class Application {
public:
    virtual ~Application() = default;

    // Reads the import map of the options. load(), compile() and test() do this themselves.
    virtual Result<void> use_import_map() = 0;
    // Loads and evaluates the entry. The message of the error is for people and includes a code
    // frame.
    virtual Result<void> load() = 0;
    // Compiles the entry and everything that it imports, without running any of it.
    virtual Result<void> compile() = 0;
    // Whether the entry exports a handler for requests.
    virtual bool has_handler() const = 0;
    // The routes that the router of the entry has declared.
    virtual const Routes& routes() const = 0;
    // Waits until no timer and no task is pending. An uncaught error ends the wait and is returned.
    virtual Result<void> run_to_end() = 0;
    // Emits `exit` on the script's `process` with this status, and returns the status that the
    // script asks for by process.exitCode. An error that a listener throws is reported as uncaught.
    virtual int end_with(int status) = 0;
    // keep_code() stores the compiled code of the loaded modules in the folder of the options, for
    // the next start, and waits for that. begin_keeping_code() starts this and then stores what is
    // loaded later.
    virtual void keep_code() = 0;
    virtual void begin_keeping_code() = 0;

    // Instead of load(): loads a file of tests and runs them. An error says why the run could not
    // go on.
    virtual Result<void> test(const TestRunOptions& options) = 0;

    // `on_message` receives the answers and the events. It is called on the worker's thread and
    // must not wait.
    virtual std::unique_ptr<DebugSession> debug(
        std::function<void(std::string_view json)> on_message) = 0;
    // Null unless the options allow a debugger.
    virtual std::shared_ptr<DebugDoor> debug_door() = 0;

    // begin() is called in the worker's loop, handle() on a fiber.
    virtual http::LoopOutcome begin(http::Request& request, http::LoopCall& call) = 0;
    virtual Result<http::Response> handle(http::Request& request, async::Context& context) = 0;

    // Tells the requests that the server drains.
    virtual void drain() = 0;
    // Cancels all that is running, ends the isolate, and waits for both.
    virtual void close() = 0;
    // Waits until the last request is over or the fiber is cancelled, then closes.
    virtual Result<void> close_when_idle() = 0;
    virtual ApplicationCounters counters() const = 0;
    // The files that were loaded and those that were searched for, as they were at that time; also
    // after a failed load().
    virtual std::vector<SeenFile> files() = 0;
};

class Host {
public:
    virtual ~Host() = default;
    // Call on a fiber of the worker that will own the application.
    virtual Result<std::unique_ptr<Application>> open(ApplicationOptions options) = 0;
    virtual std::string_view engine() const = 0;  // "V8 10.2.154.26"
};

// Any thread. The runtime must outlive the host.
using OpenHost = void (*)(Runtime& runtime, std::unique_ptr<Host>& host);
inline constexpr const char* kOpenHost = "weft_open_host";

}  // namespace weft::api
