// `weft repl`: reads a line, evaluates it in an isolate, writes its value, and repeats.
//
// The isolate is on a worker of its own, so its timers and requests go on while a line is awaited.
// V8's debugger evaluates the text, because it supports top-level await and declaring a name again.
//
// One fiber.
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
    // `client` is attached to a target by run().
    explicit Repl(DebugClient& client) : client_(client) {}

    // Returns the exit status when the input has ended, or .exit was entered.
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
    std::string helper_;  // the debugger's id of the object with those functions
    bool is_person_ = false;
    Atomic<bool> evaluates_{false};
};

}  // namespace weft::app
