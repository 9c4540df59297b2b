#include <unistd.h>

#include <chrono>
#include <string_view>

#include "bench/common/workload.h"
#include "bench/weft/workloads.h"
#include "weft/base/atomic.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/schedule/timer.h"
#include "weft/fiber/schedule/worker.h"
#include "weft/sync/channel.h"
#include "weft/sync/wait_group.h"

namespace bench {

void sleep(std::size_t count) {
    weft::WaitGroup group(count);
    SleepTimes times;
    const Stopwatch watch;
    for (std::size_t i = 0; i < count; ++i) {
        weft::spawn_detached([&group, duration = times.next()] {
            weft::sleep_for(duration).value();
            group.done();
        }).value();
    }
    group.wait().value();
    reporter().report("sleep", watch.milliseconds(), "ms");
    reporter().report("sleep_cpu", cpu_nanoseconds() / 1e6, "ms");
    reporter().report("sleep_rss", peak_resident_megabytes(), "MB");
}

void timer(std::size_t count) {
    weft::TimerWheel& wheel = weft::this_worker()->timers();
    weft::Timer never([](weft::Timer&, weft::TimerEnd) {});
    const Stopwatch watch;
    for (std::size_t i = 0; i < count; ++i) {
        wheel.set(never, weft::Clock::now() + std::chrono::hours(1));
        wheel.cancel(never);
    }
    reporter().report("timer", watch.nanoseconds_each(count), "ns/timer");
}

namespace {

// Returns when all of them wait; they are never woken.
void park_fibers(std::size_t count, weft::Channel<int>& never) {
    weft::Atomic<std::size_t> arrived{0};
    for (std::size_t i = 0; i < count; ++i) {
        weft::spawn_detached([&] {
            // Relaxed: only the number is read.
            arrived.fetch_add(1, std::memory_order_relaxed);
            never.receive().value();
        }).value();
    }
    // Relaxed: as above.
    while (arrived.load(std::memory_order_relaxed) < count) {
        weft::sleep_for(std::chrono::milliseconds(10)).value();
    }
    weft::sleep_for(std::chrono::milliseconds(200)).value();
}

void park_and_report(std::string_view metric, std::size_t count) {
    weft::Channel<int> never(0);
    const double before = resident_bytes();
    park_fibers(count, never);
    const double grown = resident_bytes() - before;
    reporter().report(metric, grown / static_cast<double>(count), "B/fiber");
    _exit(0);  // the parked fibers are never woken
}

}  // namespace

void park(std::size_t count) { park_and_report("park", count); }
void park20k(std::size_t count) { park_and_report("park20k", count); }

// The driver counts the wake-ups of the process until it ends it.
void idle(std::size_t count) {
    weft::Channel<int> never(0);
    park_fibers(count, never);
    std::puts("ready");
    std::fflush(stdout);
    never.receive().value();
}

}  // namespace bench
