#include "tests/sim/floor/timeouts.h"

#include <chrono>
#include <memory>
#include <utility>

#include "tests/sim/floor/jobs.h"
#include "weft/async/scope.h"
#include "weft/async/timeout.h"

namespace weft::sim::scenarios {
namespace {

using namespace std::chrono_literals;
using async::OwnedContext;
using Manner = Jobs::Manner;

// What the job of one call saw. The job may live on after the call, so it shares this.
struct Seen {
    Instant begun;
    Instant ended;
    bool has_ended = false;
    int code = 0;  // of the error that it made up
};

// One call, and what its result must be. `cancelled` says whether somebody cancels the parent.
class Call {
public:
    Call(Jobs& jobs, const Context& parent, const bool& cancelled)
        : jobs_(jobs), parent_(parent), cancelled_(cancelled) {}

    void make() {
        Manner manner = jobs_.some_manner(true);
        auto watch = [seen = seen_, job = jobs_.job(manner)](Context& context) mutable {
            seen->begun = Clock::now();
            Result<void> outcome = job(context);
            if (!outcome) seen->code = outcome.error().native_code();
            seen->ended = Clock::now();
            seen->has_ended = true;
            return outcome;
        };
        Instant before = Clock::now();
        Result<void> result = with_timeout_context(parent_, timeout_, std::move(watch));
        if (result) return require_in_time();
        const Error& error = result.error();
        if (error.kind() == ErrorKind::Other) {
            require(error.native_code() == seen_->code, "the error of another job");
            return require_in_time();
        }
        if (is_fault(error, async::kTimeout)) return require_timeout(before);
        require(is_end_of_context(error), "an odd error");
        require_parent(error, before);
    }

private:
    void require_in_time() const {
        require(seen_->has_ended, "an outcome without an end");
        require(seen_->ended < seen_->begun + timeout_, "a late outcome counted");
        require(!parent_.deadline().expired(seen_->ended),
                "an outcome counted after the parent's deadline");
    }
    void require_timeout(Instant before) const {
        require(Clock::now() >= before + timeout_, "it timed out early");
        require(parent_.deadline() >= Deadline::at(before + timeout_),
                "the deadline of the parent came first");
    }
    void require_parent(const Error& error, Instant before) const {
        if (error.kind() == ErrorKind::Cancelled)
            return require(cancelled_, "the parent was cancelled by nobody");
        require(parent_.deadline().expired(Clock::now()), "the parent ended early");
        // The call's own deadline was set at some moment after `before`.
        require(parent_.deadline() < Deadline::after(timeout_, Clock::now()), "its own came first");
        static_cast<void>(before);
    }

    Jobs& jobs_;
    const Context& parent_;
    const bool& cancelled_;
    const Nanoseconds timeout_ = 1us + up_to_us(60);
    std::shared_ptr<Seen> seen_ = std::make_shared<Seen>();  // by the call and its job
};

void call_some(Jobs& jobs, const Context& parent, const bool& cancelled) {
    Result<void> outcome =
        async::run_scope(async::ScopeKind::Request, parent, [&](async::Scope& scope) {
            Context context = scope.context();
            for (int i = between(1, 3); i > 0; --i) Call(jobs, context, cancelled).make();
        });
    require(outcome || is_end_of_context(outcome.error()), "an odd error");
}

}  // namespace

// The own deadline against that of the parent, and both against the job. What goes on is kept by
// the scope.
void timeout_deadlines() {
    Runtime runtime({.workers = some_workers()});
    Jobs jobs;
    bool cancelled = false;
    Crew crew(runtime);
    for (int i = between(1, 2); i > 0; --i) {
        crew.add([&] {
            OwnedContext owned = Context::background(runtime).with_timeout(1us + up_to_us(100));
            bool bounded = coin();
            call_some(jobs, bounded ? owned.context : Context::background(runtime), cancelled);
        });
    }
    crew.join();
    jobs.require_none_alive();
}

// The parent is cancelled at one exact step.
void timeout_anywhere() {
    Runtime runtime({.workers = some_workers()});
    Jobs jobs;
    OwnedContext owned = Context::background(runtime).with_cancel();
    bool cancelled = false;
    Crew crew(runtime);
    crew.add_thread([&] {
        await_interrupt();
        cancelled = true;
        owned.source.cancel();
    });
    for (int i = between(1, 2); i > 0; --i)
        crew.add([&] { call_some(jobs, owned.context, cancelled); });
    crew.join();
    jobs.require_none_alive();
}

}  // namespace weft::sim::scenarios
