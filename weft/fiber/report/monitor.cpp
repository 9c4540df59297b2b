#include "weft/fiber/report/monitor.h"

#include <algorithm>
#include <string>

#include "weft/base/assert.h"
#include "weft/base/format.h"
#include "weft/base/log.h"
#include "weft/base/spin_lock.h"
#include "weft/fiber/blocking.h"
#include "weft/fiber/io/io_table.h"
#include "weft/fiber/os/signal.h"
#include "weft/fiber/report/backtrace.h"
#include "weft/fiber/report/dump.h"
#include "weft/fiber/report/snapshot.h"
#include "weft/fiber/schedule/scheduler.h"
#include "weft/fiber/schedule/worker.h"
#include "weft/fiber/switch/locals.h"

namespace weft {

// The monitors of all runtimes of the process. A thread that waits for a fiber wakes all of them,
// because the runtime of the fiber may end meanwhile. Any thread.
class Monitors {
public:
    void add(Monitor& monitor) {
        SpinGuard guard(lock_);
        monitor.next_ = first_;
        first_ = &monitor;
    }
    void remove(Monitor& monitor) {
        SpinGuard guard(lock_);
        Monitor** place = &first_;
        while (*place != &monitor) place = &(*place)->next_;
        *place = monitor.next_;
    }
    void wake_all() {
        SpinGuard guard(lock_);
        for (Monitor* monitor = first_; monitor; monitor = monitor->next_) monitor->worker_runs();
    }

private:
    SpinLock lock_;
    Monitor* first_ = nullptr;
};

namespace {

constinit Monitors monitors;  // tidy: allow global: see the class

constexpr std::int64_t kReportNsMin = 1'000'000'000;  // between two reports of stalls
constexpr std::size_t kFramesShownMax = 16;
constexpr std::size_t kFibersShownMax = 20;

constexpr std::int64_t to_ns(std::chrono::milliseconds duration) {
    return std::chrono::nanoseconds(duration).count();
}

void log_frames(const std::vector<std::string>& frames) {
    for (std::size_t i = 0; i < std::min(frames.size(), kFramesShownMax); ++i)
        log(LogLevel::Warn, "    {}", frames[i]);
}

// Whether something that is neither a fiber nor a thread of the program may end the wait.
bool is_pending(const FiberReport& fiber) {
    if (fiber.state != FiberState::Waiting) return true;
    switch (fiber.reason) {
    case WaitReason::Sleep:
    case WaitReason::Readable:
    case WaitReason::Writable:
    case WaitReason::File:
    case WaitReason::Blocking:
    case WaitReason::Process:
    case WaitReason::Signal:
    case WaitReason::Operation:
    case WaitReason::Other: return true;
    default: return false;
    }
}

}  // namespace

Monitor::Monitor(Scheduler& scheduler, Options options)
    : scheduler_(scheduler), options_(options), memory_(scheduler) {}

void Monitor::start() {
    // Also if no reports are wanted: the thread gives memory back.
    if (env::current()) return;
    observations_.resize(scheduler_.worker_count());
    memory_.start();
    thread_ = env::start_thread(thread_main, this, "weft-monitor");
    if (thread_.handle != 0) monitors.add(*this);
}

void Monitor::stop() {
    if (thread_.handle == 0) return;
    monitors.remove(*this);
    stopping_.store(true, std::memory_order_release);
    wake();
    env::join_thread(thread_);
    thread_ = {};
}

void Monitor::wake() {
    // Relaxed: the futex word below wakes the monitor, and is changed after this.
    asleep_.store(false, std::memory_order_relaxed);
    // Release: a woken monitor sees stopping_. The count is the futex word.
    signal_.fetch_add(1, std::memory_order_release);
    env::futex_wake(signal_.futex_address(), 1);
}

void Monitor::thread_main(void* self) { static_cast<Monitor*>(self)->watch(); }

void Monitor::sleep_until(std::int64_t deadline_ns) {
    // Acquire: pairs with wake().
    std::uint32_t seen = signal_.load(std::memory_order_acquire);
    if (is_stopping()) return;
    env::futex_wait(signal_.futex_address(), seen, deadline_ns);
}

// `hangs`: the result of may_hang() before this call.
void Monitor::sleep_until_woken(bool hangs, std::int64_t deadline_ns) {
    std::uint32_t seen = signal_.load(std::memory_order_acquire);
    // seq_cst: marked before the last check; see worker_runs() and thread_waits().
    asleep_.store(true, std::memory_order_seq_cst);
    bool unchanged = all_sleep() && (!reports_hangs() || may_hang() == hangs);
    if (!is_stopping() && unchanged) env::futex_wait(signal_.futex_address(), seen, deadline_ns);
    asleep_.store(false, std::memory_order_relaxed);
}

void Monitor::thread_waits() { monitors.wake_all(); }

bool Monitor::all_sleep() const {
    unsigned count = scheduler_.worker_count();
    WEFT_DASSERT(count > 0 && count <= Scheduler::kWorkersMax, "each worker has a bit");
    std::uint64_t all = count == 64 ? UINT64_MAX : (std::uint64_t{1} << count) - 1;
    return scheduler_.sleepers() == all;
}

std::int64_t Monitor::interval_ns() const {
    constexpr std::int64_t kLongest = 500'000'000;
    if (options_.stall.count() == 0) return kLongest;
    return std::clamp<std::int64_t>(to_ns(options_.stall) / 2, 1'000'000, kLongest);
}

void Monitor::watch() {
    std::int64_t still_since_ns = 0;  // 0: not still
    while (!is_stopping()) {
        now_ns_ = env::now_ns();
        memory_.look_if_due(now_ns_);
        if (!all_sleep()) {
            still_since_ns = 0;
            look_for_stalls();
            sleep_until(now_ns_ + interval_ns());
            continue;
        }
        std::ranges::fill(observations_, Observation{});
        if (still_since_ns == 0) still_since_ns = now_ns_;
        std::int64_t hang_ns = still_since_ns + to_ns(options_.hang);
        bool hangs = reports_hangs() && may_hang();
        if (hangs && now_ns_ < hang_ns) {
            sleep_until(hang_ns);
            continue;
        }
        if (hangs) report_hang();
        still_since_ns = 0;
        sleep_until_woken(hangs, memory_.due_ns(now_ns_));
    }
}

// ---------------------------------------------------------------- stalls

void Monitor::look_for_stalls() {
    if (options_.stall.count() == 0) return;
    WEFT_DASSERT(observations_.size() == scheduler_.worker_count(), "one for each worker");
    for (unsigned i = 0; i < scheduler_.worker_count(); ++i)
        look_at(scheduler_.worker(i), observations_[i]);
}

void Monitor::look_at(Worker& worker, Observation& seen) {
    Worker::Peek peek = worker.peek();
    if (!peek.fiber || peek.fiber != seen.fiber || peek.switches != seen.switches) {
        seen = Observation{peek.fiber, peek.switches, now_ns_};
        return;
    }
    if (seen.reported) return;
    ThreadTimes times;
    if (!times_of(worker, times)) return;
    if (seen.cpu_ns < 0) seen.cpu_ns = times.cpu_ns;
    if (now_ns_ - seen.since_ns < to_ns(options_.stall)) return;
    // On an overloaded machine the thread may be ready and get no processor: no fault of the fiber.
    if (!times.waits && times.cpu_ns - seen.cpu_ns < to_ns(options_.stall) / 4) return;
    seen.reported = true;
    report_stall(worker, seen, times.waits);
}

void Monitor::report_stall(Worker& worker, const Observation& seen, bool waits) {
    scheduler_.counters().stalls.add(1);
    if (now_ns_ - last_report_ns_ < kReportNsMin) {
        ++unreported_;
        return;
    }
    last_report_ns_ = now_ns_;
    if (!log_enabled(LogLevel::Warn)) return;
    // Before the frames are gathered: the fiber may begin another request meanwhile, and change its
    // name.
    std::string name = name_of(*seen.fiber);
    StackSnapshot snapshot;
    std::vector<Frames> backtrace(1);
    if (snapshot_of(worker, snapshot)) backtrace = frames_of({&snapshot, 1});
    // If the worker has switched since, these may be the frames of another fiber.
    Worker::Peek peek = worker.peek();
    if (peek.fiber != seen.fiber || peek.switches != seen.switches) backtrace.front().clear();
    std::string others;
    if (std::uint64_t count = std::exchange(unreported_, 0); count != 0)
        others = format(" ({} other stalls since the last report)", count);
    log(LogLevel::Warn, "fiber '{}' has not let go of its worker for {} ms: {}{}",
        name.empty() ? "unnamed" : name, (now_ns_ - seen.since_ns) / 1'000'000,
        waits ? "it blocks the thread; put the call into blocking()"
              : "it computes; call checkpoint() now and then, or put it into blocking()",
        others);
    log_frames(describe_frames(backtrace).front());
}

// ---------------------------------------------------------------- hangs

// Cheap, because it is called whenever all workers have gone to sleep.
bool Monitor::may_hang() const {
    return !scheduler_.is_woken_from_outside() && scheduler_.anybody_waits_for_the_end() &&
           scheduler_.live(false) != 0 && !scheduler_.has_pending() && !signals_are_watched();
}

void Monitor::report_hang() {
    std::vector<FiberReport> fibers = list_fibers_of(scheduler_, Backtraces::No);
    if (fibers.empty() || std::ranges::any_of(fibers, is_pending)) return;
    fibers = list_fibers_of(scheduler_, Backtraces::Yes);
    // Only if nothing has changed meanwhile.
    if (!all_sleep() || !may_hang()) return;
    hang_reported_ = true;
    scheduler_.counters().hangs.add(1);
    log(LogLevel::Warn,
        "no fiber can run: {} wait, and no timer, descriptor, blocking call or signal is pending "
        "that could wake one; the program hangs unless another thread wakes one",
        fibers.size());
    std::size_t shown = std::min(fibers.size(), kFibersShownMax);
    for (const FiberReport& fiber : std::span(fibers).first(shown)) {
        log(LogLevel::Warn, "fiber '{}': waiting on {} for {} ms",
            fiber.name.empty() ? "unnamed" : fiber.name, to_string(fiber.reason),
            fiber.waited.count());
        log_frames(fiber.frames);
    }
    if (shown < fibers.size()) log(LogLevel::Warn, "... and {} more", fibers.size() - shown);
}

}  // namespace weft
