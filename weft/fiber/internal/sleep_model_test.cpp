// A worker that goes to sleep against those who bring it work, under every order.
//
// The protocol lies in sources that cannot be linked here. It is modelled step by step, with the
// same operations and orders:
//   Scheduler::push_global(), pop_global(), wake_one()   fiber/internal/scheduler.cpp
//   Worker::steal(), sleep(), sees_work()                fiber/internal/idle.cpp
//   Scheduler::live(), report_if_done(), wait_until_gone()
// A step that is left out or an order that is weakened must be found, or this test could not fail.
#include <gtest/gtest.h>

#include <cstdint>

#include "weft/base/spin_lock.h"
#include "weft/testing/model.h"

namespace weft {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kRelease = std::memory_order_release;
constexpr auto kSeqCst = std::memory_order_seq_cst;

enum class Fault {
    None,
    NoLastLook,          // sleeps right after the announcement
    LookBeforeAnnounce,  // looks first, announces then
    NoWake,              // adds work and wakes nobody
    SizeRelaxed,         // the work is added without seq_cst
    AnnounceRelaxed,     // the sleep is announced without seq_cst
    EndUnseen,           // the sleeper does not look for the end of the runtime
    WatcherLoaded,       // the end is reported by a load in place of a read-modify-write
    SpawnedFirst,        // the spawned are counted before the finished
};

struct SchedulerModel {
    Atomic<std::uint64_t> sleepers{0};
    Atomic<std::uint32_t> searching{0};
    Atomic<std::uint64_t> global_size{0};
    SpinLock global_lock;
    unsigned global = 0;  // the global queue: only its length matters; under the lock
    Atomic<bool> ending{false};
    Atomic<std::uint32_t> woken[2];  // the reactors: wake() makes the next poll() return

    void wake(unsigned index) {
        woken[index].store(1, kRelease);
        model::futex_wake(woken[index], 1);
    }
    void poll(unsigned index) {
        // An exchange reads the newest value; a load might see the old one for ever.
        while (woken[index].exchange(0, kAcquire) == 0) model::futex_wait(woken[index], 0U);
    }
};

void wake_one(SchedulerModel& scheduler) {
    if (scheduler.searching.load(kSeqCst) != 0) return;
    std::uint64_t asleep = scheduler.sleepers.load(kSeqCst);
    for (unsigned index = 0; asleep != 0; ++index) {
        std::uint64_t bit = std::uint64_t{1} << index;
        if ((asleep & bit) == 0) continue;
        if (scheduler.sleepers.fetch_and(~bit, kSeqCst) & bit) return scheduler.wake(index);
        asleep &= ~bit;
    }
}

void push_global(SchedulerModel& scheduler, Fault fault) {
    {
        SpinGuard guard(scheduler.global_lock);
        scheduler.global++;
        scheduler.global_size.store(scheduler.global_size.load(kRelaxed) + 1,
                                    fault == Fault::SizeRelaxed ? kRelaxed : kSeqCst);
    }
    if (fault != Fault::NoWake) wake_one(scheduler);
}

bool pop_global(SchedulerModel& scheduler) {
    if (scheduler.global_size.load(kRelaxed) == 0) return false;
    SpinGuard guard(scheduler.global_lock);
    if (scheduler.global == 0) return false;
    scheduler.global--;
    scheduler.global_size.store(scheduler.global_size.load(kRelaxed) - 1, kSeqCst);
    return true;
}

void sleep(SchedulerModel& scheduler, unsigned index, Fault fault) {
    std::uint64_t bit = std::uint64_t{1} << index;
    bool early = fault == Fault::LookBeforeAnnounce && scheduler.global_size.load(kSeqCst) != 0;
    scheduler.sleepers.fetch_or(bit, fault == Fault::AnnounceRelaxed ? kRelaxed : kSeqCst);
    bool stay_awake = fault == Fault::LookBeforeAnnounce
                          ? early
                          : fault != Fault::NoLastLook && scheduler.global_size.load(kSeqCst) != 0;
    stay_awake = stay_awake || (fault != Fault::EndUnseen && scheduler.ending.load(kSeqCst));
    if (!stay_awake) scheduler.poll(index);
    scheduler.sleepers.fetch_and(~bit, kSeqCst);
}

// Worker::loop(). Whoever runs the only fiber ends the runtime, as shutdown() does.
void loop(SchedulerModel& scheduler, unsigned index, Fault fault) {
    for (;;) {
        if (pop_global(scheduler)) {
            scheduler.ending.store(true, kSeqCst);
            for (unsigned other = 0; other < 2; ++other) scheduler.wake(other);
            return;
        }
        scheduler.searching.fetch_add(1, kSeqCst);
        scheduler.searching.fetch_sub(1, kSeqCst);
        if (scheduler.ending.load(kAcquire)) return;
        sleep(scheduler, index, fault);
    }
}

// One fiber comes from outside while `workers` workers run dry. It is run, and everybody ends.
void push_against_sleep(Fault fault, unsigned workers) {
    SchedulerModel scheduler;
    for (unsigned index = 0; index < workers; ++index)
        model::thread([&, index] { loop(scheduler, index, fault); });
    model::thread([&] { push_global(scheduler, fault); });
    model::join_all();
    model::require(scheduler.global == 0, "the fiber has run");
}

TEST(SleepModel, FIB_5c_a_worker_does_not_sleep_on_a_fiber_that_comes_from_outside) {
    model::Result result = model::check([] { push_against_sleep(Fault::None, 1); });
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(SleepModel, FIB_5c_one_of_two_workers_runs_it_and_both_see_the_end) {
    model::Options options{.preemption_bound = 2, .max_executions = 5'000'000};
    model::Result result = model::check(options, [] { push_against_sleep(Fault::None, 2); });
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(SleepModel, weakenings_of_the_sleep_are_found) {
    for (Fault fault : {Fault::NoLastLook, Fault::LookBeforeAnnounce, Fault::NoWake,
                        Fault::SizeRelaxed, Fault::AnnounceRelaxed}) {
        model::Result result = model::check([=] { push_against_sleep(fault, 1); });
        EXPECT_TRUE(result.failed()) << static_cast<int>(fault);
    }
    model::Options options{.preemption_bound = 2, .max_executions = 5'000'000};
    model::Result result = model::check(options, [] { push_against_sleep(Fault::EndUnseen, 2); });
    EXPECT_TRUE(result.failed());
}

// ---------------------------------------------------------------- who reports the end

struct Count {
    Atomic<std::uint64_t> spawned{2};
    Atomic<std::uint64_t> finished[2];
    Atomic<std::uint32_t> watchers{0};
    Atomic<std::uint32_t> signal{0};

    std::uint64_t live(Fault fault) const {
        std::uint64_t spawned_first = 0;
        if (fault == Fault::SpawnedFirst) spawned_first = spawned.load(kSeqCst);
        std::uint64_t gone = finished[0].load(kSeqCst) + finished[1].load(kSeqCst);
        return (fault == Fault::SpawnedFirst ? spawned_first : spawned.load(kSeqCst)) - gone;
    }
    // A worker lays its last fiber down, runs dry and reports.
    void finish(unsigned worker, Fault fault) {
        finished[worker].store(finished[worker].load(kRelaxed) + 1, kRelease);
        std::uint32_t watching =
            fault == Fault::WatcherLoaded ? watchers.load(kSeqCst) : watchers.fetch_add(0, kSeqCst);
        if (watching == 0 || live(fault) != 0) return;
        signal.fetch_add(1, kSeqCst);
        model::futex_wake(signal, 2);
    }
    void wait_until_gone(Fault fault) {
        watchers.fetch_add(1, kSeqCst);
        for (;;) {
            std::uint32_t seen = signal.load(kSeqCst);
            if (live(fault) == 0) break;
            model::futex_wait(signal, seen);
        }
        watchers.fetch_sub(1, kSeqCst);
    }
};

void watch_against_two_ends(Fault fault) {
    Count count;
    for (unsigned worker = 0; worker < 2; ++worker)
        model::thread([&, worker] { count.finish(worker, fault); });
    model::thread([&] { count.wait_until_gone(fault); });
    model::join_all();
}

// A fiber that ends right after it has spawned another one does not let the runtime seem empty.
void count_against_spawn(Fault fault) {
    Count count;
    count.finished[1].store(1, kRelaxed);
    std::uint64_t live = 0;
    model::thread([&] {
        count.spawned.store(3, kRelaxed);
        count.finished[0].store(1, kRelease);
    });
    model::thread([&] { live = count.live(fault); });
    model::join_all();
    model::require(live != 0, "one fiber lives all the time");
}

TEST(SleepModel, FIB_1b_whoever_waits_for_the_end_is_told) {
    model::Result result = model::check([] { watch_against_two_ends(Fault::None); });
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(SleepModel, FIB_1b_the_count_is_never_zero_while_a_fiber_lives) {
    model::Result result = model::check([] { count_against_spawn(Fault::None); });
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(SleepModel, weakenings_of_the_end_are_found) {
    EXPECT_TRUE(model::check([] { watch_against_two_ends(Fault::WatcherLoaded); }).failed());
    EXPECT_TRUE(model::check([] { count_against_spawn(Fault::SpawnedFirst); }).failed());
}

}  // namespace
}  // namespace weft
