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
    // Relaxed: an assertion; whoever destroys the mutex has seen the last unlock.
    WEFT_ASSERT((state_.load(std::memory_order_relaxed) & kLocked) == 0, "the mutex is held");
}

void Mutex::lock_slowly() {
    turn::may_wait("mutex.lock", this);
    if (take()) return;
    Result<void> locked = lock_by(Until(Deadline::never(), Cancellable::No));
    if (!locked) WEFT_ASSERTION_FAILED("not recursive", recursion().c_str(), __FILE__, __LINE__);
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

// No false alarm: a mark of our stack is there only if we took the mutex and have not let it go.
bool Mutex::is_held_here() const {
    // Relaxed: if we hold it, the mark is our own write; of others only the mark counts.
    return is_mark_of_this_stack(state_.load(std::memory_order_relaxed) & kHolder);
}

// Under queue_lock_. False if the mutex became free: then there is nothing to wait for. From a true
// answer on, the holder's unlock() comes to queue_lock_ and finds the entry that is queued next.
bool Mutex::announce_wait(bool was_woken, bool hand_off) {
    // While another one is on its way, that one will see to the queue.
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
        if (entry.owns) {
            // Relaxed: ours; it is for is_held_here(), and others only add or remove their bits.
            state_.fetch_or(stack_mark(), std::memory_order_relaxed);
            return {};
        }
        ++losses;
    }
}

void Mutex::give_up(Entry& entry, bool hand_off) {
    SpinGuard guard(queue_lock_);
    queue_.remove(entry);
    std::uintptr_t over = hand_off ? kHandOff : 0;
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

// False when somebody came to wait.
bool Mutex::let_go(std::uintptr_t held) {
    // Release and relaxed: as in unlock().
    return state_.compare_exchange_strong(held, 0, std::memory_order_release,
                                          std::memory_order_relaxed);
}

// Comes also when somebody locked on one page of its stack and unlocks on another.
// NB: once kLocked is gone, the next holder may destroy the mutex, so letting go is the last touch.
// While we hold both kLocked and queue_lock_, nobody else writes state_.
void Mutex::unlock_slowly() {
    // Relaxed: the mark is our own; what others have added is looked at under queue_lock_.
    std::uintptr_t state = state_.load(std::memory_order_relaxed);
    if ((state & ~kHolder) == kLocked && let_go(state)) return;
    for (;;) {
        queue_lock_.lock();
        // Relaxed: only we and those who held queue_lock_ before wrote it.
        state = state_.load(std::memory_order_relaxed);
        WEFT_ASSERT((state & kLocked) != 0,
                    "unlock() of a Mutex that nobody holds: each unlock() needs its own lock()");
        auto* entry = static_cast<Entry*>((state & kWake) ? queue_.claim_first() : nullptr);
        bool hand_off = entry && (state & kHandOff) != 0;
        bool others = !queue_.empty();
        // Relaxed: a hand-off publishes the critical section by resume().
        std::uintptr_t held = kLocked | (state & kHolder);
        if (hand_off) held = kLocked | (others ? kWake : 0);
        state_.store(held, std::memory_order_relaxed);
        if (entry && !hand_off) woken_ = true;
        queue_lock_.unlock();
        if (!entry) {
            if (WEFT_PLANTED("mutex.unlocks_blindly"))
                return state_.store(0, std::memory_order_release);
            if (let_go(held)) return;
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
