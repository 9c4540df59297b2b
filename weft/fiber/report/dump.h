// The fiber dump: the state of all fibers of the process, what each waits on and for how long, and
// its frames. Any thread. The fibers go on meanwhile; a waiting fiber cannot be resumed while its
// frames are read. A thread that computes is sent SIGURG; if the program has a handler of its own
// for that signal, the frames of running fibers are missing.
#pragma once

#include <string>
#include <vector>

#include "weft/base/chrono.h"
#include "weft/fiber/waiter.h"

namespace weft {

class Scheduler;

enum class FiberState : std::uint8_t { Ready, Running, Waiting };

struct FiberReport {
    std::string name;  // empty for an unnamed one
    FiberState state = FiberState::Ready;
    WaitReason reason = WaitReason::None;  // while Waiting
    const void* object = nullptr;          // what it waits on, if that is an object
    std::chrono::milliseconds waited{0};
    // "function (file:line)", innermost first; see symbols.h. The frames of a running fiber are
    // taken a moment later than its state.
    std::vector<std::string> frames;
};

enum class Backtraces : bool { No, Yes };

std::vector<FiberReport> list_fibers(Backtraces backtraces = Backtraces::Yes);
std::vector<FiberReport> list_fibers_of(const Scheduler& scheduler, Backtraces backtraces);
// The same as text, the longest waits first.
std::string dump_fibers(Backtraces backtraces = Backtraces::Yes);

}  // namespace weft
