// Host and Application: JavaScript as the program around it sees it. There is no V8 in this header.
//
// The library libweft-js is opened when the first application is wanted; its one door is
// weft_open_host(). An Application is one isolate on one pinned worker with the modules of one
// entry file: something that answers requests, or a script that runs to its end.
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
    // From the request to the head of its response: 500 "Promise did not resolve in time".
    std::chrono::milliseconds handler_deadline{10'000};
    // Processor time of one turn of JavaScript.
    std::chrono::milliseconds cpu{500};
    // Of one drain; 0: only their time counts.
    std::uint64_t microtasks = 0;
    // Of an isolate; 0: 256 MiB.
    std::size_t heap_bytes = 0;
    std::uint64_t body_bytes = std::uint64_t{1024} * 1024;  // of a request: 413
    // How long ctx.waitUntil() may hold a request after its response.
    std::chrono::milliseconds wait_until{30'000};
    // In the hands of one isolate at once: 503. At most 2^20, which a request's number has room
    // for.
    std::size_t requests = std::size_t{64} * 1024;
};

enum class DataAccess : std::uint8_t { Read, Write, ReadWrite };

// A database that an application may use.
struct DataSource {
    std::string token;     // what scripts call it: "data.main"
    std::string name;      // in logs
    std::string provider;  // "sqlite", "postgres", "odbc"
    std::string place;     // a path, or a connection string
    DataAccess access = DataAccess::ReadWrite;
    unsigned connections_max = 0;  // 0: the provider's choice
};

struct ApplicationOptions {
    std::string name;                    // in logs
    std::string entry;                   // a file or a folder; absolute
    std::string text;                    // not empty: instead of the entry, which is its name
    std::string import_map;              // absolute; may be empty
    std::string code_folder;             // of compiled code, see docs/js/modules.md; or empty
    std::vector<std::string> arguments;  // of a script
    std::vector<std::pair<std::string, std::string>> env;  // `env` of the handler
    ApplicationLimits limits;
    std::vector<std::string> allow_fetch;  // as net::EgressPolicy::allow() has them
    std::vector<std::string> allow_read;   // files and folders that node:fs may read; absolute
    bool is_script = false;  // by hand: it sees the environment, and may end the process
    // Somebody starts another process when this one ends: what V8 cannot be stopped in ends it.
    bool is_supervised = false;
    std::string location;  // a URL: `location`, and what relative URLs are relative to; or empty
    std::vector<DataSource> data;
    bool opens_any_data = true;      // scripts may name databases themselves
    unsigned worker = 0;             // a pinned one, by its number in the runtime
    std::function<void()> on_files;  // files() has become another; the owner's thread
    // A turn keeps the worker for long: again and again until it ends, by a thread of the host's.
    std::function<void()> on_long_turn;
    // Clients of V8's debugger may come: nothing is too late then, as one may stand at a
    // breakpoint.
    enum class Debug : std::uint8_t { No, Allowed, WaitsForClient } debug = Debug::No;
};

// One file of tests; see weft/api/test/.
struct TestRunOptions {
    std::string file;      // absolute
    std::string settings;  // JSON: timeoutMs, filter, bail, update, frozen, snapshots
    // What became of each test, as JSON; in the worker's loop.
    std::function<void(std::string_view json)> on_event;
};

// A client of V8's debugger. Any thread; one of Application::debug() ends before its application is
// closed.
class DebugSession {
public:
    virtual ~DebugSession() = default;
    // A message of the DevTools protocol.
    virtual void send(std::string json) = 0;
    // Ends the turn of JavaScript that runs now.
    virtual void interrupt() = 0;
};

// Where clients of V8's debugger come in: to the isolate that the application has at the time. Any
// thread; it outlives the application, and then takes nobody.
class DebugDoor {
public:
    virtual ~DebugDoor() = default;
    // Both are called on the isolate's thread and must not wait; `on_end` once, as the last, also
    // when the isolate ends before the session. Null: there is no isolate.
    virtual std::unique_ptr<DebugSession> connect(
        std::function<void(std::string_view json)> on_message, std::function<void()> on_end) = 0;
    // Ends all sessions, and takes nobody any more. What stood at a breakpoint goes on.
    virtual void close() = 0;
};

struct ApplicationCounters {
    std::uint64_t requests = 0;
    std::uint64_t answered = 0;
    std::uint64_t failed = 0;    // the handler threw, gave no response or none in time
    std::uint64_t too_long = 0;  // turns that the watchdog ended
    std::uint64_t flooded = 0;   // turns with more microtasks than allowed
    std::uint64_t replaced = 0;  // isolates whose heap was full
    std::uint64_t uncaught = 0;
    std::uint64_t late = 0;
    std::uint64_t overstayed = 0;  // requests that waitUntil() held for too long
    std::size_t in_flight = 0;
};

// Fibers of its worker, unless said otherwise.
class Application {
public:
    virtual ~Application() = default;

    // Reads the import map of the options. load(), compile() and test() have done so.
    virtual Result<void> use_import_map() = 0;
    // Loads and evaluates the entry. The error is text for people, with a code frame.
    virtual Result<void> load() = 0;
    // Compiles the entry and everything that it imports, and runs none of it.
    virtual Result<void> compile() = 0;
    // The entry exports a handler for requests.
    virtual bool has_handler() const = 0;
    // That the entry's router has declared.
    virtual const Routes& routes() const = 0;
    // Waits until nothing is pending: no timer, no task. The error is an uncaught one.
    virtual Result<void> run_to_end() = 0;
    // Of a script: `exit` of its process is told that it ends with this status. Gives the status
    // that it asks for instead, by process.exitCode. What a listener throws is uncaught.
    virtual int end_with(int status) = 0;
    // Keeps the compiled code of what was loaded for the next start, in the folder of the options,
    // and waits for that; or begins with it, and goes on with what is loaded later.
    virtual void keep_code() = 0;
    virtual void begin_keeping_code() = 0;

    // Instead of load(): loads a file of tests and runs them. The error is why it could not go on.
    virtual Result<void> test(const TestRunOptions& options) = 0;

    // `on_message` gets the answers and the events; it is called on the worker's thread and must
    // not wait.
    virtual std::unique_ptr<DebugSession> debug(
        std::function<void(std::string_view json)> on_message) = 0;
    // Null unless the options allow it.
    virtual std::shared_ptr<DebugDoor> debug_door() = 0;

    // In the worker's loop.
    virtual http::LoopOutcome begin(http::Request& request, http::LoopCall& call) = 0;
    virtual Result<http::Response> handle(http::Request& request, async::Context& context) = 0;

    // Tells the requests that the server drains.
    virtual void drain() = 0;
    // Ends what is under way and the isolate with it, and waits for that.
    virtual void close() = 0;
    // Waits until the last request is over, or the fiber is cancelled, then closes.
    virtual Result<void> close_when_idle() = 0;
    virtual ApplicationCounters counters() const = 0;
    // The files that were loaded, and those that were looked for, as they were then; also after
    // load() has failed.
    virtual std::vector<SeenFile> files() = 0;
};

class Host {
public:
    virtual ~Host() = default;
    // A fiber of the worker that is to own it.
    virtual Result<std::unique_ptr<Application>> open(ApplicationOptions options) = 0;
    virtual std::string_view engine() const = 0;  // "V8 10.2.154.26"
};

// Any thread. The runtime outlives the host.
using OpenHost = void (*)(Runtime& runtime, std::unique_ptr<Host>& host);
inline constexpr const char* kOpenHost = "weft_open_host";

}  // namespace weft::api
