// A timer that fires against its owner who cancels it, under every order.
//
// The wheel is the real one: its source is compiled here with the checker's atomics. Modelled, with
// the same operations and orders, are those who use it:
//   Waiter::park_until()                             fiber/waiter.cpp
//   CancelState::release(), disarm_deadline(), on_deadline()   fiber/cancel.cpp
// Beside it stands a wheel of one timer, whose steps can be left out one by one; each omission must
// be found, or this test could not fail.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

#include "weft/fiber/timer.cpp"
#include "weft/testing/model.h"

namespace weft {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kAcqRel = std::memory_order_acq_rel;
constexpr auto kSeqCst = std::memory_order_seq_cst;

Instant at(std::int64_t ns) { return Instant(Nanoseconds(ns)); }

// A fiber that waits with a deadline; `resumed` counts how often it was put into a queue.
struct Sleeper : WaitCell {
    Atomic<unsigned> resumed{0};

    WaitRef begin_wait() {
        std::uint64_t before = word.load(kRelaxed);
        std::uint64_t begun = (((before >> kStateBits) + 1) << kStateBits) | WaitCell::Waiting;
        word.store(begun, kSeqCst);
        return WaitRef(*this, begun);
    }
    void resume() {
        resumed.fetch_add(1, kAcqRel);
        model::futex_wake(resumed, 1);
    }
    Wake await() {
        while (resumed.fetch_add(0, kAcquire) == 0) model::futex_wait(resumed, 0U);
        std::uint64_t state = word.load(kAcquire) & kStateMask;
        model::require(state >= WaitCell::Woken, "a resumed wait has an outcome");
        return static_cast<Wake>(state - WaitCell::Woken);
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
    model::require(!wheel.expire(at(3'000)), "nothing is left in the wheel");
    wheel.refresh_next_due();
    model::require(wheel.next_due_ns() == kNeverNs, "a cancelled timer leaves nothing behind");
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

// CancelState, as far as its deadline goes.
struct Token {
    Timer timer{on_deadline};
    TimerWheel* wheel = nullptr;
    SpinLock lock;
    Atomic<std::uint32_t> references{1};
    Atomic<int> reason{0};
    model::Plain<int> alive{1};
    int deleted = 0;

    void release() {
        static_cast<void>(alive.get());
        if (references.load(kRelaxed) == 2) disarm();
        if (references.fetch_sub(1, kAcqRel) != 1) return;
        alive.set(0);
        deleted++;
        model::require(deleted == 1, "deleted once");
    }
    void disarm() {
        SpinGuard guard(lock);
        if (!wheel || !wheel->cancel(timer)) return;
        wheel = nullptr;
        references.fetch_sub(1, kRelaxed);
    }
    static void on_deadline(Timer& timer, TimerEnd end) {
        auto& token = reinterpret_cast<Token&>(timer);  // its first member
        model::require(token.alive.get() == 1, "the timer keeps its token");
        {
            SpinGuard guard(token.lock);
            token.wheel = nullptr;
        }
        int expected = 0;
        if (end == TimerEnd::Due)
            token.reason.compare_exchange_strong(expected, 1, kSeqCst, kSeqCst);
        token.release();
    }
    void arm(TimerWheel& to) {
        wheel = &to;
        references.fetch_add(1, kRelaxed);
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
        model::require(token.reason.load(kRelaxed) == 0, "a dropped timer has not fired");
    });
    EXPECT_TRUE(result.ok()) << result.trace();
}

// ---------------------------------------------------------------- what would be wrong

enum class Fault {
    None,
    NoCancel,          // a waiter that was woken otherwise leaves its timer in the wheel
    CancelUnlocked,    // it looks whether the timer has fired without the lock
    TouchedAfterLock,  // the expiry reads the timer after it has let go of the lock
    ClaimIgnored,      // it resumes also when it has lost the claim
};

// A wheel of one timer, in the steps of TimerWheel::expire() and cancel().
struct OneTimer {
    struct Frame {
        model::Plain<bool> is_set{true};
        model::Plain<std::uint64_t> wait{0};
    };

    SpinLock lock;
    Frame* timer = nullptr;

    void expire(Sleeper& sleeper, Fault fault) {
        bool claimed = false;
        Frame* due = nullptr;
        {
            SpinGuard guard(lock);
            due = std::exchange(timer, nullptr);
            if (!due) return;
            due->is_set.set(false);
            if (fault != Fault::TouchedAfterLock)
                claimed = WaitRef(sleeper, due->wait.get()).try_claim(Wake::TimedOut);
        }
        if (fault == Fault::TouchedAfterLock)
            claimed = WaitRef(sleeper, due->wait.get()).try_claim(Wake::TimedOut);
        if (claimed || fault == Fault::ClaimIgnored) sleeper.resume();
    }
    void cancel(Frame& frame, Fault fault) {
        if (fault == Fault::NoCancel) return;
        if (fault == Fault::CancelUnlocked) {
            if (frame.is_set.get()) timer = nullptr;
            return;
        }
        SpinGuard guard(lock);
        if (frame.is_set.get()) timer = nullptr;
    }
};

void wait_against_one_timer(Fault fault) {
    OneTimer wheel;
    Sleeper sleeper;
    WaitRef wait = sleeper.begin_wait();
    std::optional<OneTimer::Frame> frame(std::in_place);
    frame->wait.set(wait.word());
    wheel.timer = &*frame;
    model::thread([&] {
        if (sleeper.await() != Wake::TimedOut) wheel.cancel(*frame, fault);
        frame.reset();
    });
    model::thread([&] {
        if (wait.try_claim(Wake::Ready)) sleeper.resume();
    });
    model::thread([&] { wheel.expire(sleeper, fault); });
    model::join_all();
    model::require(sleeper.resumed.load(kRelaxed) == 1, "woken exactly once");
}

TEST(TimerCancelModel, the_wheel_of_one_timer_is_right) {
    model::Result result = model::check([] { wait_against_one_timer(Fault::None); });
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(TimerCancelModel, every_omission_is_found) {
    for (Fault fault :
         {Fault::NoCancel, Fault::CancelUnlocked, Fault::TouchedAfterLock, Fault::ClaimIgnored}) {
        model::Result result = model::check([=] { wait_against_one_timer(fault); });
        EXPECT_TRUE(result.failed()) << static_cast<int>(fault);
    }
}

}  // namespace
}  // namespace weft
