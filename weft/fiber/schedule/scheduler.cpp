#include "weft/fiber/schedule/scheduler.h"

#include <bit>
#include <cstdlib>
#include <new>
#include <string>

#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/base/log.h"
#include "weft/base/planted.h"
#include "weft/fiber/blocking.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/io/io_table.h"
#include "weft/fiber/report/dump.h"
#include "weft/fiber/report/monitor.h"
#include "weft/fiber/runtime.h"
#include "weft/fiber/schedule/plain_thread.h"
#include "weft/fiber/schedule/stop_step.h"
#include "weft/fiber/schedule/worker.h"

namespace weft {

// The node that shutdown cancels. It may outlive the runtime; then find() gives null.
class RootState final : public CancelState {
public:
    static RootState* create(Scheduler& scheduler) { return make<RootState>(scheduler); }
    void forget_scheduler() { scheduler_.store(nullptr, std::memory_order_relaxed); }

    static constexpr char kKey = 0;

private:
    friend class CancelState;
    static const void* find_own(const CancelState& state, const void* key) {
        if (key != &kKey) return nullptr;
        // Relaxed: the user of a runtime makes sure that it lives.
        return static_cast<const RootState&>(state).scheduler_.load(std::memory_order_relaxed);
    }
    static constexpr NodeType kNodeType{destroy_as<RootState>, find_own};

    explicit RootState(Scheduler& scheduler)
        : CancelState(nullptr, Deadline::never(), &kNodeType), scheduler_(&scheduler) {}

    Atomic<Scheduler*> scheduler_;
};

CancelState& Scheduler::root() { return *root_; }

Scheduler* Scheduler::above(const CancelState& token) {
    return static_cast<Scheduler*>(const_cast<void*>(token.find(&RootState::kKey)));
}

Scheduler::Scheduler(const RuntimeOptions& options)
    : stack_class_(stacks::size_class_for(options.stack_bytes)),
      root_(RootState::create(*this)),
      io_(std::make_unique<IoTable>(*this)),
      blocking_(std::make_unique<BlockingPool>(*this, options.blocking_threads)),
      monitor_(std::make_unique<Monitor>(
          *this, Monitor::Options{options.stall_report, options.hang_report})),
      options_workers_(options.workers),
      options_pinned_(options.pinned_workers),
      forces_migration_(std::getenv("WEFT_FORCE_MIGRATION") != nullptr) {}

Scheduler::~Scheduler() {
    // Relaxed: the destroying thread has seen its end.
    WEFT_ASSERT(stage_.load(std::memory_order_relaxed) != Stage::Running || ended_,
                "a running scheduler was destroyed");
    stop_slot_.release();
    WEFT_ASSERT(stop_slot_.is_empty(), "a GracefulStop or a DrainHook outlived its runtime");
    // Handles of ended fibers may outlive the scheduler.
    fiber_blocks::for_each(
        [](Fiber& fiber, void* self) {
            // Relaxed: these fibers have ended; only their handles read the blocks.
            if (fiber.scheduler.load(std::memory_order_relaxed) == self)
                fiber.scheduler.store(nullptr, std::memory_order_relaxed);
        },
        this);
    io_.reset();  // before the reactors, which its registrations use
    workers_.clear();
    root_->forget_scheduler();
    root_->release();
}

Result<void> Scheduler::start() {
    Stage stage = Stage::New;
    // Acquire: sees the workers that another thread has started.
    if (stage_.compare_exchange_strong(stage, Stage::Starting, std::memory_order_acquire,
                                       std::memory_order_acquire)) {
        Result<void> started = ErrorKind::OutOfMemory;
        try {
            started = start_workers();
        } catch (const std::bad_alloc&) {
            end_workers();
        }
        // Release: publishes the workers.
        stage_.store(started ? Stage::Running : Stage::Failed, std::memory_order_release);
        return started;
    }
    for (unsigned attempt = 0; stage == Stage::Starting; ++attempt) {
        env::spin_pause(attempt);
        stage = stage_.load(std::memory_order_acquire);
    }
    if (stage == Stage::Failed)
        return Error(ErrorKind::Unavailable, "the workers of the runtime could not be started");
    return {};
}

Result<void> Scheduler::start_workers() {
    unsigned total = options_workers_ + options_pinned_;
    if (options_workers_ == 0 || total > kWorkersMax)
        return Error(ErrorKind::Misuse, "a runtime has 1 to 64 workers");
    for (unsigned index = 0; index < total; ++index) {
        std::unique_ptr<Reactor> reactor(env::make_reactor());
        if (!reactor) return Error(ErrorKind::Unavailable, "no reactor could be made for a worker");
        bool pinned = index >= options_workers_;
        auto kind = pinned ? Worker::Kind::Pinned : Worker::Kind::Stealing;
        auto takers =
            pinned || options_workers_ == 1 ? Worker::Takers::OwnerOnly : Worker::Takers::Anybody;
        workers_.push_back(
            std::make_unique<Worker>(*this, index, kind, takers, std::move(reactor)));
        if (!pinned) stealing_mask_ |= std::uint64_t{1} << index;
    }
    stealing_count_ = options_workers_;
    for (auto& worker : workers_) {
        if (worker->start_thread()) continue;
        end_workers();
        return Error(ErrorKind::OutOfMemory, "no thread could be started for a worker");
    }
    monitor_->start();
    return {};
}

// Ends the workers that were started, and joins them.
void Scheduler::end_workers() {
    monitor_->stop();
    // seq_cst: before the wake-ups; a worker reads it after it has announced its sleep.
    ending_.store(true, std::memory_order_seq_cst);
    for (auto& worker : workers_) worker->reactor().wake();
    for (auto& worker : workers_) worker->join_thread();
    // Acquire: pairs with the release at the end of make_ready_from_outside() and post().
    for (unsigned attempt = 0; outside_callers_.load(std::memory_order_acquire) != 0; ++attempt)
        env::spin_pause(attempt);
}

// ---------------------------------------------------------------- making fibers run

void Scheduler::make_ready(Fiber& fiber) {
    Worker* worker = this_worker();
    if (!worker || &worker->scheduler() != this) return make_ready_from_outside(fiber);
    if (fiber.pinned) {
        if (worker == fiber.pinned) return worker->ready(fiber);
        return fiber.pinned->post_fiber(fiber);
    }
    if (worker->is_pinned()) return inject(fiber);
    if (forces_migration()) [[unlikely]] {
        if (Worker* other = other_worker(*worker)) return other->post_fiber(fiber);
    }
    worker->ready(fiber);
}

// Once the fiber can run, it may end, and the runtime with it, while this thread still looks for a
// worker to wake. So the calls from outside are counted, and end_workers() waits for them.
void Scheduler::make_ready_from_outside(Fiber& fiber) {
    // Relaxed: published with the fiber.
    outside_callers_.fetch_add(1, std::memory_order_relaxed);
    // A fiber with a stack has run before, so it waited.
    if (!env::current() && fiber.stack && !is_own_thread() && !is_woken_from_outside())
        woken_from_outside_.store(true, std::memory_order_relaxed);
    if (fiber.pinned) {
        fiber.pinned->post_fiber(fiber);
    } else {
        inject(fiber);
    }
    // Release: the last access; pairs with the acquire in end_workers(). After it the scheduler may
    // be gone.
    outside_callers_.fetch_sub(1, std::memory_order_release);
}

void Scheduler::post(unsigned worker, Completion& completion) {
    WEFT_ASSERT(worker < workers_.size(), "the caller has looked that there is such a worker");
    // Relaxed and release: as above, for a completion that lets the program end the runtime.
    outside_callers_.fetch_add(1, std::memory_order_relaxed);
    workers_[worker]->post(completion);
    outside_callers_.fetch_sub(1, std::memory_order_release);
}

bool Scheduler::anybody_waits_for_the_end() const {
    return end_watch_.has_watchers() || joining_threads() != 0;
}

bool Scheduler::has_pending() const {
    if (global_ready_.size() != 0 || global_fresh_.size() != 0) return true;
    for (const auto& worker : workers_) {
        if (worker->timers_.next_due_ns() != kNeverNs || worker->sees_work()) return true;
    }
    return blocking_->in_flight() != 0 || io_->has_dormant();
}

Worker* Scheduler::other_worker(const Worker& worker) {
    if (stealing_count_ < 2 || worker.is_pinned()) return nullptr;
    return workers_[(worker.index() + 1) % stealing_count_].get();
}

void Scheduler::inject(Fiber& fiber) { push_global(global_ready_, &fiber, &fiber, 1); }

void Scheduler::push_global(GlobalQueue& queue, Fiber* first, Fiber* last, unsigned count) {
    queue.push(first, last, count);
    if (WEFT_PLANTED("scheduler.inject_without_wake")) return;
    wake_one();
}

// ---------------------------------------------------------------- waking workers

void Scheduler::wake_one() {
    unsigned index = sleepers_.claim_one(stealing_mask_);
    if (index == Sleepers::kNobody) return;
    WEFT_ASSERT(index < workers_.size(), "only workers of this runtime announce their sleep");
    counters_.wakeups.add(1);
    workers_[index]->reactor().wake();
}

void Scheduler::wake_worker(Worker& worker) {
    // After the post into the inbox; the worker announces its sleep before it reads the inbox.
    if (!sleepers_.claim(worker.index())) return;
    counters_.wakeups.add(1);
    worker.reactor().wake();
}

// ---------------------------------------------------------------- the end

std::uint64_t Scheduler::live(bool counted_only) const {
    auto count_of = [&](const std::unique_ptr<Worker>& worker) -> const LiveCount& {
        return counted_only ? worker->counted_ : worker->all_;
    };
    auto outside = [&] {
        // seq_cst: see count_outside().
        return (counted_only ? counted_outside_ : spawned_outside_).load(std::memory_order_seq_cst);
    };
    return sum_live(workers_, count_of, outside);
}

bool Scheduler::count_outside(bool counted) {
    // seq_cst: counted before stopping_ is read, which shutdown() sets before it counts.
    spawned_outside_.fetch_add(1, std::memory_order_seq_cst);
    if (counted) counted_outside_.fetch_add(1, std::memory_order_seq_cst);
    if (!stopping_.load(std::memory_order_seq_cst)) [[likely]]
        return true;
    // seq_cst as above: shutdown() may have been waiting for this very fiber.
    spawned_outside_.fetch_sub(1, std::memory_order_seq_cst);
    if (counted) counted_outside_.fetch_sub(1, std::memory_order_seq_cst);
    report_done();
    return false;
}

void Scheduler::report_done() {
    if (live(true) != 0) return;
    end_watch_.count_signal();
    env::futex_wake(end_watch_.signal_word().futex_address(), UINT32_MAX);
}

bool Scheduler::wait_until_gone(bool counted_only, Deadline deadline) {
    end_watch_.begin();
    monitor_->worker_runs();  // the monitor sleeps while nobody waits
    bool gone = false;
    for (;;) {
        std::uint32_t signal = end_watch_.signal();
        gone = live(counted_only) == 0;
        if (gone || deadline.expired(Clock::now())) break;
        std::int64_t until =
            deadline.is_never() ? kNeverNs : deadline.instant().time_since_epoch().count();
        env::futex_wait(end_watch_.signal_word().futex_address(), signal, until);
    }
    end_watch_.end();
    return gone;
}

void Scheduler::run() { static_cast<void>(wait_until_gone(true, Deadline::never())); }

void Scheduler::cancel_all() {
    // seq_cst: set before shutdown() counts; see count_outside().
    stopping_.store(true, std::memory_order_seq_cst);
    root_->cancel(CancelReason::Shutdown);
    cancel_root_fibers();
}

static Deadline half_of(Deadline deadline) {
    if (deadline.is_never()) return deadline;
    Instant now = Clock::now();
    return Deadline::after(deadline.remaining(now) / 2, now);
}

Result<void> Scheduler::shutdown(Deadline deadline) {
    // The ordered steps get the first half of the time, so that the fibers have the second.
    if (!is_stopping()) stop_in_order(*root_, half_of(deadline));
    cancel_all();
    // Acquire: sees the workers.
    if (stage_.load(std::memory_order_acquire) != Stage::Running || ended_) return {};
    if (!wait_until_gone(false, deadline)) {
        log_survivors();
        return ErrorKind::TimedOut;
    }
    blocking_->stop();
    end_workers();
    ended_ = true;
    stop_slot_.release();
    return {};
}

void Scheduler::log_survivors() {
    constexpr std::size_t kNamesMax = 20;
    std::size_t named = 0;
    for (const FiberReport& fiber : list_fibers_of(*this, Backtraces::Yes)) {
        if (++named > kNamesMax) break;
        bool waiting = fiber.state == FiberState::Waiting;
        std::string where;
        for (const std::string& frame : fiber.frames)
            where += (where.empty() ? ": " : " < ") + frame;
        log(LogLevel::Warn, "shutdown: fiber '{}' did not end; it {} {}{}",
            fiber.name.empty() ? "unnamed" : fiber.name,
            waiting ? "waits on" : "is running or ready", waiting ? to_string(fiber.reason) : "",
            where);
    }
}

// Fibers that carry the root token itself are in no list of it; they are found in the slab.
void Scheduler::cancel_root_fibers() {
    fiber_blocks::for_each(
        [](Fiber& fiber, void* scheduler) {
            // The word first: if the block is reused after this, the claim below fails.
            std::uint64_t word = fiber.word.find(WaitWord::WaitingRoot);
            if (word == 0) return;
            if (fiber.scheduler.load(std::memory_order_relaxed) != scheduler) return;
            WaitRef wait(fiber, word);
            if (wait.try_claim(Wake::Cancelled)) wait.resume();
        },
        this);
}

}  // namespace weft
