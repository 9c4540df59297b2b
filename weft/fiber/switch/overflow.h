// Stack overflow: the fault in a fiber's guard is caught, the fiber named, and the process aborted.
#pragma once

#include <cstddef>
#include <memory>

namespace weft {

// A stack for the fault handler of one thread. Made by whoever starts the thread, and can report
// that there is no memory for it. The handler itself is installed with the first one; faults
// elsewhere go to whoever was there before.
class FaultStack {
public:
    FaultStack();  // throws std::bad_alloc
    FaultStack(const FaultStack&) = delete;
    FaultStack& operator=(const FaultStack&) = delete;

    // The calling thread's handler runs on the stack as long as this lives. Not in a simulation,
    // where many workers are one thread, which has a stack for its handlers.
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
