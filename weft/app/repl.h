// `weft repl`: reads a line, evaluates it in an isolate, writes what it comes to, and again.
//
// The isolate is on a worker of its own, so its timers and requests go on while a line is awaited.
// V8's debugger evaluates: it is what can await at the top level and declare a name anew.
//
// A fiber.
#pragma once

#include <string>
#include <string_view>

#include "weft/app/debug_client.h"
#include "weft/app/line_editor.h"
#include "weft/base/atomic.h"
#include "weft/base/result.h"

namespace weft::app {

class Repl {
public:
    // `client` has no target yet.
    explicit Repl(DebugClient& client) : client_(client) {}

    // Until its end is asked for. Gives the status for the program to exit with.
    Result<int> run(DebugTarget& target);

private:
    enum class Outcome : std::uint8_t { Done, Incomplete, End };

    Result<void> find_helper();
    Result<int> read_all(LineEditor& editor);
    Result<Outcome> take(const std::string& text, LineEditor& editor);
    Result<Outcome> command(const std::string& line, LineEditor& editor);
    Result<Outcome> evaluate(const std::string& text);
    Result<nlohmann::json> evaluate_one(const std::string& text);
    Result<void> write_value(const nlohmann::json& result);
    // Calls a function of api/repl/repl.js with values or remote objects.
    Result<nlohmann::json> ask(std::string_view function, nlohmann::json arguments,
                               Deadline deadline = Deadline::never());
    Completion complete(const std::string& before);
    void interrupt(DebugTarget& target, LineEditor& editor);

    DebugClient& client_;
    std::string helper_;  // of the debugger: the object with those functions
    bool is_person_ = false;
    Atomic<bool> evaluates_{false};
};

}  // namespace weft::app
