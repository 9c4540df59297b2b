// Race: concurrent jobs of which the first with an outcome that counts wins. The winner cancels
// the others, and all are waited for. For any(), race() and hedge().
//
// The errors of the losers are logged and counted, except the Cancelled of a job that the winner
// has cancelled. Jobs may refer to the frame of the function that owns the race, because
// finish() waits for all. start(), wait_for_outcome() and finish(): the owning fiber or thread.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "weft/async/context.h"
#include "weft/async/errors.h"
#include "weft/async/internal/first_error.h"
#include "weft/async/internal/job.h"
#include "weft/async/internal/job_count.h"
#include "weft/base/assert.h"
#include "weft/base/atomic.h"
#include "weft/base/planted.h"
#include "weft/base/result.h"
#include "weft/fiber/cancel.h"
#include "weft/sync/event.h"

namespace weft::async_internal {

enum class WonBy : std::uint8_t { Success, AnyOutcome };

template <class T>
class RaceCore final : public CancelState {
public:
    static RaceCore* create(WonBy won_by) {
        return make<RaceCore>(parent_of_core(Context::current()), won_by);
    }

    static constexpr FiberLabel kLabel{"race job"};
    template <class Function>
    void start(Function&& function) {
        if (is_nil(function)) return settle(async::kNilJob());
        bool counted = jobs_.add();
        WEFT_ASSERT(counted, "only wait() and end() close the count, and no job starts after them");
        UnlessStarted unless_started([this] { static_cast<void>(jobs_.done()); });
        Result<void> started = start_job(*this, std::forward<Function>(function));
        unless_started.started();
        if (!started) finish(started.error());
    }
    bool wait_for_outcome(Deadline deadline) {
        static_cast<void>(outcome_stored_.wait_until(deadline));
        outcome_stored_.reset();
        // Acquire: pairs with settle().
        return !decided_.load(std::memory_order_acquire) && Context::current().check();
    }
    Result<T> wait() {
        bool leaves = WEFT_PLANTED("race.leaves_the_losers") && winner_;
        bool joined = leaves || jobs_.close_and_wait(*this);
        WEFT_ASSERT(joined, "the owner of a race waits for it once");
        cancel(CancelReason::Cancelled);
        std::optional<Error> first = errors_.get();
        if (!winner_) {
            WEFT_ASSERT(first.has_value(), "a race without jobs");
            return *first;
        }
        errors_.drop(*this);
        return std::move(*winner_);
    }
    // Called without a wait() only if starting the jobs has thrown.
    void end() {
        if (WEFT_PLANTED("race.leaves_the_losers")) return;
        if (jobs_.end(*this) != JobCount::End::Awaited) errors_.drop(*this);
    }

    // For JobBody.
    template <class Function>
    Result<T> call(Function& function) {
        Context context{CancelToken(this)};
        return call_job(function, context);
    }
    void finish(Result<T> outcome) {
        settle(std::move(outcome));
        static_cast<void>(jobs_.done());
    }

private:
    friend class CancelState;
    static constexpr NodeType kNodeType{destroy_as<RaceCore>};

    RaceCore(CancelState* parent, WonBy won_by)
        : CancelState(parent, Deadline::never(), &kNodeType), won_by_(won_by) {}
    ~RaceCore() { WEFT_ASSERT(!jobs_.has_jobs(), "a race ends after its jobs"); }

    // True for exactly one caller.
    bool decide() {
        if (WEFT_PLANTED("race.decides_twice")) return !decided_.load(std::memory_order_acquire);
        // Acquire-release: a loser sees what the winner did before its claim. For wait() the end
        // of the jobs orders it.
        return !decided_.exchange(true, std::memory_order_acq_rel);
    }
    void settle(Result<T> outcome) {
        bool can_decide = outcome.has_value() || won_by_ == WonBy::AnyOutcome;
        if (can_decide && decide()) {
            winner_.emplace(std::move(outcome));
            cancel(CancelReason::Cancelled);
            if (WEFT_PLANTED("race.decides_twice")) decided_.store(true, std::memory_order_release);
        } else if (!outcome) {
            lose(outcome.error());
        }
        outcome_stored_.set();
    }
    void lose(const Error& error) {
        bool heeded = error.kind() == ErrorKind::Cancelled &&
                      decided_.load(std::memory_order_acquire);  // as above
        if (!heeded) errors_.add(error, *this);
    }

    const WonBy won_by_;
    JobCount jobs_;
    FirstError errors_;
    Atomic<bool> decided_{false};
    std::optional<Result<T>> winner_;  // written by the job that has set decided_
    Event outcome_stored_;
};

template <class T>
class Race {
public:
    explicit Race(WonBy won_by) : core_(RaceCore<T>::create(won_by)) {}
    Race(const Race&) = delete;
    Race& operator=(const Race&) = delete;
    ~Race() { core_->end(); }

    // A job that cannot be started counts as one that has failed with that error.
    template <class Function>
    void start(Function&& function) {
        core_->start(std::forward<Function>(function));
    }
    // Waits until a job has ended since the last call, or until the deadline. False when no more
    // jobs should be started: there is a winner, or the ambient context has ended.
    bool wait_for_outcome(Deadline deadline) { return core_->wait_for_outcome(deadline); }
    // Waits for all jobs. Returns the outcome of the winner, else the first error.
    Result<T> finish() { return core_->wait(); }

private:
    CoreRef<RaceCore<T>> core_;
};

}  // namespace weft::async_internal
