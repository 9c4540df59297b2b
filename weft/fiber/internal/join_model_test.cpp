// The end of a fiber against its joiner, under every order.
//
// The claim of the joiner's wait is the real one. The rest lies in sources that cannot be linked
// here and is modelled step by step, with the same operations and orders:
//   Worker::end_join(), lay_down()                  fiber/internal/worker.cpp
//   fiber_internal::join(), detach(), await_done()  fiber/fiber.cpp
// A step that is left out or an order that is weakened must be found, or this test could not fail.
#include <gtest/gtest.h>

#include <cstdint>

#include "weft/fiber/waiter.h"
#include "weft/testing/model.h"

namespace weft {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kRelease = std::memory_order_release;
constexpr auto kAcqRel = std::memory_order_acq_rel;

enum class Fault {
    None,
    EndReleasedRelaxed,   // kFinishing and kDone without release
    EntryRelaxed,         // the joiner's entry published without release
    NotAwaited,           // the joiner does not wait for kDone
    DoneReadRelaxed,      // the joiner reads kDone without acquire
    NotTakenBack,         // a joiner that timed out leaves its entry there
    DetachUnconditional,  // detaches without a look whether the fiber has ended
    AwaitedTooEarly,      // the end touches the block after kDone
};

// Fiber::Join.
enum Join : std::uintptr_t { kAlone, kFinishing, kDone, kDetached };

struct Entry {
    model::Plain<std::uint64_t> word{0};  // JoinEntry lives in the joiner's frame
};

struct Block {
    Atomic<std::uintptr_t> join{kAlone};
    model::Plain<int> outcome{0};
    model::Plain<int> stack{1};      // what the end still touches until the very end
    model::Plain<int> free_list{0};  // written by whoever gives the block back
    int given_back = 0;

    void give_back() {
        stack.set(0);
        free_list.set(1);
        given_back++;
        model::require(given_back == 1, "a block is given back once");
    }
};

struct Joiner {
    WaitCell cell;
    Atomic<unsigned> resumed{0};
};

void end(Block& block, Joiner& joiner, Fault fault) {
    bool weak = fault == Fault::EndReleasedRelaxed;
    block.outcome.set(7);
    std::uintptr_t seen = block.join.exchange(kFinishing, weak ? kRelaxed : kAcqRel);
    if (seen == kDetached) {
        static_cast<void>(block.outcome.get());
        block.give_back();
        return;
    }
    if (seen != kAlone) {
        WaitRef waiting(joiner.cell, reinterpret_cast<Entry*>(seen)->word.get());
        if (waiting.try_claim(Wake::Ready)) {
            joiner.resumed.fetch_add(1, kAcqRel);
            model::futex_wake(joiner.resumed, 1);
        }
    }
    if (fault != Fault::AwaitedTooEarly) block.stack.set(2);
    block.join.store(kDone, weak ? kRelaxed : kRelease);
    if (fault == Fault::AwaitedTooEarly) block.stack.set(2);
}

void await_done(Block& block, Fault fault) {
    if (fault == Fault::NotAwaited) return;
    auto order = fault == Fault::DoneReadRelaxed ? kRelaxed : kAcquire;
    while (block.join.load(order) != kDone) model::spin_hint();
}

WaitRef begin_wait(WaitCell& cell) {
    std::uint64_t word = (std::uint64_t{1} << WaitCell::kStateBits) | WaitCell::Waiting;
    cell.word.store(word, std::memory_order_seq_cst);
    return WaitRef(cell, word);
}

// join(): false when the wait timed out and the fiber is still joinable.
bool join(Block& block, Joiner& joiner, Fault fault) {
    if (block.join.load(kAcquire) == kDone) return true;
    WaitRef wait = begin_wait(joiner.cell);
    Entry entry;
    entry.word.set(wait.word());
    std::uintptr_t expected = kAlone;
    auto address = reinterpret_cast<std::uintptr_t>(&entry);
    auto publish = fault == Fault::EntryRelaxed ? kRelaxed : kRelease;
    if (!block.join.compare_exchange_strong(expected, address, publish, kRelaxed)) {
        static_cast<void>(wait.try_claim(Wake::Ready));  // abandon()
        await_done(block, fault);
        return true;
    }
    while (joiner.resumed.fetch_add(0, kAcquire) == 0) {
        std::uint64_t state = joiner.cell.word.load(kAcquire) & WaitCell::kStateMask;
        if (state == WaitCell::Expired) break;
        model::spin_hint();
    }
    std::uint64_t state = joiner.cell.word.load(kAcquire) & WaitCell::kStateMask;
    if (state == WaitCell::Woken) {
        await_done(block, fault);
        return true;
    }
    if (fault == Fault::NotTakenBack) return false;
    expected = address;
    if (block.join.compare_exchange_strong(expected, kAlone, kRelaxed, kRelaxed)) return false;
    await_done(block, fault);
    return true;
}

// detach(): whoever comes second discards the outcome.
void detach(Block& block, Fault fault) {
    std::uintptr_t expected = kAlone;
    if (fault == Fault::DetachUnconditional) {
        block.join.store(kDetached, kRelease);
        return;
    }
    if (block.join.compare_exchange_strong(expected, kDetached, kRelease, kRelaxed)) return;
    await_done(block, fault);
    static_cast<void>(block.outcome.get());
    block.give_back();
}

void take(Block& block) {
    model::require(block.outcome.get() == 7, "the joiner sees the outcome");
    block.give_back();
}

void join_against_end(Fault fault) {
    Block block;
    Joiner joiner;
    model::thread([&] { end(block, joiner, fault); });
    model::thread([&] {
        if (join(block, joiner, fault)) take(block);
    });
    model::join_all();
    model::require(block.given_back == 1, "the block is given back");
}

// The joiner's wait times out, and it detaches: all three meet.
void timed_join_against_end(Fault fault) {
    Block block;
    Joiner joiner;
    model::thread([&] { end(block, joiner, fault); });
    model::thread([&] {
        if (join(block, joiner, fault)) {
            take(block);
        } else {
            detach(block, fault);
        }
    });
    model::thread([&] {  // the timer
        std::uint64_t word = joiner.cell.word.load(std::memory_order_seq_cst);
        if ((word & WaitCell::kStateMask) != WaitCell::Waiting) return;
        static_cast<void>(WaitRef(joiner.cell, word).try_claim(Wake::TimedOut));
    });
    model::join_all();
    model::require(block.given_back == 1, "the block is given back");
}

void detach_against_end(Fault fault) {
    Block block;
    Joiner joiner;
    model::thread([&] { end(block, joiner, fault); });
    model::thread([&] { detach(block, fault); });
    model::join_all();
    model::require(block.given_back == 1, "the block is given back");
}

TEST(JoinModel, FIB_2b_the_joiner_gets_the_outcome_and_then_owns_the_block) {
    model::Result result = model::check([] { join_against_end(Fault::None); });
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(JoinModel, FIB_2b_a_join_that_times_out_leaves_nothing_of_its_frame_behind) {
    model::Result result = model::check([] { timed_join_against_end(Fault::None); });
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(JoinModel, FIB_2e_a_dropped_handle_and_the_end_discard_the_outcome_once) {
    model::Result result = model::check([] { detach_against_end(Fault::None); });
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(JoinModel, every_weakening_is_found) {
    auto is_found = [](void (*scenario)(Fault), Fault fault) {
        return model::check([=] { scenario(fault); }).failed();
    };
    EXPECT_TRUE(is_found(join_against_end, Fault::EndReleasedRelaxed));
    EXPECT_TRUE(is_found(join_against_end, Fault::EntryRelaxed));
    EXPECT_TRUE(is_found(join_against_end, Fault::NotAwaited));
    EXPECT_TRUE(is_found(join_against_end, Fault::DoneReadRelaxed));
    EXPECT_TRUE(is_found(join_against_end, Fault::AwaitedTooEarly));
    EXPECT_TRUE(is_found(timed_join_against_end, Fault::NotTakenBack));
    EXPECT_TRUE(is_found(detach_against_end, Fault::DetachUnconditional));
}

}  // namespace
}  // namespace weft
