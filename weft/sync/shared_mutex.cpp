#include "weft/sync/shared_mutex.h"

#include <string>

#include "weft/base/assert.h"
#include "weft/base/planted.h"
#include "weft/fiber/turn.h"

namespace weft {

using sync_internal::Claimed;

static std::string recursion() {
    return who_runs() +
           " locks a SharedMutex that it holds for writing, and would wait for ever: unlock it "
           "first";
}

SharedMutex::~SharedMutex() {
    WEFT_ASSERT(queue_.empty(), "somebody still waits for the mutex");
    WEFT_ASSERT(!writer_ && readers_ == 0, "the mutex is held");
}

bool SharedMutex::is_open_to(Mode mode) const {
    return !writer_ && (mode == Mode::Shared || readers_ == 0);
}

void SharedMutex::admit(Mode mode) {
    WEFT_DASSERT(lock_.is_locked() && is_open_to(mode));
    WEFT_DASSERT(holder_ == 0, "the mark of a writer is gone with its unlock()");
    if (mode == Mode::Exclusive) {
        writer_ = true;
    } else {
        WEFT_ASSERT(readers_ != UINT32_MAX, "more readers than can be counted");
        ++readers_;
    }
}

// Lock held. Admits waiters from the front as long as their mode is compatible with the holders.
void SharedMutex::grant(Claimed& claimed) {
    while (auto* first = static_cast<Entry*>(queue_.front())) {
        if (!is_open_to(first->mode)) return;
        // Removed in any case; a waiter whose wait has ended is not admitted.
        queue_.remove(*first);
        if (!first->ref.try_claim(Wake::Ready)) continue;
        admit(first->mode);
        claimed.add(first->ref);
    }
}

bool SharedMutex::try_acquire(Mode mode) {
    turn::step("shared_mutex.try_lock", this);
    SpinGuard guard(lock_);
    if (!queue_.empty() || !is_open_to(mode)) return false;
    admit(mode);
    if (mode == Mode::Exclusive) holder_ = stack_mark();
    return true;
}

Result<void> SharedMutex::acquire(Mode mode, const Until& until) {
    turn::may_wait(mode == Mode::Shared ? "shared_mutex.lock_shared" : "shared_mutex.lock", this);
    lock_.lock();
    if (queue_.empty() && is_open_to(mode)) {
        admit(mode);
        if (mode == Mode::Exclusive) holder_ = stack_mark();
        lock_.unlock();
        return {};
    }
    if (writer_ && until.deadline.is_never() && is_mark_of_this_stack(holder_)) {
        lock_.unlock();
        return Error(ErrorKind::Misuse, recursion());
    }
    Entry entry;
    entry.mode = mode;
    Result<void> waited = queue_.wait(lock_, entry, WaitReason::SharedMutex, this, until);
    if (waited) {
        // The mark identifies this holder until unlock(); see is_mark_of_this_stack().
        SpinGuard guard(lock_);
        WEFT_DASSERT(mode == Mode::Exclusive ? writer_ : readers_ != 0,
                     "whoever grants the mutex has admitted the waiter");
        if (mode == Mode::Exclusive) holder_ = stack_mark();
        return waited;
    }
    // Readers may have waited behind a writer that gives up.
    Claimed claimed;
    {
        SpinGuard guard(lock_);
        queue_.remove(entry);
        if (!WEFT_PLANTED("shared_mutex.leaves_silently")) grant(claimed);
    }
    claimed.resume_all();
    return waited;
}

void SharedMutex::acquire_always(Mode mode) {
    Result<void> held = acquire(mode, Until(Deadline::never(), Cancellable::No));
    if (!held) WEFT_ASSERTION_FAILED("not recursive", recursion().c_str(), __FILE__, __LINE__);
}

void SharedMutex::unlock() {
    Claimed claimed;
    {
        SpinGuard guard(lock_);
        WEFT_ASSERT(writer_, "unlock() of a mutex that is not held");
        WEFT_ASSERT(readers_ == 0, "a writer holds the mutex alone");
        writer_ = false;
        holder_ = 0;
        grant(claimed);
    }
    claimed.resume_all();
    turn::step("shared_mutex.unlock", this);  // `this` may be destroyed
}

void SharedMutex::unlock_shared() {
    Claimed claimed;
    {
        SpinGuard guard(lock_);
        WEFT_ASSERT(readers_ != 0, "unlock_shared() of a mutex that is not held");
        WEFT_ASSERT(!writer_, "readers hold the mutex without a writer");
        --readers_;
        grant(claimed);
    }
    claimed.resume_all();
    turn::step("shared_mutex.unlock_shared", this);  // `this` may be destroyed
}

bool SharedMutex::try_lock_until(Deadline deadline) {
    return acquire(Mode::Exclusive, Until(deadline, Cancellable::No)).has_value();
}

bool SharedMutex::try_lock_shared_until(Deadline deadline) {
    return acquire(Mode::Shared, Until(deadline, Cancellable::No)).has_value();
}

Result<void> SharedMutex::lock_cancellable(Deadline deadline, const CancelToken& token) {
    return acquire(Mode::Exclusive, Until(deadline, token));
}

Result<void> SharedMutex::lock_shared_cancellable(Deadline deadline, const CancelToken& token) {
    return acquire(Mode::Shared, Until(deadline, token));
}

}  // namespace weft
