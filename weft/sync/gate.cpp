#include "weft/sync/gate.h"

#include "weft/base/assert.h"
#include "weft/base/planted.h"
#include "weft/fiber/turn.h"

namespace weft {

using sync_internal::Claimed;
using sync_internal::Until;
using sync_internal::WaitEntry;

Gate::~Gate() {
    WEFT_ASSERT(closers_.empty(), "somebody still waits for the gate to close");
    WEFT_ASSERT(inside_ == 0, "somebody is still inside the gate");
}

Result<void> Gate::enter() {
    turn::step("gate.enter", this);
    SpinGuard guard(lock_);
    if (closed_ && !WEFT_PLANTED("gate.lets_in_late")) return ErrorKind::Closed;
    ++inside_;
    return {};
}

void Gate::leave() {
    Claimed claimed;
    {
        SpinGuard guard(lock_);
        WEFT_ASSERT(inside_ != 0, "leave() more often than enter()");
        WEFT_DASSERT(closed_ || closers_.empty(), "a closer waits only at a closed gate");
        if (--inside_ == 0) closers_.claim_all(claimed);
    }
    claimed.resume_all();
    turn::step("gate.leave", this);  // `this` may be destroyed
}

Result<Gate::Hold> Gate::hold() {
    WEFT_TRY(enter());
    return Hold(*this);
}

Result<void> Gate::close_until(Deadline deadline, const CancelToken& token) {
    turn::may_wait("gate.close", this);
    lock_.lock();
    closed_ = true;
    if (inside_ == 0) {
        WEFT_DASSERT(closers_.empty(), "a closer waits only while somebody is inside");
        lock_.unlock();
        return {};
    }
    WaitEntry entry;
    Result<void> waited =
        closers_.wait(lock_, entry, WaitReason::Gate, this, Until(deadline, token));
    if (waited) return waited;
    SpinGuard guard(lock_);
    closers_.remove(entry);
    return waited;
}

bool Gate::is_closed() const {
    turn::step("gate.is_closed", this);
    SpinGuard guard(lock_);
    return closed_;
}

std::uint64_t Gate::inside() const {
    turn::step("gate.inside", this);
    SpinGuard guard(lock_);
    return inside_;
}

}  // namespace weft
