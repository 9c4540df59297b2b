// Supervisor: runs the applications in a child process, and keeps the listeners open beyond its
// death.
//
// Some failures end a process and cannot be handled within it: an operation of V8 that allocates
// without checking its limits, or the kernel's OOM killer. So the program `weft` opens the
// listeners and starts itself again as a child, which inherits them and serves. When the child
// dies, its connections are lost, but new ones wait in the backlog until the next child accepts
// them. After several deaths in a row, children are restarted with a growing pause (back-off).
// Signals are forwarded to the child.
//
// An environment variable tells the child its inherited descriptors (Supervised). Its standard
// input is a pipe from the supervisor: a byte asks the child to drain, and so does the end of the
// pipe, because the supervisor has died then.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/app/config.h"
#include "weft/base/result.h"
#include "weft/base/time.h"

namespace weft {
class Runtime;
}

namespace weft::app {

// The descriptors that a supervised child inherits.
struct Supervised {
    static constexpr const char* kVariable = "WEFT_SUPERVISED";

    int ready = -1;  // a pipe: the child writes a byte when it serves
    // By listener of the configuration, then by worker.
    std::vector<std::vector<int>> listeners;

    // From a text such as "3;4,5;6,7": `ready`, then the listeners. Empty for a malformed text.
    static std::optional<Supervised> parse(std::string_view text);
    std::string text() const;
    // Reads and removes the variable of this process, so that its own children do not see it.
    static std::optional<Supervised> take();

    friend bool operator==(const Supervised&, const Supervised&) = default;
};

// The pause before the next child, after this many early deaths in a row.
Nanoseconds restart_pause(unsigned deaths);

// A fiber. `arguments` are those of this program, without its name. Returns the exit status.
Result<int> supervise(const ServeConfig& config, const std::vector<std::string>& arguments);

// A fiber of the child: reports that it serves.
Result<void> tell_supervisor(const Supervised& supervised);
// A fiber of the child, until it is cancelled: sends SIGTERM to the own process when the supervisor
// asks for the end.
Result<void> listen_to_supervisor();

}  // namespace weft::app
