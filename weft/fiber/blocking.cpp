#include "weft/fiber/blocking.h"

#include "weft/base/assert.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/schedule/plain_thread.h"
#include "weft/fiber/schedule/scheduler.h"
#include "weft/fiber/schedule/worker.h"

namespace weft {
namespace {

struct DetachedJob : BlockingJob {
    explicit DetachedJob(std::function<void()> function_in)
        : BlockingJob(run_and_end), function(std::move(function_in)) {
        detached = true;
    }
    static void run_and_end(BlockingJob& job) {
        std::unique_ptr<DetachedJob> self(static_cast<DetachedJob*>(&job));
        self->function();
    }
    std::function<void()> function;
};

}  // namespace

BlockingPool* blocking_internal::pool_here() {
    Worker* worker = this_worker();
    return worker && worker->current() ? &worker->scheduler().blocking() : nullptr;
}

BlockingPool::BlockingPool(Scheduler&, unsigned threads_max, Nanoseconds idle_max)
    : threads_max_(threads_max),
      idle_max_(idle_max),
      seats_(std::make_unique<Seat[]>(threads_max)) {
    for (unsigned i = threads_max; i > 0; --i) {
        Seat& seat = seats_[i - 1];
        seat.pool = this;
        seat.next_free = free_seats_;
        free_seats_ = &seat;
    }
}

BlockingPool::~BlockingPool() { stop(); }

unsigned BlockingPool::threads() const {
    SpinGuard guard(lock_);
    return threads_;
}

std::size_t BlockingPool::in_flight() const {
    SpinGuard guard(lock_);
    std::size_t busy = threads_;
    for (const Seat& seat : idle_) {
        static_cast<void>(seat);
        --busy;
    }
    return queue_size_ + busy;
}

std::size_t BlockingPool::queued() const {
    SpinGuard guard(lock_);
    return queue_size_;
}

Result<void> BlockingPool::run(BlockingJob& job, Deadline deadline) {
    CancelToken token = CancelToken::current();
    WEFT_TRY(token.check());
    job.token = token.state();
    WEFT_TRY(submit(job));
    Result<void> waited = job.ended.wait(WaitReason::Blocking, this, deadline, nullptr,
                                         [&] { return withdraw(job); });
    // No lock: whoever moved the state has ended its part.
    if (job.state == BlockingJob::State::Withdrawn) return waited;
    if (job.state == BlockingJob::State::Failed)
        return Error(ErrorKind::OutOfMemory, "no thread for a blocking call could be started");
    return {};
}

void BlockingPool::run_detached(std::function<void()> function) {
    auto job = std::make_unique<DetachedJob>(std::move(function));
    DetachedJob& queued = *job.release();  // run_and_end() owns it now
    if (!submit(queued)) queued.run(queued);
}

// The error leaves the job unqueued.
Result<void> BlockingPool::submit(BlockingJob& job) {
    job.queued_ns = env::now_ns();
    WaitRef sleeper;
    Seat* seat = nullptr;
    {
        SpinGuard guard(lock_);
        if (stopping_) return ErrorKind::Closed;
        queue_.push_back(job);
        ++queue_size_;
        sleeper = claim_idle();
        if (!sleeper.cell()) seat = take_seat();
    }
    if (sleeper.cell()) {
        sleeper.resume();
    } else if (seat) {
        // When this fails, a thread that runs takes the job; without any, fail_queued() told it.
        static_cast<void>(start_thread(*seat));
    }
    return {};
}

// With the lock held. The youngest sleeper, so that those not needed stay idle and end.
WaitRef BlockingPool::claim_idle() {
    while (Seat* seat = idle_.pop_front()) {
        if (seat->waiter.try_claim(Wake::Ready)) return seat->waiter;
    }
    return {};
}

// With the lock held; null when all are taken.
auto BlockingPool::take_seat() -> Seat* {
    Seat* seat = free_seats_;
    if (!seat) return nullptr;
    free_seats_ = seat->next_free;
    seat->ended = false;
    ++threads_;
    return seat;
}

// With the lock held.
void BlockingPool::put_seat(Seat& seat) {
    seat.next_free = free_seats_;
    free_seats_ = &seat;
}

Result<void> BlockingPool::start_thread(Seat& seat) {
    // An earlier thread of this seat is on its way out.
    if (std::exchange(seat.started, false)) env::join_thread(seat.thread);
    EnvThread thread = env::start_thread(thread_main, &seat, "weft-blocking");
    bool failed = thread.handle == 0;
    bool alone = false;
    {
        SpinGuard guard(lock_);
        seat.thread = thread;
        seat.started = !failed;
        if (failed) {
            seat.ended = true;
            --threads_;
        }
        // The thread may have come and gone meanwhile.
        if (seat.ended) put_seat(seat);
        alone = threads_ == 0;
    }
    if (!failed) {
        counters_.threads_started.add();
        return {};
    }
    if (alone) fail_queued();
    return ErrorKind::OutOfMemory;
}

// Nobody is there to take up the jobs, and nobody can be had.
void BlockingPool::fail_queued() {
    for (;;) {
        BlockingJob* job = nullptr;
        {
            SpinGuard guard(lock_);
            if (threads_ != 0) return;
            job = queue_.pop_front();
            if (!job) return;
            --queue_size_;
            job->state = BlockingJob::State::Failed;
        }
        if (job->detached) {
            job->run(*job);
        } else {
            job->ended.complete();
        }
    }
}

bool BlockingPool::withdraw(BlockingJob& job) {
    SpinGuard guard(lock_);
    if (job.state != BlockingJob::State::Queued) return false;
    queue_.erase(job);
    --queue_size_;
    job.state = BlockingJob::State::Withdrawn;
    counters_.withdrawn.add();
    return true;
}

void BlockingPool::thread_main(void* argument) {
    auto& seat = *static_cast<Seat*>(argument);
    BlockingPool& pool = *seat.pool;
    mark_own_thread();
    while (BlockingJob* job = pool.next_job(seat)) perform(*job);
}

void BlockingPool::perform(BlockingJob& job) {
    if (job.detached) return job.run(job);
    {
        // A child of the asker's token: a runtime's root does not find the cells of threads.
        CancelSource source{CancelToken(job.token)};
        CancelScope scope(source.token());
        job.run(job);
    }
    job.ended.complete();
}

// Null: the thread ends, and its seat is given back.
BlockingJob* BlockingPool::next_job(Seat& seat) {
    bool expired = false;
    for (;;) {
        lock_.lock();
        if (BlockingJob* job = queue_.pop_front()) {
            --queue_size_;
            job->state = BlockingJob::State::Taken;
            lock_.unlock();
            counters_.jobs.add();
            std::int64_t waited_ns = env::now_ns() - job->queued_ns;
            counters_.queue_wait_ns.add(static_cast<std::uint64_t>(waited_ns));
            return job;
        }
        if (stopping_ || expired) {
            --threads_;
            seat.ended = true;
            if (seat.started) put_seat(seat);
            lock_.unlock();
            if (expired) counters_.threads_retired.add();
            return nullptr;
        }
        Waiter waiter(WaitReason::Other, this, Cancellable::No);
        seat.waiter = waiter.ref();
        idle_.push_front(seat);
        lock_.unlock();
        expired = waiter.wait(Deadline::after(idle_max_)) == Wake::TimedOut;
        if (!expired) continue;
        SpinGuard guard(lock_);
        if (seat.idle_link.is_linked()) idle_.erase(seat);
    }
}

void BlockingPool::stop() {
    for (;;) {
        WaitRef sleeper;
        {
            SpinGuard guard(lock_);
            stopping_ = true;
            sleeper = claim_idle();
        }
        if (!sleeper.cell()) break;
        sleeper.resume();
    }
    for (unsigned i = 0; i < threads_max_; ++i) {
        Seat& seat = seats_[i];
        bool started = false;
        {
            SpinGuard guard(lock_);
            started = std::exchange(seat.started, false);
        }
        if (started) env::join_thread(seat.thread);
    }
}

}  // namespace weft
