// What all fibers of the process are doing: state, what each waits on and for how long, and where.
// Any thread. The fibers go on; one that is being looked at is held back for that moment.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "weft/fiber/waiter.h"

namespace weft {

class Scheduler;

enum class FiberState : std::uint8_t { Ready, Running, Waiting };

struct FiberReport {
    std::string name;  // empty for an unnamed one
    FiberState state = FiberState::Ready;
    WaitReason reason = WaitReason::None;  // while Waiting
    const void* object = nullptr;          // what it waits on, where that is an object
    std::chrono::milliseconds waited{0};
    std::vector<std::string> frames;  // innermost first; of a waiting fiber
};

enum class Backtraces : bool { No, Yes };

std::vector<FiberReport> list_fibers(Backtraces backtraces = Backtraces::Yes);
std::vector<FiberReport> list_fibers_of(const Scheduler& scheduler, Backtraces backtraces);
// The same as text, the longest waits first.
std::string dump_fibers(Backtraces backtraces = Backtraces::Yes);

}  // namespace weft
