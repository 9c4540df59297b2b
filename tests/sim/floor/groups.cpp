#include "tests/sim/floor/groups.h"

#include <algorithm>
#include <vector>

#include "tests/sim/floor/jobs.h"
#include "weft/async/group.h"
#include "weft/async/scope.h"

namespace weft::sim::scenarios {
namespace {

using async::Group;
using async::OwnedContext;
using Manner = Jobs::Manner;

int dropped_errors(const Runtime& runtime) {
    return static_cast<int>(runtime.counters().dropped_errors.value());
}

void require_closed(Group& group) {
    require(group.context().is_done(), "the context of a group goes on after the wait");
    require(is_fault(group.wait(), async::kGroupWaited), "a second wait succeeded");
    require(is_fault(group.go([] {}), async::kGroupGoAfterWait), "a job was accepted after wait");
}

// What wait() and errors() gave, against what the jobs did. Gives how many errors were kept.
int require_errors(const Jobs& jobs, const Result<void>& waited, const std::vector<Error>& kept,
                   int errors_max) {
    int errors = jobs.failed() + jobs.heeded();
    require(waited.has_value() == (errors == 0), "an error of a job was lost");
    require(static_cast<int>(kept.size()) == std::min(errors, errors_max),
            "not as many errors were collected as asked for");
    if (errors == 0) return 0;
    jobs.require_own(waited.error());
    require(waited.error().kind() == ErrorKind::Other, "what heeded the first error is the first");
    if (errors_max == 0) return 1;
    require(kept.front() == waited.error(), "the first that was collected is not the first error");
    return static_cast<int>(kept.size());
}

}  // namespace

// The first error ends the others and is what wait() gives; some are collected, the rest counted.
void group_errors() {
    Runtime runtime({.workers = some_workers()});
    Jobs jobs;
    int kept = 0;
    Crew crew(runtime);
    crew.add([&] {
        InRuntime here(runtime);
        int errors_max = between(0, 3);
        Group group = *Group::create(Context::current(),
                                     {.collect_errors = errors_max > 0, .max_errors = errors_max});
        bool ends = coin();  // by an error, for which others wait
        for (int i = between(1, 4); i > 0; --i)
            jobs.count(group.go(jobs.job(jobs.some_manner(ends))));
        if (ends) jobs.count(group.go(jobs.job(Manner::Fail)));
        Result<void> waited = group.wait();
        jobs.require_ended();
        kept = require_errors(jobs, waited, group.errors(), errors_max);
        require_closed(group);
    });
    crew.join();
    runtime.run();
    require(dropped_errors(runtime) == jobs.failed() + jobs.heeded() - kept,
            "an error was lost without being counted");
}

// Jobs are started while somebody waits: each is refused, or the wait waits for it.
void group_go_and_wait() {
    Runtime runtime({.workers = some_workers()});
    Jobs jobs;
    Group group(Context::background(runtime));
    int ended_at_wait = 0;
    Crew crew(runtime);
    for (int i = between(1, 3); i > 0; --i) {
        crew.add([&] {
            for (int left = between(1, 3); left > 0; --left) {
                Result<void> started = group.go(jobs.job(Manner::Ignore));
                jobs.count(started);
                require(started || is_fault(started, async::kGroupGoAfterWait), "an odd refusal");
            }
        });
    }
    crew.add([&] {
        some_yields();
        require(group.wait().has_value(), "an error came from nowhere");
        ended_at_wait = jobs.ended();
        require(jobs.running() == 0, "the wait returned before a job");
    });
    crew.join();
    jobs.require_ended();
    require(jobs.ended() == ended_at_wait, "a job was accepted after the wait");
}

// A group that is left without a wait: its jobs have ended then.
void group_dropped() {
    Runtime runtime({.workers = some_workers()});
    Jobs jobs;
    Crew crew(runtime);
    crew.add([&] {
        InRuntime here(runtime);
        {
            Group group;
            for (int i = between(1, 3); i > 0; --i) jobs.count(group.go(jobs.some_heeding_job()));
            some_yields();
        }
        jobs.require_ended();
    });
    crew.join();
    runtime.run();
    require(dropped_errors(runtime) == jobs.failed() + jobs.heeded(), "an error was not counted");
}

// The context above the jobs, or that of the waiter, is cancelled at one exact step.
void group_anywhere() {
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
    for (int i = between(1, 2); i > 0; --i) {
        crew.add([&] {
            CancelScope scope(owned.context.token());
            Group group(coin() ? owned.context : Context::background(runtime));
            for (int left = between(1, 3); left > 0; --left)
                jobs.count(group.go(jobs.some_heeding_job()));
            Result<void> waited = group.wait();
            if (!waited) jobs.require_own(waited.error());
            require(waited || waited.error().kind() == ErrorKind::Other || cancelled,
                    "a group was cancelled by nobody");
            require_closed(group);
        });
    }
    crew.join();
    jobs.require_ended();
}

}  // namespace weft::sim::scenarios
