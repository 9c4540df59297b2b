// The run queue under every order of its owner and its thieves: each fiber is taken exactly once.
//
// The queue is the product's own. Its orders are weakened and its steps left out one by one; each
// omission must be found, or this test could not fail.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "weft/fiber/schedule/run_queue.h"
#include "weft/testing/model.h"

namespace weft {
namespace {

struct Item {
    model::Plain<int> payload{0};  // written before the push, read by the taker
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

struct PushesRelaxed : RunQueueOrder {
    static constexpr std::memory_order kPush = std::memory_order_relaxed;
};
struct StepsBackByRelease : RunQueueOrder {
    static constexpr std::memory_order kStepBack = std::memory_order_release;
};
struct StealsRelaxed : RunQueueOrder {
    static constexpr std::memory_order kSteal = std::memory_order_relaxed;
};
// It overwrites what is not taken.
struct IgnoresThieves : RunQueueOrder {
    static constexpr bool kHeedsThieves = false;
};
struct LooksBeforeItStepsBack : RunQueueOrder {
    static constexpr bool kStepsBackFirst = false;
};
struct DoesNotRace : RunQueueOrder {
    static constexpr bool kRaces = false;
};
struct StealsByStore : RunQueueOrder {
    static constexpr bool kExchanges = false;
};

template <class Order>
bool is_found() {
    using Queue = RunQueue<Item, 2, Order>;
    for (void (*scenario)() :
         {newest_against_oldest<Queue>, refill_against_oldest<Queue>, one_for_three<Queue>}) {
        if (model::check(scenario).failed()) return true;
    }
    return false;
}

TEST(RunQueueModel, every_weakening_is_found) {
    EXPECT_TRUE(is_found<PushesRelaxed>());
    EXPECT_TRUE(is_found<StepsBackByRelease>());
    EXPECT_TRUE(is_found<StealsRelaxed>());
    EXPECT_TRUE(is_found<IgnoresThieves>());
    EXPECT_TRUE(is_found<LooksBeforeItStepsBack>());
    EXPECT_TRUE(is_found<DoesNotRace>());
    EXPECT_TRUE(is_found<StealsByStore>());
}

}  // namespace
}  // namespace weft
