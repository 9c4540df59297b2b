#include "weft/fiber/waiter.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

#include "weft/base/spin_lock.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"
#include "weft/fiber/schedule/worker.h"
#include "weft/testing/scale.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kRelease = std::memory_order_release;

Deadline lost() { return Deadline::after(20s); }

RuntimeOptions with_workers(unsigned workers) {
    RuntimeOptions options;
    options.workers = workers;
    return options;
}

// Runs the same check on a fiber and on a plain thread: there is one way to wait.
template <class Check>
void on_both(Check check) {
    {
        SCOPED_TRACE("on a plain thread");
        std::thread(check).join();
    }
    SCOPED_TRACE("on a fiber");
    EXPECT_TRUE(run(check, with_workers(2)));
}

TEST(Waiter, a_claim_before_the_wait_counts) {
    on_both([] {
        Waiter waiter(WaitReason::Other);
        WaitRef ref = waiter.ref();
        EXPECT_TRUE(ref.try_claim(Wake::Ready));
        EXPECT_FALSE(ref.try_claim(Wake::Ready));
        ref.resume();
        Wake wake = waiter.wait(lost());
        EXPECT_EQ(wake, Wake::Ready);
        EXPECT_TRUE(waiter.to_result(wake));
    });
}

TEST(Waiter, another_thread_wakes) {
    on_both([] {
        Waiter waiter(WaitReason::Other);
        std::thread waker([ref = waiter.ref()] {
            if (ref.try_claim(Wake::Ready)) ref.resume();
        });
        EXPECT_EQ(waiter.wait(lost()), Wake::Ready);
        waker.join();
    });
}

TEST(Waiter, a_wait_times_out_and_never_early) {
    on_both([] {
        for (auto duration : {-1'000'000us, 0us, 1us, 70us, 2'000us}) {
            Instant before = Clock::now();
            Waiter waiter(WaitReason::Other);
            Wake wake = waiter.wait(Deadline::after(duration));
            EXPECT_EQ(wake, Wake::TimedOut);
            EXPECT_GE(Clock::now() - before, duration);
            EXPECT_EQ(waiter.to_result(wake).error().kind(), ErrorKind::TimedOut);
            EXPECT_FALSE(waiter.ref().try_claim(Wake::Ready));
        }
    });
}

TEST(Waiter, a_reference_to_a_wait_that_is_over_claims_nothing) {
    on_both([] {
        WaitRef old;
        {
            Waiter first(WaitReason::Other);
            old = first.ref();
            EXPECT_EQ(first.wait(Deadline::after(0s)), Wake::TimedOut);
        }
        EXPECT_FALSE(old.try_claim(Wake::Ready));
        Waiter second(WaitReason::Other);
        EXPECT_FALSE(old.try_claim(Wake::Ready));
        EXPECT_EQ(second.wait(Deadline::after(1ms)), Wake::TimedOut);
    });
}

TEST(Waiter, a_wait_that_is_abandoned_leaves_the_next_one_alone) {
    on_both([] {
        for (int i = 0; i < 100; ++i) {
            Waiter waiter(WaitReason::Other);
            waiter.abandon();
            EXPECT_FALSE(waiter.ref().try_claim(Wake::Ready));
        }
        Waiter waiter(WaitReason::Other);
        EXPECT_EQ(waiter.wait(Deadline::after(1ms)), Wake::TimedOut);
    });
}

TEST(Waiter, the_ambient_token_ends_a_wait) {
    on_both([] {
        CancelSource source = CancelSource::detached();
        CancelScope scope(source.token());
        std::thread canceller([&] { source.cancel(); });
        Waiter waiter(WaitReason::Other);
        Wake wake = waiter.wait(lost());
        EXPECT_EQ(wake, Wake::Cancelled);
        EXPECT_EQ(waiter.to_result(wake).error().kind(), ErrorKind::Cancelled);
        canceller.join();
        Waiter next(WaitReason::Other);
        EXPECT_EQ(next.wait(), Wake::Cancelled);
    });
}

TEST(Waiter, the_deadline_of_the_ambient_token_ends_a_wait_as_timed_out) {
    on_both([] {
        CancelSource source = CancelSource::detached(Deadline::after(2ms));
        CancelScope scope(source.token());
        Waiter waiter(WaitReason::Other);
        Wake wake = waiter.wait(lost());
        EXPECT_EQ(wake, Wake::Cancelled);
        EXPECT_EQ(waiter.to_result(wake).error().kind(), ErrorKind::TimedOut);
        EXPECT_EQ(source.token().reason(), CancelReason::DeadlineExceeded);
    });
}

TEST(Waiter, an_explicit_token_ends_a_wait) {
    on_both([] {
        CancelSource source = CancelSource::detached();
        std::thread canceller([&] { source.cancel(); });
        Waiter waiter(WaitReason::Other);
        Wake wake = waiter.wait(lost(), source.token().state());
        EXPECT_EQ(wake, Wake::Cancelled);
        EXPECT_EQ(waiter.to_result(wake).error().kind(), ErrorKind::Cancelled);
        canceller.join();
        Waiter next(WaitReason::Other);  // the token is cancelled already
        EXPECT_EQ(next.wait(lost(), source.token().state()), Wake::Cancelled);
    });
}

TEST(Waiter, the_deadline_of_an_explicit_token_ends_a_wait_as_timed_out) {
    on_both([] {
        CancelSource source = CancelSource::detached(Deadline::after(2ms));
        Waiter waiter(WaitReason::Other);
        Wake wake = waiter.wait(lost(), source.token().state());
        EXPECT_EQ(waiter.to_result(wake).error().kind(), ErrorKind::TimedOut);
    });
}

TEST(Waiter, what_comes_first_counts_beside_an_explicit_token) {
    on_both([] {
        CancelSource source = CancelSource::detached(Deadline::after(1h));
        Waiter timed(WaitReason::Other);
        Wake wake = timed.wait(Deadline::after(1ms), source.token().state());
        EXPECT_EQ(wake, Wake::TimedOut);
        EXPECT_FALSE(source.token().is_cancelled());
        Waiter ready(WaitReason::Other);
        EXPECT_TRUE(ready.ref().try_claim(Wake::Ready));
        ready.ref().resume();
        EXPECT_EQ(ready.wait(lost(), source.token().state()), Wake::Ready);
    });
}

TEST(Waiter, a_wait_that_is_not_cancellable_is_not_cancelled) {
    on_both([] {
        CancelSource source = CancelSource::detached();
        CancelScope scope(source.token());
        source.cancel();
        Waiter shielded(WaitReason::Mutex, nullptr, Cancellable::No);
        EXPECT_EQ(shielded.wait(Deadline::after(2ms)), Wake::TimedOut);
    });
}

// Ready, TimedOut and Cancelled race for the same wait; one wins, and only that one resumes.
TEST(Waiter, of_many_claimers_one_wins) {
    const auto rounds = static_cast<unsigned>(testing::repeats(3'000));
    on_both([] {
        constexpr unsigned claimers = 3;
        SpinLock lock;
        WaitRef published;
        Atomic<unsigned> round{0};
        Atomic<unsigned> looked{0};
        Atomic<unsigned> won{0};
        int item = 0;
        std::vector<std::thread> threads;
        for (unsigned c = 0; c < claimers; ++c) {
            threads.emplace_back([&] {
                for (unsigned i = 1; i <= rounds; ++i) {
                    while (round.load(kAcquire) < i) env::spin_pause(~0U);
                    lock.lock();
                    WaitRef ref = published;
                    lock.unlock();
                    if (ref.try_claim(Wake::Ready)) {
                        won.fetch_add(1, kRelaxed);
                        item = static_cast<int>(i);  // into the waiter's frame
                        ref.resume();
                    }
                    looked.fetch_add(1, kRelease);
                }
            });
        }
        unsigned ready = 0;
        for (unsigned i = 1; i <= rounds; ++i) {
            item = 0;
            Waiter waiter(WaitReason::Other);
            lock.lock();
            published = waiter.ref();
            lock.unlock();
            round.store(i, kRelease);
            Wake wake = waiter.wait(Deadline::after(Nanoseconds(i % 50 * 1'000)));
            if (wake == Wake::Ready) {
                ready++;
                EXPECT_EQ(item, static_cast<int>(i));
            }
            while (looked.load(kAcquire) < i * claimers) {
                env::spin_pause(~0U);
                yield();
            }
        }
        for (std::thread& thread : threads) thread.join();
        EXPECT_EQ(won.load(kRelaxed), ready);
    });
}

// A cancel that comes while a wait begins: before the mark, between mark and look, after the park.
TEST(Waiter, a_wait_that_begins_during_a_cancel_does_not_miss_it) {
    const auto rounds = static_cast<unsigned>(testing::repeats(2'000));
    on_both([] {
        for (unsigned i = 0; i < rounds; ++i) {
            CancelSource source = CancelSource::detached();
            Atomic<bool> go{false};
            std::thread canceller([&] {
                while (!go.load(kAcquire)) env::spin_pause(0);
                for (unsigned spin = 0; spin < i % 64; ++spin) env::spin_pause(0);
                source.cancel();
            });
            Wake wake = Wake::Ready;
            {
                CancelScope scope(source.token());
                go.store(true, kRelease);
                Waiter waiter(WaitReason::Other);
                wake = waiter.wait(lost());
            }
            canceller.join();
            ASSERT_EQ(wake, Wake::Cancelled);
        }
    });
}

TEST(Waiter, a_thread_that_ends_leaves_a_cell_that_stays_readable) {
    WaitRef old;
    std::thread([&] {
        Waiter waiter(WaitReason::Other);
        old = waiter.ref();
        EXPECT_EQ(waiter.wait(Deadline::after(0s)), Wake::TimedOut);
    }).join();
    EXPECT_FALSE(old.try_claim(Wake::Ready));
    std::thread([&] {  // most likely the same cell
        Waiter waiter(WaitReason::Other);
        EXPECT_FALSE(old.try_claim(Wake::Ready));
        EXPECT_EQ(waiter.wait(Deadline::after(1ms)), Wake::TimedOut);
    })
        .join();
}

TEST(Waiter, every_reason_has_a_name) {
    for (unsigned reason = 0; reason <= static_cast<unsigned>(WaitReason::Other); ++reason)
        EXPECT_NE(std::string(to_string(static_cast<WaitReason>(reason))), "");
    EXPECT_STREQ(to_string(WaitReason::Other), "other");
}

TEST(WaiterDeathTest, the_scheduler_itself_must_not_wait) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            Runtime runtime(with_workers(1));
            static_cast<void>(runtime.spawn([] { return weft::sleep_for(1ms); }).join());
            struct Wrong : Timer {
                Wrong() : Timer([](Timer&, TimerEnd) { Waiter waiter(WaitReason::Other); }) {}
            } wrong;
            static_cast<void>(runtime
                                  .spawn([&] {
                                      this_worker()->timers().set(wrong, Clock::now());
                                      return weft::sleep_for(1s);
                                  })
                                  .join());
        },
        "must not wait");
}

}  // namespace
}  // namespace weft
