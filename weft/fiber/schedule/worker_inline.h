// The path of a switch, inline. After a switch a fiber returns through frames that the processor's
// return predictor does not know, so each frame between the switch and the caller costs a
// misprediction.
#pragma once

#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/base/planted.h"
#include "weft/fiber/schedule/scheduler.h"
#include "weft/fiber/schedule/worker.h"
#include "weft/fiber/switch/float_state.h"

namespace weft {

// Switches to `next`, or to the loop if it is null.
[[gnu::always_inline]] inline void Worker::switch_to(Fiber* next, SavedContext::Leave leave) {
    WEFT_DASSERT(this_worker() == this, "owning worker only");
    // If there was no memory for its stack, the fiber has been finished with that error, and the
    // loop finds another one.
    if (next && !next->stack && !give_stack(*next)) [[unlikely]]
        next = nullptr;
    Fiber& from = *current_;
    Fiber& to = next ? *next : loop_fiber_;
    if (&from == &to) return;
    WEFT_DASSERT(!(to.flags & Fiber::kEnding), "a fiber that has ended is not resumed");
    left_ = &from;
    current_ = &to;
    // The exceptions of the running fiber are in the thread's state, not in its block.
    if (!thread_exceptions_->is_empty() || !to.exceptions.is_empty()) [[unlikely]] {
        from.exceptions = *thread_exceptions_;
        *thread_exceptions_ = std::exchange(to.exceptions, {});
    }
    if ((from.flags | to.flags) & Fiber::kKeepFloat) [[unlikely]]
        float_state::change(from, to);
    to.busy.begin();
    SavedContext::change(from.context, to.context, leave);
    after_switch();
}

[[gnu::always_inline]] inline void Worker::after_switch() {
    Worker* worker = this_worker();
    Fiber& left = *worker->left_;
    if (left.flags & Fiber::kEnding) [[unlikely]]
        return worker->reclaim_stack(left);
    left.busy.end();
}

inline void Worker::push_ready(Fiber& fiber) {
    WEFT_DASSERT(this_worker() == this, "owning worker only");
    if (!ready_.push(&fiber)) [[unlikely]]
        return overflow(ready_, fiber);
    if (ready_.size() >= 2 && !is_pinned()) scheduler_.wake_one_if_idle();
}

[[gnu::always_inline]] inline Fiber* Worker::take_next() {
    // Relaxed: nobody else puts one there.
    Fiber* fiber = next_.load(std::memory_order_relaxed);
    if (!fiber) return nullptr;
    if (takers_ == Takers::Anybody) {
        // A watchman may take it away while this worker seems stuck. Acquire: pairs with ready().
        return next_.exchange(nullptr, std::memory_order_acquire);
    }
    next_.store(nullptr, std::memory_order_relaxed);
    return fiber;
}

// Null: the context of the fiber is still being saved by another worker, or the dump holds it; it
// has gone back into the queue.
[[gnu::always_inline]] inline Fiber* Worker::runnable(Fiber* fiber) {
    if (!fiber) return nullptr;
    // Acquire: the dump's hold; see dump.cpp.
    bool busy = !fiber->busy.is_over() || fiber->held.load(std::memory_order_acquire);
    if (WEFT_PLANTED("worker.runs_the_unsaved")) return fiber;
    if (!busy || fiber == current_) [[likely]]
        return fiber;
    env::spin_pause(0);
    push_ready(*fiber);
    return nullptr;
}

[[gnu::always_inline]] inline Fiber* Worker::pick() {
    WEFT_DASSERT(this_worker() == this, "owning worker only");
    env::step();
    if (--turn_left_ == 0) [[unlikely]]
        return runnable(pick_after_turn());
    if (Fiber* fiber = take_next()) return runnable(fiber);
    // Ready and fresh fibers alternate, so that neither kind starves while the other never ends.
    if (turn_left_ % 2 == 0) {
        if (Fiber* fiber = fresh_.pop_newest()) return runnable(fiber);
        return runnable(ready_.take_oldest());
    }
    if (Fiber* fiber = ready_.take_oldest()) return runnable(fiber);
    return runnable(fresh_.pop_newest());
}

[[gnu::always_inline]] inline void Worker::park_current() {
    Fiber* me = current_;
    WEFT_DASSERT(me != &loop_fiber_, "the scheduler itself does not park");
    me->parked_at_ms = static_cast<std::uint32_t>(coarse_now_ns_ / 1'000'000);
    Fiber* next = pick();
    // It was woken before it left its stack: it is its own successor.
    if (next == me) return;
    switch_to(next);
}

}  // namespace weft
