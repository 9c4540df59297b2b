// Calls that block: a bounded pool of threads for what cannot park.
//
//     Result<Rows> rows = blocking([&] { return library_that_waits(handle); });
//
// The fiber parks until the function has ended, because the function works on the fiber's frame. A
// cancellation before a thread has taken the function up withdraws it; a later one is only visible
// to the function, which carries the fiber's token. On a plain thread the function simply runs. An
// exception becomes the Error, and a Result that the function returns is the result.
//
// The pool starts threads as they are needed, at most the runtime's `blocking_threads`
// (WEFT_BLOCKING_THREADS), and ends those that were idle for ten seconds. A fiber waits in its
// queue at most once, so the queue needs no limit of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "weft/base/env.h"
#include "weft/base/function.h"
#include "weft/base/intrusive_list.h"
#include "weft/base/metrics.h"
#include "weft/base/result.h"
#include "weft/base/spin_lock.h"
#include "weft/base/time.h"
#include "weft/fiber/wait/lent_wait.h"
#include "weft/fiber/waiter.h"

namespace weft {

class CancelState;
class Scheduler;

// A call for a thread of the pool. It lies in the frame of the fiber that waits for it, unless it
// is detached.
struct BlockingJob {
    explicit BlockingJob(void (*function)(BlockingJob& job)) : run(function) {}

    void (*run)(BlockingJob& job);  // must not throw
    CancelState* token = nullptr;   // of the waiting fiber
    std::int64_t queued_ns = 0;
    enum class State : std::uint8_t { Queued, Taken, Withdrawn, Failed };
    State state = State::Queued;  // under the pool's lock
    bool detached = false;        // nobody waits; run() frees the job
    ListLink link;
    LentWait ended;
};

struct BlockingCounters {
    Counter jobs;           // taken up by a thread
    Counter withdrawn;      // cancelled before that
    Counter queue_wait_ns;  // the sum over all jobs
    Counter threads_started;
    Counter threads_retired;  // after being idle
};

// Any fiber of the runtime and any plain thread.
class BlockingPool {
public:
    static constexpr Nanoseconds kIdleMax = std::chrono::seconds(10);

    BlockingPool(Scheduler& scheduler, unsigned threads_max, Nanoseconds idle_max = kIdleMax);
    ~BlockingPool();
    BlockingPool(const BlockingPool&) = delete;
    BlockingPool& operator=(const BlockingPool&) = delete;

    // Returns when the job has run, or never will. The error is then Cancelled or TimedOut (before
    // a thread took the job up), OutOfMemory (no thread could be started) or Closed (after stop()).
    Result<void> run(BlockingJob& job, Deadline start_by = Deadline::never());
    // For functions that nobody waits for, such as cleaning up in a destructor. If no thread can be
    // started, or after stop(), the function runs on the calling thread.
    void run_detached(std::function<void()> function);

    // Runs what is queued, ends and joins the threads.
    void stop();

    const BlockingCounters& counters() const { return counters_; }
    unsigned threads() const;  // a momentary value, as are the next two
    std::size_t queued() const;
    std::size_t in_flight() const;  // queued or running

private:
    // One thread of the pool. A slot is free, then used by its thread until that has ended, then
    // free again.
    struct Slot {
        BlockingPool* pool = nullptr;
        EnvThread thread;
        bool started = false;  // `thread` has to be joined
        bool ended = true;     // the thread is ending, or there is none
        Slot* next_free = nullptr;
        WaitRef waiter;      // while idle
        ListLink idle_link;  // in idle_
    };

    Result<void> submit(BlockingJob& job);
    bool withdraw(BlockingJob& job);
    WaitRef claim_idle();
    Slot* take_slot();
    void put_slot(Slot& slot);
    Result<void> start_thread(Slot& slot);
    void fail_queued();
    static void thread_main(void* slot);
    static void perform(BlockingJob& job);
    BlockingJob* next_job(Slot& slot);

    const unsigned threads_max_;
    const Nanoseconds idle_max_;
    const std::unique_ptr<Slot[]> slots_;
    BlockingCounters counters_;
    mutable SpinLock lock_;  // guards all that follows
    IntrusiveList<BlockingJob, &BlockingJob::link> queue_;
    std::size_t queue_size_ = 0;
    IntrusiveList<Slot, &Slot::idle_link> idle_;
    Slot* free_slots_ = nullptr;
    unsigned threads_ = 0;
    bool stopping_ = false;
};

namespace blocking_internal {

template <class T>
struct Unwrap {
    using Type = T;
};
template <class T>
struct Unwrap<Result<T>> {
    using Type = T;
};

template <class T, class Function>
Result<T> call(Function& function) {
    try {
        if constexpr (std::is_void_v<std::invoke_result_t<Function&>>) {
            function();
            return Result<T>();
        } else {
            return function();
        }
    } catch (...) {
        return Error::from_current_exception();
    }
}

// The pool of the running fiber; null on a plain thread.
BlockingPool* pool_here();

}  // namespace blocking_internal

struct BlockingOptions {
    // When no thread has taken the function up by then, it never runs, and the error is TimedOut.
    // Nothing can end a function that runs: one that may take too long needs a limit of its own.
    Deadline start_by = Deadline::never();
};

template <class Function>
auto blocking(Function&& function, BlockingOptions options = {}) {
    using namespace blocking_internal;
    using T = typename Unwrap<std::invoke_result_t<Function&>>::Type;
    BlockingPool* pool = pool_here();
    if (!pool) return call<T>(function);
    struct Job : BlockingJob {
        explicit Job(Function& body_in) : BlockingJob(run_body), body(body_in) {}
        static void run_body(BlockingJob& job) {
            auto& self = static_cast<Job&>(job);
            self.outcome.emplace(call<T>(self.body));
        }
        Function& body;
        std::optional<Result<T>> outcome;
    };
    Job job(function);
    Result<void> ran = pool->run(job, options.start_by);
    // If the function ran, its outcome counts, even if the wait was cancelled meanwhile.
    if (!job.outcome) return Result<T>(ran.error());
    return std::move(*job.outcome);
}

}  // namespace weft
