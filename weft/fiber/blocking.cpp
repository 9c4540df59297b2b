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
      slots_(std::make_unique<Slot[]>(threads_max)) {
    for (unsigned i = threads_max; i > 0; --i) {
        Slot& slot = slots_[i - 1];
        slot.pool = this;
        slot.next_free = free_slots_;
        free_slots_ = &slot;
    }
}

BlockingPool::~BlockingPool() {
    stop();
    SpinGuard guard(lock_);
    WEFT_DASSERT(queue_size_ == 0 && threads_ == 0, "stop() runs what is queued, and joins all");
}

unsigned BlockingPool::threads() const {
    SpinGuard guard(lock_);
    return threads_;
}

std::size_t BlockingPool::in_flight() const {
    SpinGuard guard(lock_);
    std::size_t busy = threads_;
    for (const Slot& slot : idle_) {
        static_cast<void>(slot);
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
    // No lock is needed: nobody changes the state of a job that has ended or was withdrawn.
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

// After an error the job is not queued.
Result<void> BlockingPool::submit(BlockingJob& job) {
    job.queued_ns = env::now_ns();
    WaitRef sleeper;
    Slot* slot = nullptr;
    {
        SpinGuard guard(lock_);
        if (stopping_) return ErrorKind::Closed;
        WEFT_ASSERT(job.state == BlockingJob::State::Queued, "a job is submitted once");
        queue_.push_back(job);
        ++queue_size_;
        sleeper = claim_idle();
        if (!sleeper.cell()) slot = take_slot();
    }
    if (sleeper.cell()) {
        sleeper.resume();
    } else if (slot) {
        // When this fails, a running thread takes the job; without one, fail_queued() has ended it.
        static_cast<void>(start_thread(*slot));
    }
    return {};
}

// With the lock held. Claims the thread that became idle last, so that threads that are not needed
// stay idle and end.
WaitRef BlockingPool::claim_idle() {
    WEFT_DASSERT(lock_.is_locked());
    while (Slot* slot = idle_.pop_front()) {
        if (slot->waiter.try_claim(Wake::Ready)) return slot->waiter;
    }
    return {};
}

// With the lock held; null when all are taken.
auto BlockingPool::take_slot() -> Slot* {
    WEFT_DASSERT(lock_.is_locked());
    Slot* slot = free_slots_;
    if (!slot) return nullptr;
    WEFT_ASSERT(slot->ended, "the thread of a free slot has ended");
    free_slots_ = slot->next_free;
    slot->ended = false;
    ++threads_;
    WEFT_ASSERT(threads_ <= threads_max_, "each thread has a slot");
    return slot;
}

// With the lock held.
void BlockingPool::put_slot(Slot& slot) {
    WEFT_DASSERT(lock_.is_locked());
    WEFT_ASSERT(slot.ended && !slot.idle_link.is_linked(), "a slot outlives its thread");
    slot.next_free = free_slots_;
    free_slots_ = &slot;
}

Result<void> BlockingPool::start_thread(Slot& slot) {
    // An earlier thread of this slot is about to end.
    if (std::exchange(slot.started, false)) env::join_thread(slot.thread);
    EnvThread thread = env::start_thread(thread_main, &slot, "weft-blocking");
    bool failed = thread.handle == 0;
    bool alone = false;
    {
        SpinGuard guard(lock_);
        slot.thread = thread;
        slot.started = !failed;
        if (failed) {
            slot.ended = true;
            --threads_;
        }
        // The thread may have run and ended meanwhile.
        if (slot.ended) put_slot(slot);
        alone = threads_ == 0;
    }
    if (!failed) {
        counters_.threads_started.add();
        return {};
    }
    if (alone) fail_queued();
    return ErrorKind::OutOfMemory;
}

// Ends all queued jobs as Failed: there is no thread to run them, and none could be started.
void BlockingPool::fail_queued() {
    for (;;) {
        BlockingJob* job = nullptr;
        {
            SpinGuard guard(lock_);
            if (threads_ != 0) return;
            job = queue_.pop_front();
            if (!job) return;
            WEFT_ASSERT(queue_size_ > 0, "the size is that of the queue");
            --queue_size_;
            WEFT_ASSERT(job->state == BlockingJob::State::Queued, "a withdrawn job is not queued");
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
    WEFT_ASSERT(queue_size_ > 0, "the size is that of the queue");
    --queue_size_;
    job.state = BlockingJob::State::Withdrawn;
    counters_.withdrawn.add();
    return true;
}

void BlockingPool::thread_main(void* argument) {
    auto& slot = *static_cast<Slot*>(argument);
    BlockingPool& pool = *slot.pool;
    mark_own_thread();
    while (BlockingJob* job = pool.next_job(slot)) perform(*job);
}

void BlockingPool::perform(BlockingJob& job) {
    if (job.detached) return job.run(job);
    {
        // A child of the fiber's token, because a runtime's root finds only the cells of fibers.
        CancelSource source{CancelToken(job.token)};
        CancelScope scope(source.token());
        job.run(job);
    }
    job.ended.complete();
}

// Null: the thread ends, and its slot is free again.
BlockingJob* BlockingPool::next_job(Slot& slot) {
    bool expired = false;
    for (;;) {
        lock_.lock();
        if (BlockingJob* job = queue_.pop_front()) {
            WEFT_ASSERT(queue_size_ > 0, "the size is that of the queue");
            --queue_size_;
            WEFT_ASSERT(job->state == BlockingJob::State::Queued, "a withdrawn job is not queued");
            job->state = BlockingJob::State::Taken;
            lock_.unlock();
            counters_.jobs.add();
            std::int64_t waited_ns = env::now_ns() - job->queued_ns;
            counters_.queue_wait_ns.add(static_cast<std::uint64_t>(waited_ns));
            return job;
        }
        WEFT_DASSERT(queue_size_ == 0, "the size is that of the queue");
        if (stopping_ || expired) {
            WEFT_ASSERT(threads_ > 0 && !slot.ended, "a thread ends once");
            --threads_;
            slot.ended = true;
            if (slot.started) put_slot(slot);
            lock_.unlock();
            if (expired) counters_.threads_retired.add();
            return nullptr;
        }
        Waiter waiter(WaitReason::Other, this, Cancellable::No);
        slot.waiter = waiter.ref();
        idle_.push_front(slot);
        lock_.unlock();
        expired = waiter.wait(Deadline::after(idle_max_)) == Wake::TimedOut;
        if (!expired) continue;
        SpinGuard guard(lock_);
        if (slot.idle_link.is_linked()) idle_.erase(slot);
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
        Slot& slot = slots_[i];
        bool started = false;
        {
            SpinGuard guard(lock_);
            started = std::exchange(slot.started, false);
        }
        if (started) env::join_thread(slot.thread);
    }
}

}  // namespace weft
