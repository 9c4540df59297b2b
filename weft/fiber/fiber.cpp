#include "weft/fiber/fiber.h"

#include <string>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/base/log.h"
#include "weft/base/log_limit.h"
#include "weft/base/planted.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/schedule/quick_wait.h"
#include "weft/fiber/schedule/scheduler.h"
#include "weft/fiber/schedule/worker.h"
#include "weft/fiber/switch/float_state.h"
#include "weft/fiber/switch/locals.h"
#include "weft/fiber/turn.h"
#include "weft/fiber/wait/spawn_state.h"

namespace weft {

Fiber* current() {
    Worker* worker = this_worker();
    return worker ? worker->current() : nullptr;
}

FiberId current_id() {
    Fiber* fiber = current();
    return fiber ? FiberId(*fiber) : FiberId();
}

std::string_view current_name() {
    Fiber* fiber = current();
    return fiber ? name_in(*fiber) : std::string_view();
}

void yield() {
    Worker* worker = this_worker();
    if (worker && worker->current()) worker->yield_current();
}

Result<void> checkpoint() {
    yield();
    CancelState* token = current_cell().token;
    if (token && token->expire_if_due()) return token->error();
    return {};
}

Result<void> sleep_until(Deadline deadline) {
    if (WaitCell* cell = deadline.is_never() ? nullptr : QuickWait::cell()) [[likely]] {
        QuickWait waiter(*cell, WaitReason::Sleep, nullptr);
        if (waiter.wait(deadline) == Wake::TimedOut) return {};
        return cell->token->error();
    }
    Waiter waiter(WaitReason::Sleep);
    Wake wake = waiter.wait(deadline);
    if (wake == Wake::TimedOut) return {};
    return waiter.to_result(wake);
}

Result<void> park(Deadline deadline) {
    Fiber* fiber = current();
    if (!fiber) return Error(ErrorKind::NoRuntime, "only a fiber can park");
    fiber->park_lock.lock();
    if (fiber->parking.take_permit()) {
        fiber->park_lock.unlock();
        return {};
    }
    Waiter waiter(WaitReason::Park);
    fiber->parking.begin_park(waiter.ref());
    fiber->park_lock.unlock();
    Wake wake = waiter.wait(deadline);
    if (wake == Wake::Ready) return {};
    SpinGuard guard(fiber->park_lock);
    fiber->parking.end_park();
    return waiter.to_result(wake);
}

void unpark(FiberId id) {
    Fiber* fiber = id.fiber_;
    if (!fiber) return;
    WaitRef parked;
    {
        SpinGuard guard(fiber->park_lock);
        if (fiber->generation != id.generation_) return;
        parked = fiber->parking.unpark(*fiber);
    }
    if (parked.cell()) parked.resume();
}

namespace fiber_internal {

// False when memory is short.
static bool apply(Fiber& fiber, const SpawnOptions& options) {
    if (options.stack_bytes != 0) fiber.size_class = stacks::size_class_for(options.stack_bytes);
    if (options.pinned) fiber.pinned = options.pinned;
    if (options.float_state == FloatState::Keep) {
        fiber.flags |= Fiber::kKeepFloat;
        fiber.float_control = float_state::default_control();
    }
    if (options.name.empty()) return true;
    std::unique_ptr<FiberLocals> locals = make_locals(options.name, options.label);
    if (!locals) return false;
    // Release: the name; the dump may look before the fiber is published. Pairs with name_in().
    fiber.extra.store(reinterpret_cast<std::uintptr_t>(locals.release()),
                      std::memory_order_release);
    return true;
}

// The scheduler that is to run the new fiber; null, with the reason in `error`, if there is none.
static Scheduler* scheduler_for(Scheduler* wanted, Worker* worker, const CancelState* token,
                                Error& error) {
    Scheduler* scheduler = wanted ? wanted : worker ? &worker->scheduler() : nullptr;
    if (!scheduler && token) {
        scheduler = Scheduler::above(*token);
        if (Result<void> started = scheduler ? scheduler->start() : Result<void>(); !started) {
            error = started.error();
            return nullptr;
        }
    }
    if (!scheduler) {
        error = Error(ErrorKind::NoRuntime, "spawn() needs a fiber around it; use Runtime::spawn");
        return nullptr;
    }
    if (scheduler->is_stopping()) [[unlikely]] {
        error = Error(ErrorKind::Closed, "the runtime is shutting down");
        return nullptr;
    }
    return scheduler;
}

// Gives a new fiber its token, or a SpawnState below it if it belongs to a scope. False when memory
// is short.
static bool enter_token(Fiber& fiber, CancelState& token, Joinable joinable) {
    fiber.token = &token;
    if (joinable == Joinable::Yes) {
        bool enough_memory = true;
        SpawnState* spawn_state = SpawnState::create(token, enough_memory);
        if (!enough_memory) {
            fiber.token = nullptr;
            return false;
        }
        if (spawn_state) {
            fiber.token = spawn_state;  // with the reference that it starts with
            fiber.flags |= Fiber::kInScope;
        }
    }
    if (!(fiber.flags & Fiber::kInScope)) token.add_ref();
    fiber.token->add_cell(fiber);
    return true;
}

Fiber* prepare(Scheduler* wanted, const SpawnOptions& options, Joinable joinable, Error& error) {
    Worker* worker = this_worker();
    Scheduler* scheduler = scheduler_for(wanted, worker, options.token, error);
    if (!scheduler) return nullptr;
    bool inside = worker && scheduler == &worker->scheduler();
    Fiber* fiber = nullptr;
    if (!env::fails(Allocation::Block)) [[likely]]
        fiber = inside ? worker->blocks().take() : fiber_blocks::take();
    if (!fiber) [[unlikely]] {
        error = Error(ErrorKind::OutOfMemory);
        return nullptr;
    }
    WEFT_DASSERT(!fiber->stack && !fiber->token && !fiber->listed && !fiber->lists_late &&
                     fiber->flags == 0 && !fiber->pinned,
                 "a block that is used again is clean");
    fiber->size_class = scheduler->stack_class();
    Fiber* parent = inside ? worker->current() : nullptr;
    // Fibers that are spawned in a pinned worker's loop (by a Dormant, a Completion) stay there.
    bool stays = inside && worker->is_pinned();
    fiber->pinned = parent ? parent->pinned : stays ? worker : nullptr;
    bool listed = options.token || (parent && (parent->listed || parent->lists_late));
    CancelState* token = options.token ? options.token
                         : parent      ? parent->token
                                       : &scheduler->root();
    // The new fiber may ask for the reason later than the parent. Code in a worker's loop that
    // spawns takes care of that itself.
    if (parent) token->will_be_asked();
    bool lent = options.token_use == TokenUse::Lent && joinable == Joinable::No;
    if (lent && options.token) {
        fiber->token = token;
        fiber->lists_late = true;
    } else if (!listed) {
        fiber->token = token;  // the root: only the runtime counts the fibers that carry it
    } else if (!enter_token(*fiber, *token, joinable)) [[unlikely]] {
        release_block(*fiber);
        error = Error(ErrorKind::OutOfMemory);
        return nullptr;
    }
    if (options.token && !options.token->deadline().is_never())
        fiber->flags |= Fiber::kArmsDeadline;
    if (options.start == Start::InTurn) fiber->flags |= Fiber::kInTurn;
    // Relaxed: a label given at the spawn is a constant of the program.
    fiber->extra.store(labelled(options.label), std::memory_order_relaxed);
    // Relaxed: the fiber is published by the queue it is put into.
    fiber->scheduler.store(scheduler, std::memory_order_relaxed);
    if (!options.is_default() && !apply(*fiber, options)) [[unlikely]] {
        give_up(*fiber);
        error = Error(ErrorKind::OutOfMemory);
        return nullptr;
    }
    return fiber;
}

void give_up(Fiber& fiber) {
    SpawnState* spawn_state = take_spawn_state(fiber);
    leave_token(fiber);
    if (spawn_state) leave_spawn_state(*spawn_state);
    destroy_locals(fiber);
    release_block(fiber);
}

bool launch(Fiber& fiber, Counted counted, Joinable joinable, Error& error) {
    // Relaxed: as in prepare().
    Scheduler* scheduler = fiber.scheduler.load(std::memory_order_relaxed);
    bool is_counted = counted == Counted::Yes;
    if (is_counted) fiber.flags |= Fiber::kCounted;
    fiber.join.begin(joinable == Joinable::Yes);
    sanitizer::release(&fiber);  // pairs with Worker::fiber_main()
    Worker* worker = this_worker();
    if (!worker || &worker->scheduler() != scheduler) {
        if (!scheduler->count_outside(is_counted)) {
            error = Error(ErrorKind::Closed, "the runtime is shutting down");
            return false;
        }
        scheduler->make_ready(fiber);
        return true;
    }
    worker->count_spawned(is_counted);
    bool here = fiber.pinned ? fiber.pinned == worker : !worker->is_pinned();
    if (here && (fiber.flags & Fiber::kInTurn)) {
        worker->ready_in_turn(fiber);
    } else if (here) {
        worker->add_fresh(fiber);
    } else {
        scheduler->make_ready(fiber);
    }
    turn::step("spawn", &fiber);
    return true;
}

bool join(Fiber& fiber, Deadline deadline, Error& error) {
    if (fiber.join.is_done()) {
        turn::may_wait("join", &fiber);
        return true;
    }
    WaitCell* cell = deadline.is_never() ? QuickWait::cell() : nullptr;
    if (&fiber == (cell ? cell : current())) [[unlikely]] {
        error = Error(ErrorKind::Misuse,
                      "a fiber joins itself, and would wait for its own end: let another one join");
        return false;
    }
    if (cell) [[likely]] {
        QuickWait waiter(*cell, WaitReason::Join, &fiber);
        Wake wake = fiber.join.join(waiter, [&] { return waiter.wait(); });
        if (wake == Wake::Ready) [[likely]]
            return true;
        error = cell->token->error();
        return false;
    }
    Waiter waiter(WaitReason::Join, &fiber);
    Wake wake = fiber.join.join(waiter, [&] { return waiter.wait(deadline); });
    if (wake == Wake::Ready) return true;
    error = waiter.to_result(wake).error();
    return false;
}

bool is_done(Fiber& fiber) { return fiber.join.is_done(); }

CancelState* spawn_state_of(Fiber& fiber) {
    WEFT_DASSERT(fiber.flags & Fiber::kInScope);
    fiber.token->add_ref();
    return fiber.token;
}

void release_spawn_state(CancelState& spawn_state) { spawn_state.release(); }

void detach_spawn_state(CancelState& spawn_state, const Fiber& fiber) {
    // Null when the runtime has ended. Relaxed: the handle keeps the block from being reused.
    Scheduler* scheduler = fiber.scheduler.load(std::memory_order_relaxed);
    if (scheduler) static_cast<SpawnState&>(spawn_state).detach(scheduler->root());
}

bool detach(Fiber& fiber) { return !fiber.join.try_detach(); }

Error not_joinable(const Error& start_error) {
    if (start_error.kind() != ErrorKind::Misuse) return start_error;
    return Error(ErrorKind::Misuse,
                 "this Future has been joined, detached or moved from: an outcome is taken once");
}

// The log limit matters, because each request may cause such a line. Without a limit if `scheduler`
// is null: the runtime has ended, so there are few of them.
template <class... Arguments>
static void log_outcome(Scheduler* scheduler, LogLevel level, std::string_view cause,
                        fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    if (!scheduler) return log(level, text, std::forward<Arguments>(arguments)...);
    log_limited(scheduler->log_limit(), level, cause, text, std::forward<Arguments>(arguments)...);
}

void dropped(const Fiber& fiber, const Error& error) {
    // Null when the runtime has ended before. Relaxed: the caller has joined or owned the fiber.
    Scheduler* scheduler = fiber.scheduler.load(std::memory_order_relaxed);
    if (scheduler) scheduler->counters().dropped_errors.add(1);
    // A fiber that nobody needs any more is expected to end as Cancelled.
    if (error.kind() == ErrorKind::Cancelled) return;
    std::string why = error.message();
    // It has ended, and only the caller uses it: the name does not change.
    std::string_view name = name_in(fiber);
    if (name.empty())
        return log_outcome(scheduler, LogLevel::Warn, why,
                           "a fiber that nobody joined ended with an error: {}", why);
    log_outcome(scheduler, LogLevel::Warn, why,
                "fiber '{}', which nobody joined, ended with an error: {}", name, why);
}

static Scheduler* scheduler_here_or_above(const CancelState* token) {
    if (Worker* worker = this_worker()) return &worker->scheduler();
    return token ? Scheduler::above(*token) : nullptr;
}

void dropped(std::string_view what, const Error& error, const CancelState* token) {
    Scheduler* scheduler = scheduler_here_or_above(token);
    if (scheduler) scheduler->counters().dropped_errors.add(1);
    // Expected ends: of a job that lost or is not needed, and of one that has timed out. They are
    // only counted.
    if (error.kind() == ErrorKind::Cancelled || error.kind() == ErrorKind::TimedOut) return;
    std::string why = error.message();
    log_outcome(scheduler, LogLevel::Warn, why, "{} ended with an error that nobody asks for: {}",
                what, why);
}

void late(std::string_view what, const Result<void>& outcome) {
    Scheduler& scheduler = this_worker()->scheduler();
    scheduler.counters().late_outcomes.add(1);
    // The errors of a job that heeds its context.
    bool heeded = !outcome && (outcome.error().kind() == ErrorKind::Cancelled ||
                               outcome.error().kind() == ErrorKind::TimedOut);
    std::string how = outcome ? "without an error" : outcome.error().message();
    log_outcome(&scheduler, heeded ? LogLevel::Debug : LogLevel::Warn, how,
                "{} ended when nobody waited any more: {}", what, how);
}

void late(std::string_view what, const CancelState* token) {
    Scheduler* scheduler = scheduler_here_or_above(token);
    if (scheduler) scheduler->counters().late_outcomes.add(1);
    log_outcome(scheduler, LogLevel::Debug, what, "{} was completed when nobody waited any more",
                what);
}

CancelState* root_token() {
    Worker* worker = this_worker();
    return worker ? &worker->scheduler().root() : nullptr;
}

}  // namespace fiber_internal
}  // namespace weft
