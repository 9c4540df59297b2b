#include "weft/sync/event.h"

#include "weft/base/assert.h"
#include "weft/base/planted.h"
#include "weft/fiber/turn.h"

namespace weft {

using sync_internal::Claimed;
using sync_internal::Until;
using sync_internal::WaitEntry;

Event::~Event() { WEFT_ASSERT(queue_.empty(), "somebody still waits for the event"); }

void Event::set() {
    Claimed claimed;
    {
        SpinGuard guard(lock_);
        state_ = State::Set;
        queue_.claim_all(claimed);
    }
    if (WEFT_PLANTED("event.sets_silently")) return;
    claimed.resume_all();
    turn::step("event.set", this);  // `this` may be destroyed
}

void Event::reset() {
    turn::step("event.reset", this);
    SpinGuard guard(lock_);
    state_ = State::Reset;
}

bool Event::is_set() const {
    turn::step("event.is_set", this);
    SpinGuard guard(lock_);
    return state_ == State::Set;
}

Result<void> Event::wait_until(Deadline deadline, const CancelToken& token) {
    turn::may_wait("event.wait", this);
    lock_.lock();
    if (state_ == State::Set) {
        WEFT_DASSERT(queue_.empty(), "nobody waits for an event that is set");
        lock_.unlock();
        return {};
    }
    WaitEntry entry;
    Result<void> waited =
        queue_.wait(lock_, entry, WaitReason::Event, this, Until(deadline, token));
    if (waited) return waited;
    SpinGuard guard(lock_);
    queue_.remove(entry);
    return waited;
}

}  // namespace weft
