#include "weft/fiber/schedule/run_queue.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/base/env.h"
#include "weft/testing/scale.h"

namespace weft {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kRelease = std::memory_order_release;

using Queue = RunQueue<int, 8>;

TEST(RunQueue, FIB_5b_the_oldest_and_the_newest_come_out_at_their_ends) {
    Queue queue;
    int items[4] = {0, 1, 2, 3};
    EXPECT_EQ(queue.pop_oldest(), nullptr);
    EXPECT_EQ(queue.pop_newest(), nullptr);
    for (int& item : items) EXPECT_TRUE(queue.push(&item));
    EXPECT_EQ(queue.size(), 4u);
    EXPECT_EQ(queue.pop_oldest(), &items[0]);
    EXPECT_EQ(queue.pop_newest(), &items[3]);
    EXPECT_EQ(queue.pop_newest(), &items[2]);
    EXPECT_FALSE(queue.empty());
    EXPECT_EQ(queue.pop_newest(), &items[1]);
    EXPECT_TRUE(queue.empty());
    EXPECT_EQ(queue.pop_newest(), nullptr);
    EXPECT_EQ(queue.size(), 0u);
}

TEST(RunQueue, FIB_5b_a_full_queue_refuses_and_is_whole_after_it) {
    Queue queue;
    int items[9] = {};
    for (int round = 0; round < 100; ++round) {  // the indices go round the slots
        for (int i = 0; i < 8; ++i) ASSERT_TRUE(queue.push(&items[i]));
        ASSERT_FALSE(queue.push(&items[8]));
        ASSERT_EQ(queue.size(), 8u);
        for (int i = 0; i < 5; ++i) ASSERT_EQ(queue.pop_oldest(), &items[i]);
        for (int i = 7; i >= 5; --i) ASSERT_EQ(queue.pop_newest(), &items[i]);
        ASSERT_EQ(queue.pop_oldest(), nullptr);
    }
}

TEST(RunQueue, FIB_5b_one_that_nobody_steals_from_behaves_the_same) {
    for (Queue::Takers takers : {Queue::Takers::Anybody, Queue::Takers::OwnerOnly}) {
        Queue queue(takers);
        int items[9] = {};
        EXPECT_EQ(queue.take_oldest(), nullptr);
        EXPECT_EQ(queue.exchange_oldest(&items[0]), nullptr);
        EXPECT_TRUE(queue.empty());
        for (int round = 0; round < 100; ++round) {  // the indices go round the slots
            for (int i = 0; i < 8; ++i) ASSERT_TRUE(queue.push(&items[i]));
            ASSERT_FALSE(queue.push(&items[8]));
            ASSERT_EQ(queue.exchange_oldest(&items[8]), &items[0]);
            ASSERT_EQ(queue.size(), 8u);
            ASSERT_EQ(queue.take_oldest(), &items[1]);
            ASSERT_EQ(queue.pop_newest(), &items[8]);
            for (int i = 2; i < 8; ++i) ASSERT_EQ(queue.take_oldest(), &items[i]);
            ASSERT_EQ(queue.pop_newest(), nullptr);
            ASSERT_TRUE(queue.empty());
        }
    }
}

// An owner that pushes and pops at both ends, thieves that take the oldest: each item once.
TEST(RunQueue, FIB_5b_each_item_is_taken_once_by_the_owner_or_a_thief) {
    const std::size_t count = testing::repeats(300'000);
    auto taken = std::make_unique<Atomic<unsigned>[]>(count);
    std::vector<std::size_t> items(count);
    for (std::size_t i = 0; i < count; ++i) items[i] = i;
    RunQueue<std::size_t, 16> queue;
    Atomic<bool> over{false};
    Atomic<unsigned> thieving{0};
    auto take = [&](std::size_t* item) {
        if (item) taken[*item].fetch_add(1, kRelaxed);
        return item != nullptr;
    };
    std::vector<std::thread> thieves;
    for (int i = 0; i < 2; ++i) {
        thieves.emplace_back([&] {
            thieving.fetch_add(1, kRelease);
            while (!over.load(kAcquire)) {
                if (!take(queue.pop_oldest())) env::spin_pause(~0U);
            }
        });
    }
    while (thieving.load(kAcquire) < 2) env::spin_pause(~0U);
    for (std::size_t i = 0; i < count; ++i) {
        while (!queue.push(&items[i])) take(i % 2 ? queue.pop_newest() : queue.pop_oldest());
        if (i % 3 == 0) take(queue.pop_newest());
        if (i % 7 == 0) take(queue.pop_oldest());
    }
    while (take(queue.pop_newest())) {}
    over.store(true, kRelease);
    for (std::thread& thief : thieves) thief.join();
    while (take(queue.pop_oldest())) {}
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(taken[i].load(kRelaxed), 1u) << i;
}

}  // namespace
}  // namespace weft
