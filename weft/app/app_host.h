// AppHost: what the program `weft` asks of the JavaScript engine.
//
// The engine is a library of its own, libweft-js.so, which is loaded when a script is wanted, after
// the listeners were opened (engine_library.h). It is opened with the runtime whose pinned workers
// own the isolates: one for each isolate of the configuration. All calls are made by fibers of that
// runtime and may wait. Errors: Exception for what the script is to blame for, its text with a code
// frame as the user is to see it; every other kind for what it is not.
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
    std::string source;  // the path, absolute; or the text, whose imports are
    std::string folder;  // relative to this folder
    std::vector<std::string> arguments;
    Environment env;
    std::vector<std::string> allow_fetch;
    std::vector<std::string> allow_read;
    std::string import_map;     // absolute; may be empty
    std::string location;       // a URL, or empty
    bool prints_value = false;  // writes what the text's last expression comes to
    std::optional<Debugging> debugging = {};
};

// One file of `weft test`.
struct TestFile {
    std::string path;      // absolute
    std::string settings;  // as api::TestRunOptions has them
    std::chrono::milliseconds timeout{};
    Environment env;
    std::vector<std::string> allow_fetch;
    std::vector<std::string> allow_read;
    std::string import_map;  // absolute; may be empty
    unsigned place = 0;      // the pinned worker, of so many
    unsigned places = 1;
    // What became of each test, as JSON; on the place's thread.
    std::function<void(std::string_view json)> on_event;
};

// Something that V8's debugger is asked of. Any thread.
class DebugTarget {
public:
    virtual ~DebugTarget() = default;
    // A message of the DevTools protocol.
    virtual void send(std::string json) = 0;
    // Ends the turn of JavaScript that runs now.
    virtual void interrupt() = 0;
};

class AppHost {
public:
    virtual ~AppHost() = default;

    // Opens the listeners and serves what needs no application, then loads the engine and the
    // applications. Gives where they listen, in the order of the configuration, with the ports that
    // were chosen for port 0.
    virtual Result<std::vector<net::Address>> start(const ServeConfig& config) = 0;
    // Until drain() and the end of the last request.
    virtual Result<void> serve() = 0;
    // Any fiber. Stops accepting and lets requests end.
    virtual void drain() = 0;
    // Any fiber. Clients of the debugger leave, and nobody comes any more.
    virtual void close_debugger() = 0;
    // The files of which the applications consist, as far as they have been imported, and those
    // that were looked for; each as it was then. After a reload that failed, those of that attempt.
    virtual std::vector<SeenFile> files() const = 0;
    // Before start(): what to call, on any thread, when files() has become another by itself.
    virtual void on_files(std::function<void()> call) = 0;
    // Loads the applications anew and puts them in the place of the old ones, which end with their
    // last request. After an error the old ones go on.
    virtual Result<void> reload() = 0;

    // Returns when nothing is pending any more. Gives the status for the program to exit with.
    virtual Result<int> run(const ScriptConfig& script) = 0;
    // Opens an isolate with nothing in it for as long as `use` takes, and gives what that gives.
    // `on_message` is called on the isolate's thread and must not wait.
    virtual Result<int> debug(const ScriptConfig& script,
                              std::function<void(std::string_view json)> on_message,
                              std::function<Result<int>(DebugTarget& target)> use) = 0;
    // Compiles the file and everything that it imports, and runs none of it.
    virtual Result<void> check(const ScriptConfig& script) = 0;
    // Runs the tests of a file in an isolate of its own; any place has one file at a time. The
    // error is why it could not go on.
    virtual Result<void> test(const TestFile& file) = 0;
};

}  // namespace weft::app
