#include "weft/sync/mutex.h"

#include "weft/base/assert.h"
#include "weft/base/planted.h"
#include "weft/sync/limits.h"

namespace weft {

using sync_internal::WaitQueue;

Mutex::~Mutex() {
    WEFT_ASSERT(queue_.empty(), "somebody still waits for the mutex");
    // Relaxed: an assertion; whoever destroys the mutex has seen the last unlock.
    WEFT_ASSERT((state_.load(std::memory_order_relaxed) & kLocked) == 0, "the mutex is held");
}

void Mutex::lock_slowly() {
    turn::may_wait("mutex.lock", this);
    if (take()) return;
    Result<void> locked = lock_by(Until(Deadline::never(), Cancellable::No));
    WEFT_ASSERT(locked.has_value(), "this wait has no end but the lock");
}

// Nobody may hold a mutex while others have their turns, so it is given back first.
void Mutex::lock_in_next_turn() {
    give_back();
    lock_slowly();
}

bool Mutex::lock_until(Deadline deadline) {
    return lock_by(Until(deadline, Cancellable::No)).has_value();
}

Result<void> Mutex::lock_cancellable(Deadline deadline, const CancelToken& token) {
    turn::may_wait("mutex.lock_cancellable", this);
    if (take()) return {};
    return lock_by(Until(deadline, token));
}

// Under queue_lock_. False if the mutex became free: then there is nothing to wait for. From a true
// answer on, the holder's unlock() comes to queue_lock_ and finds the entry that is queued next.
bool Mutex::announce_wait(bool was_woken, bool hand_off) {
    // While another one is on its way, that one will see to the queue.
    std::uint32_t bits = was_woken || !woken_ ? kWake : 0;
    if (hand_off) bits |= kHandOff;
    // Relaxed, here and below: the queue is guarded by queue_lock_, the rest by kLocked.
    std::uint32_t state = state_.load(std::memory_order_relaxed);
    while ((state & kLocked) != 0) {
        if (!state_.compare_exchange_weak(state, state | bits, std::memory_order_relaxed,
                                          std::memory_order_relaxed)) {
            continue;
        }
        if (was_woken) woken_ = false;
        return true;
    }
    return false;
}

Result<void> Mutex::lock_by(const Until& until) {
    unsigned losses = 0;  // times that we were woken in vain; if any, woken_ speaks of us
    for (;;) {
        if (take()) {
            if (losses != 0) settle_after_wake();
            return {};
        }
        queue_lock_.lock();
        bool hand_off = losses >= kMutexLossesMax;
        if (!announce_wait(losses != 0, hand_off)) {
            queue_lock_.unlock();
            continue;
        }
        // A waiter that has lost keeps its place.
        auto place = losses != 0 ? WaitQueue::Place::Front : WaitQueue::Place::Back;
        Entry entry;
        Result<void> waited =
            queue_.wait(queue_lock_, entry, WaitReason::Mutex, this, until, place);
        if (!waited) {
            give_up(entry, hand_off);
            return waited;
        }
        if (entry.owns) return {};
        ++losses;
    }
}

void Mutex::give_up(Entry& entry, bool hand_off) {
    SpinGuard guard(queue_lock_);
    queue_.remove(entry);
    std::uint32_t over = hand_off ? kHandOff : 0;
    if (queue_.empty()) over = kHandOff | kWake;
    // Relaxed: see announce_wait().
    if (over != 0) state_.fetch_and(~over, std::memory_order_relaxed);
}

// The woken waiter holds the mutex: the next one may be woken when it lets go.
void Mutex::settle_after_wake() {
    SpinGuard guard(queue_lock_);
    woken_ = false;
    if (WEFT_PLANTED("mutex.forgets_next_waiter")) return;
    // Relaxed: see announce_wait().
    if (!queue_.empty()) state_.fetch_or(kWake, std::memory_order_relaxed);
}

// NB: once kLocked is gone, the next holder may destroy the mutex, so letting go is the last touch.
// While we hold both kLocked and queue_lock_, nobody else writes state_.
void Mutex::unlock_slowly() {
    for (;;) {
        queue_lock_.lock();
        // Relaxed: only we and those who held queue_lock_ before wrote it.
        std::uint32_t state = state_.load(std::memory_order_relaxed);
        WEFT_ASSERT((state & kLocked) != 0,
                    "unlock() of a Mutex that nobody holds: each unlock() needs its own lock()");
        auto* entry = static_cast<Entry*>((state & kWake) ? queue_.claim_first() : nullptr);
        bool hand_off = entry && (state & kHandOff) != 0;
        bool others = !queue_.empty();
        // Relaxed: a hand-off publishes the critical section by resume().
        state_.store(kLocked | (hand_off && others ? kWake : 0), std::memory_order_relaxed);
        if (entry && !hand_off) woken_ = true;
        queue_lock_.unlock();
        if (!entry) {
            std::uint32_t expected = kLocked;
            if (WEFT_PLANTED("mutex.unlocks_blindly"))
                return state_.store(0, std::memory_order_release);
            // Release as in unlock(). It fails when somebody came to wait: look again.
            if (state_.compare_exchange_strong(expected, 0, std::memory_order_release,
                                               std::memory_order_relaxed)) {
                return;
            }
            continue;
        }
        WaitRef next = entry->ref;
        entry->owns = hand_off;
        // Release: as in unlock(). A store: while woken_ is set nobody adds kWake.
        if (!hand_off) state_.store(0, std::memory_order_release);
        return next.resume();
    }
}

}  // namespace weft
