// Calls that block: a bounded pool of threads for what cannot park.
//
//     Result<Rows> rows = blocking([&] { return library_that_waits(handle); });
//
// The fiber parks until the function has ended, because the function works on the fiber's frame; a
// cancellation before a thread has taken it up ends it unrun, later ones only let the function see
// them (it carries the fiber's token). On a plain thread the function simply runs. What it throws
// becomes the Error, and a Result that it returns is the result.
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

// What a thread of the pool is to do; in the frame of the fiber that waits for it.
struct BlockingJob {
    explicit BlockingJob(void (*function)(BlockingJob& job)) : run(function) {}

    void (*run)(BlockingJob& job);  // must not throw
    CancelState* token = nullptr;   // the asker's
    std::int64_t queued_ns = 0;
    enum class State : std::uint8_t { Queued, Taken, Withdrawn, Failed };
    State state = State::Queued;  // under the pool's lock
    bool detached = false;        // nobody waits: run() ends its own memory
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

    // Returns when the job has run, or will never: then the error is Cancelled or TimedOut before a
    // thread took it up, OutOfMemory when no thread can be had, Closed after stop().
    Result<void> run(BlockingJob& job, Deadline start_by = Deadline::never());
    // For what nobody waits for, such as cleaning up in a destructor. Without a thread it runs
    // here.
    void run_detached(std::function<void()> function);

    // Runs what is queued, ends and joins the threads.
    void stop();

    const BlockingCounters& counters() const { return counters_; }
    unsigned threads() const;  // a moment's number
    std::size_t queued() const;
    std::size_t in_flight() const;  // queued or being run

private:
    // The place of a thread: free, then its thread's until that has ended, then free again.
    struct Seat {
        BlockingPool* pool = nullptr;
        EnvThread thread;
        bool started = false;  // `thread` is there to be joined
        bool ended = true;     // the thread leaves, or there is none
        Seat* next_free = nullptr;
        WaitRef waiter;      // while idle
        ListLink idle_link;  // in idle_
    };

    Result<void> submit(BlockingJob& job);
    bool withdraw(BlockingJob& job);
    WaitRef claim_idle();
    Seat* take_seat();
    void put_seat(Seat& seat);
    Result<void> start_thread(Seat& seat);
    void fail_queued();
    static void thread_main(void* seat);
    static void perform(BlockingJob& job);
    BlockingJob* next_job(Seat& seat);

    const unsigned threads_max_;
    const Nanoseconds idle_max_;
    const std::unique_ptr<Seat[]> seats_;
    BlockingCounters counters_;
    mutable SpinLock lock_;  // the rest
    IntrusiveList<BlockingJob, &BlockingJob::link> queue_;
    std::size_t queue_size_ = 0;
    IntrusiveList<Seat, &Seat::idle_link> idle_;
    Seat* free_seats_ = nullptr;
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

// The pool of the fiber that runs; null on a plain thread.
BlockingPool* pool_here();

}  // namespace blocking_internal

struct BlockingOptions {
    // Until when a thread must have taken it up; else TimedOut, and it never runs. Nothing can end
    // a function that runs: one that may last too long has to know its own limit.
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
    // What ran counts, also when the wait for it was cancelled meanwhile.
    if (!job.outcome) return Result<T>(ran.error());
    return std::move(*job.outcome);
}

}  // namespace weft
