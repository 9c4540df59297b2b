#include "weft/sync/mutex.h"

#include <string>

#include "weft/base/assert.h"
#include "weft/base/planted.h"
#include "weft/sync/limits.h"

namespace weft {

using sync_internal::WaitQueue;

static std::string recursion() {
    return who_runs() + " locks a Mutex that it holds, and would wait for ever: unlock it first";
}

Mutex::~Mutex() {
    WEFT_ASSERT(queue_.empty(), "somebody still waits for the mutex");
    WEFT_ASSERT(!woken_, "a waiter was woken and still comes for the mutex");
    // Relaxed: for an assertion; the destructor's caller has seen the last unlock.
    WEFT_ASSERT((state_.load(std::memory_order_relaxed) & kLocked) == 0, "the mutex is held");
}

void Mutex::lock_slowly() {
    turn::may_wait("mutex.lock", this);
    if (try_acquire()) return;
    Result<void> locked = lock_by(Until(Deadline::never(), Cancellable::No));
    if (!locked) WEFT_ASSERTION_FAILED("not recursive", recursion().c_str(), __FILE__, __LINE__);
}

// The fiber is about to give up its turn, and others would wait for the mutex: unlock it first.
void Mutex::lock_in_next_turn() {
    release();
    lock_slowly();
}

bool Mutex::lock_until(Deadline deadline) {
    return lock_by(Until(deadline, Cancellable::No)).has_value();
}

Result<void> Mutex::lock_cancellable(Deadline deadline, const CancelToken& token) {
    turn::may_wait("mutex.lock_cancellable", this);
    if (try_acquire()) return {};
    return lock_by(Until(deadline, token));
}

// Never true by mistake: the mark of this fiber's stack is there only while this fiber holds it.
bool Mutex::is_held_here() const {
    // Relaxed: a mark of this stack is this fiber's own write; any other mark means false.
    return is_mark_of_this_stack(state_.load(std::memory_order_relaxed) & kHolder);
}

// Under queue_lock_. False if the mutex is free: there is nothing to wait for. After true the
// holder's unlock() takes queue_lock_, so it finds the entry that the caller queues next.
bool Mutex::announce_wait(bool was_woken, bool hand_off) {
    WEFT_DASSERT(queue_lock_.is_locked());
    WEFT_ASSERT(!was_woken || woken_, "woken_ is set until the woken waiter clears it");
    // While another waiter is woken, kWake is not needed: that waiter sets it once it has locked
    // the mutex or queues again.
    std::uintptr_t bits = was_woken || !woken_ ? kWake : 0;
    if (hand_off) bits |= kHandOff;
    // Relaxed, here and below: the queue is guarded by queue_lock_, the rest by kLocked.
    std::uintptr_t state = state_.load(std::memory_order_relaxed);
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
    if (until.deadline.is_never() && is_held_here()) {
        return Error(ErrorKind::Misuse, recursion());
    }
    unsigned losses = 0;  // how often this waiter was woken in vain; if not 0, woken_ is its flag
    for (;;) {
        if (try_acquire()) {
            if (losses != 0) finish_wake();
            return {};
        }
        queue_lock_.lock();
        bool hand_off = losses >= kMutexLossesMax;
        if (!announce_wait(losses != 0, hand_off)) {
            queue_lock_.unlock();
            continue;
        }
        // A waiter that was woken in vain keeps its position at the front.
        auto place = losses != 0 ? WaitQueue::Place::Front : WaitQueue::Place::Back;
        Entry entry;
        Result<void> waited =
            queue_.wait(queue_lock_, entry, WaitReason::Mutex, this, until, place);
        if (!waited) {
            leave_queue(entry, hand_off);
            return waited;
        }
        if (entry.owns) {
            // Relaxed: the mark is read by is_held_here() of this fiber; others change other bits.
            std::uintptr_t former = state_.fetch_or(stack_mark(), std::memory_order_relaxed);
            WEFT_ASSERT((former & (kLocked | kHolder)) == kLocked,
                        "a mutex is handed over locked and without a mark");
            return {};
        }
        ++losses;
    }
}

void Mutex::leave_queue(Entry& entry, bool hand_off) {
    SpinGuard guard(queue_lock_);
    queue_.remove(entry);
    std::uintptr_t over = hand_off ? kHandOff : 0;
    if (queue_.empty()) over = kHandOff | kWake;
    // Relaxed: see announce_wait().
    if (over != 0) state_.fetch_and(~over, std::memory_order_relaxed);
}

// The woken waiter holds the mutex now, so its unlock() may wake the next one.
void Mutex::finish_wake() {
    SpinGuard guard(queue_lock_);
    WEFT_ASSERT(woken_, "woken_ is set until the woken waiter clears it");
    woken_ = false;
    if (WEFT_PLANTED("mutex.forgets_next_waiter")) return;
    // Relaxed: see announce_wait().
    if (!queue_.empty()) state_.fetch_or(kWake, std::memory_order_relaxed);
}

// False when a waiter has announced itself meanwhile.
bool Mutex::try_release(std::uintptr_t held) {
    // Release and relaxed: as in unlock().
    return state_.compare_exchange_strong(held, 0, std::memory_order_release,
                                          std::memory_order_relaxed);
}

// Also called when the mutex was locked on one page of the stack and is unlocked on another one.
// NB: once kLocked is cleared, the next holder may destroy the mutex: no access may follow.
// While this fiber holds both kLocked and queue_lock_, nobody else writes state_.
void Mutex::unlock_slowly() {
    // Relaxed: the mark is this fiber's own; bits of others are read again under queue_lock_.
    std::uintptr_t state = state_.load(std::memory_order_relaxed);
    if ((state & ~kHolder) == kLocked && try_release(state)) return;
    for (;;) {
        queue_lock_.lock();
        // Relaxed: written only by this fiber and by earlier holders of queue_lock_.
        state = state_.load(std::memory_order_relaxed);
        WEFT_ASSERT((state & kLocked) != 0,
                    "unlock() of a Mutex that nobody holds: each unlock() needs its own lock()");
        auto* entry = static_cast<Entry*>((state & kWake) ? queue_.claim_first() : nullptr);
        WEFT_ASSERT(!entry || !woken_, "one waiter is woken at a time");
        bool hand_off = entry && (state & kHandOff) != 0;
        bool others = !queue_.empty();
        // Relaxed: a handoff publishes the critical section by resume().
        std::uintptr_t held = kLocked | (state & kHolder);
        if (hand_off) held = kLocked | (others ? kWake : 0);
        state_.store(held, std::memory_order_relaxed);
        if (entry && !hand_off) woken_ = true;
        queue_lock_.unlock();
        if (!entry) {
            if (WEFT_PLANTED("mutex.unlocks_blindly"))
                return state_.store(0, std::memory_order_release);
            if (try_release(held)) return;
            continue;
        }
        WaitRef next = entry->ref;
        entry->owns = hand_off;
        // Release: as in unlock(). A plain store, because nobody adds kWake while woken_ is set.
        if (!hand_off) state_.store(0, std::memory_order_release);
        return next.resume();
    }
}

}  // namespace weft
