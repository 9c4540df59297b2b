// The command line of the program `weft`.
//
//     weft serve app.js --port 8080        weft run tool.js one two
//     weft serve --config weft.json        weft eval '1 + 1'
//     weft check app.js                    weft migrate up --database shop.db
//     weft test --filter login             weft --version
//
// Any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "weft/app/config.h"

namespace weft::app {

// The exit status of the program.
enum class Exit : int {
    Ok = 0,
    Script = 1,   // the script threw, was rejected, or cannot be loaded; a test failed
    Usage = 2,    // the command line or the configuration is wrong
    Machine = 3,  // the system refuses: an address is in use, a file cannot be read, and so on
    Engine = 4,   // the JavaScript engine is not installed
};

struct ServeCommand {
    std::string path = {};    // of the application; empty if there is a configuration
    std::string config = {};  // of weft.json
    std::optional<std::uint16_t> port = {};
    std::string host = {};  // empty: not given
    unsigned isolates = 0;  // 0: not given
    bool watch = false;
    bool supervised = false;
    std::vector<std::string> arguments = {};  // the whole command line, for a supervised child
    std::vector<std::string> allow_fetch = {};
    std::vector<std::string> allow_read = {};
    std::string env_file = {};
    std::string import_map = {};
    std::string inspect = {};  // "[HOST:]PORT"; empty: not given
    std::string inspect_brk = {};
};

struct ScriptCommand {
    enum class Verb : std::uint8_t { Run, Eval, Check, Repl };
    Verb verb = Verb::Run;
    std::string source = {};  // a path; for eval the text; for repl nothing
    std::vector<std::string> arguments = {};
    std::vector<std::string> allow_fetch = {};
    std::vector<std::string> allow_read = {};
    std::string env_file = {};
    std::string import_map = {};
    std::string location = {};  // what relative URLs are relative to; empty: nothing
    std::string inspect = {};
    std::string inspect_brk = {};
};

struct MigrateCommand {
    enum class Action : std::uint8_t { Status, Up, New };
    Action action = Action::Status;
    std::string name = {};      // New: the name of the migration
    std::string database = {};  // a file; empty: the one in the configuration
    std::string config = {};    // empty: weft.json
    std::string provider = {};  // a key of its "data"; empty: it has only one
    std::string folder = "migrations";
};

struct TestCommand {
    std::vector<std::string> paths = {};  // files and folders; none: the present folder
    std::string filter = {};              // part of a test's name
    std::string junit = {};               // a file to be written
    unsigned jobs = 0;                    // 0: not given
    std::chrono::milliseconds timeout{5000};
    bool bail = false;
    bool update = false;
    std::vector<std::string> allow_fetch = {};
    std::vector<std::string> allow_read = {};
    std::string env_file = {};
    std::string import_map = {};
};

struct InitCommand {
    std::string folder = ".";
    std::string name = {};  // empty: the folder's name
    bool typescript = false;
};

// The command only prints a text: help, the version, or what is wrong with the command line.
struct Answer {
    Exit exit = Exit::Ok;
    std::string text;
};

using Command =
    std::variant<Answer, ServeCommand, ScriptCommand, MigrateCommand, TestCommand, InitCommand>;

// `arguments` does not contain the program's name.
Command parse_command_line(std::span<const std::string> arguments);

// Relative paths are resolved against the current folder.
std::vector<std::string> absolute_paths(const std::vector<std::string>& paths);

// The value of --import-map as an absolute path; empty if it is empty. The error is text for
// people.
std::expected<std::string, std::string> import_map_of(const std::string& path);

// The configuration for a command: that of its file, if it names one, and its options. The error is
// text for people.
std::expected<ServeConfig, std::string> config_of(const ServeCommand& command);

}  // namespace weft::app
