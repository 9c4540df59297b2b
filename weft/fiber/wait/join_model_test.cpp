// The end of a fiber against its joiner, under every order.
//
// The word of both, and the steps of who joins, are the product's own (JoinWord). Its orders are
// weakened and its steps left out one by one; each omission must be found, or this test could not
// fail.
#include <gtest/gtest.h>

#include <cstdint>

#include "weft/fiber/wait/join_word.h"
#include "weft/testing/model.h"

namespace weft {
namespace {

constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kAcqRel = std::memory_order_acq_rel;
constexpr auto kRelaxed = std::memory_order_relaxed;

struct EndsRelaxed : JoinOrder {
    static constexpr std::memory_order kEnd = kRelaxed;
    static constexpr std::memory_order kDone = kRelaxed;
};
struct EntersRelaxed : JoinOrder {
    static constexpr std::memory_order kEnter = kRelaxed;
};
struct LooksRelaxed : JoinOrder {
    static constexpr std::memory_order kLook = kRelaxed;
};
struct NotAwaited : JoinOrder {
    static constexpr bool kAwaitsDone = false;
};
struct NotTakenBack : JoinOrder {
    static constexpr bool kTakesBack = false;
};
struct DetachesBlindly : JoinOrder {
    static constexpr bool kAsksBeforeDetach = false;
};

// Stands for a Waiter. The joiner's frame ends with it, and nobody may read that afterwards.
struct Joiner {
    WaitCell cell;
    std::uint64_t wait = cell.word.begin(WaitWord::Waiting);
    Atomic<unsigned> resumed{0};

    WaitRef ref() { return WaitRef(cell, wait); }
    void abandon() { static_cast<void>(ref().try_claim(Wake::Ready)); }
    Wake await() {
        while (resumed.fetch_add(0, kAcquire) == 0) model::futex_wait(resumed, 0U);
        return cell.word.outcome();
    }
    void claim(WaitRef claimed, Wake outcome) {
        if (!claimed.try_claim(outcome)) return;
        resumed.fetch_add(1, kAcqRel);
        model::futex_wake(resumed, 1);
    }
};

template <class Order>
struct Block {
    BasicJoinWord<Order> join;
    model::Plain<int> outcome{0};
    model::Plain<int> stack{1};      // what the end still touches until the very end
    model::Plain<int> free_list{0};  // written by the thread that gives the block back
    model::Plain<int> entry{0};      // the joiner's frame: 1 while its entry may be looked at
    int given_back = 0;

    void give_back() {
        stack.set(0);
        free_list.set(1);
        given_back++;
        model::require(given_back == 1, "a block is given back once");
    }
    void take() {
        model::require(outcome.get() == 7, "the joiner sees the outcome");
        give_back();
    }
    void end(Joiner& joiner) {
        outcome.set(7);
        auto end = join.end();
        if (end.is_forgotten) {
            static_cast<void>(outcome.get());
            return give_back();
        }
        if (end.entry) {
            model::require(entry.get() == 1, "the entry is there");
            joiner.claim(end.entry->joiner, Wake::Ready);
        }
        stack.set(2);
        join.finish();
    }
    // False when the wait timed out and the fiber is still joinable.
    bool join_by(Joiner& joiner) {
        entry.set(1);
        Wake wake = join.join(joiner, [&] { return joiner.await(); });
        entry.set(0);
        return wake == Wake::Ready;
    }
    // The side that comes second discards the outcome.
    void detach() {
        if (join.try_detach()) return;
        static_cast<void>(outcome.get());
        give_back();
    }
};

template <class Order = JoinOrder>
void join_against_end() {
    Block<Order> block;
    Joiner joiner;
    model::thread([&] { block.end(joiner); });
    model::thread([&] {
        if (block.join.is_done() || block.join_by(joiner)) block.take();
    });
    model::join_all();
    model::require(block.given_back == 1, "the block is given back");
}

// The joiner's wait times out, and it detaches: all three meet.
template <class Order = JoinOrder>
void timed_join_against_end() {
    Block<Order> block;
    Joiner joiner;
    model::thread([&] { block.end(joiner); });
    model::thread([&] {
        if (block.join_by(joiner)) {
            block.take();
        } else {
            block.detach();
        }
    });
    model::thread([&] { joiner.claim(joiner.ref(), Wake::TimedOut); });
    model::join_all();
    model::require(block.given_back == 1, "the block is given back");
}

template <class Order = JoinOrder>
void detach_against_end() {
    Block<Order> block;
    Joiner joiner;
    model::thread([&] { block.end(joiner); });
    model::thread([&] { block.detach(); });
    model::join_all();
    model::require(block.given_back == 1, "the block is given back");
}

TEST(JoinModel, FIB_2b_the_joiner_gets_the_outcome_and_then_owns_the_block) {
    model::Result result = model::check(join_against_end<>);
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(JoinModel, FIB_2b_a_join_that_times_out_leaves_nothing_of_its_frame_behind) {
    model::Result result = model::check(timed_join_against_end<>);
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(JoinModel, FIB_2e_a_dropped_handle_and_the_end_discard_the_outcome_once) {
    model::Result result = model::check(detach_against_end<>);
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(JoinModel, every_weakening_is_found) {
    EXPECT_TRUE(model::check(join_against_end<EndsRelaxed>).failed());
    EXPECT_TRUE(model::check(join_against_end<EntersRelaxed>).failed());
    EXPECT_TRUE(model::check(join_against_end<LooksRelaxed>).failed());
    EXPECT_TRUE(model::check(join_against_end<NotAwaited>).failed());
    EXPECT_TRUE(model::check(timed_join_against_end<NotTakenBack>).failed());
    EXPECT_TRUE(model::check(detach_against_end<DetachesBlindly>).failed());
}

}  // namespace
}  // namespace weft
