// OperationTable: the pending operations of a scope, which a driver, a callback or another thread
// completes.
//
// Each is opened once and settled once: by its completion, or by its owner that gives it up. A
// settled ticket finds nothing, so a late completion has no effect. When the scope ends it is
// asserted that every operation has had exactly one outcome. Any thread.
#pragma once

#include <cstdint>

#include "weft/async/limits.h"
#include "weft/base/result.h"
#include "weft/base/spin_lock.h"
#include "weft/base/ticket.h"

namespace weft::async_internal {

class OperationTable {
public:
    // `place` is the object that receives the outcome. Limit, OutOfMemory.
    Result<Ticket> open(void* place);
    // Returns the place to exactly one caller and null to all others.
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
