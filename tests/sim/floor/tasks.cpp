#include "tests/sim/floor/tasks.h"

#include <optional>
#include <utility>
#include <vector>

#include "tests/sim/floor/jobs.h"
#include "weft/async/scope.h"
#include "weft/async/shared_task.h"
#include "weft/async/task.h"

namespace weft::sim::scenarios {
namespace {

using async::OwnedContext;
using async::SharedTask;
using async::Task;
using Manner = Jobs::Manner;

constexpr int kValue = 42;

// A job of the book, with a value if it succeeds.
auto with_value(Jobs& jobs, Manner manner) {
    return [job = jobs.job(manner)](Context& context) mutable -> Result<int> {
        WEFT_TRY(job(context));
        return kValue;
    };
}

// What the outcome must be when the job is the only one of its book.
template <class T>
void require_outcome(const Jobs& jobs, const Result<T>& outcome) {
    require(outcome.has_value() == (jobs.failed() + jobs.heeded() == 0), "not the job's outcome");
    if (!outcome) jobs.require_own(outcome.error());
}

}  // namespace

// Of those who wait for a task one gets its outcome, and the others are told so.
void task_waiters() {
    Runtime runtime({.workers = some_workers()});
    Jobs jobs;
    auto task =
        run_with_context(Context::background(runtime), with_value(jobs, jobs.some_manner(false)));
    jobs.count({});
    int outcomes = 0;
    Crew crew(runtime);
    for (int i = between(1, 3); i > 0; --i) {
        crew.add([&] {
            some_yields();
            Result<int> outcome = task->wait();
            if (is_fault(outcome, async::kTaskWaited)) return;
            ++outcomes;
            jobs.require_ended();
            require_outcome(jobs, outcome);
        });
    }
    crew.join();
    require(outcomes == 1, "not one of the waiters got the outcome");
}

// The handle goes before or after the job has ended, and waits for it.
void task_dropped() {
    Runtime runtime({.workers = some_workers()});
    Jobs jobs;
    Crew crew(runtime);
    crew.add([&] {
        InRuntime here(runtime);
        for (int i = between(1, 3); i > 0; --i) {
            {
                auto task = async::run_task(with_value(jobs, jobs.some_manner(true)));
                jobs.count({});
                if (coin()) some_yields();
            }
            jobs.require_ended();
        }
    });
    crew.join();
    runtime.run();
    require(static_cast<int>(runtime.counters().dropped_errors.value()) ==
                jobs.failed() + jobs.heeded(),
            "an error was not counted");
}

// The context above the job, or that of the waiter, is cancelled at one exact step.
void task_anywhere() {
    Runtime runtime({.workers = some_workers()});
    OwnedContext owned = Context::background(runtime).with_cancel();
    Crew crew(runtime);
    crew.add_thread([&] {
        await_interrupt();
        owned.source.cancel();
    });
    for (int i = between(1, 3); i > 0; --i) {
        crew.add([&] {
            CancelScope scope(owned.context.token());
            Jobs jobs;
            auto task = run_with_context(coin() ? owned.context : Context::background(runtime),
                                         with_value(jobs, jobs.some_manner(true)));
            jobs.count({});
            some_yields();
            Result<int> outcome =
                coin() ? task->wait()
                       : then(std::move(*task), [](int value) { return value; })->wait();
            jobs.require_ended();
            require_outcome(jobs, outcome);
        });
    }
}

// One run for all who wait. Whoever is cancelled stops waiting and disturbs nobody.
void shared_task_waiters() {
    Runtime runtime({.workers = some_workers()});
    Jobs jobs;
    auto undisturbed = [job = with_value(jobs, jobs.some_manner(false))](Context& context) mutable {
        Result<int> outcome = job(context);
        require(!context.is_done(), "who gave up has ended the job of the others");
        return outcome;
    };
    std::optional<InRuntime> here(runtime);
    auto task = *async::run_shared(std::move(undisturbed));
    here.reset();
    jobs.count({});
    OwnedContext impatient = Context::background(runtime).with_timeout(up_to_us(40));
    Crew crew(runtime);
    for (int i = between(1, 4); i > 0; --i) {
        crew.add([&runtime, &impatient, &jobs, task] {
            bool patient = coin();
            Context context = patient ? Context::background(runtime) : impatient.context;
            CancelScope scope(context.token());
            Result<int> outcome = task.wait();
            if (!patient && !outcome && is_end_of_context(outcome.error())) return;
            jobs.require_ended();
            require_outcome(jobs, outcome);
            if (!patient) return;
            Result<int> next = task.then([](int value) { return value + 1; })->wait();
            require(next.has_value() == outcome.has_value(), "what follows had another outcome");
            require(next ? *next == kValue + 1 : next == outcome, "what follows is wrong");
        });
    }
    crew.join();
    runtime.run();
    jobs.require_ended();
}

// A shared task is ended, by its handle or from above, at one exact step.
void shared_task_anywhere() {
    Runtime runtime({.workers = some_workers()});
    Jobs jobs;
    OwnedContext owned = Context::background(runtime).with_cancel();
    bool by_handle = coin();
    std::optional<CancelScope> scope(std::in_place, owned.context.token());
    SharedTask<int> task = *async::run_shared(with_value(jobs, jobs.some_manner(true)));
    scope.reset();
    jobs.count({});
    Crew crew(runtime);
    crew.add_thread([&, task]() mutable {
        await_interrupt();
        if (by_handle) return task.cancel();
        owned.source.cancel();
    });
    for (int i = between(1, 3); i > 0; --i) {
        crew.add([&, task] {
            Result<int> outcome = task.wait();
            require(task.is_done(), "a wait ended before its task");
            jobs.require_ended();
            require_outcome(jobs, outcome);
        });
    }
    crew.join();
    jobs.require_ended();
}

}  // namespace weft::sim::scenarios
