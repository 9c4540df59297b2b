#include "weft/async/internal/operation_table.h"

#include "weft/base/assert.h"

namespace weft::async_internal {

Result<Ticket> OperationTable::open(void* place) {
    WEFT_ASSERT(place, "settle() returns null for an operation that has ended");
    SpinGuard guard(lock_);
    WEFT_ASSERT(!closed_, "an operation was begun in a scope that has ended");
    Result<Ticket> ticket = open_.insert(place);
    if (ticket) {
        ++opened_;
        WEFT_DASSERT(open_.size() == opened_ - settled_);
    } else if (ticket.error().kind() == ErrorKind::Limit) {
        return Error::limit("a scope has more operations under way than",
                            async::kScopeOperationsMax, "async::kScopeOperationsMax");
    }
    return ticket;
}

void* OperationTable::settle(Ticket ticket) {
    SpinGuard guard(lock_);
    std::optional<void*> place = open_.take(ticket);
    if (!place) return nullptr;
    ++settled_;
    WEFT_ASSERT(settled_ <= opened_, "an operation had two outcomes");
    return *place;
}

void OperationTable::close() {
    SpinGuard guard(lock_);
    WEFT_ASSERT(!closed_, "a scope ends once");
    closed_ = true;
    WEFT_ASSERT(open_.size() == 0 && opened_ == settled_,
                "an operation is still open when its scope ends");
}

}  // namespace weft::async_internal
