#include "weft/fiber/waiter.h"

#include <pthread.h>

#include <iterator>
#include <optional>
#include <string>

#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/base/planted.h"
#include "weft/base/spin_lock.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/schedule/plain_thread.h"
#include "weft/fiber/schedule/quick_wait.h"
#include "weft/fiber/schedule/scheduler.h"
#include "weft/fiber/schedule/timer.h"
#include "weft/fiber/schedule/worker_inline.h"
#include "weft/fiber/switch/debug_layout.h"
#include "weft/fiber/switch/fiber_block.h"
#include "weft/fiber/switch/locals.h"

namespace weft {
namespace {

// The cell of a plain thread. Cells are never freed but reused, so that stale references stay
// harmless.
struct ThreadCell : WaitCell {
    Atomic<std::uint32_t> signal{0};  // 1: the claimer has called resume()
    ThreadCell* next_free = nullptr;
};

struct ThreadCells {
    SpinLock lock;
    ThreadCell* free = nullptr;
};
constinit ThreadCells thread_cells;  // tidy: allow global: memory pool of the process

ThreadCell* take_thread_cell() {
    {
        SpinGuard guard(thread_cells.lock);
        if (ThreadCell* cell = thread_cells.free) {
            thread_cells.free = cell->next_free;
            return cell;
        }
    }
    auto* cell = new ThreadCell;  // tidy: allow new: kept for the life of the process
    cell->is_thread = true;
    return cell;
}

void put_thread_cell(ThreadCell* cell) {
    WEFT_DASSERT(cell->word.peek() == 0, "a thread does not end during a wait");
    SpinGuard guard(thread_cells.lock);
    cell->next_free = thread_cells.free;
    thread_cells.free = cell;
}

// The cell and the stack of a plain thread.
struct PlainThreadState {
    ThreadCell* cell = nullptr;
    StackBounds stack;  // empty until bounds() is called

    StackBounds bounds() {
        if (stack.bottom) return stack;
        pthread_attr_t attributes;
        if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return stack;
        void* address = nullptr;
        std::size_t bytes = 0;
        ::pthread_attr_getstack(&attributes, &address, &bytes);
        ::pthread_attr_destroy(&attributes);
        stack.bottom = static_cast<std::byte*>(address);
        stack.top = stack.bottom + bytes;
        return stack;
    }
    ~PlainThreadState() {
        if (cell) put_thread_cell(cell);
    }
};
thread_local PlainThreadState plain_thread;  // tidy: allow thread_local: plain threads only

ThreadCell& thread_cell() {
    if (Env* simulated = env::current()) {
        EnvThreadStorage& room = simulated->thread_storage();
        static_assert(sizeof(ThreadCell) <= sizeof room.bytes);
        if (!std::exchange(room.used, true)) (new (room.bytes) ThreadCell)->is_thread = true;
        return *std::launder(reinterpret_cast<ThreadCell*>(room.bytes));
    }
    if (!plain_thread.cell) plain_thread.cell = take_thread_cell();
    return *plain_thread.cell;
}

struct TokenWatch : CancelListener {
    explicit TokenWatch(WaitRef ref) : CancelListener(on_cancel), wait(ref) {}
    static void on_cancel(CancelListener& listener, CancelReason) {
        WaitRef wait = static_cast<TokenWatch&>(listener).wait;
        if (wait.try_claim(Wake::Cancelled)) wait.resume();
    }
    WaitRef wait;
};

}  // namespace

[[gnu::always_inline]] static inline WaitCell& cell_here() {
    Worker* worker = this_worker();
    if (!worker) return thread_cell();
    WEFT_ASSERT(
        worker->current(),
        "the scheduler itself must not wait: in a Completion or a Dormant spawn a fiber for "
        "what waits");
    return *worker->current();
}

WaitCell& current_cell() { return cell_here(); }

// Empty for a simulated thread, whose stack only the simulation knows.
static StackBounds stack_here() {
    if (Worker* worker = this_worker()) {
        Fiber* fiber = worker->current();
        return fiber && fiber->stack ? fiber->stack->bounds() : StackBounds();
    }
    return env::current() ? StackBounds() : plain_thread.bounds();
}

bool is_mark_of_this_stack(std::uintptr_t mark) {
    StackBounds bounds = stack_here();
    if (!bounds.bottom) return false;
    // Pages, because a stack of a thread need not begin at the edge of one.
    std::uintptr_t first = reinterpret_cast<std::uintptr_t>(bounds.bottom) >> kStackMarkShift;
    std::uintptr_t last = reinterpret_cast<std::uintptr_t>(bounds.top - 1) >> kStackMarkShift;
    std::uintptr_t page = mark >> kStackMarkShift;
    return first <= page && page <= last;
}

std::string who_runs() {
    Worker* worker = this_worker();
    if (!worker || !worker->current()) return "this thread";
    std::string name = name_of(*worker->current());
    return "fiber '" + (name.empty() ? "unnamed" : name) + "'";
}

bool can_wait_here() {
    Worker* worker = this_worker();
    return !worker || !worker->fails_unstarted();
}

Waiter::Waiter(WaitReason reason, const void* object, Cancellable cancellable)
    : cell_(cell_here()) {
    if (cell_.lists_late) [[unlikely]]
        CancelState::list_late(cell_);
    // Relaxed: nobody else writes the signal before the word below is published.
    if (cell_.is_thread) static_cast<ThreadCell&>(cell_).signal.store(0, std::memory_order_relaxed);
    word_ = cell_.begin_wait(reason, object, cancellable);
}

void Waiter::abandon() {
    WEFT_DASSERT(!ended_, "a Waiter is waited for or abandoned, once");
    ended_ = true;
    if (!wait_steps::leave(ref())) static_cast<void>(park_until(Deadline::never()));
}

Wake Waiter::wait(Deadline deadline) {
    WEFT_DASSERT(!ended_, "a Waiter is waited for or abandoned, once");
    ended_ = true;
    if (wait_steps::leave_cancelled(ref())) return Wake::Cancelled;
    if (cell_.is_thread || !deadline.is_never()) return park_until(deadline);
    return wait_steps::park(cell_);
}

Wake Waiter::wait(Deadline deadline, CancelState* token) {
    if (!token) return wait(deadline);
    explicit_token_ = token;
    token->arm_deadline();
    TokenWatch watch(ref());
    watch.listen(token);
    if (cell_.is_thread) deadline = earlier(deadline, token->deadline());
    Wake wake = wait(deadline);
    watch.stop();
    if (wake == Wake::TimedOut && token->expire_if_due()) return Wake::Cancelled;
    return wake;
}

Wake Waiter::park_until(Deadline deadline) {
    if (cell_.is_thread) return park_thread(deadline);
    return deadline.is_never() ? wait_steps::park(cell_) : wait_steps::park_until(ref(), deadline);
}

Wake Waiter::park_thread(Deadline deadline) {
    auto& cell = static_cast<ThreadCell&>(cell_);
    CancelState* token = cell.token;
    std::optional<JoiningThread> joining;
    if (cell.wait_reason == WaitReason::Join && !env::current()) joining.emplace();
    Deadline bound = token ? earlier(deadline, token->deadline()) : deadline;
    // Acquire: sees what the claimer wrote before resume().
    while (cell.signal.load(std::memory_order_acquire) == 0) {
        std::int64_t until =
            bound.is_never() ? kNeverNs : bound.instant().time_since_epoch().count();
        if (env::futex_wait(cell.signal.futex_address(), 0, until) != FutexWait::TimedOut) continue;
        Instant now = Clock::now();
        // Expiring the token claims this cell, too.
        if (token && token->deadline().expired(now)) token->expire_if_due();
        if (deadline.expired(now) && ref().try_claim(Wake::TimedOut)) return Wake::TimedOut;
        bound = deadline.expired(now) ? Deadline::never() : deadline;
    }
    return cell.word.outcome();
}

Result<void> Waiter::to_result(Wake wake) const {
    if (wake == Wake::Ready) return {};
    if (wake == Wake::TimedOut) return ErrorKind::TimedOut;
    if (explicit_token_ && explicit_token_->is_cancelled()) return explicit_token_->error();
    return cell_.token ? cell_.token->error() : Error(ErrorKind::Cancelled);
}

[[gnu::always_inline]] static inline void resume_cell(WaitCell& waiting) {
    if (!waiting.is_thread) {
        auto& fiber = static_cast<Fiber&>(waiting);
        // Relaxed: a claimed fiber stays in its scheduler.
        Scheduler* scheduler = fiber.scheduler.load(std::memory_order_relaxed);
        WEFT_DASSERT(scheduler, "a fiber that was claimed belongs to a runtime");
        return scheduler->make_ready(fiber);
    }
    auto& cell = static_cast<ThreadCell&>(waiting);
    // Release: publishes what the claimer wrote; the thread may be gone right after.
    cell.signal.store(1, std::memory_order_release);
    env::futex_wake(cell.signal.futex_address(), 1);
}

// Tells the sanitizer what the claimer did until now; pairs with the acquire of the word when the
// wait has ended. Out of line, so that resume() needs no frame for it.
[[gnu::noinline, gnu::cold]] static void tell_and_resume(WaitCell& waiting) {
    sanitizer::release(&waiting);
    resume_cell(waiting);
}

void WaitRef::resume() const {
    if (sanitizer::must_report()) [[unlikely]]
        return tell_and_resume(*cell_);
    resume_cell(*cell_);
}

const char kWaitReasonNames[][kReasonNameBytes] = {
    "none",     "park",         "sleep",     "join",      "channel",    "select",
    "mutex",    "shared mutex", "condition", "semaphore", "wait group", "once",
    "barrier",  "event",        "gate",      "readable",  "writable",   "file",
    "blocking", "process",      "signal",    "job",       "operation",  "other",
};
static_assert(std::size(kWaitReasonNames) == static_cast<unsigned>(WaitReason::Other) + 1);

const char* to_string(WaitReason reason) { return kWaitReasonNames[static_cast<unsigned>(reason)]; }

}  // namespace weft
