#include "weft/async/internal/job_count.h"

#include "weft/base/assert.h"
#include "weft/base/planted.h"

namespace weft::async_internal {
namespace {

// Forwards the cancellation of one token to another one that is not below it.
class CancelForwarder : public CancelListener {
public:
    explicit CancelForwarder(CancelState& target) : CancelListener(on_cancel), target_(target) {}

private:
    static void on_cancel(CancelListener& listener, CancelReason reason) {
        static_cast<CancelForwarder&>(listener).target_.cancel(reason);
    }

    CancelState& target_;
};

}  // namespace

bool JobCount::add() {
    // Relaxed: the job is published by the queue that it is put into, after it was counted.
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    do {
        if (word & kClosed) return false;
        WEFT_DASSERT(word < UINT64_MAX - kOne, "more jobs than can be counted");
        if (WEFT_PLANTED("job_count.adds_late")) word = word_.load(std::memory_order_relaxed);
    } while (!word_.compare_exchange_weak(word, word + kOne, std::memory_order_relaxed,
                                          std::memory_order_relaxed));
    return true;
}

bool JobCount::done() {
    // Acquire-release: the last job sees the waiter, and the waiter sees what all jobs did.
    std::uint64_t before = word_.fetch_sub(kOne, std::memory_order_acq_rel);
    WEFT_ASSERT(before >= kOne, "more jobs ended than began");
    WEFT_ASSERT((before & kClosed) || !(before & (kWaiting | kDropped)),
                "an owner waits, or has left, only after it has closed the count");
    if (before == (kOne | kClosed | kWaiting) && waiter_.try_claim(Wake::Ready)) waiter_.resume();
    if ((before & kDropped) && before < 2 * kOne && keeper_) keeper_->leave_keeper();
    return before & kDropped;
}

bool JobCount::close_and_wait(CancelState& jobs) {
    // Acquire: sees what the jobs that have ended did.
    std::uint64_t before = word_.fetch_or(kClosed, std::memory_order_acquire);
    if (before & kClosed) return false;
    if (before < kOne) return true;
    CancelState* ambient = current_cell().token;
    if (jobs.is_below(ambient) || WEFT_PLANTED("job_count.keeps_the_end_to_itself")) {
        wait_for_last();
        return true;
    }
    CancelForwarder forwarder(jobs);
    forwarder.listen(ambient);
    wait_for_last();
    forwarder.stop();
    return true;
}

void JobCount::wait_for_last() {
    Waiter waiter(WaitReason::Job, this, Cancellable::No);
    waiter_ = waiter.ref();
    // Release: publishes waiter_ to the last job. Acquire: sees what the jobs did if none is left.
    std::uint64_t before = word_.fetch_or(kWaiting, std::memory_order_acq_rel);
    WEFT_ASSERT((before & kFlags) == kClosed, "only the one that has closed the count waits");
    bool is_last = before < kOne;
    if (is_last && !WEFT_PLANTED("job_count.waits_without_look")) return waiter.abandon();
    Wake wake = waiter.wait();
    WEFT_ASSERT(wake == Wake::Ready, "a join ends with the last job and in no other way");
    WEFT_ASSERT(!has_jobs(), "a job was added to a closed count");
}

JobCount::End JobCount::end(CancelState& jobs) {
    if (!can_wait_here()) return leave_to_scope(jobs);
    // Acquire: sees what the jobs that have ended did.
    std::uint64_t before = word_.fetch_or(kClosed, std::memory_order_acquire);
    if (before & kClosed) {
        WEFT_ASSERT(before < kOne, "an owner of jobs is destroyed while somebody waits for them");
        return End::Awaited;
    }
    jobs.cancel(CancelReason::Cancelled);
    if (before < kOne || WEFT_PLANTED("job_count.leaves_without_wait")) return End::Joined;
    CancelState* ambient = current_cell().token;
    WEFT_ASSERT(!ambient || !ambient->is_below(&jobs),
                "a job destroys its own owner, which would wait for that job for ever");
    wait_for_last();
    return End::Joined;
}

JobCount::End JobCount::leave_to_scope(CancelState& jobs) {
    // Relaxed: only the owner closes it, and the owner calls this.
    if (word_.load(std::memory_order_relaxed) & kClosed) return End::Awaited;
    keeper_ = jobs.enter_keeper();
    // Release: publishes keeper_ to done(). Acquire: sees the outcomes.
    std::uint64_t before = word_.fetch_or(kClosed | kDropped, std::memory_order_acq_rel);
    WEFT_ASSERT(!(before & kFlags), "only the owner closes the count, and once");
    jobs.cancel(CancelReason::Cancelled);
    if (before >= kOne) return End::Left;
    if (keeper_) keeper_->leave_keeper();
    return End::Joined;
}

}  // namespace weft::async_internal
