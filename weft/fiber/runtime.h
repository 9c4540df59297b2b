// Runtime: workers that run fibers, from start to shutdown.
//
//     int main() {
//         return weft::run([] { ... spawn, wait, serve ... }) ? 0 : 1;
//     }
//
// weft::run is all most programs need. A Runtime object gives control: how many workers, when to
// wait, when to stop. Shutdown cancels: every parked fiber wakes with Cancelled and unwinds.
//
// Any plain thread; spawn also from fibers of another runtime.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>

#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/fiber/completion.h"
#include "weft/fiber/counters.h"
#include "weft/fiber/fiber.h"

namespace weft {

class CancelToken;
class Worker;

struct RuntimeOptions {
    unsigned workers = default_workers();
    // In addition to `workers`: they run only what is spawned on them, and no worker steals from
    // them.
    unsigned pinned_workers = 0;
    std::size_t stack_bytes = default_stack_bytes();
    unsigned blocking_threads = default_blocking_threads();  // at most
    // A fiber that has run for so long without a switch is named in the log with its frames, at
    // most one a second; all are counted. Zero: none.
    std::chrono::milliseconds stall_report = default_stall_report();
    // When no fiber could run for so long, nothing is pending that could wake one, and a thread
    // waits for them to end, the log tells once what each fiber waits on. Zero: never.
    std::chrono::milliseconds hang_report = default_hang_report();

    static unsigned default_workers();           // WEFT_WORKERS, else the usable cpus, at most 16
    static std::size_t default_stack_bytes();    // WEFT_FIBER_STACK_KB, else 256 KiB
    static unsigned default_blocking_threads();  // WEFT_BLOCKING_THREADS, else 64
    static std::chrono::milliseconds default_stall_report();  // WEFT_STALL_MS, else 100 ms
    static std::chrono::milliseconds default_hang_report();   // WEFT_HANG_MS, else 1 s
};

class Runtime {
public:
    explicit Runtime(RuntimeOptions options = {});
    // Shuts down first. Workers that cannot end (a fiber computes without a checkpoint) are waited
    // for; use shutdown() with a deadline where that may happen.
    ~Runtime();
    Runtime(Runtime&&) noexcept;
    Runtime& operator=(Runtime&&) = delete;

    // Starts the workers. The other functions call it if needed; a second call does nothing.
    Result<void> start();

    template <class Function>
    auto spawn(Function&& function, const SpawnOptions& options = {}) {
        using T = fiber_internal::Outcome<Function>;
        if (Result<void> ready = check(); !ready) return Future<T>(ready.error());
        return fiber_internal::start_joinable(scheduler_.get(), options,
                                              std::forward<Function>(function));
    }
    template <class Function>
    Result<void> spawn_detached(Function&& function, const SpawnOptions& options = {}) {
        WEFT_TRY(check());
        return fiber_internal::start_detached(scheduler_.get(), options,
                                              std::forward<Function>(function));
    }
    template <class Function, class Unstarted>
    Result<void> spawn_detached(Function&& function, Unstarted&& unstarted,
                                const SpawnOptions& options) {
        WEFT_TRY(check());
        return fiber_internal::start_detached(
            scheduler_.get(), options,
            fiber_internal::BodyWithFallback{std::forward<Function>(function),
                                             std::forward<Unstarted>(unstarted)});
    }
    // On pinned worker `index` (from 0); what the fiber spawns stays there as well.
    template <class Function>
    auto spawn_pinned(unsigned index, Function&& function, const SpawnOptions& options = {});

    // Returns when every counted fiber has exited: all but those of spawn_detached().
    void run();

    // Cancels every fiber, waits until all have ended, ends the workers. TimedOut if some fibers
    // did not end by then; their names are logged, and the runtime goes on for them. Idempotent.
    Result<void> shutdown(Deadline deadline = Deadline::never());

    // From now on the waits of every fiber end as Cancelled, and no fiber can be spawned. Any
    // thread or fiber; does not wait for their end: run() and shutdown() do.
    void cancel_all();

    // The token above those of all fibers; cancelled by cancel_all() and shutdown().
    CancelToken root() const;

    unsigned worker_count() const;  // pinned ones included
    std::size_t live_fibers() const;
    const SchedulerCounters& counters() const;
    // Runs a record in the loop of a worker; numbered from 0, the pinned ones last. Any thread.
    Result<void> post(unsigned worker, Completion& completion);

private:
    Result<void> check();
    Worker* pinned_worker(unsigned index);

    std::unique_ptr<Scheduler> scheduler_;
    unsigned stealing_workers_ = 0;
};

// Runs `function` on a fiber of a new runtime, waits for all counted fibers, shuts down, and
// returns the function's result.
template <class Function>
auto run(Function&& function, RuntimeOptions options = {})
    -> Result<fiber_internal::Outcome<Function>> {
    if (current()) [[unlikely]]
        return Error(
            ErrorKind::Misuse,
            "run() starts a runtime and blocks its thread until that has ended: in a fiber "
            "use spawn()");
    Runtime runtime(options);
    auto outcome = runtime.spawn(std::forward<Function>(function), {.name = "main"}).join();
    runtime.run();
    WEFT_TRY(runtime.shutdown());
    return outcome;
}

template <class Function>
auto Runtime::spawn_pinned(unsigned index, Function&& function, const SpawnOptions& options) {
    using namespace fiber_internal;
    using T = Outcome<Function>;
    if (Result<void> ready = check(); !ready) return Future<T>(ready.error());
    Worker* worker = pinned_worker(index);
    if (!worker) return Future<T>(Error(ErrorKind::Misuse, "there is no such pinned worker"));
    SpawnOptions pinned = options;
    pinned.pinned = worker;
    return start_joinable(scheduler_.get(), pinned, std::forward<Function>(function));
}

}  // namespace weft
