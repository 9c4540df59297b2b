// The steps of a wait, of which Waiter consists; and QuickWait: the same steps, all inline, for a
// fiber that is woken only by a claim, its ambient token or a deadline.
//
// With a QuickWait no frame lies between the switch and the function that waits, and cell and word
// stay in registers: this saves about a fifth of a handoff between two fibers. For the few
// functions that are that hot. The running fiber only.
#pragma once

#include <cstdint>

#include "weft/base/planted.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/schedule/timer.h"
#include "weft/fiber/schedule/worker_inline.h"
#include "weft/fiber/waiter.h"

namespace weft {

namespace wait_steps {

// True: the ambient token is cancelled, and the wait has ended as Cancelled.
[[gnu::always_inline]] inline bool leave_cancelled(WaitRef wait) {
    bool shielded = WaitWord::state_of(wait.word()) == WaitWord::WaitingShielded ||
                    WEFT_PLANTED("waiter.does_not_look_at_the_token");
    return !shielded && wait.cell()->token->is_cancelled() && wait.try_claim(Wake::Cancelled);
}
// Ends a wait without parking, by claiming it itself, so that no canceller can. False: a canceller
// has claimed it, and will resume the fiber, which must therefore park.
[[gnu::always_inline]] inline bool leave(WaitRef wait) { return wait.try_claim(Wake::Ready); }
// On a fiber: parks until the wait is claimed and the fiber resumed.
[[gnu::always_inline]] inline Wake park(WaitCell& cell) {
    this_worker()->park_current();
    return cell.word.outcome();
}

// The same, or until the deadline, which is not `never`.
[[gnu::always_inline]] inline Wake park_until(WaitRef wait, Deadline deadline) {
    WaitCell& cell = *wait.cell();
    // The timer stays in the wheel of the worker where the wait began, wherever the fiber resumes.
    Worker* worker = this_worker();
    TimerWheel& wheel = worker->timers();
    Timer timer(wait);
    wheel.set(timer, deadline.instant());
    worker->park_current();
    Wake wake = cell.word.outcome();
    if (wake != Wake::TimedOut) {
        wheel.cancel(timer);
        return wake;
    }
    bool shielded = WaitWord::state_of(wait.word()) == WaitWord::WaitingShielded;
    if (shielded || !(cell.token->deadline() < deadline)) return Wake::TimedOut;
    // Both deadlines have passed, the token's first: so that is the reason.
    cell.token->expire_if_due();
    return Wake::Cancelled;
}

}  // namespace wait_steps

class QuickWait {
public:
    // The cell of the running fiber; null on a plain thread, when the fiber has no token, or when a
    // sanitizer has to be told of every step: then a Waiter must be used.
    [[gnu::always_inline]] static WaitCell* cell() {
        if (sanitizer::must_report()) [[unlikely]]
            return nullptr;
        Worker* worker = this_worker();
        if (!worker) return nullptr;
        WaitCell* running = worker->current();
        if (running && running->lists_late) [[unlikely]]
            CancelState::list_late(*running);
        return running && running->token ? running : nullptr;
    }

    [[gnu::always_inline]] QuickWait(WaitCell& cell, WaitReason reason, const void* object)
        : cell_(cell), word_(cell.begin_wait(reason, object, Cancellable::Yes)) {}
    QuickWait(const QuickWait&) = delete;
    QuickWait& operator=(const QuickWait&) = delete;

    [[gnu::always_inline]] WaitRef ref() const { return WaitRef(cell_, word_); }

    // Ready, or Cancelled by the ambient token.
    [[gnu::always_inline]] Wake wait() {
        if (wait_steps::leave_cancelled(ref())) [[unlikely]]
            return Wake::Cancelled;
        return wait_steps::park(cell_);
    }

    // The same, or TimedOut; the deadline is not `never`.
    [[gnu::always_inline]] Wake wait(Deadline deadline) {
        if (wait_steps::leave_cancelled(ref())) [[unlikely]]
            return Wake::Cancelled;
        return wait_steps::park_until(ref(), deadline);
    }

    // Ends the epoch without waiting, as Waiter::abandon() does.
    void abandon() {
        if (!wait_steps::leave(ref())) this_worker()->park_current();
    }

private:
    WaitCell& cell_;
    std::uint64_t word_;
};

}  // namespace weft
