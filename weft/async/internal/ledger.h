// Ledger: the operations of a scope that somebody outside will complete.
//
// Each is opened once and settled once: by its completion, or by its owner who gives it up. A
// ticket that was settled finds nothing, so a completion that comes late touches nobody. That
// every operation has had exactly one outcome is asserted when the scope ends. Any thread.
#pragma once

#include <cstdint>

#include "weft/async/limits.h"
#include "weft/base/result.h"
#include "weft/base/spin_lock.h"
#include "weft/base/ticket.h"

namespace weft::async_internal {

class Ledger {
public:
    // `place` is where the outcome goes.
    Result<Ticket> open(void* place);
    // The place, for exactly one caller; null for all others.
    void* settle(Ticket ticket);
    // Asserts that nothing is open.
    void close();

private:
    SpinLock lock_;
    TicketTable<void*> open_{async::kScopeOperationsMax};
    std::uint64_t opened_ = 0;
    std::uint64_t settled_ = 0;
    bool closed_ = false;
};

}  // namespace weft::async_internal
