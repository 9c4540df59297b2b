// Contest: jobs of which one decides. It ends the others, and all are waited for.
//
// The errors of those that lost are logged and counted, but for the one that says that a job heeded
// its end. It lies in the frame of the function that runs it, whose jobs may refer to that frame.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "weft/async/context.h"
#include "weft/async/errors.h"
#include "weft/async/group.h"
#include "weft/async/internal/first_error.h"
#include "weft/async/internal/job.h"
#include "weft/base/assert.h"
#include "weft/base/atomic.h"
#include "weft/base/result.h"
#include "weft/sync/event.h"

namespace weft::async_internal {

enum class WonBy : std::uint8_t { Success, AnyOutcome };

template <class T>
class Contest {
public:
    explicit Contest(WonBy won_by)
        : won_by_(won_by), owned_(Context::current().with_cancel()), group_(owned_.context) {}

    template <class Function>
    void start(Function&& function) {
        if (is_nil(function)) return settle(async::kNilJob());
        Result<void> started =
            group_.go([this, job = std::forward<Function>(function)](Context& context) mutable {
                settle(call_job(job, context));
            });
        if (!started) settle(started.error());
    }

    // Until a job has settled since the last call, or the deadline. False when no more should be
    // started: it is decided, or the ambient context has ended.
    bool wait_for_news(Deadline deadline) {
        static_cast<void>(news_.wait_until(deadline));
        news_.reset();
        // Acquire: pairs with settle().
        return !decided_.load(std::memory_order_acquire) && Context::current().err();
    }

    // Waits for all: what decided, else the first error.
    Result<T> finish() {
        static_cast<void>(group_.wait());  // settle() has the errors
        std::optional<Error> first = errors_.get();
        if (!winner_) {
            WEFT_ASSERT(first.has_value(), "a contest without jobs");
            return *first;
        }
        errors_.drop(*owned_.context.token().state());
        return std::move(*winner_);
    }

private:
    void settle(Result<T> outcome) {
        bool can_decide = outcome.has_value() || won_by_ == WonBy::AnyOutcome;
        // Acquire-release: the loser goes on after the winner's claim; finish() is ordered by the
        // wait for the group.
        if (can_decide && !decided_.exchange(true, std::memory_order_acq_rel)) {
            winner_.emplace(std::move(outcome));
            owned_.source.cancel();
        } else if (!outcome) {
            lose(outcome.error());
        }
        news_.set();
    }

    void lose(const Error& error) {
        bool heeded = error.kind() == ErrorKind::Cancelled &&
                      decided_.load(std::memory_order_acquire);  // as above
        if (!heeded) errors_.add(error, *owned_.context.token().state());
    }

    const WonBy won_by_;
    async::OwnedContext owned_;
    async::Group group_;
    FirstError errors_;
    Atomic<bool> decided_{false};
    std::optional<Result<T>> winner_;  // by whom decided_ was set
    Event news_;
};

}  // namespace weft::async_internal
