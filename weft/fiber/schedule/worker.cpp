#include "weft/fiber/schedule/worker.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/base/planted.h"
#include "weft/base/sanitizer.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/report/monitor.h"
#include "weft/fiber/report/snapshot.h"
#include "weft/fiber/schedule/scheduler.h"
#include "weft/fiber/schedule/worker_inline.h"
#include "weft/fiber/switch/locals.h"
#include "weft/fiber/turn.h"
#include "weft/fiber/wait/spawn_state.h"

namespace weft {

extern "C" {
// Attribute `used`: it is read by inline assembly only, which link-time optimization does not see.
[[gnu::used]] constinit thread_local Worker* weft_this_worker =  // tidy: allow thread_local: worker
    nullptr;
}

#if !defined(__x86_64__) || defined(__ILP32__)
__attribute__((noinline)) Worker* this_worker() {
    asm volatile("" ::: "memory");  // keeps the call from being merged with another
    return weft_this_worker;
}
#endif

Worker::Worker(Scheduler& scheduler, unsigned index, Kind kind, Takers takers,
               std::unique_ptr<Reactor> reactor)
    : takers_(takers),
      reactor_(std::move(reactor)),
      scheduler_(scheduler),
      index_(index),
      kind_(kind) {
    WEFT_ASSERT(index < kWorkersMax, "each worker has a bit in the word of the sleepers");
    stacks_.set_size_class(scheduler.stack_class());
    other_stacks_.set_size_class(scheduler.stack_class());
}

Worker::~Worker() {
    WEFT_DASSERT(ready_.size() == 0 && fresh_.size() == 0, "a runtime ends after its fibers");
}

bool Worker::start_thread() {
    thread_ = env::start_thread(thread_main, this, "weft-worker");
    return thread_.handle != 0;
}

void Worker::join_thread() {
    if (thread_.handle != 0) env::join_thread(thread_);
}

void Worker::thread_main(void* self) {
    auto* worker = static_cast<Worker*>(self);
    FaultStack::Use fault_stack(worker->fault_stack_);
    weft_this_worker = worker;
    worker->thread_exceptions_ = ExceptionState::of_this_thread();
    worker->coarse_now_ns_ = env::now_ns();
    if (!env::current()) weft_turn_left = kBudgetMax;
    {
        std::optional<SnapshotTarget> snapshot_target;
        if (!env::current()) worker->snapshot_target_ = &snapshot_target.emplace(*worker);
        worker->loop();
        worker->snapshot_target_ = nullptr;
    }
    weft_this_worker = nullptr;
}

// A deliberate race: reads words that the owner writes without synchronisation. Each is one word,
// and the pointer is only compared, or followed into memory that is never unmapped.
__attribute__((no_sanitize("thread"))) Worker::Peek Worker::peek() const {
    const Fiber* fiber = *const_cast<Fiber* const volatile*>(&current_);
    unsigned left = *const_cast<const volatile unsigned*>(&turn_left_);
    // Relaxed: a hint, like the other two.
    std::uint64_t turns = turns_.load(std::memory_order_relaxed);
    return {fiber == &loop_fiber_ ? nullptr : const_cast<Fiber*>(fiber), turns << 16 | left};
}

// ---------------------------------------------------------------- switching

// False when no other fiber is ready.
[[gnu::always_inline]] inline bool Worker::yield_to_another() {
    Fiber* me = current_;
    if (scheduler_.forces_migration()) [[unlikely]] {
        if (Worker* other = scheduler_.other_worker(*this); other && !me->pinned) {
            other->post_fiber(*me);
            switch_to(pick());
            return true;
        }
    }
    env::step();
    Fiber* next = nullptr;
    bool to_loop = false;
    if (--turn_left_ == 0) [[unlikely]] {
        next = pick_after_turn();
        to_loop = !next && !inbox_.empty();
    } else if (next = take_next(); !next) {
        next = fresh_.pop_newest();
    }
    if (next || to_loop) {
        push_ready(*me);
    } else {
        // As many are ready as before, so no other worker has to be woken.
        next = ready_.exchange_oldest(me);
        if (!next) return false;
    }
    switch_to(runnable(next));
    return true;
}

void Worker::yield_current() {
    WEFT_DASSERT(this_worker() == this && current(), "by the fiber that this worker runs");
    if (!yield_to_another()) env::yield_hint();
}

void Worker::give_way() {
    WEFT_DASSERT(this_worker() == this && current(), "by the fiber that this worker runs");
    static_cast<void>(yield_to_another());
}

// Reading the kernel's tick costs a fifth of reading the clock. So a budget is timed by the clock
// only after the tick has changed, and while it is smaller than the largest: as long as operations
// are short, the clock is hardly read.
int Worker::next_budget() {
    std::int64_t tick_ns = env::real::tick_ns();
    bool has_ticked = std::exchange(seen_tick_ns_, tick_ns) != tick_ns;
    if (!has_ticked && !is_measuring_) [[likely]]
        return budget_;
    std::int64_t now_ns = env::now_ns();
    if (is_measuring_) {
        std::int64_t lasted_ns = now_ns - budget_since_ns_;
        budget_ = lasted_ns <= kBudgetNs
                      ? std::min(budget_ * 2, kBudgetMax)
                      : std::max(static_cast<int>(budget_ * kBudgetNs / lasted_ns), 1);
    }
    WEFT_DASSERT(budget_ > 0 && budget_ <= kBudgetMax, "a turn has a limit");
    budget_since_ns_ = now_ns;
    is_measuring_ = has_ticked || budget_ < kBudgetMax;
    // look_around() comes with the next pick.
    if (has_ticked) turn_left_ = 1;
    return budget_;
}

// Publishes the outcome. Returns the claimed joiner, for the caller to resume; none if nobody joins
// yet. `forgotten`: nobody will ever ask for the outcome.
inline WaitRef Worker::end_join(Fiber& fiber, bool& forgotten) {
    SpawnState* spawn_state = take_spawn_state(fiber);
    leave_token(fiber);
    JoinWord::End end = fiber.join.end();
    forgotten = end.is_forgotten;
    if (forgotten) fiber.body(fiber, Fiber::Operation::Discard, nullptr);
    if (spawn_state) [[unlikely]]
        leave_spawn_state(*spawn_state);
    if (!end.entry) return WaitRef();
    // The entry is still there: the joiner waits for finish() before it returns.
    WaitRef waiting = end.entry->joiner;
    return waiting.try_claim(Wake::Ready) ? waiting : WaitRef();
}

// The last access to a fiber that has ended.
inline void Worker::finish_fiber(Fiber& fiber, bool forgotten) {
    WEFT_DASSERT(!fiber.stack && !fiber.token, "a fiber that has ended keeps nothing");
    bool counted = fiber.flags & Fiber::kCounted;
    if (forgotten) {
        release_block(fiber);
    } else {
        fiber.join.finish();
    }
    all_.finish();
    if (counted) counted_.finish();
}

// After a fiber that has ended has left its stack for the last time.
void Worker::reclaim_stack(Fiber& fiber) {
    WEFT_DASSERT(fiber.flags & Fiber::kEnding, "only a fiber that has ended loses its stack");
    Stack* stack = std::exchange(fiber.stack, nullptr);
    (stack->size_class == stacks_.size_class() ? stacks_ : other_stacks_).put(stack);
    fiber.busy.forget();
    finish_fiber(fiber, fiber.flags & Fiber::kForgotten);
}

// Which fiber runs after one that ends. The joiner runs at once, before the queues, if it may run
// on this worker and the turn is not over; else it is made ready, and the queues decide.
inline Fiber* Worker::successor_of_ended(WaitRef joiner) {
    if (!joiner.cell()) return pick();
    if (!joiner.cell()->is_thread && turn_left_ > 1 && !scheduler_.forces_migration()) {
        auto& fiber = static_cast<Fiber&>(*joiner.cell());
        bool here = fiber.scheduler.load(std::memory_order_relaxed) == &scheduler_ &&
                    fiber.pinned == (is_pinned() ? this : nullptr);
        if (here) {
            --turn_left_;
            if (Fiber* next = runnable(&fiber)) return next;
            return pick();
        }
    }
    joiner.resume();
    return pick();
}

void Worker::fiber_main(void* argument) {
    SavedContext::entered();
    after_switch();
    auto& fiber = *static_cast<Fiber*>(argument);
    WEFT_DASSERT(this_worker()->current() == &fiber, "a worker knows what it runs");
    sanitizer::acquire(&fiber);  // pairs with launch()
    // Not at the spawn, because that may have happened on a plain thread.
    if (fiber.flags & Fiber::kArmsDeadline) [[unlikely]]
        fiber.token->arm_deadline();
    fiber.body(fiber, Fiber::Operation::Run, nullptr);
    // Relaxed: the fiber's own locals.
    if (locals_in(fiber.extra.load(std::memory_order_relaxed))) end_locals(fiber);
    bool forgotten = false;
    WaitRef joiner = end_join(fiber, forgotten);
    fiber.flags |= forgotten ? Fiber::kEnding | Fiber::kForgotten : Fiber::kEnding;
    Worker* worker = this_worker();
    WEFT_DASSERT(worker->current() == &fiber, "a worker knows what it runs");
    worker->switch_to(worker->successor_of_ended(joiner), SavedContext::Leave::ForEver);
    WEFT_UNREACHABLE();
}

Result<Stack*> Worker::take_other_stack(std::uint16_t size_class) {
    WEFT_DASSERT(size_class != stacks_.size_class(), "the default size has a cache of its own");
    // The cache has the default size until another size is asked for.
    if (other_stacks_.size_class() == stacks_.size_class())
        other_stacks_.set_size_class(size_class);
    if (other_stacks_.size_class() == size_class) return other_stacks_.take();
    return stacks::take(size_class);
}

// A free stack of a larger size, for when there is no memory for a new one: those that the handlers
// of a server have left may be all there are.
Stack* Worker::take_larger_stack(std::uint16_t size_class) {
    for (StackCache* cache : {&other_stacks_, &stacks_}) {
        if (cache->size_class() <= size_class) continue;
        if (Stack* stack = cache->take_cached()) return stack;
    }
    return stacks::take_larger(size_class);
}

// False when there was no memory: the fiber is then finished with that error.
bool Worker::give_stack(Fiber& fiber) {
    if (env::fails(Allocation::Stack)) {
        fail_unstarted(fiber, Error(ErrorKind::OutOfMemory, ENOMEM));
        return false;
    }
    Result<Stack*> stack = fiber.size_class == stacks_.size_class()
                               ? stacks_.take()
                               : take_other_stack(fiber.size_class);
    if (!stack) {
        Stack* larger = take_larger_stack(fiber.size_class);
        if (larger) stack = larger;
    }
    if (!stack) {
        fail_unstarted(fiber, stack.error());
        return false;
    }
    WEFT_DASSERT((*stack)->size_class >= fiber.size_class, "a stack is as large as asked for");
    if (sanitizer::knows_stacks && std::exchange((*stack)->used, true)) [[unlikely]]
        (*stack)->unpoison();
    fiber.stack = *stack;
    fiber.context.prepare((*stack)->bounds(), fiber_main, &fiber, (*stack)->sanitizer_fiber);
    return true;
}

void Worker::shrink_caches() {
    WEFT_DASSERT(this_worker() == this, "owning worker only");
    stacks_.shrink();
    other_stacks_.shrink();
    blocks_.shrink();
}

// Runs in the middle of a switch, on the stack of the fiber that is leaving: what is destroyed here
// must not wait. See can_wait_here().
void Worker::fail_unstarted(Fiber& fiber, const Error& error) {
    fails_unstarted_ = true;
    fiber.body(fiber, Fiber::Operation::Fail, &error);
    end_locals(fiber);
    bool forgotten = false;
    WaitRef joiner = end_join(fiber, forgotten);
    fails_unstarted_ = false;
    if (joiner.cell()) joiner.resume();
    finish_fiber(fiber, forgotten);
}

void Worker::loop() {
    for (;;) {
        run_completions();
        Fiber* fiber = pick();
        if (!fiber) fiber = runnable(find_work());
        if (fiber) {
            leave_a_watchman();
            scheduler_.monitor().worker_runs();
            switch_to(fiber);
            continue;
        }
        // Acquire: sees everything that happened before end_workers().
        if (scheduler_.ending_.load(std::memory_order_acquire)) return;
        sleep();
    }
}

// ---------------------------------------------------------------- queues

// The pick after every turn_ picks: calls look_around(), and prefers fibers that the usual order
// would leave waiting. Null also when the loop has records to run.
Fiber* Worker::pick_after_turn() {
    std::int64_t before = coarse_now_ns_;
    look_around();
    std::int64_t lasted = coarse_now_ns_ - before;
    if (lasted > kTurnNs) {
        turn_ = std::max(turn_ / 2, 1U);
    } else if (lasted < kTurnNs / 2) {
        turn_ = std::min(turn_ * 2, kTurnMax);
    }
    turn_left_ = turn_;
    // Records run in the loop, to which the caller switches when there is no successor.
    if (current_ != &loop_fiber_ && !inbox_.empty()) return nullptr;
    if (!is_pinned()) {
        if (Fiber* fiber = scheduler_.global_ready().pop(1)) return fiber;
    }
    // Rarely, because each oldest fresh fiber that is started unfolds another tree of fibers beside
    // the present one.
    if (coarse_now_ns_ - oldest_fresh_ns_ >= kOldestFreshNs) {
        oldest_fresh_ns_ = coarse_now_ns_;
        Fiber* fiber = is_pinned() ? nullptr : scheduler_.global_fresh().pop(1);
        if (!fiber) fiber = fresh_.take_oldest();
        if (fiber) return fiber;
    }
    // Relaxed: the worker's own count.
    if (turns_.load(std::memory_order_relaxed) % 2 == 0) {
        Fiber* fiber = fresh_.pop_newest();
        if (!fiber && !is_pinned()) fiber = take_global(scheduler_.global_fresh(), fresh_);
        if (fiber) return fiber;
    }
    if (Fiber* fiber = ready_.take_oldest()) return fiber;
    if (Fiber* fiber = take_next()) return fiber;
    return fresh_.pop_newest();
}

void Worker::ready(Fiber& fiber) {
    WEFT_DASSERT(this_worker() == this, "owning worker only");
    WEFT_DASSERT(fiber.pinned == (is_pinned() ? this : nullptr), "a fiber runs where it may");
    env::step();
    // Only this worker fills the slot, so an empty one stays empty. Release: publishes the fiber to
    // the watchman.
    if (current_ != &loop_fiber_ && !next_.load(std::memory_order_relaxed)) {
        if (WEFT_PLANTED("worker.forget_next")) return;
        next_.store(&fiber, std::memory_order_release);
    } else {
        push_ready(fiber);
    }
}

void Worker::ready_in_turn(Fiber& fiber) {
    env::step();
    push_ready(fiber);
}

void Worker::add_fresh(Fiber& fiber) {
    WEFT_DASSERT(this_worker() == this, "owning worker only");
    WEFT_DASSERT(fiber.pinned == (is_pinned() ? this : nullptr), "a fiber runs where it may");
    if (!fresh_.push(&fiber)) [[unlikely]]
        return overflow(fresh_, fiber);
    if (fresh_.size() >= 2 && !is_pinned()) scheduler_.wake_one_if_idle();
}

// Half of the queue and the fiber go to the global queue; on a pinned worker the fiber goes to its
// own inbox.
void Worker::overflow(RunQueue<Fiber>& queue, Fiber& fiber) {
    if (is_pinned()) {
        fiber_inbox_.post(fiber);
        return;
    }
    Fiber* first = nullptr;
    Fiber** end = &first;
    unsigned count = 0;
    while (count < RunQueue<Fiber>::kCapacity / 2) {
        Fiber* moved = queue.take_oldest();
        if (!moved) break;
        *end = moved;
        end = reinterpret_cast<Fiber**>(&moved->next);
        ++count;
    }
    *end = &fiber;
    fiber.next = nullptr;
    scheduler_.counters().overflows.add(1);
    GlobalQueue& global = &queue == &fresh_ ? scheduler_.global_fresh() : scheduler_.global_ready();
    scheduler_.push_global(global, first, &fiber, count + 1);
}

// Takes one fiber to run, and moves this worker's share of the others into its own queue.
Fiber* Worker::take_global(GlobalQueue& global, RunQueue<Fiber>& local) {
    WEFT_DASSERT(this_worker() == this && !is_pinned(), "a pinned worker takes only its own");
    std::uint64_t share = global.size() / scheduler_.stealing_count_;
    unsigned most = static_cast<unsigned>(std::min<std::uint64_t>(share, kEventBatch));
    Fiber* first = global.pop(most + 1);
    if (!first) return nullptr;
    auto* rest = static_cast<Fiber*>(first->next);
    while (rest) {
        auto* following = static_cast<Fiber*>(rest->next);
        if (!local.push(rest)) overflow(local, *rest);
        rest = following;
    }
    return first;
}

void Worker::post_fiber(Fiber& fiber) {
    if (fiber_inbox_.post(fiber)) scheduler_.wake_worker(*this);
}

void Worker::post(Completion& completion) {
    // A worker that posts to itself is awake, and reads its inbox before it sleeps.
    if (inbox_.post(completion) && this_worker() != this) scheduler_.wake_worker(*this);
}

void Worker::count_spawned(bool counted) {
    WEFT_DASSERT(this_worker() == this, "owning worker only: the counts have one writer");
    all_.spawn();
    if (counted) counted_.spawn();
}

SpawnState* add_ref_of_spawn_state(Fiber& fiber) {
    fiber.token->add_ref();
    return static_cast<SpawnState*>(fiber.token);
}

void leave_spawn_state(SpawnState& spawn_state) {
    spawn_state.leave();
    spawn_state.release();
}

void leave_token(Fiber& fiber) {
    if (fiber.listed) {
        fiber.token->remove_cell(fiber);
        fiber.token->release();
    }
    fiber.lists_late = false;
    fiber.token = nullptr;
}

void release_block(Fiber& fiber) {
    // Relaxed: only the caller uses the fiber now.
    if (locals_in(fiber.extra.load(std::memory_order_relaxed))) [[unlikely]]
        destroy_locals(fiber);
    // Relaxed: a FiberId is made before the block is given back, and the next owner gets the block
    // through a queue or a lock.
    if (fiber.exposed.load(std::memory_order_relaxed)) {
        SpinGuard guard(fiber.park_lock);
        ++fiber.generation;
        fiber.parking.clear();
        fiber.exposed.store(false, std::memory_order_relaxed);
    }
    WEFT_DASSERT(!fiber.token && !fiber.stack && !fiber.lists_late, "a free block is clean");
    fiber.flags = 0;
    fiber.pinned = nullptr;
    fiber.exceptions = {};
    fiber.scheduler.store(nullptr, std::memory_order_relaxed);
    if (Worker* worker = this_worker()) {
        worker->blocks().put(&fiber);
    } else {
        fiber_blocks::put(&fiber);
    }
}

}  // namespace weft
