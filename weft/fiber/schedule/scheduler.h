// Scheduler: what the workers of one runtime share.
//
// Each worker has its own queues, timers and reactor, and needs no other most of the time. They
// share the global queues (for overflow, and for fibers readied by plain threads), the word that
// says who sleeps, and the counts for shutdown. The rules by which no wake-up is lost:
//   - a thread that adds work which its own worker will not run adds it first and then looks for a
//     sleeper; a worker that goes to sleep first says so and then looks for work (both seq_cst);
//   - a worker never sleeps with work in its own queues, so work put there needs no wake-up;
//   - while any worker runs, one idle worker is the watchman: it wakes every few milliseconds and
//     takes over the events, timers and fibers of a worker that is stuck in one fiber.
//
// Any thread, unless said otherwise.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/base/log_limit.h"
#include "weft/base/result.h"
#include "weft/base/spin_lock.h"
#include "weft/base/time.h"
#include "weft/fiber/counters.h"
#include "weft/fiber/schedule/global_queue.h"
#include "weft/fiber/schedule/live_count.h"
#include "weft/fiber/schedule/sleepers.h"
#include "weft/fiber/schedule/stop_slot.h"
#include "weft/fiber/switch/fiber_block.h"

namespace weft {

class BlockingPool;
class CancelState;
class IoTable;
class Monitor;
class RootState;
struct Completion;
struct RuntimeOptions;

class Scheduler {
public:
    static constexpr unsigned kWorkersMax = 64;

    explicit Scheduler(const RuntimeOptions& options);
    ~Scheduler();
    Scheduler(const Scheduler&) = delete;
    Scheduler& operator=(const Scheduler&) = delete;

    Result<void> start();
    // Blocks until every counted fiber has exited. Plain threads only.
    void run();
    // Cancels everything, waits for all fibers, ends the workers. TimedOut if some did not end; the
    // workers then go on and the scheduler must be left alone.
    Result<void> shutdown(Deadline deadline);
    // No new fibers, and every wait ends as Cancelled.
    void cancel_all();
    bool is_stopping() const { return stopping_.load(std::memory_order_acquire); }
    bool has_ended() const { return ended_; }

    // Any thread: makes a claimed or new fiber run.
    void make_ready(Fiber& fiber);
    // Any thread: runs on that worker.
    void post(unsigned worker, Completion& completion);
    // Queues a chain of fibers, and wakes a worker for it.
    void push_global(GlobalQueue& queue, Fiber* first, Fiber* last, unsigned count);
    // Workers take woken fibers at every turn, fresh ones when they have nothing else.
    GlobalQueue& global_ready() { return global_ready_; }
    GlobalQueue& global_fresh() { return global_fresh_; }
    // Wakes a sleeping worker, if there is one. After the work was queued; see the rules above.
    void wake_one();
    // Any thread: wakes this worker, if it sleeps.
    void wake_worker(Worker& worker);
    // Another worker that may run what this one runs; null if there is none.
    Worker* other_worker(const Worker& worker);
    // Whether every switch takes a fiber to another worker, for tests: WEFT_FORCE_MIGRATION=1 in a
    // build with assertions.
    bool forces_migration() const {
#ifdef NDEBUG
        return false;
#else
        return forces_migration_;
#endif
    }
    // The cheap form, for a worker that has more than one fiber to run.
    void wake_one_if_idle() {
        if (sleepers_.guess() & stealing_mask_) [[unlikely]]
            wake_one();
    }

    unsigned worker_count() const { return static_cast<unsigned>(workers_.size()); }
    Worker& worker(unsigned index) { return *workers_[index]; }
    CancelState& root();
    // The scheduler whose root is above this token; null if there is none, or if it has ended.
    static Scheduler* above(const CancelState& token);
    IoTable& io() { return *io_; }
    BlockingPool& blocking() { return *blocking_; }
    StopSlot& stop_slot() { return stop_slot_; }
    SchedulerCounters& counters() { return counters_; }
    LogLimit& log_limit() { return log_limit_; }  // for the log of outcomes that nobody takes
    std::uint16_t stack_class() const { return stack_class_; }

    // A momentary count of live fibers, counted ones or all.
    std::uint64_t live(bool counted_only) const;
    // Wakes run() and shutdown() if no fiber lives any more. Called before a worker sleeps.
    void report_if_done() {
        if (end_watch_.is_watched()) [[unlikely]]
            report_done();
    }
    // The cheap form, for a worker that will call again at its next turn or before it sleeps.
    void report_if_watched() {
        if (end_watch_.seems_watched()) [[unlikely]]
            report_done();
    }
    // For the monitor: the workers that sleep or are about to, a bit each.
    std::uint64_t sleepers() const { return sleepers_.look(); }
    // A thread of the program has woken a waiting fiber before, and may do so again.
    bool is_woken_from_outside() const {
        // Relaxed: a hint for the monitor.
        return woken_from_outside_.load(std::memory_order_relaxed);
    }
    // A plain thread is in run() or shutdown(), or joins a fiber.
    bool anybody_waits_for_the_end() const;
    // While all workers sleep: whether a timer, queued work, a blocking call or a Dormant may still
    // make a fiber run.
    bool has_pending() const;
    Monitor& monitor() { return *monitor_; }

    // Counts a fiber that a plain thread is about to launch. False: the runtime is stopping.
    bool count_outside(bool counted);

private:
    friend class Worker;

    void make_ready_from_outside(Fiber& fiber);
    void inject(Fiber& fiber);
    Result<void> start_workers();
    void end_workers();
    void log_survivors();
    void report_done();
    bool wait_until_gone(bool counted_only, Deadline deadline);
    void cancel_root_fibers();

    std::vector<std::unique_ptr<Worker>> workers_;
    std::uint64_t stealing_mask_ = 0;  // the workers that are not pinned
    unsigned stealing_count_ = 0;
    std::uint16_t stack_class_ = 0;
    RootState* root_;
    std::unique_ptr<IoTable> io_;
    std::unique_ptr<BlockingPool> blocking_;
    StopSlot stop_slot_;
    std::unique_ptr<Monitor> monitor_;
    SchedulerCounters counters_;
    LogLimit log_limit_;
    const unsigned options_workers_;
    const unsigned options_pinned_;
    const bool forces_migration_;
    enum class Stage : std::uint8_t { New, Starting, Running, Failed };
    Atomic<Stage> stage_{Stage::New};
    bool ended_ = false;            // the workers have been joined
    Atomic<bool> stopping_{false};  // no new fibers
    Atomic<bool> ending_{false};    // workers leave their loops

    alignas(64) Sleepers sleepers_;
    SchedulerAtomic<std::int32_t> watchman_{-1};

    alignas(64) GlobalQueue global_ready_;
    alignas(64) GlobalQueue global_fresh_;

    // Fibers spawned by plain threads; those spawned by fibers are counted by their workers.
    Atomic<std::uint64_t> spawned_outside_{0};
    Atomic<std::uint64_t> counted_outside_{0};
    Atomic<std::uint32_t> outside_callers_{0};  // other threads inside make_ready() or post()
    Atomic<bool> woken_from_outside_{false};    // see is_woken_from_outside()
    EndWatch end_watch_;
};

}  // namespace weft
