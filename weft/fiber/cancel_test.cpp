#include "weft/fiber/cancel.h"

#include <gtest/gtest.h>

#include <deque>
#include <thread>
#include <vector>

#include "weft/fiber/fiber.h"
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

// ---------------------------------------------------------------- tokens

TEST(Cancel, the_first_reason_is_kept) {
    CancelSource source = CancelSource::detached();
    EXPECT_FALSE(source.token().is_cancelled());
    EXPECT_TRUE(source.token().check());
    source.cancel(CancelReason::Shutdown);
    source.cancel(CancelReason::Cancelled);
    EXPECT_EQ(source.token().reason(), CancelReason::Shutdown);
    EXPECT_EQ(source.token().check().error().kind(), ErrorKind::Cancelled);
}

// Cancelled before its first wait or during it, below a scope of its own and by what it spawns.
TEST(Cancel, a_fiber_with_a_lent_token_is_cancelled_from_its_first_wait_on) {
    Runtime runtime(with_workers(2));
    for (int round = 0; round < static_cast<int>(testing::repeats(200)); ++round) {
        CancelSource source(runtime.root());
        Atomic<int> ended{0};
        auto count = [&](const Result<void>& waited) {
            if (!waited && waited.error().kind() == ErrorKind::Cancelled)
                ended.fetch_add(1, kRelease);
        };
        Atomic<bool> begun{false};
        auto wait = [&, round] {
            begun.store(true, kRelease);
            if (round % 3 == 1) {
                CancelScope below(CancelSource().token());
                count(park());
            }
            if (round % 3 == 2) spawn_detached([&] { count(park()); }).value();
            count(park());
        };
        SpawnOptions lent{.token = source.token().state(), .token_use = TokenUse::Lent};
        ASSERT_TRUE(runtime.spawn_detached(wait, lent));
        ASSERT_TRUE(runtime.spawn_detached([] {}, lent));  // never waits
        bool late = round % 2 == 0;
        ASSERT_TRUE(!late || testing::eventually([&] { return begun.load(kAcquire); }));
        source.cancel();
        int expected = round % 3 == 0 ? 1 : 2;
        ASSERT_TRUE(testing::eventually([&] { return ended.load(kAcquire) == expected; }));
    }
}

TEST(Cancel, a_token_of_nobody_is_never_cancelled) {
    CancelToken token;
    EXPECT_FALSE(token.is_cancelled());
    EXPECT_TRUE(token.deadline().is_never());
    EXPECT_TRUE(token.check());
}

TEST(Cancel, everything_below_is_cancelled_and_nothing_above_or_beside) {
    CancelSource top = CancelSource::detached();
    CancelSource middle(top.token());
    CancelSource beside(top.token());
    CancelSource below(middle.token());
    middle.cancel();
    EXPECT_FALSE(top.token().is_cancelled());
    EXPECT_FALSE(beside.token().is_cancelled());
    EXPECT_TRUE(below.token().is_cancelled());
    CancelSource late(middle.token());
    EXPECT_TRUE(late.token().is_cancelled());
    EXPECT_EQ(late.token().reason(), CancelReason::Cancelled);
}

TEST(Cancel, a_deadline_is_the_earlier_of_the_own_and_the_parents) {
    Deadline soon = Deadline::after(1h);
    Deadline later = Deadline::after(2h);
    CancelSource outer = CancelSource::detached(soon);
    EXPECT_EQ(CancelSource(outer.token(), later).token().deadline(), soon);
    CancelSource wide = CancelSource::detached(later);
    EXPECT_EQ(CancelSource(wide.token(), soon).token().deadline(), soon);
    EXPECT_EQ(CancelSource(wide.token()).token().deadline(), later);
}

TEST(Cancel, a_deadline_off_a_runtime_is_seen_by_looking) {
    CancelSource source = CancelSource::detached(Deadline::after(-1s));
    EXPECT_TRUE(source.token().is_cancelled());
    EXPECT_EQ(source.token().reason(), CancelReason::DeadlineExceeded);
    EXPECT_EQ(source.token().check().error().kind(), ErrorKind::TimedOut);
    CancelSource parent = CancelSource::detached(Deadline::after(-1s));
    CancelSource child(parent.token());
    EXPECT_EQ(child.token().check().error().kind(), ErrorKind::TimedOut);
}

TEST(Cancel, tokens_outlive_their_source) {
    CancelToken token;
    {
        CancelSource source = CancelSource::detached();
        token = CancelSource(source.token()).token();
        source.cancel();
    }
    EXPECT_TRUE(token.is_cancelled());
}

// A hundred thousand children of one token, all alive when it is cancelled.
TEST(Cancel, to_cancel_many_children_costs_a_step_a_child) {
    CancelSource parent = CancelSource::detached();
    std::deque<CancelSource> children;
    const std::size_t count = testing::repeats(100'000);
    for (std::size_t i = 0; i < count; ++i) children.emplace_back(parent.token());
    Instant before = Clock::now();
    parent.cancel();
    EXPECT_LT(Clock::now() - before, 10s);
    for (CancelSource& child : children) EXPECT_TRUE(child.token().is_cancelled());
}

TEST(Cancel, a_long_chain_is_cancelled_and_destroyed_on_a_small_stack) {
    Result<bool> outcome = run([] {
        CancelSource top;
        CancelToken last = top.token();
        // Each is kept alive by the next one alone.
        for (int i = 0; i < 10'000; ++i) last = CancelSource(last).token();
        top.cancel();
        return last.is_cancelled();
    });
    EXPECT_EQ(outcome, true);
}

// ---------------------------------------------------------------- listeners

struct Listener : CancelListener {
    Listener() : CancelListener(on_cancel) {}
    static void on_cancel(CancelListener& listener, CancelReason reason) {
        auto& self = static_cast<Listener&>(listener);
        self.calls.fetch_add(1, kRelaxed);
        self.reason = reason;
    }
    Atomic<int> calls{0};
    CancelReason reason = CancelReason::None;
};

TEST(Cancel, a_listener_is_called_once) {
    CancelSource source = CancelSource::detached();
    Listener listener;
    listener.listen(source.token().state());
    EXPECT_EQ(listener.calls.load(kRelaxed), 0);
    source.cancel(CancelReason::Shutdown);
    source.cancel();
    EXPECT_EQ(listener.calls.load(kRelaxed), 1);
    EXPECT_EQ(listener.reason, CancelReason::Shutdown);
}

TEST(Cancel, a_listener_of_a_cancelled_token_is_called_at_once) {
    CancelSource source = CancelSource::detached();
    source.cancel();
    Listener listener;
    listener.listen(source.token().state());
    EXPECT_EQ(listener.calls.load(kRelaxed), 1);
}

TEST(Cancel, a_listener_that_has_stopped_is_not_called) {
    CancelSource source = CancelSource::detached();
    Listener listener;
    listener.listen(source.token().state());
    listener.stop();
    source.cancel();
    EXPECT_EQ(listener.calls.load(kRelaxed), 0);
}

TEST(Cancel, a_listener_may_end_while_it_is_called) {
    for (std::size_t i = 0; i < testing::repeats(2'000); ++i) {
        CancelSource source = CancelSource::detached();
        Atomic<bool> go{false};
        std::thread canceller([&] {
            while (!go.load(kAcquire)) env::spin_pause(0);
            source.cancel();
        });
        {
            Listener listener;
            listener.listen(source.token().state());
            go.store(true, kRelease);
            for (std::size_t spin = 0; spin < i % 64; ++spin) env::spin_pause(0);
        }
        canceller.join();
    }
}

// ---------------------------------------------------------------- the ambient token

TEST(Cancel, a_fiber_inherits_the_token_of_the_one_that_spawned_it) {
    Result<void> outcome = run([]() -> Result<void> {
        CancelSource source;
        Future<void> child;
        {
            CancelScope scope(source.token());
            child = spawn([] {
                // And so does its child.
                return spawn([] { return park(); }).join();
            });
        }
        Future<void> other = spawn([] { return park(Deadline::after(20ms)); });
        source.cancel();
        EXPECT_EQ(child.join().error().kind(), ErrorKind::Cancelled);
        EXPECT_EQ(other.join().error().kind(), ErrorKind::TimedOut);
        return {};
    });
    EXPECT_TRUE(outcome);
}

TEST(Cancel, a_token_is_ambient_until_its_scope_ends) {
    auto check = [] {
        CancelSource outer = CancelSource::detached();
        CancelScope outer_scope(outer.token());
        {
            CancelSource inner;  // a child of the ambient one
            CancelScope inner_scope(inner.token());
            EXPECT_EQ(CancelToken::current().state(), inner.token().state());
            inner.cancel();
            EXPECT_EQ(weft::sleep_for(10s).error().kind(), ErrorKind::Cancelled);
        }
        EXPECT_EQ(CancelToken::current().state(), outer.token().state());
        EXPECT_TRUE(weft::sleep_for(1us));
        outer.cancel();
        EXPECT_EQ(weft::sleep_for(10s).error().kind(), ErrorKind::Cancelled);
    };
    std::thread(check).join();
    EXPECT_TRUE(run(check));
}

TEST(Cancel, a_cancelled_token_wakes_all_who_wait_under_it) {
    Runtime runtime(with_workers(2));
    CancelSource source = CancelSource::detached();
    const std::size_t count = testing::scaled(2'000) / 2;
    Atomic<std::size_t> begun{0};
    std::vector<Future<void>> fibers;
    for (std::size_t i = 0; i < count; ++i) {
        fibers.push_back(runtime.spawn([&, token = source.token()] {
            CancelScope scope(token);
            begun.fetch_add(1, kRelaxed);
            return park();
        }));
    }
    ASSERT_TRUE(testing::eventually([&] { return begun.load(kRelaxed) == count; }));
    source.cancel();
    for (Future<void>& fiber : fibers) EXPECT_EQ(fiber.join().error().kind(), ErrorKind::Cancelled);
}

TEST(Cancel, a_deadline_wakes_a_fiber_that_waits_below_it) {
    Runtime runtime(with_workers(1));
    Instant before = Clock::now();
    Future<void> fiber = runtime.spawn([] {
        CancelSource source = CancelSource::with_deadline(Deadline::after(5ms));
        CancelSource below(source.token(), Deadline::after(1h));
        CancelScope scope(below.token());
        return spawn([] { return park(Deadline::after(20s)); }).join();
    });
    EXPECT_EQ(fiber.join().error().kind(), ErrorKind::TimedOut);
    EXPECT_GE(Clock::now() - before, 5ms);
    EXPECT_LT(Clock::now() - before, 10s);
}

// Also when the worker looks late and finds both due.
TEST(Cancel, the_earlier_of_two_deadlines_is_the_reason) {
    Result<int> early = run([] {
        int slept = 0;
        for (std::size_t i = 0; i < testing::repeats(500); ++i) {
            CancelSource source = CancelSource::with_deadline(Deadline::after(50us));
            CancelScope scope(source.token());
            Result<void> outcome = weft::sleep_for(70us);
            slept += outcome || outcome.error().kind() != ErrorKind::TimedOut ? 1 : 0;
        }
        return slept;
    });
    EXPECT_EQ(early, 0);
}

TEST(Cancel, a_shield_lets_no_cancellation_in_and_ends_by_its_own_deadline) {
    Result<void> outcome = run([]() -> Result<void> {
        CancelSource source;
        CancelScope scope(source.token());
        source.cancel();
        EXPECT_TRUE(shield(Deadline::after(5s), [] { return weft::sleep_for(2ms); }));
        Result<void> too_long = shield(Deadline::after(2ms), [] { return weft::sleep_for(20s); });
        EXPECT_EQ(too_long.error().kind(), ErrorKind::TimedOut);
        EXPECT_EQ(shield(Deadline::never(), [] { return 3; }), 3);
        return weft::sleep_for(1us);
    });
    EXPECT_EQ(outcome.error().kind(), ErrorKind::Cancelled);
}

TEST(Cancel, a_thread_is_woken_by_its_token_and_by_its_tokens_deadline) {
    CancelSource source = CancelSource::detached();
    std::thread canceller([&] { source.cancel(); });
    {
        CancelScope scope(source.token());
        EXPECT_EQ(weft::sleep_for(20s).error().kind(), ErrorKind::Cancelled);
    }
    canceller.join();
    CancelScope scope(CancelSource::detached(Deadline::after(2ms)).token());
    EXPECT_EQ(weft::sleep_for(20s).error().kind(), ErrorKind::TimedOut);
}

TEST(Cancel, a_deadline_that_nobody_needs_any_more_leaves_no_timer) {
    Result<bool> outcome = run(
        [] {
            for (int i = 0; i < 1'000; ++i) {
                CancelSource source = CancelSource::with_deadline(Deadline::after(1h));
                CancelScope scope(source.token());
                yield();
            }
            this_worker()->timers().refresh_next_due();
            return this_worker()->timers().next_due_ns() == kNeverNs;
        },
        with_workers(1));
    EXPECT_EQ(outcome, true);
}

// ---------------------------------------------------------------- several runtimes

TEST(Cancel, the_root_token_of_a_runtime_wakes_a_plain_thread_that_carries_it) {
    Runtime runtime(with_workers(1));
    Result<CancelToken> root = runtime.spawn([] { return CancelToken::current(); }).join();
    ASSERT_TRUE(root);
    Atomic<bool> waits{false};
    Result<void> woken;
    std::thread outsider([&] {
        CancelScope scope(*root);
        waits.store(true, kRelease);
        woken = weft::sleep_for(5s);
    });
    ASSERT_TRUE(testing::eventually([&] { return waits.load(kAcquire); }));
    EXPECT_TRUE(runtime.shutdown());
    outsider.join();
    ASSERT_FALSE(woken);
    EXPECT_EQ(woken.error().kind(), ErrorKind::Cancelled);
}

TEST(Cancel, the_root_token_of_a_runtime_wakes_a_fiber_of_another_one_that_carries_it) {
    Runtime here(with_workers(1));
    Runtime there(with_workers(1));
    Result<CancelToken> root = here.spawn([] { return CancelToken::current(); }).join();
    ASSERT_TRUE(root);
    Atomic<bool> waits{false};
    Future<void> outsider = there.spawn([&] {
        CancelScope scope(*root);
        waits.store(true, kRelease);
        return weft::sleep_for(5s);
    });
    ASSERT_TRUE(testing::eventually([&] { return waits.load(kAcquire); }));
    EXPECT_TRUE(here.shutdown());
    Result<void> woken = outsider.join();
    ASSERT_FALSE(woken);
    EXPECT_EQ(woken.error().kind(), ErrorKind::Cancelled);
}

TEST(Cancel, a_fiber_that_is_given_a_token_heeds_its_deadline) {
    Runtime runtime({.workers = 1});
    CancelSource source = CancelSource::with_deadline(Deadline::after(2ms));  // no worker here
    SpawnOptions options;
    options.token = source.token().state();
    Future<void> sleeper = runtime.spawn([] { return weft::sleep_for(1h); }, options);
    EXPECT_EQ(sleeper.join().error().kind(), ErrorKind::TimedOut);
}

TEST(Cancel, a_deadline_ends_waits_in_a_runtime_when_another_that_used_the_token_has_ended) {
    for (bool ambient : {true, false}) {
        Runtime there(with_workers(1));
        CancelSource source = CancelSource::detached(Deadline::after(300ms));
        Future<void> waiting;
        {
            Runtime here(with_workers(1));
            // The timer is set here first.
            ASSERT_TRUE(here.spawn([&] { CancelScope scope(source.token()); }).join());
            Atomic<bool> waits{false};
            waiting = there.spawn([&waits, ambient, token = source.token()] {
                CancelScope scope(ambient ? token : CancelToken::current());
                waits.store(true, kRelease);
                Waiter waiter(WaitReason::Other);
                return waiter.to_result(waiter.wait(Deadline::after(20s), token.state()));
            });
            ASSERT_TRUE(testing::eventually([&] { return waits.load(kAcquire); }));
        }
        Instant before = Clock::now();
        Result<void> woken = waiting.join();
        ASSERT_FALSE(woken);
        EXPECT_EQ(woken.error().kind(), ErrorKind::TimedOut);
        EXPECT_LT(Clock::now() - before, 10s) << (ambient ? "ambient" : "explicit");
    }
}

TEST(Cancel, a_deadline_that_nobody_needs_any_more_leaves_no_timer_in_any_runtime) {
    Runtime here(with_workers(1));
    Runtime there(with_workers(1));
    {
        CancelSource source = CancelSource::detached(Deadline::after(1h));
        auto use = [&] { CancelScope scope(source.token()); };
        ASSERT_TRUE(here.spawn(use).join());
        ASSERT_TRUE(there.spawn(use).join());
    }
    auto has_no_timer = [] {
        this_worker()->timers().refresh_next_due();
        return this_worker()->timers().next_due_ns() == kNeverNs;
    };
    EXPECT_EQ(here.spawn(has_no_timer).join(), true);
    EXPECT_EQ(there.spawn(has_no_timer).join(), true);
}

// ---------------------------------------------------------------- races

// Scopes begin and end, waits begin and end, children come and go, while the parent is cancelled.
TEST(Cancel, a_cancel_in_the_middle_of_everything_wakes_everybody) {
    for (std::size_t i = 0; i < testing::repeats(300); ++i) {
        Runtime runtime(with_workers(2));
        CancelSource source = CancelSource::detached();
        std::vector<Future<void>> fibers;
        for (int f = 0; f < 8; ++f) {
            fibers.push_back(runtime.spawn([token = source.token()]() -> Result<void> {
                CancelScope scope(token);
                for (;;) {
                    CancelSource inner = CancelSource::with_deadline(Deadline::after(50us));
                    {
                        CancelScope inner_scope(inner.token());
                        static_cast<void>(weft::sleep_for(70us));
                    }
                    WEFT_TRY(checkpoint());
                }
            }));
        }
        std::thread canceller([&] { source.cancel(); });
        for (Future<void>& fiber : fibers)
            ASSERT_EQ(fiber.join(Deadline::after(20s)).error().kind(), ErrorKind::Cancelled);
        canceller.join();
    }
}

}  // namespace
}  // namespace weft
