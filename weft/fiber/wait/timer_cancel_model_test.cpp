// A timer that fires while its owner cancels it, under every order.
//
// The wheel is the product's own: its source is compiled here with the checker's atomics. So are
// the words of those who use it, a wait (WaitWord) and a token (TokenRefs, ReasonWord). Faults that
// are planted in the wheel must be found, or this test could not fail.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

#include "weft/base/planted.h"
#include "weft/base/spin_lock.h"
#include "weft/fiber/schedule/timer.cpp"
#include "weft/fiber/wait/reason_word.h"
#include "weft/fiber/wait/token_refs.h"
#include "weft/testing/model.h"

namespace weft {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kAcqRel = std::memory_order_acq_rel;

Instant at(std::int64_t ns) { return Instant(Nanoseconds(ns)); }

// A fiber that waits with a deadline; `resumed` counts how often it was put into a queue.
struct Sleeper : WaitCell {
    Atomic<unsigned> resumed{0};

    WaitRef begin_wait() { return WaitRef(*this, word.begin(WaitWord::Waiting)); }
    void resume() {
        resumed.fetch_add(1, kAcqRel);
        model::futex_wake(resumed, 1);
    }
    Wake await() {
        while (resumed.fetch_add(0, kAcquire) == 0) model::futex_wait(resumed, 0U);
        return word.outcome();
    }
};

void resume_all(WaitCell* cell) {
    while (cell) {
        WaitCell* following = cell->next;
        static_cast<Sleeper*>(cell)->resume();
        cell = following;
    }
}

// One wait with a deadline, one waker, and one or two workers that expire the wheel.
void wait_against_expiry(int expirers) {
    TimerWheel wheel;
    Sleeper sleeper;
    WaitRef wait = sleeper.begin_wait();
    std::optional<Timer> timer(std::in_place, wait);
    wheel.set(*timer, at(1'000));
    model::thread([&] {
        if (sleeper.await() != Wake::TimedOut) wheel.cancel(*timer);
        // The frame ends: nobody may touch the timer from here on.
        timer.reset();
    });
    model::thread([&] {
        if (wait.try_claim(Wake::Ready)) sleeper.resume();
    });
    for (int i = 0; i < expirers; ++i) model::thread([&] { resume_all(wheel.expire(at(2'000))); });
    model::join_all();
    model::require(sleeper.resumed.load(kRelaxed) == 1, "woken exactly once");
    wheel.refresh_next_due();
    model::require(wheel.next_due_ns() == kNeverNs, "a cancelled timer leaves nothing behind");
    model::require(!wheel.expire(at(3'000)), "nothing is left in the wheel");
}

TEST(TimerCancelModel, RCT_3b_a_timer_and_a_waker_wake_once_and_the_wheel_forgets_the_frame) {
    model::Result result = model::check([] { wait_against_expiry(1); });
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(TimerCancelModel, RCT_3b_two_workers_that_expire_one_wheel_fire_a_timer_once) {
    model::Options options{.preemption_bound = 2};
    model::Result result = model::check(options, [] { wait_against_expiry(2); });
    EXPECT_TRUE(result.ok()) << result.trace();
}

// A timer set anew while another worker expires the wheel is neither lost nor early.
TEST(TimerCancelModel, RCT_3c_a_timer_set_during_an_expiry_stays_until_it_is_due) {
    model::Result result = model::check([] {
        TimerWheel wheel;
        Sleeper first;
        Sleeper second;
        Timer early(first.begin_wait());
        Timer late(second.begin_wait());
        wheel.set(early, at(1'000));
        model::thread([&] { wheel.set(late, at(5'000)); });
        model::thread([&] { resume_all(wheel.expire(at(2'000))); });
        model::join_all();
        model::require(first.resumed.load(kRelaxed) == 1, "what was due has fired");
        model::require(second.resumed.load(kRelaxed) == 0, "what was not due has not");
        model::require(wheel.next_due_ns() <= 5'000, "the wheel knows that something is to come");
        resume_all(wheel.expire(at(5'000)));
        model::require(second.resumed.load(kRelaxed) == 1, "no timer is lost");
    });
    EXPECT_TRUE(result.ok()) << result.trace();
}

// ---------------------------------------------------------------- the deadline of a token

// A CancelState with a deadline.
struct Token {
    Timer timer{on_deadline};
    TimerWheel* wheel = nullptr;
    SpinLock lock;
    TokenRefs references;
    ReasonWord reason;
    model::Plain<int> alive{1};
    int deleted = 0;

    void release() {
        static_cast<void>(alive.get());
        if (references.has_timers_alone()) disarm();
        if (!references.release()) return;
        alive.set(0);
        deleted++;
        model::require(deleted == 1, "deleted once");
    }
    void disarm() {
        SpinGuard guard(lock);
        if (!references.has_timers_alone() || !wheel || !wheel->cancel(timer)) return;
        wheel = nullptr;
        references.cancel_timer();
    }
    static void on_deadline(Timer& timer, TimerEnd end) {
        auto& token = reinterpret_cast<Token&>(timer);  // its first member
        model::require(token.alive.get() == 1, "the timer keeps its token");
        {
            SpinGuard guard(token.lock);
            token.wheel = nullptr;
            token.references.end_timer();
        }
        if (end == TimerEnd::Due)
            static_cast<void>(token.reason.mark(CancelReason::DeadlineExceeded));
        token.release();
    }
    void arm(TimerWheel& to) {
        wheel = &to;
        references.add_timer();
        wheel->set(timer, at(1'000));
    }
};

TEST(TimerCancelModel, a_token_ends_once_when_its_last_holder_meets_its_deadline) {
    model::Result result = model::check([] {
        TimerWheel wheel;
        Token token;
        token.arm(wheel);
        model::thread([&] { token.release(); });
        model::thread([&] { resume_all(wheel.expire(at(2'000))); });
        model::join_all();
        model::require(token.deleted == 1, "deleted");
    });
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(TimerCancelModel, a_token_ends_once_when_its_last_holder_meets_the_end_of_the_wheel) {
    model::Result result = model::check([] {
        auto wheel = std::make_optional<TimerWheel>();
        Token token;
        token.arm(*wheel);
        model::thread([&] { token.release(); });
        model::thread([&] { wheel.reset(); });
        model::join_all();
        model::require(token.deleted == 1, "deleted");
        model::require(token.reason.get() == CancelReason::None, "a dropped timer has not fired");
    });
    EXPECT_TRUE(result.ok()) << result.trace();
}

// ---------------------------------------------------------------- what would be wrong

TEST(TimerCancelModel, every_omission_is_found) {
    {
        planted::Enabled fault("timer.ignores_cancel");
        EXPECT_TRUE(model::check([] { wait_against_expiry(0); }).failed());
    }
    planted::Enabled fault("timer.wakes_twice");
    EXPECT_TRUE(model::check([] { wait_against_expiry(1); }).failed());
}

// A waiter that leaves its timer in the wheel would be found as well.
TEST(TimerCancelModel, a_timer_that_nobody_cancels_is_found) {
    model::Result result = model::check([] {
        TimerWheel wheel;
        Sleeper sleeper;
        WaitRef wait = sleeper.begin_wait();
        Timer timer(wait);
        wheel.set(timer, at(1'000));
        model::thread([&] {
            if (wait.try_claim(Wake::Ready)) sleeper.resume();
        });
        model::thread([&] { static_cast<void>(sleeper.await()); });
        model::join_all();
        wheel.refresh_next_due();
        bool is_left = wheel.next_due_ns() != kNeverNs;
        static_cast<void>(wheel.expire(at(3'000)));
        model::require(!is_left, "a cancelled timer leaves nothing behind");
    });
    EXPECT_TRUE(result.failed());
}

}  // namespace
}  // namespace weft
