// A worker that goes to sleep against producers of work, under every order.
//
// The sleepers, the queue, the counts and the watch for the end are the product's own. Their orders
// are weakened and the steps of those who use them left out one by one; each omission must be
// found, or this test could not fail.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "weft/fiber/schedule/live_count.h"
#include "weft/fiber/schedule/shared_queue.h"
#include "weft/fiber/schedule/sleepers.h"
#include "weft/testing/model.h"

namespace weft {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kRelease = std::memory_order_release;
constexpr auto kSeqCst = std::memory_order_seq_cst;

struct AnnouncesRelaxed : SleepOrder {
    static constexpr std::memory_order kAnnounce = std::memory_order_relaxed;
};
struct LooksFirst : SleepOrder {
    static constexpr bool kAnnouncesFirst = false;
};
struct LooksNoMore : SleepOrder {
    static constexpr bool kLooksAgain = false;
};
struct SizedRelaxed : SharedQueueOrder {
    static constexpr std::memory_order kSize = std::memory_order_relaxed;
};

enum class Omission {
    None,
    Wake,        // work is added, and no worker woken
    LookForEnd,  // the sleeper does not look for the end of the runtime
};

constexpr unsigned kWorkers = 2;
constexpr std::uint64_t kAll = (1U << kWorkers) - 1;

struct Item {
    Item* next = nullptr;
};

template <class Order, class QueueOrder>
struct Runtime {
    BasicSleepers<Order> sleepers;
    SharedQueue<Item, QueueOrder> queue;
    Atomic<bool> ending{false};
    Atomic<std::uint32_t> woken[kWorkers];  // the reactors: wake() makes the next poll() return
    Item item;

    void wake(unsigned index) {
        woken[index].store(1, kRelease);
        model::futex_wake(woken[index], 1);
    }
    void poll(unsigned index) {
        // An exchange reads the newest value; a load might see the old one for ever.
        while (woken[index].exchange(0, kAcquire) == 0) model::futex_wait(woken[index], 0U);
    }
    void push(Omission omission) {
        queue.push(&item, &item, 1);
        if (omission == Omission::Wake) return;
        unsigned sleeper = sleepers.claim_one(kAll);
        if (sleeper != sleepers.kNobody) wake(sleeper);
    }
    // A worker. The one that runs the only fiber ends the runtime, as shutdown() does.
    void loop(unsigned index, Omission omission) {
        for (;;) {
            if (queue.pop(1)) {
                ending.store(true, kSeqCst);
                for (unsigned other = 0; other < kWorkers; ++other) wake(other);
                return;
            }
            sleepers.begin_search();
            sleepers.end_search();
            if (ending.load(kAcquire)) return;
            auto stays_awake = [&] {
                return queue.size() != 0 ||
                       (omission != Omission::LookForEnd && ending.load(kSeqCst));
            };
            if (!sleepers.try_fall_asleep(index, stays_awake)) continue;
            poll(index);
            sleepers.wake_up(index);
        }
    }
};

// One fiber comes from outside while `workers` workers run dry. It is run, and everybody ends.
template <class Order = SleepOrder, class QueueOrder = SharedQueueOrder>
void push_against_sleep(unsigned workers, Omission omission = Omission::None) {
    Runtime<Order, QueueOrder> runtime;
    for (unsigned index = 0; index < workers; ++index)
        model::thread([&, index] { runtime.loop(index, omission); });
    model::thread([&] { runtime.push(omission); });
    model::join_all();
    model::require(runtime.queue.size() == 0, "the fiber has run");
}

constexpr model::Options kTwoWorkers{.preemption_bound = 2, .max_executions = 5'000'000};

TEST(SleepModel, FIB_5c_a_worker_does_not_sleep_on_a_fiber_that_comes_from_outside) {
    model::Result result = model::check([] { push_against_sleep(1); });
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(SleepModel, FIB_5c_one_of_two_workers_runs_it_and_both_see_the_end) {
    model::Result result = model::check(kTwoWorkers, [] { push_against_sleep(2); });
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(SleepModel, weakenings_of_the_sleep_are_found) {
    EXPECT_TRUE(model::check([] { push_against_sleep<AnnouncesRelaxed>(1); }).failed());
    EXPECT_TRUE(model::check([] { push_against_sleep<LooksFirst>(1); }).failed());
    EXPECT_TRUE(model::check([] { push_against_sleep<LooksNoMore>(1); }).failed());
    EXPECT_TRUE(model::check([] { push_against_sleep<SleepOrder, SizedRelaxed>(1); }).failed());
    EXPECT_TRUE(model::check([] { push_against_sleep(1, Omission::Wake); }).failed());
    EXPECT_TRUE(
        model::check(kTwoWorkers, [] { push_against_sleep(2, Omission::LookForEnd); }).failed());
}

// ---------------------------------------------------------------- who reports the end

struct AsksByReading : EndOrder {
    static constexpr bool kAsksByWriting = false;
};

template <class Order>
struct Counts {
    std::array<LiveCount, 2> workers;
    BasicEndWatch<Order> watch;

    Counts() {
        for (LiveCount& worker : workers) worker.spawn();
    }
    std::uint64_t live() const {
        return sum_live(
            workers, [](const LiveCount& worker) -> const LiveCount& { return worker; },
            [] { return std::uint64_t{0}; });
    }
    // A worker lays its last fiber down, runs dry and reports.
    void finish(unsigned worker) {
        workers[worker].finish();
        if (!watch.is_watched() || live() != 0) return;
        watch.count_signal();
        model::futex_wake(watch.signal_word(), 2);
    }
    void wait_until_gone() {
        watch.begin();
        for (;;) {
            std::uint32_t seen = watch.signal();
            if (live() == 0) break;
            model::futex_wait(watch.signal_word(), seen);
        }
        watch.end();
    }
};

template <class Order = EndOrder>
void watch_against_two_ends() {
    Counts<Order> counts;
    for (unsigned worker = 0; worker < 2; ++worker)
        model::thread([&, worker] { counts.finish(worker); });
    model::thread([&] { counts.wait_until_gone(); });
    model::join_all();
}

// A fiber that ends right after it has spawned another one does not let the runtime seem empty.
template <class Live>
void count_against_spawn(Live live) {
    std::array<LiveCount, 1> workers;
    workers[0].spawn();
    std::uint64_t seen = 0;
    model::thread([&] {
        workers[0].spawn();
        workers[0].finish();
    });
    model::thread([&] { seen = live(workers); });
    model::join_all();
    model::require(seen != 0, "one fiber lives all the time");
}

TEST(SleepModel, FIB_1b_whoever_waits_for_the_end_is_told) {
    model::Result result = model::check(watch_against_two_ends<>);
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(SleepModel, FIB_1b_the_count_is_never_zero_while_a_fiber_lives) {
    model::Result result = model::check([] {
        count_against_spawn([](const auto& workers) {
            return sum_live(
                workers, [](const LiveCount& worker) -> const LiveCount& { return worker; },
                [] { return std::uint64_t{0}; });
        });
    });
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(SleepModel, weakenings_of_the_end_are_found) {
    EXPECT_TRUE(model::check(watch_against_two_ends<AsksByReading>).failed());
    EXPECT_TRUE(model::check([] {
                    count_against_spawn([](const auto& workers) {
                        std::uint64_t spawned = workers[0].spawned();
                        return spawned - workers[0].finished();
                    });
                }).failed());
}

}  // namespace
}  // namespace weft
