// How the workers of a runtime share work, sleep and look after each other.
#include "weft/fiber/schedule/scheduler.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>
#include <thread>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/fiber/io.h"
#include "weft/fiber/runtime.h"
#include "weft/fiber/schedule/worker.h"
#include "weft/testing/eventually.h"
#include "weft/testing/scale.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kRelease = std::memory_order_release;

RuntimeOptions with_workers(unsigned workers) {
    RuntimeOptions options;
    options.workers = workers;
    return options;
}

// Keeps its worker busy without a switch.
void compute_for(Nanoseconds duration) {
    Instant end = Clock::now() + duration;
    while (Clock::now() < end) {}
}

Nanoseconds cpu_time() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    auto time = [](timeval t) {
        return std::chrono::seconds(t.tv_sec) + std::chrono::microseconds(t.tv_usec);
    };
    return time(usage.ru_utime) + time(usage.ru_stime);
}

// ---------------------------------------------------------------- queues

TEST(Scheduler, FIB_5b_more_fibers_than_a_local_queue_holds_overflow_and_all_run) {
    for (unsigned workers : {1U, 2U}) {
        Runtime runtime(with_workers(workers));
        const std::size_t count = testing::scaled(10'000);
        Atomic<std::size_t> ran{0};
        Future<void> parent = runtime.spawn([&] {
            for (std::size_t i = 0; i < count; ++i) {
                EXPECT_TRUE(spawn_detached([&] { ran.fetch_add(1, kRelaxed); }));
            }
        });
        EXPECT_TRUE(parent.join());
        EXPECT_TRUE(testing::eventually([&] { return ran.load(kRelaxed) == count; }));
        // A second worker may be quick enough to steal them all before the queue is full.
        bool overflows = runtime.counters().overflows.value() > 0;
        EXPECT_TRUE(overflows || workers > 1);
    }
}

TEST(Scheduler, FIB_5b_woken_fibers_overflow_as_well) {
    Runtime runtime(with_workers(1));
    const std::size_t count = 1'000;  // more than a local queue holds
    std::vector<FiberId> parked;
    Atomic<std::size_t> woken{0};
    Future<void> parent = runtime.spawn([&]() -> Result<void> {
        for (std::size_t i = 0; i < count; ++i) {
            WEFT_TRY(spawn_detached([&] {
                parked.push_back(current_id());
                if (park()) woken.fetch_add(1, kRelaxed);
            }));
        }
        std::size_t yields = 0;
        for (; parked.size() < count; ++yields) yield();
        EXPECT_LT(yields, 1'000 * count) << "those that did not fit have waited for long";
        for (FiberId id : parked) unpark(id);
        return {};
    });
    EXPECT_TRUE(parent.join());
    EXPECT_TRUE(testing::eventually([&] { return woken.load(kRelaxed) == count; }));
}

TEST(Scheduler, FIB_5b_idle_workers_steal_from_one_that_has_too_much) {
    Runtime runtime(with_workers(4));
    std::array<Atomic<unsigned>, 4> ran_on{};
    auto helpers = [&] {
        return std::ranges::count_if(ran_on, [](auto& count) { return count.load(kRelaxed) != 0; });
    };
    // Where others use the cpus as well, all may be done before an idle worker gets one.
    for (int round = 0; round < 20 && helpers() < 2; ++round) {
        Future<void> parent = runtime.spawn([&]() -> Result<void> {
            std::vector<Future<void>> children;
            for (int i = 0; i < 200; ++i) {
                children.push_back(spawn([&] {
                    compute_for(100us);
                    ran_on[this_worker()->index()].fetch_add(1, kRelaxed);
                }));
            }
            for (Future<void>& child : children) WEFT_TRY(child.join());
            return {};
        });
        EXPECT_TRUE(parent.join());
    }
    EXPECT_GE(helpers(), 2);
}

// Two fibers that wake each other until the end of the test: one of them is always ready.
class PingPong {
public:
    explicit PingPong(Runtime& runtime)
        : first_(runtime.spawn([this] { return play(ping_, pong_); })),
          second_(runtime.spawn([this] { return play(pong_, ping_); })) {
        EXPECT_TRUE(testing::eventually([this] { return rounds() > 100; }));
    }
    void end() {
        over_.store(true, kRelaxed);
        unpark(first_.id());
        unpark(second_.id());
        EXPECT_TRUE(first_.join());
        EXPECT_TRUE(second_.join());
    }
    unsigned rounds() const { return rounds_.load(kRelaxed); }

private:
    Result<void> play(FiberId& mine, FiberId& other) {
        mine = current_id();
        while (!over_.load(kRelaxed)) {
            rounds_.fetch_add(1, kRelaxed);
            unpark(other);
            WEFT_TRY(park(Deadline::after(20s)));
        }
        unpark(other);
        return {};
    }

    Atomic<bool> over_{false};
    Atomic<unsigned> rounds_{0};
    FiberId ping_;
    FiberId pong_;
    Future<void> first_;
    Future<void> second_;
};

TEST(Scheduler, FIB_5b_nobody_starves_beside_two_that_wake_each_other) {
    Runtime runtime(with_workers(1));
    PingPong busy(runtime);
    // A fresh fiber, one from outside and one that yields all get their turn meanwhile.
    Future<void> other = runtime.spawn([&]() -> Result<void> {
        for (int i = 0; i < 100; ++i) yield();
        WEFT_TRY(spawn([] {}).join());
        return weft::sleep_for(1ms);
    });
    EXPECT_TRUE(other.join(Deadline::after(20s)));
    busy.end();
}

TEST(Scheduler, FIB_5b_one_who_spawns_and_joins_has_his_share_of_a_busy_worker) {
    Runtime runtime(with_workers(1));
    PingPong busy(runtime);
    constexpr unsigned kChildren = 200;
    constexpr unsigned kRoundsMax = 1'000;  // of the two, for each child
    unsigned begun = busy.rounds();
    Future<void> parent = runtime.spawn([&]() -> Result<void> {
        for (unsigned i = 0; i < kChildren; ++i) WEFT_TRY(spawn([] {}).join());
        return {};
    });
    EXPECT_TRUE(parent.join(Deadline::after(20s)));
    EXPECT_LT(busy.rounds() - begun, kChildren * kRoundsMax);
    busy.end();
}

// ---------------------------------------------------------------- sleep

TEST(Scheduler, FIB_5c_no_wake_up_is_lost_when_work_comes_as_the_workers_fall_asleep) {
    Runtime runtime(with_workers(4));
    for (std::size_t i = 0; i < testing::repeats(10'000); ++i) {
        Future<void> future = runtime.spawn([] {});
        ASSERT_TRUE(future.join(Deadline::after(20s))) << "round " << i;
        for (std::size_t spin = 0; spin < i % 97 * 8; ++spin) env::spin_pause(0);
    }
}

TEST(Scheduler, FIB_5c_no_wake_up_is_lost_between_fibers_of_many_workers) {
    Runtime runtime(with_workers(8));
    const auto rounds = static_cast<unsigned>(testing::repeats(2'000));
    std::vector<Future<void>> pairs;
    for (int p = 0; p < 4; ++p) {
        pairs.push_back(runtime.spawn([=]() -> Result<void> {
            FiberId main = current_id();
            Future<void> other = spawn([=]() -> Result<void> {
                for (unsigned i = 0; i < rounds; ++i) {
                    unpark(main);
                    WEFT_TRY(park(Deadline::after(20s)));
                }
                unpark(main);
                return {};
            });
            for (unsigned i = 0; i < rounds; ++i) {
                WEFT_TRY(park(Deadline::after(20s)));
                unpark(other.id());
            }
            return other.join();
        }));
    }
    for (Future<void>& pair : pairs) EXPECT_TRUE(pair.join());
}

// An idle runtime with many parked fibers costs no time and wakes nobody.
TEST(Scheduler, FIB_5c_an_idle_runtime_uses_no_cpu) {
    const std::size_t count = testing::scaled(10'000);
    Runtime runtime(with_workers(4));
    Atomic<std::size_t> parked{0};
    Future<void> parent = runtime.spawn([&]() -> Result<void> {
        for (std::size_t i = 0; i < count; ++i) {
            WEFT_TRY(spawn_detached([&] {
                parked.fetch_add(1, kRelaxed);
                static_cast<void>(park());
            }));
        }
        return {};
    });
    ASSERT_TRUE(parent.join());
    ASSERT_TRUE(testing::eventually([&] { return parked.load(kRelaxed) == count; }));
    // Until the last watchman has gone to sleep as well.
    ASSERT_TRUE(weft::sleep_for(300ms));
    Nanoseconds period = testing::is_long() ? 5s : 1s;
    Nanoseconds best = 1h;
    std::uint64_t fewest_wakeups = UINT64_MAX;
    auto is_idle = [&] { return best <= period / 1'000 && fewest_wakeups == 0; };
    // Once its memory is given back, for which some are woken.
    for (int attempt = 0; attempt < 3 && !is_idle(); ++attempt) {
        Nanoseconds before = cpu_time();
        std::uint64_t wakeups = runtime.counters().wakeups.value();
        ASSERT_TRUE(weft::sleep_for(period));
        best = std::min(best, cpu_time() - before);
        fewest_wakeups = std::min(fewest_wakeups, runtime.counters().wakeups.value() - wakeups);
    }
    EXPECT_LT(best, period / 200) << best.count() << " ns";
    EXPECT_EQ(fewest_wakeups, 0U);
}

TEST(Scheduler, FIB_5c_one_fiber_wakes_at_most_one_worker) {
    Runtime runtime(with_workers(16));
    ASSERT_TRUE(runtime.start());
    ASSERT_TRUE(weft::sleep_for(100ms));  // all asleep
    const std::size_t rounds = testing::repeats(500);
    std::uint64_t before = runtime.counters().wakeups.value();
    for (std::size_t i = 0; i < rounds; ++i) EXPECT_TRUE(runtime.spawn([] {}).join());
    std::uint64_t woken = runtime.counters().wakeups.value() - before;
    // One for the fiber, and now and then one that looks after the worker that runs it.
    EXPECT_LE(woken, rounds * 2 + 16) << "a thundering herd";
}

TEST(Scheduler, FIB_5c_work_that_its_own_worker_does_at_once_wakes_nobody) {
    if (std::getenv("WEFT_FORCE_MIGRATION"))
        GTEST_SKIP() << "here every switch goes to another worker";
    Runtime runtime(with_workers(8));
    Future<std::uint64_t> woken = runtime.spawn([&]() -> Result<std::uint64_t> {
        std::uint64_t before = runtime.counters().wakeups.value();
        for (int i = 0; i < 10'000; ++i) WEFT_TRY(spawn([] {}).join());
        return runtime.counters().wakeups.value() - before;
    });
    EXPECT_LE(woken.join().value_or(UINT64_MAX), 200u);
}

// ---------------------------------------------------------------- a fiber that never yields

constexpr auto kSpin = 200ms;

// A sleeper's timer lies in the wheel of the worker on which a second fiber then computes. Gives
// how late the sleeper was, in a runtime that was idle before for `idle`.
Nanoseconds lateness_beside_a_spinner(unsigned workers, Nanoseconds idle) {
    Runtime runtime(with_workers(workers));
    EXPECT_TRUE(runtime.start());
    EXPECT_TRUE(weft::sleep_for(idle));
    Future<std::int64_t> parent = runtime.spawn([]() -> Result<std::int64_t> {
        auto deadline = Deadline::after(50ms);
        Future<std::int64_t> sleeper = spawn([=]() -> Result<std::int64_t> {
            WEFT_TRY(weft::sleep_until(deadline));
            return (Clock::now() - deadline.instant()).count();
        });
        yield();  // the sleeper sets its timer here
        compute_for(kSpin);
        return sleeper.join();
    });
    return Nanoseconds(parent.join().value_or(INT64_MAX));
}

// Machines have other things to do: the best of some attempts counts.
constexpr int kAttempts = 5;

Nanoseconds best_lateness(unsigned workers, Nanoseconds idle) {
    Nanoseconds best = 1h;
    for (int attempt = 0; attempt < kAttempts && best > 10ms; ++attempt)
        best = std::min(best, lateness_beside_a_spinner(workers, idle));
    return best;
}

TEST(Scheduler, FIB_6b_a_spinning_fiber_does_not_delay_the_timers_of_its_worker) {
    EXPECT_LE(best_lateness(2, 0ms), 10ms);
}

TEST(Scheduler, FIB_6b_nor_when_the_runtime_was_idle_for_long_before) {
    EXPECT_LE(best_lateness(2, 150ms), 10ms);
}

TEST(Scheduler, FIB_6b_nor_among_many_workers) { EXPECT_LE(best_lateness(8, 150ms), 10ms); }

// A plain thread writes the time into a pipe every few milliseconds; a fiber reads it and says how
// long each message was under way, until the writer closes.
Result<std::vector<Nanoseconds>> read_latencies(Descriptor& reader, Atomic<bool>& reading) {
    std::vector<Nanoseconds> latencies;
    std::int64_t sent = 0;
    for (;;) {
        reading.store(true, kRelease);
        std::size_t size = WEFT_TRY(reader.read(std::as_writable_bytes(std::span(&sent, 1))));
        if (size != sizeof sent) return latencies;
        latencies.push_back(Clock::now().time_since_epoch() - Nanoseconds(sent));
    }
}

void write_times(Descriptor& writer, const Atomic<bool>& reading, Nanoseconds period) {
    EXPECT_TRUE(testing::eventually([&] { return reading.load(kAcquire); }));
    Instant end = Clock::now() + period;
    while (Clock::now() < end) {
        EXPECT_TRUE(weft::sleep_for(17ms));  // out of step with the watchman's looks
        std::int64_t now = Clock::now().time_since_epoch().count();
        EXPECT_TRUE(writer.write_all(std::as_bytes(std::span(&now, 1))));
    }
    writer.close();
}

// The median of the events of one second in which the worker with whose reactor the pipe is
// registered computes. One event says little where others use the cores: a delay of the reader's
// own thread counts like one of the watchman. Of some fifty, half are undisturbed.
Nanoseconds median_latency_beside_a_spinner(unsigned workers) {
    constexpr auto spin = 1s;
    Runtime runtime(with_workers(workers));
    Result<Pipe> pipe = make_pipe();
    EXPECT_TRUE(pipe);
    Atomic<bool> reading{false};
    Future<std::vector<Nanoseconds>> spinner =
        runtime.spawn([&]() -> Result<std::vector<Nanoseconds>> {
            // Armed once, so that the registration is this worker's.
            Dormant nobody{[](Dormant&, std::uint8_t) {}};
            EXPECT_TRUE(WEFT_TRY(pipe->reader.arm(nobody, kReadable)));
            EXPECT_TRUE(pipe->reader.disarm(nobody));
            auto reader = spawn([&] { return read_latencies(pipe->reader, reading); });
            compute_for(spin);
            return reader.join();
        });
    write_times(pipe->writer, reading, spin - 200ms);
    auto latencies = spinner.join().value_or(std::vector<Nanoseconds>());
    EXPECT_GE(latencies.size(), 5u);
    if (latencies.empty()) return 1h;
    auto middle = latencies.begin() + static_cast<std::ptrdiff_t>(latencies.size() / 2);
    std::nth_element(latencies.begin(), middle, latencies.end());
    return *middle;
}

TEST(Scheduler, FIB_6a_a_spinning_fiber_does_not_delay_the_io_of_its_worker) {
    for (unsigned workers : {2U, 4U}) {
        Nanoseconds best = 1h;
        for (int attempt = 0; attempt < kAttempts && best > 10ms; ++attempt)
            best = std::min(best, median_latency_beside_a_spinner(workers));
        EXPECT_LE(best, 10ms) << workers << " workers";
    }
}

// Two of three workers compute, one after the other; the third looks after both.
TEST(Scheduler, FIB_6b_nor_when_the_one_that_looked_after_it_gets_work_of_its_own) {
    auto attempt = [] {
        Runtime runtime(with_workers(3));
        EXPECT_TRUE(runtime.start());
        Future<std::int64_t> first = runtime.spawn([]() -> Result<std::int64_t> {
            auto deadline = Deadline::after(100ms);
            Future<std::int64_t> sleeper = spawn([=]() -> Result<std::int64_t> {
                WEFT_TRY(weft::sleep_until(deadline));
                return (Clock::now() - deadline.instant()).count();
            });
            yield();
            compute_for(250ms);
            return sleeper.join();
        });
        EXPECT_TRUE(weft::sleep_for(40ms));  // by now somebody watches the first
        Future<void> second = runtime.spawn([] { compute_for(250ms); });
        EXPECT_TRUE(second.join());
        return Nanoseconds(first.join().value_or(INT64_MAX));
    };
    Nanoseconds best = 1h;
    for (int i = 0; i < kAttempts && best > 10ms; ++i) best = std::min(best, attempt());
    EXPECT_LE(best, 10ms);
}

TEST(Scheduler, FIB_6b_a_spinning_fiber_does_not_delay_a_fiber_that_it_has_woken_or_spawned) {
    auto attempt = [](bool spawned) {
        Runtime runtime(with_workers(2));
        EXPECT_TRUE(runtime.start());
        EXPECT_TRUE(weft::sleep_for(150ms));
        Atomic<std::int64_t> began{0};
        Future<void> parked = runtime.spawn([&]() -> Result<void> {
            if (!spawned) WEFT_TRY(park(Deadline::after(20s)));
            began.store(Clock::now().time_since_epoch().count(), kRelease);
            return {};
        });
        Future<std::int64_t> spinner = runtime.spawn([&, id = parked.id()] {
            Instant woken = Clock::now();
            if (spawned) {
                spawn([&] { began.store(Clock::now().time_since_epoch().count(), kRelease); });
            } else {
                unpark(id);
            }
            compute_for(kSpin);
            return woken.time_since_epoch().count();
        });
        EXPECT_TRUE(parked.join());
        std::int64_t woken = spinner.join().value_or(0);
        runtime.run();
        return Nanoseconds(began.load(kAcquire) - woken);
    };
    for (bool spawned : {false, true}) {
        Nanoseconds best = 1h;
        for (int i = 0; i < kAttempts && best > 20ms; ++i) best = std::min(best, attempt(spawned));
        EXPECT_LE(best, 20ms) << (spawned ? "spawned" : "woken");
    }
}

TEST(Scheduler, FIB_6b_a_spinning_detached_fiber_does_not_delay_the_end_of_run) {
    auto attempt = [] {
        Runtime runtime(with_workers(2));
        Atomic<bool> spinning{false};
        EXPECT_TRUE(runtime.spawn_detached([&] {
            spinning.store(true, kRelease);
            compute_for(kSpin);
        }));
        EXPECT_TRUE(testing::eventually([&] { return spinning.load(kAcquire); }));
        Instant before = Clock::now();
        runtime.spawn([] { return weft::sleep_for(1ms); });
        runtime.run();
        return Clock::now() - before;
    };
    Nanoseconds best = 1h;
    for (int i = 0; i < kAttempts && best > 50ms; ++i) best = std::min(best, attempt());
    EXPECT_LE(best, 50ms);
}

}  // namespace
}  // namespace weft
