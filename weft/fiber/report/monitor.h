// Monitor: a thread of a runtime that notices what the workers cannot notice themselves.
//
// A stall: a fiber has run for `stall` without a switch. Everything that needs its worker waits, so
// the log names the fiber with its frames, and advises what to do.
// A hang: no fiber can run, nothing is pending that could wake one, and a thread of the program
// waits for one to end. It would wait for ever; so the log tells what each fiber waits on.
//
// While any worker runs a fiber, the monitor checks all workers twice in the time of a stall. While
// all workers sleep, it sleeps as well, without a time limit: the first worker that runs a fiber
// again wakes it, by one load in the worker's loop. The workers do nothing else for it: all that it
// reads is kept anyway.
//
// It also gives back memory that a burst has left unused; see memory_return.h. While there is some,
// it wakes every other second, even if all workers sleep.
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
        std::chrono::milliseconds hang;   // how long all have slept; zero: hangs are not reported
    };

    Monitor(Scheduler& scheduler, Options options);
    Monitor(const Monitor&) = delete;
    Monitor& operator=(const Monitor&) = delete;

    // If no thread can be started, the runtime works without a monitor.
    void start();
    void stop();  // before the workers are destroyed

    // By a worker that is about to run a fiber. seq_cst: after it has cleared its bit as a sleeper;
    // the monitor marks its sleep and then reads the bits.
    void worker_runs() {
        if (asleep_.load(std::memory_order_seq_cst)) [[unlikely]]
            wake();
    }

    // By a plain thread that begins to wait for a fiber of any runtime to end, after it has counted
    // itself (JoiningThread); the monitor marks its sleep and then reads that count (both seq_cst).
    static void thread_waits();

private:
    friend class Monitors;

    // What a worker ran at the last check.
    struct Observation {
        Fiber* fiber = nullptr;
        std::uint64_t switches = 0;
        std::int64_t since_ns = 0;
        std::int64_t cpu_ns = -1;  // of its thread; -1: not read yet
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
    std::uint64_t unreported_ = 0;  // stalls since the last report
    bool hang_reported_ = false;
    Monitor* next_ = nullptr;  // in the list of all monitors
    Atomic<bool> asleep_{false};
    Atomic<bool> stopping_{false};
    Atomic<std::uint32_t> signal_{0};  // counts wake-ups
};

}  // namespace weft
