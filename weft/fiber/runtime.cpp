#include "weft/fiber/runtime.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "weft/base/assert.h"
#include "weft/base/format.h"
#include "weft/base/log.h"
#include "weft/fiber/blocking.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/io/io_table.h"
#include "weft/fiber/os/cpu_quota.h"
#include "weft/fiber/schedule/scheduler.h"
#include "weft/fiber/schedule/worker.h"

namespace weft {
namespace {

constexpr unsigned kDefaultWorkersMax = 16;
constexpr unsigned kReportMsMax = 3'600'000;

// A number from the environment; `fallback` if unset, with a warning if it is nonsense.
unsigned number_from(const char* name, unsigned fallback, unsigned max, unsigned min = 1) {
    const char* text = std::getenv(name);
    if (!text || !*text) return fallback;
    unsigned value = 0;
    const char* end = text + std::strlen(text);
    auto [stop, error] = std::from_chars(text, end, value);
    if (error == std::errc() && stop == end && value >= min && value <= max) return value;
    log(LogLevel::Warn, "{}={} is not a number from {} to {}; using {}", name, text, min, max,
        fallback);
    return fallback;
}

// Rounded up: also a fraction of a cpu is worth a worker, because the kernel stops all workers at
// once when the quota is used up.
unsigned cpus_in(std::optional<double> quota) {
    if (!quota || *quota >= kDefaultWorkersMax) return kDefaultWorkersMax;
    return static_cast<unsigned>(std::ceil(std::max(*quota, 1.0)));
}

unsigned usable_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    return static_cast<unsigned>(CPU_COUNT(&set));
}

}  // namespace

unsigned RuntimeOptions::default_workers() {
    unsigned cpus = usable_cpus();
    std::optional<double> quota = cpu_quota();
    unsigned fitting = std::clamp(std::min(cpus, cpus_in(quota)), 1U, kDefaultWorkersMax);
    unsigned workers = number_from("WEFT_WORKERS", fitting, Scheduler::kWorkersMax);
    log(LogLevel::Info,
        "{} workers: the process may use {} cpus, of which its control groups leave {}; at most {} "
        "unless WEFT_WORKERS says more",
        workers, cpus, quota ? format("{}", *quota) : "all", kDefaultWorkersMax);
    return workers;
}

std::size_t RuntimeOptions::default_stack_bytes() {
    return std::size_t{1024} *
           number_from("WEFT_FIBER_STACK_KB", kStackBytesDefault / 1024, kStackBytesMax / 1024);
}

unsigned RuntimeOptions::default_blocking_threads() {
    return number_from("WEFT_BLOCKING_THREADS", 64, 4096);
}

std::chrono::milliseconds RuntimeOptions::default_stall_report() {
    return std::chrono::milliseconds(number_from("WEFT_STALL_MS", 100, kReportMsMax, 0));
}

std::chrono::milliseconds RuntimeOptions::default_hang_report() {
    return std::chrono::milliseconds(number_from("WEFT_HANG_MS", 1000, kReportMsMax, 0));
}

Runtime::Runtime(RuntimeOptions options)
    : scheduler_(std::make_unique<Scheduler>(options)), stealing_workers_(options.workers) {}

Runtime::Runtime(Runtime&&) noexcept = default;

Runtime::~Runtime() {
    if (!scheduler_) return;
    WEFT_ASSERT(!this_worker(),
                "a Runtime waits for its fibers when it is destroyed: not on a fiber, whose worker "
                "it would block");
    static_cast<void>(shutdown());
}

Result<void> Runtime::start() { return check(); }

CancelToken Runtime::root() const { return CancelToken(&scheduler_->root()); }

Result<void> Runtime::check() {
    if (scheduler_->is_stopping())
        return Error(ErrorKind::Closed, "the runtime has been shut down");
    return scheduler_->start();
}

void Runtime::run() {
    WEFT_ASSERT(
        !this_worker(),
        "Runtime::run() blocks its thread until all fibers have ended: in a fiber join what "
        "was spawned");
    if (check()) scheduler_->run();
}

Result<void> Runtime::shutdown(Deadline deadline) {
    if (this_worker())
        return Error(
            ErrorKind::Misuse,
            "Runtime::shutdown() blocks its thread until all fibers have ended: in a fiber "
            "call cancel_all()");
    return scheduler_->shutdown(deadline);
}

void Runtime::cancel_all() { scheduler_->cancel_all(); }

unsigned Runtime::worker_count() const { return scheduler_->worker_count(); }
std::size_t Runtime::live_fibers() const { return scheduler_->live(false); }
const SchedulerCounters& Runtime::counters() const { return scheduler_->counters(); }

Result<void> Runtime::post(unsigned worker, Completion& completion) {
    // No check on a worker: the workers run as long as something runs on them, and a fiber may have
    // to post during shutdown.
    bool is_inside = this_worker() && &this_worker()->scheduler() == scheduler_.get();
    if (!is_inside) WEFT_TRY(check());
    if (worker >= scheduler_->worker_count())
        return Error(ErrorKind::Misuse, "there is no such worker");
    scheduler_->post(worker, completion);
    return {};
}

Worker* Runtime::pinned_worker(unsigned index) {
    unsigned pinned = scheduler_->worker_count() - stealing_workers_;
    return index < pinned ? &scheduler_->worker(stealing_workers_ + index) : nullptr;
}

}  // namespace weft
