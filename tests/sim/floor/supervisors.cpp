#include "tests/sim/floor/supervisors.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <string>

#include "tests/sim/floor/jobs.h"
#include "weft/async/supervisor.h"

namespace weft::sim::scenarios {
namespace {

using namespace std::chrono_literals;
using async::OwnedContext;
using async::Restart;
using async::RestartStrategy;
using async::Supervisor;

// A supervised job: never twice at once. It fails so often, then it waits for its end.
struct Worker {
    int failures_left = 0;
    bool running = false;
    int starts = 0;
    int failures = 0;
    bool failed_last = false;
    bool told = false;  // it has heeded the end of everything
};

class Team {
public:
    Team(RestartStrategy strategy, int restarts_max)
        : supervisor_({.strategy = strategy, .restarts_max = restarts_max, .window = 1h}) {}

    // `above` is what the supervisor runs in; then `heeds` says what the job does at the end.
    void add(const Context& above, int failures, bool heeds) {
        Worker& worker = workers_.emplace_back();
        worker.failures_left = failures;
        std::string name = std::to_string(workers_.size());
        auto work = [this, &worker, above, heeds](Context& context) -> Result<void> {
            require(!std::exchange(worker.running, true), "a job runs twice at once");
            require(!worker.told, "a job was started again after the end");
            ++worker.starts;
            some_yields();
            Result<void> outcome = end_of(worker, context, heeds);
            worker.failed_last = is_error(outcome, ErrorKind::Other);
            worker.told = above.is_done();
            worker.running = false;
            return outcome;
        };
        require(supervisor_.add(name, work, heeds && coin() ? Restart::Always : Restart::OnFailure)
                    .has_value(),
                "a job was refused");
    }
    Result<void> run() {
        Result<void> outcome = supervisor_.run();
        for (const Worker& worker : workers_)
            require(!worker.running, "a job is alive after its supervisor");
        return outcome;
    }
    const std::deque<Worker>& workers() const { return workers_; }
    int failed_last() const {
        return static_cast<int>(std::ranges::count(workers_, true, &Worker::failed_last));
    }
    int failures() const {
        int sum = 0;
        for (const Worker& worker : workers_) sum += worker.failures;
        return sum;
    }

private:
    Result<void> end_of(Worker& worker, Context& context, bool heeds) {
        if (worker.failures_left > 0) {
            --worker.failures_left;
            ++worker.failures;
            return Error(ErrorKind::Other, worker.starts);
        }
        if (!heeds) return {};
        Result<void> ended = wait_for_end(context);
        if (coin()) return {};
        return ended;
    }

    std::deque<Worker> workers_;  // stable addresses
    Supervisor supervisor_;
};

RestartStrategy some_strategy() { return static_cast<RestartStrategy>(between(0, 2)); }

}  // namespace

// All jobs fail some times and then succeed: each failure is a restart, of those it should be.
void supervisor_strategies() {
    Runtime runtime({.workers = some_workers()});
    Crew crew(runtime);
    crew.add([&] {
        InRuntime here(runtime);
        RestartStrategy strategy = some_strategy();
        Team team(strategy, 100);
        for (int i = between(1, 3); i > 0; --i) team.add(Context::current(), between(0, 2), false);
        require(team.run().has_value(), "all have ended well, but not the supervisor");
        int above = 0;  // failures of those before
        for (const Worker& worker : team.workers()) {
            require(worker.failures_left == 0, "a job was not started again");
            int least = worker.failures + 1;
            int most =
                least + (strategy == RestartStrategy::OneForOne ? 0
                         : strategy == RestartStrategy::All     ? team.failures() - worker.failures
                                                                : above);
            require(worker.starts >= least && worker.starts <= most, "so many starts");
            above += worker.failures;
        }
    });
}

// One restart too many, and it gives up: everything is stopped.
void supervisor_gives_up() {
    Runtime runtime({.workers = some_workers()});
    Crew crew(runtime);
    crew.add([&] {
        InRuntime here(runtime);
        int restarts_max = between(0, 3);
        Team team(some_strategy(), restarts_max);
        team.add(Context::current(), 100, true);
        if (coin()) team.add(Context::current(), 0, true);
        Result<void> outcome = team.run();
        require(is_error(outcome, ErrorKind::Limit), "it did not give up");
        require(team.failures() == restarts_max + 1, "so many failures");
    });
}

// The context above ends at one exact step.
void supervisor_anywhere() {
    Runtime runtime({.workers = some_workers()});
    OwnedContext owned = Context::background(runtime).with_cancel();
    Crew crew(runtime);
    crew.add_thread([&] {
        await_interrupt();
        owned.source.cancel();
    });
    int unanswered = 0;
    crew.add([&] {
        CancelScope scope(owned.context.token());
        Team team(some_strategy(), between(3, 6));  // at most as many as there can be failures
        for (int i = between(1, 3); i > 0; --i) team.add(owned.context, between(0, 1), true);
        Result<void> outcome = team.run();
        require(outcome ? team.failed_last() == 0 : is_end_of_context(outcome.error()),
                "neither the end of the context nor that of all jobs");
        unanswered = team.failed_last();
    });
    crew.join();
    runtime.run();
    require(static_cast<int>(runtime.counters().dropped_errors.value()) >= unanswered,
            "a failure was neither answered by a restart nor counted");
}

}  // namespace weft::sim::scenarios
