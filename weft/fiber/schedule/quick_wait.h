// The steps of a wait, of which Waiter is made; and QuickWait: the same steps for a fiber that only
// a claim, its ambient token or a deadline wakes, all inline.
//
// With a QuickWait no frame lies between the switch and the function that waits, and cell and word
// stay in registers: together about a fifth of a hand-over between two fibers. For the few
// functions that are that hot.
#pragma once

#include <cstdint>

#include "weft/base/planted.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/schedule/timer.h"
#include "weft/fiber/schedule/worker_inline.h"
#include "weft/fiber/waiter.h"

namespace weft {

namespace wait_steps {

// True: the ambient token has ended, and with it the wait, as Cancelled.
[[gnu::always_inline]] inline bool leave_cancelled(WaitRef wait) {
    bool shielded = WaitWord::state_of(wait.word()) == WaitWord::WaitingShielded ||
                    WEFT_PLANTED("waiter.does_not_look_at_the_token");
    return !shielded && wait.cell()->token->is_cancelled() && wait.try_claim(Wake::Cancelled);
}
// Of one who does not wait after all. Self-claimed, so that no canceller can: one that was faster
// resumes it, and it takes that (false).
[[gnu::always_inline]] inline bool leave(WaitRef wait) { return wait.try_claim(Wake::Ready); }
// On a fiber: until it is claimed.
[[gnu::always_inline]] inline Wake park(WaitCell& cell) {
    this_worker()->park_current();
    return cell.word.outcome();
}

// The same, or until the deadline has come; it is one.
[[gnu::always_inline]] inline Wake park_until(WaitRef wait, Deadline deadline) {
    WaitCell& cell = *wait.cell();
    // The wheel stays that of the worker where the wait began, wherever the fiber goes on.
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
    // Both were due at one look of the wheel: the earlier deadline is the reason.
    cell.token->expire_if_due();
    return Wake::Cancelled;
}

}  // namespace wait_steps

class QuickWait {
public:
    // The cell of the running fiber; null on a plain thread, when the fiber has no token, or when a
    // sanitizer wants to be told of everything: such waits are for Waiter.
    [[gnu::always_inline]] static WaitCell* cell() {
        if (sanitizer::wants_telling()) [[unlikely]]
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

    // The same, or TimedOut; the deadline is one.
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
