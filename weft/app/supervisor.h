// Supervisor: the applications in a process of their own, behind listeners that outlive it.
//
// Some things end a process whatever its program does: an operation of V8 that allocates without a
// look at its limits, the kernel's own killer. Here the program `weft` opens the listeners and
// starts itself again as a child, which takes them over and serves. When the child dies, clients
// wait in the backlog until the next one is there; what it had accepted is lost. A child that dies
// again and again is started ever more slowly. Signals are passed on to it.
//
// The child is told by a variable of its environment which descriptors it has (Supervised). Its
// standard input is a pipe from the supervisor: a byte is a signal to end, and so is its end, as
// then nobody is there to start another child.
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

// What a supervised child has been given.
struct Supervised {
    static constexpr const char* kVariable = "WEFT_SUPERVISED";

    int ready = -1;  // where it tells that it serves
    // Of each listener of the configuration, one for each worker.
    std::vector<std::vector<int>> listeners;

    // "3;4,5;6,7": the descriptors; nothing for any other text.
    static std::optional<Supervised> parse(std::string_view text);
    std::string text() const;
    // Of this process; it and its own children do not see the variable any more.
    static std::optional<Supervised> take();

    friend bool operator==(const Supervised&, const Supervised&) = default;
};

// How long to wait before the next child, after so many that died young in a row.
Nanoseconds restart_pause(unsigned deaths);

// A fiber. `arguments` are those of this program, without its name. Gives the status to exit with.
Result<int> supervise(const ServeConfig& config, const std::vector<std::string>& arguments);

// A fiber of the child: says that it serves.
Result<void> tell_supervisor(const Supervised& supervised);
// A fiber of the child, until it is cancelled: passes on what the supervisor says as SIGTERM.
Result<void> listen_to_supervisor();

}  // namespace weft::app
