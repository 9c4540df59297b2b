// What a worker does when its own queues are empty, and what it does for others meanwhile.
#include <algorithm>
#include <array>

#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/base/planted.h"
#include "weft/fiber/io/io_table.h"
#include "weft/fiber/schedule/scheduler.h"
#include "weft/fiber/schedule/worker_inline.h"

namespace weft {

Fiber* Worker::find_work() {
    take_posted_fibers();
    if (Fiber* fiber = ready_.take_oldest()) return fiber;
    if (is_pinned()) return nullptr;
    if (Fiber* fiber = take_global(scheduler_.global_ready(), ready_)) return fiber;
    if (Fiber* fiber = take_global(scheduler_.global_fresh(), fresh_)) return fiber;
    return steal();
}

Fiber* Worker::steal() {
    if (scheduler_.stealing_count_ < 2) return nullptr;
    // A producer that sees a searcher wakes nobody. A searcher that finds nothing looks once more
    // in sleep().
    scheduler_.sleepers_.begin_search();
    unsigned count = scheduler_.worker_count();
    auto first = static_cast<unsigned>(env::random(RandomStream::Scheduler) % count);
    Fiber* stolen = nullptr;
    for (unsigned i = 0; i < count && !stolen; ++i) {
        Worker& victim = scheduler_.worker((first + i) % count);
        if (&victim != this && !victim.is_pinned()) stolen = steal_from(victim);
    }
    scheduler_.sleepers_.end_search();
    // There is more than this worker can run at once: wake another one.
    if (stolen && ready_.size() >= 2) scheduler_.wake_one_if_idle();
    return stolen;
}

// Takes the oldest fiber, and moves up to half of the others into the own queue of the same kind.
Fiber* Worker::steal_from(Worker& victim) {
    for (RunQueue<Fiber> Worker::* queue : {&Worker::ready_, &Worker::fresh_}) {
        unsigned half = std::min((victim.*queue).size() / 2, kStealMax);
        Fiber* first = (victim.*queue).pop_oldest();
        if (!first) continue;
        for (unsigned i = 0; i < half; ++i) {
            Fiber* fiber = (victim.*queue).pop_oldest();
            if (!fiber) break;
            if (!(this->*queue).push(fiber)) {
                overflow(this->*queue, *fiber);
                break;
            }
        }
        return first;
    }
    return nullptr;
}

// At the end of a turn: reads the clock, takes posted fibers, fires due timers, and polls the
// reactor if that is due.
void Worker::look_around() {
    // Relaxed: only shows the watchman that this worker makes progress. One writer.
    turns_.store(turns_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    coarse_now_ns_ = env::now_ns();
    // What is called here runs on the stack of the fiber that is leaving, but not as that fiber.
    Fiber* leaving = std::exchange(current_, &loop_fiber_);
    take_posted_fibers();
    if (coarse_now_ns_ >= timers_.next_due_ns()) expire_timers(*this);
    if (!is_pinned() && ready_.size() < kEventBatch) {
        if (Fiber* fiber = take_global(scheduler_.global_ready(), ready_)) push_ready(*fiber);
    }
    // While the queue has no room, events stay in the kernel, in their order: in the global queue
    // those that have waited longest would be overtaken by later ones. Only if the queue stays full
    // for long is it made to overflow.
    std::int64_t since_poll_ns = coarse_now_ns_ - polled_ns_;
    unsigned room = RunQueue<Fiber>::kCapacity - ready_.size();
    WEFT_DASSERT(room <= RunQueue<Fiber>::kCapacity, "a queue holds at most its capacity");
    if (since_poll_ns >= kTurnNs && (room >= kEventBatch || since_poll_ns >= kPollNsMax))
        deliver(*reactor_, false, 0, std::clamp(room, kEventsMin, kEventBatch));
    current_ = leaving;
    scheduler_.report_if_watched();
}

void Worker::take_posted_fibers() {
    if (fiber_inbox_.empty()) return;
    for (auto* cell = fiber_inbox_.take_all(); cell;) {
        WaitCell* following = cell->next;
        auto& fiber = static_cast<Fiber&>(*cell);
        if (!ready_.push(&fiber)) overflow(ready_, fiber);
        cell = following;
    }
}

// Only in the loop itself, on the thread's own stack: that is large, always the same, and known to
// a script engine whose garbage collector scans it.
void Worker::run_completions() {
    if (inbox_.empty()) return;
    WEFT_ASSERT(current_ == &loop_fiber_, "records run in the loop, on the thread's own stack");
    for (Completion* completion = inbox_.take_all(); completion;) {
        Completion* following = completion->next;
        completion->run(*completion);
        completion = following;
    }
}

void Worker::expire_timers(Worker& owner) {
    for (WaitCell* cell = owner.timers_.expire(Instant(Nanoseconds(coarse_now_ns_))); cell;) {
        WaitCell* following = cell->next;
        WaitRef(*cell, 0).resume();
        cell = following;
    }
}

void Worker::deliver(Reactor& reactor, bool for_owner, std::int64_t deadline_ns, unsigned most) {
    std::span<IoEvent> events = std::span(events_).first(most);
    std::size_t count =
        for_owner ? reactor.poll_for_owner(events) : reactor.poll(events, deadline_ns);
    WEFT_ASSERT(count <= events.size(), "a reactor gives at most as many events as there is room");
    // After a sleep the coarse clock is old: read it before callbacks and fibers use it.
    if (!for_owner && deadline_ns != 0 && count != 0) coarse_now_ns_ = env::now_ns();
    if (!for_owner) polled_ns_ = coarse_now_ns_;
    scheduler_.io().dispatch(events.first(count));
}

// Called after the worker has announced its sleep.
bool Worker::sees_work() const {
    if (!fiber_inbox_.empty() || !inbox_.empty()) return true;
    // A dump on another thread may put a fiber back that it has held while it was woken.
    if (is_pinned()) return !ready_.empty() || !fresh_.empty();
    if (scheduler_.global_ready().size() != 0 || scheduler_.global_fresh().size() != 0) return true;
    for (const auto& worker : scheduler_.workers_) {
        if (!worker->is_pinned() && (!worker->ready_.empty() || !worker->fresh_.empty()))
            return true;
    }
    return false;
}

void Worker::sleep() {
    WEFT_DASSERT(this_worker() == this && !current(), "a worker sleeps in its own loop");
    auto stays_awake = [this] {
        if (!WEFT_PLANTED("worker.sleep_without_look") && sees_work()) return true;
        // seq_cst: set before all are woken; see end_workers().
        return scheduler_.ending_.load(std::memory_order_seq_cst);
    };
    if (!scheduler_.sleepers_.try_fall_asleep(index_, stays_awake)) return;
    scheduler_.report_if_done();
    if (timers_.next_due_ns() != kNeverNs) timers_.refresh_next_due();
    std::int64_t deadline = timers_.next_due_ns();
    bool watching = become_watchman();
    if (watching) deadline = std::min(deadline, env::now_ns() + kWatchNs);
    std::int64_t looked_ns = coarse_now_ns_;
    deliver(*reactor_, false, deadline);
    // seq_cst: in one order with leave_a_watchman(), which reads watchman_ and then the sleepers.
    if (watching) scheduler_.watchman_.store(-1, std::memory_order_seq_cst);
    scheduler_.sleepers_.wake_up(index_);
    if (coarse_now_ns_ == looked_ns) coarse_now_ns_ = env::now_ns();
    if (coarse_now_ns_ >= timers_.next_due_ns()) expire_timers(*this);
    // Relaxed: as in look_around().
    turns_.store(turns_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (watching) rescue();
}

// This worker is about to run a fiber: if there is no watchman, a sleeper has to become it.
void Worker::leave_a_watchman() {
    if (is_pinned() || scheduler_.stealing_count_ < 2) return;
    // seq_cst: after this worker cleared its bit as a sleeper; become_watchman() reads the bits
    // before it decides to sleep without a time limit.
    if (scheduler_.watchman_.load(std::memory_order_seq_cst) >= 0) return;
    if (scheduler_.sleepers_.look() & scheduler_.stealing_mask_) scheduler_.wake_one();
}

// One sleeping worker looks after the busy ones. When all have slept for a while, there is no
// watchman; the first worker that wakes up then wakes one.
bool Worker::become_watchman() {
    if (is_pinned() || scheduler_.stealing_count_ < 2) return false;
    std::uint64_t asleep = scheduler_.sleepers_.look();
    if ((asleep & scheduler_.stealing_mask_) != scheduler_.stealing_mask_) {
        quiet_looks_ = 0;
    } else if (++quiet_looks_ > kQuietLooksMax) {
        return false;
    }
    std::int32_t nobody = -1;
    return scheduler_.watchman_.compare_exchange_strong(nobody, static_cast<std::int32_t>(index_),
                                                        std::memory_order_seq_cst,
                                                        std::memory_order_relaxed);
}

// By the watchman: takes over the events, timers and fibers of workers that have made no progress
// since the last call.
void Worker::rescue() {
    WEFT_DASSERT(scheduler_.worker_count() <= kWorkersMax, "seen_turns_ has room for each worker");
    std::uint64_t asleep = scheduler_.sleepers_.look();
    for (unsigned i = 0; i < scheduler_.worker_count(); ++i) {
        Worker& worker = scheduler_.worker(i);
        if (&worker == this || worker.is_pinned() || (asleep >> i & 1) != 0) continue;
        std::uint64_t turns = worker.turns_.load(std::memory_order_relaxed);
        if (std::exchange(seen_turns_[i], turns) != turns) {
            quiet_looks_ = 0;
            continue;
        }
        scheduler_.counters().rescues.add(1);
        deliver(*worker.reactor_, true, 0);
        if (coarse_now_ns_ >= worker.timers_.next_due_ns()) expire_timers(worker);
        // Relaxed: a hint; then acquire: pairs with the release in ready().
        Fiber* next = worker.next_.load(std::memory_order_relaxed);
        if (next && worker.next_.compare_exchange_strong(next, nullptr, std::memory_order_acquire,
                                                         std::memory_order_relaxed)) {
            push_ready(*next);
        }
        for (WaitCell* cell = worker.fiber_inbox_.take_all(); cell;) {
            WaitCell* following = cell->next;
            push_ready(static_cast<Fiber&>(*cell));
            cell = following;
        }
    }
}

}  // namespace weft
