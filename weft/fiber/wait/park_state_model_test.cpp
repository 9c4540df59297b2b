// How a fiber parks while others wake it, under every order.
//
// The words and their transitions are the product's own: the wait (WaitWord), the use of the stack
// (StackUse), the token's reason (ReasonWord), the permit of park() (ParkWord). Their orders are
// weakened and the steps of those who use them left out one by one; each omission must be found, or
// this test could not fail.
#include <gtest/gtest.h>

#include <cstdint>

#include "weft/base/spin_lock.h"
#include "weft/fiber/switch/stack_use.h"
#include "weft/fiber/wait/park_word.h"
#include "weft/fiber/wait/reason_word.h"
#include "weft/fiber/wait/wait_word.h"
#include "weft/fiber/waiter.h"
#include "weft/testing/model.h"

namespace weft {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kRelease = std::memory_order_release;

// ---------------------------------------------------------------- weaker orders

struct LeavesRelaxed : StackOrder {
    static constexpr std::memory_order kLeave = std::memory_order_relaxed;
};
struct LooksRelaxed : StackOrder {
    static constexpr std::memory_order kLook = std::memory_order_relaxed;
};
struct PublishesByRelease : WaitOrder {
    static constexpr std::memory_order kPublish = std::memory_order_release;
};
struct MarksRelaxed : ReasonOrder {
    static constexpr std::memory_order kMark = std::memory_order_relaxed;
};

enum class Omission {
    None,
    LookAtStack,  // resumed without testing whether its stack was left
    LateEnd,      // the use of the stack ended before the context is saved
    Claim,        // resumed also by wakers that lost the claim
    LookAtToken,  // the waiter does not test the token after it has published its wait
    Lock,         // the permit looked at outside the lock that publishes the wait
};

// A place in a run queue. What is in the queue is published by the queue, which has its own model
// test; a counter with acquire and release stands for it here.
struct Queued {
    Atomic<unsigned> times{0};

    void put() {
        times.fetch_add(1, std::memory_order_acq_rel);
        model::futex_wake(times, 1);
    }
    void await() {
        while (times.fetch_add(0, kAcquire) == 0) model::futex_wait(times, 0U);
    }
    unsigned count() const { return times.load(kRelaxed); }
};

WaitRef begin_wait(WaitCell& cell) { return WaitRef(cell, cell.word.begin(WaitWord::Waiting)); }

// ---------------------------------------------------------------- the park and its wake-up

template <class Order>
struct Running {
    Running() { stack.begin(); }

    WaitCell cell;
    BasicStackUse<Order> stack;
    model::Plain<int> saved_context{0};  // what the switch saves and the resume reads
    Queued queued;

    void leave(Omission omission) {
        if (omission == Omission::LateEnd) stack.end();
        saved_context.set(1);
        if (omission != Omission::LateEnd) stack.end();
    }
    // On the worker that found it in a queue.
    void go_on(Omission omission) {
        queued.await();
        while (omission != Omission::LookAtStack && !stack.is_over()) model::spin_hint();
        stack.begin();
        model::require(saved_context.get() == 1, "the context is complete when it is resumed");
    }
};

// Two wakers claim the wait, perhaps before the fiber has left its stack; one of them resumes it,
// and a third worker runs it.
template <class Order = StackOrder>
void park_against_wakers(Omission omission = Omission::None) {
    Running<Order> fiber;
    WaitRef wait = begin_wait(fiber.cell);
    model::thread([&] { fiber.leave(omission); });
    for (Wake outcome : {Wake::Ready, Wake::TimedOut}) {
        model::thread([&fiber, wait, outcome, omission] {
            if (wait.try_claim(outcome) || omission == Omission::Claim) fiber.queued.put();
        });
    }
    model::thread([&] { fiber.go_on(omission); });
    model::join_all();
    model::require(fiber.queued.count() == 1, "a fiber is put into a queue once");
}

// The fiber is woken, runs and waits again, while a late waker still holds the old reference.
void a_stale_reference() {
    WaitCell cell;
    WaitRef first = begin_wait(cell);
    Atomic<int> second_began{0};
    bool stale_claimed = false;
    model::thread([&] {
        if (!first.try_claim(Wake::Ready)) return;
        static_cast<void>(begin_wait(cell));
        second_began.store(1, kRelease);
    });
    model::thread([&] {
        bool late = second_began.load(kAcquire) == 1;
        bool claimed = first.try_claim(Wake::TimedOut);
        stale_claimed = late && claimed;
    });
    model::join_all();
    model::require(!stale_claimed, "a reference to a wait that is over claims nothing");
}

TEST(ParkStateModel, FIB_3d_a_fiber_is_resumed_only_when_its_context_is_saved) {
    model::Result result = model::check([] { park_against_wakers(); });
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(ParkStateModel, FIB_3e_a_wait_is_claimed_by_one_and_a_stale_reference_claims_nothing) {
    model::Result result = model::check([] { a_stale_reference(); });
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(ParkStateModel, weakenings_of_the_park_are_found) {
    EXPECT_TRUE(model::check([] { park_against_wakers<LeavesRelaxed>(); }).failed());
    EXPECT_TRUE(model::check([] { park_against_wakers<LooksRelaxed>(); }).failed());
    for (Omission omission : {Omission::LookAtStack, Omission::LateEnd, Omission::Claim}) {
        model::Result result = model::check([=] { park_against_wakers(omission); });
        EXPECT_TRUE(result.failed()) << static_cast<int>(omission);
    }
}

// ---------------------------------------------------------------- cancellation against the wait

// The waiter marks its word and then reads the token; the canceller sets the reason and then reads
// the words. So at least one sees the other, and the fiber does not stay parked for ever.
template <class Order = WaitOrder, class TokenOrder = ReasonOrder>
void cancel_against_wait(Omission omission = Omission::None) {
    using Word = BasicWaitWord<Order>;
    Word word;
    BasicReasonWord<TokenOrder> reason;
    Queued queued;
    model::thread([&] {
        std::uint64_t wait = word.begin(Word::Waiting);
        bool cancelled = omission != Omission::LookAtToken && reason.get() != CancelReason::None;
        if (cancelled && word.try_claim(wait, Wake::Cancelled)) return;
        queued.await();
    });
    model::thread([&] {
        model::require(reason.mark(CancelReason::Cancelled), "nobody else ends the token");
        std::uint64_t wait = word.find(Word::Waiting);
        if (wait != 0 && word.try_claim(wait, Wake::Cancelled)) queued.put();
    });
    model::join_all();
    model::require(word.outcome() == Wake::Cancelled, "the wait ended as cancelled");
    model::require(queued.count() <= 1, "a fiber is put into a queue once");
}

// Two end it while a third asks: one of them gives the reason, and the owner is asked once.
void mark_against_asking() {
    ReasonWord reason;
    reason.expect_asking();
    Atomic<unsigned> ended{0};
    Atomic<unsigned> asked{0};
    for (CancelReason why : {CancelReason::Cancelled, CancelReason::Shutdown}) {
        model::thread([&, why] {
            if (reason.mark(why)) ended.fetch_add(1, kRelaxed);
        });
    }
    model::thread([&] {
        if (reason.ask()) asked.fetch_add(1, kRelaxed);
    });
    model::join_all();
    model::require(ended.load(kRelaxed) == 1, "one ends it");
    model::require(asked.load(kRelaxed) <= 1, "the owner is asked once");
    model::require(!reason.is_unasked() && reason.get() != CancelReason::None, "it has ended");
}

TEST(ParkStateModel, FIB_12a_a_wait_that_begins_during_a_cancel_does_not_miss_it) {
    model::Result result = model::check([] { cancel_against_wait(); });
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(ParkStateModel, FIB_12a_a_node_ends_once_while_it_is_asked_for) {
    model::Result result = model::check([] { mark_against_asking(); });
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(ParkStateModel, weakenings_of_the_cancel_are_found) {
    EXPECT_TRUE(model::check([] { cancel_against_wait<PublishesByRelease>(); }).failed());
    EXPECT_TRUE(model::check([] { cancel_against_wait<WaitOrder, MarksRelaxed>(); }).failed());
    EXPECT_TRUE(model::check([] { cancel_against_wait(Omission::LookAtToken); }).failed());
}

// ---------------------------------------------------------------- park and unpark

struct Parker {
    WaitCell cell;
    SpinLock lock;
    ParkWord parking;  // under the lock
    Queued queued;

    void park(Omission omission) {
        lock.lock();
        bool permit = parking.take_permit();
        if (omission == Omission::Lock) {
            lock.unlock();
            lock.lock();
        }
        if (!permit) parking.begin_park(begin_wait(cell));
        lock.unlock();
        if (!permit) queued.await();
    }
    void unpark() {
        WaitRef parked;
        {
            SpinGuard guard(lock);
            parked = parking.unpark(cell);
        }
        if (parked.cell()) queued.put();
    }
};

void park_against_unparks(int unparks, Omission omission = Omission::None) {
    Parker fiber;
    model::thread([&] { fiber.park(omission); });
    for (int i = 0; i < unparks; ++i) model::thread([&] { fiber.unpark(); });
    model::join_all();
    model::require(fiber.queued.count() <= 1, "a fiber is put into a queue once");
}

TEST(ParkStateModel, FIB_3d_an_unpark_before_or_during_the_park_is_not_lost) {
    model::Result result = model::check([] { park_against_unparks(1); });
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(ParkStateModel, FIB_3e_two_unparks_wake_once) {
    model::Result result = model::check([] { park_against_unparks(2); });
    EXPECT_TRUE(result.ok()) << result.trace();
}

// A park that times out while it is unparked: either it was woken, or the next park returns at
// once.
TEST(ParkStateModel, FIB_3d_an_unpark_that_comes_too_late_counts_for_the_next_park) {
    model::Result result = model::check([] {
        Parker fiber;
        WaitRef wait = begin_wait(fiber.cell);
        fiber.parking.begin_park(wait);
        bool timed_out = false;
        model::thread([&] {
            timed_out = wait.try_claim(Wake::TimedOut);
            if (!timed_out) return;
            SpinGuard guard(fiber.lock);
            fiber.parking.end_park();
        });
        model::thread([&] { fiber.unpark(); });
        model::join_all();
        bool woken = fiber.queued.count() == 1;
        model::require(woken != timed_out, "one outcome");
        model::require(fiber.parking.take_permit() == timed_out,
                       "the unpark is kept when the wait has ended");
    });
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(ParkStateModel, an_unpark_between_the_look_and_the_wait_is_found) {
    EXPECT_TRUE(model::check([] { park_against_unparks(1, Omission::Lock); }).failed());
}

}  // namespace
}  // namespace weft
