#include "weft/sync/semaphore.h"

#include "weft/base/assert.h"
#include "weft/base/planted.h"
#include "weft/fiber/turn.h"

namespace weft {

using sync_internal::Claimed;
using sync_internal::Until;

Semaphore::~Semaphore() { WEFT_ASSERT(queue_.empty(), "somebody still waits for the semaphore"); }

// Lock held.
bool Semaphore::take(std::uint64_t count) {
    WEFT_DASSERT(lock_.is_locked());
    WEFT_DASSERT(queue_.empty() || static_cast<Entry*>(queue_.front())->count > permits_ ||
                     WEFT_PLANTED("semaphore.leaves_silently"),
                 "the first waiter waits only while there are not enough permits for it");
    if (!queue_.empty() || permits_ < count) return false;
    permits_ -= count;
    return true;
}

// Lock held. Serves waiters from the front as long as there are enough permits.
void Semaphore::grant(Claimed& claimed) {
    WEFT_DASSERT(lock_.is_locked());
    while (auto* first = static_cast<Entry*>(queue_.front())) {
        if (first->count > permits_) return;
        // Removed in any case; a waiter whose wait has ended gets nothing.
        queue_.remove(*first);
        if (WEFT_PLANTED("semaphore.charges_the_ended")) permits_ -= first->count;
        if (!first->ref.try_claim(Wake::Ready)) continue;
        if (WEFT_PLANTED("semaphore.charges_the_ended")) permits_ += first->count;
        permits_ -= first->count;
        claimed.add(first->ref);
    }
}

Result<void> Semaphore::acquire_until(Deadline deadline, std::uint64_t count,
                                      const CancelToken& token) {
    turn::may_wait("semaphore.acquire", this);
    return acquire_by(Until(deadline, token), count);
}

// The clock is read only if the call has to wait.
Result<void> Semaphore::acquire_within(Nanoseconds duration, std::uint64_t count) {
    turn::may_wait("semaphore.acquire_for", this);
    {
        SpinGuard guard(lock_);
        if (take(count)) return {};
    }
    return acquire_by(Until(Deadline::after(duration)), count);
}

Result<void> Semaphore::acquire_by(const Until& until, std::uint64_t count) {
    lock_.lock();
    if (take(count)) {
        lock_.unlock();
        return {};
    }
    Entry entry;
    entry.count = count;
    Result<void> waited = queue_.wait(lock_, entry, WaitReason::Semaphore, this, until);
    if (waited) return waited;
    // The next waiters may want fewer permits than this one did.
    Claimed claimed;
    {
        SpinGuard guard(lock_);
        queue_.remove(entry);
        if (!WEFT_PLANTED("semaphore.leaves_silently")) grant(claimed);
    }
    claimed.resume_all();
    return waited;
}

bool Semaphore::try_acquire(std::uint64_t count) {
    turn::step("semaphore.try_acquire", this);
    SpinGuard guard(lock_);
    return take(count);
}

void Semaphore::release(std::uint64_t count) {
    Claimed claimed;
    {
        SpinGuard guard(lock_);
        WEFT_ASSERT(permits_ + count >= permits_, "more permits than can be counted");
        permits_ += count;
        grant(claimed);
    }
    claimed.resume_all();
    turn::step("semaphore.release", this);  // `this` may be destroyed
}

std::uint64_t Semaphore::available() const {
    turn::step("semaphore.available", this);
    SpinGuard guard(lock_);
    return permits_;
}

}  // namespace weft
