#include "weft/fiber/schedule/loop_timer.h"

#include "weft/base/assert.h"
#include "weft/fiber/schedule/worker.h"

namespace weft {

void LoopTimer::set(Instant deadline) {
    if (state_ == State::Posted) return;
    cancel();
    worker_ = this_worker();
    WEFT_ASSERT(worker_ && worker_->is_pinned(), "a LoopTimer belongs to a pinned worker");
    state_ = State::Set;
    worker_->timers().set(timer_, deadline);
}

void LoopTimer::cancel() {
    if (state_ != State::Set) return;
    WEFT_ASSERT(worker_ == this_worker(), "a LoopTimer is cancelled by its own worker");
    bool cancelled = worker_->timers().cancel(timer_);
    WEFT_ASSERT(cancelled, "only its own worker fires a timer of a pinned worker");
    state_ = State::Idle;
}

void LoopTimer::on_due(Timer& timer, TimerEnd end) {
    LoopTimer& self = static_cast<OwnTimer&>(timer).owner;
    self.state_ = State::Idle;
    if (end == TimerEnd::Dropped) return;
    self.state_ = State::Posted;
    self.worker_->post(self.record_);
}

}  // namespace weft
