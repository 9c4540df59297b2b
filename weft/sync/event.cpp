#include "weft/sync/event.h"

#include "weft/base/assert.h"
#include "weft/base/planted.h"

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
}

void Event::reset() {
    SpinGuard guard(lock_);
    state_ = State::Reset;
}

bool Event::is_set() const {
    SpinGuard guard(lock_);
    return state_ == State::Set;
}

Result<void> Event::wait_until(Deadline deadline, const CancelToken& token) {
    lock_.lock();
    if (state_ == State::Set) {
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
