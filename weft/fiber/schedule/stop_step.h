// StopStep: something that is to end in its turn when a runtime shuts down.
//
// Shutdown looks through the tree of cancel tokens for nodes that keep one under kKey. It cancels
// those with the highest rank and waits for their end, then the next, and cancels everything else
// last. So what serves others goes on until they have ended. Used by the scopes of async/.
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
    // Until it has ended. False when the deadline came first. Nobody waits for a step of his own.
    bool wait(Deadline deadline) const;

private:
    enum State : std::uint32_t { kStepOpen, kStepAwaited, kStepEnded };

    const std::uint64_t rank_;
    const WaitCell* const owner_;
    mutable Atomic<std::uint32_t> state_{kStepOpen};
};

// Ends all steps below the node; those that the deadline came before are logged. A plain thread.
void stop_in_order(CancelState& root, Deadline deadline);

}  // namespace weft
