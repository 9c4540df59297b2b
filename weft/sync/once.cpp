#include "weft/sync/once.h"

#include "weft/base/assert.h"
#include "weft/base/planted.h"

namespace weft {

using sync_internal::Claimed;
using sync_internal::Until;
using sync_internal::WaitEntry;

Once::~Once() {
    WEFT_ASSERT(queue_.empty(), "somebody still waits for the call");
    // Relaxed: for an assertion; the destructor's caller has seen the end of every call.
    WEFT_ASSERT(state_.load(std::memory_order_relaxed) != State::Running,
                "the function still runs");
}

Result<Once::Next> Once::begin(Deadline deadline, const CancelToken& token) {
    for (;;) {
        lock_.lock();
        // Relaxed, here and below: written under the lock; only is_done() reads it without the
        // lock, and pairs with the release of Done.
        State state = state_.load(std::memory_order_relaxed);
        if (state == State::Done) {
            WEFT_DASSERT(queue_.empty(), "nobody waits for a function that has run");
            lock_.unlock();
            return Next::Return;
        }
        if (state == State::New) {
            WEFT_DASSERT(!runner_, "nobody runs the function");
            state_.store(State::Running, std::memory_order_relaxed);
            runner_ = &current_cell();
            lock_.unlock();
            return Next::RunFunction;
        }
        WEFT_ASSERT(runner_ != &current_cell(), "the function calls its own Once");
        WaitEntry entry;
        Result<void> waited =
            queue_.wait(lock_, entry, WaitReason::Once, this, Until(deadline, token));
        if (waited) continue;
        SpinGuard guard(lock_);
        queue_.remove(entry);
        return waited.error();
    }
}

void Once::finish(State end) {
    Claimed claimed;
    {
        SpinGuard guard(lock_);
        WEFT_ASSERT(end != State::Running, "a run ends as done, or as new when it has failed");
        // Relaxed: see begin().
        WEFT_ASSERT(state_.load(std::memory_order_relaxed) == State::Running,
                    "only the run that began can end");
        runner_ = nullptr;
        // Release: publishes what the function did; pairs with is_done().
        state_.store(end, std::memory_order_release);
        if (end == State::Done) {
            queue_.claim_all(claimed);
        } else if (WEFT_PLANTED("once.fails_silently")) {
            return;
        } else if (WaitEntry* next = queue_.claim_first()) {
            claimed.add(next->ref);
        }
    }
    claimed.resume_all();
}

}  // namespace weft
