// The run queue under every order of its owner and its thieves: each fiber is taken exactly once.
//
// The queue is the real one. Beside it stands a copy whose orders and steps can be weakened one by
// one; each weakening must be found, or this test could not fail.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "weft/fiber/internal/run_queue.h"
#include "weft/testing/model.h"

namespace weft {
namespace {

struct Item {
    model::Plain<int> payload{0};  // written before the push, read by whoever takes it
    int taken = 0;
};

template <class Queue>
void take(Item* item) {
    if (!item) return;
    model::require(item->payload.get() == 1, "what was written before the push is seen");
    item->taken++;
    model::require(item->taken == 1, "nobody takes what another has taken");
}

template <class Queue, unsigned Count>
struct Stage {
    Queue queue;
    std::array<Item, Count> items;

    bool push(unsigned index) {
        items[index].payload.set(1);
        return queue.push(&items[index]);
    }
    void drain() {
        while (Item* item = queue.pop_oldest()) take<Queue>(item);
    }
    void require_all(unsigned pushed) {
        for (unsigned i = 0; i < pushed; ++i)
            model::require(items[i].taken == 1, "no item is lost");
    }
};

using Real = RunQueue<Item, 2>;

// Two were pushed; the owner takes the newest ones while a thief takes the oldest ones.
template <class Queue>
void newest_against_oldest() {
    Stage<Queue, 2> stage;
    stage.push(0);
    stage.push(1);
    model::thread([&] {
        take<Queue>(stage.queue.pop_oldest());
        take<Queue>(stage.queue.pop_oldest());
    });
    model::thread([&] {
        take<Queue>(stage.queue.pop_newest());
        take<Queue>(stage.queue.pop_newest());
    });
    model::join_all();
    stage.drain();
    stage.require_all(2);
}

// A queue of two is filled, stolen from and filled again: a recycled slot is not mistaken.
template <class Queue>
void refill_against_oldest() {
    Stage<Queue, 3> stage;
    unsigned pushed = 0;
    model::thread([&] {
        stage.push(0);
        stage.push(1);
        pushed = stage.push(2) ? 3 : 2;
        take<Queue>(stage.queue.pop_newest());
    });
    model::thread([&] {
        take<Queue>(stage.queue.pop_oldest());
        take<Queue>(stage.queue.pop_oldest());
    });
    model::join_all();
    stage.drain();
    stage.require_all(pushed);
}

// The owner takes the last one back and pushes another into its place, between two thieves.
template <class Queue>
void push_again_between_two_thieves() {
    Stage<Queue, 3> stage;
    stage.push(0);
    stage.push(1);
    for (int thief = 0; thief < 2; ++thief)
        model::thread([&] { take<Queue>(stage.queue.pop_oldest()); });
    model::thread([&] {
        take<Queue>(stage.queue.pop_newest());
        stage.push(2);
    });
    model::join_all();
    stage.drain();
    stage.require_all(3);
}

// One is left: the owner takes it from the front or from the back, as its thieves do.
template <class Queue>
void one_for_three() {
    Stage<Queue, 1> stage;
    stage.push(0);
    model::thread([&] { take<Queue>(stage.queue.pop_newest()); });
    model::thread([&] { take<Queue>(stage.queue.pop_oldest()); });
    model::thread([&] { take<Queue>(stage.queue.pop_oldest()); });
    model::join_all();
    stage.drain();
    stage.require_all(1);
}

TEST(RunQueueModel, FIB_5b_owner_and_thief_never_take_the_same_fiber) {
    model::Result result = model::check(newest_against_oldest<Real>);
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(RunQueueModel, FIB_5b_a_recycled_slot_is_not_mistaken_for_the_one_that_was_read) {
    model::Result result = model::check(refill_against_oldest<Real>);
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(RunQueueModel, FIB_5b_a_fiber_pushed_over_one_taken_back_is_taken_once) {
    model::Options options{.preemption_bound = 3, .max_executions = 5'000'000};
    model::Result result = model::check(options, push_again_between_two_thieves<Real>);
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(RunQueueModel, FIB_5b_the_last_fiber_goes_to_one_of_three) {
    model::Result result = model::check(one_for_three<Real>);
    EXPECT_TRUE(result.ok()) << result.trace();
}

// A worker that has announced its sleep looks at the queues of the others: what was pushed before
// the pusher looked for a sleeper is seen. This is empty() against push() and a seq_cst flag.
TEST(RunQueueModel, FIB_5c_a_push_is_seen_by_the_last_look_of_one_who_sleeps_after_it) {
    model::Result result = model::check([] {
        Stage<Real, 2> stage;
        stage.push(0);
        bool seen_empty = false;
        model::thread([&] { take<Real>(stage.queue.pop_oldest()); });
        model::thread([&] {
            stage.push(1);
            seen_empty = stage.queue.empty();
        });
        model::join_all();
        model::require(!seen_empty, "the owner sees what it has pushed itself");
        stage.drain();
        stage.require_all(2);
    });
    EXPECT_TRUE(result.ok()) << result.trace();
}

// ---------------------------------------------------------------- what would be wrong

enum class Fault {
    None,
    PushRelaxed,           // end_ published without release
    PushIgnoresThieves,    // begin_ read once and for all: overwrites what is not taken
    StepBackReleaseOnly,   // the owner's step back not seq_cst
    OwnerReadsBeginEarly,  // begin_ read before the step back
    NoRaceForTheLast,      // the last one taken without moving begin_
    OldestReadsRelaxed,    // a thief that does not acquire
    TakesWithoutExchange,  // a thief that stores instead of exchanging
};

// RunQueue, line by line, with one fault.
template <Fault kFault>
class FaultyQueue {
    static constexpr unsigned kCapacity = 2;
    static constexpr auto kRelaxed = std::memory_order_relaxed;
    static constexpr auto kAcquire = std::memory_order_acquire;
    static constexpr auto kRelease = std::memory_order_release;
    static constexpr auto kSeqCst = std::memory_order_seq_cst;

public:
    bool push(Item* item) {
        std::uint64_t end = end_.load(kRelaxed);
        std::uint64_t begin = kFault == Fault::PushIgnoresThieves ? end : begin_.load(kAcquire);
        if (end - begin >= kCapacity) return false;
        slot(end).store(item, kRelaxed);
        end_.store(end + 1, kFault == Fault::PushRelaxed ? kRelaxed : kRelease);
        return true;
    }
    Item* pop_newest() {
        std::uint64_t end = end_.load(kRelaxed);
        std::uint64_t oldest = begin_.load(kRelaxed);
        if (oldest == end) return nullptr;
        if (oldest + 1 == end) {
            Item* only = slot(oldest).load(kRelaxed);
            if (kFault == Fault::NoRaceForTheLast) {
                begin_.store(end, kSeqCst);
                return only;
            }
            bool taken = begin_.compare_exchange_strong(oldest, end, kSeqCst, kRelaxed);
            return taken ? only : nullptr;
        }
        std::uint64_t last = end - 1;
        std::uint64_t early = begin_.load(kSeqCst);
        end_.store(last, kFault == Fault::StepBackReleaseOnly ? kRelease : kSeqCst);
        std::uint64_t begin = kFault == Fault::OwnerReadsBeginEarly ? early : begin_.load(kSeqCst);
        if (begin > last) {
            end_.store(end, kRelaxed);
            return nullptr;
        }
        Item* item = slot(last).load(kRelaxed);
        if (begin < last) return item;
        if (kFault != Fault::NoRaceForTheLast &&
            !begin_.compare_exchange_strong(begin, begin + 1, kSeqCst, kRelaxed)) {
            item = nullptr;
        }
        end_.store(end, kRelease);
        return item;
    }
    Item* pop_oldest() {
        bool weak = kFault == Fault::OldestReadsRelaxed;
        std::uint64_t begin = begin_.load(weak ? kRelaxed : kSeqCst);
        for (;;) {
            std::uint64_t end = end_.load(weak ? kRelaxed : kSeqCst);
            if (begin >= end) return nullptr;
            Item* item = slot(begin).load(kRelaxed);
            if (kFault == Fault::TakesWithoutExchange) {
                begin_.store(begin + 1, kSeqCst);
                return item;
            }
            if (begin_.compare_exchange_weak(begin, begin + 1, weak ? kRelaxed : kSeqCst,
                                             weak ? kRelaxed : kSeqCst)) {
                return item;
            }
        }
    }

private:
    Atomic<Item*>& slot(std::uint64_t index) { return slots_[index & (kCapacity - 1)]; }

    Atomic<std::uint64_t> begin_{0};
    Atomic<std::uint64_t> end_{0};
    std::array<Atomic<Item*>, kCapacity> slots_{};
};

template <Fault kFault>
bool is_found() {
    using Queue = FaultyQueue<kFault>;
    for (void (*scenario)() :
         {newest_against_oldest<Queue>, refill_against_oldest<Queue>, one_for_three<Queue>}) {
        if (model::check(scenario).failed()) return true;
    }
    return false;
}

TEST(RunQueueModel, the_copy_without_a_fault_is_as_good_as_the_real_one) {
    EXPECT_FALSE(is_found<Fault::None>());
}

TEST(RunQueueModel, every_weakening_is_found) {
    EXPECT_TRUE(is_found<Fault::PushRelaxed>());
    EXPECT_TRUE(is_found<Fault::PushIgnoresThieves>());
    EXPECT_TRUE(is_found<Fault::StepBackReleaseOnly>());
    EXPECT_TRUE(is_found<Fault::OwnerReadsBeginEarly>());
    EXPECT_TRUE(is_found<Fault::NoRaceForTheLast>());
    EXPECT_TRUE(is_found<Fault::OldestReadsRelaxed>());
    EXPECT_TRUE(is_found<Fault::TakesWithoutExchange>());
}

}  // namespace
}  // namespace weft
