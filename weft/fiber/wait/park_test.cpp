// park() and unpark(): the single way back in, from anywhere, at any time.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"
#include "weft/testing/eventually.h"
#include "weft/testing/scale.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kRelease = std::memory_order_release;

// Long enough that only a lost wake-up lets it pass.
Deadline lost() { return Deadline::after(20s); }

RuntimeOptions with_workers(unsigned workers) {
    RuntimeOptions options;
    options.workers = workers;
    return options;
}

TEST(Park, FIB_3c_only_a_fiber_can_park) {
    EXPECT_EQ(park().error().kind(), ErrorKind::NoRuntime);
    unpark(FiberId());
}

TEST(Park, FIB_3c_any_thread_may_unpark) {
    Runtime runtime(with_workers(2));
    Future<void> parked = runtime.spawn([] { return park(lost()); });
    std::thread waker([id = parked.id()] { unpark(id); });
    EXPECT_TRUE(parked.join());
    waker.join();
}

TEST(Park, FIB_3c_a_fiber_of_another_runtime_may_unpark) {
    Runtime here(with_workers(1));
    Runtime there(with_workers(1));
    Future<void> parked = here.spawn([] { return park(lost()); });
    EXPECT_TRUE(there.spawn([id = parked.id()] { unpark(id); }).join());
    EXPECT_TRUE(parked.join());
}

// The fiber may run and the runtime end while the waker has not come back from unpark().
TEST(Park, FIB_3c_a_waker_may_still_be_at_it_when_the_runtime_ends) {
    const auto rounds = static_cast<unsigned>(testing::repeats(3'000));
    Atomic<unsigned> round{0};
    Atomic<unsigned> done{0};
    FiberId id;
    std::thread waker([&] {
        for (unsigned i = 1; i <= rounds; ++i) {
            while (round.load(kAcquire) < i) env::spin_pause(0);
            unpark(id);
            done.store(i, kRelease);
        }
    });
    for (unsigned i = 1; i <= rounds; ++i) {
        {
            Runtime runtime(with_workers(1 + i % 2));
            Future<void> parked = runtime.spawn([] { return park(lost()); });
            id = parked.id();
            round.store(i, kRelease);
            EXPECT_TRUE(parked.join());
        }
        while (done.load(kAcquire) < i) env::spin_pause(~0U);
    }
    waker.join();
}

TEST(Park, FIB_3c_a_park_times_out_and_is_cancelled_as_every_wait) {
    Runtime runtime(with_workers(1));
    Future<void> timed = runtime.spawn([] { return park(Deadline::after(1ms)); });
    EXPECT_EQ(timed.join().error().kind(), ErrorKind::TimedOut);
    Future<void> cancelled = runtime.spawn([] {
        CancelSource source;
        CancelScope scope(source.token());
        source.cancel();
        return park(lost());
    });
    EXPECT_EQ(cancelled.join().error().kind(), ErrorKind::Cancelled);
}

TEST(Park, FIB_3d_an_unpark_before_the_park_counts) {
    Runtime runtime(with_workers(1));
    Result<void> outcome = runtime
                               .spawn([] {
                                   unpark(current_id());
                                   return park(lost());
                               })
                               .join();
    EXPECT_TRUE(outcome);
}

// The waker sees the round number a few instructions before the fiber leaves its stack, so that the
// unpark falls before, into and after the saving of the context.
void hammer(unsigned workers, bool waker_is_thread) {
    Runtime runtime(with_workers(workers));
    const auto rounds = static_cast<unsigned>(testing::repeats(20'000));
    Atomic<unsigned> round{0};
    Atomic<bool> failed{false};
    Future<void> parker = runtime.spawn([&]() -> Result<void> {
        for (unsigned i = 1; i <= rounds; ++i) {
            round.store(i, kRelease);
            Result<void> woken = park(lost());
            if (woken) continue;
            failed.store(true, kRelease);
            return woken;
        }
        return {};
    });
    auto wake_each_round = [&, id = parker.id()] {
        for (unsigned i = 1; i <= rounds; ++i) {
            while (round.load(kAcquire) < i) {
                if (failed.load(kAcquire)) return;
                if (current()) yield();
            }
            unpark(id);
        }
    };
    if (waker_is_thread) {
        std::thread waker(wake_each_round);
        EXPECT_TRUE(parker.join());
        waker.join();
    } else {
        Future<void> waker = runtime.spawn(wake_each_round);
        EXPECT_TRUE(parker.join());
        EXPECT_TRUE(waker.join());
    }
}

TEST(Park, FIB_3d_an_unpark_of_a_thread_during_the_park_is_not_lost) { hammer(1, true); }
TEST(Park, FIB_3d_an_unpark_of_a_thread_during_the_park_is_not_lost_by_two_workers) {
    hammer(2, true);
}
TEST(Park, FIB_3d_an_unpark_of_a_fiber_during_the_park_is_not_lost) { hammer(2, false); }
TEST(Park, FIB_3d_an_unpark_of_a_fiber_of_the_same_worker_is_not_lost) { hammer(1, false); }

TEST(Park, FIB_3e_two_unparks_before_the_park_wake_once) {
    Runtime runtime(with_workers(1));
    Result<void> second = runtime
                              .spawn([]() -> Result<void> {
                                  unpark(current_id());
                                  unpark(current_id());
                                  WEFT_TRY(park(lost()));
                                  return park(Deadline::after(5ms));
                              })
                              .join();
    EXPECT_EQ(second.error().kind(), ErrorKind::TimedOut);
}

TEST(Park, FIB_3e_many_unparks_at_once_wake_no_more_often_than_they_are) {
    Runtime runtime(with_workers(2));
    constexpr unsigned threads = 4;
    const auto each = static_cast<unsigned>(testing::repeats(5'000));
    Atomic<unsigned> wakes{0};
    Atomic<bool> over{false};
    Future<void> parker = runtime.spawn([&]() -> Result<void> {
        // On a busy machine all unparks may come before the first park: they count for that.
        do {
            WEFT_TRY(park(lost()));
            wakes.fetch_add(1, kRelaxed);
        } while (!over.load(kAcquire));
        return {};
    });
    std::vector<std::thread> wakers;
    for (unsigned i = 0; i < threads; ++i) {
        wakers.emplace_back([&, id = parker.id()] {
            for (unsigned j = 0; j < each; ++j) unpark(id);
        });
    }
    for (std::thread& waker : wakers) waker.join();
    over.store(true, kRelease);
    unpark(parker.id());
    EXPECT_TRUE(parker.join());
    EXPECT_GE(wakes.load(kRelaxed), 1u);
    EXPECT_LE(wakes.load(kRelaxed), threads * each + 1);
}

TEST(Park, FIB_3e_an_unpark_that_comes_after_a_timeout_counts_for_the_next_park) {
    Runtime runtime(with_workers(2));
    // Every unpark is either the end of the short park or the end of the long one, never of none.
    const auto rounds = static_cast<unsigned>(testing::repeats(2'000));
    Atomic<unsigned> round{0};
    Future<void> parker = runtime.spawn([&]() -> Result<void> {
        for (unsigned i = 1; i <= rounds; ++i) {
            round.store(i, kRelease);
            if (!park(Deadline::after(Nanoseconds(i % 64 * 500)))) WEFT_TRY(park(lost()));
        }
        return {};
    });
    std::thread waker([&, id = parker.id()] {
        for (unsigned i = 1; i <= rounds; ++i) {
            while (round.load(kAcquire) < i && !parker.is_done()) {}
            for (unsigned spin = 0; spin < i % 7 * 300; ++spin) env::spin_pause(0);
            unpark(id);
        }
    });
    EXPECT_TRUE(parker.join(Deadline::after(60s)));
    waker.join();
}

TEST(Park, FIB_3f_an_unpark_after_the_end_does_nothing) {
    FiberId id;
    {
        Runtime runtime(with_workers(1));
        Future<void> future = runtime.spawn([] {});
        id = future.id();
        EXPECT_TRUE(future.join());
        unpark(id);
        unpark(id);
    }
    unpark(id);  // the runtime is gone as well
}

// Runs `first` in a fiber and then `next` in another one that has the same block; false when none
// gets it. A fiber of the one worker starts both: that worker keeps the block which was given back
// last for its next fiber, while a plain thread takes its blocks elsewhere.
bool run_in_one_block(const std::function<void()>& first, const std::function<void()>& next) {
    Runtime runtime(with_workers(1));
    auto both = [&] {
        Fiber* block = nullptr;
        EXPECT_TRUE(spawn([&] {
                        block = current();
                        first();
                    }).join());
        for (int attempt = 0; attempt < 2'000; ++attempt) {
            Result<bool> hit = spawn([&] {
                                   if (current() != block) return false;
                                   next();
                                   return true;
                               }).join();
            if (hit && *hit) return true;
        }
        return false;
    };
    Result<bool> reused = runtime.spawn(both).join();
    return reused && *reused;
}

TEST(Park, FIB_3f_an_unpark_by_an_old_id_does_not_reach_the_next_fiber_of_the_block) {
    FiberId old;
    bool reused = run_in_one_block(
        [&] { old = current_id(); },
        [&] {
            EXPECT_NE(current_id(), old);
            unpark(old);  // no permit
            EXPECT_EQ(park(Deadline::after(2ms)).error().kind(), ErrorKind::TimedOut);
            spawn([&] { unpark(old); });  // and no wake-up
            EXPECT_EQ(park(Deadline::after(5ms)).error().kind(), ErrorKind::TimedOut);
        });
    EXPECT_TRUE(reused);
}

TEST(Park, FIB_3f_a_permit_that_nobody_used_ends_with_its_fiber) {
    bool reused = run_in_one_block(
        [] { unpark(current_id()); },
        [] { EXPECT_EQ(park(Deadline::after(2ms)).error().kind(), ErrorKind::TimedOut); });
    EXPECT_TRUE(reused);
}

// Threads unpark whatever they have ever seen, while the blocks pass from fiber to fiber.
TEST(Park, FIB_3f_a_storm_of_stale_unparks_wakes_nobody) {
    Runtime runtime(with_workers(2));
    constexpr std::size_t seen_max = 64;
    std::array<Atomic<FiberId*>, seen_max> seen{};
    std::vector<std::unique_ptr<FiberId>> ids;  // written by this thread only
    Atomic<bool> over{false};
    std::vector<std::thread> storm;
    for (int i = 0; i < 2; ++i) {
        storm.emplace_back([&] {
            while (!over.load(kAcquire)) {
                for (Atomic<FiberId*>& slot : seen) {
                    if (FiberId* id = slot.load(kAcquire)) unpark(*id);
                }
                env::spin_pause(~0U);  // leaves the core to the others
            }
        });
    }
    unsigned woken = 0;
    for (std::size_t i = 0; i < testing::repeats(2'000); ++i) {
        Future<bool> fiber = runtime.spawn([] {
            static_cast<void>(current_id());
            return park(Deadline::after(20us)).has_value();
        });
        auto id = std::make_unique<FiberId>(fiber.id());
        woken += fiber.join().value_or(true) ? 1U : 0U;
        // Known to the storm only now, when its fiber is over.
        seen[i % seen_max].store(id.get(), kRelease);
        ids.push_back(std::move(id));
    }
    over.store(true, kRelease);
    for (std::thread& thread : storm) thread.join();
    EXPECT_EQ(woken, 0u);
}

}  // namespace
}  // namespace weft
