// Stack overflow: the fault in a fiber's guard is caught, the fiber named, and the process aborted.
#pragma once

#include <cstddef>
#include <memory>

namespace weft {

// A stack for the fault handler of one thread. It is made before the thread is started, so that a
// lack of memory can be reported. The first one installs the handler; faults outside of guards go
// to the handler that was installed before.
class FaultStack {
public:
    FaultStack();  // throws std::bad_alloc
    FaultStack(const FaultStack&) = delete;
    FaultStack& operator=(const FaultStack&) = delete;

    // The calling thread's handler runs on the stack as long as this lives. Does nothing in a
    // simulation, where many workers are one thread, which has a stack for its handlers.
    class Use {
    public:
        explicit Use(FaultStack& stack);
        ~Use();
        Use(const Use&) = delete;
        Use& operator=(const Use&) = delete;
    };

private:
    static constexpr std::size_t kBytes = 64 * 1024;
    std::unique_ptr<std::byte[]> memory_;
};

}  // namespace weft
