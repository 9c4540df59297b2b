// Supervisor: keeps jobs running, and restarts them when they fail.
//
//     Supervisor supervisor({.strategy = RestartStrategy::RestForOne});
//     supervisor.add("connection", keep_connected);
//     supervisor.add("reader", read_from_it);
//     Result<void> why = supervisor.run();
//
// run() starts the jobs in the order in which they were added, each on a fiber and in a context of
// its own below the ambient one, and watches them. When a job is to be restarted, the strategy says
// which others are stopped first, newest first, and restarted with it. After more than restarts_max
// restarts within the window it gives up: all jobs are stopped, and the error says which job failed
// and why. It also returns when every job has ended for good, and with the context's error when the
// context ends. When it returns or throws, no job is left. A job may run a supervisor of its own.
//
// One fiber, or one plain thread whose ambient context is one of a runtime.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <string>
#include <utility>

#include "weft/async/context.h"
#include "weft/async/errors.h"
#include "weft/async/internal/job.h"
#include "weft/async/task.h"
#include "weft/base/assert.h"
#include "weft/base/atomic.h"
#include "weft/base/function.h"
#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/sync/event.h"

namespace weft::async {

enum class RestartStrategy : std::uint8_t {
    OneForOne,   // only the one that failed
    All,         // all that have not ended for good
    RestForOne,  // the one that failed and those added after it
};

// When a job that has ended is started again.
enum class Restart : std::uint8_t { OnFailure, Always, Never };

struct SupervisorOptions {
    RestartStrategy strategy = RestartStrategy::OneForOne;
    int restarts_max = 3;
    Nanoseconds window = std::chrono::seconds(5);
};

class Supervisor {
public:
    explicit Supervisor(SupervisorOptions options = {}) : options_(options) {}
    ~Supervisor();  // not while it runs
    Supervisor(const Supervisor&) = delete;
    Supervisor& operator=(const Supervisor&) = delete;

    // Only before run(). The function is called again for each restart.
    template <async_internal::JobFunction Function>
    Result<void> add(std::string name, Function&& function, Restart restart = Restart::OnFailure) {
        if (async_internal::is_nil(function)) return kNilJob();
        auto call = [job = std::forward<Function>(function)](Context& context) mutable {
            return async_internal::call_without_value(job, context);
        };
        return add_job(std::move(name), std::move(call), restart);
    }

    template <async_internal::NotAJob Function>
    WEFT_REFUSE_JOB Result<void> add(std::string, Function&&, Restart = Restart::OnFailure) {
        std::unreachable();
    }

    Result<void> run();

private:
    struct Job {
        std::string name;
        std::move_only_function<Result<void>(Context&)> function;
        Restart restart;
        CancelSource source = CancelSource::detached();
        std::optional<Task<void>> task;  // while it runs
        Atomic<bool> ended{false};       // the task is about to end
    };
    using Jobs = std::list<Job>;
    // Captured by the function of a job's task: its destructor reports the end of the job, also if
    // the function was never called.
    class EndNotice {
    public:
        EndNotice(Supervisor& supervisor, Job& job) : supervisor_(&supervisor), job_(&job) {}
        EndNotice(EndNotice&& other) noexcept
            : supervisor_(other.supervisor_), job_(std::exchange(other.job_, nullptr)) {}
        ~EndNotice();
        Job& job() const {
            WEFT_DASSERT(job_, "this notice has been moved from");
            return *job_;
        }

    private:
        Supervisor* supervisor_;
        Job* job_;
    };

    Result<void> add_job(std::string name, std::move_only_function<Result<void>(Context&)> function,
                         Restart restart);
    Result<void> watch();
    Result<void> handle_ended();
    Result<void> restart(Jobs::iterator failed, const Result<void>& outcome);
    bool is_too_often();
    std::size_t restarts_max() const;
    Result<void> start(Job& job);
    void stop(Job& job);
    static Result<void> take_outcome(Job& job);
    static void report(const Job& job, const Result<void>& outcome);
    void stop_all();
    bool is_any_running() const;

    const SupervisorOptions options_;
    Jobs jobs_;
    std::deque<Instant> restarts_;  // within the window
    bool running_ = false;
    Event job_ended_;
};

}  // namespace weft::async
