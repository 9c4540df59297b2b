// AppHost: the interface between the program `weft` and the JavaScript engine.
//
// The engine is a library of its own, libweft-js.so, which is loaded when a script is first needed,
// after the listeners were opened (engine_library.h). It is opened with the runtime whose pinned
// workers own the isolates: one worker for each isolate of the configuration. All functions are
// called by fibers of that runtime and may wait. An error of kind Exception is the script's fault,
// and its message has a code frame for the user; errors of other kinds are not the script's fault.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/app/config.h"
#include "weft/base/result.h"
#include "weft/fiber/os/folder_watch.h"
#include "weft/net/address.h"

namespace weft {
class Runtime;
}

namespace weft::app {

// `weft run` and `weft eval`.
struct ScriptConfig {
    enum class Kind : std::uint8_t { File, Text };
    Kind kind = Kind::File;
    std::string source;  // an absolute path, or the text
    std::string folder;  // imports of a text are relative to this folder
    std::vector<std::string> arguments;
    Environment env;
    std::vector<std::string> allow_fetch;
    std::vector<std::string> allow_read;
    std::string import_map;     // absolute; may be empty
    std::string location;       // a URL, or empty
    bool prints_value = false;  // writes the value of the text's last expression
    std::optional<Debugging> debugging = {};
};

// One file of `weft test`.
struct TestFile {
    std::string path;      // absolute
    std::string settings;  // JSON, see api::TestRunOptions
    std::chrono::milliseconds timeout{};
    Environment env;
    std::vector<std::string> allow_fetch;
    std::vector<std::string> allow_read;
    std::string import_map;  // absolute; may be empty
    unsigned place = 0;      // the index of the pinned worker that runs it
    unsigned places = 1;     // the number of pinned workers that run tests
    // Receives the outcome of each test as JSON, on that worker's thread.
    std::function<void(std::string_view json)> on_event;
};

// An isolate that V8's debugger is connected to. Any thread.
class DebugTarget {
public:
    virtual ~DebugTarget() = default;
    // A message of the DevTools protocol.
    virtual void send(std::string json) = 0;
    // Terminates the turn of JavaScript that runs.
    virtual void interrupt() = 0;
};

class AppHost {
public:
    virtual ~AppHost() = default;

    // Opens the listeners and serves what needs no application, then loads the engine and the
    // applications. Returns the addresses in the order of the configuration, with the ports that
    // the system has chosen for port 0.
    virtual Result<std::vector<net::Address>> start(const ServeConfig& config) = 0;
    // Returns after drain() and the end of the last request.
    virtual Result<void> serve() = 0;
    // Any fiber. Stops accepting connections and lets requests end.
    virtual void drain() = 0;
    // Any fiber. Ends the sessions of the debugger and accepts no more clients of it.
    virtual void close_debugger() = 0;
    // The files that the applications have imported or looked up, each with its status at that
    // time. After a reload that failed, the files of that attempt.
    virtual std::vector<SeenFile> files() const = 0;
    // Before start(): sets a function that is called, on any thread, when files() has changed
    // without a reload.
    virtual void on_files(std::function<void()> call) = 0;
    // Loads the applications again and replaces the old ones, which end with their last request.
    // After an error the old ones go on.
    virtual Result<void> reload() = 0;

    // Returns when nothing is pending any more, with the exit status of the program.
    virtual Result<int> run(const ScriptConfig& script) = 0;
    // Opens an isolate without a script while `use` runs, and returns its result. `on_message` is
    // called on the isolate's thread and must not wait.
    virtual Result<int> debug(const ScriptConfig& script,
                              std::function<void(std::string_view json)> on_message,
                              std::function<Result<int>(DebugTarget& target)> use) = 0;
    // Compiles the file and everything that it imports, and runs none of it.
    virtual Result<void> check(const ScriptConfig& script) = 0;
    // Runs the tests of a file in an isolate of its own; each place runs one file at a time. The
    // error says why the file could not be run to its end.
    virtual Result<void> test(const TestFile& file) = 0;
};

}  // namespace weft::app
