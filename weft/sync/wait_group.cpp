#include "weft/sync/wait_group.h"

#include "weft/base/assert.h"
#include "weft/fiber/turn.h"

namespace weft {

using sync_internal::Claimed;
using sync_internal::Until;
using sync_internal::WaitEntry;

WaitGroup::~WaitGroup() { WEFT_ASSERT(queue_.empty(), "somebody still waits for the group"); }

void WaitGroup::add(std::uint64_t count) {
    turn::step("wait_group.add", this);
    SpinGuard guard(lock_);
    WEFT_ASSERT(count_ + count >= count_, "more than can be counted");
    count_ += count;
}

void WaitGroup::done() {
    Claimed claimed;
    {
        SpinGuard guard(lock_);
        WEFT_ASSERT(count_ != 0, "done() more often than add()");
        if (--count_ == 0) queue_.claim_all(claimed);
    }
    claimed.resume_all();
    turn::step("wait_group.done", this);  // `this` may be destroyed
}

Result<void> WaitGroup::wait_until(Deadline deadline, const CancelToken& token) {
    turn::may_wait("wait_group.wait", this);
    lock_.lock();
    if (count_ == 0) {
        WEFT_DASSERT(queue_.empty(), "nobody waits while the count is zero");
        lock_.unlock();
        return {};
    }
    WaitEntry entry;
    Result<void> waited =
        queue_.wait(lock_, entry, WaitReason::WaitGroup, this, Until(deadline, token));
    if (waited) return waited;
    SpinGuard guard(lock_);
    queue_.remove(entry);
    return waited;
}

std::uint64_t WaitGroup::count() const {
    turn::step("wait_group.count", this);
    SpinGuard guard(lock_);
    return count_;
}

}  // namespace weft
