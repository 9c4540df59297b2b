#include "weft/async/internal/pool_core.h"

#include <memory>

#include "weft/async/errors.h"
#include "weft/base/assert.h"
#include "weft/base/planted.h"

namespace weft::async_internal {

using sync_internal::Claimed;
using sync_internal::Until;

namespace {

CancelReason ambient_reason() { return async::reason_of(current_cell().token); }

}  // namespace

PoolCore::PoolCore(CancelState* parent, std::size_t workers, std::size_t queue_size)
    : CancelState(parent, Deadline::never(), &kNodeType),
      workers_max_(workers),
      accepted_max_(workers + queue_size) {
    WEFT_ASSERT(workers != 0 && queue_size != 0, "Pool::create() refuses other options");
}

PoolCore::~PoolCore() {
    WEFT_ASSERT(!first_ && accepted_ == 0 && working_ == 0, "a pool ends after its jobs");
    WEFT_ASSERT(!jobs_.has_jobs(), "a pool ends after its jobs");
    while (PoolJob* job = free_) {
        free_ = job->next;
        std::unique_ptr<PoolJob>(job).reset();
    }
}

// ---------------------------------------------------------------- admission

// Lock held.
bool PoolCore::try_take_place(const StoredJob* offered, Admitted& admitted) {
    WEFT_DASSERT(lock_.is_locked());
    if (accepted_ == accepted_max_) return false;
    if (accepted_++ == 0) {
        bool counted = jobs_.add();
        WEFT_ASSERT(counted || WEFT_PLANTED("pool.lets_in_late"),
                    "jobs_ is closed only after closed_ was set");
    }
    PoolJob* job = free_;
    if (job) free_ = job->next;
    admitted = fill(job, offered);
    return true;
}

// Lock held. Makes the place of `job`, which may be null, and queues the offered function, if any.
PoolCore::Admitted PoolCore::fill(PoolJob* job, const StoredJob* offered) {
    if (!job || !offered || WEFT_PLANTED("pool.starts_one_too_many")) return {.job = job};
    static_cast<StoredJob&>(*job) = *offered;
    append(*job);
    return {.job = nullptr, .is_queued = true, .starts_fiber = count_fiber()};
}

Result<PoolCore::Admitted> PoolCore::admit_at_once(const StoredJob* offered) {
    Admitted admitted;
    bool closed = WEFT_PLANTED("pool.lets_in_late") && closed_;
    {
        SpinGuard guard(lock_);
        if (!WEFT_PLANTED("pool.lets_in_late")) closed = closed_;
        if (!closed && try_take_place(offered, admitted)) return admitted;
    }
    return closed ? async::kPoolClosed() : async::kPoolFull();
}

Result<PoolCore::Admitted> PoolCore::admit(const StoredJob* offered) {
    if (CancelReason ended = ambient_reason(); ended != CancelReason::None) [[unlikely]]
        return async::context_error(ended);
    Result<Admitted> admitted = wait_for_place(offered, Deadline::never(), CancelToken());
    if (admitted || admitted.error().kind() == ErrorKind::Closed) return admitted;
    return async::context_error(ambient_reason());
}

Result<PoolCore::Admitted> PoolCore::admit(const StoredJob* offered, const Context& waiting) {
    WEFT_TRY(waiting.check());
    Result<Admitted> admitted = wait_for_place(offered, Deadline::never(), waiting.token());
    if (admitted || admitted.error().kind() == ErrorKind::Closed) return admitted;
    WEFT_TRY(waiting.check());
    return async::context_error(ambient_reason());  // the wait honours that context as well
}

Result<PoolCore::Admitted> PoolCore::admit_until(const StoredJob* offered, Deadline deadline) {
    if (deadline.expired(Clock::now())) return async::kTimeout();
    Result<Admitted> admitted = wait_for_place(offered, deadline, CancelToken());
    if (admitted || admitted.error().kind() == ErrorKind::Closed) return admitted;
    WEFT_TRY(Context::current().check());
    return async::kTimeout();
}

Result<PoolCore::Admitted> PoolCore::wait_for_place(const StoredJob* offered, Deadline deadline,
                                                    const CancelToken& token) {
    Admitted admitted;
    lock_.lock();
    bool closed = closed_;
    if (closed || try_take_place(offered, admitted)) {
        lock_.unlock();
        if (closed) return async::kPoolClosed();
        return admitted;
    }
    Submitter submitter;
    submitter.offered = offered;
    Result<void> waited =
        submitters_.wait(lock_, submitter, WaitReason::Job, this, Until(deadline, token));
    if (waited && submitter.is_admitted) return submitter.admitted;
    if (waited) return async::kPoolClosed();
    SpinGuard guard(lock_);
    submitters_.remove(submitter);
    return waited.error();
}

// ---------------------------------------------------------------- jobs

PoolCore::Place::Place(PoolCore& owner, PoolJob* admitted)
    : core(owner), job(admitted ? admitted : std::make_unique<PoolJob>().release()) {}

PoolCore::Place::~Place() {
    if (!job) return;
    core.release_place(*job, Then::Nothing);
}

// Lock held.
void PoolCore::append(PoolJob& job) {
    WEFT_DASSERT(lock_.is_locked());
    WEFT_DASSERT(!first_ || !last_->next, "nothing is queued behind the last job");
    job.next = nullptr;
    (first_ ? last_->next : first_) = &job;
    last_ = &job;
}

// Lock held. True if the caller has to start one more fiber, which is counted already.
bool PoolCore::count_fiber() {
    WEFT_DASSERT(lock_.is_locked() && working_ <= workers_max_);
    if (working_ == workers_max_) return false;
    ++working_;
    return true;
}

void PoolCore::start_fiber() {
    Result<void> started = start_job(*this, Work());
    if (!started) finish(started.error());
}

void PoolCore::enqueue(PoolJob& job) {
    bool start = WEFT_PLANTED("pool.starts_one_too_many") && working_ < workers_max_;
    {
        SpinGuard guard(lock_);
        append(job);
        if (!WEFT_PLANTED("pool.starts_one_too_many")) {
            start = count_fiber();
        } else if (start) {
            ++working_;
        }
    }
    if (start) start_fiber();
}

PoolJob* PoolCore::first_job() {
    SpinGuard guard(lock_);
    return take_job();
}

// Lock held. Null when the queue is empty: the calling fiber is then no longer counted as working.
PoolJob* PoolCore::take_job() {
    PoolJob* job = first_;
    if (job) {
        first_ = job->next;
    } else {
        if (WEFT_PLANTED("pool.leaves_a_job_behind")) {
            lock_.unlock();
            lock_.lock();
        }
        WEFT_ASSERT(working_ != 0, "a fiber that runs jobs is counted");
        --working_;
    }
    return job;
}

Result<void> PoolCore::call(Work&) {
    Context context{CancelToken(this)};
    PoolJob* job = first_job();
    while (job) {
        end_job(*job, run(*job, context));
        job = release_place(*job, Then::TakeNext);
        // The previous job may have moved from its context.
        if (context.token().state() != this) context = Context(CancelToken(this));
    }
    return {};
}

Result<void> PoolCore::run(PoolJob& job, Context& context) {
    NameScope named(job.name);
    return job.call(job, context);
}

void PoolCore::end_job(PoolJob& job, const Result<void>& outcome) {
    job.destroy(job);
    if (!outcome) errors_.add(outcome.error(), *this);
}

// Hands the place and its memory over to the submitter that has waited longest, or frees them.
PoolJob* PoolCore::release_place(PoolJob& job, Then then) {
    Claimed claimed;
    bool is_last = false;
    PoolJob* next = nullptr;
    job.name.clear();
    {
        SpinGuard guard(lock_);
        sync_internal::WaitEntry* first = submitters_.front();
        auto* submitter = static_cast<Submitter*>(submitters_.claim_first());
        if (WEFT_PLANTED("pool.charges_the_ended") && first != submitter) ++accepted_;
        WEFT_ASSERT(accepted_ != 0, "a place is released that nobody has");
        if (submitter) {
            WEFT_DASSERT(!closed_ || WEFT_PLANTED("pool.closes_silently"),
                         "nobody waits for a place of a closed pool");
            WEFT_DASSERT(accepted_ >= accepted_max_, "a submitter waits only while all are taken");
            submitter->is_admitted = true;
            submitter->admitted = fill(&job, submitter->offered);
            claimed.add(submitter->ref);
        } else {
            job.next = free_;
            free_ = &job;
            is_last = --accepted_ == 0;
        }
        if (then == Then::TakeNext) next = take_job();
    }
    claimed.resume_all();
    if (is_last) jobs_.done();
    return next;
}

// Called when a fiber ends. An error means that it could not start.
void PoolCore::finish(Result<void> outcome) {
    if (!outcome) [[unlikely]]
        fail_queue(outcome.error());
}

void PoolCore::fail_queue(const Error& error) {
    PoolJob* job = nullptr;
    {
        SpinGuard guard(lock_);
        WEFT_ASSERT(working_ != 0, "a fiber that could not start is counted");
        // While another fiber runs, it takes the queued jobs.
        if (--working_ == 0) job = std::exchange(first_, nullptr);
    }
    while (PoolJob* failed = job) {
        job = failed->next;
        end_job(*failed, error);
        release_place(*failed, Then::Nothing);
    }
}

// ---------------------------------------------------------------- the end

void PoolCore::close_to_submitters() {
    Claimed claimed;
    {
        SpinGuard guard(lock_);
        closed_ = true;
        if (!WEFT_PLANTED("pool.closes_silently")) submitters_.claim_all(claimed);
    }
    claimed.resume_all();
}

Result<void> PoolCore::close() {
    close_to_submitters();
    if (!jobs_.close_and_wait(*this)) return async::kPoolWaited();
    cancel(CancelReason::Cancelled);
    if (std::optional<Error> first = errors_.get()) return *first;
    return {};
}

void PoolCore::end() {
    close_to_submitters();
    if (jobs_.end(*this) != JobCount::End::Awaited) errors_.drop(*this);
}

}  // namespace weft::async_internal
