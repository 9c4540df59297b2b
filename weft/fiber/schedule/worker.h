// Worker: a thread that runs fibers.
//
// A fiber that stops running (yields, parks, ends) picks its successor itself and switches to it
// directly. Only when nothing is ready does it switch to the worker's loop, on the thread's own
// stack, which searches further (global queue, reactor, timers, other workers) and sleeps.
//
// Queues: `next_`, one fiber that was readied by the running one and will run right after it;
// `ready_`, woken and yielded fibers, first in, first out; `fresh_`, spawned fibers that have not
// run, newest first, so that a tree of fibers unfolds depth first and needs few stacks. Ready and
// fresh fibers alternate; a fiber that yields lets a fresh one go first. Every kTurnMax picks the
// worker reads the clock, fires timers, polls the reactor and takes from the global queue, and
// ready and fresh fibers go before `next_`; every few milliseconds the oldest fresh fiber goes
// first. So no fiber starves.
//
// Owning worker only, unless said otherwise.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "weft/base/atomic.h"
#include "weft/fiber/completion.h"
#include "weft/fiber/io/reactor.h"
#include "weft/fiber/schedule/inbox.h"
#include "weft/fiber/schedule/live_count.h"
#include "weft/fiber/schedule/run_queue.h"
#include "weft/fiber/schedule/timer.h"
#include "weft/fiber/switch/context.h"
#include "weft/fiber/switch/fiber_block.h"
#include "weft/fiber/switch/overflow.h"
#include "weft/fiber/switch/stack.h"

namespace weft {

class GlobalQueue;
class Scheduler;
class SpawnState;
class SnapshotTarget;

class Worker {
public:
    enum class Kind : bool { Stealing, Pinned };

    // Which workers may take fibers out of this worker's queues.
    using Takers = RunQueue<Fiber>::Takers;

    Worker(Scheduler& scheduler, unsigned index, Kind kind, Takers takers,
           std::unique_ptr<Reactor> reactor);
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    bool start_thread();  // false: the machine has no more
    void join_thread();   // of a thread that was started

    // For the running fiber. All three may return on another worker.
    void yield_current();
    void give_way();      // at the end of a turn, without the yield hint of the simulation
    void park_current();  // in worker_inline.h

    // For the running fiber, whose turn is used up: how many operations its next turn has.
    int next_budget();

    // A claimed or new fiber that this worker may run.
    void ready(Fiber& fiber);
    void ready_in_turn(Fiber& fiber);  // after all that are ready
    void add_fresh(Fiber& fiber);
    // Any thread: the fiber runs on this worker, which is woken if need be.
    void post_fiber(Fiber& fiber);
    // Any thread: runs exactly once on this worker, in its loop, in arrival order per sender.
    void post(Completion& completion);

    // The running fiber; null while the worker is in its loop.
    Fiber* current() const { return current_ == &loop_fiber_ ? nullptr : current_; }
    // Whether it now destroys the function of a fiber that could not be started.
    bool fails_unstarted() const { return fails_unstarted_; }
    Scheduler& scheduler() const { return scheduler_; }
    unsigned index() const { return index_; }
    bool is_pinned() const { return kind_ == Kind::Pinned; }
    Reactor& reactor() { return *reactor_; }
    TimerWheel& timers() { return timers_; }
    fiber_blocks::Cache& blocks() { return blocks_; }
    // In its loop: gives the stacks and blocks of its caches to the shared pools.
    void shrink_caches();
    // The time when the worker last read its clock. Cheap, and not exact.
    std::int64_t coarse_now_ns() const { return coarse_now_ns_; }

    // Any thread: a hint what the worker runs, for diagnosis. `switches` differs after each switch.
    struct Peek {
        Fiber* fiber;  // null in the loop
        std::uint64_t switches;
    };
    Peek peek() const;
    // For snapshots of its thread; null in simulation and while the thread does not run.
    SnapshotTarget* snapshot_target() const { return snapshot_target_; }

    void count_spawned(bool counted);
    std::uint64_t live(bool counted_only) const;

    // The first call on every new or resumed fiber: marks the one that was left as saved, or
    // finishes it if it has ended.
    static void after_switch();

private:
    friend class Scheduler;

    static constexpr unsigned kTurnMax = 64;               // picks between two look_around()
    static constexpr std::int64_t kTurnNs = 100'000;       // how long those should last at most
    static constexpr int kBudgetMax = 128;                 // operations of a turn; see turn.h
    static constexpr std::int64_t kBudgetNs = 500'000;     // how long those should last at most
    static constexpr std::int64_t kPollNsMax = 5'000'000;  // between two polls of the reactor
    static constexpr std::int64_t kOldestFreshNs = 5'000'000;
    static constexpr unsigned kEventBatch = 128;
    static constexpr unsigned kEventsMin = 16;  // of a poll, even if the queue has no room
    static constexpr unsigned kStealMax = 32;
    static constexpr unsigned kWorkersMax = 64;
    // How often the watchman wakes; it notices a stuck worker at the second time.
    static constexpr std::int64_t kWatchNs = 3'000'000;
    static constexpr unsigned kQuietLooksMax = 16;

    static void thread_main(void* self);
    void loop();
    Fiber* pick();
    Fiber* pick_after_turn();
    Fiber* runnable(Fiber* fiber);
    Fiber* take_next();
    bool yield_to_another();
    void switch_to(Fiber* next, SavedContext::Leave leave = SavedContext::Leave::ToReturn);
    bool give_stack(Fiber& fiber);
    Result<Stack*> take_other_stack(std::uint16_t size_class);
    Stack* take_larger_stack(std::uint16_t size_class);
    void fail_unstarted(Fiber& fiber, const Error& error);
    void reclaim_stack(Fiber& fiber);
    static WaitRef end_join(Fiber& fiber, bool& forgotten);
    Fiber* successor_of_ended(WaitRef joiner);
    void finish_fiber(Fiber& fiber, bool forgotten);
    static void fiber_main(void* fiber);

    Fiber* take_global(GlobalQueue& global, RunQueue<Fiber>& local);
    Fiber* find_work();
    Fiber* steal();
    Fiber* steal_from(Worker& victim);
    void look_around();
    void take_posted_fibers();
    void run_completions();
    void expire_timers(Worker& owner);
    void deliver(Reactor& reactor, bool for_owner, std::int64_t deadline_ns,
                 unsigned most = kEventBatch);
    void push_ready(Fiber& fiber);
    void overflow(RunQueue<Fiber>& queue, Fiber& fiber);
    bool sees_work() const;
    void sleep();
    bool become_watchman();
    void leave_a_watchman();
    void rescue();

    // Hot: touched at every switch.
    alignas(64) Fiber* current_ = &loop_fiber_;
    Fiber* left_ = nullptr;  // the fiber that was just switched away from
    SchedulerAtomic<Fiber*> next_{nullptr};
    const Takers takers_;
    unsigned turn_left_ = kTurnMax;
    unsigned turn_ = kTurnMax;
    bool fails_unstarted_ = false;
    ExceptionState* thread_exceptions_ = nullptr;
    std::int64_t coarse_now_ns_ = 0;
    std::int64_t polled_ns_ = 0;               // when the reactor was polled last
    std::int64_t oldest_fresh_ns_ = 0;         // the last time the oldest fresh fiber was preferred
    SchedulerAtomic<std::uint64_t> turns_{0};  // progress, for the watchman
    std::int64_t seen_tick_ns_ = 0;            // of the kernel, when a budget was last used up
    std::int64_t budget_since_ns_ = 0;         // while is_measuring_
    int budget_ = kBudgetMax;
    bool is_measuring_ = false;

    // The buffer of deliver(). Not on its stack, which may be that of a fiber.
    std::array<IoEvent, kEventBatch> events_;

    Fiber loop_fiber_;         // stands for the loop on the thread's own stack; never in a queue
    StackCache stacks_;        // of the default size
    StackCache other_stacks_;  // of the first other size that is asked for, as by a server
    fiber_blocks::Cache blocks_;

    RunQueue<Fiber> ready_{takers_};
    RunQueue<Fiber> fresh_{takers_};
    Inbox<WaitCell> fiber_inbox_;
    Inbox<Completion> inbox_;
    TimerWheel timers_;
    std::unique_ptr<Reactor> reactor_;

    Scheduler& scheduler_;
    const unsigned index_;
    const Kind kind_;
    EnvThread thread_;
    FaultStack fault_stack_;
    SnapshotTarget* snapshot_target_ = nullptr;

    // As watchman: the turns_ of the others at the last rescue(), and how often all were asleep.
    std::uint64_t seen_turns_[kWorkersMax] = {};
    unsigned quiet_looks_ = 0;

    // Written by the owner only; read by Scheduler::live().
    alignas(64) LiveCount all_;
    LiveCount counted_;
};

// Takes the fiber off the list of its token and releases its reference; a token that is still lent
// is not touched.
void leave_token(Fiber& fiber);
// A reference to the SpawnState of the fiber; null if it has none. Before leave_token().
SpawnState* add_ref_of_spawn_state(Fiber& fiber);
inline SpawnState* take_spawn_state(Fiber& fiber) {
    if (fiber.flags & Fiber::kInScope) [[unlikely]]
        return add_ref_of_spawn_state(fiber);
    return nullptr;
}
// Tells the scope that the fiber has ended, and releases the reference.
void leave_spawn_state(SpawnState& spawn_state);
// Gives a block back; the outcome has been taken or discarded. Any thread.
void release_block(Fiber& fiber);

extern "C" {
extern constinit thread_local Worker* weft_this_worker  // tidy: allow thread_local: the worker
    __attribute__((tls_model("initial-exec")));
}

// The worker of the calling thread, or null. Read anew after every possible switch: if the compiler
// kept the address of the thread-local over a switch, it would read that of another thread.
#if defined(__x86_64__) && !defined(__ILP32__)
inline Worker* this_worker() {
    Worker* worker;
    asm volatile(
        "movq weft_this_worker@gottpoff(%%rip), %0\n\t"
        "movq %%fs:(%0), %0"
        : "=r"(worker)
        :
        : "memory");
    return worker;
}
#else
Worker* this_worker();
#endif

}  // namespace weft
