// How a fiber parks while others wake it, under every order.
//
// The state word and its claim (WaitCell, WaitRef::try_claim) are the real ones. What lies in
// sources that cannot be linked here is modelled step by step, with the same operations and orders:
//   Waiter::Waiter, wait()                          fiber/waiter.cpp
//   switch_to(), after_switch(), runnable()         fiber/internal/worker_inline.h
//   CancelState::cancel(), claim_cells()            fiber/cancel.cpp
//   park(), unpark()                                fiber/fiber.cpp
// A step that is left out or an order that is weakened must be found, or this test could not fail.
#include <gtest/gtest.h>

#include <cstdint>

#include "weft/base/spin_lock.h"
#include "weft/fiber/waiter.h"
#include "weft/testing/model.h"

namespace weft {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kRelease = std::memory_order_release;
constexpr auto kSeqCst = std::memory_order_seq_cst;

enum class Fault {
    None,
    BusyUnset,            // resumed without a look at the flag
    BusyReleasedRelaxed,  // the flag cleared without release
    BusyReadRelaxed,      // the flag read without acquire
    BusyClearedEarly,     // the flag cleared before the context is saved
    WordRelease,          // the wait published by release alone
    ReasonRelaxed,        // the token's reason set without seq_cst
    NoLookAtToken,        // the waiter does not look at the token after it has published
    ClaimUnchecked,       // resumed also by those who lost the claim
    NoPermit,             // an unpark before the park leaves nothing behind
    PermitUnlocked,       // the permit looked at outside the lock that publishes the wait
};

// The part of a fiber that takes part in parking.
struct FiberModel : WaitCell {
    Atomic<bool> busy{true};             // it runs
    model::Plain<int> saved_context{0};  // what the switch saves and the resume reads
    Atomic<unsigned> queued{0};          // how often it was put into a run queue
};

// Waiter::Waiter.
WaitRef begin_wait(FiberModel& fiber, WaitCell::State state, Fault fault = Fault::None) {
    std::uint64_t before = fiber.word.load(kRelaxed);
    std::uint64_t word = (((before >> WaitCell::kStateBits) + 1) << WaitCell::kStateBits) | state;
    fiber.word.store(word, fault == Fault::WordRelease ? kRelease : kSeqCst);
    return WaitRef(fiber, word);
}

// switch_to() and after_switch(): the worker leaves the fiber's stack.
void leave_stack(FiberModel& fiber, Fault fault) {
    if (fault == Fault::BusyClearedEarly) fiber.busy.store(false, kRelease);
    fiber.saved_context.set(1);
    if (fault == Fault::BusyClearedEarly) return;
    fiber.busy.store(false, fault == Fault::BusyReleasedRelaxed ? kRelaxed : kRelease);
}

// WaitRef::resume(): into a queue. What is in the queue is published by the queue, which has its
// own model test; a counter with acquire and release stands for it here.
void make_ready(FiberModel& fiber) {
    fiber.queued.fetch_add(1, std::memory_order_acq_rel);
    model::futex_wake(fiber.queued, 1);
}

// runnable() and the switch into the fiber, on the worker that found it in a queue.
void run_when_ready(FiberModel& fiber, Fault fault) {
    while (fiber.queued.fetch_add(0, kAcquire) == 0) model::futex_wait(fiber.queued, 0U);
    if (fault != Fault::BusyUnset) {
        while (fiber.busy.load(fault == Fault::BusyReadRelaxed ? kRelaxed : kAcquire))
            model::spin_hint();
    }
    fiber.busy.store(true, kRelaxed);
    model::require(fiber.saved_context.get() == 1, "the context is complete when it is resumed");
}

// ---------------------------------------------------------------- the park and its wake-up

// Two wakers claim the wait, perhaps before the fiber has left its stack; one of them resumes it,
// and a third worker runs it.
void park_against_wakers(Fault fault) {
    FiberModel fiber;
    WaitRef wait = begin_wait(fiber, WaitCell::Waiting);
    model::thread([&] { leave_stack(fiber, fault); });
    for (Wake outcome : {Wake::Ready, Wake::TimedOut}) {
        model::thread([&fiber, wait, outcome, fault] {
            if (wait.try_claim(outcome) || fault == Fault::ClaimUnchecked) make_ready(fiber);
        });
    }
    model::thread([&] { run_when_ready(fiber, fault); });
    model::join_all();
    model::require(fiber.queued.load(kRelaxed) == 1, "a fiber is put into a queue once");
}

// The fiber is woken, runs and waits again, while a late waker still holds the old reference.
void a_stale_reference(Fault fault) {
    FiberModel fiber;
    WaitRef first = begin_wait(fiber, WaitCell::Waiting);
    Atomic<int> second_began{0};
    bool stale_claimed = false;
    model::thread([&] {
        if (!first.try_claim(Wake::Ready)) return;
        static_cast<void>(begin_wait(fiber, WaitCell::Waiting));
        second_began.store(1, kRelease);
    });
    model::thread([&] {
        bool late = second_began.load(kAcquire) == 1;
        bool claimed = first.try_claim(Wake::TimedOut);
        stale_claimed = late && claimed;
        static_cast<void>(fault);
    });
    model::join_all();
    model::require(!stale_claimed, "a reference to a wait that is over claims nothing");
}

TEST(ParkStateModel, FIB_3d_a_fiber_is_resumed_only_when_its_context_is_saved) {
    model::Result result = model::check([] { park_against_wakers(Fault::None); });
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(ParkStateModel, FIB_3e_a_wait_is_claimed_by_one_and_a_stale_reference_claims_nothing) {
    model::Result result = model::check([] { a_stale_reference(Fault::None); });
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(ParkStateModel, weakenings_of_the_park_are_found) {
    for (Fault fault : {Fault::BusyUnset, Fault::BusyReleasedRelaxed, Fault::BusyReadRelaxed,
                        Fault::BusyClearedEarly, Fault::ClaimUnchecked}) {
        model::Result result = model::check([=] { park_against_wakers(fault); });
        EXPECT_TRUE(result.failed()) << static_cast<int>(fault);
    }
}

// ---------------------------------------------------------------- cancellation against the wait

// The waiter marks its cell and then looks at the token; the canceller sets the reason and then
// looks at the cells. One of them sees the other, and the fiber does not sleep for ever.
void cancel_against_wait(Fault fault) {
    FiberModel fiber;
    Atomic<int> reason{0};
    model::thread([&] {
        WaitRef wait = begin_wait(fiber, WaitCell::Waiting, fault);
        bool cancelled = fault != Fault::NoLookAtToken && reason.load(kSeqCst) != 0;
        if (cancelled && wait.try_claim(Wake::Cancelled)) return;
        while (fiber.queued.fetch_add(0, kAcquire) == 0) model::futex_wait(fiber.queued, 0U);
    });
    model::thread([&] {
        int expected = 0;
        auto order = fault == Fault::ReasonRelaxed ? kRelaxed : kSeqCst;
        reason.compare_exchange_strong(expected, 1, order, kRelaxed);
        std::uint64_t word = fiber.word.load(kSeqCst);
        if ((word & WaitCell::kStateMask) != WaitCell::Waiting) return;
        if (WaitRef(fiber, word).try_claim(Wake::Cancelled)) make_ready(fiber);
    });
    model::join_all();
    std::uint64_t state = fiber.word.load(kRelaxed) & WaitCell::kStateMask;
    model::require(state == WaitCell::Stopped, "the wait ended as cancelled");
    model::require(fiber.queued.load(kRelaxed) <= 1, "a fiber is put into a queue once");
}

TEST(ParkStateModel, FIB_12a_a_wait_that_begins_during_a_cancel_does_not_miss_it) {
    model::Result result = model::check([] { cancel_against_wait(Fault::None); });
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(ParkStateModel, weakenings_of_the_cancel_are_found) {
    for (Fault fault : {Fault::WordRelease, Fault::ReasonRelaxed, Fault::NoLookAtToken}) {
        model::Result result = model::check([=] { cancel_against_wait(fault); });
        EXPECT_TRUE(result.failed()) << static_cast<int>(fault);
    }
}

// ---------------------------------------------------------------- park and unpark

struct Parker : FiberModel {
    SpinLock park_lock;
    bool permit = false;          // under the lock
    std::uint64_t park_word = 0;  // under the lock
};

// park(): true if it waited.
bool park(Parker& fiber, Fault fault) {
    if (fault == Fault::PermitUnlocked) {
        fiber.park_lock.lock();
        bool permit = std::exchange(fiber.permit, false);
        fiber.park_lock.unlock();
        if (permit) return false;
    }
    fiber.park_lock.lock();
    if (fault != Fault::PermitUnlocked && std::exchange(fiber.permit, false)) {
        fiber.park_lock.unlock();
        return false;
    }
    WaitRef wait = begin_wait(fiber, WaitCell::Waiting);
    fiber.park_word = wait.word();
    fiber.park_lock.unlock();
    while (fiber.queued.fetch_add(0, kAcquire) == 0) model::futex_wait(fiber.queued, 0U);
    return true;
}

// unpark()
void unpark(Parker& fiber, Fault fault) {
    std::uint64_t parked = 0;
    {
        SpinGuard guard(fiber.park_lock);
        parked = std::exchange(fiber.park_word, 0);
        if (parked != 0 && !WaitRef(fiber, parked).try_claim(Wake::Ready)) parked = 0;
        if (parked == 0 && fault != Fault::NoPermit) fiber.permit = true;
    }
    if (parked != 0) make_ready(fiber);
}

void park_against_unparks(Fault fault, int unparks) {
    Parker fiber;
    model::thread([&] { static_cast<void>(park(fiber, fault)); });
    for (int i = 0; i < unparks; ++i) model::thread([&] { unpark(fiber, fault); });
    model::join_all();
    model::require(fiber.queued.load(kRelaxed) <= 1, "a fiber is put into a queue once");
}

TEST(ParkStateModel, FIB_3d_an_unpark_before_or_during_the_park_is_not_lost) {
    model::Result result = model::check([] { park_against_unparks(Fault::None, 1); });
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(ParkStateModel, FIB_3e_two_unparks_wake_once) {
    model::Result result = model::check([] { park_against_unparks(Fault::None, 2); });
    EXPECT_TRUE(result.ok()) << result.trace();
}

// A park that times out while it is unparked: either it was woken, or the next park returns at
// once.
TEST(ParkStateModel, FIB_3d_an_unpark_that_comes_too_late_counts_for_the_next_park) {
    model::Result result = model::check([] {
        Parker fiber;
        fiber.park_lock.lock();
        WaitRef wait = begin_wait(fiber, WaitCell::Waiting);
        fiber.park_word = wait.word();
        fiber.park_lock.unlock();
        bool timed_out = false;
        model::thread([&] {
            timed_out = wait.try_claim(Wake::TimedOut);
            if (!timed_out) return;
            SpinGuard guard(fiber.park_lock);
            fiber.park_word = 0;
        });
        model::thread([&] { unpark(fiber, Fault::None); });
        model::join_all();
        bool woken = fiber.queued.load(kRelaxed) == 1;
        model::require(woken != timed_out, "one outcome");
        model::require(fiber.permit == timed_out, "the unpark is kept when the wait has ended");
    });
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(ParkStateModel, weakenings_of_the_unpark_are_found) {
    for (Fault fault : {Fault::NoPermit, Fault::PermitUnlocked}) {
        model::Result result = model::check([=] { park_against_unparks(fault, 1); });
        EXPECT_TRUE(result.failed()) << static_cast<int>(fault);
    }
}

}  // namespace
}  // namespace weft
