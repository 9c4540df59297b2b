#include "weft/sync/barrier.h"

#include "weft/base/assert.h"
#include "weft/base/planted.h"
#include "weft/fiber/turn.h"

namespace weft {

using sync_internal::Claimed;
using sync_internal::Until;
using sync_internal::WaitEntry;

Barrier::Barrier(std::size_t parties) : parties_(parties) {
    WEFT_ASSERT(parties != 0, "a barrier needs somebody to arrive");
}

Barrier::~Barrier() { WEFT_ASSERT(queue_.empty(), "somebody still waits at the barrier"); }

// Lock held. Ends the phase if all parties have arrived.
bool Barrier::complete(Claimed& claimed) {
    WEFT_DASSERT(lock_.is_locked() && arrived_ <= parties_);
    if (arrived_ != parties_) return false;
    arrived_ = 0;
    ++phase_;
    queue_.claim_all(claimed);
    return true;
}

Result<bool> Barrier::arrive_and_wait_until(Deadline deadline, const CancelToken& token) {
    turn::may_wait("barrier.arrive_and_wait", this);
    lock_.lock();
    WEFT_ASSERT(arrived_ < parties_, "an arrival at a barrier that every party has left");
    ++arrived_;
    if (Claimed claimed; complete(claimed)) {
        lock_.unlock();
        claimed.resume_all();
        return true;
    }
    std::uint64_t phase = phase_;
    WaitEntry entry;
    Result<void> waited =
        queue_.wait(lock_, entry, WaitReason::Barrier, this, Until(deadline, token));
    if (waited) return false;
    SpinGuard guard(lock_);
    queue_.remove(entry);
    // The phase may have ended after the deadline, with this arrival counted: that is a success.
    if (phase_ != phase) return false;
    WEFT_ASSERT(arrived_ != 0, "the phase goes on, so this arrival is still counted");
    if (!WEFT_PLANTED("barrier.keeps_the_arrival")) --arrived_;
    return waited.error();
}

void Barrier::arrive_and_drop() {
    Claimed claimed;
    {
        SpinGuard guard(lock_);
        WEFT_ASSERT(parties_ != 0, "more drops than parties");
        --parties_;
        if (arrived_ != 0) complete(claimed);
    }
    claimed.resume_all();
    turn::step("barrier.arrive_and_drop", this);  // `this` may be destroyed
}

}  // namespace weft
