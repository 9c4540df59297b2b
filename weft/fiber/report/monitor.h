// Monitor: a thread beside the workers of a runtime that notices what they cannot see themselves.
//
// A stall: a fiber has not let go of its worker for `stall`. Everything that waits for that worker
// waits with it, so the fiber is named with its frames, and the program told what to do.
// A hang: no fiber can run, nothing is pending that could wake one, and a thread of the program
// waits for one to end. It would wait for ever, in silence; so it is told who waits on what.
//
// It looks around twice in the time of a stall, as long as any worker runs a fiber. While all
// sleep, so does it, without a wake-up: the first worker that runs a fiber again wakes it, by one
// load in the worker's loop. The workers do nothing else for it: what it looks at is there anyway.
//
// And it gives memory back that a burst has left behind; see memory_return.h. As long as there is
// some, it looks every other second also while all sleep.
//
// Not in simulation, where a run that hangs fails, and time stands still while a fiber computes.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/base/env.h"
#include "weft/fiber/schedule/memory_return.h"

namespace weft {

struct Fiber;
class Scheduler;
class Worker;

class Monitor {
public:
    struct Options {
        std::chrono::milliseconds stall;  // zero: stalls are not reported
        std::chrono::milliseconds hang;   // how long all was still; zero: hangs are not reported
    };

    Monitor(Scheduler& scheduler, Options options);
    Monitor(const Monitor&) = delete;
    Monitor& operator=(const Monitor&) = delete;

    // Without a thread for it the runtime works as well.
    void start();
    void stop();  // before the workers are gone

    // By a worker that is about to run a fiber. seq_cst: after it has taken off its sleeper's bit;
    // the monitor marks its sleep and then looks at the bits.
    void worker_runs() {
        if (asleep_.load(std::memory_order_seq_cst)) [[unlikely]]
            wake();
    }

    // By a plain thread that begins to wait for a fiber to end, of whichever runtime. seq_cst:
    // after it has said so; the monitor marks its sleep and then looks at who waits.
    static void thread_waits();

private:
    friend class Monitors;

    // What was seen of a worker at the last look.
    struct Observation {
        Fiber* fiber = nullptr;
        std::uint64_t switches = 0;
        std::int64_t since_ns = 0;
        std::int64_t cpu_ns = -1;  // -1: not asked yet
        bool reported = false;
    };

    static void thread_main(void* self);
    void watch();
    void sleep_until(std::int64_t deadline_ns);
    void sleep_until_woken(bool hangs, std::int64_t deadline_ns);
    bool is_stopping() const { return stopping_.load(std::memory_order_acquire); }
    void wake();
    bool all_sleep() const;
    std::int64_t interval_ns() const;
    void look_for_stalls();
    void look_at(Worker& worker, Observation& seen);
    void report_stall(Worker& worker, const Observation& seen, bool waits);
    bool may_hang() const;
    bool reports_hangs() const { return options_.hang.count() > 0 && !hang_reported_; }
    void report_hang();

    Scheduler& scheduler_;
    const Options options_;
    EnvThread thread_;
    std::vector<Observation> observations_;
    MemoryReturn memory_;
    std::int64_t now_ns_ = 0;
    std::int64_t last_report_ns_ = INT64_MIN / 2;
    std::uint64_t unreported_ = 0;  // stalls since then
    bool hang_reported_ = false;
    Monitor* next_ = nullptr;  // of all monitors
    Atomic<bool> asleep_{false};
    Atomic<bool> stopping_{false};
    Atomic<std::uint32_t> signal_{0};  // counts wake-ups
};

}  // namespace weft
