#include "weft/sync/condition.h"

#include "weft/base/assert.h"
#include "weft/base/planted.h"
#include "weft/fiber/turn.h"

namespace weft {

using sync_internal::Claimed;
using sync_internal::WaitEntry;

Condition::~Condition() { WEFT_ASSERT(queue_.empty(), "somebody still waits for the condition"); }

Result<void> Condition::wait_until(std::unique_lock<Mutex>& lock, Deadline deadline,
                                   const CancelToken& token) {
    WEFT_ASSERT(lock.owns_lock(), "wait for a condition with its mutex locked");
    if (WEFT_PLANTED("condition.unlocks_first")) lock.unlock();
    Waiter waiter(WaitReason::Condition, this);
    WaitEntry entry{.ref = waiter.ref(), .link = {}};
    {
        SpinGuard guard(queue_lock_);
        queue_.push_back(entry);
    }
    // The entry is queued before the mutex is unlocked, so a later change finds it.
    if (lock.owns_lock()) lock.unlock();
    Result<void> waited = waiter.to_result(waiter.wait(deadline, token.state()));
    if (!waited) {
        SpinGuard guard(queue_lock_);
        queue_.remove(entry);
    }
    lock.lock();
    return waited;
}

void Condition::notify_one() {
    turn::step("condition.notify_one", this);
    queue_lock_.lock();
    WaitEntry* entry = queue_.claim_first();
    queue_lock_.unlock();
    if (entry) WaitRef(entry->ref).resume();
}

void Condition::notify_all() {
    turn::step("condition.notify_all", this);
    Claimed claimed;
    {
        SpinGuard guard(queue_lock_);
        queue_.claim_all(claimed);
    }
    claimed.resume_all();
}

}  // namespace weft
