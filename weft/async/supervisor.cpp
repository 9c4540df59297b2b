#include "weft/async/supervisor.h"

#include <algorithm>
#include <iterator>
#include <ranges>
#include <vector>

#include "weft/base/assert.h"
#include "weft/base/log.h"
#include "weft/base/planted.h"
#include "weft/fiber/fiber.h"

namespace weft::async {

Result<void> Supervisor::add_job(std::string name,
                                 std::move_only_function<Result<void>(Context&)> function,
                                 Restart restart) {
    if (running_) return kSupervisorRuns();
    jobs_.emplace_back(std::move(name), std::move(function), restart);
    return {};
}

Supervisor::~Supervisor() {
    WEFT_ASSERT(!running_, "a supervisor is destroyed while another fiber runs it");
}

Result<void> Supervisor::run() {
    if (std::exchange(running_, true)) return kSupervisorRuns();
    // In a destructor, because the allocations of a restart may throw.
    struct AtEnd {
        ~AtEnd() {
            supervisor.stop_all();
            WEFT_ASSERT(!supervisor.is_any_running(), "a job is alive after its supervisor");
            supervisor.running_ = false;
        }
        Supervisor& supervisor;
    } at_end{*this};
    return watch();
}

Result<void> Supervisor::watch() {
    WEFT_TRY(Context::current().check());
    restarts_.clear();
    for (Job& job : jobs_) WEFT_TRY(start(job));
    while (is_any_running()) {
        if (!job_ended_.wait()) return Context::current().check();
        job_ended_.reset();
        WEFT_TRY(handle_ended());
    }
    return {};
}

bool Supervisor::is_any_running() const {
    return std::ranges::any_of(jobs_, [](const Job& job) { return job.task.has_value(); });
}

// ---------------------------------------------------------------- one job

Result<void> Supervisor::start(Job& job) {
    WEFT_ASSERT(!job.task, "a job is stopped before it is started again");
    if (!WEFT_PLANTED("supervisor.starts_after_the_end")) WEFT_TRY(Context::current().check());
    auto [context, source] = Context::current().with_cancel();
    job.source = source;
    // Relaxed: the start of the task orders it before the job's own store.
    job.ended.store(false, std::memory_order_relaxed);
    Task<void> task = WEFT_TRY(
        run_with_context(job.name, context, [notice = EndNotice(*this, job)](Context& own) mutable {
            return notice.job().function(own);
        }));
    job.task.emplace(std::move(task));
    return {};
}

Supervisor::EndNotice::~EndNotice() {
    if (!job_) return;
    // Release: pairs with the acquire in handle_ended().
    job_->ended.store(true, std::memory_order_release);
    supervisor_->job_ended_.set();
}

void Supervisor::stop(Job& job) {
    if (!job.task) return;
    job.source.cancel();
    report(job, take_outcome(job));
}

Result<void> Supervisor::take_outcome(Job& job) {
    Result<void> outcome = job.task->wait();
    job.task.reset();
    return outcome;
}

// The error of a job that was told to end is no failure; any other error is logged and counted.
void Supervisor::report(const Job& job, const Result<void>& outcome) {
    if (outcome) return;
    Result<void> told = Context(job.source.token()).check();
    if (!told && outcome.error().kind() == told.error().kind()) return;
    fiber_internal::dropped("a supervised job", outcome.error(), job.source.token().state());
}

void Supervisor::stop_all() {
    for (Job& job : jobs_ | std::views::reverse) stop(job);
}

// ---------------------------------------------------------------- restarts

Result<void> Supervisor::handle_ended() {
    for (auto job = jobs_.begin(); job != jobs_.end(); ++job) {
        // Acquire: see start().
        if (!job->task || !job->ended.load(std::memory_order_acquire)) continue;
        Result<void> outcome = take_outcome(*job);
        bool again =
            job->restart == Restart::Always || (job->restart == Restart::OnFailure && !outcome);
        Result<void> restarted = again ? restart(job, outcome) : Result<void>();
        // An error that led to a restart, or that run() returns on giving up, is not logged here.
        bool answered = again && (restarted || restarted.error().kind() == ErrorKind::Limit);
        if (!answered) report(*job, outcome);
        WEFT_TRY(std::move(restarted));
    }
    return {};
}

Result<void> Supervisor::restart(Jobs::iterator failed, const Result<void>& outcome) {
    WEFT_TRY(Context::current().check());
    std::string why = outcome ? "it ended" : outcome.error().message();
    if (is_too_often())
        return Error::limit("async: supervisor gave up on '" + failed->name + "': " + why +
                                "; there were more restarts than",
                            restarts_max(), "SupervisorOptions::restarts_max");
    log(LogLevel::Warn, "supervisor: '{}' is started again: {}", failed->name, why);
    auto first = failed;
    auto last = std::next(failed);
    if (options_.strategy == RestartStrategy::All) first = jobs_.begin();
    if (options_.strategy != RestartStrategy::OneForOne) last = jobs_.end();
    std::vector<Job*> starting;
    for (Job& job : std::ranges::subrange(first, last)) {
        // A job that has just ended by itself is handled by the loop above. Acquire: as above.
        bool runs = job.task && !job.ended.load(std::memory_order_acquire);
        if (runs || &job == &*failed) starting.push_back(&job);
    }
    for (Job* job : starting | std::views::reverse) stop(*job);
    for (Job* job : starting) WEFT_TRY(start(*job));
    return {};
}

// Counts one more restart.
bool Supervisor::is_too_often() {
    Instant now = Clock::now();
    WEFT_DASSERT(restarts_.empty() || restarts_.back() <= now, "restarts are in order of time");
    while (!restarts_.empty() && now - restarts_.front() > options_.window) restarts_.pop_front();
    WEFT_ASSERT(restarts_.size() <= restarts_max(), "the run ends with the first one too many");
    restarts_.push_back(now);
    return restarts_.size() > restarts_max();
}

std::size_t Supervisor::restarts_max() const {
    return static_cast<std::size_t>(std::max(options_.restarts_max, 0));
}

}  // namespace weft::async
