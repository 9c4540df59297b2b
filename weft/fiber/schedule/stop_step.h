// StopStep: something that is to end in its turn when a runtime shuts down.
//
// Shutdown searches the tree of cancel tokens for nodes that have one under kKey. It cancels those
// with the highest rank and waits for their end, then those with the next lower rank, and cancels
// everything else last. So a scope that serves others goes on until those have ended. Used by the
// scopes of async/. Any thread, unless said otherwise.
#pragma once

#include <cstdint>

#include "weft/base/atomic.h"
#include "weft/base/time.h"
#include "weft/fiber/waiter.h"

namespace weft {

class CancelState;

class StopStep {
public:
    static constexpr char kKey = 0;

    // `owner` is the cell of the fiber or thread that will end it.
    StopStep(std::uint64_t rank, const WaitCell* owner) : rank_(rank), owner_(owner) {}

    std::uint64_t rank() const { return rank_; }
    // By its owner, once.
    void end();
    // Blocks the thread until the step has ended. False when the deadline came first. Returns true
    // at once for the owner itself, which would wait for its own end.
    bool wait(Deadline deadline) const;

private:
    enum State : std::uint32_t { kStepOpen, kStepAwaited, kStepEnded };

    const std::uint64_t rank_;
    const WaitCell* const owner_;
    mutable Atomic<std::uint32_t> state_{kStepOpen};
};

// Ends all steps below the node; how many did not end by the deadline is logged. A plain thread.
void stop_in_order(CancelState& root, Deadline deadline);

}  // namespace weft
