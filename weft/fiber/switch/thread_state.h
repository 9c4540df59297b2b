// ThreadState: what the runtime keeps per thread. The simulation plays several threads in one, and
// exchanges this whenever it goes from one to the next. Nothing else uses it.
#pragma once

#include <cstdint>

namespace weft {

class Env;
class Worker;

// What the C++ runtime keeps per thread about exceptions in flight. It belongs to the fiber that
// runs, and is exchanged at a switch.
struct ExceptionState {
    void* caught = nullptr;
    unsigned int uncaught = 0;

    bool is_empty() const { return (reinterpret_cast<std::uintptr_t>(caught) | uncaught) == 0; }

    // That of the calling thread; the address stays valid as long as the thread.
    static ExceptionState* of_this_thread();
};

struct ThreadState {
    Worker* worker = nullptr;
    ExceptionState exceptions;

    static ThreadState save();
    void restore() const;
};

// Each simulated machine has control blocks of its own, none in use at its start: their addresses
// decide the order in which shutdown finds the fibers, and that must be the same in every run of a
// seed.
namespace fiber_blocks {
struct Depot;
Depot* take_simulated();
void put_simulated(Depot* depot);  // nothing of that machine runs any more
}  // namespace fiber_blocks

// A run that failed abandons its runtimes as they are; those of the next run must not find them.
namespace io_tables {
void forget(const Env& machine);
}

}  // namespace weft
