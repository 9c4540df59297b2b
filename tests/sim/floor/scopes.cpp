#include "tests/sim/floor/scopes.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/floor/jobs.h"
#include "weft/async/group.h"
#include "weft/async/pending.h"
#include "weft/async/scope.h"
#include "weft/async/task.h"
#include "weft/async/timeout.h"

namespace weft::sim::scenarios {
namespace {

using namespace std::chrono_literals;
using async::Completer;
using async::OwnedContext;
using async::Pending;
using async::Scope;
using async::ScopeKind;

ScopeKind some_kind() { return static_cast<ScopeKind>(between(0, 2)); }

// The cleanups of one scope: each runs once, in reverse order, when nothing in the scope runs.
class Cleanups {
public:
    explicit Cleanups(const Jobs& jobs) : jobs_(jobs) {}

    void add(Scope& scope) {
        int number = ++left_;
        if (coin()) return scope.defer([this, number] { run(number); });
        scope.make<Made>(*this, number);
    }
    void require_done() const { require(left_ == 0, "a cleanup did not run"); }

private:
    struct Made {
        Made(Cleanups& made_by, int its_number) : cleanups(made_by), number(its_number) {}
        Made(const Made&) = delete;
        Made& operator=(const Made&) = delete;
        ~Made() { cleanups.run(number); }
        Cleanups& cleanups;
        int number;
    };

    void run(int number) {
        require(number == left_, "a cleanup ran out of turn, or twice");
        --left_;
        require(jobs_.begun() == jobs_.ended(), "a cleanup ran before the last job had ended");
    }

    const Jobs& jobs_;
    int left_ = 0;
};

// Something that a scope waits for, and that ends with it.
void start_something(Scope& scope, Jobs& jobs) {
    switch (between(0, 4)) {
    case 0: jobs.count(scope.spawn("job", jobs.some_heeding_job())); break;
    case 4: {
        auto plain = [job = jobs.some_heeding_job()]() mutable -> Result<void> {
            Context context = Context::current();
            return job(context);
        };
        // Of a plain thread it does not start.
        if (auto fiber = spawn(std::move(plain))) jobs.count({});
        break;
    }
    case 1: {
        auto dropped = async::run_task(jobs.some_heeding_job());
        if (dropped) jobs.count({});
        break;
    }
    case 2: {
        async::Group dropped;
        jobs.count(dropped.go(jobs.some_heeding_job()));
        break;
    }
    case 3: {
        auto counts = [&jobs, job = jobs.some_heeding_job()](Context& context) mutable {
            jobs.count({});
            return job(context);
        };
        static_cast<void>(async::with_timeout(up_to_us(20), std::move(counts)));
        break;
    }
    }
}

// A scope with children, jobs and cleanups. Nothing of it is left when it returns.
void some_scope(const Context& parent, int depth) {
    Jobs jobs;
    Cleanups cleanups(jobs);
    Result<void> outcome = run_scope(some_kind(), parent, [&](Scope& scope) -> Result<void> {
        require(Context::current() == scope.context(), "a scope is not ambient in itself");
        for (int i = between(1, 4); i > 0; --i) {
            if (coin()) cleanups.add(scope);
            if (coin()) start_something(scope, jobs);
            if (depth > 0 && coin()) some_scope(scope.context(), depth - 1);
        }
        if (coin()) return sleep_for(up_to_us(40));
        return {};
    });
    jobs.require_ended();
    cleanups.require_done();
    if (outcome || outcome.error().kind() == ErrorKind::Cancelled) return;
    jobs.require_own(outcome.error());
}

}  // namespace

void scope_tree() {
    Runtime runtime({.workers = some_workers()});
    Crew crew(runtime);
    for (int i = between(1, 2); i > 0; --i)
        crew.add([&] { some_scope(Context::background(runtime), 2); });
}

// Jobs below the context of a scope that are left running, by somebody outside, at the moment at
// which the scope ends: the scope waits for them, or the one around it does.
void scope_keeps_the_abandoned() {
    Runtime runtime({.workers = some_workers()});
    Jobs jobs;
    Crew crew(runtime);
    crew.add([&] {
        Result<void> outer =
            run_scope(ScopeKind::App, Context::background(runtime), [&](Scope& app) {
                std::vector<Future<void>> outside;
                Result<void> inner = run_scope(ScopeKind::Request, [&](Scope& scope) {
                    scope.defer([] { some_yields(); });
                    for (int i = between(1, 4); i > 0; --i) {
                        auto leaves = [&jobs, below = scope.context()] {
                            auto counts = [&jobs, job = jobs.job(Jobs::Manner::Ignore)](
                                              Context& context) mutable {
                                jobs.count({});
                                return job(context);
                            };
                            static_cast<void>(
                                with_timeout_context(below, up_to_us(10), std::move(counts)));
                        };
                        SpawnOptions options;
                        options.token = app.context().token().state();
                        outside.push_back(runtime.spawn(std::move(leaves), options));
                    }
                    some_yields();
                });
                require(inner.has_value(), "the inner scope failed");
                for (auto& fiber : outside) require(fiber.join().has_value(), "a fiber failed");
            });
        require(outer.has_value(), "the outer scope failed");
        jobs.require_ended();
    });
}

// The context above is cancelled at one exact step.
void scope_cancel_anywhere() {
    Runtime runtime({.workers = some_workers()});
    OwnedContext owned = Context::background(runtime).with_cancel();
    Crew crew(runtime);
    crew.add_thread([&] {
        await_interrupt();
        owned.source.cancel();
    });
    for (int i = between(1, 2); i > 0; --i) crew.add([&] { some_scope(owned.context, 1); });
}

// The runtime is shut down at one exact step.
void scope_shutdown_anywhere() {
    Runtime runtime({.workers = some_workers()});
    Crew crew(runtime);
    for (int i = between(1, 2); i > 0; --i)
        crew.add_fiber([&] { some_scope(Context::current(), 1); });
    await_interrupt();
    require(runtime.shutdown().has_value(), "a shutdown without a deadline timed out");
}

namespace {

// An operation that several others want to complete.
class Operation {
public:
    explicit Operation(Scope& scope) : pending_(std::in_place, scope) {}

    // By the others; at least this moment's copy of the right to complete.
    auto completing(int value) {
        return [this, value, completer = pending_->completer()]() mutable {
            // The same moments as those of the owner's deadline.
            static_cast<void>(sleep_for(between(0, 2) * 10us));
            if (!completer.complete(value)) return;
            require(completed_ == 0, "an operation was completed twice");
            completed_ = value;
        };
    }
    // By the owner.
    void wait(Deadline deadline) {
        Result<int> outcome = pending_->wait(deadline);
        if (outcome) received_ = *outcome;
        require(is_fault(pending_->wait(), async::kPendingWaited), "a second wait succeeded");
    }
    void give_up() { pending_.reset(); }
    bool has_value() const { return received_ != 0; }
    // When all others are done.
    void check(bool waited) const {
        require(received_ == 0 || received_ == completed_, "it has two outcomes");
        require(!waited || received_ == completed_, "a completion was lost");
    }

private:
    std::optional<Pending<int>> pending_;
    int completed_ = 0;
    int received_ = 0;
};

void complete_or_give_up(Runtime& runtime, Scope& scope) {
    Operation operation(scope);
    std::vector<Future<void>> drivers;
    for (int value = between(0, 3); value > 0; --value)
        drivers.push_back(runtime.spawn(operation.completing(value)));
    bool waits = coin();
    if (waits) operation.wait(Deadline::after(between(0, 2) * 10us));
    if (coin()) operation.give_up();
    CancelScope outside{CancelToken()};
    for (auto& driver : drivers) require(driver.join().has_value(), "a driver failed");
    operation.check(waits);
}

}  // namespace

// Completed or given up, by the deadline or by the owner: one outcome.
void pending_outcomes() {
    Runtime runtime({.workers = some_workers()});
    Crew crew(runtime);
    crew.add([&] {
        Result<void> outcome =
            run_scope(ScopeKind::Request, Context::background(runtime), [&](Scope& scope) {
                for (int i = between(1, 3); i > 0; --i) complete_or_give_up(runtime, scope);
            });
        require(outcome.has_value(), "the scope failed");
    });
}

// The scope is cancelled at one exact step.
void pending_anywhere() {
    Runtime runtime({.workers = some_workers()});
    OwnedContext owned = Context::background(runtime).with_cancel();
    Crew crew(runtime);
    crew.add_thread([&] {
        await_interrupt();
        owned.source.cancel();
    });
    crew.add([&] {
        static_cast<void>(run_scope(ScopeKind::Request, owned.context, [&](Scope& scope) {
            for (int i = between(1, 3); i > 0; --i) complete_or_give_up(runtime, scope);
        }));
    });
}

}  // namespace weft::sim::scenarios
