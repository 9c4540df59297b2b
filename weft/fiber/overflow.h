// Stack overflow: the fault in a fiber's guard is caught, the fiber named, and the process aborted.
#pragma once

#include <cstddef>
#include <memory>

namespace weft {

// A stack for the fault handler, for the thread that makes it and as long as it lives. The handler
// itself is installed with the first one; faults elsewhere go to whoever was there before.
class FaultStack {
public:
    FaultStack();
    ~FaultStack();
    FaultStack(const FaultStack&) = delete;
    FaultStack& operator=(const FaultStack&) = delete;

private:
    static constexpr std::size_t kBytes = 64 * 1024;
    std::unique_ptr<std::byte[]> memory_;
};

}  // namespace weft
